"""`ozx cat` as a user meets it."""

import subprocess
import sys

import pytest
from hierarchies import FIXTURES, tree
from packed import pack_tree, write_archive

from ozx.cli.app import run

IMAGE = FIXTURES / "image.ome.zarr"


class Terminal:
    """A standard output that says it is a terminal."""

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    def use():
        monkeypatch.setattr(sys, "stdout", Terminal(sys.stdout))

    return use


def test_values_are_written_byte_for_byte(tmp_path, capfdbinary):
    path = pack_tree(IMAGE, tmp_path / "a.ozx")
    for key in ("zarr.json", "0/c/0/0/0", "labels/cells/0/c/0/0"):
        for source in (path, IMAGE):
            assert run(["cat", str(source), key]) == 0
            assert capfdbinary.readouterr().out == tree(IMAGE)[key]


def test_into_a_pipe(tmp_path):
    value = bytes(range(256)) * 20_000
    path = write_archive(tmp_path / "a.ozx", {"key": value})
    result = subprocess.run([sys.executable, "-m", "ozx", "cat", path, "key"], capture_output=True, check=True)
    assert result.stdout == value


def test_a_reader_that_has_enough_is_no_error(tmp_path):
    path = write_archive(tmp_path / "a.ozx", {"key": bytes(30_000_000)})
    command = [sys.executable, "-m", "ozx", "cat", str(path), "key"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_text_on_a_terminal_cannot_steer_it(tmp_path, capsys, terminal):
    path = write_archive(tmp_path / "a.ozx", {"key": "line\n\x1b[2Jµ".encode()})
    terminal()
    assert run(["cat", str(path), "key"]) == 0
    assert capsys.readouterr().out == "line\n\\x1b[2Jµ\n"


@pytest.mark.parametrize("value", [b"\x89PNG", b"text\0", b"\xff" * 2_000_000, b"a" * 1_100_000 + b"\xff"])
def test_binary_values_stay_off_terminals(tmp_path, capsys, terminal, value):
    path = write_archive(tmp_path / "a.ozx", {"key": value})
    terminal()
    assert run(["cat", str(path), "key"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "is binary" in captured.err
    assert "> value.bin" in captured.err


def test_missing_keys_are_named_with_those_alike(capsys):
    assert run(["cat", str(IMAGE), "0/zarr.jso"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"error: {IMAGE}: it has no key '0/zarr.jso'\nhint: Did you mean 0/zarr.json?\n"


def test_damage_is_an_error_of_the_file(tmp_path, capfdbinary):
    path = write_archive(tmp_path / "a.ozx", {"key": b"0123456789"})
    path.write_bytes(path.read_bytes().replace(b"0123", b"0124", 1))
    assert run(["cat", str(path), "key"]) == 1
    assert b"[zip/crc]" in capfdbinary.readouterr().err

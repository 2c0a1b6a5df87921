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

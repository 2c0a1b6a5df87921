"""`ozx ls` as a user meets it."""

import json
import zipfile

from commands import command
from hierarchies import FIXTURES, tree
from packed import write_archive, zip_values

IMAGE = FIXTURES / "image.ome.zarr"
ls = command("ls")


def test_a_line_is_size_method_key(tmp_path, capsys):
    path = zip_values(tmp_path / "a.zip", tree(IMAGE), deflated=True)
    code, out, _ = ls(capsys, path)
    assert code == 0
    rows = [line.split(maxsplit=2) for line in out.splitlines()]
    with zipfile.ZipFile(path) as archive:
        assert rows == [[str(entry.file_size), "deflated", entry.filename] for entry in archive.infolist()]


def test_the_json_of_nothing_is_json(tmp_path, capsys):
    _, out, _ = ls(capsys, zip_values(tmp_path / "a.zip", {}), "--json")
    assert json.loads(out)["entries"] == []
    assert ls(capsys, tmp_path / "a.zip") == (0, "", "")


def test_every_entry_is_one_line(tmp_path, capsys):
    values = {"a\nb": b"", "tab\tkey": b"", "\x1b[2J": b"", "µ": b""}
    _, out, _ = ls(capsys, write_archive(tmp_path / "a.ozx", values, b""))
    assert [line.split(maxsplit=2)[2] for line in out.splitlines()] == ["a\\nb", "tab\\tkey", "\\x1b[2J", "µ"]

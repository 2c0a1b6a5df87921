"""`ozx thumbnail` as a user meets it."""

from commands import command
from hierarchies import FIXTURES
from packed import pack_tree
from pictures import read_picture

call = command("thumbnail")


def test_a_picture(cells, tmp_path, capsys):
    out = tmp_path / "cells.png"
    assert call(capsys, cells, out, "--size", 100) == (0, f"{out}  100 × 100 pixels\n", "")
    assert read_picture(out).size == (100, 100)
    code, _, err = call(capsys, cells, out)
    assert (code, err) == (
        2,
        (f"error: {out}: the file exists already\nhint: Choose another name, or give --force to replace it.\n"),
    )
    assert call(capsys, cells, out, "--force")[0] == 0


def test_notes_go_to_stderr(tmp_path, capsys):
    source = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    data = source.read_bytes().replace(b"A/2/0/1/zarr.json", b"A/2/0/1/zarr.jsxn")
    source.write_bytes(data)
    code, out, err = call(capsys, source, tmp_path / "a.png", "--size", "64")
    assert (code, out) == (0, f"{tmp_path / 'a.png'}  63 × 63 pixels\n")
    assert err.startswith("note: no picture of the wells A/2: A/2/0/1: expected an array, as in the first well")

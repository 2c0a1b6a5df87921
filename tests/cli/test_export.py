"""`ozx export` as a user meets it."""

import shutil
import subprocess
import sys

import pytest
import tifffile
from commands import command

import ozx

call = command("export")


def test_an_image(cells, tmp_path, capsys):
    out = tmp_path / "cells.ome.tif"
    code, said, err = call(capsys, cells, out)
    assert code == 0
    assert said == f"{out}  {out.stat().st_size / 1024:.1f} KiB, cyx 2 × 256 × 256 uint16, 3 levels\n"
    assert err == "note: labels are left out: labels/cells; --path labels/cells exports a label image\n"
    code, said, err = call(capsys, cells, out)
    assert (code, said) == (2, "")
    assert err.startswith(f"error: {out}: the file exists already\nhint: Choose another name")
    assert call(capsys, cells, out, "--force", "-q", "--no-sync") == (0, "", "")


def test_two_sources_are_no_source_and_output(cells, tmp_path, capsys):
    paths = [tmp_path / name for name in ("a.ozx", "b.ozx")]
    for path in paths:
        shutil.copyfile(cells, path)
    before = paths[1].read_bytes()
    for force in ([], ["--force"]):
        code, _, err = call(capsys, *paths, *force)
        assert (code, "--out-dir" in err, "--force" in err) == (2, True, False)
    assert paths[1].read_bytes() == before


def test_options(cells, tmp_path, capsys):
    out = tmp_path / "a.tif"
    options = ["--path", "labels/cells", "--levels", "1:", "--compression", "lzw", "--tile", 64, "--jobs", 1]
    assert call(capsys, cells, out, *options)[0] == 0
    with tifffile.TiffFile(out) as file:
        page = file.pages.first
        assert (page.shape, page.tile, page.compression) == ((128, 128), (64, 64), 5)
        assert len(file.series[0].levels) == 2


@pytest.mark.parametrize(
    ("verb", "out"), [("export", "a.tif"), pytest.param("thumbnail", "a.png", marks=pytest.mark.ci)]
)
def test_a_file_with_many_damaged_chunks_is_told_in_two_lines(cells, tmp_path, verb, out):
    data = bytearray(cells.read_bytes())
    for entry in ozx.list_entries(cells):
        if not entry.key.endswith("zarr.json"):
            data[entry.offset] ^= 0xFF
    cells.write_bytes(data)
    command = [sys.executable, "-m", "ozx", verb, str(cells), str(tmp_path / out)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (1, "")
    error, hint = process.stderr.splitlines()
    assert error.startswith(f"error: {cells}: entry '0/c/")
    assert "its bytes are damaged" in error
    assert error.endswith(" [zip/crc]")
    assert hint == "hint: Copy or download the file again; `ozx recover FILE OUT.ozx` saves the undamaged parts."
    assert list(tmp_path.iterdir()) == [cells]

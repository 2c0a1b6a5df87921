"""`ozx edit` as a user meets it."""

import json

import numpy as np
import pytest
from commands import command
from hierarchies import FIXTURES, tree
from packed import pack_tree, sort_values, write_archive

import ozx
from ozx.cli.edit import describe_differences
from ozx.ome.edit.image import PropertyChange
from ozx.quoting import quote

call = command("edit")


@pytest.fixture
def plate(tmp_path):
    return pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")


IMAGE_SCREEN = """\
root
  axis y           0.325 → 0.65 nanometer
  axis x           0.325 → 0.65 nanometer
  unit of y        micrometer → nanometer
  unit of x        micrometer → nanometer
  channel 0 name   Nuclei → DAPI
  channel 1 color  FFB000 → FF0000
  name             Synthetic cells → Repaired
labels/cells
  axis y     0.325 → 0.65 nanometer
  axis x     0.325 → 0.65 nanometer
  unit of y  micrometer → nanometer
  unit of x  micrometer → nanometer
"""
EVERYTHING = [
    *("--pixel-size", "y=0.65, x=0.65", "--unit", "nanometer", "--channel-names", "DAPI,"),
    *("--colors", ",red", "--name", "Repaired"),
]


def test_the_difference_is_shown_and_written(cells, capsys):
    before = cells.read_bytes()
    code, out, err = call(capsys, cells, *EVERYTHING, "--dry-run")
    last = f"{cells}  2 groups would change; dry run, nothing written\n"
    assert (code, out, err) == (0, IMAGE_SCREEN + last, "")
    assert cells.read_bytes() == before
    assert call(capsys, cells, *EVERYTHING) == (0, IMAGE_SCREEN + f"{cells}  2 groups changed\n", "")
    assert call(capsys, cells, *EVERYTHING) == (0, f"{cells}  no changes\n", "")
    assert ozx.inspect(cells).images[0].levels[1].scale == (1.0, 1.3, 1.3)


def test_images_of_a_plate_that_change_alike_are_told_once(plate, capsys):
    code, out, err = call(capsys, plate, "--pixel-size", "y=0.65,x=0.65", "--name", "Screen 7", "--no-sync")
    assert (code, err) == (0, "")
    assert out == (
        "root\n  name  Synthetic plate → Screen 7\n"
        "A/1/0, A/1/1, A/2/0 and 3 more\n"
        "  axis y  0.325 → 0.65 micrometer\n  axis x  0.325 → 0.65 micrometer\n"
        f"{plate}  7 groups changed\n"
    )


def test_thousands_of_images_are_few_lines():
    wells = [f"{row}/{column}/{field}" for row in "ABCDEFGHIJKLMNOP" for column in range(1, 25) for field in range(9)]
    differences = [PropertyChange(well, "axis x", 0.1 if well.startswith("P") else 0.2, 0.4, None) for well in wells]
    assert describe_differences(differences) == [
        "A/1/0, A/1/1, A/1/2 and 3,237 more",
        "  axis x  0.2 → 0.4",
        "P/1/0, P/1/1, P/1/2 and 213 more",
        "  axis x  0.1 → 0.4",
    ]


def test_names_out_of_a_file_do_not_steer_the_terminal(tmp_path, capsys):
    document = json.loads((FIXTURES / "image.ome.zarr" / "zarr.json").read_bytes())
    document["attributes"]["ome"]["multiscales"][0]["name"] = "\x1b[2J\nevil"
    values = {**tree(FIXTURES / "image.ome.zarr"), "zarr.json": json.dumps(document).encode()}
    path = write_archive(tmp_path / "a.ozx", sort_values(values))
    code, out, _ = call(capsys, path, "--name", "good", "--dry-run")
    assert code == 0
    assert "\x1b" not in out
    assert "\\x1b[2J\\nevil → good" in out


def test_notes_go_to_stderr(tmp_path, capsys):
    path = pack_tree(FIXTURES / "series.ome.zarr", tmp_path / "series.ozx")
    code, out, err = call(capsys, path, "--pixel-size", "t=0.5", "--unit", "millisecond")
    assert code == 0
    lines = "  axis t     30 → 0.5 millisecond\n  unit of t  second → millisecond\n"
    assert out == f"0, 1\n{lines}{path}  2 groups changed\n"
    assert err == "note: OME/METADATA.ome.xml is kept: it still describes the original file\n"


def test_a_pixel_size_for_all_axes_and_the_note_on_a_missing_unit(tmp_path, capsys):
    path = tmp_path / "my cells.ozx"
    ozx.write_image(path, np.zeros((3, 8, 8), "uint8"), axes="zyx")
    code, out, err = call(capsys, path, "--pixel-size", "0.5")
    assert code == 0
    assert [line.split()[1:] for line in out.splitlines()[1:-1]] == [[axis, "1", "→", "0.5"] for axis in "yx"]
    units = "y=micrometer,x=micrometer"
    typed = f"ozx edit {quote(str(path))} --unit {quote(units)}"
    kept = "note: the root: the pixel size along z is kept; --pixel-size z=2um sets it\n"
    assert err == f"{kept}note: the pixel size along y, x has no unit; to set it: {typed}\n"
    code, out, err = call(capsys, path, "--unit", units)
    assert (code, err) == (0, "")
    assert out.count("(none) → micrometer") == 2

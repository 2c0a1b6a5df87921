"""`ozx info` as a user meets it."""

import json

import jsonschema
import numpy as np
import pytest
from commands import command, schema_of
from hierarchies import FIXTURES, group, tree
from packed import pack_tree, sort_values, write_archive, zip_values

import ozx
from ozx.cli.app import run

NAMES = ("image", "plate", "series", "sharded", "legacy")
SCHEMA = schema_of("info")
info = command("info")


def fixture(name):
    return FIXTURES / f"{name}.ome.zarr"


IMAGE_SCREEN = """\
name       Synthetic cells
kind       image, OME-Zarr 0.5, Zarr v3
container  ZIP64, metadata first, comment says OME-Zarr 0.5
size       {size} in 71 entries
decoded    504.0 KiB (516,096 bytes), {ratio} : 1

axes
  c   2
  y 256 px × 0.325 µm = 83.2 µm
  x 256 px × 0.325 µm = 83.2 µm

channels
  0  Nuclei     #3A7BFF  93 to 2,295
  1  Cytoplasm  #FFB000  95 to 1,870

levels
  path  c    y    x  type    chunks   shards  codecs
  0     2  256  256  uint16  1×64×64  –       bytes, blosc
  1     2  128  128  uint16  1×64×64  –       bytes, blosc
  2     2   64   64  uint16  1×64×64  –       bytes, blosc

labels
  labels/cells  cells  yx 256×256  uint16  3 levels

hierarchy
  0  1  2
  labels/
    cells/
      0  1  2
"""


def test_the_screen_of_an_image(tmp_path, capsys):
    path = pack_tree(fixture("image"), tmp_path / "cells.ozx")
    size = path.stat().st_size
    code, out, err = info(capsys, path)
    expected = IMAGE_SCREEN.format(size=f"{size / 1024:.1f} KiB ({size:,} bytes)", ratio=f"{516_096 / size:.1f}")
    assert (code, out, err) == (0, expected, "")


def test_records_of_frames_are_named(tmp_path, capsys):
    path = tmp_path / "a.ozx"
    with ozx.stream(path, axes="tcyx", shape=(None, 2, 8, 8), dtype="uint8", sync=False) as frames:
        for number in range(6):
            frames.append(np.full((8, 8), number, "uint8"), record={"time": number, "x": 0.5, "exposure": 20})
    assert "\nframe records: exposure, time, x (6 frames)\n" in info(capsys, path)[1]
    answer = json.loads(info(capsys, path, "--json")[1])
    assert answer["images"][0]["records"] == {"fields": ["exposure", "time", "x"], "frames": 6}
    jsonschema.validate(answer, SCHEMA)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_packed", [False, True])
def test_every_fixture_fits_one_screen(tmp_path, capsys, name, is_packed):
    path = pack_tree(fixture(name), tmp_path / "cells.ozx") if is_packed else fixture(name)
    code, out, _ = info(capsys, path)
    assert code == 0
    assert len(out.splitlines()) <= 42
    assert max(map(len, out.splitlines())) <= 80


def test_a_plate_says_how_many_and_shows_the_first(capsys):
    _, out, _ = info(capsys, fixture("plate"))
    assert "2 rows × 2 columns; 4 wells, 6 fields, 1 to 2 each" in out
    assert "\nimage A/1/0: Well A1, field 1\n" in out
    assert "  … 1 more group\n" in out


def test_what_is_missing_is_said(tmp_path, capsys):
    values = tree(fixture("image"))
    del values["1/zarr.json"]
    code, out, _ = info(capsys, write_archive(tmp_path / "a.ozx", sort_values(values)))
    assert code == 0
    assert "  1     ?    ?    ?  missing" in out
    assert "notes\n  1: this path is listed as a level, but it has no array" in out


def test_arrays_of_other_zarr_are_shown(tmp_path, capsys):
    values = {**tree(fixture("image")), "zarr.json": group()}
    del values["labels/cells/zarr.json"]
    _, out, _ = info(capsys, write_archive(tmp_path / "a.ozx", sort_values(values)))
    assert "\narrays\n  path" in out
    assert "not OME-Zarr: the root is a Zarr group without ome metadata" in out
    assert "    cells/  (no metadata)\n" in out


def test_wide_levels_name_type_and_codecs_once(tmp_path, capsys):
    document = json.loads(tree(fixture("sharded"))["0/zarr.json"])
    document["shape"] = [1000, 3, 120, 20480, 20480]
    document["codecs"][0]["configuration"]["codecs"] += [{"name": "numcodecs.something_long"}, {"name": "crc32c"}]
    values = {**tree(fixture("sharded")), "0/zarr.json": json.dumps(document).encode()}
    del values["1/zarr.json"], values["2/zarr.json"]
    root = json.loads(values["zarr.json"])
    del root["attributes"]["ome"]["multiscales"][0]["datasets"][1:]
    values["zarr.json"] = json.dumps(root).encode()
    _, out, _ = info(capsys, write_archive(tmp_path / "a.ozx", sort_values(values)))
    assert "  0     1,000  3  120  20,480  20,480  1×1×2×32×32  1×2×4×64×64\n" in out
    assert "  all levels: uint16; bytes, zstd, numcodecs.something_long, crc32c\n" in out
    assert "x 20,480 px × 0.325 µm =  6,656 µm\n" in out


def test_long_names_are_cut_in_their_middle_so_that_tables_fit_a_screen(tmp_path, capsys):
    path = pack_tree(fixture("series"), tmp_path / "a.ozx")
    for node in ("0", "1"):
        ozx.edit(path, node=node, name=f"2026-11-29 An experiment of a long name.lif/Series 00{node}/Position 00{node}")
    _, out, _ = info(capsys, path)
    assert max(map(len, out.splitlines())) <= 80
    rows = [line for line in out.splitlines() if "2026-11-29" in line and "level" in line]
    assert [row.split("Position ")[1].split()[0] for row in rows] == ["000", "001"]


def test_names_cannot_steer_the_terminal(tmp_path, capsys):
    multiscale = {"name": "\x1b[2Jgone\nline", "axes": [{"name": "\x07"}], "datasets": [{"path": "\x1b]0;x"}]}
    path = zip_values(tmp_path / "a.zip", {"zarr.json": group(version="0.5\x1b", multiscales=[multiscale])})
    _, out, _ = info(capsys, path)
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\\x1b[2Jgone\\nline" in out


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (lambda path: path.write_bytes(b""), 1, "expected an .ozx file; it is empty"),
        (lambda path: path.write_bytes(b"PK\3\4 cut off"), 1, "hint: The file is incomplete"),
        (lambda path: path.mkdir(), 1, "expected an OME-Zarr hierarchy"),
        (lambda path: None, 4, "No such file"),
    ],
    ids=["empty", "truncated", "directory", "missing"],
)
def test_errors_have_their_exit_codes(tmp_path, capsys, make, code, message):
    path = tmp_path / "a.ozx"
    make(path)
    found, out, err = info(capsys, path)
    assert (found, out) == (code, "")
    assert err.startswith(f"error: {path}: ")
    assert message in err


def test_extensions_and_conventions_stand_below_the_hierarchy(capsys, tmp_path):
    document = {"zarr_format": 3, "node_type": "group", "extensions": ["example.a"]}
    document["attributes"] = {"zarr_conventions": [{"name": "geo:proj"}]}
    for name in ("0", "1", "2", "3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "zarr.json").write_text(json.dumps(document))
    (tmp_path / "zarr.json").write_bytes(group())
    _, text, _ = info(capsys, tmp_path)
    assert "extensions\n  example.a  0, 1, 2, … 1 more\n" in text
    assert "conventions\n  geo:proj  0, 1, 2, … 1 more\n" in text


def test_several_files(tmp_path, capsys):
    broken = tmp_path / "broken.ozx"
    broken.write_bytes(b"no archive")
    code = run(["info", str(fixture("image")), str(broken), str(fixture("plate")), "--json"])
    out, err = capsys.readouterr()
    assert code == 3
    assert err.startswith(f"error: {broken}: ")
    decoder, found = json.JSONDecoder(), []
    while out.strip():
        document, end = decoder.raw_decode(out)
        found.append(document["path"])
        out = out[end:].lstrip()
    assert found == [str(fixture("image")), str(fixture("plate"))]


def test_several_screens(capsys):
    assert run(["info", str(fixture("image")), str(fixture("plate"))]) == 0
    assert capsys.readouterr().out.count("\n\nname ") == 1

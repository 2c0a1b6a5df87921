"""`ozx import` as a user meets it: arguments, words, exit codes."""

import json
import os
import shutil

import jsonschema
import numpy as np
import pytest
import tifffile
from commands import command, schema_of
from tiffs import damage_segment, ome_image, ome_xml, pixels, write, write_ome

import ozx as library
from ozx.quoting import quote, quote_pattern

ozx = command()


@pytest.fixture
def cells(here):
    xml = ome_xml(ome_image(size=(1, 2, 1, 30, 40), attributes='PhysicalSizeX="0.5" PhysicalSizeY="0.5"'))
    return write_ome(here / "cells.ome.tif", xml, pixels((2, 30, 40)))


@pytest.mark.usefixtures("cells")
def test_options_reach_the_file(capsys, here):
    options = [
        *("--pixel-size", "y=0.65,x=0.65", "--unit", "millimeter", "--channel-names", "DAPI,Cy5\\, far red"),
        *("--colors", "blue,FF0000", "--name", "Mine", "--codec", "zstd:3", "--chunks", "y=16,x=16"),
        *(
            "--shards",
            "none",
            "--downsample",
            "none",
            "--method",
            "nearest",
            "--ome-xml",
            "drop",
            "--keep-singletons",
            "--thumbnail",
        ),
    ]
    assert ozx(capsys, "import", "cells.ome.tif", "out.ozx", "--no-sync", *options)[0] == 0
    image = library.inspect(here / "out.ozx").images[0]
    assert (image.name, [axis.name for axis in image.axes]) == ("Mine", list("tczyx"))
    assert [(channel.label, channel.color) for channel in image.channels] == [
        ("DAPI", "0000FF"),
        ("Cy5, far red", "FF0000"),
    ]
    assert image.levels[0].scale == (1.0, 1.0, 1.0, 0.65, 0.65)
    assert image.levels[0].chunks[-2:] == (16, 16)
    assert image.levels[0].shards is None
    keys = [entry.key for entry in library.list_entries(here / "out.ozx")]
    assert "Thumbnails/thumbnail.png" in keys
    assert "OME/METADATA.ome.xml" not in keys


def test_damage(capsys, here):
    path = write(here / "a.tif", pixels((200, 200)), tile=(64, 64), compression="zlib")
    damage_segment(path, 5)
    code, out, err = ozx(capsys, "import", "a.tif")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "a.tif: page 0, tile 5: " in err
    assert "hint: --on-error fill" in err
    assert os.listdir(here) == ["a.tif"]
    code, _, err = ozx(capsys, "import", "a.tif", "--on-error", "fill", "--quiet", "--no-sync")
    assert code == 3
    assert err.startswith("warning: ")
    assert "page 0, tile 5" in err
    # The name of the file stands once, in a batch, too.
    write(here / "b.tif", pixels((30, 40)))
    _, _, err = ozx(capsys, "import", "a.tif", "b.tif", "--out-dir", "out", "--on-error", "fill", "--no-sync")
    (warning,) = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert warning.startswith("warning: a.tif: page 0, tile 5: ")
    assert warning.count("a.tif") == 1


@pytest.mark.usefixtures("cells")
def test_many_sources(capsys, here):
    write(here / "b.tif", pixels((30, 40)))
    (here / "broken.tif").write_bytes(b"II*\0")
    arguments = ["import", "b.tif", "broken.tif", "cells.ome.tif", "--out-dir", "out", "--jobs", "2", "--no-sync"]
    code, out, err = ozx(capsys, *arguments)
    assert code == 3
    assert "2 imported, 0 skipped, 1 failed" in err
    assert "expected a TIFF file" in err
    assert sorted(line.split()[0] for line in out.splitlines()) == [f"out{os.sep}b.ozx", f"out{os.sep}cells.ozx"]
    code, out, err = ozx(capsys, *arguments, "--resume")
    assert code == 3
    assert "0 imported, 2 skipped, 1 failed" in err
    assert out.count("complete already") == 2


ALL = quote_pattern(".", "*.tif")
BY_DAYS = " ".join(quote_pattern(os.path.join("raw", name), "*.tif") for name in ("day 1", "day 2"))
WRONG = [
    (["cells.ome.tif", "out"], "give --out-dir out"),
    (["cells.ome.tif", "new/"], "give --out-dir new.\n"),
    (["cells.ome.tif", "other.tif", "my output"], f"give --out-dir {quote('my output')}"),
    (["cells.ome.tif", "other.tif", "my output"], "Check the name; or to write"),
    (["."], f"a directory of 2 TIFF images\nhint: Run: ozx import {ALL}\n"),
    ([".", "my files"], f"Run: ozx import {ALL} --out-dir {quote('my files')}\n"),
    (
        ["cells.ome.tif", "cells.ozx", "other.ozx", "other.tif"],
        "hint: Name only image files, as in ozx import *.tif.\n",
    ),
    (["raw"], "raw: expected an image file; it is a directory of folders with 2 TIFF images"),
    (["raw"], f"hint: Run: ozx import {BY_DAYS}\n"),
    (["out"], "out: expected an image file; it is an empty directory\nhint: Name the file or"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_folders_and_outputs_among_images_get_the_command_to_type(capsys, cells, here, words, message):
    (here / "out").mkdir()
    for name in ("other.tif", "raw/day 1/cells.tif", "raw/day 2/cells.tif"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(cells, here / name)
    assert ozx(capsys, "import", "cells.ome.tif", "other.tif", "--no-sync")[0] == 0
    before = sorted(here.rglob("*"))
    code, _, err = ozx(capsys, "import", *words)
    assert (code, message in err) == (2, True), err
    assert sorted(here.rglob("*")) == before


@pytest.mark.usefixtures("cells")
def test_a_folder_in_a_batch_gets_the_command_to_type(capsys, here):
    code, _, err = ozx(capsys, "import", ".", "--out-dir", "my files")
    assert (code, f"Run: ozx import {ALL} --out-dir {quote('my files')}\n" in err) == (3, True)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.czi", b"text", "expected a CZI file, as its name says; it does not begin like one\nhint: Copy or download"),
        ("X.ND2", b"text", "expected an ND2 file, as its name says; it does not begin like one"),
        ("x.lif", b"", "expected a LIF file; it is empty"),
        ("x.ims", b"\x89PNG\r\n\x1a\n", "it is a PNG picture\nhint: Save it as TIFF"),
    ],
)
def test_a_file_that_is_not_what_its_name_says(capsys, here, name, data, message):
    (here / name).write_bytes(data)
    code, _, err = ozx(capsys, "import", name)
    assert (code, message in err) == (1, True)
    assert not (here / "x.ozx").exists()


@pytest.mark.ci
@pytest.mark.usefixtures("cells")
def test_a_cluster_that_does_not_answer(capsys, here):
    code, _, err = ozx(capsys, "import", "cells.ome.tif", "--dask", "tcp://127.0.0.1:1")
    assert code == 4
    assert "--dask: no scheduler answers at tcp://127.0.0.1:1" in err
    assert os.listdir(here) == ["cells.ome.tif"]


@pytest.mark.parametrize(("axis", "other"), [("x", "y"), ("y", "x")])
def test_the_axis_without_a_pixel_size_is_named(capsys, here, axis, other):
    tifffile.imwrite("plane.tif", np.zeros((8, 9), "uint8"))
    _, _, err = ozx(capsys, "import", "plane.tif", "--pixel-size", f"{axis}=0.5um", "--no-sync")
    command = f"ozx edit plane.ozx --pixel-size {other}=0.65um"
    assert err == f"note: the pixel size is unknown along {other}, so 1 without a unit is used; to set one: {command}\n"
    size = f'PhysicalSize{axis.upper()}="0.325"'
    write_ome(here / "half.ome.tif", ome_xml(ome_image(size=(1, 1, 1, 30, 40), attributes=size)), pixels((30, 40)))
    _, _, err = ozx(capsys, "import", "half.ome.tif", "--no-sync")
    command = f"ozx edit half.ozx --pixel-size {other}=0.65um"
    assert err == f"note: the pixel size is unknown along {other}, so 1 without a unit is used; to set one: {command}\n"


def test_the_axes_of_a_missing_pixel_size_are_named(capsys, here):
    tifffile.imwrite("stack.tif", np.zeros((3, 8, 9), "uint8"), imagej=True, metadata={"axes": "ZYX"})
    code, _, err = ozx(capsys, "import", "stack.tif", "--pixel-size", "z=2")
    unknown, without_unit = err.splitlines()
    assert unknown.endswith(
        "along y and x, so 1 without a unit is used; to set one: ozx edit stack.ozx --pixel-size y=0.65um,x=0.65um"
    )
    assert without_unit.endswith("along z has no unit; to set it: ozx edit stack.ozx --unit z=micrometer")
    code, out, _ = ozx(capsys, "edit", "stack.ozx", "--unit", "z=micrometer")
    assert (code, out.count("→ micrometer")) == (0, 1)


def test_a_pixel_size_without_a_unit_gets_a_note(capsys, here):
    tifffile.imwrite("plain.tif", np.zeros((8, 9), "uint8"))
    code, _, err = ozx(capsys, "import", "plain.tif", "--pixel-size", "0.5")
    assert (code, err) == (
        0,
        "note: the pixel size along y, x has no unit; to set it: ozx edit plain.ozx --unit y=micrometer,x=micrometer\n",
    )
    code, out, err = ozx(capsys, "import", "plain.tif", "--pixel-size", "0.5µm", "--force")
    assert (code, err) == (0, "")
    _, out, _ = ozx(capsys, "info", "plain.ozx")
    assert "0.5 µm" in out


@pytest.fixture
def planes(here):
    (here / "planes").mkdir()
    for t in (1, 2, 3):
        for c in (1, 2):
            write(here / "planes" / f"img_t{t}_c{c}.tif", pixels((16, 20)))


@pytest.mark.usefixtures("planes")
def test_a_folder_of_planes_is_told_before_the_work(capsys, here):
    code, out, err = ozx(capsys, "import", "planes/", "--no-sync")
    assert err.startswith("6 files → t 3, c 2, y 16, x 20; --separate for one image each\nnote: ")
    assert (code, out.partition("  ")[0]) == (0, "planes.ozx")
    (here / "planes" / "img_t2_c2.tif").write_bytes(b"no image")
    code, _, err = ozx(capsys, "import", "planes/", "out.ozx", "--no-sync")
    assert (code, err.partition(";")[0]) == (1, "6 files → t 3, c 2, y 16, x 20")
    assert not (here / "out.ozx").exists()


@pytest.mark.usefixtures("planes")
def test_a_pattern_chooses_planes(capsys, here):
    code, out, err = ozx(capsys, "import", "planes", "--pattern", "img_t{t}_c1.tif", "--json", "--no-sync")
    answer = json.loads(out)
    jsonschema.validate(answer, schema_of("import"))
    assert (code, answer["results"][0]["joined"], "→" in err) == (0, "3 files → t 3, y 16, x 20", False)
    code, _, err = ozx(capsys, "import", "planes", "--pattern", "img_{q}.tif", "--force")
    assert (code, "got '{q}' in 'img_{q}.tif'" in err) == (2, True)
    code, _, err = ozx(capsys, "import", "planes", "--pattern", "img_t{t}_c1.tif", "--separate")
    assert (code, "--separate and --pattern exclude each other" in err) == (2, True)


@pytest.mark.usefixtures("planes")
def test_separate_makes_one_file_for_each_plane(capsys, here):
    code, _, err = ozx(capsys, "import", "planes", "--separate", "--out-dir", "out", "-q", "--no-sync")
    assert (code, err) == (0, "")
    assert sorted(os.listdir(here / "out")) == [f"img_t{t}_c{c}.ozx" for t in (1, 2, 3) for c in (1, 2)]


@pytest.mark.usefixtures("planes")
def test_folders_are_sources_of_a_batch(capsys, here):
    shutil.copytree(here / "planes", here / "other.v2")
    code, _, err = ozx(capsys, "import", "planes", "other.v2", "--out-dir", "out", "--no-sync")
    assert (code, err.count("6 files →")) == (0, 2)
    assert sorted(os.listdir(here / "out")) == ["other.v2.ozx", "planes.ozx"]
    assert "2 imported" in err


@pytest.mark.usefixtures("planes")
def test_a_folder_is_imported_from_within(capsys, here, monkeypatch):
    monkeypatch.chdir(here / "planes")
    assert ozx(capsys, "import", ".", "--no-sync")[0] == 0
    assert (here / "planes.ozx").exists()
    assert ozx(capsys, "import", ".", "out.ozx", "--no-sync")[0] == 0
    assert "1 other file of the folder is left out: out.ozx" in ozx(capsys, "import", ".", "--force", "--no-sync")[2]

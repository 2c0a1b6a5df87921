"""`ozx extract` as a user meets it."""

import json

import jsonschema
import numpy as np
import pytest
from commands import command, schema_of
from extracts import check_part
from hierarchies import FIXTURES
from packed import pack_tree

import ozx

SCHEMA = schema_of("extract")
IMAGE = FIXTURES / "image.ome.zarr"
call = command("extract")


def test_the_answer_and_the_story(cells, tmp_path, capsys):
    out = tmp_path / "corner.ozx"
    code, answer, story = call(capsys, cells, out, "--region", "y=0:100,x=0:128", "--whole-chunks")
    size = out.stat().st_size
    assert code == 0
    assert (
        answer
        == f"{out}  22 entries, {size / 1024:.1f} KiB, 2 images, the first: levels 0, 1 without 2, y=0:128, x=0:128\n"
    )
    assert story == (
        "note: the root: y=0:100 became 0:128, because only whole chunks are copied\n"
        "note: the root: left out level 2, because the chunks are too large for the region; "
        "an image of this size is shown without them\n"
    )
    check_part(IMAGE, out)


def test_a_crop_has_no_notes(cells, tmp_path, capsys):
    out = tmp_path / "corner.ozx"
    code, answer, story = call(
        capsys, cells, out, "--region", "y=0:100", "--region", "x=10:20um", "--channels", "Nuclei"
    )
    size = f"{out.stat().st_size / 1024:.1f} KiB"
    assert (code, story) == (0, "")
    assert answer == f"{out}  9 entries, {size}, 2 images, the first: level 0 without 1, 2, c=0:1, y=0:100, x=31:62\n"
    code, _, story = call(capsys, cells, tmp_path / "b.ozx", "--region", "x=900:1000")
    assert (code, "expected a region within x=0:256" in story) == (2, True)
    assert not (tmp_path / "b.ozx").exists()


def test_options_reach_the_library(cells, tmp_path, capsys):
    plate = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    out = tmp_path / "out.ozx"
    code, answer, _ = call(capsys, plate, out, "--path", "A/1/0", "--no-sync")
    assert (code, answer.endswith(" KiB, 2 levels\n")) == (0, True)
    code, answer, _ = call(capsys, plate, out, "--path", "A/1", "--levels=-1", "--force")
    assert (code, answer.endswith("2 images, the first: level 1 without 0\n")) == (0, True)
    code, answer, story = call(capsys, cells, out, "--max-size", "30kB", "--force")
    assert (code, "left out the finest 2 levels" in story) == (0, True)
    assert out.stat().st_size <= 30_000


def test_channels_with_gaps(tmp_path, capsys):
    pixels = np.zeros((3, 40, 40), "uint8")
    ozx.write_image(tmp_path / "a.ozx", pixels, axes="cyx", channel_names=["DAPI", "GFP", "Cy5"])
    code, answer, story = call(capsys, tmp_path / "a.ozx", tmp_path / "b.ozx", "--channels", "cy5,DAPI")
    assert (code, answer.endswith(", 1 level, channels 0,2\n"), story) == (0, True, "")
    _, answer, _ = call(capsys, tmp_path / "a.ozx", tmp_path / "b.ozx", "--channels", "0,2", "--json", "--force")
    parsed = json.loads(answer)
    jsonschema.validate(parsed, SCHEMA)
    assert parsed["images"][0]["channels"] == [0, 2]


def test_quiet(cells, tmp_path, capsys):
    assert call(capsys, cells, tmp_path / "a.ozx", "--region", "y=:1", "-q") == (0, "", "")
    for option in ("--region", "--channels"):  # such as an empty variable of a shell
        code, _, err = call(capsys, cells, tmp_path / "b.ozx", option, "")
        assert code == 2
        assert "error: expected" in err
    assert not (tmp_path / "b.ozx").exists()


@pytest.mark.parametrize("text", ["gfp\\, Alexa 488", "1"])
def test_a_comma_in_the_name_of_a_channel(tmp_path, capsys, text):
    path = tmp_path / "cells.ozx"
    ozx.write_image(path, np.zeros((2, 64, 64), "uint8"), axes="cyx", channel_names=["DAPI", "GFP, Alexa 488"])
    assert call(capsys, path, tmp_path / "out.ozx", "--channels", text)[0] == 0
    assert [channel.label for channel in ozx.inspect(tmp_path / "out.ozx").images[0].channels] == ["GFP, Alexa 488"]
    story = call(capsys, path, tmp_path / "other.ozx", "--channels", "Cy5")[2]
    assert story.endswith("hint: Choose from 0 DAPI, 1 GFP\\, Alexa 488.\n")

"""`ozx repack` as a user meets it: arguments, words, exit codes."""

import os
import shutil

import pytest
from commands import command
from hierarchies import FIXTURES

ozx = command()


@pytest.fixture
def cells(here, image):
    return shutil.copytree(image, here / "cells.ome.zarr")


@pytest.mark.usefixtures("cells")
def test_the_answer_is_one_line(capsys):
    code, out, err = ozx(capsys, "repack", "cells.ome.zarr", "a.ozx", "--shards", "auto", "--verify")
    assert (code, err) == (0, "")
    assert out.startswith("a.ozx  18 entries, ")
    assert out.endswith("2 arrays as stored, 4 arrays moved without decoding, verified\n")
    assert ozx(capsys, "repack", "a.ozx", "b.ozx", "--quiet") == (0, "", "")


def test_what_happened_is_told_on_stderr(capsys, here):
    code, out, err = ozx(capsys, "repack", FIXTURES / "legacy.ome.zarr", "a.zip")
    assert code == 0
    assert out.startswith("a.zip  ")
    assert "note: OME-Zarr 0.4 (Zarr v2) became 0.5 (Zarr v3)\n" in err
    assert "warning: a.zip does not end in .ozx" in err
    code, _, err = ozx(capsys, "pack", FIXTURES / "legacy.ome.zarr", "b.ozx", "--shards", "auto")
    assert code == 0
    assert "note: OME-Zarr 0.4 (Zarr v2) became 0.5 (Zarr v3)\n" in err
    assert sorted(os.listdir(here)) == ["a.zip", "b.ozx"]

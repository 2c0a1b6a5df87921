"""Every hostile archive at the command line: its exit code, no traceback, nothing written but what was asked for."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import recipes
import tifffile
from answers import assert_sound, listing
from cases.archive_builder import ArchiveBuilder, array, group
from commands import command
from hierarchies import multiscales
from PIL import Image
from recipes import RECIPES

from ozx.errors import LONGEST_TEXT

PIXELS = np.array([[0, 1], [2, 3]], np.uint8)
ROOT = group(attributes={"ome": {"version": "0.5", "multiscales": multiscales("yx", "1")}})
#: Commands that write nothing, their arguments behind the file; and the others, with what they are asked to write.
TELLING = [["ls"], ["ls", "--json"], ["cat", "0/c/0"], ["info"], ["info", "--json"], ["validate", "--level", "data"]]
WRITING = {
    "extract": "out.ozx",
    "export": "out.ome.tif",
    "thumbnail": "out.png",
    "unpack": "out",
    "repack": "out.ozx",
    "recover": "out.ozx",
}
ozx = command()


def picture(**values: bytes) -> ArchiveBuilder:
    """What recipes begin with, and an image beside the entries that they change."""
    builder = ArchiveBuilder.valid(**{"zarr.json": ROOT} | values)
    return builder.add("1/zarr.json", array([2, 2], [2, 2]), at=2).add("1/c/0/0", PIXELS.tobytes())


@pytest.fixture
def hostile(monkeypatch, plant):
    """A function that makes the archive of a recipe, around a picture, and returns its path."""
    monkeypatch.setattr(recipes, "valid", picture)

    def make(recipe):
        made = recipe.make()
        return plant(made if isinstance(made, bytes) else made.build())

    return make


def codes(command: str, recipe: recipes.Recipe) -> set[int]:
    """Return the exit codes that fit the answer of the command's door; 0 or 1, where it is none of the readers."""
    answers = {name: recipe.answers()[name] for name in ("info", "unpack", "repack", "recover")}
    known = {"whole": {0}, "read": {0}, "part": {3}}
    return known.get(answers[command], {1}) if command in answers else {0, 1}


def check_made(path: Path) -> None:
    """Assert that a file with its final name is a whole one."""
    if path.suffix == ".ozx":
        assert_sound(path, "zip/")
    elif path.suffix == ".tif":
        assert np.array_equal(tifffile.imread(path), PIXELS)
    elif path.suffix == ".png":
        with Image.open(path) as image:
            image.load()


def is_short(text: str) -> bool:
    """Return whether no message is longer than a screen."""
    return max(map(len, text.splitlines()), default=0) <= LONGEST_TEXT + 100


def test_names_of_60_000_characters_and_thousands_of_strangers(tmp_path, capsys):
    builder = ArchiveBuilder.valid()
    builder.add("a" * 60_000, b"x").add("0/" + "b" * 60_000, b"y").add("../" + "c" * 60_000, b"z")
    for number in range(2000):
        builder.add(f"PROGRAM FILES/{number:040}.dll", b"x")
    path, data = tmp_path / "in.ozx", builder.build()
    for length in (len(data), len(data) // 2):
        path.write_bytes(data[:length])
        for name in ("info", "ls", "cat", "validate", *WRITING):
            arguments = ["0/c/0"] if name == "cat" else [tmp_path / f"out.{length}.{name}"] if name in WRITING else []
            _, out, err = ozx(capsys, name, path, *arguments)
            assert is_short(out if name == "validate" else err), name


@pytest.mark.ci
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_commands(hostile, capsys, recipe):
    path = hostile(recipe)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # as `ozx.cli.app.main` has it
    given, before = path.read_bytes(), set(listing(path.parent.parent))
    for name, *arguments in TELLING:
        code, out, err = ozx(capsys, name, path, *arguments)
        assert code in codes(name, recipe), (name, code, err)
        assert is_short(out if name == "validate" else err), (name, err)
        assert name == "validate" or bool(err) == (code == 1), (name, code, err)
        assert name != "cat" or code or out.encode() == recipe.values().get("0/c/0", out.encode())
        assert set(listing(path.parent.parent)) == before, name
    for name, wanted in WRITING.items():
        target = path.with_name(wanted)
        code, _, err = ozx(capsys, name, path, target)
        assert code in codes(name, recipe), (name, code, err)
        assert is_short(err), (name, err)
        assert target.exists() == (code != 1), (name, code, err)
        written = set(listing(path.parent.parent)) - before
        assert all(entry.split(os.sep)[1] == wanted for entry in written), (name, written)
        if target.is_dir():
            shutil.rmtree(target)
        elif target.exists():
            check_made(target)
            target.unlink()
    assert path.read_bytes() == given

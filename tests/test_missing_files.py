"""Hints for a path that names no file."""

import errno
import os
from pathlib import Path

import pytest

import ozx
from ozx.errors import MissingFileError, resource_error
from ozx.missing_files import hint_at_missing
from ozx.quoting import quote


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cells.ozx", "cells-2.ozx", "README.md", ".cells.ozx.tmp"):
        (tmp_path / name).touch()
    return tmp_path


def test_a_file_whose_writer_was_killed(here):
    missing = FileNotFoundError(2, "No such file or directory", "run 7.ozx")
    assert resource_error(missing).hint is None
    (here / "run 7.ozx.partial").touch()
    assert f"ozx recover {quote('run 7.ozx.partial')} OUT.ozx" in resource_error(missing).hint


PLAIN, TIFF = os.path.join("my scans", "plain.ozx"), "stack.ome.tif"


@pytest.mark.parametrize(
    ("files", "path", "hint"),
    [
        ([], "READMEE.md", "Did you mean README.md?"),
        ([], "Cells.ozx", "Did you mean cells.ozx?"),
        ([], "cells", "Did you mean cells.ozx?"),
        ([], "cells.zarr", "Did you mean cells.ozx?"),
        ([], "readme.md", "Did you mean README.md?"),
        ([], os.path.join(".", "cels-2.ozx"), "Did you mean {0}cells-2.ozx or {0}cells.ozx?".format(f".{os.sep}")),
        ([PLAIN], os.path.join("my scans", "plane.ozx"), f"Did you mean {PLAIN}?"),
        ([TIFF], "stack.ozx", f"To convert the TIFF image, run: ozx import {TIFF}"),
        ([TIFF], "stack.tif", f"Did you mean {TIFF}?"),
        ([TIFF, "stack.ozx.zip"], "stack.ozx", "Did you mean stack.ozx.zip?"),
        # Other endings come before similar names.
        ([TIFF, "stack.ozx", "back.tif"], "stack.tif", f"Did you mean {TIFF} or stack.ozx or back.tif?"),
        (["embryo stack.ozx"], "embryo", f"Put a name with blanks in quotes: {quote('embryo stack.ozx')}"),
        *(([], path, None) for path in ("nuclei.ozx", "nowhere/cells.ozx", "README.md/cells.ozx", "")),
    ],
)
def test_a_similar_name(here, files, path, hint):
    for name in files:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).touch()
    if not os.path.exists(path):  # macOS and Windows ignore capitals
        assert hint_at_missing(path) == hint


def test_a_url_that_is_a_path(here):
    with pytest.raises(ozx.ResourceError) as caught:
        ozx.open(Path("http://127.0.0.1:1/cells.ozx"))
    assert caught.value.hint.startswith("Give a URL as text")


def test_the_errors_of_the_library_have_it(here):
    with pytest.raises(ozx.ResourceError) as caught:
        ozx.open("cells_2.ozx")
    assert caught.value.hint == "Did you mean cells-2.ozx or cells.ozx?"
    with pytest.raises(MissingFileError) as caught:
        ozx.unpack("cells_2.ozx", "out.ome.zarr")
    assert caught.value.hint == "Did you mean cells-2.ozx or cells.ozx?"
    assert isinstance(caught.value, FileNotFoundError)


def test_a_pattern_in_quotes(here):
    (here / "day 2").mkdir()
    (here / "day 2" / "a.tif").touch()
    hint = hint_at_missing(os.path.join("day 2", "*.tif"))
    if os.name == "nt":  # ozx expands it
        assert hint == "These names match, give one: day 2\\a.tif"
    else:
        assert hint.endswith("write the pattern outside of quotes: 'day 2'/*.tif")
    assert hint_at_missing(os.path.join("day 2", "*.png")) is None


def test_a_folder_that_lets_nobody_write_is_named(tmp_path, monkeypatch):
    path, errors = str(tmp_path / "cells.ozx"), (PermissionError(errno.EACCES, "no"), OSError(errno.EROFS, "no"))
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)  # root may write everywhere
    for error in errors:
        error.filename = path
        assert resource_error(error).hint.startswith(f"You cannot write to the folder {tmp_path}: name an output")
    monkeypatch.setattr(os, "access", lambda _, mode: False)
    for error in errors:
        assert resource_error(error).hint is None

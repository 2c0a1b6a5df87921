"""`ozx.Cancelled`, raised by a `Progress`, ends every operation and leaves its output as it was."""

import os

import numpy as np
import pytest
import tifffile
from counting_progress import ActingProgress
from hierarchies import FIXTURES
from packed import pack_tree

import ozx

IMAGE = FIXTURES / "image.ome.zarr"


def cancel():
    raise ozx.Cancelled


CALLS = {
    "pack": lambda progress: ozx.pack(IMAGE, "out.ozx", force=True, progress=progress),
    "pack, sharded": lambda progress: ozx.pack(IMAGE, "out.ozx", shards="auto", force=True, progress=progress),
    "unpack": lambda progress: ozx.unpack("cells.ozx", "new.ome.zarr", progress=progress),
    "repack": lambda progress: ozx.repack("cells.ozx", "out.ozx", force=True, progress=progress),
    "transcode": lambda progress: ozx.repack("cells.ozx", "out.ozx", codec="zstd:1", force=True, progress=progress),
    "extract": lambda progress: ozx.extract("cells.ozx", "out.ozx", levels="0", force=True, progress=progress),
    "export": lambda progress: ozx.export("cells.ozx", "new.ome.tif", progress=progress),
    "recover": lambda progress: ozx.recover("cells.ozx", "out.ozx", force=True, progress=progress),
    "import_image": lambda progress: ozx.import_image("cells.tif", "out.ozx", force=True, progress=progress),
    "write_image": lambda progress: ozx.write_image("out.ozx", np.eye(900), axes="yx", force=True, progress=progress),
    "validate": lambda progress: ozx.validate("cells.ozx", level="data", progress=progress),
    "pack_many": lambda progress: ozx.pack_many([(IMAGE, "a.ozx"), (IMAGE / "labels", "b.ozx")], progress=progress),
    "pack_many, threads": lambda progress: ozx.pack_many(
        [(IMAGE, "a.ozx"), (IMAGE / "labels/cells", "b.ozx")], jobs=2, progress=progress
    ),
    "import_images": lambda progress: ozx.import_images(["cells.tif", "more.tif"], out_dir="in", progress=progress),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pack_tree(IMAGE, tmp_path / "cells.ozx")
    for name in ("cells.tif", "more.tif"):
        tifffile.imwrite(name, np.eye(600, dtype="uint16"))
    (tmp_path / "out.ozx").write_bytes(b"as it was")
    (tmp_path / "in").mkdir()
    return tmp_path


def files(folder):
    return {
        os.path.join(path, name): os.stat(os.path.join(path, name)).st_mtime_ns
        for path, _, names in os.walk(folder)
        for name in names
    }


@pytest.mark.parametrize("name", CALLS)
def test_it_comes_out_of_every_operation_and_leaves_all_as_it_was(folder, name):
    before = files(folder)
    with pytest.raises(ozx.Cancelled):
        CALLS[name](ActingProgress(cancel))
    assert files(folder) == before


def test_it_is_no_error_that_a_program_would_take_for_another(folder):
    assert not issubclass(ozx.Cancelled, Exception)


def test_a_batch_keeps_the_files_that_are_done(folder):
    done, progress = [], ActingProgress(lambda: cancel() if done else None)
    with pytest.raises(ozx.Cancelled):
        ozx.pack_many([(IMAGE, "a.ozx"), (IMAGE / "labels/cells", "b.ozx")], progress=progress, on_result=done.append)
    assert [result.path for result in done] == ["a.ozx"]
    assert (folder / "a.ozx").exists()
    assert not (folder / "b.ozx").exists()


def test_pairs_name_their_files(folder):
    many = ozx.pack_many([(IMAGE, folder / "a.ozx"), IMAGE, (str(IMAGE), "x/b.ozx")], out_dir="in")
    assert [result.status for result in many.results] == ["packed", "packed", "failed"]
    assert [result.path for result in many.results][:2] == [str(folder / "a.ozx"), os.path.join("in", "image.ozx")]


def test_two_pairs_with_one_file_are_refused(folder):
    with pytest.raises(ozx.UsageError):
        ozx.pack_many([(IMAGE, "a.ozx"), (IMAGE / "labels", "a.ozx")])
    assert not (folder / "a.ozx").exists()

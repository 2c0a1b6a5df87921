"""`ozx.open` with the modes ``w``, ``x`` and ``a``: groups that write."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import zarr

import ozx
from ozx.errors import FormatError, UsageError
from ozx.store.extension_groups import OpenedGroup
from ozx.store.pixels.pipeline import ArchivePipeline

OME = {"version": "0.5"}
PIXELS = np.arange(64, dtype="u2").reshape(8, 8)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    with ozx.open(tmp_path / "a.ozx", "w") as group:
        group.attrs["ome"] = OME
        group.create_array("0", shape=(8, 8), chunks=(4, 4), dtype="u2")[:] = PIXELS
    return tmp_path / "a.ozx"


def test_mode_a_adds_to_a_file_that_mode_w_has_made(written: Path) -> None:
    assert ozx.validate(written).valid
    with ozx.open(written, "a") as group:
        group["0"][2:4] = 9
        group.create_group("labels", attributes={"ome": OME | {"labels": []}})
    with ozx.open(written) as group:
        assert group["0"][1:5, 0].tolist() == [8, 9, 9, 32]
        assert group["labels"].attrs["ome"]["labels"] == []


@pytest.mark.parametrize("mode", ["w", "a"])
def test_after_an_error_the_old_file_stays_and_the_new_one_has_no_final_name(written: Path, mode: str) -> None:
    before = written.read_bytes()
    with pytest.raises(ZeroDivisionError), ozx.open(written, mode) as group:  # type: ignore[call-overload]
        group.create_array("1", shape=(8, 8), dtype="u2")[:] = 1
        _ = 1 / 0
    assert written.read_bytes() == before
    assert sorted(os.listdir(written.parent)) == ["a.ozx", "a.ozx.partial"]


def test_closing_finishes_the_file_and_ends_writing(tmp_path: Path) -> None:
    group = ozx.open(tmp_path / "a.ozx", "w")
    group.attrs["ome"] = OME
    group.close()
    group.close()
    assert os.listdir(tmp_path) == ["a.ozx"]
    with pytest.raises(UsageError, match="the store was closed"):
        group.create_group("more")


def test_all_ways_to_make_a_node_give_arrays_and_groups_of_ours(tmp_path: Path) -> None:
    with ozx.open(tmp_path / "a.ozx", "w") as group:
        group.attrs["ome"] = OME
        like = np.zeros((4, 4), "u1")
        some = {"shape": (4, 4), "dtype": "u1"}
        with warnings.catch_warnings(action="ignore"):  # zarr-python deprecates two of them
            made = [
                group.create_array("a", **some),
                group.create_array("b", data=like),
                group.create("c", **some),
                group.require_array("e", **some),
                group.require_dataset("f", **some),
                group.empty(name="h", **some),
                group.zeros(name="i", **some),
                group.ones(name="j", **some),
                group.full(name="k", fill_value=3, **some),
                group.empty_like(name="l", data=like),
                group.zeros_like(name="m", data=like),
                group.ones_like(name="n", data=like),
                group.full_like(name="o", data=like, fill_value=3),
                group.require_array("a", **some),
                group.create_group("groups").create_array("p", **some),
                group.require_group("groups").create_array("q", **some),
                group.require_groups("groups")[0].create_array("r", **some),
                group["groups"].create_array("s", **some),
                *(array for _, array in group.arrays()),
                *group.array_values(),
                *(next(group.group_values()).array_values()),
                *(node for _, node in group.members(max_depth=None) if isinstance(node, zarr.Array)),
                group["groups/p"],
                group.get("a"),
                *([group.get_array("a")] if hasattr(zarr.Group, "get_array") else []),
            ]
            if hasattr(zarr.Group, "create_dataset"):  # zarr-python 3.4 has these no more
                made += [group.create_dataset("d", **some), group.array(name="g", **some)]
        made.append(made[0].with_config({"write_empty_chunks": True}))
        metadata = {"t": made[0].metadata, "deep/u": made[0].metadata}
        hierarchy = dict(group.create_hierarchy(metadata))  # type: ignore[arg-type]
        made += [hierarchy["t"], hierarchy["deep/u"]]
        assert isinstance(hierarchy["deep"], OpenedGroup)
        for array in made:
            assert type(array) is ozx.Array
            assert isinstance(array.async_array.codec_pipeline, ArchivePipeline)


def test_what_cannot_be_written_is_refused(written: Path) -> None:
    with pytest.raises(UsageError, match="expected one of the modes r, w, x, a; got 'r\\+'"):
        ozx.open(written, "r+")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="the file exists already"):
        ozx.open(written, "x")
    with pytest.raises(UsageError, match="live=True only reads"):
        ozx.open(written, "a", live=True)  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="expected a file; got the node '0'"):
        ozx.open(f"{written}|zip:0/", "a")
    with pytest.raises(UsageError, match="found a URL"):
        ozx.open("https://example.org/a.ozx", "w")
    with pytest.raises(UsageError, match="found a URL"):
        ozx.open("https://example.org/a.ome.zarr/", "a")
    assert os.listdir(written.parent) == ["a.ozx"]


def test_mode_a_refuses_what_reading_refuses(tmp_path: Path) -> None:
    (tmp_path / "a.ozx").write_bytes(b"no archive")
    with pytest.raises(FormatError):
        ozx.open(tmp_path / "a.ozx", "a")
    with ozx.OzxStore(tmp_path / "b.ozx", "w") as store, warnings.catch_warnings(action="ignore"):
        zarr.create_array(store, shape=(2,), dtype="u1")
        store.close()
    with pytest.raises(UsageError, match="expected a group; the root is an array"):
        ozx.open(tmp_path / "b.ozx", "a")
    assert sorted(os.listdir(tmp_path)) == ["a.ozx", "b.ozx"]


def test_consolidated_metadata_are_not_followed_in_mode_a(written: Path) -> None:
    with ozx.OzxStore(written, "a") as store, warnings.catch_warnings(action="ignore"):
        zarr.consolidate_metadata(store)
    with ozx.open(written, "a") as group:
        group.create_array("1", shape=(2,), dtype="u1")
        assert sorted(group) == ["0", "1"]

"""Names that a writer spelt differently throughout an archive, in damaged archives."""

import os
import zipfile

import pytest
from cases.archive_builder import group
from hierarchies import FIXTURES, tree
from packed import unmarked, values_of

import ozx
from ozx.errors import FormatError

VALUES = tree(FIXTURES / "image.ome.zarr")
SPELLINGS = {
    "backslashes": lambda key: key.replace("/", "\\"),
    "dot": lambda key: f"./{key}",
    "folder": lambda key: f"cells.ome.zarr/{key}",
    "folders": lambda key: f"./day 1/cells.zarr/{key}",
}


def write(path, values, **others):
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in {**values, **others}.items():
            information = zipfile.ZipInfo("x")
            information.filename = name  # the constructor would change backslashes on Windows
            archive.writestr(information, value)


def recover(path):
    out = f"{path}.ozx"
    return ozx.recover(path, out), unmarked(values_of(out))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_whole_archive_is_recovered_under_its_keys(tmp_path, spelling):
    path = str(tmp_path / "a.zip")
    write(path, {SPELLINGS[spelling](key): value for key, value in VALUES.items()})
    result, found = recover(path)
    assert found == VALUES
    assert result.complete
    assert len(result.notes) == (2 if spelling == "folders" else 1)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_start_of_an_archive_is_recovered_under_its_keys(tmp_path, spelling):
    path = str(tmp_path / "a.zip")
    write(
        path, {SPELLINGS[spelling](key): VALUES[key] for key in sorted(VALUES, key=lambda key: "zarr.json" not in key)}
    )
    os.truncate(path, os.path.getsize(path) // 2)
    result, found = recover(path)
    assert not result.complete
    assert len(found) > 10
    assert found == {key: VALUES[key] for key in found}


@pytest.mark.parametrize(("other", "lost"), [("readme.txt", 1), ("__MACOSX/._cells.zarr", 0), (".DS_Store", 0)])
def test_entries_outside_of_the_folder_are_left_out(tmp_path, other, lost):
    path = str(tmp_path / "a.zip")
    write(path, {f"cells.zarr/{key}": value for key, value in VALUES.items()}, **{other: b"hi", "cells.zarr/": b""})
    result, found = recover(path)
    assert found == VALUES
    assert "the hierarchy is in the folder 'cells.zarr/'" in result.notes[0]
    assert result.notes[0].endswith("left out: 1")
    assert (result.complete, result.lost_count) == (not lost, lost)


@pytest.mark.parametrize("damage", ["none", "cut", "root"])
def test_a_series_with_images_in_zarr_folders_keeps_its_root(tmp_path, damage):
    """The larger image has most entries, but is not the hierarchy."""
    values = {f"a.zarr/{key}": value for key, value in VALUES.items()}
    values |= {"b.zarr/zarr.json": VALUES["zarr.json"], "OME/zarr.json": group(None)}
    path = str(tmp_path / "a.zip")
    write(path, {"zarr.json": group(None), **values})
    if damage == "cut":
        os.truncate(path, os.path.getsize(path) - 40)
    if damage == "root":
        with open(path, "r+b") as file:
            file.seek(len("zarr.json") + 30)
            file.write(b"X")
        with pytest.raises(FormatError, match=r"the root's zarr\.json is lost"):
            recover(path)
        return
    result, found = recover(path)
    assert found == {"zarr.json": group(None), **values}
    assert result.complete == (damage == "none")
    assert not [note for note in result.notes if "folder" in note]


@pytest.mark.parametrize("others", [["b.zarr/zarr.json"], ["b.zarr/x.txt"], ["b/zarr.json"]])
def test_of_two_hierarchies_none_is_dropped(tmp_path, others):
    values = {f"a.zarr/{key}": value for key, value in VALUES.items()}
    write(tmp_path / "a.zip", {**values, **dict.fromkeys(others, VALUES["zarr.json"])})
    with pytest.raises(FormatError, match=r"the root's zarr\.json is lost"):
        recover(str(tmp_path / "a.zip"))


def test_a_single_odd_name_is_not_repaired(tmp_path):
    path = str(tmp_path / "a.zip")
    write(path, VALUES, **{"OME\\x.txt": b"one", "./OME/y.txt": b"two", "other.zarr/z.txt": b"three"})
    result, found = recover(path)
    assert {key: found[key] for key in VALUES} == VALUES
    assert not {"OME/x.txt", "OME/y.txt", "z.txt"} & found.keys()
    assert not [note for note in result.notes if "folder" in note or "backslash" in note]


def test_a_node_of_a_lost_root_is_no_root(tmp_path):
    path = str(tmp_path / "a.zip")
    write(path, {key: value for key, value in VALUES.items() if key.startswith("0/")})
    with pytest.raises(FormatError, match=r"the root's zarr\.json is lost; "):
        recover(path)

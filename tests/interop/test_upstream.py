"""Faults of other programs that docs/upstream describes and no other test reproduces.

Each test asserts that a fault is still there: the day it fails, the program is repaired and the page is out of date.
"""

import contextlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from packaging.version import Version
from writers import IOHUB

GIB = 1 << 30
#: A legal array of Zarr v3 without chunks.
ARRAY: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [2, 2],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 7,
    "codecs": [{"name": "bytes"}],
}
TRANSFORMERS = {"storage_transformers": [{"name": "example.transformer"}]}
#: zarr-python 3.4 has repaired two of the faults of 3.1.6.
IS_REPAIRED = Version(zarr.__version__) >= Version("3.4")

ignore_warnings = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def outdated(page: str) -> str:
    return f"repaired: docs/upstream/{page} is out of date"


def write(folder: Path, document: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps(document))
    return folder


# --- tensorstore ----------------------------------------------------------------------------------


def write_sparse_entry(path: Path, size: int) -> None:
    """Write an archive of two entries; the data of the large one are a hole in the file."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small", b"1")
        with archive.open("large", "w", force_zip64=True):
            pass
        entry = archive.getinfo("large")
        entry.file_size = entry.compress_size = size
        assert archive.fp is not None
        archive.fp.seek(entry.header_offset)
        archive.fp.write(entry.FileHeader(zip64=True))
        archive.start_dir += size


@pytest.mark.parametrize(("size", "is_seen"), [(2 * GIB, True), (2 * GIB + 1, False)])
def test_tensorstore_loses_entries_above_2_gib(size: int, *, is_seen: bool, tmp_path: Path) -> None:
    tensorstore: Any = pytest.importorskip("tensorstore")
    path = tmp_path / "large.zip"
    write_sparse_entry(path, size)
    store = tensorstore.KvStore.open(f"file://{path.as_posix()}|zip:").result()
    expected = [b"large", b"small"] if is_seen else [b"small"]
    assert store.list().result() == expected, outdated("tensorstore.md")
    if not is_seen:
        assert store.read("large").result().state == "missing"


@pytest.mark.parametrize(("names", "opens"), [(["y", "x"], True), ([None, None], True), (["x", "x"], False)])
def test_tensorstore_refuses_equal_dimension_names(names: list[str | None], *, opens: bool, tmp_path: Path) -> None:
    tensorstore: Any = pytest.importorskip("tensorstore")
    path = write(tmp_path / "a.zarr", {**ARRAY, "dimension_names": names})
    refusal = contextlib.nullcontext() if opens else pytest.raises(ValueError, match=r'label\(s\) "x" not unique')
    with refusal:
        tensorstore.open(f"file://{path.as_posix()}/|zarr3:").result()


# --- zarr-python ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"codecs": ["bytes"]},
        {"codecs": [{"name": "bytes"}, "crc32c"]},
        {"chunk_key_encoding": "default"},
        {"data_type": {"name": "uint8"}},
    ],
    ids=["codec", "second codec", "chunk key encoding", "data type"],
)
def test_zarr_python_refuses_short_names(change: dict[str, Any], tmp_path: Path) -> None:
    assert zarr.open_array(write(tmp_path / "a.zarr", ARRAY), mode="r")[0, 0] == 7
    with pytest.raises((TypeError, ValueError), match=r"Expected dict, got <class 'str'>|Invalid data_type"):
        zarr.open_array(write(tmp_path / "b.zarr", {**ARRAY, **change}), mode="r")


def test_zarr_python_opens_arrays_with_storage_transformers(tmp_path: Path) -> None:
    write(tmp_path / "a.zarr", {"zarr_format": 3, "node_type": "group"})
    array = write(tmp_path / "a.zarr" / "0", {**ARRAY, **TRANSFORMERS})
    with pytest.raises(ValueError, match="contains storage transformers"):
        zarr.open_array(array, mode="r")
    found: Any = zarr.open_group(tmp_path / "a.zarr", mode="r")["0"]
    assert found[0, 0] == 7, outdated("zarr-python.md")


def test_zarr_python_refuses_fields_that_may_be_ignored(tmp_path: Path) -> None:
    group = {"zarr_format": 3, "node_type": "group", "note": {"must_understand": False}}
    refusal = pytest.raises(TypeError, match="unexpected keyword argument 'note'")
    with contextlib.nullcontext() if IS_REPAIRED else refusal:
        zarr.open_group(write(tmp_path / "a.zarr", group), mode="r")


def test_zarr_python_loses_the_order_of_transposed_strings(tmp_path: Path) -> None:
    codecs = [{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "vlen-utf8"}]
    strings = {**ARRAY, "data_type": "string", "fill_value": "", "codecs": codecs}
    values = np.array([["a", "b"], ["c", "d"]], dtype=object)
    array: Any = zarr.open_array(write(tmp_path / "a.zarr", strings), mode="r+")
    array[...] = values
    assert array[...].tolist() == (values if IS_REPAIRED else values.T).tolist()


# --- numcodecs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "imports"), [("1.0.1", True), ("1.0.1.post0", False)])
def test_numcodecs_cannot_be_imported_beside_a_post_release_of_zfpy(
    version: str, *, imports: bool, tmp_path: Path
) -> None:
    metadata = tmp_path / f"zfpy-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: zfpy\nVersion: {version}\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", "import numcodecs"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (found.returncode == 0) == imports, outdated("numcodecs.md")
    assert imports or "invalid literal for int() with base 10: 'post0'" in found.stderr


# --- ngff-zarr ------------------------------------------------------------------------------------


@pytest.fixture
def ngff_zarr() -> Any:
    return pytest.importorskip("ngff_zarr")


@pytest.fixture
def multiscales(ngff_zarr: Any) -> Any:
    image = ngff_zarr.to_ngff_image(np.ones((64, 64), "uint8"), dims=["y", "x"])
    return ngff_zarr.to_multiscales(image, scale_factors=[])


@pytest.mark.ci
@ignore_warnings
def test_ngff_zarr_loses_labels(ngff_zarr: Any, multiscales: Any, tmp_path: Path) -> None:
    source, copy = tmp_path / "a.zarr", tmp_path / "b.zarr"
    ngff_zarr.to_ome_zarr(source, multiscales, version="0.5")
    ngff_zarr.to_ome_zarr(source / "labels" / "cells", multiscales, version="0.5")
    attributes = {"ome": {"version": "0.5", "labels": ["cells"]}}
    write(source / "labels", {"zarr_format": 3, "node_type": "group", "attributes": attributes})
    ngff_zarr.to_ome_zarr(copy, ngff_zarr.from_ome_zarr(source), version="0.5")
    assert (copy / "scale0").is_dir()
    assert not (copy / "labels").exists(), outdated("ngff-zarr.md")


@pytest.mark.ci
@ignore_warnings
@pytest.mark.parametrize("name", ["folder", "folder.ozx"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_ngff_zarr_deletes_directories(
    name: str, *, overwrite: bool, ngff_zarr: Any, multiscales: Any, tmp_path: Path
) -> None:
    notes = tmp_path / name / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("of somebody else")
    ngff_zarr.to_ome_zarr(tmp_path / name, multiscales, version="0.5", overwrite=overwrite)
    keeps = not overwrite and name == "folder"  # the only one of the four that is as it should be
    assert notes.exists() == keeps, outdated("ngff-zarr.md")


@pytest.mark.ci
@ignore_warnings
def test_ngff_zarr_calls_archives_of_0_4_archives_of_0_5(ngff_zarr: Any, multiscales: Any, tmp_path: Path) -> None:
    ngff_zarr.to_ome_zarr(tmp_path / "a.zarr", multiscales, version="0.4")
    ngff_zarr.write_store_to_zip(tmp_path / "a.zarr", tmp_path / "a.ozx")
    with zipfile.ZipFile(tmp_path / "a.ozx") as archive:
        assert ".zgroup" in archive.namelist()
        assert json.loads(archive.comment)["ome"]["version"] == "0.5", outdated("ngff-zarr.md")


# --- iohub ----------------------------------------------------------------------------------------


def test_iohub_writes_entries_twice() -> None:
    with zipfile.ZipFile(IOHUB) as archive:
        assert archive.namelist().count("zarr.json") == 2


@pytest.mark.iohub
@ignore_warnings
def test_iohub_lists_labels_in_the_image(tmp_path: Path) -> None:
    iohub: Any = pytest.importorskip("iohub")
    path = tmp_path / "a.zarr"
    with iohub.open_ome_zarr(path, layout="fov", mode="w", channel_names=["a"], version="0.5") as position:
        position.create_image("0", np.ones((1, 1, 1, 64, 64), "uint16"))
        position.create_label("cells", np.ones((1, 1, 64, 64), "uint8"))
    image, labels = (json.loads((path / name).read_text()) for name in ("zarr.json", "labels/zarr.json"))
    assert image["attributes"]["ome"]["labels"] == {"labels": ["cells"]}, outdated("iohub.md")
    assert "ome" not in labels["attributes"], outdated("iohub.md")

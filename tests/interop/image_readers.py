"""Programs that open an OME-Zarr image by its metadata, each in the way that its documentation shows for files.

They have the interface of the array judges, so that docs/interop.md asks all in the same way; only some of them use the
argument `node`. ``test_ome_readers.py`` tests more features of each reader.
"""

# ruff: noqa: PLC0415 (the packages may be absent)

import atexit
import functools
import json
import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from judges import HERE, ArrayJudge, RefusalError, absent_packages

import ozx

#: This variable names the interpreter of an environment with napari and ozx; the tests run in another environment.
NAPARI_VARIABLE = "OZX_NAPARI_PYTHON"


def _read_ozx(archive: Path, node: str) -> npt.ArrayLike:
    return ozx.open(archive)[node][...]


def _read_ozx_by_fsspec(archive: Path, node: str) -> npt.ArrayLike:
    import zarr

    return zarr.open_group(f"ozx://{archive.as_posix()}", mode="r")[node][...]


def _read_ozx_by_xarray(archive: Path, node: str) -> npt.ArrayLike:
    import xarray

    with xarray.open_dataset(archive) as dataset:
        return dataset["image"].values


def _read_ngff_zarr(archive: Path, node: str) -> npt.ArrayLike:
    import ngff_zarr

    return ngff_zarr.from_ome_zarr(archive).images[0].data


def _read_bioio(archive: Path, node: str) -> npt.ArrayLike:
    from bioio_ome_zarr import Reader

    return Reader(archive).data


def _read_bioio_image(archive: Path, node: str) -> npt.ArrayLike:
    from bioio import BioImage, plugin_feasibility_report
    from bioio_base.exceptions import UnsupportedFileFormatError

    try:
        return BioImage(archive).data
    except UnsupportedFileFormatError as error:
        # The error says only that no plugin accepts the file; the report contains the message of each plugin.
        raise RefusalError(f"{error}\n{plugin_feasibility_report(archive)}") from error


def _read_ome_zarr(archive: Path, node: str) -> npt.ArrayLike:
    return _read_by_parse_url(archive)


def _read_ome_zarr_by_fsspec(archive: Path, node: str) -> npt.ArrayLike:
    from zarr.storage import FsspecStore

    return _read_by_parse_url(FsspecStore.from_url(f"ozx://{archive.as_posix()}", read_only=True))


def _read_by_parse_url(place: Any) -> npt.ArrayLike:
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    location = parse_url(place)
    if location is None:
        raise RefusalError(f"parse_url({type(place).__name__}) gives None")
    return next(found for found in Reader(location)() if found.data).data[0]


# --- napari, in a separate environment ------------------------------------------------------------


def _no_napari() -> str | None:
    return None if os.environ.get(NAPARI_VARIABLE) else f"{NAPARI_VARIABLE} names no Python that has napari"


@functools.cache
def _napari() -> subprocess.Popen[str]:
    """Return the process that reads all files; there is only one, because importing napari takes seconds."""
    # Not this process's PYTHONPATH: it may lead to packages of another Python.
    process = subprocess.Popen(
        (os.environ[NAPARI_VARIABLE], HERE / "napari_reader.py"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
    )
    atexit.register(process.communicate)
    return process


def _ask_napari(question: str) -> Any:
    process = _napari()
    print(question, file=process.stdin, flush=True)
    answer = json.loads(process.stdout.readline())
    if isinstance(answer, dict):
        raise RefusalError(answer["error"])
    return answer


def napari_versions() -> dict[str, str]:
    return dict(_ask_napari("versions"))


def _read_napari(archive: Path, node: str) -> npt.ArrayLike:
    with tempfile.TemporaryDirectory(prefix="ozx-judge-") as folder:
        layers = _ask_napari(f"{folder}/layers.npy\t{archive}")
        assert layers, "napari shows no layer"
        return np.load(f"{folder}/layers.npy")


def _reader(name: str, package: str, read: Any) -> ArrayJudge:
    return ArrayJudge(name, partial(absent_packages, package), read)


IMAGE_READERS = (
    _reader("ozx", "ozx", _read_ozx),
    _reader("fsspec, `ozx://`", "fsspec", _read_ozx_by_fsspec),
    _reader("xarray with ozx", "xarray", _read_ozx_by_xarray),
    ArrayJudge("napari with ozx", _no_napari, _read_napari),
    _reader("ome-zarr-py, `ozx://`", "ome_zarr", _read_ome_zarr_by_fsspec),
    _reader("ome-zarr-py, path", "ome_zarr", _read_ome_zarr),
    _reader("ngff-zarr", "ngff_zarr", _read_ngff_zarr),
    _reader("bioio-ome-zarr", "bioio_ome_zarr", _read_bioio),
    _reader("bioio, `BioImage`", "bioio", _read_bioio_image),
)

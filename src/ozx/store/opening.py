"""Opening an .ozx file as a zarr group."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ozx.archive.byte_source import FileSource
from ozx.archive.directory import read_end

if TYPE_CHECKING:
    import zarr

__all__ = ["open_group"]


def open_group(path: str | os.PathLike[str]) -> zarr.Group:
    """Return the root group of the hierarchy in an .ozx file, read-only.

    Parameters
    ----------
    path
        A local .ozx file.

    Raises
    ------
    FormatError
        It is no archive, or a damaged one.

    Examples
    --------
    >>> group = open_group("cells.ozx")
    >>> group["0"].shape
    (2, 256, 256)
    """
    import zarr  # noqa: PLC0415 (takes half a second, and only this needs it)
    from zarr.storage import ZipStore  # noqa: PLC0415

    source = FileSource(os.fspath(path))
    read_end(source)  # says what is wrong with the file in words; zarr would say BadZipFile
    source.close()
    store = ZipStore(os.fspath(path), mode="r")
    return zarr.open_group(store, mode="r", zarr_format=3)

"""The other files of an image, named by its OME-XML or the index of an NDTiff: they must lie in the image's folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from ozx.errors import FormatError

if TYPE_CHECKING:
    from tifffile import TiffFile


def check_files(folder: str, names: Sequence[str], path: str) -> None:
    """Check the names of files in the OME-XML of an image."""
    for name in names:
        if not _is_inside(name):
            raise _elsewhere("the OME-XML", name, path)
    missing = [name for name in names if not os.path.isfile(os.path.join(folder, name))]
    if missing:
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        raise FormatError(
            f"{len(missing):,} of the {len(names):,} files listed in the OME-XML are missing in its folder: "
            f"{', '.join(missing[:3])}{more}",
            path=path,
            hint="Copy all files of the image into one folder; do not rename them.",
        )


def check_index(file: TiffFile) -> None:
    """Check the names of files in the index of an NDTiff (Micro-Manager) before tifffile opens these files."""
    from tifffile import read_ndtiff_index  # noqa: PLC0415 (an extra)

    index = os.path.join(file.filehandle.dirname, "NDTiff.index")
    if os.path.exists(index) and len(file.pages) and file.is_ndtiff:
        for _, name, *_ in read_ndtiff_index(index):
            if not _is_inside(name):
                raise _elsewhere("NDTiff.index", name, file.filehandle.path)


def _elsewhere(what: str, name: str, path: str) -> FormatError:
    return FormatError(f"{what} refers to a file outside of its own folder: {name!r}", path=path)


def _is_inside(name: str) -> bool:
    """Return whether a relative path stays in its folder, with the rules of Windows, which include those of Posix.

    `os.path.isabs` is not enough: on Windows, `os.path.join` leaves the folder for C:x.tif and, since Python 3.13, for
    /x.tif, although these paths are not absolute.
    """
    # Windows drops spaces and dots at the end of a name, such as ".. ".
    parts = (part.rstrip(" ") for part in name.replace("\\", "/").split("/"))
    return not PureWindowsPath(name).anchor and ".." not in parts

"""The other files of an image, which its OME-XML names: they must lie in the folder of the image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PureWindowsPath

from ozx.errors import FormatError

__all__ = ["check_files"]


def check_files(folder: str, names: Sequence[str], path: str) -> None:
    """Check the names of files in the OME-XML of an image.

    Parameters
    ----------
    folder
        The folder of the image.
    names
        The names of the files.
    path
        The file with the OME-XML, for messages.

    Raises
    ------
    FormatError
        A file is missing, or a name leads out of the folder on any system.
    """
    for name in names:
        if not _is_inside(name):
            raise FormatError(f"the OME-XML refers to a file outside of its own folder: {name!r}", path=path)
    missing = [name for name in names if not os.path.isfile(os.path.join(folder, name))]
    if missing:
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        raise FormatError(
            f"{len(missing):,} of the {len(names):,} files listed in the OME-XML are missing in its folder: "
            f"{', '.join(missing[:3])}{more}",
            path=path,
            hint="Copy all files of the image into one folder; do not rename them.",
        )


def _is_inside(name: str) -> bool:
    """Return whether a relative path stays in its folder, with the rules of Windows, which include those of Posix.

    `os.path.isabs` is not enough: on Windows, `os.path.join` leaves the folder for C:x.tif and, since Python 3.13, for
    /x.tif, although these paths are not absolute.
    """
    # Windows drops spaces and dots at the end of a name, such as ".. ".
    parts = (part.rstrip(" ") for part in name.replace("\\", "/").split("/"))
    return not PureWindowsPath(name).anchor and ".." not in parts

"""Detection of other file formats, by first bytes or file names, and hints on how to convert such files to .ozx."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ozx.quoting import quote, quote_pattern

#: The number of bytes from the start of a file that suffice to identify each format.
LONGEST_SIGNATURE = 512

_IMPORT = "Run: ozx import {path}"
_SAVE = "Save it as TIFF, for example with Fiji; then run: ozx import {stem}.tif"
_UNPACK = "Unpack it, then run ozx pack on the OME-Zarr folder in it, or ozx import on the TIFF files."
_LOOK = (
    "If this is an .ozx file, ozx info shows its contents. Otherwise unpack it, then run ozx import on its TIFF files."
)


class OtherFormat(NamedTuple):
    """A file format, with a hint on how to make an .ozx file from a file of this format."""

    name: str  # the name of the format, with its article
    way: str | None  # the hint for a file at ``{path}``; ``{stem}`` is the path without its last ending

    @property
    def is_tiff(self) -> bool:
        """Whether the format is TIFF, which `ozx import` reads."""
        return self is _TIFF

    @property
    def is_of_microscopes(self) -> bool:
        """Whether `ozx import` reads the format by the extra ``formats``."""
        return self.way is _IMPORT and self is not _TIFF

    @property
    def is_zip(self) -> bool:
        """Whether the format is ZIP; a ZIP file may be an .ozx file."""
        return self.way is _LOOK

    def hint(self, path: str) -> str | None:
        """Return the hint for the file at `path`, which may be a URL; None if no hint is known."""
        if self.way is None:
            return None
        before = ""
        if "://" in path:
            before, path = "Download it first. ", os.path.basename(path)
        if self.way is _IMPORT and path.lower().endswith(".ozx"):  # the new file would have the same name
            path = path[:-4] + ".tif"
            before += f"Rename it to {os.path.basename(path)}. "
        stem = path.removesuffix(os.path.splitext(path)[1])
        return before + self.way.format(path=quote(path), stem=quote(stem))


_TIFF = OtherFormat("a TIFF image", _IMPORT)

_BEGINNINGS = {
    b"II*\0": _TIFF,
    b"MM\0*": _TIFF,
    b"II+\0": _TIFF,  # BigTIFF
    b"MM\0+": _TIFF,
    b"\x89HDF\r\n\x1a\n": OtherFormat("an HDF5 file, perhaps of Imaris", _IMPORT),
    b"ZISRAWFILE": OtherFormat("a CZI file (Zeiss)", _IMPORT),
    b"\xda\xce\xbe\x0a": OtherFormat("an ND2 file (Nikon)", _IMPORT),
    b"\x70\0\0\0": OtherFormat("a LIF file (Leica)", _IMPORT),
    b"\x89PNG\r\n\x1a\n": OtherFormat("a PNG picture", _SAVE),
    b"\xff\xd8\xff": OtherFormat("a JPEG picture", _SAVE),
    b"GIF8": OtherFormat("a GIF picture", _SAVE),
    b"PK\3\4": OtherFormat("a ZIP file", _LOOK),
    b"7z\xbc\xaf\x27\x1c": OtherFormat("a 7z archive", _UNPACK),
    b"Rar!": OtherFormat("a RAR archive", _UNPACK),
    b"\x1f\x8b": OtherFormat("gzip data, such as a .tar.gz", _UNPACK),
    b"{": OtherFormat("a file that looks like JSON, perhaps metadata of one node", "Give the image's folder instead."),
}
_LATER = {128: (b"DICM", OtherFormat("a DICOM file", _IMPORT)), 257: (b"ustar", OtherFormat("a tar archive", _UNPACK))}


#: What the ending of a name says of a file that `ozx import` reads by the extra ``formats``.
BY_ENDING = {".czi": "a CZI file", ".nd2": "an ND2 file", ".lif": "a LIF file", ".ims": "an IMS file"}


def find_format(head: bytes) -> OtherFormat | None:
    r"""Return the format of a file, given its first `LONGEST_SIGNATURE` bytes; None if the format is unknown."""
    for beginning, known in _BEGINNINGS.items():
        if head.startswith(beginning):
            return known
    return next((known for at, (mark, known) in _LATER.items() if head.startswith(mark, at)), None)


# The largest number of patterns in a hint.
_NAMED = 6
_KINDS = {
    ".tif": "TIFF images",
    ".tiff": "TIFF images",
    ".png": "PNG pictures",
    ".jpg": "JPEG pictures",
    ".jpeg": "JPEG pictures",
    ".czi": "CZI files",
    ".nd2": "ND2 files",
    ".lif": "LIF files",
    ".ims": "IMS files",
    ".lsm": "LSM files",
    ".ozx": ".ozx files",
}


def describe_names(names: Iterable[str], path: str, *, is_folder: bool) -> tuple[str, str] | None:
    """Return a description of the images in a ZIP file or folder without a Zarr hierarchy, and a hint for the user."""
    total, kinds = 0, Counter[str]()
    places: dict[str, dict[tuple[str, str], str]] = {}
    for name in names:
        if not name.endswith("/"):
            total += 1
            ending = os.path.splitext(name)[1]
            kind = _KINDS.get(ending.lower())
            if kind is not None:
                kinds[kind] += 1
                # One file for each pattern.
                places.setdefault(kind, {}).setdefault((os.path.dirname(name), ending), name)
    if 2 * kinds.total() < max(total, 1):
        return None
    ((kind, count),) = kinds.most_common(1)
    found = f"{count:,} {kind if count > 1 else kind[:-1]}"
    firsts = [os.path.join(path, name) if is_folder else name for name in places[kind].values()]
    return found, ("" if is_folder else "Unpack it with another program. ") + _way(kind, firsts)


def _way(kind: str, firsts: Sequence[str]) -> str:
    """Return the hint for files of the same kind; `firsts` has one file for each pair of folder and name ending."""
    if kind == "TIFF images" or (kind.endswith(" files") and kind != ".ozx files"):
        patterns = []
        for place in firsts[:_NAMED]:
            folder, ending = os.path.dirname(place), os.path.splitext(place)[1]
            patterns.append(quote_pattern(folder, f"*{ending}"))
        return f"Run: ozx import {' '.join(patterns)}{' …' if len(firsts) > _NAMED else ''}"
    if kind == ".ozx files":
        return f"Give the path of one file: {quote(firsts[0])}"
    return "Save them as TIFF, for example with Fiji; then run ozx import on the TIFF files."

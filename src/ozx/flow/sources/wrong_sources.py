"""Reject sources that a command cannot read, with a hint that names the right command."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from itertools import islice

from ozx.archive.other_formats import BY_ENDING, LONGEST_SIGNATURE, OtherFormat, describe_names, find_format
from ozx.errors import FormatError, OzxError, UsageError
from ozx.flow.sources.listing import Listing
from ozx.quoting import quote, quote_pattern
from ozx.zarr.keys import LEGACY_METADATA, METADATA

# The number of names to read from a folder without a hierarchy.
_MOST_NAMES = 1000
_GROUP_NAMES = (METADATA, LEGACY_METADATA[0])


def check_is_directory(root: str) -> None:
    """Check that the source of ``ozx pack`` is a directory."""
    if not os.path.lexists(root):
        raise FileNotFoundError(2, "no such directory", root)
    if os.path.isdir(root):
        return
    known = _read_format(root)
    found, hint = "a file", "Give the directory that contains the root's zarr.json."
    if known is not None and not known.is_zip:
        found, hint = known.name, known.hint(root) or hint
    elif known is not None or root.lower().endswith((".ozx", ".zip")):
        found, hint = _describe_zip(root) or (found, "To rewrite an archive, use ozx repack.")
    raise UsageError(f"expected an OME-Zarr directory to pack; it is {found}", path=root, hint=hint)


def check_is_image_file(path: str) -> None:
    """Check that the source of ``ozx import`` is a regular file."""
    status = os.stat(path)
    if stat.S_ISREG(status.st_mode):
        return
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError("expected an image file; it is a device, pipe or socket", path=path)
    tiffs = [name for name in _names_in(path) if name.lower().endswith((".tif", ".tiff"))]
    described = describe_names(tiffs, path, is_folder=True)  # even if .ozx files made of them are there, too
    if described is None:
        found, hint = describe_folder(path) or _describe_sub_folders(path) or ("a directory", None)
        if not os.listdir(path):
            found, hint = "an empty directory", "Name the file or the folder that has the images."
    else:
        found, hint = f"a directory of {described[0]}", described[1]
    raise UsageError(f"expected an image file; it is {found}", path=path, hint=hint)


def not_a_tiff_file(path: str, reason: str) -> FormatError:
    """Return the error for a file that tifffile refuses for `reason`, with a hint that fits its format."""
    known, named = _read_format(path), BY_ENDING.get(os.path.splitext(path)[1].lower())
    if os.path.exists(path) and not os.path.getsize(path):
        what = named or "a TIFF file"
        return FormatError(f"expected {what}; it is empty", path=path, hint="Copy or download it again.")
    if known is None and named is not None:
        again = "Copy or download it again, or save it as TIFF in the program that wrote it."
        return FormatError(f"expected {named}, as its name says; it does not begin like one", path=path, hint=again)
    if known is None or known.is_tiff:
        broken = "It begins like a TIFF file, but is cut off or damaged: copy or download it again."
        other = "If it has another format, save it as TIFF first."
        return FormatError(f"expected a TIFF file; {reason}", path=path, hint=other if known is None else broken)
    found, hint = known.name, known.hint(path)
    if known.is_zip:
        found, hint = _describe_zip(path) or (found, hint)
    return FormatError(f"expected a TIFF file; it is {found}", path=path, hint=hint)


def folder_error(path: str, verb: str, hint: str) -> UsageError:
    """Return the error for a folder given instead of an .ozx file; use `hint` if the folder is OME-Zarr or unknown."""
    found, other = describe_folder(path) or ("a directory", hint)
    if found == "an OME-Zarr directory":
        found, other = "a directory", hint
    return UsageError(f"expected an .ozx file to {verb}; it is {found}", path=path, hint=other)


def describe_folder(path: str, *, packs: bool = True) -> tuple[str, str] | None:
    """Return a description of a folder's contents, and a hint; None if the contents are unknown.

    For OME-Zarr images, the hint is the command that packs them; if `packs` is false, the hint names one of them.
    """
    if not os.path.isdir(path):  # a URL
        return None
    names = _names_in(path)
    if any(name in _GROUP_NAMES for name in names):
        return "an OME-Zarr directory", f"Run: ozx pack {quote(path)}"
    images = [name for name in names if name.endswith(".zarr")]
    archives = [name for name in names if name.endswith(".ozx")]
    if images and len(images) >= len(archives):
        ending = ".ome.zarr" if all(name.endswith(".ome.zarr") for name in images) else ".zarr"
        count = "1 OME-Zarr image" if len(images) == 1 else f"{len(images):,} OME-Zarr images"
        if not packs:
            return (
                f"a directory of {count}",
                f"Give the path of one image: {quote(os.path.join(path, min(images)))}",
            )
        return f"a directory of {count}", f"Run: ozx pack {quote_pattern(path, f'*{ending}')}"
    files = describe_names(names, path, is_folder=True)
    return None if files is None else (f"a directory of {files[0]}", files[1])


def refuse_folder_of_images(listing: Listing) -> None:
    """Raise an error for a folder of several images, with a hint on how to pack each image separately."""
    folders = {key.partition("/")[0] for key in (*listing.metadata, *listing.legacy_keys)}
    for ending in (".ome.zarr", ".zarr"):
        if len(folders) > 1 and all(folder.endswith(ending) for folder in folders):
            first, more = sorted(folders)[:3], " …" if len(folders) > 3 else ""
            sources = quote_pattern(listing.root, f"*{ending}")
            if "://" in listing.root:
                sources = " ".join(quote(f"{listing.root}/{name}/") for name in first) + more
            raise FormatError(
                f"expected one hierarchy; found {len(folders):,}: {', '.join(first)}{more and ', …'}",
                path=listing.root,
                rule="rfc9/root",
                hint=f"Pack each into its own file: ozx pack {sources}",
            )
    if not folders:
        refuse_images(listing.iter_keys(), listing.root, is_folder="://" not in listing.root)


def refuse_images(names: Iterable[str], path: str, *, is_folder: bool) -> None:
    """Raise an error for a ZIP file or folder without a hierarchy if most of its files are images."""
    found = describe_names(names, path, is_folder=is_folder)
    if found is not None:
        raise FormatError(
            f"expected an OME-Zarr hierarchy; found {found[0]}", path=path, rule="rfc9/root", hint=found[1]
        )


def _describe_sub_folders(path: str) -> tuple[str, str] | None:
    """Return a description of the TIFF files in the folders of a folder, and a hint; None if there are none."""
    tiffs = []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if entry.is_dir():
            names = [name for name in _names_in(entry.path) if name.lower().endswith((".tif", ".tiff"))]
            tiffs += [os.path.join(entry.name, name) for name in names]
    found = describe_names(tiffs, path, is_folder=True)
    return None if found is None else (f"a directory of folders with {found[0]}", found[1])


def _read_format(path: str) -> OtherFormat | None:
    try:
        with open(path, "rb") as file:
            return find_format(file.read(LONGEST_SIGNATURE))
    except OSError:  # a device; the message is about something else
        return None


def _describe_zip(path: str) -> tuple[str, str] | None:
    """Return a description of the images in a ZIP file, and a hint; None if most files are not images."""
    from ozx.archive.reader import ArchiveReader  # noqa: PLC0415 (numpy; only this error needs it)

    try:
        names = ArchiveReader(path).columns.names()
    except (OSError, OzxError):
        return None
    images = describe_names(names, path, is_folder=False)
    return None if images is None else (f"a ZIP file of {images[0]}", images[1])


def _names_in(path: str) -> Sequence[str]:
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in islice(entries, _MOST_NAMES))

"""The reader of a file: one of another package, that of TIFF, or that of the microscopes' own formats."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ozx.archive.other_formats import LONGEST_SIGNATURE
from ozx.errors import UsageError
from ozx.flow.sources.wrong_sources import check_is_image_file
from ozx.quoting import quote
from ozx.readers.folders import open_folder
from ozx.readers.images import Images, Reader, ReadingOptions
from ozx.readers.microscopes import is_of_microscope, open_microscope_file
from ozx.readers.tiff.opening import is_tiff, open_tiff

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def open_images(path: str, options: ReadingOptions | None = None) -> Images:
    """Open an image file with the reader that recognises it, or a folder, and return the images; no pixels are read."""
    options = options or ReadingOptions()
    if os.path.isdir(path):
        return open_folder(path, options)
    check_is_image_file(path)
    if options.pattern is not None:
        folder = os.path.dirname(path) or "."
        raise UsageError(
            "a pattern joins the files of a folder; found a file",
            path=path,
            hint=f"Give the folder: ozx import {quote(folder)} --pattern {quote(options.pattern)}",
        )
    with open(path, "rb") as file:
        head = file.read(LONGEST_SIGNATURE)
    return next((opened for sniff, opened in _readers() if sniff(head, path)), open_tiff)(path, options)


@functools.cache
def _readers() -> Sequence[tuple[Callable[[bytes, str], bool], Callable[[str, ReadingOptions], Images]]]:
    """Return how each reader recognises a file and opens it, in the order in which they are asked.

    Those of other packages come first.
    """
    readers: list[Reader] = []
    for found in sorted(_entry_points(), key=lambda each: each.name):
        try:
            made = found.load()
            readers.append(made() if isinstance(made, type) else made)
        except Exception as error:
            raise UsageError(
                f"cannot load the reader {found.value}: {error!r}",
                hint="Repair or remove the package that provides the reader.",
            ) from error
    others = [(reader.sniff, reader.open) for reader in readers]
    return (*others, (is_tiff, open_tiff), (is_of_microscope, open_microscope_file))


def _entry_points() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 (slow to load)

    return entry_points(group="ozx.readers")

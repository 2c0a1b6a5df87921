"""What a reader of a file format gives: images with their pixels, stored levels and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

from ozx.images.description import ImageDescription, PlateDescription
from ozx.readers.files import FileSet


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options for opening a file of another format."""

    # Axes of the dimensions longer than 1, in the order of the file; None for the file's own.
    axes: tuple[str, ...] | None = None
    keep_singletons: bool = False  # whether axes of length 1 stay
    on_error: Literal["fail", "fill"] = "fail"  # ``fill`` replaces damaged or missing parts by zeros
    series: int | None = None  # the number of the only image to read; None for all
    with_levels: bool = False  # whether smaller levels are read, too
    pattern: str | None = None  # of the names of the files that a folder joins, as in ``img_t{t}_c{c}.tif``


@dataclass
class Images:
    """The images of a file and of the other files that belong to it; a ``with`` block closes them."""

    path: str  # the given file
    images: dict[int, ImageDescription]  # the chosen images with their sources, by number
    count: int  # number of all images in the file
    files: FileSet
    plate: PlateDescription | None = None  # the plate of the images; its fields have the numbers of the images
    ome_xml: str | None = None  # the OME-XML of the file, or of its companion
    others: Mapping[str, bytes] = field(default_factory=dict)  # further metadata to keep, by key
    notes: tuple[str, ...] = ()  # remarks, one sentence each
    joined: str | None = None  # what the files of a folder become, as in ``6 files → t 3, c 2, y 256, x 256``
    # Losses that are known before any pixels are read, one sentence each, if `on_error` is ``fill``.
    damage: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.files.close()


class Reader(Protocol):
    """A reader of a file format; another package adds one by an entry point of the group ``ozx.readers``."""

    def sniff(self, head: bytes, path: str) -> bool:
        """Return whether the reader reads the file at `path`, whose first bytes are `head`."""

    def open(self, path: str, options: ReadingOptions) -> Images:
        """Open a file and return its images; no pixels are read.

        Raise `ozx.FormatError` for a damaged file, and `ozx.UnsupportedError` for one that cannot be read.
        """

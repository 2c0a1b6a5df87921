"""What a reader of a file format gives: images with their pixels and metadata, and the files they come from."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

from ozx.errors import FormatError
from ozx.images.description import ImageDescription, PlateDescription
from ozx.places.byte_source import FileSource

# Systems allow a process 256 or 1,024 open files.
_MOST_OPEN = 64


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


class FileSet:
    """The files of an image, safe to read from any number of threads; the number of open files is limited.

    After its first use in any process, a file must not change.
    """

    def __init__(self, also_close: Callable[[], object] | None = None) -> None:
        self._also_close = also_close
        self._files: dict[str, FileSource] = {}
        self._open: OrderedDict[str, FileSource] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, FileSource]:
        return self._files

    def __setstate__(self, files: dict[str, FileSource]) -> None:
        self.__init__()  # type: ignore[misc]
        self._files = files

    def __getitem__(self, path: str) -> FileSource:
        with self._lock:
            source = self._files.get(path)
            if source is None:
                source = self._files[path] = FileSource(path)
                source.size()  # records the state of the file
            self._open[path] = source
            self._open.move_to_end(path)
            if len(self._open) > _MOST_OPEN:
                # Closing waits for reads in progress.
                self._open.popitem(last=False)[1].close()
        return source

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._files))

    def check_unchanged(self) -> None:
        """Check that no file was modified or replaced since its first use."""
        for source in list(self._files.values()):
            try:
                source.check_unchanged()
            except FormatError as error:
                # The rule and hint of the original error are for archives.
                hint = "Import the file again when the program that writes it has finished."
                raise FormatError(error.message, path=source.name, hint=hint) from None

    def close(self) -> None:
        """Close all files; the next read opens its file again."""
        with self._lock:
            for source in self._open.values():
                source.close()
            self._open.clear()
        if self._also_close is not None:
            self._also_close()


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

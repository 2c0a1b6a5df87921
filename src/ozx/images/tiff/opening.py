"""Opening of TIFF files: the pixels of each series, its lower levels, and its metadata."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ozx.errors import FormatError, OzxError, UnsupportedError, UsageError
from ozx.extras import needed
from ozx.flow.decoding.zarr_errors import words_of
from ozx.flow.sources.wrong_sources import check_is_tiff_file, not_a_tiff_file
from ozx.flow.tasks import Seen, check_same, look_at
from ozx.images.description import ImageDescription, PlateDescription
from ozx.images.ome_xml.claims import check_claims
from ozx.images.ome_xml.parsing import OmeXml, parse_ome_xml
from ozx.images.ome_xml.xml_reading import MalformedXmlError
from ozx.images.tiff.companion import check_fallback, check_uuids, is_like_ome_xml, read_companion, with_full_paths
from ozx.images.tiff.cut_off import describe_lost_pages, restore_stack
from ozx.images.tiff.description import describe_plain
from ozx.images.tiff.other_files import check_files, check_index
from ozx.images.tiff.pages import list_series
from ozx.images.tiff.segments import FileSet, check_decodable
from ozx.images.tiff.source import OnError, TiffSource

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPageSeries

# tifffile's messages about truncated files and bad offsets; tifffile then continues without the missing parts.
_BROKEN = re.compile(r"corrupted tag list|invalid offset to page|invalid page offset|circular reference|corrupted file")
_BROKEN_STACK = re.compile(r"ImageJ series metadata invalid or corrupted file|shaped series failed to reshape")
# Messages that ozx replaces by better ones.
_TOLD = re.compile(r"Missing data are zeroed|failed to read \d+ files|OME series raised")


@dataclass(frozen=True, slots=True)
class TiffOptions:
    """Options for opening a TIFF file."""

    # Axes of the dimensions longer than 1, in the order of the file; None for the file's own.
    axes: tuple[str, ...] | None = None
    keep_singletons: bool = False  # whether axes of length 1 stay
    on_error: OnError = "fail"  # ``fill`` replaces damaged or missing parts by zeros
    series: int | None = None  # the number of the only image to read; None for all
    with_levels: bool = False  # whether smaller levels are read, too


@dataclass(frozen=True, slots=True)
class TiffImage:
    """One image of a TIFF file: its pixels, its stored lower levels, and its metadata."""

    source: TiffSource
    levels: tuple[TiffSource, ...]
    description: ImageDescription


@dataclass
class TiffImages:
    """The images of a TIFF file and of the other files that belong to it; `close` closes all these files."""

    path: str  # the given file
    images: dict[int, TiffImage]  # the chosen images, by number
    count: int  # number of all images in the file
    plate: PlateDescription | None  # the plate of the images; its fields have the numbers of the images
    ome_xml: str | None  # the OME-XML of the file, or of its companion
    files: FileSet
    notes: tuple[str, ...] = field(default=())  # remarks, one sentence each
    # Losses that are known before any pixels are read, one sentence each, if `on_error` is ``fill``.
    damage: tuple[str, ...] = field(default=())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all files of the images."""
        self.files.close()


def open_tiff(path: str, options: TiffOptions | None = None) -> TiffImages:
    """Open a TIFF file, or the files named in an OME-XML file, and return the images; no pixels are read."""
    options = options or TiffOptions()
    check_is_tiff_file(path)
    try:
        with _listening() as said, _opened(path) as (file, document, text):
            return _read_images(path, file, document, text, options, said)
    except OzxError as error:
        raise error.at(path) from None
    except OSError:
        raise
    except Exception as error:
        # Contradictory tags make tifffile divide by zero, or take a tuple for a number.
        problem = f"the tags of the file cannot be understood: {words_of(error)}"
        raise FormatError(problem, path=path) from error


def count_files(path: str) -> int:
    """Return the number of files that the OME-XML of a TIFF file names; much faster than `open_tiff`."""
    with _listening(), _opened(path) as (_, document, _):
        return 0 if document is None else len(document.files)


@lru_cache(maxsize=4)
def _open_again(path: str, options: TiffOptions, state: tuple[int, int]) -> TiffImages:
    del state  # part of the cache's key: a changed file is opened again
    return open_tiff(path, options)


def _source_again(
    path: str, seen: Seen, options: TiffOptions, state: tuple[int, int], image: int, level: int, files: FileSet
) -> TiffSource:
    """Recreate a pickled source; in each process, all sources of a file share the open file."""
    check_same(path, seen)
    files.check_unchanged()
    found = _open_again(path, options, state).images[image]
    return (found.source, *found.levels)[level]


@contextlib.contextmanager
def _opened(path: str, *, is_master: bool = False) -> Iterator[tuple[TiffFile, OmeXml | None, str | None]]:
    """Yield the open TIFF file and its OME-XML, which can be stored in another file, the master file."""
    text = read_companion(path)
    if text is not None:
        check_claims(text)
    document = None if text is None else parse_ome_xml(text)
    if document is not None:
        if not document.files:
            raise FormatError("expected the names of TIFF files in the OME-XML; found none")
        check_uuids(document)
        folder = os.path.dirname(path)
        check_files(folder, document.files, path)
        with _parsed(os.path.join(folder, document.files[0]), omexml=with_full_paths(text or "", folder)) as file:
            yield file, document, text
        return
    with _parsed(path) as file:
        _refuse_document_type(file)
        text = file.ome_metadata if file.is_ome else None
        if text is not None:
            check_claims(text)
        document = None if text is None else _parse_document(text)
        master = None if document is None else document.master
        if master is None:
            if document is not None:
                check_uuids(document)
                check_files(os.path.dirname(path), document.files, path)
            yield file, document, text
            return
    # OME-TIFF, "BinaryOnly": this file only names the file with the metadata.
    if is_master:
        raise FormatError(f"expected OME-XML with images; found only the name of another file, {master}", path=path)
    folder = os.path.dirname(path)
    check_files(folder, (master,), path)
    with _opened(os.path.join(folder, master), is_master=True) as opened:
        yield opened


def _refuse_document_type(file: TiffFile) -> None:
    """Raise `FormatError` if the XML description of the first page has a document type, which tifffile would parse."""
    pages = file.pages
    description = str(pages.first.description) if len(pages) else ""
    if description.lstrip("\ufeff \r\n\t").startswith("<") and "<!DOCTYPE" in description:
        raise FormatError("expected the description of the first page to have no document type; it declares one")


def _parse_document(text: str) -> OmeXml | None:
    """Return the parsed OME-XML, or None if tifffile cannot parse it either.

    tifffile opens the files that other OME-XML names, so all other errors of ozx refuse the file.
    """
    try:
        return parse_ome_xml(text)
    except MalformedXmlError:
        return None


@contextlib.contextmanager
def _parsed(path: str, **options: Any) -> Iterator[TiffFile]:
    check_is_tiff_file(path)
    with needed("tiff", "reading a TIFF file"):
        from tifffile import TiffFile  # noqa: PLC0415 (an extra)
    try:
        file = TiffFile(path, **options)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 (tifffile lets struct, index and other errors through)
        raise not_a_tiff_file(path, words_of(error)) from None
    with file:
        yield file


def _read_images(
    path: str, file: TiffFile, document: OmeXml | None, text: str | None, options: TiffOptions, said: list[str]
) -> TiffImages:
    series, damage = _list_series(file, options, said)
    files, notes = FileSet(), [f"tifffile: {message}" for message in said if not _TOLD.search(message)]
    if document is not None and series[0].kind == "ome":
        numbers = _match(document, series)
        descriptions = [document.images[number].description for number in numbers]
        plate = None if document.plate is None else document.plate.renumbered({n: k for k, n in enumerate(numbers)})
        if document.plate_count > 1:
            notes.append(f"the OME-XML describes {document.plate_count} plates: the first plate is used")
    else:
        descriptions, plate = [describe_plain(file, one) for one in series], None
        if text is not None or is_like_ome_xml(str(file.pages.first.description)):
            check_fallback(path, document, said)
            notes.append("the OME-XML cannot be used: the file is read like any other TIFF file")
    wanted = range(len(series)) if options.series is None else [options.series]
    images = {}
    for number in wanted:
        try:
            if 0 in series[number].shape:
                raise FormatError("expected an image of at least one pixel; one side has length 0")  # noqa: TRY301
            images[number] = _read_image(path, number, series[number], descriptions[number], options, files, notes)
        except (FormatError, UnsupportedError) as error:
            if len(series) > 1:
                error.message = f"image {number} of {len(series)}: {error.message}"
                error.hint = error.hint or "--series N (series=N) imports another image."
            raise
    return TiffImages(path, images, len(series), plate, text, files, tuple(notes), damage)


def _list_series(file: TiffFile, options: TiffOptions, said: list[str]) -> tuple[list[TiffPageSeries], tuple[str, ...]]:
    """Return the series of the file, and descriptions of the pages that are lost because the file is cut off."""
    try:
        check_index(file)
        series = list_series(file)
    except (OSError, FormatError):
        raise
    except ZeroDivisionError:
        raise FormatError("expected images of at least one pixel; one image has a side of length 0") from None
    except Exception as error:  # noqa: BLE001 (as when it is opened)
        raise FormatError(f"the file cannot be divided into images: {words_of(error)}") from None
    broken = [message for message in said if _BROKEN.search(message)]
    if broken and options.on_error == "fail":
        raise FormatError(
            f"the file is cut off or damaged: {broken[0]}",
            hint="Copy or download the file again; --on-error fill (on_error='fill') reads the undamaged parts.",
        )
    lost = None
    if broken:
        stack = restore_stack(file) if any(_BROKEN_STACK.search(message) for message in said) else None
        series = series if stack is None else [stack]
        lost = describe_lost_pages(file, series)
    if not series:
        raise FormatError(
            "expected images; the TIFF file has no page with pixels",
            hint="If the file is cut off, its list of pages may be lost: copy or download the file again.",
        )
    if options.series is not None and not 0 <= options.series < len(series):
        raise UsageError(
            f"--series: expected the number of an image, from 0 to {len(series) - 1}; got {options.series}"
        )
    return series, () if lost is None else (lost,)


def _read_image(
    path: str,
    number: int,
    series: TiffPageSeries,
    description: ImageDescription,
    options: TiffOptions,
    files: FileSet,
    notes: list[str],
) -> TiffImage:
    sources: list[TiffSource] = []
    for level, one in enumerate(series.levels if options.with_levels else [series]):
        try:
            check_decodable(one.keyframe)
            source = TiffSource(
                one,
                files,
                asked=options.axes,
                keep_singletons=options.keep_singletons,
                on_error=options.on_error,
                recipe=(
                    _source_again,
                    (os.path.abspath(path), look_at(path), options, _state(path), number, level, files),
                ),
            )
        except OzxError as error:
            if level == 0:
                raise
            notes.append(f"image {number}, level {level} of the file cannot be used: {error.message}")
            break
        sources.append(source)
    return TiffImage(sources[0], tuple(sources[1:]), description)


def _state(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _match(document: OmeXml, series: Sequence[TiffPageSeries]) -> list[int]:
    """Return the number of the OME-XML ``Image`` for each TIFF series; images without planes have no series."""
    if len(document.images) == len(series):
        return list(range(len(series)))
    with_planes = [number for number, image in enumerate(document.images) if image.has_planes]
    if len(with_planes) != len(series):
        raise FormatError(
            f"expected the {len(with_planes):,} images of the OME-XML; tifffile finds {len(series):,} in the file"
        )
    return with_planes


@contextlib.contextmanager
def _listening() -> Iterator[list[str]]:
    """Yield a list to which tifffile's log messages in this thread are appended, instead of being printed."""
    said: list[str] = []
    thread = threading.get_ident()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == thread:
                said.append(record.getMessage())

    logger, listener = logging.getLogger("tifffile"), Listener(logging.WARNING)
    logger.addHandler(listener)
    try:
        yield said
    finally:
        logger.removeHandler(listener)

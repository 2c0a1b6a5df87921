"""Opening of TIFF files and of what belongs to them: other files, the pixels of each series, levels and metadata."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import tostring

from ozx.archive.other_formats import find_format
from ozx.codecs.zarr_errors import words_of
from ozx.errors import FormatError, OzxError, UnsupportedError, UsageError
from ozx.extras import needed
from ozx.file_changes import mark_of
from ozx.flow.sources.wrong_sources import check_is_image_file, not_a_tiff_file
from ozx.flow.tasks import Seen, check_same, look_at
from ozx.images.description import ImageDescription
from ozx.images.ome_xml import MOST_PLANES, MalformedXmlError, OmeXml, check_claims, parse_ome_xml, parse_xml
from ozx.images.pixel_source import PixelSource
from ozx.readers.images import FileSet, Images, ReadingOptions
from ozx.readers.tiff.description import describe_plain
from ozx.readers.tiff.segments import check_decodable
from ozx.readers.tiff.series import list_series, with_all_pages, with_planes
from ozx.readers.tiff.source import TiffSource

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPageSeries


# Reconstruction of the pages of a truncated TIFF file.


def restore_stack(file: TiffFile) -> TiffPageSeries | None:
    """Return the whole stack that the first page of a cut-off file describes.

    The stack includes planes beyond the end of the file; pages that are not in the list of the file count as missing.
    The result is None if the page describes no stack, or a stack with more planes than a real image has.
    """
    stack = _restore_imagej_stack(file) if file.imagej_metadata else _restore_shaped_stack(file)
    return None if stack is None or stack.size > MOST_PLANES * stack.keyframe.size else stack


def _restore_imagej_stack(file: TiffFile) -> TiffPageSeries | None:
    # ImageJ's TiffEncoder stores the uncompressed pixels of all planes contiguously after the first page, and the
    # number of planes in the description of this page. tifffile refuses such a stack if the file is too short for it.
    from tifffile import TiffPageSeries  # noqa: PLC0415 (an extra)

    metadata, page = file.imagej_metadata or {}, file.pages.first
    if not page.is_final or not page.dataoffsets:
        return None
    planes = {"T": metadata.get("frames", 1), "Z": metadata.get("slices", 1), "C": metadata.get("channels", 1)}
    count = metadata.get("images", 1)
    if not all(isinstance(number, int) and number > 0 for number in (count, *planes.values())):
        return None
    if page.shaped[4] > 1 and count == planes["T"] * planes["Z"]:
        planes["C"] = 1  # they are the samples of a pixel
    order = str(metadata.get("order", "czt")).upper()
    axes = order[::-1] if sorted(order) == ["C", "T", "Z"] else "TZC"  # the fastest axis is written first
    shape = tuple(planes[axis] for axis in axes)
    if prod(shape) == 1:
        axes, shape = "I", (count,)
    if prod(shape) <= 1 or page.shaped[0] > 1:
        return None
    return TiffPageSeries(
        [page], shape=(*shape, *page.shape), dtype=page.dtype, axes=axes + page.axes, kind="imagej", truncated=True
    )


def _restore_shaped_stack(file: TiffFile) -> TiffPageSeries | None:
    # tifffile writes the shape of the whole array into the first page, and reads only that page if others are missing.
    from tifffile import TiffPageSeries  # noqa: PLC0415 (an extra)

    metadata, page = file.shaped_metadata or (), file.pages.first
    shape = tuple(metadata[0].get("shape", ())) if len(metadata) == 1 else ()
    inner = tuple(page.shape)
    outer = shape[: len(shape) - len(inner)]
    if not outer or (*outer, *inner) != shape or prod(outer) <= len(file.pages) or prod(inner) == 0:
        return None
    axes = metadata[0].get("axes")
    if not isinstance(axes, str) or len(axes) != len(shape):
        axes = "Q" * len(outer) + page.axes
    return TiffPageSeries(list(file.pages), shape=shape, dtype=page.dtype, axes=axes.upper(), kind="shaped")


def describe_lost_pages(file: TiffFile, series: list[TiffPageSeries]) -> str | None:
    """Return a sentence if a cut-off file may have lost an unknown number of pages, else None."""
    described = sum(one.size // max(1, one.keyframe.size) for one in series)
    if described > len(file.pages) or (series and series[0].kind in ("imagej", "ome")):
        return None  # the missing planes are counted
    return (
        f"the file is cut off or damaged: the list of pages ends after page {len(file.pages) - 1}; "
        "all pages that may have followed are lost"
    )


# The other files of an image, named by its OME-XML or the index of an NDTiff: they must lie in the image's folder.


def check_files(names: Sequence[str], path: str) -> None:
    """Check the names of files in the OME-XML of an image."""
    folder = os.path.dirname(path)
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


# OME-XML of TIFF files: companion files, and OME-XML that tifffile does not find.

_OME = re.compile(r"<(\w+:)?OME[\s>]")
# An XML declaration and comments may precede the element.
_LONGEST_HEAD = 10_000


def read_companion(path: str) -> str | None:
    """Return the text of an XML file, or None if the file is not XML."""
    with open(path, "rb") as file:
        head = file.read(64).lstrip(b"\xef\xbb\xbf \r\n\t")
        if not head.startswith(b"<"):
            return None
        file.seek(0)
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("expected UTF-8 text in the OME-XML", path=path) from None


# OME, "6D, 7D and 8D storage": an annotation divides T, C or Z into lifetimes, wavelengths, angles. In OME-Zarr the
# axis is whole, as SizeT says, and tifffile fails where the annotation does not fit the axis any more.
_PARTS_OF_AXIS = "ModuloAlong"


def for_tifffile(text: str, folder: str | None = None) -> str:
    """Return OME-XML without annotations that divide an axis, and with absolute paths if the files are in `folder`.

    tifffile looks for all files in the folder of the first TIFF file, and follows symbolic links to this folder. The
    names in a companion file, however, are relative to the folder of the companion file.
    """
    root = parse_xml(text, "the OME-XML")
    for divided in root.findall("StructuredAnnotations") if _PARTS_OF_AXIS in text else ():
        divided.clear()
    folder = None if folder is None else os.path.abspath(folder)
    for element in root.iter() if folder is not None else ():
        # As in `parse_ome_xml`, so that the names are those that were checked.
        if element.tag.endswith("UUID") and (name := element.get("FileName")):
            element.set("FileName", os.path.join(folder or "", name))
    return tostring(root, encoding="unicode")


def is_like_ome_xml(text: str) -> bool:
    """Return whether a text begins like OME-XML; tifffile finds only OME-XML that also has its end.

    Examples
    --------
    >>> is_like_ome_xml('<?xml version="1.0"?><OME xmlns="a"><Image>'), is_like_ome_xml("OME")
    (True, False)
    """
    head = text[:_LONGEST_HEAD].lstrip("\ufeff \r\n\t")
    return head.startswith("<") and _OME.search(head) is not None


def check_uuids(document: OmeXml) -> None:
    """Check that the files of an image have different UUIDs: tifffile finds files by their UUID, not their name."""
    if document.same_uuid:
        first, second, uuid = document.same_uuid
        raise FormatError(
            f"expected a UUID for each file; the OME-XML has the same one, {uuid!r}, for {first} and {second}"
        )


def check_fallback(path: str, document: OmeXml | None, said: Sequence[str]) -> None:
    """Check that no other files belong to a file whose OME-XML cannot be used: their planes would be lost."""
    folder, own = os.path.dirname(path), os.path.realpath(path)
    names = () if document is None else document.files
    if document is not None and any(os.path.realpath(os.path.join(folder, name)) != own for name in names):
        reason = f": {said[0]}" if said else ""
        raise FormatError(
            f"expected the {len(document.images):,} images of the OME-XML; tifffile finds none in its "
            f"{len(names):,} files{reason}"
        )


# tifffile's messages about truncated files and bad offsets; tifffile then continues without the missing parts.
BROKEN = re.compile(r"corrupted tag list|invalid offset to page|invalid page offset|circular reference|corrupted file")
_BROKEN_STACK = re.compile(r"ImageJ series metadata invalid or corrupted file|shaped series failed to reshape")
# Messages that ozx replaces by better ones.
_TOLD = re.compile(r"Missing data are zeroed|failed to read \d+ files|OME series raised|axes_dict\.keys")


def is_tiff(head: bytes, path: str) -> bool:
    """Return whether a file begins like TIFF or OME-XML."""
    del path
    known = find_format(head)
    return (known is not None and known.is_tiff) or is_like_ome_xml(head.decode("utf-8", "replace"))


def open_tiff(path: str, options: ReadingOptions) -> Images:
    """Open a TIFF file, or the files named in an OME-XML file, and return the images; no pixels are read."""
    with naming(path), listening() as said, _opened(path) as (file, document, text):
        return _read_images(path, file, document, text, options, said)


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the file in the errors of the block; contradictory tags, on which tifffile fails, become such an error."""
    try:
        yield
    except OzxError as error:
        raise error.at(path) from None
    except OSError:
        raise
    except Exception as error:
        # tifffile divides by zero, or takes a tuple for a number.
        raise FormatError(f"the tags of the file cannot be understood: {words_of(error)}", path=path) from error


def count_files(path: str) -> int:
    """Return the number of files that the OME-XML of a TIFF file names; much faster than opening it."""
    with listening(), _opened(path) as (_, document, _):
        return 0 if document is None else len(document.files)


Opener = Callable[[str, ReadingOptions], Images]


@lru_cache(maxsize=4)
def _open_again(opener: Opener, path: str, options: ReadingOptions, state: tuple[int, int]) -> Images:
    del state  # part of the cache's key: a changed file is opened again
    return opener(path, options)


def recipe_of(
    opener: Opener, path: str, options: ReadingOptions, image: int, level: int, files: FileSet
) -> tuple[Callable[..., PixelSource], tuple[Any, ...]]:
    """Return how another process makes a source again: `opener` opens the file or folder at `path`."""
    path = os.path.abspath(path)
    return _source_again, (opener, path, look_at(path), options, mark_of(os.stat(path)), image, level, files)


def _source_again(
    opener: Opener,
    path: str,
    seen: Seen,
    options: ReadingOptions,
    state: tuple[int, int],
    image: int,
    level: int,
    files: FileSet,
) -> PixelSource:
    """Recreate a pickled source; in each process, all sources of a file share the open file."""
    check_same(path, seen, is_folder=os.path.isdir(path))
    files.check_unchanged()
    return _open_again(opener, path, options, state).images[image].sources[level]


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
        check_files(document.files, path)
        folder = os.path.dirname(path)
        with parsed(os.path.join(folder, document.files[0]), omexml=for_tifffile(text or "", folder)) as file:
            yield file, document, text
        return
    with parsed(path) as file:
        _refuse_document_type(file)
        text = file.ome_metadata if file.is_ome else None
        if text is not None:
            check_claims(text)
        document = None if text is None else _parse_document(text)
        master = None if document is None else document.master
        if master is None:
            if document is not None:
                check_uuids(document)
                check_files(document.files, path)
            if document is None or text is None or _PARTS_OF_AXIS not in text:
                yield file, document, text
                return
            with parsed(path, omexml=for_tifffile(text)) as again:
                yield again, document, text
            return
    # OME-TIFF, "BinaryOnly": this file only names the file with the metadata.
    if is_master:
        raise FormatError(f"expected OME-XML with images; found only the name of another file, {master}", path=path)
    check_files((master,), path)
    with _opened(os.path.join(os.path.dirname(path), master), is_master=True) as opened:
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
def parsed(path: str, **options: Any) -> Iterator[TiffFile]:
    """Yield a TIFF file as tifffile opens it."""
    check_is_image_file(path)
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
    path: str,
    file: TiffFile,
    document: OmeXml | None,
    text: str | None,
    options: ReadingOptions,
    said: list[str],
) -> Images:
    series, lost = _list_series(file, options, said)
    damage = list(lost)
    files, notes = FileSet(), [f"tifffile: {message}" for message in dict.fromkeys(said) if not _TOLD.search(message)]
    is_fitting = document is not None and len(document.images) == len(series)
    if document is not None and (series[0].kind == "ome" or (series[0].kind == "mmstack" and is_fitting)):
        numbers = _match(document, series)
        whole = [with_all_pages(one, file) for one in series]
        if any(one is not other for one, other in zip(whole, series, strict=True)):
            notes.append("the OME-XML does not say where all planes are: the rest is taken in the order of the pages")
        series = whole
        descriptions = [document.images[number] for number in numbers]
        plate = None if document.plate is None else document.plate.renumbered({n: k for k, n in enumerate(numbers)})
        if document.plate_count > 1:
            notes.append(f"the OME-XML describes {document.plate_count} plates: the first plate is used")
    else:
        descriptions, plate = [describe_plain(file, one) for one in series], None
        if text is not None or is_like_ome_xml(str(file.pages.first.description)):
            check_fallback(path, document, said)
            if document is not None and is_fitting:
                series, descriptions = _fitted(series, descriptions, document)
                notes.append("the OME-XML does not fit the planes of the file: only sizes and names are taken from it")
            else:
                notes.append("the OME-XML cannot be used: the file is read like any other TIFF file")
    wanted = range(len(series)) if options.series is None else [options.series]
    images = {}
    for number in wanted:
        try:
            if 0 in series[number].shape:
                raise FormatError("expected an image of at least one pixel; one side has length 0")  # noqa: TRY301
            images[number] = _read_image(
                path, number, series[number], descriptions[number], options, files, notes, damage
            )
        except (FormatError, UnsupportedError) as error:
            if len(series) > 1:
                error.message = f"image {number} of {len(series)}: {error.message}"
                error.hint = error.hint or "series=N imports another image."
            raise
    return Images(
        path,
        images,
        len(series),
        files,
        plate=plate,
        ome_xml=text,
        notes=tuple(notes),
        damage=tuple(dict.fromkeys(damage)),
    )


def _list_series(
    file: TiffFile, options: ReadingOptions, said: list[str]
) -> tuple[list[TiffPageSeries], tuple[str, ...]]:
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
    broken = [message for message in said if BROKEN.search(message)]
    if not broken and file.imagej_metadata and all(one.kind != "imagej" for one in series):
        broken = ["ImageJ's description has more planes than the file"]
    if not broken and _is_silent() and _leads_on(file):
        broken = ["the list of pages leads beyond the end of the file"]
    if broken and options.on_error == "fail":
        raise FormatError(
            f"the file is cut off or damaged: {broken[0]}",
            hint="Copy or download the file again; on_error='fill' reads the undamaged parts.",
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
        raise UsageError(f"series: expected the number of an image, from 0 to {len(series) - 1}; got {options.series}")
    return series, () if lost is None else (lost,)


def _is_silent() -> bool:
    """Return whether tifffile's messages are lost, because a program turned logging off."""
    logger = logging.getLogger("tifffile")
    return logger.disabled or not logger.isEnabledFor(logging.WARNING)


def _leads_on(file: TiffFile) -> bool:
    """Return whether the last page that tifffile found names another, as in a file that is cut off."""
    tiff, source, offset = file.tiff, file.filehandle, file.pages[len(file.pages) - 1].offset
    source.seek(offset)
    (count,) = struct.unpack(tiff.tagnoformat, source.read(tiff.tagnosize))
    source.seek(offset + tiff.tagnosize + count * tiff.tagsize)
    return source.read(tiff.offsetsize).strip(b"\0") != b""


def _read_image(
    path: str,
    number: int,
    series: TiffPageSeries,
    description: ImageDescription,
    options: ReadingOptions,
    files: FileSet,
    notes: list[str],
    damage: list[str],
) -> ImageDescription:
    sources: list[TiffSource] = []
    for level, one in enumerate(series.levels if options.with_levels else [series]):
        try:
            check_decodable(one.keyframe)
            source = TiffSource(one, files, options, recipe_of(open_tiff, path, options, number, level, files))
        except OzxError as error:
            if level == 0:
                raise
            notes.append(f"image {number}, level {level} of the file cannot be used: {error.message}")
            break
        sources.append(source)
        damage += source.damage
    return replace(description, sources=sources, guesses=guesses_of(sources[0]))


def guesses_of(source: TiffSource) -> list[str]:
    """Return a note for each unnamed dimension of a source."""
    lengths = dict(zip(source.axes, source.shape, strict=True))
    return [
        f"an unnamed dimension of length {lengths[axis]:,} became the axis {axis}; axes=… sets another"
        for axis in source.guessed
    ]


def _fitted(
    series: Sequence[TiffPageSeries], descriptions: Sequence[ImageDescription], document: OmeXml
) -> tuple[list[TiffPageSeries], list[ImageDescription]]:
    """Return series and descriptions with what fits of OME-XML whose planes tifffile does not find."""
    found, described = [], []
    for one, plain, known in zip(series, descriptions, document.images, strict=True):
        ordered = with_planes(one, known.planes) if known.planes else None
        is_named = ordered is not None and known.planes["C"] == len(known.channels)
        found.append(one if ordered is None else ordered)
        described.append(
            replace(
                plain,
                name=known.name or plain.name,
                sizes={**plain.sizes, **known.sizes},
                channels=plain.channels or (known.channels if is_named else ()),
                notes=(*plain.notes, *known.notes),
                origin=known.origin,
            )
        )
    return found, described


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
def listening() -> Iterator[list[str]]:
    """Yield a list to which tifffile's log messages in this thread are appended, instead of being printed."""
    said: list[str] = []
    thread = threading.get_ident()

    def note(record: logging.LogRecord) -> bool:
        if record.thread == thread:
            said.append(record.getMessage())
        return False  # the handler has nothing more to do

    logger, handler = logging.getLogger("tifffile"), logging.Handler(logging.WARNING)
    handler.addFilter(note)
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)

"""Comparison of the pages of a TIFF series: their shape, pixel type and storage."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ozx.errors import FormatError
from ozx.readers.images import FileSet

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffFrame, TiffPage

    Page = TiffPage | TiffFrame

# TIFF 6.0: the tags that determine how the pixels of a page are decoded, from ImageWidth to SampleFormat. 32997 is
# ImageDepth.
_CODES = frozenset((256, 257, 258, 259, 262, 266, 277, 278, 284, 317, 322, 323, 338, 339, 32997))
# TIFF 6.0 and BigTIFF: bytes of a value of each type.
_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_MOST_TAGS = 4096
# A page has as many BitsPerSample as samples; only these many bytes of a long tag are compared.
_MOST_BYTES = 4096
_BIG_ENTRY = 20


@dataclass(frozen=True, slots=True)
class _Directory:
    """The directory of a page, in a form in which many directories are compared quickly."""

    length: int  # its bytes, without the offset of the next directory
    bits: int  # its bytes as one number, and the bits that a page of the same layout also has
    mask: int
    # Values that do not fit into the directory: the position of their offset in the directory, and the bytes.
    outside: tuple[tuple[int, bytes], ...]
    layout: tuple[bytes, ...]  # the tags that determine how pixels are decoded


#: The known layouts of pages, by the keyframe that tifffile takes for them.
_Layouts = dict[int, set[tuple[bytes, ...]]]


def iter_changes(
    expected: TiffPage, files: FileSet, pages: Sequence[Page | None]
) -> Iterator[tuple[int, TiffPage | FormatError]]:
    """Yield the number of each page to replace: with its own tags, or with an error if it differs from `expected`.

    tifffile reads the tags of one page of a series, and takes them for the other pages of the file. For pages in other
    files, it reads the tags, but does not compare them.
    """
    from tifffile import TiffPage  # noqa: PLC0415 (an extra)

    layouts, latest = _Layouts(), dict[int, _Directory]()
    for number, page in enumerate(pages):
        keyframe = None if page is None else page.keyframe
        if page is None or keyframe is None:
            continue
        # Pages at offset 0 have no directory.
        is_as_keyframe = (
            page is keyframe or page.offset <= 0 or _has_known_layout(page, keyframe, files, layouts, latest)
        )
        if is_as_keyframe and _fits(keyframe, expected):
            continue
        own = page if isinstance(page, TiffPage) else _own_page(page)
        if own is None:
            continue  # reading its pixels fails
        if not _fits(own, expected):
            yield number, _misfit(own, expected)
        elif own.hash == keyframe.hash:
            directory = _read_directory(page.parent, files, page.offset)
            if directory is not None:
                layouts[id(keyframe)].add(directory.layout)
        else:
            yield number, own


def _has_known_layout(
    page: Page, keyframe: TiffPage, files: FileSet, layouts: _Layouts, latest: dict[int, _Directory]
) -> bool:
    """Return whether the pixels of a page are decoded as its keyframe says; `latest` are the last directories seen."""
    key = id(keyframe)
    if key in latest and _is_alike(page, latest[key], files):
        return True
    if key not in layouts:
        first = _read_directory(keyframe.parent, files, keyframe.offset)
        layouts[key] = set() if first is None else {first.layout}
    directory = _read_directory(page.parent, files, page.offset)
    if directory is None or directory.layout not in layouts[key]:
        return False
    latest[key] = directory
    return True


def _fits(page: TiffPage, expected: TiffPage) -> bool:
    return page.shaped == expected.shaped and page.dtype == expected.dtype


def _misfit(page: TiffPage, expected: TiffPage) -> FormatError:
    return FormatError(
        f"page {page.index}: expected {_words(expected)}, as on page {expected.index} of "
        f"{os.path.basename(expected.parent.filehandle.path)}; found {_words(page)}",
        path=page.parent.filehandle.path,
        hint="on_error='fill' fills such pages with zeros.",
    )


def _words(page: TiffPage) -> str:
    kind = "unknown pixels" if page.dtype is None else str(np.dtype(page.dtype))
    return f"{kind} of {'×'.join(map(str, page.shape))}"


def _own_page(frame: TiffFrame) -> TiffPage | None:
    """Return a page with its own tags; None if they cannot be read."""
    handle = frame.parent.filehandle
    was_closed = handle.closed  # tifffile closes all files but the first
    try:
        if was_closed:
            handle.open()
        return frame.aspage()
    except Exception:  # noqa: BLE001 (tifffile lets struct, index and other errors through)
        return None
    finally:
        if was_closed:
            handle.close()


def _is_alike(page: Page, known: _Directory, files: FileSet) -> bool:
    """Return whether the directory of a page differs from a known directory only in tags without importance."""
    source = files[page.parent.filehandle.path]
    data = source.read_at(page.offset, known.length)
    if len(data) != known.length or (int.from_bytes(data, "little") ^ known.bits) & known.mask:
        return False
    tiff = page.parent.tiff
    width, code = _value_format(tiff.tagsize)
    for position, value in known.outside:
        (offset,) = struct.unpack(tiff.byteorder + code, data[position : position + width])
        if source.read_at(offset, len(value)) != value:
            return False
    return True


def _value_format(entry: int) -> tuple[int, str]:
    return (8, "Q") if entry == _BIG_ENTRY else (4, "I")


def _read_directory(file: TiffFile, files: FileSet, offset: int) -> _Directory | None:
    """Return the directory at an offset, or None if it is cut off or absurd."""
    source, tiff = files[file.filehandle.path], file.tiff
    begin, entry = tiff.tagnosize, tiff.tagsize
    width, number = _value_format(entry)
    head = source.read_at(offset, begin)
    if len(head) != begin:
        return None
    (count,) = struct.unpack(tiff.tagnoformat, head)
    length = begin + count * entry
    data = source.read_at(offset, length) if count <= _MOST_TAGS else b""
    if len(data) != length:
        return None
    mask = bytearray(length)
    mask[:begin] = b"\xff" * begin
    outside, layout = [], []
    for start in range(begin, length, entry):
        value = start + entry - width
        code, kind, items = struct.unpack(f"{tiff.byteorder}HH{number}", data[start:value])
        mask[start : start + 2] = b"\xff\xff"
        if code not in _CODES:
            continue
        size = items * _BYTES.get(kind, 1)
        masked = start + entry
        pixels = data[start:masked]
        if size > width:
            masked = value
            (pointer,) = struct.unpack(tiff.byteorder + number, data[value : start + entry])
            outside.append((value, source.read_at(pointer, min(size, _MOST_BYTES))))
            pixels = data[start:value] + outside[-1][1]
        mask[start:masked] = b"\xff" * (masked - start)
        layout.append(pixels)
    return _Directory(
        length, int.from_bytes(data, "little"), int.from_bytes(mask, "little"), tuple(outside), tuple(layout)
    )

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


class LayoutChecker:
    """Check whether the pages of a series have the shape, type and storage that tifffile assumes.

    tifffile reads the tags of one page of a series, and takes them for the other pages of the file. For pages in other
    files, it reads the tags, but does not compare them.
    """

    def __init__(self, keyframe: TiffPage, files: FileSet) -> None:
        self._expected = keyframe
        self._files = files
        self._keyframes: dict[int, bool] = {}
        self._layouts: dict[int, set[tuple[bytes, ...]]] = {}
        self._latest: dict[int, _Directory] = {}

    def iter_changes(self, pages: Sequence[Page | None]) -> Iterator[tuple[int, TiffPage | FormatError]]:
        """Yield the number of each page to replace: with its own tags, or with an error if it does not fit."""
        from tifffile import TiffPage  # noqa: PLC0415 (an extra)

        for number, page in enumerate(pages):
            if page is None or page.keyframe is None or self._is_as_assumed(page):
                continue
            own = page if isinstance(page, TiffPage) else _own_page(page)
            if own is None:
                continue  # reading its pixels fails
            if not self._fits(own):
                yield number, self._misfit(own)
            elif own.hash == page.keyframe.hash:
                directory = _read_directory(page.parent, self._files, page.offset)
                if directory is not None:
                    self._layouts[id(page.keyframe)].add(directory.layout)
            else:
                yield number, own

    def _fits(self, page: TiffPage) -> bool:
        expected = self._expected
        return page.shaped == expected.shaped and page.dtype == expected.dtype

    def _is_as_assumed(self, page: Page) -> bool:
        keyframe = page.keyframe
        assert keyframe is not None  # noqa: S101 (checked by the caller)
        key = id(keyframe)
        fits = self._keyframes.get(key)
        if fits is None:
            fits = self._keyframes[key] = self._fits(keyframe)
        if page is keyframe or page.offset <= 0:  # pages at offset 0 have no directory
            return fits
        latest = self._latest.get(key)
        if latest is not None and _is_alike(page, latest, self._files):
            return fits
        if key not in self._layouts:
            first = _read_directory(keyframe.parent, self._files, keyframe.offset)
            self._layouts[key] = set() if first is None else {first.layout}
        directory = _read_directory(page.parent, self._files, page.offset)
        if directory is None or directory.layout not in self._layouts[key]:
            return False
        self._latest[key] = directory
        return fits

    def _misfit(self, page: TiffPage) -> FormatError:
        expected = self._expected
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

"""Detect OME-Zarr zip files, for programs that choose a reader: at most two reads, and no heavy imports."""

from __future__ import annotations

import os

from ozx.archive.directory import EndOfDirectory, iter_headers, read_end
from ozx.archive.entry_reading import iter_value
from ozx.archive.records import (
    FLAG_DATA_DESCRIPTOR,
    LOCAL_HEADER,
    MASK_16,
    STORED,
    CentralHeader,
    LocalHeader,
    resolve_zip64,
)
from ozx.calls import public_call
from ozx.errors import FormatError, OzxError
from ozx.ome.comment import parse_comment
from ozx.places.byte_source import ByteSource, FileSource, MemorySource
from ozx.places.place import given_path
from ozx.zarr.json_reading import LONGEST_DOCUMENT, as_object, parse_document
from ozx.zarr.keys import ROOT_METADATA

# The number of bytes to read at the end or the start of a file: enough for the end records and the directory of some
# thousand entries, or for the root's metadata.
_LOOK = 1 << 18
_ROOT = ROOT_METADATA.encode("ascii")


@public_call()
def is_ozx(path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview) -> bool:
    r"""Return whether a file is an OME-Zarr zip file (RFC-9), judged by its content and not by its name.

    A ZIP file with a root ``zarr.json`` counts as an OME-Zarr zip file if this document has ``ome`` attributes, or if
    the archive comment names an OME-Zarr version. If the central directory is longer than 256 KiB, not all of it is
    read: then the comment, or ``zarr.json`` as the first entry, suffices. This is no validation: the result may be True
    for a file that breaks rules.

    Parameters
    ----------
    path_or_bytes
        A file, of which the end and at most one other part are read. Or the bytes of a file, all or only the first:
        the first 64 bytes can show only whether the first entry is ``zarr.json``, as RFC-9 recommends.

    Raises
    ------
    UsageError
        The path is empty, or contains a NUL character.
    ResourceError
        The file does not exist or cannot be read. The content of a file never raises an error.

    Examples
    --------
    >>> is_ozx(b"II*\0"), is_ozx(b"")
    (False, False)
    """
    if isinstance(path_or_bytes, bytes | bytearray | memoryview):
        data = bytes(path_or_bytes)
        return _is_ozx_archive(MemorySource(data)) or _begins_with_root(data)
    path = given_path(path_or_bytes)
    return not os.path.isdir(path) and _is_ozx_archive(FileSource(path))


class _LoadedSource:
    """A byte source that contains only the bytes loaded so far; reads of other bytes return no bytes."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._pieces: list[tuple[int, bytes]] = []
        self.name = source.name

    def load(self, offset: int, length: int) -> bytes:
        data = self._source.read_at(offset, length)
        self._pieces.append((offset, data))
        return data

    def size(self) -> int:
        return self._source.size()

    def read_at(self, offset: int, length: int) -> bytes:
        for start, data in self._pieces:
            if start <= offset < start + len(data):
                return data[offset - start : offset - start + length]
        return b""

    def check_unchanged(self) -> None:
        self._source.check_unchanged()


def _is_ozx_archive(source: ByteSource) -> bool:
    try:
        window = _LoadedSource(source)
        tail = max(0, window.size() - _LOOK)
        window.load(tail, _LOOK)
        end = read_end(window)
        if end.prepended:  # or the writer does not know ZIP64: then the first header decides
            window.load(0, _LOOK)
            end = read_end(window)
        claims = parse_comment(end.comment).version is not None
        if end.directory_offset < tail or end.is_wrapped:
            return claims or _begins_with_root(window.load(0, _LOOK))
        header = next((header for header in iter_headers(window, end) if header.name == _ROOT), None)
        if header is None or claims:
            return header is not None
        return _has_ome(_load_value(window, tail, header, end))
    except OzxError:  # broken in any way: not readable as an OME-Zarr zip file
        return False


def _load_value(window: _LoadedSource, tail: int, header: CentralHeader, end: EndOfDirectory) -> bytes:
    if max(header.compressed_size, header.uncompressed_size) > LONGEST_DOCUMENT:
        raise FormatError(f"the root zarr.json declares {header.uncompressed_size:,} bytes", path=window.name)
    if header.header_offset < tail:
        # The extra field of the local header may be longer than that of the central one: up to 64 KiB.
        length = LOCAL_HEADER.size + len(_ROOT) + MASK_16 + header.compressed_size
        window.load(header.header_offset, length)
    return b"".join(iter_value(window, header, end.directory_offset))


def _begins_with_root(data: bytes) -> bool:
    """Return whether the first entry is the root's ``zarr.json``.

    If `data` contains the whole value, the value must have ``ome`` attributes.
    """
    try:
        local = LocalHeader.from_bytes(data)
        size = resolve_zip64((local.uncompressed_size, local.compressed_size), local.extra)[1]
    except FormatError:
        return False
    if local.name != _ROOT:
        return False
    is_whole = local.method == STORED and not local.flags & FLAG_DATA_DESCRIPTOR and local.length + size <= len(data)
    return not is_whole or _has_ome(data[local.length : local.length + size])


def _has_ome(value: bytes) -> bool:
    # OME-Zarr 0.5, "OME-Zarr Metadata": all OME-Zarr metadata stands under attributes.ome.
    try:
        document = parse_document(value, ROOT_METADATA)
    except FormatError:
        return False
    return isinstance(as_object(document.get("attributes")).get("ome"), dict)

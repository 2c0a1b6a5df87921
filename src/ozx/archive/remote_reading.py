"""Reading of an entry's value from a slow source with few requests.

A generator yields each span of bytes that has to be requested, and receives the bytes. Blocking and asynchronous
callers use the same generator. docs/decisions/0009-remote-by-obstore.md explains how requests are saved.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

from ozx.archive.columns import Columns
from ozx.archive.entry_reading import (
    ROOM_OF_EMPTY,
    check_crc32,
    check_empty,
    check_not_encrypted,
    check_stored_size,
    data_offset_behind,
    iter_value,
    read_local_header,
)
from ozx.archive.records import (
    FLAG_DATA_DESCRIPTOR,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    STORED,
    CentralHeader,
    local_header_length,
)
from ozx.crc32 import crc32
from ozx.places.byte_source import ByteSource, MemorySource, read_exactly

if TYPE_CHECKING:
    from ozx.places.remote.source import RemoteSource

# 4.5.3: length of a local header's ZIP64 field with both sizes; 4.4.3.2: the first version with ZIP64.
_ZIP64_FIELD = 20
_ZIP64_VERSION = 45

# A part that begins within this distance from the start of the value is read together with the local header.
_NEAR = 1 << 16
# If the room of a local header is at most this long, all of the room is read; otherwise only the likely length.
_ROOM = 1 << 12
_EXTRA_GUESS = 128


# A part of an entry's value, and the offset of the value's bytes in the archive if the local header was read; else -1.
Part = tuple[bytes, int]
Steps = Generator[tuple[int, int], bytes, Part]


def predicted_data_offset(columns: Columns, index: int, limit: int) -> int:
    """Return the offset of an entry's data if it is known without reading the local header, else -1.

    An entry without data descriptor ends with its data (APPNOTE 4.3.6). If the room up to the next record, at `limit`,
    is just enough for the shortest form of the local header, the header has that form, and there is no gap. The
    shortest form is the fixed part and the name, and the ZIP64 field if version 4.5 is needed.
    """
    if columns.flags[index] & FLAG_DATA_DESCRIPTOR:
        return -1
    data_offset = limit - int(columns.compressed_sizes[index])
    shortest = int(columns.header_offsets[index]) + LOCAL_HEADER.size + int(columns.name_lengths[index])
    if data_offset == shortest:
        return data_offset
    version_needed = columns.buffer[int(columns.starts[index]) + 6]  # 4.3.12; without its upper byte
    is_wide = version_needed >= _ZIP64_VERSION and data_offset == shortest + _ZIP64_FIELD
    return data_offset if is_wide else -1


def iter_steps(
    source: ByteSource,
    header: CentralHeader,
    limit: int,
    start: int,
    stop: int,
    *,
    data_offset: int = -1,
    predicted: int = -1,
) -> Steps:
    """Yield each span (offset, length) to read, receive the span's bytes, and return a part of an entry's value.

    A whole value, and a compressed value of which a part is requested, is read with its local header, unless an earlier
    read checked the header. The CRC-32 of such a value is checked. A part of a stored value is one span if the local
    header is known, predicted or near. `header` and `limit` are those of `find_data`, and errors are those of
    `iter_value`. An earlier read of the local header gives `data_offset`, and `predicted_data_offset` gives
    `predicted`; -1 means unknown.
    """
    check_not_encrypted(source, header)
    check_stored_size(source, header)
    is_stored = header.method == STORED
    first, last = (start, stop) if is_stored else (0, header.compressed_size)
    is_whole = first == 0 and last == header.compressed_size
    # An empty value is proven by its room, or by its local header, which may contradict the directory.
    if last <= first and is_stored and (header.compressed_size or max(data_offset, predicted) >= 0):
        data = b""
    elif data_offset >= 0:
        data = yield data_offset + first, last - first
    elif predicted >= 0 and not is_whole:
        data = yield predicted + first, last - first
    else:
        data, data_offset = yield from _iter_steps_with_header(source, header, limit, first, last)
    if not is_stored:
        window = MemorySource(data, source.name, data_offset)
        data = b"".join(iter_value(window, header, limit, data_offset))[start:stop]
    elif is_whole:
        check_crc32(source, header, crc32(data))
    return data, data_offset


def _iter_steps_with_header(source: ByteSource, header: CentralHeader, limit: int, first: int, last: int) -> Steps:
    """Yield spans that together contain the local header and bytes `first` to `last` of the value.

    Receive the bytes of each span, and return bytes `first` to `last` with the offset of the value.
    """
    begin = header.header_offset
    room = limit - header.compressed_size - begin
    least = LOCAL_HEADER.size + len(header.name)
    length = room if least <= room <= _ROOM else least + _EXTRA_GUESS
    if first <= _NEAR:
        length += last
    data = yield begin, min(length, limit - begin)
    if data.startswith(LOCAL_SIGNATURE) and len(data) >= LOCAL_HEADER.size:
        # The header may be longer than guessed; never request more than exists.
        needed = min(local_header_length(data), limit - begin)
        if needed > len(data):
            data += yield begin + len(data), needed - len(data)
    local = read_local_header(MemorySource(data, source.name, begin), header)
    data_offset = data_offset_behind(source, header, local, limit)
    if header.compressed_size == 0 and limit > data_offset:
        behind = yield data_offset, min(ROOM_OF_EMPTY, limit - data_offset)
        check_empty(source, header, local, behind)
    here = data[data_offset + first - begin : data_offset + last - begin]
    if len(here) < last - first:
        here += yield data_offset + first + len(here), last - first - len(here)
    return here, data_offset


def follow(source: ByteSource, steps: Steps) -> Part:
    """Read the spans that `steps` yields, and return the part that `steps` returns."""
    try:
        span = next(steps)
        while True:
            span = steps.send(read_exactly(source, *span, "an entry"))
    except StopIteration as end:
        part: Part = end.value
        return part


async def follow_async(source: RemoteSource, steps: Steps) -> Part:
    """Read the spans and return the part, as `follow` does, without blocking the event loop."""
    try:
        span = next(steps)
        while True:
            window = MemorySource(await source.read_view_async(*span), source.name, span[0])
            span = steps.send(read_exactly(window, *span, "an entry"))
    except StopIteration as end:
        part: Part = end.value
        return part


def leading_span(columns: Columns, directory_offset: int) -> tuple[int, int]:
    """Return offset and length of the ``zarr.json`` entries at the start of the file.

    RFC-9 (R2, 2026-04-20) puts all ``zarr.json`` before anything else.
    """
    order = np.argsort(columns.header_offsets, kind="stable")
    if len(order) == 0:
        return 0, 0
    begin, end = int(columns.header_offsets[order[0]]), directory_offset
    for index in order.tolist():
        if columns.raw_name(index).rpartition(b"/")[2] != b"zarr.json":
            end = int(columns.header_offsets[index])
            break
    return begin, end - begin

"""Search for values in a damaged archive: a value is found if its bytes match a declared CRC-32."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ozx.archive.entry_reading import read_header_at
from ozx.archive.inflate import iter_inflated
from ozx.archive.reader import BOMB_RATIO, BOMB_SIZE
from ozx.archive.records import (
    CENTRAL_SIGNATURE,
    DEFLATE64,
    DEFLATED,
    END_SIGNATURE,
    FLAG_DATA_DESCRIPTOR,
    FLAG_ENCRYPTED,
    LOCAL_SIGNATURE,
    MASK_32,
    METHOD_NAMES,
    SPLIT_SIGNATURE,
    STORED,
    ZIP64_END_SIGNATURE,
    LocalHeader,
    method_name,
    resolve_zip64,
)
from ozx.crc32 import crc32
from ozx.errors import FormatError
from ozx.places.byte_source import ByteSource
from ozx.places.positional_reading import COPY, READ

#: Signatures that may follow an entry: a local header, the directory, an end record.
SIGNATURE = re.compile(
    b"|".join(map(re.escape, (LOCAL_SIGNATURE, CENTRAL_SIGNATURE, END_SIGNATURE, ZIP64_END_SIGNATURE)))
)
# 4.3.9: "Although not originally assigned a signature, the value 0x08074b50 has commonly been adopted".
_SIGNATURE_OR_DESCRIPTOR = re.compile(SIGNATURE.pattern + b"|" + re.escape(SPLIT_SIGNATURE))

# The cost of an attempt in addition to the bytes that it reads.
_EFFORT = 1 << 10
# 4.3.9: CRC-32, compressed and uncompressed size, of 4 or, with ZIP64, 8 bytes.
_DESCRIPTORS = (struct.Struct("<3I"), struct.Struct("<I2Q"))
_LONGEST_DESCRIPTOR = 4 + _DESCRIPTORS[1].size
#: With signature and without.
DESCRIPTOR_LENGTHS = tuple(skipped + layout.size for layout in _DESCRIPTORS for skipped in (0, 4))


class Claim(NamedTuple):
    """A header's description of a value: offset, sizes and CRC-32; unknown numbers are None."""

    data_offset: int
    method: int
    stored_size: int | None
    size: int | None
    crc32: int | None


class FoundEntry(NamedTuple):
    """A value whose bytes match the declared CRC-32, or a header of the directory; no checksum covers its name."""

    name: str
    start: int  # offset of its local header
    data_offset: int  # 0 for a header of the directory
    method: int
    stored_size: int
    size: int
    crc32: int
    stop: int = 0  # end of its data descriptor or, without one, of its value
    # Whether a search for the descriptor found the length, which may be wrong: a stored value may contain bytes that
    # look like a descriptor.
    is_searched: bool = False

    @property
    def end(self) -> int:
        """The offset of the end of the entry's bytes."""
        return self.data_offset + self.stored_size


def claims_of(header: LocalHeader, data_offset: int) -> list[Claim]:
    """Return the possible descriptions of a value, the most likely first; one field of its local header may be damaged.

    The two sizes of a stored value are equal: if they differ, one of them or the method is damaged.
    """
    try:
        size, stored_size = resolve_zip64((header.uncompressed_size, header.compressed_size), header.extra)
    except FormatError:
        return []
    method = header.method if header.method in METHOD_NAMES else STORED
    if header.flags & FLAG_DATA_DESCRIPTOR and not (stored_size and header.crc32):
        return [Claim(data_offset, method, stored_size or None, size or None, None)]
    claims = [Claim(data_offset, method, stored_size, size, header.crc32)]
    if method == STORED and stored_size != size:
        claims.append(Claim(data_offset, STORED, size, size, header.crc32))
        claims.append(Claim(data_offset, DEFLATED, stored_size, size, header.crc32))
    elif method != STORED:
        claims.append(Claim(data_offset, STORED, stored_size, stored_size, header.crc32))
    if header.flags & FLAG_DATA_DESCRIPTOR == 0 and method == DEFLATED:
        claims.append(Claim(data_offset, DEFLATED, None, None, header.crc32))
    if not (size or stored_size or header.crc32):  # damage may have cleared flag bit 3, or all numbers
        claims.append(Claim(data_offset, method, None, None, None))
    return claims


def find_signature(source: ByteSource, start: int, stop: int, pattern: re.Pattern[bytes] = SIGNATURE) -> int | None:
    """Return the offset of the first record signature between `start` and `stop`; None if there is no signature."""
    length = len(LOCAL_SIGNATURE)  # the signature is usually right at `start`
    while start < stop:
        data = source.read_at(start, min(length, stop - start))
        length = min(32 * length, COPY)
        match = pattern.search(data)
        if match is not None:
            return start + match.start()
        if len(data) < 4 or start + len(data) >= stop:
            return None
        start += max(1, len(data) - 3)  # a signature may cross the border
    return None


class ValueSearch:
    """Search for the values that headers describe, optimised for forward reads of the source."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source
        # The number of bytes that may still be read for wrong claims. This limits the time for a malicious archive in
        # which a thousand headers all claim the rest of the file.
        self.patience = 8 * source.size() + (256 << 20)

    def verify(self, claim: Claim) -> FoundEntry | None:
        """Return the value that `claim` describes, without a name, if its CRC-32 matches, else None."""
        if self.patience < 0:
            return None
        before = self.patience
        self.patience -= _EFFORT
        found = self._verify(claim)
        if found is not None:
            self.patience = before
        return found

    def stop_of(self, value: FoundEntry) -> int:
        """Return the end of a value, including its data descriptor if present."""
        tail = self.source.read_at(value.end, _LONGEST_DESCRIPTOR + len(LOCAL_SIGNATURE))
        return value.end + _descriptor_length(tail, (value.crc32, value.stored_size, value.size))

    def why_not(self, header: LocalHeader, claim: Claim | None) -> str:
        """Return the reason why the value after `header` cannot be read."""
        if claim is None:
            return "its sizes are damaged"
        if header.flags & FLAG_ENCRYPTED:
            return "it is encrypted"
        if claim.method not in (STORED, DEFLATED, DEFLATE64):
            return f"ozx does not support its method, {method_name(claim.method)}"
        if not (claim.size or claim.stored_size or claim.crc32):
            is_unknown = claim.stored_size is None
            return "its end was not found" if is_unknown else "its header says that it is empty, but bytes follow"
        if claim.data_offset + (claim.stored_size or 0) > self.source.size():
            return "it is cut off by the end of the file"
        return "its CRC-32 does not match: its bytes, or its header, are damaged"

    def _verify(self, claim: Claim) -> FoundEntry | None:
        if claim.data_offset + (claim.stored_size or 0) > self.source.size():
            return None
        if claim.method == STORED:
            size = claim.stored_size
            if size is None:
                return self._find_descriptor(claim)
            return self._confirm(claim, size, size, self._crc32(self._iter_blocks(claim.data_offset, size)))
        if claim.method == DEFLATED:
            return self._verify_deflated(claim)
        if claim.method == DEFLATE64 and claim.stored_size is not None and claim.size is not None:
            return self._verify_deflate64(claim, claim.stored_size, claim.size)
        return None

    def _verify_deflated(self, claim: Claim) -> FoundEntry | None:
        decoder, checksum, size, consumed, pending = zlib.decompressobj(wbits=-15), 0, 0, 0, b""
        limit = self.source.size() - claim.data_offset if claim.stored_size is None else claim.stored_size
        try:
            for data in self._iter_blocks(claim.data_offset, limit):
                pending, consumed = data, consumed + len(data)
                while pending and not decoder.eof and size <= max(BOMB_SIZE, BOMB_RATIO * consumed):
                    block = decoder.decompress(pending, READ)
                    pending = decoder.unconsumed_tail
                    checksum, size = crc32(block, checksum), size + len(block)
                    self.patience -= len(block)
                if decoder.eof or pending or self.patience < 0:
                    break
            while not (pending or decoder.eof) and self.patience >= 0 and (block := decoder.decompress(b"", READ)):
                checksum, size = crc32(block, checksum), size + len(block)
        except zlib.error:
            return None
        if not decoder.eof:
            return None
        return self._confirm(claim, consumed - len(decoder.unused_data), size, checksum)

    def _verify_deflate64(self, claim: Claim, stored_size: int, size: int) -> FoundEntry | None:
        blocks = iter_inflated(DEFLATE64, self._iter_blocks(claim.data_offset, stored_size), size)
        try:
            checksum = self._crc32(blocks)
        except FormatError:
            return None
        return self._confirm(claim, stored_size, size, checksum)

    def _confirm(self, claim: Claim, stored_size: int, size: int, checksum: int) -> FoundEntry | None:
        """Return the value if the header or the following data descriptor declares `checksum`, else None."""
        end = claim.data_offset + stored_size
        if claim.crc32 is None:
            tail = self.source.read_at(end, _LONGEST_DESCRIPTOR + len(LOCAL_SIGNATURE))
            length = _descriptor_length(tail, (checksum, stored_size, size))
            if not length:
                return None
            end += length
        elif checksum != claim.crc32:
            return None
        return FoundEntry("", -1, claim.data_offset, claim.method, stored_size, size, checksum, end)

    def _find_descriptor(self, claim: Claim) -> FoundEntry | None:
        """Search for a stored value of unknown length: its data descriptor, with matching CRC-32, marks its end."""
        # A descriptor without signature is right before the next header.
        start, stop, position = claim.data_offset, self.source.size(), claim.data_offset
        while self.patience >= 0:
            found = find_signature(self.source, position, stop, _SIGNATURE_OR_DESCRIPTOR)
            self.patience -= _EFFORT + (stop if found is None else found) - position
            if found is None:
                return None
            around = self.source.read_at(max(start, found - 20), 20 + _LONGEST_DESCRIPTOR)
            for size in _sizes_around(around, found, found - max(start, found - 20), start):
                checksum = self._crc32(self._iter_blocks(start, size))
                value = self._confirm(claim, size, size, checksum)
                if value is not None:
                    return value._replace(is_searched=True)
            position = found + 4
        return None

    def _iter_blocks(self, offset: int, length: int) -> Iterator[bytes]:
        while length > 0 and self.patience >= 0:
            data = self.source.read_at(offset, min(READ, length))
            if not data:
                return
            yield data
            self.patience -= len(data)
            offset, length = offset + len(data), length - len(data)

    @staticmethod
    def _crc32(blocks: Iterable[bytes]) -> int:
        checksum = 0
        for block in blocks:
            checksum = crc32(block, checksum)
        return checksum


def _descriptor_length(data: bytes, numbers: tuple[int, int, int]) -> int:
    """Return the length of the data descriptor with these numbers at the start of `data`; 0 if it is missing."""
    same = numbers, tuple(number & MASK_32 for number in numbers)  # a writer without ZIP64 writes sizes modulo 2**32
    fitting = [length for found, length in _descriptors_at(data) if found in same]
    # The descriptor of an empty value is all zeros in both widths: the following bytes decide.
    return next((length for length in fitting if SIGNATURE.match(data, length)), fitting[0] if fitting else 0)


def _descriptors_at(data: bytes) -> Iterator[tuple[tuple[int, int, int], int]]:
    """Yield each possible data descriptor at the start of `data`: CRC-32 and both sizes, and the descriptor's length.

    It may have a signature or none, and sizes of 32 or 64 bits.
    """
    for skipped in (4, 0) if data.startswith(SPLIT_SIGNATURE) else (0,):
        for layout in _DESCRIPTORS:
            if skipped + layout.size <= len(data):
                yield layout.unpack_from(data, skipped), skipped + layout.size


def _sizes_around(data: bytes, found: int, position: int, start: int) -> Iterator[int]:
    """Yield the possible lengths of a stored value at `start`, from a data descriptor that begins or ends there.

    The signature is at `found` in the file and at `position` in `data`. It is the signature of the descriptor, or of
    the record after a descriptor without signature.
    """
    places = (
        [position]
        if data.startswith(SPLIT_SIGNATURE, position)
        else [position - layout.size for layout in _DESCRIPTORS]
    )
    for place in places:
        size = found - start - (position - place)
        if place >= 0 and size >= 0 and any(found[1:] == (size, size) for found, _ in _descriptors_at(data[place:])):
            yield size


def local_header_at(source: ByteSource, offset: int) -> LocalHeader | None:
    """Return the local header at `offset` without checking its fields; None if it is missing or truncated."""
    try:
        return read_header_at(source, offset)
    except FormatError:
        return None

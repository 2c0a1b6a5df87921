"""Convert the byte ranges that zarr requests into offsets and lengths."""

from __future__ import annotations

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest

from ozx.errors import UsageError


def requested_span(byte_range: ByteRequest | None, size: int) -> tuple[int, int]:
    """Return offset and length of the requested bytes of a value of `size` bytes, clipped to the end of the value."""
    if byte_range is None:
        return 0, size
    if isinstance(byte_range, RangeByteRequest):
        start, stop = byte_range.start, byte_range.end
    elif isinstance(byte_range, OffsetByteRequest):
        start, stop = byte_range.offset, size
    elif isinstance(byte_range, SuffixByteRequest):
        _check_not_negative(byte_range.suffix, byte_range)
        start, stop = max(0, size - byte_range.suffix), size
    else:
        raise TypeError(f"Unexpected byte_range, got {byte_range}.")
    _check_not_negative(min(start, stop), byte_range)
    offset = min(start, size)
    return offset, max(0, min(stop, size) - offset)


def _check_not_negative(number: int, byte_range: ByteRequest) -> None:
    if number < 0:
        raise UsageError(f"expected a byte range without negative numbers; got {byte_range}")

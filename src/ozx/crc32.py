"""Computation of CRC-32 (APPNOTE 4.4.7), also for joined pieces; ISA-L is used if it is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable

try:
    import isal.isal_zlib as _zlib
except ImportError:  # no wheel for this machine: zlib's crc32 is about twelve times slower
    import zlib as _zlib  # type: ignore[no-redef]

crc32 = _zlib.crc32
_combine: Callable[[int, int, int], int] | None = getattr(_zlib, "crc32_combine", None)

_POLYNOMIAL = 0xEDB88320  # reflected: bit 31 is x**0, so that a shift to the right multiplies by x


def _multiply(a: int, b: int) -> int:
    """Multiply two bit-reflected polynomials modulo the CRC's polynomial."""
    product = 0
    while a:
        if a & 0x80000000:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def crc32_combine(first: int, second: int, second_length: int) -> int:
    """Return the CRC-32 of two joined pieces, from the CRC-32 of each piece and the length of the second piece.

    Appending n zero bytes multiplies a CRC by x**(8 n); the power is found by repeated squaring.
    """
    if _combine is not None:
        return _combine(first, second, second_length)
    return _multiply(first, _power(second_length)) ^ second


@functools.lru_cache(64)  # most pieces have the same length
def _power(n: int) -> int:
    """Return the polynomial x**(8 n) modulo the CRC's polynomial."""
    power, square = 0x80000000, 0x00800000  # 1, x**8
    while n:
        if n & 1:
            power = _multiply(power, square)
        square = _multiply(square, square)
        n >>= 1
    return power

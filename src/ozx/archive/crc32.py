"""CRC-32 (APPNOTE 4.4.7), by ISA-L where it is installed, and its combination."""

from __future__ import annotations

import functools

try:
    from isal.isal_zlib import crc32
except ImportError:  # no wheel for this machine: the same function, about twelve times slower
    from zlib import crc32

__all__ = ["crc32", "crc32_combine"]

_POLYNOMIAL = 0xEDB88320  # reflected: bit 31 is x**0, so that a shift to the right multiplies by x


def _multiply(a: int, b: int) -> int:
    """Multiply two polynomials modulo the CRC's, both reflected."""
    product = 0
    while a:
        if a & 0x80000000:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def crc32_combine(first: int, second: int, second_length: int) -> int:
    """Return the CRC-32 of two pieces joined, from the CRC-32 of each.

    Appending n zero bytes multiplies a CRC by x**(8 n); the power is found by repeated squaring.

    Parameters
    ----------
    first, second
        CRC-32 of the first and of the second piece.
    second_length
        The second piece's length in bytes.

    Examples
    --------
    >>> crc32_combine(crc32(b"micro"), crc32(b"scope"), 5) == crc32(b"microscope")
    True
    """
    return _multiply(first, _power(second_length)) ^ second


@functools.lru_cache(64)  # pieces are mostly of one length
def _power(n: int) -> int:
    """Return x**(8 n)."""
    power, square = 0x80000000, 0x00800000  # 1, x**8
    while n:
        if n & 1:
            power = _multiply(power, square)
        square = _multiply(square, square)
        n >>= 1
    return power

"""Checks of JSON fill values by data type (Zarr core 3.1, "Fill value list")."""

from __future__ import annotations

import re
from typing import Any

_INTEGER = re.compile(r"(u?)int(8|16|32|64)")
_FLOAT = re.compile(r"float(16|32|64)")
_COMPLEX = re.compile(r"complex(64|128)")
_RAW = re.compile(r"r([1-9][0-9]{0,8})")
_SPECIAL = ("Infinity", "-Infinity", "NaN")
_TIMES = ("numpy.datetime64", "numpy.timedelta64")
_HEX = re.compile(r"0x[0-9a-fA-F]*")


def fill_value_fault(data_type: str, value: Any) -> str | None:  # noqa: PLR0911 (one for each kind of data type)
    """Return a description of the allowed fill values if `value` is invalid for the data type, else None.

    Every value is valid for an unknown data type.

    Examples
    --------
    >>> fill_value_fault("uint8", 255), fill_value_fault("uint8", 256)
    (None, 'an integer from 0 to 255')
    >>> fill_value_fault("float32", "0x7fc00000"), fill_value_fault("float32", "0x7f")
    (None, 'a number, "Infinity", "-Infinity", "NaN" or "0x" and 8 hexadecimal digits')
    >>> fill_value_fault("complex64", [0, "NaN"]), fill_value_fault("bool", 0)
    (None, 'true or false')
    """
    if data_type == "bool":
        return None if isinstance(value, bool) else "true or false"
    if data_type == "string":
        return None if isinstance(value, str) else "a string"
    if data_type in _TIMES:
        return None if type(value) is int or value == "NaT" else 'an integer or "NaT"'
    if found := _INTEGER.fullmatch(data_type):
        return _integer_fault(value, int(found[2]), is_signed=not found[1])
    if found := _FLOAT.fullmatch(data_type):
        return _float_fault(value, int(found[1]))
    if found := _COMPLEX.fullmatch(data_type):
        return _complex_fault(value, int(found[1]) // 2)
    if found := _RAW.fullmatch(data_type):
        return _raw_fault(value, int(found[1]))
    return None


def _integer_fault(value: Any, bits: int, *, is_signed: bool) -> str | None:
    # "a JSON number with no fraction or exponent part that is within the representable range of the data type"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return None if type(value) is int and low <= value <= high else f"an integer from {low} to {high}"


def _float_fault(value: Any, bits: int) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number or value in _SPECIAL:
        return None
    digits = bits // 4
    if isinstance(value, str) and len(value) == digits + 2 and _HEX.fullmatch(value):
        return None
    return f'a number, "Infinity", "-Infinity", "NaN" or "0x" and {digits} hexadecimal digits'


def _complex_fault(value: Any, bits: int) -> str | None:
    # "a two-element array, specifying the real and imaginary components"
    if isinstance(value, list) and len(value) == 2 and not any(_float_fault(part, bits) for part in value):
        return None
    return f"an array of two floating point numbers of {bits} bits"


def _raw_fault(value: Any, bits: int) -> str | None:
    # The text says "with length equal to <N>", which are bits; only bytes make sense.
    is_bytes = isinstance(value, list) and all(type(item) is int and 0 <= item <= 255 for item in value)
    return None if is_bytes and len(value) == bits // 8 else f"an array of {bits // 8} integers from 0 to 255"

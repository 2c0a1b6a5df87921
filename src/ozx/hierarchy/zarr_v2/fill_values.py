"""Conversion of Zarr v2 fill values, as in OME-Zarr 0.4, to Zarr v3."""

from __future__ import annotations

import base64
import binascii
import math
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ozx.errors import FormatError
from ozx.hierarchy.zarr_v2.data_types import UpgradedDataType

# The one NaN that Zarr core 3.1, "Permitted fill values", calls "NaN".
_NAN = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}
_NOT_A_TIME = -(1 << 63)
_DECIMAL = re.compile(r"[+-]?\d{1,20}")


def upgrade_fill_value(value: Any, dtype: UpgradedDataType) -> Any:
    """Return a Zarr v2 ``fill_value`` in the form that Zarr v3 requires for the data type.

    Numbers stay as written (0.1 of a float32 stays 0.1); null becomes zero. A number beyond the range of a floating
    point type becomes infinity, as in readers of v2.
    """
    return _FILLS[dtype.kind](0 if value is None and dtype.kind != "U" else value, dtype)


def _boolean(value: Any, dtype: UpgradedDataType) -> bool:
    if not isinstance(value, int | float) or value not in (0, 1):
        raise _no_value(value, dtype)
    return bool(value)


def _integer(value: Any, dtype: UpgradedDataType) -> int:
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not is_whole and not (isinstance(value, str) and _DECIMAL.fullmatch(value)):
        raise _no_value(value, dtype)
    number = int(value)
    bits = 8 * dtype.item_size
    lowest, highest = (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    if not lowest <= number <= highest:
        raise FormatError(f"expected a fill_value from {lowest} to {highest} ({_name(dtype)}); found {value!r}")
    return number


def _time(value: Any, dtype: UpgradedDataType) -> int:
    # An integer, as zarr-python writes it, though the registry allows "NaT", too.
    return _NOT_A_TIME if value == "NaT" else _integer(value, dtype)


def _float(value: Any, dtype: UpgradedDataType) -> float | str:
    raw = _raw(value, dtype)
    return _exact(raw) if raw is not None else _rounded(value, dtype, dtype.item_size)


def _complex(value: Any, dtype: UpgradedDataType) -> list[float | str]:
    raw = _raw(value, dtype)
    if raw is not None:
        return [_exact(raw.real), _exact(raw.imag)]
    parts = value if isinstance(value, list) and len(value) == 2 else (value, 0)
    return [_rounded(part, dtype, dtype.item_size // 2) for part in parts]


def _text(value: Any, dtype: UpgradedDataType) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or 4 * len(value) > dtype.item_size:
        raise _no_value(value, dtype)
    return value


_FILLS: dict[str, Callable[[Any, UpgradedDataType], Any]] = {
    "b": _boolean,
    "i": _integer,
    "u": _integer,
    "f": _float,
    "c": _complex,
    "U": _text,
    "M": _time,
    "m": _time,
}


def _rounded(value: Any, dtype: UpgradedDataType, size: int) -> float | str:
    """Return a JSON number or numeric text as a floating-point number, rounded to `size` bytes."""
    if not isinstance(value, int | float | str):
        raise _no_value(value, dtype)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _no_value(value, dtype) from None
    with np.errstate(over="ignore"):
        stored = float(np.float64(number).astype(f"f{size}"))
    return number if math.isfinite(stored) else _special(stored)


def _exact(number: Any) -> float | str:
    """Return a numpy number as a JSON value without any loss of bits."""
    if not np.isnan(number):
        return float(number) if np.isfinite(number) else _special(float(number))
    size = number.dtype.itemsize
    bits = int.from_bytes(number.tobytes(), sys.byteorder)
    # Zarr core 3.1, "Permitted fill values": any other NaN is written as hexadecimal bytes, the highest first.
    return "NaN" if bits == _NAN[size] else f"0x{bits:0{2 * size}x}"


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _raw(value: Any, dtype: UpgradedDataType) -> Any:
    """Decode a number from base64 text, without any loss of bits; return None if `value` is not valid."""
    if not isinstance(value, str) or not value.endswith("="):
        return None
    try:
        data = base64.b64decode(value, validate=True)
    except binascii.Error:
        return None
    if len(data) != dtype.item_size:
        return None
    order = ">" if dtype.endian == "big" else "<"
    return np.frombuffer(data, f"{order}{dtype.kind}{dtype.item_size}")[0]


def _name(dtype: UpgradedDataType) -> str:
    return dtype.data_type if isinstance(dtype.data_type, str) else str(dtype.data_type["name"])


def _no_value(value: Any, dtype: UpgradedDataType) -> FormatError:
    return FormatError(f"expected a fill_value of type {_name(dtype)}; found {value!r}")

"""Conversion of Zarr v2 data types to v3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError

# Zarr v2, "Data type encoding": byte order, kind, bytes of an item (characters for U), and for times their unit.
_DTYPE = re.compile(r"([<>|])([a-zA-Z])(\d{0,9})(?:\[(\d{0,9})([a-z]+|[YMWD])\])?")
_NUMBERS = {
    "i": ("int", (1, 2, 4, 8)),
    "u": ("uint", (1, 2, 4, 8)),
    "f": ("float", (2, 4, 8)),
    "c": ("complex", (8, 16)),
}
_TIMES = {"M": "numpy.datetime64", "m": "numpy.timedelta64"}
_UNITS = frozenset(("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"))
_LONGEST_STEP = (1 << 31) - 1
_ENDIAN = {"<": "little", ">": "big", "|": None}

_REFUSED = {"S": "byte strings", "V": "raw bytes", "O": "objects"}
_HINT = "Rewrite the array with a type that Zarr v3 registers: numbers, booleans, times, text of fixed length."


@dataclass(frozen=True, slots=True)
class UpgradedDataType:
    """A Zarr v2 data type, converted to v3."""

    # The value in a ``zarr.json``: the name of a core type, an object for any other type.
    data_type: str | dict[str, Any]
    # Its letter in v2 and numpy: ``b i u f c U M m``.
    kind: str
    item_size: int
    # ``little`` or ``big``; None for items of one byte.
    endian: str | None


def upgrade_data_type(value: Any) -> UpgradedDataType:
    """Return the Zarr v3 data type for the ``dtype`` of a ``.zarray``."""
    if isinstance(value, list) and value:
        raise _unsupported(value, "a structured type")
    if not isinstance(value, str):
        raise FormatError(f"expected a data type of Zarr v2 as dtype; found {value!r}")
    found = _DTYPE.fullmatch(value)
    if found is None:
        raise _unsupported(value)
    order, kind, digits, step, unit = found.groups()
    if kind in _REFUSED:
        raise _unsupported(value, _REFUSED[kind])
    data_type, item_size = _named(value, kind, int(digits or 0), int(step or 1), unit)
    endian = None if item_size == 1 else _ENDIAN[order]
    if item_size > 1 and endian is None:
        raise FormatError(f"expected a byte order (< or >); found dtype {value!r}")
    return UpgradedDataType(data_type, kind, item_size, endian)


def _named(value: str, kind: str, size: int, step: int, unit: str | None) -> tuple[str | dict[str, Any], int]:
    """Return the Zarr v3 data type and the size of an item in bytes."""
    if kind in _TIMES and size == 8 and (unit is None or unit in _UNITS) and 1 <= step <= _LONGEST_STEP:
        return {"name": _TIMES[kind], "configuration": {"unit": unit or "generic", "scale_factor": step}}, size
    if unit is None and kind == "b" and size == 1:
        return "bool", size
    if unit is None and kind in _NUMBERS and size in _NUMBERS[kind][1]:
        return f"{_NUMBERS[kind][0]}{8 * size}", size
    if unit is None and kind == "U" and size:
        return {"name": "fixed_length_utf32", "configuration": {"length_bytes": 4 * size}}, 4 * size
    raise _unsupported(value)


def _unsupported(value: Any, what: str | None = None) -> UnsupportedError:
    found = f"{value!r}" if what is None else f"{value!r} ({what})"
    return UnsupportedError(f"expected a data type that Zarr v3 registers; found {found}", hint=_HINT)

"""Metadata of Zarr v2: documents and data types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.json_reading import as_lengths, as_list, as_object, as_text, without_special_numbers

# "Data type encoding": byte order, kind, bytes of an item, and for times their unit.
_DTYPE = re.compile(r"[<>|]([biufcmMSUVO])(\d{0,9})(?:\[.*\])?")
_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_NAMES = {
    "b": "bool",
    "m": "numpy.timedelta64",
    "M": "numpy.datetime64",
    "S": "null_terminated_bytes",
    "U": "fixed_length_utf32",
    "V": "raw_bytes",
    "O": "object",
}


def parse_v2_dtype(value: Any) -> tuple[str, int | None] | None:
    """Return the Zarr v3 name and item size in bytes of a v2 data type, or None for an invalid type."""
    if isinstance(value, list) and value:
        return "structured", None
    found = _DTYPE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    kind, digits = found[1], found[2]
    if kind == "O":
        return _NAMES[kind], None
    if not digits:
        return None
    size = int(digits)
    if kind in _KINDS:
        return f"{_KINDS[kind]}{8 * size}", size
    return _NAMES[kind], 4 * size if kind == "U" else size


def parse_v2_array(document: dict[str, Any], attributes: dict[str, Any] | None = None) -> ArrayMetadata:
    """Parse an array's ``.zarray`` and ``.zattrs``; never raises an error.

    `codecs` are the ids of the filters, then the id of the compressor. `shards` has the value None, because v2 has
    no shards.
    """
    problems = []
    shape, chunks = as_lengths(document.get("shape")), as_lengths(document.get("chunks"))
    if shape is None:
        problems.append("shape is missing or not a list of lengths")
    if chunks is None:
        problems.append("chunks is missing or not a list of lengths")
    if shape is not None and chunks is not None and len(shape) != len(chunks):
        problems.append(f"the array has {len(shape)} dimensions, its chunks have {len(chunks)}")
    dtype = parse_v2_dtype(document.get("dtype"))
    if dtype is None:
        problems.append("dtype is missing, or ozx does not support it")
    steps = [*as_list(document.get("filters")), document.get("compressor")]
    names = (as_text(as_object(step).get("id")) for step in steps)
    return ArrayMetadata(
        shape=shape,
        data_type=None if dtype is None else dtype[0],
        item_size=None if dtype is None else dtype[1],
        chunks=chunks,
        shards=None,
        codecs=tuple(name for name in names if name is not None),
        dimension_names=None,
        fill_value=document.get("fill_value"),
        attributes=attributes or {},
        problems=tuple(problems),
    )


def portable_attributes(attributes: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the attributes of a node as JSON that all programs read, and a note if they change."""
    portable: dict[str, Any] = without_special_numbers(attributes)
    note = "NaN and infinities among the attributes become text, because JSON has no such numbers"
    return dict(portable), [] if portable is attributes else [note]


# Conversion of Zarr v2 data types to v3.

# Zarr v2, "Data type encoding": byte order, kind, bytes of an item (characters for U), and for times their unit.
_DTYPE_PARTS = re.compile(r"([<>|])([a-zA-Z])(\d{0,9})(?:\[(\d{0,9})([a-z]+|[YMWD])\])?")
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
    found = _DTYPE_PARTS.fullmatch(value)
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

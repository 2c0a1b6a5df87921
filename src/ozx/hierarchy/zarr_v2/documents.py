"""Metadata of arrays and groups, from ``.zarray``, ``.zgroup`` and ``.zattrs`` (Zarr v2 specification)."""

from __future__ import annotations

import re
from typing import Any

from ozx.hierarchy.json.values import as_lengths, as_list, as_object, as_text
from ozx.hierarchy.zarr.array import ArrayMetadata
from ozx.hierarchy.zarr.group import GroupMetadata

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


def parse_v2_group(attributes: dict[str, Any] | None = None) -> GroupMetadata:
    """Parse a Zarr v2 group; only its ``.zattrs`` contains information."""
    return GroupMetadata(attributes or {})

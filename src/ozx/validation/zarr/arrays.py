"""Rules about the metadata of arrays, except codecs (Zarr core 3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ozx.validation.nodes.facts import ParsedNode
from ozx.validation.report import Finding
from ozx.validation.wording import TENSORSTORE, ZARR_PYTHON, pointer, shown
from ozx.validation.zarr.codecs import check_codecs
from ozx.zarr.codecs import parse_named
from ozx.zarr.json_reading import as_lengths

# Checks of JSON fill values by data type (Zarr core 3.1, "Fill value list").

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


# Core 3.1, "Data type list".
CORE_DATA_TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|r[0-9]+")
_RAW_NAME = re.compile(r"r([0-9]+)")
_SETTINGS = {"regular": {"chunk_shape"}, "default": {"separator"}, "v2": {"separator"}}


def check_array(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about an array's ``zarr.json``, except missing fields, which `check_fields` reports."""
    array = node.array
    if not node.is_v3 or array is None:
        return
    document = node.document
    if "shape" in document:
        yield from _check_shape(node, document["shape"])
    if "data_type" in document:
        yield from _check_data_type(node, document["data_type"])
    if "chunk_grid" in document:
        yield from _check_chunk_grid(node, document["chunk_grid"], array.shape)
    if "chunk_key_encoding" in document:
        yield from _check_key_encoding(node, document["chunk_key_encoding"])
    if "fill_value" in document and array.data_type is not None:
        # Core 3.1, "fill_value": "The permitted values depend on the data type."
        expected = fill_value_fault(array.data_type, document["fill_value"])
        if expected is not None:
            message = f"expected {expected} for the data type {array.data_type}; found {shown(document['fill_value'])}"
            yield node.finding("zarr/fill-value", message, "/fill_value")
    if "dimension_names" in document:
        yield from _check_dimension_names(node, document["dimension_names"], array.shape)
    if "codecs" in document:
        yield from check_codecs(node, array)


def _check_shape(node: ParsedNode, value: Any) -> Iterator[Finding]:
    # Core 3.1, "shape": "An array of integers providing the length of each dimension of the Zarr array."
    if as_lengths(value) is None:
        message = f"expected an array of lengths, integers from 0 to 2**63 - 1; found {shown(value)}"
        yield node.finding("zarr/shape", message, "/shape")


def _check_data_type(node: ParsedNode, value: Any) -> Iterator[Finding]:
    named = parse_named(value)
    if named is None:
        return  # `zarr/extension-definition` reports it
    raw = _RAW_NAME.fullmatch(named.name)
    # Core 3.1, "Data types": "r followed by the number of bits, multiple of 8".
    if raw is not None and (int(raw[1][:9]) == 0 or int(raw[1][-3:]) % 8):
        yield node.finding("zarr/data-type", f"expected r and a multiple of 8; found {shown(value)}", "/data_type")
    elif raw is not None:
        message = f"{ZARR_PYTHON} and {TENSORSTORE} have no raw data types; found {shown(value)}"
        yield node.finding("zarr/reader-refuses", message, "/data_type")
    # Core 3.1, "data_type": "If the data type is defined in this specification, then the value must be the data type
    # identifier provided as a string."
    elif isinstance(value, dict) and CORE_DATA_TYPES.fullmatch(named.name):
        message = f"expected a core data type as a string, {shown(named.name)}; found an object"
        yield node.finding("zarr/data-type", message, "/data_type")


def _check_chunk_grid(node: ParsedNode, value: Any, shape: tuple[int, ...] | None) -> Iterator[Finding]:
    grid = parse_named(value)
    if grid is None or grid.name != "regular":
        return
    yield from _check_settings(node, grid.name, grid.configuration, "/chunk_grid")
    # Core 3.1, "chunk_grid": "chunk_shape must be an array of integers providing the lengths of the chunk along each
    # dimension of the array."
    where = "/chunk_grid/configuration/chunk_shape"
    lengths = as_lengths(grid.configuration.get("chunk_shape"))
    if lengths is None:
        found = shown(grid.configuration["chunk_shape"]) if "chunk_shape" in grid.configuration else "none"
        message = f"expected a chunk_shape, an array of lengths; found {found}"
        yield node.finding("zarr/chunk-grid", message, where if found != "none" else "/chunk_grid")
    elif shape is not None and len(lengths) != len(shape):
        message = f"expected a chunk_shape of {len(shape)} lengths, as many as the shape has; found {len(lengths)}"
        yield node.finding("zarr/chunk-grid", message, where)
    elif 0 in lengths:
        # Core 3.1, "Chunk": "The chunk shape elements are non-zero when the corresponding dimensions of the arrays
        # have non-zero length." Since 2026-07-23: chunk lengths "must be greater than zero".
        is_empty = shape is not None and all(chunk or not length for chunk, length in zip(lengths, shape, strict=True))
        message = f"expected chunk lengths greater than zero, which {TENSORSTORE} demands; found {shown(list(lengths))}"
        yield node.finding("zarr/chunk-grid", message, where, severity="warning" if is_empty else None)


def _check_key_encoding(node: ParsedNode, value: Any) -> Iterator[Finding]:
    encoding = parse_named(value)
    if encoding is None or encoding.name not in ("default", "v2"):
        return
    yield from _check_settings(node, encoding.name, encoding.configuration, "/chunk_key_encoding")
    # Core 3.1, "chunk_key_encoding": "separator, which must be either "/" or ".""
    separator = encoding.configuration.get("separator", "/")
    if separator not in ("/", "."):
        message = f"expected the separator '/' or '.'; found {shown(separator)}"
        yield node.finding("zarr/chunk-key-encoding", message, "/chunk_key_encoding/configuration/separator")


def _check_settings(node: ParsedNode, name: str, found: dict[str, Any], where: str) -> Iterator[Finding]:
    for setting in sorted(found.keys() - _SETTINGS[name]):
        message = f"{ZARR_PYTHON} and {TENSORSTORE} refuse settings they do not know; found {shown(setting)}"
        yield node.finding("zarr/reader-refuses", message, where + pointer("configuration", setting))


def _check_dimension_names(node: ParsedNode, value: Any, shape: tuple[int, ...] | None) -> Iterator[Finding]:
    # Core 3.1, "dimension_names": "If specified, must be an array of strings or null objects with the same length as
    # shape."
    if not isinstance(value, list):
        message = f"expected an array of names; found {shown(value)}"
        yield node.finding("zarr/dimension-names", message, "/dimension_names")
        return
    for index, name in enumerate(value):
        if name is not None and not isinstance(name, str):
            message = f"expected a string or null; found {shown(name)}"
            yield node.finding("zarr/dimension-names", message, pointer("dimension_names", index))
    if shape is not None and len(value) != len(shape):
        message = f"expected {len(shape)} dimension names, one for each length in the shape; found {len(value)}"
        yield node.finding("zarr/dimension-names", message, "/dimension_names")

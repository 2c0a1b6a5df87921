"""Downgrade of all metadata of a hierarchy from OME-Zarr 0.5 (Zarr v3) to 0.4 (Zarr v2).

Every reader of 0.4 is to read the result: an array has at most one compressor, no filters, and a numeric type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ozx.errors import FormatError, OzxError, UnsupportedError
from ozx.ome.upgrade import WITH_VERSION
from ozx.zarr.codecs import NamedExtension, parse_named
from ozx.zarr.json_reading import Document, as_object, dump_document, parse_document, without_special_numbers
from ozx.zarr.keys import join_path, node_of
from ozx.zarr.layout import parse_layout
from ozx.zarr.v2_arrays import DIMENSIONS_OF_XARRAY, SHUFFLES

# The Zarr v2 types of items of one byte, and of several bytes without their byte order.
_TYPES = {
    "bool": "|b1",
    "int8": "|i1",
    "uint8": "|u1",
    **{f"{name}{8 * size}": f"{name[0]}{size}" for name in ("int", "uint") for size in (2, 4, 8)},
    **{f"float{8 * size}": f"f{size}" for size in (2, 4, 8)},
    **{f"complex{8 * size}": f"c{size}" for size in (8, 16)},
}
_HINT = "ozx repack --ome-version 0.4 --codec blosc-lz4 decodes the chunks, and encodes them in a form of Zarr v2."


def downgrade_hierarchy(documents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the values of all metadata keys of Zarr v2, given those of Zarr v3, in the same order.

    The arrays have no shards, no checksums at the end of chunks, and chunk keys such as ``0/0``.
    """
    values: dict[str, bytes] = {}
    known: dict[bytes, dict[str, bytes]] = {}  # the arrays of a plate have only a few different documents
    for key, value in documents.items():
        path = node_of(key)
        if value not in known:
            try:
                known[value] = {name: dump_document(new) for name, new in _downgrade(parse_document(value, key))}
            except OzxError as error:
                raise type(error)(f"{path or 'the root'}: {error.message}", rule=error.rule, hint=error.hint) from None
        values |= {join_path(path, name): data for name, data in known[value].items()}
    return values


def consolidated(values: Mapping[str, bytes]) -> bytes:
    """Return the ``.zmetadata`` of a Zarr v2 hierarchy, from which readers at a URL learn the names of all nodes."""
    documents = {key: parse_document(value, key) for key, value in values.items()}
    return dump_document({"zarr_consolidated_format": 1, "metadata": documents})


def _downgrade(document: Document) -> list[tuple[str, Document]]:
    """Return the documents of a node by the last component of their keys."""
    is_array = document.get("node_type") == "array"
    attributes = array_attributes(document) if is_array else group_attributes(document)
    own = (".zarray", array_document(document)) if is_array else (".zgroup", {"zarr_format": 2})
    return [own, (".zattrs", without_special_numbers(attributes))] if attributes else [own]


def group_attributes(document: Document) -> dict[str, Any]:
    """Return the ``.zattrs`` of a group: OME-Zarr 0.5 metadata become those of 0.4, at the top.

    Examples
    --------
    >>> group_attributes({"attributes": {"ome": {"version": "0.5", "labels": ["cells"]}, "sample": 7}})
    {'labels': ['cells'], 'sample': 7}
    """
    attributes = as_object(document.get("attributes"))
    ome, others = as_object(attributes.get("ome")), {key: attributes[key] for key in attributes if key != "ome"}
    if ome.get("version", "0.5") != "0.5":
        raise UnsupportedError(f"expected OME-Zarr 0.5 to convert to 0.4; found {ome['version']}")
    ours = {key: _with_version(key, value) for key, value in ome.items() if key != "version"}
    return {**ours, **{key: value for key, value in others.items() if key not in ours}}


def _with_version(key: str, value: Any) -> Any:
    """Return a value of ``ome`` with the "version" that 0.4 has in each multiscale, plate and well."""
    if key == "multiscales" and isinstance(value, list):
        return [{**as_object(item), "version": "0.4"} for item in value]
    return {**value, "version": "0.4"} if key in ("omero", *WITH_VERSION) and isinstance(value, dict) else value


def array_attributes(document: Document) -> dict[str, Any]:
    """Return the ``.zattrs`` of an array, with the names of its dimensions as xarray keeps them."""
    attributes, names = as_object(document.get("attributes")), document.get("dimension_names")
    is_named = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
    return {**attributes, DIMENSIONS_OF_XARRAY: names} if is_named else attributes


def array_document(document: Document) -> Document:
    """Return the ``.zarray`` of an array without shards; raise `UnsupportedError` if Zarr v2 cannot express it."""
    layout, dtype = parse_layout(document, ""), _data_type(document.get("data_type"))
    if document.get("storage_transformers"):
        raise _inexpressible("storage_transformers")
    chain = [codec for codec in map(parse_named, layout.codecs) if codec is not None]
    names = ", ".join(codec.name for codec in chain)
    order = _order(chain.pop(0), len(layout.shape)) if chain[0].name == "transpose" else "C"
    if not chain or chain[0].name != "bytes" or len(chain) > 2:
        raise _inexpressible(f"the codecs {names}; it has transpose, bytes, then one of blosc, gzip and zstd")
    if dtype[0] != "|":
        dtype = _byte_order(chain[0]) + dtype
    return {
        "chunks": list(layout.chunks),
        "compressor": None if len(chain) == 1 else _compressor(chain[1]),
        "dimension_separator": "/",
        "dtype": dtype,
        "fill_value": _fill_value(document.get("fill_value"), dtype),
        "filters": None,
        "order": order,
        "shape": list(layout.shape),
        "zarr_format": 2,
    }


def _order(transpose: NamedExtension, dimensions: int) -> str:
    # Zarr v2, "order": F is the column-major order of the pixels of a chunk.
    order = transpose.configuration.get("order")
    if order == list(range(dimensions)):
        return "C"
    if order != list(reversed(range(dimensions))):
        raise _inexpressible(f"the codec transpose with the order {order!r}, which is not the whole reversal")
    return "F"


def _compressor(codec: NamedExtension) -> Document:
    settings = codec.configuration
    if codec.name in ("gzip", "zstd"):  # the checksum of zstd, if any, is in the frame; readers compare it unasked
        return {"id": codec.name, "level": settings.get("level", 0)}
    if codec.name != "blosc":
        raise _inexpressible(f"the codec {codec.name}; it has blosc, gzip and zstd after bytes")
    shuffle = next((number for number, name in SHUFFLES.items() if name == settings.get("shuffle")), 0)
    kept = {key: settings.get(key, default) for key, default in (("cname", "lz4"), ("clevel", 5), ("blocksize", 0))}
    return {"id": "blosc", **kept, "shuffle": shuffle}


def _data_type(value: Any) -> str:
    """Return the data type, without the byte order of an item of several bytes."""
    named = parse_named(value)
    if named is None or named.name not in _TYPES:
        raise UnsupportedError(
            f"Zarr v2 cannot express the data type {named.name if named else value!r} in a form that all readers have",
            hint="Only numbers and booleans can be shown or written as OME-Zarr 0.4.",
        )
    return _TYPES[named.name]


def _byte_order(serializer: NamedExtension) -> str:
    endian = serializer.configuration.get("endian")
    if endian not in ("little", "big"):
        raise FormatError(f"expected the endian 'little' or 'big' of the codec bytes; found {endian!r}")
    return "<" if endian == "little" else ">"


def _fill_value(value: Any, dtype: str) -> Any:
    """Return a Zarr v3 fill value in the form of v2, which has the same numbers and words, but no hexadecimal text."""
    if isinstance(value, list) and dtype[1] == "c":
        return [_fill_value(part, f"{dtype[0]}f{int(dtype[2:]) // 2}") for part in value]
    if not isinstance(value, str) or not value.startswith("0x"):
        return value
    try:
        (item,) = np.frombuffer(bytes.fromhex(value[2:]), f">{dtype[1:]}").tolist()
        number = float(item)
    except (TypeError, ValueError):
        raise FormatError(f"expected a fill_value of the type {dtype}; found {value!r}") from None
    return number if math.isfinite(number) else without_special_numbers(number)


def _inexpressible(what: str) -> UnsupportedError:
    return UnsupportedError(f"Zarr v2 cannot express {what}", hint=_HINT)

"""Conversion of valid ``zarr.json`` documents to the form that zarr-python can read.

zarr-python refuses much that Zarr core 3.1 allows. Version 3.1.6 refuses any unknown field of a group. All versions up
to 3.4.2 refuse an ``extensions`` array, short-hand names, and codecs that a reader may ignore. zarr-python silently
accepts storage transformers, and returns wrong pixels. ``tests/store/test_normalised.py`` holds the table of this
behaviour.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.codecs import SHARDING, NamedExtension, parse_named
from ozx.zarr.extensions import (
    EXTENSIONS,
    Extension,
    Understands,
    listed_extensions,
    parse_extensions,
    unknown_fields,
)
from ozx.zarr.json_reading import Document, as_object, parse_document
from ozx.zarr.keys import METADATA

#: The extension points that say how chunks are found and decoded; a reader supports certain names at each point.
DECODING_POINTS = frozenset(("codecs", "data_type", "chunk_grid", "chunk_key_encoding"))

# zarr-python writes and reads these without a configuration. Others need one, if only an empty one.
_BARE = frozenset(("bytes", "crc32c", "vlen-bytes", "vlen-utf8", "default", "v2"))

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ROOT = "the root"
_HINT = (
    "Open it with a program that knows this extension; ozx cat and ozx.OzxStore read the stored bytes, and ozx pack "
    "and ozx unpack copy them unchanged."
)
_RECTILINEAR_HINT = (
    "zarr-python 3.2 and later, and so ozx.open, read it after zarr.config.set({'array.rectilinear_chunks': True}). "
    "ozx repack --chunks makes the grid regular; ozx pack and ozx unpack copy it unchanged."
)


def understands_decoding(point: str, value: Any) -> bool:
    """Return whether an extension affects how chunks are decoded, as codecs, data types and chunk grids do."""
    del value
    return point in DECODING_POINTS


def normalise_document(data: bytes, node: str, understands: Understands = understands_decoding) -> bytes:
    """Return an equivalent ``zarr.json`` that zarr-python accepts; `data` itself if zarr-python accepts it.

    Unknown fields, extensions, storage transformers and unknown codecs with ``"must_understand": false`` are dropped.
    Consolidated metadata is dropped if any of its copies would change; the nodes' own documents stay. A short-hand name
    becomes an object; a data type without a configuration becomes its name. Extensions of the node that the reader
    understands are dropped as well: their handlers have read them. Documents with other faults stay unchanged:
    zarr-python refuses them.
    """
    key = f"{node}/{METADATA}" if node else METADATA
    try:
        document = parse_document(data.removeprefix(_BYTE_ORDER_MARK), key)
        normal = _normalise(document, partial(_check, node, understands))
    except RecursionError:
        raise FormatError(f"{key}: expected JSON of limited depth", rule="zarr/json") from None
    # Unchanged parts are shared, so that comparing them costs next to nothing.
    return data if normal == document else json.dumps(normal).encode("ascii")


#: Returns whether a reader understands an extension; raises an error if a reader must, but does not.
_Check = Callable[[Extension], bool]


def _check(node: str, understands: Understands, extension: Extension) -> bool:
    if understands(extension.point, extension.value):
        return True
    if extension.must_understand:
        raise UnsupportedError(
            f"{node or _ROOT}: this reader does not support the {extension.what} {extension.name!r} (zarr.json, "
            f"{extension.pointer}), which a reader must understand to open the node",
            hint=_RECTILINEAR_HINT if extension.name == "rectilinear" else _HINT,
        )
    return False


def _check_required(extensions: Iterable[Extension], check: _Check) -> None:
    """Check the extensions that a reader must understand; the handlers of others are not even loaded."""
    for extension in extensions:
        if extension.must_understand:
            check(extension)


def _normalise(document: Document, check: _Check) -> Document:
    node_type = document.get("node_type")
    if node_type not in ("array", "group"):
        return document
    fields = unknown_fields(document)
    _check_required((*fields, *listed_extensions(document)), check)
    if fields or EXTENSIONS in document:
        dropped = {field.name for field in fields} | {EXTENSIONS}
        document = {name: value for name, value in document.items() if name not in dropped}
    return _normalise_array(document, check) if node_type == "array" else _normalise_group(document, check)


def _normalise_group(document: Document, check: _Check) -> Document:
    copies = document.get("consolidated_metadata")
    if copies is None or _is_clean(copies, check):
        return document
    # Copies only repeat other documents; but consolidated metadata of an unknown kind is a field like any other.
    if as_object(copies).get("kind") != "inline":
        (extension,) = parse_extensions([copies], "fields")
        _check_required([replace(extension, name="consolidated_metadata", pointer="/consolidated_metadata")], check)
    return without_copies(document)


def _is_clean(copies: Any, check: _Check) -> bool:
    """Return whether zarr-python can read this consolidated metadata unchanged."""
    documents = as_object(copies).get("metadata")
    if as_object(copies).get("kind") != "inline" or not isinstance(documents, dict):
        return False
    try:
        return all(isinstance(copy, dict) and _normalise(copy, check) == copy for copy in documents.values())
    except UnsupportedError:
        return False  # a node below is not readable, but this one is


def _normalise_array(document: Document, check: _Check) -> Document:
    normal = dict(document)
    if "storage_transformers" in normal:
        found = parse_extensions(normal["storage_transformers"] or [], "storage_transformers", "/storage_transformers")
        _check_required(found, check)
        if found:
            del normal["storage_transformers"]
    if "data_type" in normal:
        normal["data_type"] = _normalise_data_type(normal["data_type"], check)
    for point in ("chunk_grid", "chunk_key_encoding"):
        if point in normal:
            named = parse_named(normal[point])
            normal[point] = _required(_expand(normal[point], named), named, point, check)
    if "codecs" in normal:
        normal["codecs"] = _normalise_codecs(normal["codecs"], "/codecs", check)
    return normal


def _normalise_data_type(value: Any, check: _Check) -> Any:
    # Zarr core 3.1, "data_type": a core type is its name; zarr-python accepts no object for a core type, and
    # no further members in objects for other types.
    named = parse_named(value)
    if named is not None and isinstance(value, dict):
        value = {"name": named.name, "configuration": named.configuration} if named.configuration else named.name
    return _required(value, named, "data_type", check)


def _normalise_codecs(value: Any, pointer: str, check: _Check) -> Any:
    if not isinstance(value, list):
        return value
    chain = []
    for index, item in enumerate(value):
        named, place = parse_named(item), f"{pointer}/{index}"
        codec = _expand(item, named)
        # Zarr core 3.1, "must_understand": a codec, unlike a data type or a chunk grid, may be ignorable.
        if named is None or check(Extension("codecs", named.name, named.must_understand, codec, place)):
            is_sharding = named is not None and named.name == SHARDING
            chain.append(_normalise_sharding(codec, place, check) if is_sharding else codec)
    return chain


def _normalise_sharding(codec: dict[str, Any], pointer: str, check: _Check) -> dict[str, Any]:
    configuration = as_object(codec.get("configuration"))
    changed = {
        chain: _normalise_codecs(configuration[chain], f"{pointer}/configuration/{chain}", check)
        for chain in ("codecs", "index_codecs")
        if chain in configuration
    }
    return {**codec, "configuration": {**configuration, **changed}}


def _required(value: Any, named: NamedExtension | None, point: str, check: _Check) -> Any:
    """Return the value of an extension point after a check that a reader understands it."""
    if named is not None:
        # Zarr core 3.1: "must_understand=False is not supported" here, so it is ignored.
        check(Extension(point, named.name, must_understand=True, value=value, pointer=f"/{point}"))
    return value


def _expand(value: Any, named: NamedExtension | None) -> Any:
    """Return an extension, parsed as `named`, as an object with the configuration that zarr-python requires.

    Zarr core 3.1, "Extension definition": a name alone means an object without a configuration.
    """
    if named is None or (isinstance(value, dict) and ("configuration" in value or named.name in _BARE)):
        return value
    full = dict(value) if isinstance(value, dict) else {"name": named.name}
    return full if named.name in _BARE else {**full, "configuration": {}}


# Consolidated metadata: a group's ``zarr.json`` contains copies of the metadata of all nodes below the group.
#
# Zarr core 3.1 allows the field ``consolidated_metadata``. zarr-python reads the copies instead of the documents, so
# that wrong copies are worse than no copies.

CONSOLIDATED = "consolidated_metadata"


def without_copies(document: Document) -> Document:
    """Return a group's document without consolidated metadata."""
    return {name: value for name, value in document.items() if name != CONSOLIDATED}


def renew_copies(document: Document, path: str, find: Callable[[str], Document | None]) -> Document:
    """Return a group's document whose consolidated metadata repeats the nodes as they are now."""
    field = as_object(document[CONSOLIDATED])
    copies = {}
    for name, copy in as_object(field.get("metadata")).items():
        found = find(f"{path}/{name}" if path else name)
        if found is not None:
            # zarr-python writes an empty field in the copy of a group.
            empty = {CONSOLIDATED: copy[CONSOLIDATED]} if CONSOLIDATED in as_object(copy) else {}
            copies[name] = without_copies(found) | empty
    return {**document, CONSOLIDATED: {**field, "metadata": copies}} if copies else without_copies(document)


def say_the_same(copy: Any, document: Any) -> bool:
    """Return whether two documents are equal, apart from empty fields, which some writers omit.

    Examples
    --------
    >>> say_the_same({"node_type": "group"}, {"node_type": "group", "attributes": {}})
    True
    """
    return _content(copy) == _content(document)


def is_stale(document: Document, paths: Collection[str], read: Callable[[str], Document]) -> bool:
    """Return whether a group's consolidated metadata differs from the nodes at `paths`."""
    if document.get(CONSOLIDATED) is None:
        return False
    copies = as_object(as_object(document[CONSOLIDATED]).get("metadata"))
    return copies.keys() != set(paths) or not all(say_the_same(copies[path], read(path)) for path in paths)


def _content(document: Any) -> dict[str, Any]:
    """Return the non-empty fields of a document, without consolidated metadata, which is compared separately."""
    return {name: value for name, value in without_copies(as_object(document)).items() if value not in ({}, [], None)}

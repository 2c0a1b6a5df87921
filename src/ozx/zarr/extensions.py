"""Extensions in a Zarr v3 document: codecs, data types, fields and other items, and which of them ozx understands."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ozx.errors import UnsupportedError
from ozx.zarr.codecs import SHARDING, parse_named
from ozx.zarr.json_reading import Document, as_list, as_object

# Kinds of Zarr extension names: registered names, unregistered names and URIs (Zarr core 3.1, ZEP 9).

#: ``raw``: as in Zarr core 3.1; ``loose``: allowed by ZEP 9 only; ``uri``: the form before 3.1; ``none``: any other.
NameKind = Literal["raw", "loose", "uri", "none"]

# Zarr core 3.1, "Extension naming"; ZEP 9 (draft of 2025-01-21), "Extension naming".
_RAW = re.compile(r"[a-z][a-z0-9\-_.]+")
_LOOSE = re.compile(r"[a-z0-9\-_.]+")
_HTTP = re.compile(r"https?://[^/?#]+[^?#]*")
# Before 3.1 a name had to be a URI, whatever its scheme: RFC 3986, 3.1.
_URI = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:\S+")
# "r followed by the number of bits" is a family of names.
_RAW_BITS = re.compile(r"r[0-9]+")


def name_kind(name: str) -> NameKind:
    """Return the kind of an extension's name: registered, unregistered or URI."""
    if _RAW.fullmatch(name):
        return "raw"
    if _LOOSE.fullmatch(name):
        return "loose"
    return "uri" if _HTTP.fullmatch(name) or _URI.fullmatch(name) else "none"


def is_listed(point: str, name: str) -> bool:
    """Return whether a name is part of the Zarr core or is registered for an extension point.

    Examples
    --------
    >>> is_listed("codecs", "zstd"), is_listed("codecs", "numcodecs.bz2"), is_listed("data_type", "r16")
    (True, False, True)
    """
    return name in _names(point) or (point == "data_type" and _RAW_BITS.fullmatch(name) is not None)


def registry_date() -> str:
    """Return the month in which the list of registered names was copied."""
    return str(_registry()["date"])


@functools.cache
def _names(point: str) -> frozenset[str]:
    return frozenset(_registry().get(point, ()))


@functools.cache
def _registry() -> dict[str, Any]:
    # importlib.resources would load zipfile, which takes as long as all the rest of `ozx info`.
    with open(os.path.join(os.path.dirname(__file__), "registered_names.json"), encoding="utf-8") as file:
        registry: dict[str, Any] = json.load(file)
    return registry


#: The field of ZEP 10 (draft of 2025-05-12) that lists extensions of a node.
EXTENSIONS = "extensions"

#: The fields of Zarr core 3.1 ("Array metadata", "Group metadata"). ``consolidated_metadata`` is no part of it, but
#: zarr-python writes it into groups, and every reader knows it.
CORE_FIELDS = {
    "array": frozenset(
        (
            "zarr_format",
            "node_type",
            "shape",
            "data_type",
            "chunk_grid",
            "chunk_key_encoding",
            "fill_value",
            "codecs",
            "attributes",
            "storage_transformers",
            "dimension_names",
        )
    ),
    "group": frozenset(("zarr_format", "node_type", "attributes", "consolidated_metadata")),
}

_WORDS = {
    EXTENSIONS: "extension",
    "fields": "unknown field",
    "codecs": "codec",
    "data_type": "data type",
    "chunk_grid": "chunk grid",
    "chunk_key_encoding": "chunk key encoding",
    "storage_transformers": "storage transformer",
}


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension of Zarr; readers must understand it unless the document says otherwise."""

    # The extension point: ``extensions``, ``codecs``, ``storage_transformers``, …; ``fields`` for a field of the
    # document that the core does not define.
    point: str
    name: str
    # Whether a reader that does not understand it has to refuse the node.
    must_understand: bool
    value: Any
    # JSON pointer (RFC 6901) to it.
    pointer: str

    @property
    def what(self) -> str:
        """Name of the extension point in messages, for example ``codec`` or ``data type``."""
        return _WORDS[self.point]

    @property
    def configuration(self) -> dict[str, Any]:
        """Settings of the extension."""
        return as_object(as_object(self.value).get("configuration"))


def parse_extensions(value: Any, point: str = EXTENSIONS, pointer: str = "/extensions") -> tuple[Extension, ...]:
    """Return the extensions in an array of names and objects at a JSON pointer; never raises an error.

    A value that is no array, or an item without a name, becomes one extension without a name, which no reader
    understands. For an empty array the result is empty, although ZEP 10 asks writers to omit an empty field.
    """
    if not isinstance(value, list):
        return (Extension(point, "", _is_required(value), value, pointer),)
    return tuple(_parse_item(item, point, f"{pointer}/{index}") for index, item in enumerate(value))


def array_extensions(document: dict[str, Any]) -> list[Extension]:
    """Return all extensions of an array, including codecs inside of shards; never raises an error.

    Examples
    --------
    >>> found = array_extensions({"data_type": "uint8", "codecs": ["bytes", {"name": "crc32c"}]})
    >>> [(extension.point, extension.name, extension.pointer) for extension in found]
    [('data_type', 'uint8', '/data_type'), ('codecs', 'bytes', '/codecs/0'), ('codecs', 'crc32c', '/codecs/1')]
    """
    transformers = document.get("storage_transformers") or []
    found = list(parse_extensions(transformers, "storage_transformers", "/storage_transformers"))
    for point in ("data_type", "chunk_grid", "chunk_key_encoding"):
        if point in document:
            (extension,) = parse_extensions([document[point]], point)
            found.append(replace(extension, pointer=f"/{point}"))
    return found + _codecs(document.get("codecs"), "/codecs")


def listed_extensions(document: dict[str, Any]) -> list[Extension]:
    """Return the extensions in the field of ZEP 10; never raises an error."""
    return list(parse_extensions(document[EXTENSIONS])) if EXTENSIONS in document else []


def declared_extensions(document: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of extensions in a ``zarr.json`` that are neither part of the core nor registered."""
    found = array_extensions(document) if document.get("node_type") == "array" else []
    found += listed_extensions(document)
    names = (extension.name for extension in found if not is_listed(extension.point, extension.name))
    return tuple(dict.fromkeys(filter(None, names)))


def unknown_fields(document: dict[str, Any]) -> tuple[Extension, ...]:
    """Return the fields of a ``zarr.json`` that are defined neither in the core nor in ZEP 10.

    Zarr core 3.1, "must_understand": a reader fails on them unless they are objects with ``"must_understand": false``.
    """
    known = CORE_FIELDS.get(str(document.get("node_type")))
    if known is None or document.keys() <= known:
        return ()
    return tuple(
        Extension("fields", name, _is_required(value), value, "/" + name.replace("~", "~0").replace("/", "~1"))
        for name, value in document.items()
        if name not in known and name != EXTENSIONS
    )


def _codecs(value: Any, pointer: str) -> list[Extension]:
    found = list(parse_extensions(value, "codecs", pointer)) if isinstance(value, list) else []
    for index, codec in enumerate(as_list(value)):
        named = parse_named(codec)
        if named is not None and named.name == SHARDING:
            for chain in ("codecs", "index_codecs"):
                found += _codecs(named.configuration.get(chain), f"{pointer}/{index}/configuration/{chain}")
    return found


def _parse_item(value: Any, point: str, pointer: str) -> Extension:
    # Zarr core 3.1, "Extension definition", also used by ZEP 10: a name, or an object with one; only an object with an
    # explicit false may be ignored.
    named = parse_named(value)
    if named is None:
        return Extension(point, "", _is_required(value), value, pointer)
    return Extension(point, named.name, named.must_understand, value, pointer)


def _is_required(value: Any) -> bool:
    return as_object(value).get("must_understand") is not False


# Whether ozx supports every extension that can affect the position of chunks, which is checked before chunks are moved.
#
# Packing bytes is always safe. Chunks can only be laid out in another way if their positions depend on nothing but
# the array's own grid.

#: Function that tells whether a reader understands an extension, given the extension point and value in normal form.
Understands = Callable[[str, Any], bool]

# The names of Zarr core 3.1, and names that zarr-developers/zarr-extensions registers and other programs read.
_REGISTERED = {
    "codecs": frozenset(
        ("blosc", "bytes", "crc32c", "gzip", "sharding_indexed", "transpose", "vlen-bytes", "vlen-utf8", "zstd")
    ),
    "data_type": frozenset(
        (
            "bool",
            *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
            *("float16", "float32", "float64", "complex64", "complex128"),
            *("string", "bytes", "fixed_length_utf32", "numpy.datetime64", "numpy.timedelta64"),
        )
    ),
    "chunk_grid": frozenset(["regular"]),
    "chunk_key_encoding": frozenset(["default", "v2"]),
}
_SOME_BITS = re.compile(r"r[1-9][0-9]*")

_HINT = "Keep the present chunks: ozx pack and ozx unpack copy them unchanged."


def is_registered(point: str, value: Any) -> bool:
    """Return whether a codec, data type, chunk grid or chunk key encoding is in the Zarr core or registered."""
    named = parse_named(value)
    if named is None:
        return False
    if point == "data_type" and _SOME_BITS.fullmatch(named.name):
        return True
    return named.name in _REGISTERED.get(point, ())


def check_understood(document: Document, node: str, understands: Understands = is_registered) -> None:
    """Raise an error if the document contains an unknown extension that can affect the position of chunks."""
    # Zarr core 3.1, "must_understand"; ZEP 10 (draft of 2025-05-12) for `extensions`.
    found = [*unknown_fields(document), *listed_extensions(document)]
    if document.get("node_type") == "array":
        found += array_extensions(document)
    for extension in found:
        is_optional = not extension.must_understand and extension.point in ("extensions", "fields", "codecs")
        if not is_optional and not understands(extension.point, extension.value):
            raise UnsupportedError(
                f"{node or 'the root'}: ozx does not support the {extension.what} {extension.name!r} (zarr.json, "
                f"{extension.pointer}), so it cannot move the chunks",
                hint=_HINT,
            )

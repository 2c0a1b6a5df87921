"""Check that ozx supports every extension that can affect the position of chunks, before chunks are moved.

Packing bytes is always safe. Chunks can only be laid out in another way if their positions depend on nothing but
the array's own grid.
"""

from __future__ import annotations

import re
from typing import Any

from ozx.errors import UnsupportedError
from ozx.hierarchy.json.reading import Document
from ozx.hierarchy.zarr.codecs import parse_named
from ozx.hierarchy.zarr.extensions import EXTENSIONS, array_extensions, parse_extensions, unknown_fields
from ozx.hierarchy.zarr.normalisation import Understands

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
_RAW_BITS = re.compile(r"r[1-9][0-9]*")

_HINT = "Keep the present chunks: ozx pack and ozx unpack copy them unchanged."


def is_registered(point: str, value: Any) -> bool:
    """Return whether a codec, data type, chunk grid or chunk key encoding is in the Zarr core or registered."""
    named = parse_named(value)
    if named is None:
        return False
    if point == "data_type" and _RAW_BITS.fullmatch(named.name):
        return True
    return named.name in _REGISTERED.get(point, ())


def check_understood(document: Document, node: str, understands: Understands = is_registered) -> None:
    """Raise an error if the document contains an unknown extension that can affect the position of chunks."""
    # Zarr core 3.1, "must_understand"; ZEP 10 (draft of 2025-05-12) for `extensions`.
    found = list(unknown_fields(document))
    if EXTENSIONS in document:
        found += parse_extensions(document[EXTENSIONS])
    if document.get("node_type") == "array":
        found += array_extensions(document)
    for extension in found:
        is_optional = not extension.must_understand and extension.point in ("extensions", "fields", "codecs")
        if not is_optional and not understands(extension.point, extension.value):
            raise UnsupportedError(
                f"{node or 'the root'}: expected chunks that may be moved; found the {extension.what} "
                f"{extension.name!r} (zarr.json, {extension.pointer}), which ozx does not support",
                hint=_HINT,
            )

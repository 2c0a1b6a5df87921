"""Cases of the rules about stored values, which only ``validate --level data`` checks."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import google_crc32c

from .archive_builder import INDEX, ArchiveBuilder, array_document, group, sharding
from .case import Case

_BYTES = {"name": "bytes"}
_GZIP = {"name": "gzip", "configuration": {"level": 5}}
_EMPTY = (1 << 64) - 1


def _array(
    codecs: Sequence[Any] = (_BYTES,), *, shape: Sequence[int] = (8,), chunks: Sequence[int] = (4,), **fields: Any
) -> dict[str, Any]:
    return array_document(shape, chunks, codecs, **fields)


def _sharded(inner: int = 2, codecs: Sequence[Any] = (_BYTES,), **settings: Any) -> dict[str, Any]:
    return _array([sharding([inner], codecs, **settings)])


def _crc(data: bytes) -> bytes:
    return data + int(google_crc32c.value(data)).to_bytes(4, "little")


def _shard(*spans: tuple[int, int], data: bytes = b"abcd", is_damaged: bool = False) -> bytes:
    """Return the bytes of a shard: data, then its index of (offset, length) pairs."""
    shard = data + _crc(b"".join(struct.pack("<2Q", *span) for span in spans))
    return shard[:-4] + b"\1\0\0\0" if is_damaged else shard


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 5, mtime=0)


def _case(
    rule: str, name: str, values: Mapping[str, bytes], found: str = "", document: Mapping[str, Any] | None = None
) -> Case:
    def make() -> ArchiveBuilder:
        builder = ArchiveBuilder().add("zarr.json", group())
        builder.add("0/zarr.json", json.dumps(_array() if document is None else document).encode())
        for key, value in values.items():
            builder.add(f"0/{key}", value)
        return builder

    return Case(rule, name, make, found, level="data")


_SHARDED = _sharded()
_NESTED = _sharded(2, _sharded(1)["codecs"])
_ZIPPED = _array([_BYTES, _GZIP])
_CHECKED = _array([_BYTES, {"name": "crc32c"}])
_UNKNOWN = _array([_BYTES, {"name": "https://example.com/pack"}])
_NEEDED = _array(extensions=["example.a"])
_IGNORABLE = _array(extensions=[{"name": "example.a", "must_understand": False}])
_HUGE = _array(shape=(3 << 30,), chunks=(3 << 30,))
# A shard within a shard has a wrong checksum.
_INSIDE = _shard((0, 1), (1, 1), data=b"ab", is_damaged=True)
_DAMAGED_INSIDE = _shard((0, len(_INSIDE)), (_EMPTY, _EMPTY), data=_INSIDE)

DATA_CASES = (
    _case(
        "zarr/chunk-key", "past the array's end", {"c/0": b"abcd", "c/2": b"abcd"}, "zarr/chunk-key rfc9/sharding=note"
    ),
    _case(
        "zarr/chunk-key",
        "another separator in the key of one chunk",
        {"c/0": b"abcd", "c.1": b"abcd"},
        "zarr/chunk-key rfc9/sharding=note",
    ),
    _case("zarr/chunk-key", "a leading zero", {"c/0": b"abcd", "c/01": b"abcd"}, "zarr/chunk-key rfc9/sharding=note"),
    _case(
        "zarr/chunk-key",
        "another separator in the keys of all chunks",
        {"c.0": b"abcd", "c.1": b"abcd"},
        "zarr/chunk-key=error rfc9/sharding=note",
    ),
    _case("zarr/chunk-key", "another number of dimensions", {"c/0/0": b"abcd"}, "zarr/chunk-key=error"),
    _case("zarr/chunk-key", "the last chunk of the grid", {"c/0": b"abcd", "c/1": b"abcd"}, "rfc9/sharding=note"),
    _case("zarr/chunk-key", "a file that is no chunk", {"c/0": b"abcd", "notes.txt": b"x"}, "rfc9/sharding=note"),
    _case("zarr/chunk-key", "no chunk at all", {}),
    _case(
        "zarr/shard-index",
        "a wrong checksum",
        {"c/0": _shard((0, 2), (2, 2), is_damaged=True)},
        "zarr/shard-index",
        _sharded(),
    ),
    _case("zarr/shard-index", "too short for an index", {"c/0": b"abcd"}, "zarr/shard-index", _SHARDED),
    _case(
        "zarr/shard-index",
        "an inner chunk beyond the shard",
        {"c/0": _shard((0, 2), (99, 2))},
        "zarr/shard-index",
        _SHARDED,
    ),
    _case(
        "zarr/shard-index",
        "an inner chunk that reaches into the index",
        {"c/0": _shard((0, 2), (3, 2))},
        "zarr/shard-index",
        _SHARDED,
    ),
    _case(
        "zarr/shard-index",
        "two inner chunks that overlap by half",
        {"c/0": _shard((0, 2), (1, 2))},
        "zarr/shard-index",
        _SHARDED,
    ),
    _case(
        "zarr/shard-index", "an inner chunk of length 0", {"c/0": _shard((0, 0), (2, 2))}, "zarr/shard-index", _SHARDED
    ),
    _case("zarr/shard-index", "a damaged shard inside a shard", {"c/0": _DAMAGED_INSIDE}, "zarr/shard-index", _NESTED),
    _case(
        "zarr/shard-index",
        "inner chunks in any order, with a gap",
        {"c/0": _shard((3, 2), (0, 2), data=b"ab?cd")},
        "",
        _SHARDED,
    ),
    _case("zarr/shard-index", "the same bytes for both inner chunks", {"c/0": _shard((0, 2), (0, 2))}, "", _SHARDED),
    _case("zarr/shard-index", "an empty inner chunk", {"c/0": _shard((_EMPTY, _EMPTY), (2, 2))}, "", _SHARDED),
    _case(
        "zarr/shard-index",
        "an index without the checksum codec",
        {"c/0": _shard((0, 2), (2, 2))[:-4]},
        "",
        _sharded(index_codecs=INDEX[:1]),
    ),
    _case("zarr/chunk-data", "one byte too few", {"c/0": b"abc"}, "zarr/chunk-data"),
    _case("zarr/chunk-data", "one byte too many", {"c/0": b"abcde"}, "zarr/chunk-data"),
    _case("zarr/chunk-data", "no bytes", {"c/0": b""}, "zarr/chunk-data"),
    _case("zarr/chunk-data", "half of a gzip stream", {"c/0": _gzip(b"abcd")[:-9]}, "zarr/chunk-data", _ZIPPED),
    _case("zarr/chunk-data", "no gzip stream", {"c/0": b"abcd"}, "zarr/chunk-data", _ZIPPED),
    _case(
        "zarr/chunk-data",
        "a gzip stream of 8 bytes instead of 4",
        {"c/0": _gzip(b"abcdefgh")},
        "zarr/chunk-data",
        _ZIPPED,
    ),
    _case("zarr/chunk-data", "a wrong CRC-32C", {"c/0": b"abcd1234"}, "zarr/chunk-data", _CHECKED),
    _case(
        "zarr/chunk-data", "an inner chunk of one byte", {"c/0": _shard((0, 2), (2, 1))}, "zarr/chunk-data", _SHARDED
    ),
    _case("zarr/chunk-data", "four bytes", {"c/0": b"abcd"}),
    _case("zarr/chunk-data", "a gzip stream", {"c/0": _gzip(b"abcd")}, "", _ZIPPED),
    _case("zarr/chunk-data", "a CRC-32C", {"c/0": _crc(b"abcd")}, "", _CHECKED),
    _case("zarr/chunk-data", "inner chunks", {"c/0": _shard((0, 2), (2, 2))}, "", _SHARDED),
    _case("zarr/chunk-data", "past the array's edge", {"c/1": b"abcd"}, "", _array(shape=(5,))),
    _case("zarr/chunk-data", "no dimensions", {"c": b"a"}, "", _array(shape=(), chunks=())),
    _case("zarr/not-decoded", "an unknown codec", {"c/0": b"?"}, "zarr/not-decoded zarr/extension-name=note", _UNKNOWN),
    _case(
        "zarr/not-decoded",
        "an extension that is not understood",
        {"c/0": b"?"},
        "zarr/not-decoded zarr/extension-not-understood zarr/extension-unregistered=note",
        _NEEDED,
    ),
    _case(
        "zarr/not-decoded",
        "chunks of no known shape",
        {"c/0": b"?"},
        "zarr/not-decoded zarr/chunk-grid",
        _array(chunks=(4, 4)),
    ),
    _case("zarr/not-decoded", "chunks of 3 GiB", {"c/0": b"?"}, "zarr/not-decoded", _HUGE),
    _case(
        "zarr/not-decoded",
        "an extension that may be ignored",
        {"c/0": b"abcd"},
        "zarr/reader-refuses zarr/extension-unregistered=note",
        _IGNORABLE,
    ),
)

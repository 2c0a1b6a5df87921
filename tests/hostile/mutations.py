"""Random damage to archives and random changes to metadata documents; the same seed makes the same mutations.

tests/changed_documents.py draws documents with Hypothesis.
"""

import json
import random
from collections.abc import Sequence
from typing import Any

#: Numbers at which widths, signs and placeholders end, and sizes of records.
NUMBERS = (0, 1, 2, 3, 22, 46, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
NUMBERS += (1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1)
SIGNATURES = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x07\x08")
LENGTHS = (1, 2, 4, 12, 20, 22, 30, 46, 56, 76, 200, 1000)
NODE_NAMES = ("zarr_format", "node_type", "attributes", "consolidated_metadata", "extensions", "must_understand")
ARRAY_NAMES = ("shape", "data_type", "chunk_grid", "chunk_shape", "codecs", "fill_value", "storage_transformers")
ARRAY_NAMES += ("dimension_names", "name", "configuration")
OME_NAMES = ("ome", "version", "multiscales", "datasets", "axes", "path", "coordinateTransformations", "scale", "omero")
OME_NAMES += ("channels", "plate", "wells", "labels")
NAMES = (*NODE_NAMES, *ARRAY_NAMES, *OME_NAMES, "\ud800", "x")
#: Values that metadata should not have.
SCALARS = (None, True, False, 0, -0.0, 1, -1, 3, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400)
SCALARS += (0.5, -0.5, 1e308, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", " ", "\0", "0", "3", "NaN", "0x7fc00000", "default", "bytes", "uint8", "\ud800", "a\udfff", "é", "e\u0301")
TEXTS += ("a/b", "..", "../..", "/", ".", "__zarr", "zarr.json", "https://example.org/x")
CONTAINERS = ([], {}, [[]], [{}], {"": None}, [None], [0], [-1], [1.5], ["0"], [2**63], ["a", "a"], list(NAMES[:3]))
CONTAINERS += ({"name": 7}, {"name": "x"}, {"must_understand": False})
CONTAINERS += ({"name": "sharding_indexed", "configuration": {}},)


def mutate_bytes(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Return `data` with one to four damages, half of them at records of a ZIP file; some insert pieces of `other`."""
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        data = rng.choice(_DAMAGES)(data, rng, other)
    return data


def _place(data: bytes, rng: random.Random) -> int:
    """Return an offset in `data`, or its length."""
    at = rng.randrange(len(data) + 1)
    if rng.random() < 0.5:
        found = data.find(rng.choice(SIGNATURES), at)
        if found >= 0:
            return min(len(data), found + rng.randrange(60))
    return at


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = _place(data, rng)
    return start, min(len(data), start + rng.choice(LENGTHS))


def _flip(data: bytes, rng: random.Random, _: bytes) -> bytes:
    at = _place(data, rng)
    if at == len(data):
        return data
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _number(data: bytes, rng: random.Random, _: bytes) -> bytes:
    width, at = rng.choice((1, 2, 4, 8)), _place(data, rng)
    old = int.from_bytes(data[at : at + width], "little")
    value = rng.choice((*NUMBERS, len(data), old + 1, old - 1, rng.randrange(len(data) + 1))) % (1 << 8 * width)
    return data[:at] + value.to_bytes(width, "little") + data[at + width :]


def _signature(data: bytes, rng: random.Random, _: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.choice(SIGNATURES) + data[at + rng.choice((0, 4)) :]


def _cut(data: bytes, rng: random.Random, _: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] if rng.random() < 0.5 else data[at:]


def _remove(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def _double(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, stop = _span(data, rng)
    return data[:stop] + data[start:]


def _move(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, stop = _span(data, rng)
    rest = data[:start] + data[stop:]
    at = _place(rest, rng)
    return rest[:at] + data[start:stop] + rest[at:]


def _splice(data: bytes, rng: random.Random, other: bytes) -> bytes:
    start, stop = _span(other, rng)
    at, width = _place(data, rng), rng.choice((0, stop - start))
    return data[:at] + other[start:stop] + data[at + width :]


_DAMAGES = (_flip, _flip, _number, _number, _number, _number, _signature, _cut, _remove, _double, _move, _splice)


def mutate_document(document: Any, rng: random.Random, others: Sequence[Any] = (), *, huge: bool = False) -> Any:
    """Return a copy of a JSON value with one to four changes anywhere in it, some of them by values of `others`.

    With `huge`, values may have megabytes, thousands of levels or thousands of digits. `to_text` writes them;
    `json.dumps` cannot.
    """
    root = [json.loads(json.dumps(document))]
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        _change(*rng.choice(_places(root)), rng, others, huge=huge)
    return root[0]


def _places(root: list[Any]) -> list[tuple[Any, Any]]:
    """Return each container with each of its keys."""
    places, containers = [], [root]
    while containers:
        container = containers.pop()
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in items:
            places.append((container, key))
            if isinstance(value, dict | list):
                containers.append(value)
    return places


def _change(container: Any, key: Any, rng: random.Random, others: Sequence[Any], *, huge: bool) -> None:
    """Remove, rename, repeat or replace one value; a list keeps at least one value."""
    value, is_object = container[key], isinstance(container, dict)
    chosen = rng.random()
    if chosen < 0.15 and (is_object or len(container) > 1):
        del container[key]
    elif chosen < 0.3 and is_object:
        container[rng.choice(NAMES)] = value
    elif chosen < 0.3 and len(container) > 1:
        container[key:key] = [value] * rng.choice((1, 2, 100))
    elif chosen < 0.45:
        container[key] = rng.choice(([value], {"name": value}, {rng.choice(NAMES): value}))
    elif chosen < 0.55 and others:
        other, name = rng.choice(_places([rng.choice(others)]))
        container[key] = json.loads(json.dumps(other[name]))
    elif chosen < 0.65 and isinstance(value, str):
        container[key] = value[: rng.randrange(len(value) + 1)] + rng.choice(("", "/", "..", "0", "é", "\0"))
    elif chosen < 0.65 and isinstance(value, int):
        container[key] = rng.choice((-value, value + 1, value * 2**31))
    else:
        container[key] = (_huge(rng) if huge else None) or _odd(rng)


def _odd(rng: random.Random) -> Any:
    """Return a value that metadata should not have, as a copy, which later changes may change."""
    return json.loads(json.dumps(rng.choice((*SCALARS, *TEXTS, *CONTAINERS))))


def _huge(rng: random.Random) -> Any:
    """Return, rarely, a deep value or many digits; more rarely, a value of megabytes; otherwise None."""
    chosen = rng.random()
    if chosen < 0.001:
        return rng.choice(("x" * 10_000_000, ["y"] * 100_000, {f"n{number}": 0 for number in range(20_000)}))
    if chosen < 0.02:
        opening, closing = rng.choice((("[", "]"), ('{"a":', "}"), ('[{"name":', "}]")))
        depth = rng.choice((100, 1000, 50_000))
        return Text(opening * depth + "1" + closing * depth)
    return Text("9" * 5000) if chosen < 0.03 else None


class Text(str):
    """JSON text that `to_text` writes unchanged."""

    __slots__ = ()


def to_text(value: Any, rng: random.Random) -> str:
    """Return JSON text, in which a name sometimes occurs twice."""
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, dict):
        items = [(json.dumps(key), to_text(item, rng)) for key, item in value.items()]
        if items and rng.random() < 0.01:
            items.insert(rng.randrange(len(items) + 1), (rng.choice(items)[0], to_text(_odd(rng), rng)))
        return "{" + ", ".join(f"{key}: {item}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(to_text(item, rng) for item in value) + "]"
    return json.dumps(value)

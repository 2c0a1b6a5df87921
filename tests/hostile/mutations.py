"""Small damages to archives and documents, made by a random generator: the same seed makes the same ones."""

from __future__ import annotations

import json
import random
from typing import Any

#: Numbers at which widths, signs and placeholders end.
EXTREMES = (0, 1, 22, 46, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
SIGNATURES = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x07\x08")
SCALARS = (None, True, False, 0, -1, 1, 2**31, 2**53, 2**64, -0.5, 1e400, float("nan"), "", "0", "a/b", "..", "\ud800")
NAMES = (
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_shape",
    "codecs",
    "fill_value",
    "attributes",
    "ome",
    "version",
    "multiscales",
    "datasets",
    "axes",
    "path",
    "coordinateTransformations",
    "scale",
    "omero",
    "channels",
    "plate",
    "wells",
    "labels",
    "consolidated_metadata",
    "extensions",
    "storage_transformers",
    "dimension_names",
    "must_understand",
    "configuration",
    "name",
)


def mutate_bytes(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Return `data` with one to four damages; some put in pieces of `other`."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(_DAMAGES)(data, rng, other)
    return data


def _flip(data: bytes, rng: random.Random, _: bytes) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _number(data: bytes, rng: random.Random, _: bytes) -> bytes:
    width = rng.choice((1, 2, 4, 8))
    if len(data) < width:
        return data
    at = rng.randrange(len(data) - width + 1)
    old = int.from_bytes(data[at : at + width], "little")
    value = rng.choice((*EXTREMES, len(data), old + 1, old - 1)) % (1 << 8 * width)
    return data[:at] + value.to_bytes(width, "little") + data[at + width :]


def _signature(data: bytes, rng: random.Random, _: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(SIGNATURES) + data[at + rng.choice((0, 4)) :]


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 4, 12, 20, 22, 30, 46, 56, 200)))


def _cut(data: bytes, rng: random.Random, _: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.5 else data[rng.randrange(len(data) + 1) :]


def _remove(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _double(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, end = _span(data, rng)
    return data[:end] + data[start:]


def _move(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, end = _span(data, rng)
    rest = data[:start] + data[end:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + data[start:end] + rest[at:]


def _splice(data: bytes, rng: random.Random, other: bytes) -> bytes:
    start, end = _span(other, rng)
    at, width = rng.randrange(len(data) + 1), rng.choice((0, end - start))
    return data[:at] + other[start:end] + data[at + width :]


_DAMAGES = (_flip, _flip, _number, _number, _number, _signature, _cut, _remove, _double, _move, _splice)


def mutate_document(document: Any, rng: random.Random) -> Any:
    """Return a JSON value with one to four changes anywhere in it; the argument is not changed."""
    document = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 2, 4))):
        document = _changed(document, rng)
    return document


def _changed(value: Any, rng: random.Random) -> Any:
    """Change this value, or one inside of it."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        if rng.random() < 0.15:
            del value[key]
        elif rng.random() < 0.1:
            value[rng.choice(NAMES)] = value[key]
        else:
            value[key] = _changed(value[key], rng)
        return value
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            del value[at]
        elif rng.random() < 0.15:
            value.insert(at, value[at])
        else:
            value[at] = _changed(value[at], rng)
        return value
    return _other(value, rng)


def _other(value: Any, rng: random.Random) -> Any:
    """Return something of another kind, or of the same kind and another value."""
    chosen = rng.randrange(5)
    if chosen == 0:
        return [value]
    if chosen == 1:
        return {rng.choice(NAMES): value}
    if chosen == 2 and isinstance(value, str):
        return value[: rng.randrange(len(value) + 1)] + rng.choice(("", "/", "..", "0", "é", "\0"))
    if chosen == 3 and isinstance(value, int):
        return rng.choice((-value, value + 1, value * 2**31, float(value)))
    return rng.choice((*SCALARS, [], {}, list(NAMES[:3])))

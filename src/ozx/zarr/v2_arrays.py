"""Conversion of a Zarr v2 array's metadata to v3: ``.zarray`` and ``.zattrs`` become one ``zarr.json``.

Only forms of Zarr v3 that all readers accept are written: all names are full objects, every setting is given.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.array import ChunkKeys
from ozx.zarr.codecs import blosc_codec
from ozx.zarr.json_reading import Document, as_lengths, as_object, as_text
from ozx.zarr.layout import ArrayLayout, check_chunk_count
from ozx.zarr.v2_documents import UpgradedDataType, parse_v2_array, portable_attributes, upgrade_data_type

# The chunk layout of a Zarr v2 array: each chunk is one stored value.


def parse_v2_layout(document: dict[str, Any], node: str) -> ArrayLayout:
    """Return the chunk layout of an array from its ``.zarray``, without its codecs."""
    array = parse_v2_array(document)
    if array.shape is None or array.chunks is None or len(array.shape) != len(array.chunks):
        raise FormatError(f"{node or 'the root'}: expected a .zarray; {', '.join(array.problems)}")
    separator = document.get("dimension_separator", ".")
    if separator not in (".", "/"):
        raise FormatError(f"{node or 'the root'}: expected dimension_separator . or /; found {separator!r}")
    chunks = tuple(max(1, length) for length in array.chunks)  # an empty array has no chunks at all
    check_chunk_count(array.shape, chunks, node or "the root")
    return ArrayLayout(
        shape=array.shape,
        chunks=chunks,
        levels=(),
        codecs=(),
        keys=ChunkKeys("v2", separator),
        item_size=array.item_size,
        dimension_names=(None,) * len(array.shape),
    )


# Conversion of Zarr v2 fill values, as in OME-Zarr 0.4, to Zarr v3.

# The one NaN that Zarr core 3.1, "Permitted fill values", calls "NaN".
_NAN = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}
_NOT_A_TIME = -(1 << 63)
_DECIMAL = re.compile(r"[+-]?\d{1,20}")


def upgrade_fill_value(value: Any, dtype: UpgradedDataType) -> Any:
    """Return a Zarr v2 ``fill_value`` in the form that Zarr v3 requires for the data type.

    Numbers stay as written (0.1 of a float32 stays 0.1); null becomes zero. A number beyond the range of a floating
    point type becomes infinity, as in readers of v2.
    """
    return _FILLS[dtype.kind](0 if value is None and dtype.kind != "U" else value, dtype)


def _boolean(value: Any, dtype: UpgradedDataType) -> bool:
    if not isinstance(value, int | float) or value not in (0, 1):
        raise _no_value(value, dtype)
    return bool(value)


def _integer(value: Any, dtype: UpgradedDataType) -> int:
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not is_whole and not (isinstance(value, str) and _DECIMAL.fullmatch(value)):
        raise _no_value(value, dtype)
    number = int(value)
    bits = 8 * dtype.item_size
    lowest, highest = (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    if not lowest <= number <= highest:
        raise FormatError(f"expected a fill_value from {lowest} to {highest} ({_name(dtype)}); found {value!r}")
    return number


def _time(value: Any, dtype: UpgradedDataType) -> int:
    # An integer, as zarr-python writes it, though the registry allows "NaT", too.
    return _NOT_A_TIME if value == "NaT" else _integer(value, dtype)


def _float(value: Any, dtype: UpgradedDataType) -> float | str:
    raw = _raw(value, dtype)
    return _exact(raw) if raw is not None else _rounded(value, dtype, dtype.item_size)


def _complex(value: Any, dtype: UpgradedDataType) -> list[float | str]:
    raw = _raw(value, dtype)
    if raw is not None:
        return [_exact(raw.real), _exact(raw.imag)]
    parts = value if isinstance(value, list) and len(value) == 2 else (value, 0)
    return [_rounded(part, dtype, dtype.item_size // 2) for part in parts]


def _text(value: Any, dtype: UpgradedDataType) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or 4 * len(value) > dtype.item_size:
        raise _no_value(value, dtype)
    return value


_FILLS: dict[str, Callable[[Any, UpgradedDataType], Any]] = {
    "b": _boolean,
    "i": _integer,
    "u": _integer,
    "f": _float,
    "c": _complex,
    "U": _text,
    "M": _time,
    "m": _time,
}


def _rounded(value: Any, dtype: UpgradedDataType, size: int) -> float | str:
    """Return a JSON number or numeric text as a floating-point number, rounded to `size` bytes."""
    if not isinstance(value, int | float | str):
        raise _no_value(value, dtype)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _no_value(value, dtype) from None
    with np.errstate(over="ignore"):
        stored = float(np.float64(number).astype(f"f{size}"))
    return number if math.isfinite(stored) else _special(stored)


def _exact(number: Any) -> float | str:
    """Return a numpy number as a JSON value without any loss of bits."""
    if not np.isnan(number):
        return float(number) if np.isfinite(number) else _special(float(number))
    size = number.dtype.itemsize
    bits = int.from_bytes(number.tobytes(), sys.byteorder)
    # Zarr core 3.1, "Permitted fill values": any other NaN is written as hexadecimal bytes, the highest first.
    return "NaN" if bits == _NAN[size] else f"0x{bits:0{2 * size}x}"


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _raw(value: Any, dtype: UpgradedDataType) -> Any:
    """Decode a number from base64 text, without any loss of bits; return None if `value` is not valid."""
    if not isinstance(value, str) or not value.endswith("="):
        return None
    try:
        data = base64.b64decode(value, validate=True)
    except binascii.Error:
        return None
    if len(data) != dtype.item_size:
        return None
    order = ">" if dtype.endian == "big" else "<"
    return np.frombuffer(data, f"{order}{dtype.kind}{dtype.item_size}")[0]


def _name(dtype: UpgradedDataType) -> str:
    return dtype.data_type if isinstance(dtype.data_type, str) else str(dtype.data_type["name"])


def _no_value(value: Any, dtype: UpgradedDataType) -> FormatError:
    return FormatError(f"expected a fill_value of type {_name(dtype)}; found {value!r}")


#: The attribute in which xarray keeps dimension names in Zarr v2, which has no field for them.
DIMENSIONS_OF_XARRAY = "_ARRAY_DIMENSIONS"

_REQUIRED = ("shape", "chunks", "dtype", "compressor", "fill_value", "order")
_FIELDS = frozenset((*_REQUIRED, "zarr_format", "filters", "dimension_separator"))
# Fields of prototypes that stored several chunks under one key; a reader that ignores these fields finds no chunk.
_FIELDS_OF_LAYOUT = frozenset(("shards", "shard_format", "sharding", "storage_transformers"))


@dataclass(frozen=True, slots=True)
class UpgradedArray:
    """An array upgraded to Zarr v3, without shards."""

    # Its ``zarr.json``. Equal arrays may share it: copy it before you change it.
    document: Document
    # What its chunks need: nothing (``verbatim``), a gzip frame (``zlib_to_gzip``), or to be decoded as Zarr v2 and
    # encoded by the codecs of `document` (``transcode``).
    treatment: Treatment
    # The separator in its old chunk keys; the new ones are ``c/0/0``.
    separator: str
    # Whether it had no fill value: then 0 is written, and the pixels of a missing chunk are unknown.
    null_fill: bool
    # Differences worth a note, one phrase each.
    notes: tuple[str, ...] = ()


def upgrade_array(
    zarray: dict[str, Any],
    attributes: dict[str, Any] | None = None,
    dimension_names: Sequence[str] | None = None,
    *,
    keep_numcodecs: bool = False,
) -> UpgradedArray:
    """Convert an array's ``.zarray`` and ``.zattrs`` to a Zarr v3 ``zarr.json``.

    `dimension_names` are the axes of an image that lists the array; by default, those in xarray's attribute. This
    attribute is removed in either case. `keep_numcodecs` keeps chunks whose codecs only zarr-python reads, instead of
    transcoding them.
    """
    notes = _check_fields(zarray)
    shape, chunks = _geometry(zarray)
    dtype = upgrade_data_type(zarray["dtype"])
    fill_value = zarray["fill_value"]
    codecs, treatment, changes = upgrade_compression(
        zarray["compressor"], zarray.get("filters"), dtype.item_size, keep_numcodecs=keep_numcodecs
    )
    notes += changes
    if fill_value is None:
        notes.append("fill_value was null; 0 is written")
    attributes, changes = portable_attributes(attributes or {})
    notes += changes
    names = _take_names(attributes, dimension_names, len(shape), notes)
    document = {
        "shape": list(shape),
        "data_type": dtype.data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": upgrade_fill_value(fill_value, dtype),
        "codecs": [*_layout_codecs(zarray["order"], dtype, len(shape)), *codecs],
        "attributes": attributes,
        **({} if names is None else {"dimension_names": names}),
        "zarr_format": 3,
        "node_type": "array",
    }
    separator = zarray.get("dimension_separator", ".")
    return UpgradedArray(document, treatment, separator, fill_value is None, tuple(notes))


def _check_fields(zarray: dict[str, Any]) -> list[str]:
    """Check that a ``.zarray`` has all required fields; return notes about unknown fields."""
    if zarray.get("zarr_format") != 2:
        raise FormatError(f"expected zarr_format 2; found {zarray.get('zarr_format')!r}")
    missing = [field for field in _REQUIRED if field not in zarray]
    if missing:
        raise FormatError(f"expected the fields of a .zarray; missing: {', '.join(missing)}")
    if zarray["order"] not in ("C", "F"):
        raise FormatError(f"expected order C or F; found {zarray['order']!r}")
    if zarray.get("dimension_separator", ".") not in (".", "/"):
        raise FormatError(f"expected dimension_separator . or /; found {zarray['dimension_separator']!r}")
    unknown = [field for field in zarray if field not in _FIELDS]
    for field in unknown:
        if field in _FIELDS_OF_LAYOUT and zarray[field]:
            raise UnsupportedError(
                f"the field {field!r} means that chunks are stored in another way than one per key",
                hint="Open it with the program that wrote it, and save it in another format.",
            )
    return [f"{field}: dropped, because Zarr v2 has no such field" for field in unknown]


def _geometry(zarray: dict[str, Any]) -> tuple[tuple[int, ...], list[int]]:
    shape, chunks = as_lengths(zarray["shape"]), as_lengths(zarray["chunks"])
    if shape is None:
        raise FormatError(f"expected shape to be a list of lengths; found {zarray['shape']!r}")
    if chunks is None or len(chunks) != len(shape):
        raise FormatError(f"expected chunks to be a list of {len(shape)} lengths; found {zarray['chunks']!r}")
    if any(chunk == 0 < length for chunk, length in zip(chunks, shape, strict=True)):
        raise FormatError(f"expected chunk lengths of at least 1; found {zarray['chunks']!r}")
    # Zarr core (2026-07), "Regular grids": chunk lengths are greater than zero. An empty array has no chunks at all.
    return shape, [chunk or 1 for chunk in chunks]


def _layout_codecs(order: str, dtype: UpgradedDataType, dimensions: int) -> list[dict[str, Any]]:
    transposed = {"name": "transpose", "configuration": {"order": list(reversed(range(dimensions)))}}
    # Zarr core 3.1, "bytes codec": endian is for items of several bytes.
    to_bytes: dict[str, Any] = {"name": "bytes"}
    if dtype.endian is not None:
        to_bytes["configuration"] = {"endian": dtype.endian}
    return [transposed, to_bytes] if order == "F" and dimensions > 1 else [to_bytes]


def _take_names(
    attributes: dict[str, Any], given: Sequence[str] | None, dimensions: int, notes: list[str]
) -> list[str] | None:
    """Return an array's dimension names, and remove the attribute that contains them."""
    if given is not None and len(given) != dimensions:
        raise FormatError(f"expected {dimensions} axes, one per dimension; found {len(given)}: {', '.join(given)}")
    found = attributes.get(DIMENSIONS_OF_XARRAY)
    if found is None:
        return None if given is None else list(given)
    names = found if isinstance(found, list) and all(isinstance(name, str) for name in found) else None
    if names is None or len(names) != dimensions or len(set(names)) != len(names):
        notes.append(f"{DIMENSIONS_OF_XARRAY} stays an attribute: it does not name each dimension once")
        return None if given is None else list(given)
    if given is not None and list(given) != names:
        notes.append(f"{DIMENSIONS_OF_XARRAY} ({', '.join(names)}) is replaced by the axes ({', '.join(given)})")
    del attributes[DIMENSIONS_OF_XARRAY]
    return names if given is None else list(given)


#: What happens to the bytes of a chunk: they stay; a gzip frame replaces the zlib frame; or they are decoded by the
#: v2 pipeline and encoded by that of v3.
Treatment = Literal["verbatim", "zlib_to_gzip", "transcode"]

_Codec = dict[str, Any]

_BLOSC_NAMES = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
#: The shuffles of blosc by their numbers in Zarr v2.
SHUFFLES = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
_AUTO_SHUFFLE = -1
# zlib.h: level -1 means 6.
_DEFAULT_DEFLATE = 6

# Bytes-to-bytes codecs of numcodecs. In v3, their names have a prefix; their configuration is the same as in v2.
_NUMCODECS = frozenset(("bz2", "lzma", "lz4", "shuffle", "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3"))


#: The converted bytes-to-bytes codecs, the conversion that chunks need, and notes about differences from v2.
_Compression = tuple[list[_Codec], Treatment, list[str]]


def upgrade_compression(compressor: Any, filters: Any, item_size: int, *, keep_numcodecs: bool = False) -> _Compression:
    """Return the Zarr v3 codecs for the ``compressor`` and the ``filters`` of a ``.zarray``.

    `item_size`, in bytes, is for blosc; `keep_numcodecs` keeps chunks whose codecs only zarr-python reads, instead of
    transcoding them.
    """
    steps = [_parse(step, "filter") for step in _list(filters)]
    last = None if compressor is None else _parse(compressor, "compressor")
    upgraded = _upgrade_compressor(last, item_size)
    foreign = [name for name, _ in steps]
    if last is not None and upgraded is None:
        steps, foreign = [*steps, last], [*foreign, last[0]]
    if not steps:
        return upgraded or ([], "verbatim", [])
    names = ", ".join(foreign)
    if not keep_numcodecs or not _NUMCODECS.issuperset(foreign):
        note = f"{names}: not registered for Zarr v3; chunks are decoded and compressed with blosc (zstd)"
        return [blosc_codec("zstd", 1, "shuffle", item_size)], "transcode", [note]
    kept = [{"name": f"numcodecs.{name}", "configuration": settings} for name, settings in steps]
    codecs, treatment, notes = upgraded or ([], "verbatim", [])
    note = f"{names}: kept under the prefix numcodecs, which only zarr-python reads"
    return [*kept, *codecs], treatment, [note, *notes]


def _list(filters: Any) -> list[Any]:
    if filters is None:
        return []
    if not isinstance(filters, list):
        raise FormatError(f"expected filters to be a list or null; found {filters!r}")
    return filters


def _parse(step: Any, what: str) -> tuple[str, _Codec]:
    name = as_text(as_object(step).get("id"))
    if name is None:
        raise FormatError(f"expected a {what} with an id; found {step!r}")
    return name, {key: value for key, value in step.items() if key != "id"}


def _upgrade_compressor(compressor: tuple[str, _Codec] | None, item_size: int) -> _Compression | None:
    """Return the registered Zarr v3 codec for a v2 compressor, or None."""
    if compressor is None:
        return None
    name, settings = compressor
    if name == "blosc":
        return [_upgrade_blosc(settings, item_size)], "verbatim", []
    if name == "zstd":
        level = _number(name, settings, "level", 0, (-131072, 22))
        checksum = settings.get("checksum", False)
        if not isinstance(checksum, bool):
            raise FormatError(f"expected the checksum of zstd to be true or false; found {checksum!r}")
        codec = {"name": "zstd", "configuration": {"level": level, "checksum": checksum}}
        return [codec], "verbatim", []
    if name not in ("gzip", "zlib"):
        return None
    level = _number(name, settings, "level", 1, (-1, 9))
    codec = {"name": "gzip", "configuration": {"level": _DEFAULT_DEFLATE if level < 0 else level}}
    if name == "gzip":
        return [codec], "verbatim", []
    note = "zlib becomes gzip: the compressed data stay, only header and checksum change"
    return [codec], "zlib_to_gzip", [note]


def _upgrade_blosc(settings: _Codec, item_size: int) -> _Codec:
    name = settings.get("cname", "lz4")
    if name not in _BLOSC_NAMES:
        raise UnsupportedError(
            f"expected blosc with {', '.join(_BLOSC_NAMES[:-1])} or {_BLOSC_NAMES[-1]}; found {name!r}",
            hint="Recompress the array with a compressor that Zarr v3 registers.",
        )
    shuffle = settings.get("shuffle", 1)
    if shuffle == _AUTO_SHUFFLE:
        shuffle = 2 if item_size == 1 else 1
    if type(shuffle) is not int or shuffle not in SHUFFLES:
        raise FormatError(f"expected the shuffle of blosc to be -1, 0, 1 or 2; found {shuffle!r}")
    level = _number("blosc", settings, "clevel", 5, (0, 9))
    block = _number("blosc", settings, "blocksize", 0, (0, (1 << 31) - 1))
    return blosc_codec(name, level, SHUFFLES[shuffle], item_size, block)


def _number(codec: str, settings: _Codec, key: str, default: int, limits: tuple[int, int]) -> int:
    """Return a compressor setting, limited to its valid range. Decoding does not depend on the setting."""
    value = settings.get(key, default)
    if type(value) is not int:
        raise FormatError(f"expected the {key} of {codec} to be a number; found {value!r}")
    return min(max(value, limits[0]), limits[1])

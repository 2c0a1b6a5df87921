"""Conversion of Zarr v2 filters and compressors to v3 codecs, and of chunks where necessary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.json.reading import as_object, as_text
from ozx.hierarchy.zarr.codecs import blosc_codec

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


@dataclass(frozen=True, slots=True)
class UpgradedCompression:
    """The converted bytes-to-bytes codecs, the conversion that chunks need, and notes about differences from v2."""

    codecs: tuple[_Codec, ...]
    treatment: Treatment
    notes: tuple[str, ...] = ()


def upgrade_compression(
    compressor: Any, filters: Any, item_size: int, *, keep_numcodecs: bool = False
) -> UpgradedCompression:
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
        return upgraded or UpgradedCompression((), "verbatim")
    names = ", ".join(foreign)
    if not keep_numcodecs or not _NUMCODECS.issuperset(foreign):
        note = f"{names}: not registered for Zarr v3; chunks are decoded and compressed with blosc (zstd)"
        return UpgradedCompression((blosc_codec("zstd", 1, "shuffle", item_size),), "transcode", (note,))
    kept = tuple({"name": f"numcodecs.{name}", "configuration": settings} for name, settings in steps)
    upgraded = upgraded or UpgradedCompression((), "verbatim")
    note = f"{names}: kept under the prefix numcodecs, which only zarr-python reads"
    return UpgradedCompression((*kept, *upgraded.codecs), upgraded.treatment, (note, *upgraded.notes))


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


def _upgrade_compressor(compressor: tuple[str, _Codec] | None, item_size: int) -> UpgradedCompression | None:
    """Return the registered Zarr v3 codec for a v2 compressor, or None."""
    if compressor is None:
        return None
    name, settings = compressor
    if name == "blosc":
        return UpgradedCompression((_upgrade_blosc(settings, item_size),), "verbatim")
    if name == "zstd":
        level = _number(name, settings, "level", 0, (-131072, 22))
        checksum = settings.get("checksum", False)
        if not isinstance(checksum, bool):
            raise FormatError(f"expected the checksum of zstd to be true or false; found {checksum!r}")
        codec = {"name": "zstd", "configuration": {"level": level, "checksum": checksum}}
        return UpgradedCompression((codec,), "verbatim")
    if name not in ("gzip", "zlib"):
        return None
    level = _number(name, settings, "level", 1, (-1, 9))
    codec = {"name": "gzip", "configuration": {"level": _DEFAULT_DEFLATE if level < 0 else level}}
    if name == "gzip":
        return UpgradedCompression((codec,), "verbatim")
    note = "zlib becomes gzip: the compressed data stay, only header and checksum change"
    return UpgradedCompression((codec,), "zlib_to_gzip", (note,))


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

"""Find out by name whether the installed zarr-python supports an extension."""

from __future__ import annotations

from typing import Any

from zarr import config, registry
from zarr.core.metadata import v3
from zarr.dtype import data_type_registry

from ozx.zarr.codecs import NamedExtension, parse_named

# So many lengths of chunks need little memory.
_MOST_LENGTHS = 1 << 20


def zarr_understands(point: str, value: Any) -> bool:
    """Return whether zarr-python supports a codec, data type, chunk grid or chunk key encoding.

    zarr-python supports no storage transformers, and none of the extensions of ZEP 10.
    """
    if point == "data_type":
        return _knows_data_type(value)
    named = parse_named(value)
    name = "" if named is None else named.name
    if point == "codecs":
        return _is_registered(registry.get_codec_class, name)
    if point == "chunk_key_encoding":
        return _is_registered(registry.get_chunk_key_encoding_class, name)
    # Grids have no registry.
    return point == "chunk_grid" and (name == "regular" or (name == "rectilinear" and _reads_rectilinear(named)))


def _reads_rectilinear(grid: NamedExtension | None) -> bool:
    """Return whether zarr-python reads a rectilinear grid: from version 3.2 on, if the user switched this on.

    zarr-python makes a list of all lengths, however often a pair [length, count] repeats one.
    """
    is_on = hasattr(v3, "RectilinearChunkGridMetadata") and config.get("array.rectilinear_chunks", default=False)
    if grid is None or not is_on:
        return False
    lengths = grid.configuration.get("chunk_shapes")
    pairs = (item for axis in lengths if isinstance(axis, list) for item in axis) if isinstance(lengths, list) else ()
    counts = (item[1] for item in pairs if isinstance(item, list) and len(item) == 2)
    return sum(abs(count) for count in counts if isinstance(count, int)) <= _MOST_LENGTHS


def _is_registered(find: Any, name: str) -> bool:
    try:
        find(name)
    except (KeyError, ValueError):  # before zarr-python 3.2, and since then
        return False
    return True


def _knows_data_type(value: Any) -> bool:
    try:
        data_type_registry.match_json(value, zarr_format=3)
    except (KeyError, TypeError, ValueError):
        return False
    return True

"""Zarr v2 for tests: arrays that zarr-python writes, ozx upgrades to v3, and other programs read."""

import json
import warnings

import numpy as np
import tensorstore
import zarr
from hierarchies import multiscales
from stores import buffer, contents
from zarr.storage import MemoryStore

from ozx.flow.chunks.stored_chunks import zlib_to_gzip
from ozx.ome.upgrade import UpgradedHierarchy, upgrade_hierarchy
from ozx.zarr.keys import is_legacy_metadata_key
from ozx.zarr.v2_arrays import UpgradedArray, upgrade_array


def store_of(values: dict[str, bytes]) -> MemoryStore:
    return MemoryStore({key: buffer(data) for key, data in values.items()})


def write_v2(data, *, chunks, dtype=None, missing=(), attributes=None, **options) -> dict[str, bytes]:
    data = np.asarray(data)
    store = MemoryStore()
    with quiet():
        options = {"compressors": None, "filters": None, **options}
        array = zarr.create_array(
            store, shape=data.shape, chunks=chunks, dtype=dtype or data.dtype, zarr_format=2,
            config={"write_empty_chunks": True}, attributes=attributes, **options,
        )  # fmt: skip
        array[...] = data
    return {key: value for key, value in contents(store).items() if key not in missing}


def quiet():
    return warnings.catch_warnings(action="ignore")


def upgrade_values(values: dict[str, bytes], dimension_names=None, **options) -> tuple[UpgradedArray, dict[str, bytes]]:
    """Upgrade an array as callers upgrade each array of a hierarchy; return also the keys and values in Zarr v3."""
    documents = {key: json.loads(values[key]) for key in (".zarray", ".zattrs") if key in values}
    upgraded = upgrade_array(documents[".zarray"], documents.get(".zattrs"), dimension_names, **options)
    return upgraded, move_chunks(upgraded, values)


def move_chunks(upgraded: UpgradedArray, values: dict[str, bytes], prefix: str = "") -> dict[str, bytes]:
    """Return the array at `prefix` in Zarr v3: its document, and its chunks under their new keys."""
    moved = {f"{prefix}zarr.json": json.dumps(upgraded.document, allow_nan=False).encode()}
    if upgraded.treatment == "transcode":
        return moved | _transcode(values, prefix, moved[f"{prefix}zarr.json"])
    dimensions = len(upgraded.document["shape"])
    for key, data in values.items():
        numbers = key[len(prefix) :].split(upgraded.separator) if key.startswith(prefix) else []
        if not numbers or not all(number.isdigit() for number in numbers):
            continue
        new = "/".join(["c", *numbers]) if dimensions else "c"
        moved[prefix + new] = zlib_to_gzip(data) if upgraded.treatment == "zlib_to_gzip" else data
    return moved


def _transcode(values, prefix, document) -> dict[str, bytes]:
    store = store_of({"zarr.json": document})
    old = {key[len(prefix) :]: data for key, data in values.items() if key.startswith(prefix)}
    with quiet():
        new = zarr.open_array(store, mode="r+", zarr_format=3)
        new[...] = read_zarr(old, zarr_format=2)
    return {prefix + key: data for key, data in contents(store).items() if key != "zarr.json"}


def read_zarr(values: dict[str, bytes], path: str = "", zarr_format: int = 3) -> np.ndarray:
    with quiet():
        return np.asarray(zarr.open_array(store_of(values), path=path, mode="r", zarr_format=zarr_format)[...])


def read_tensorstore(values: dict[str, bytes], path: str = "") -> np.ndarray:
    context = tensorstore.Context()
    kvstore = tensorstore.KvStore.open("memory://", context=context).result()
    for key, data in values.items():
        kvstore[key] = data
    spec = {"driver": "zarr3", "kvstore": {"driver": "memory", "path": f"{path}/" if path else ""}}
    return tensorstore.open(spec, context=context, read=True).result().read().result()


def bits(values: np.ndarray) -> bytes:
    """Return the values as bytes in one byte order, so that two NaNs are equal only if all their bits are equal."""
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()


def multiscale_of(names="cyx", levels=("0", "1"), **more):
    return {"version": "0.4", **multiscales(names, *levels, halved="yx", name="cells")[0], **more}


def group_v2(path="", **attributes) -> dict[str, bytes]:
    prefix = f"{path}/" if path else ""
    values = {f"{prefix}.zgroup": b'{"zarr_format": 2}'}
    return {**values, f"{prefix}.zattrs": json.dumps(attributes).encode()} if attributes else values


def image_v2(path="", *, names="cyx", dtype="<u2", attributes=None, **options) -> dict[str, bytes]:
    values = group_v2(path, multiscales=[multiscale_of(names)], **(attributes or {}))
    prefix = f"{path}/" if path else ""
    for level, length in (("0", 6), ("1", 3)):
        shape = (2,) * (len(names) - 2) + (length, length)
        data = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
        array = write_v2(data, chunks=(1,) * (len(names) - 2) + (4, 4), dtype=dtype, **options)
        values |= {f"{prefix}{level}/{key}": value for key, value in array.items()}
    return values


def upgrade_tree(values: dict[str, bytes], **options) -> tuple[UpgradedHierarchy, dict[str, bytes]]:
    """Upgrade a hierarchy as callers do; return also the keys and values in Zarr v3."""
    upgraded = upgrade_hierarchy({key: data for key, data in values.items() if is_legacy_metadata_key(key)}, **options)
    moved = dict(upgraded.iter_values())
    for path, array in upgraded.arrays.items():
        moved |= move_chunks(
            array, {key: data for key, data in values.items() if key.startswith(f"{path}/")}, f"{path}/"
        )
    within = tuple(f"{path}/" for path in upgraded.arrays)
    moved |= {
        key: data for key, data in values.items() if not is_legacy_metadata_key(key) and not key.startswith(within)
    }
    return upgraded, moved

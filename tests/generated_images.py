"""Images, labels and plates of OME-Zarr 0.5 in many layouts, the same in every run."""

import json
import warnings
from pathlib import Path

import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

DTYPES = ["|u1", "<u2", ">u2", "<i4", "<f4", ">f8", "|b1", "|i1", "<u8", "<f2"]
COMPRESSORS = [
    None,
    ZstdCodec(level=1),
    GzipCodec(level=1),
    BloscCodec(cname="lz4"),
    BloscCodec(cname="zstd", shuffle="bitshuffle"),
]
KINDS = {"t": "time", "c": "channel"}


def make_image(folder: Path, seed: int) -> Path:
    """Write an image, with labels if `seed` is a multiple of 3, or a plate of such images if it is one of 10."""
    random = np.random.default_rng(seed)
    path = folder / f"{seed}.ome.zarr"
    with warnings.catch_warnings(action="ignore"):
        root = zarr.open_group(path, mode="w", zarr_format=3)
        if seed % 10 == 0:
            _write_plate(root, random)
        else:
            axes = str(random.choice(["yx", "zyx", "cyx", "tczyx"]))
            shape = [int(random.integers(1, 60 if axis in "yx" else 4)) for axis in axes]
            _write_levels(root, random, axes, shape, str(random.choice(DTYPES)))
            if seed % 3 == 0:
                labels = root.create_group("labels", attributes={"ome": {"version": "0.5", "labels": ["cells"]}})
                colors = {"version": "0.5", "colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}]}
                cells = labels.create_group("cells")
                _write_levels(cells, random, axes, shape, "<i4", **{"image-label": colors})
    return path


def _write_plate(root: zarr.Group, random: np.random.Generator) -> None:
    wells = [{"path": f"A/{column}", "rowIndex": 0, "columnIndex": column - 1} for column in (1, 2)]
    columns = [{"name": "1"}, {"name": "2"}]
    plate = {
        "version": "0.5",
        "name": "p",
        "columns": columns,
        "rows": [{"name": "A"}],
        "wells": wells,
        "field_count": 2,
    }
    root.attrs["ome"] = {"version": "0.5", "plate": plate}
    row = root.create_group("A")
    for column in ("1", "2"):
        images = [{"path": "0"}, {"path": "1"}]
        well = row.create_group(
            column, attributes={"ome": {"version": "0.5", "well": {"version": "0.5", "images": images}}}
        )
        for image in images:
            _write_levels(well.create_group(image["path"]), random, "cyx", [2, 30, 40], "<u2")


def _write_levels(
    group: zarr.Group, random: np.random.Generator, axes: str, shape: list[int], dtype: str, **ome
) -> None:
    pixels = (random.integers(0, 250, shape) * random.integers(0, 2, shape)).astype(dtype)
    pixels[(..., slice(0, max(1, shape[-1] // 2)))] = 0  # many chunks are missing
    options = _options(random, shape, np.dtype(dtype))
    scales = [[float(random.uniform(0.1, 2)) for _ in axes]]
    scales.append([scale * (2 if axis in "yx" else 1) for scale, axis in zip(scales[0], axes, strict=True)])
    datasets = []
    for level, scale in enumerate(scales):
        part = pixels[tuple(slice(None, None, 1 + level if axis in "yx" else 1) for axis in axes)]
        group.create_array(str(level), shape=part.shape, dimension_names=list(axes), **options)[...] = part
        steps = [{"type": "scale", "scale": scale}]
        if random.integers(0, 2):
            steps.append({"type": "translation", "translation": [float(level)] * len(axes)})
        datasets.append({"path": str(level), "coordinateTransformations": steps})
    named = [{"name": axis, "type": KINDS.get(axis, "space")} for axis in axes]
    if "c" in axes and not ome:
        channels = [{"label": f"dye {number}", "color": "FF0000"} for number in range(shape[axes.index("c")])]
        ome["omero"] = {"channels": channels, "rdefs": {"model": "color"}}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": named, "datasets": datasets, "name": "m"}], **ome}


def _options(random: np.random.Generator, shape: list[int], dtype: np.dtype) -> dict:
    """Return the arguments of `zarr.create_array`: chunks, shards, codecs."""
    chunks = tuple(int(random.integers(min(length, 12), min(length, 30) + 2)) for length in shape)
    compressor = COMPRESSORS[random.integers(0, len(COMPRESSORS))]
    checksums = [Crc32cCodec()] if random.integers(0, 2) else []
    options = {"dtype": dtype, "chunks": chunks, "fill_value": 0}
    order = tuple(reversed(range(len(shape)))) if random.integers(0, 4) == 0 else None
    endian = {} if dtype.itemsize == 1 else {"endian": "big" if dtype.byteorder == ">" else "little"}
    compressors = [*([compressor] if compressor else []), *checksums]
    filters = [TransposeCodec(order=order)] if order else []
    shards = tuple(length * int(random.integers(1, 4)) for length in chunks)
    form = random.integers(0, 3)
    if form == 0:
        encoding = {"name": str(random.choice(["default", "v2"])), "separator": str(random.choice(["/", "."]))}
        steps = {"filters": filters or None, "serializer": BytesCodec(**endian), "compressors": compressors or None}
        return {**options, **steps, "chunk_key_encoding": encoding}
    codecs, location = [*filters, BytesCodec(**endian), *compressors], "start" if random.integers(0, 2) else "end"
    sharding = ShardingCodec(chunk_shape=chunks, codecs=codecs, index_location=location)
    if form == 2:  # shards of shards
        sharding = ShardingCodec(chunk_shape=shards, codecs=[sharding])
        shards = tuple(2 * length for length in shards)
    return {**options, "chunks": shards, "serializer": sharding, "compressors": None}


def documents(path: Path) -> dict[str, dict]:
    """Return the ``zarr.json`` of each node, by its path."""
    found = sorted(path.rglob("zarr.json"))
    return {each.parent.relative_to(path).as_posix().strip("."): json.loads(each.read_bytes()) for each in found}

"""The images, plates and archives that the benchmarks read; each is made once, when a benchmark first needs it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Name of a dataset: number of chunk files, and bytes of each file.
SHAPES = {
    "many": (10_000, 80_000),
    "large": (3, 256 << 20),
    "small": (20_000, 5_000),
}
QUICK_SHAPES = {"many": (200, 80_000), "large": (2, 8 << 20), "small": (400, 5_000)}

ROW = 200  # chunks per folder of `make_chunks`


def make(folder: Path, name: str, *, quick: bool) -> Path:
    """Return the directory of dataset `name` below `folder`; make the dataset if it is missing."""
    return make_chunks(folder, name, *(QUICK_SHAPES if quick else SHAPES)[name])


def make_chunks(folder: Path, name: str, count: int, size: int) -> Path:
    """Return the directory of an image of `count` chunks of `size` random bytes."""
    root = folder / f"{name}-{count}x{size}.ome.zarr"
    if root.is_dir():
        return root
    staging = root.with_suffix(".staging")
    (staging / "0").mkdir(parents=True)
    axes = [{"name": axis, "type": "space"} for axis in "yx"]
    scale = [{"type": "scale", "scale": [1.0, 1.0]}]
    multiscales = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}]
    group = {
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {"ome": {"version": "0.5", "multiscales": multiscales}},
    }
    rows, columns = -(-count // ROW), min(count, ROW)
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [rows, columns * size],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, size]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "attributes": {},
        "dimension_names": ["y", "x"],
    }
    (staging / "zarr.json").write_text(json.dumps(group))
    (staging / "0" / "zarr.json").write_text(json.dumps(array))
    for row in range(rows):
        (staging / "0" / "c" / str(row)).mkdir(parents=True)
    for number in range(count):
        with open(staging / "0" / "c" / str(number // ROW) / str(number % ROW), "wb") as file:
            file.writelines(os.urandom(1 << 20) for _ in range(size // (1 << 20)))
            file.write(os.urandom(size % (1 << 20)))
    staging.rename(root)
    return root


def make_many_entries(folder: Path, entries: int) -> Path:
    """Return an .ozx file with `entries` entries: two metadata documents, and chunks of one byte."""
    from ozx.archive.writer import ArchiveWriter

    path = folder / f"{entries}-entries.ozx"
    if path.is_file():
        return path
    root = make(folder, "small", quick=True)
    with open(path, "w+b") as file:
        writer = ArchiveWriter(file.fileno())
        for key in ("zarr.json", "0/zarr.json"):
            writer.add(key, (root / key).read_bytes())
        for number in range(entries - 2):
            writer.add(f"0/c/{number // 1000}/{number % 1000}", b"x")
        comment = {"ome": {"version": "0.5", "zipFile": {"centralDirectory": {"jsonFirst": True}}}}
        writer.finish(json.dumps(comment, separators=(",", ":")).encode())
    return path


def make_images(folder: Path, *, quick: bool) -> Path:
    """Return the directory of a group of arrays (uint16); `archive_of` names the .ozx file with the same content.

    ``shard`` is one uncompressed shard of 256 MiB with inner chunks of 128 KiB. ``raw``, ``packed`` and ``sharded``
    have 128 MiB each, in chunks of 128 KiB: ``raw`` is uncompressed, ``packed`` has zarr's default codec, and
    ``sharded`` has this codec and shards of 8 MiB.
    """
    import zarr

    import ozx

    root = folder / f"images{'-quick' if quick else ''}.ome.zarr"
    if root.is_dir():
        return root
    height, width = (2048, 2048) if quick else (8192, 16384)
    group = zarr.open_group(root.with_suffix(".staging"), mode="w", attributes={"ome": {"version": "0.5"}})
    side = min(height, 8192)
    options = {"chunks": (256, 256), "dtype": "uint16"}
    noise = np.random.default_rng(1)
    whole = noise.integers(0, 65_536, (height, width), dtype="uint16")
    group.create_array("shard", shape=whole.shape, shards=whole.shape, compressors=None, **options)[:] = whole
    group.create_array("raw", shape=(side, side), compressors=None, **options)[:] = whole[:side, :side]
    cells = noise.poisson(200, (side, side)).astype("uint16")
    group.create_array("packed", shape=(side, side), **options)[:] = cells
    group.create_array("sharded", shape=(side, side), shards=(2048, 2048), **options)[:] = cells
    root.with_suffix(".staging").rename(root)
    ozx.pack(root, archive_of(root), force=True, sync=False)
    return root


def make_cuts(folder: Path, *, quick: bool) -> Path:
    """Return the directory of a group of arrays (uint16) for reading regions; `archive_of` names its .ozx file.

    ``lz4`` has 128 MiB in chunks of 256² with blosc-lz4. ``volume`` has 512³ pixels in chunks of 64³, and ``windows``
    128 MiB in chunks of 256², both with zarr's default codec.
    """
    import zarr
    from zarr.codecs import BloscCodec

    import ozx

    root = folder / f"cuts{'-quick' if quick else ''}.ome.zarr"
    if root.is_dir():
        return root
    side, edge = (2048, 128) if quick else (8192, 512)
    group = zarr.open_group(root.with_suffix(".staging"), mode="w", attributes={"ome": {"version": "0.5"}})
    noise = np.random.default_rng(1)
    cells = noise.poisson(200, (side, side)).astype("uint16")
    plane = {"shape": cells.shape, "chunks": (256, 256), "dtype": "uint16"}
    group.create_array("lz4", compressors=BloscCodec(cname="lz4"), **plane)[:] = cells
    group.create_array("windows", **plane)[:] = cells
    volume = group.create_array("volume", shape=(edge,) * 3, chunks=(64,) * 3, dtype="uint16")
    for start in range(0, edge, 64):
        volume[start : start + 64] = noise.poisson(200, (64, edge, edge)).astype("uint16")
    root.with_suffix(".staging").rename(root)
    ozx.pack(root, archive_of(root), force=True, sync=False)
    return root


def make_training(folder: Path, *, quick: bool) -> Path:
    """Return the directory of an image of 2 × 8192² (uint16) in shards of 32 MiB; `archive_of` names its file."""
    import ozx

    root = folder / f"training{'-quick' if quick else ''}.ome.zarr"
    if root.is_dir():
        return root
    side = 1024 if quick else 8192
    pixels = np.random.default_rng(1).poisson(200, (2, side, side)).astype("uint16")
    layout = {axis: {"chunks": 256, "shards": side // 2} for axis in "yx"}
    ozx.write_image(
        archive_of(root),
        pixels,
        axes="cyx",
        force=True,
        sync=False,
        **{name: {axis: lengths[name] for axis, lengths in layout.items()} for name in ("chunks", "shards")},
    )
    ozx.unpack(archive_of(root), root, sync=False)
    return root


def make_small_chunks(folder: Path, layout: str, *, quick: bool) -> Path:
    """Return the directory of an image of c, y, x = 4 × 4096 × 4096 (uint16); `archive_of` names its .ozx file.

    `layout` is ``c64`` or ``c256`` for chunks with a side of 64 or 256 pixels, ``s1024`` for chunks with a side of 64
    in shards with a side of 1024.
    """
    import zarr

    import ozx

    side = 1024 if quick else 4096
    root = folder / f"{layout}-{side}.ome.zarr"
    if root.is_dir():
        return root
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    level = {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1]}]}
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [level]}]}
    group = zarr.open_group(root.with_suffix(".staging"), mode="w", attributes={"ome": ome})
    chunk, shards = (64, (1, 1024, 1024)) if layout == "s1024" else (int(layout[1:]), None)
    pixels = np.random.default_rng(3).poisson(200, (4, side, side)).astype("uint16")
    options = {"chunks": (1, chunk, chunk), "shards": shards, "dimension_names": ["c", "y", "x"]}
    group.create_array("0", shape=pixels.shape, dtype="uint16", **options)[:] = pixels
    root.with_suffix(".staging").rename(root)
    ozx.pack(root, archive_of(root), force=True, sync=False)
    return root


def archive_of(root: Path) -> Path:
    """Return the path of the .ozx file that is packed from a directory."""
    return root.with_name(root.name.removesuffix(".ome.zarr") + ".ozx")


def make_chunked_image(folder: Path, planes: int = 100) -> tuple[Path, Path]:
    """Return the directory of an image in compressed chunks of 512 × 512, and of the same image in OME-Zarr 0.4.

    The planes have 4096 × 4096 pixels (uint16); 100 compressed planes take 2 GiB. To save time, each further plane is
    the first plane with its rows of chunks rotated. The chunk files of OME-Zarr 0.4 are hard links to those of the
    first image.
    """
    import zarr
    from zarr.codecs import BloscCodec

    root, old = folder / f"chunked-{planes}.ome.zarr", folder / f"chunked-{planes}-0.4.zarr"
    if root.is_dir():
        return root, old
    side = 4096
    noise = np.random.default_rng(3)
    plane = (noise.poisson(300, (side, side)) * (1 + np.hypot(*np.mgrid[0:8:4096j, 0:8:4096j]))).astype("uint16")
    staging = root.with_suffix(".staging")
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    scale = [{"type": "scale", "scale": [1.0, 1.0, 1.0]}]
    multiscales = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}]
    options = {"shape": (planes, side, side), "chunks": (1, 512, 512), "dtype": "uint16", "fill_value": 0}
    group = zarr.open_group(staging, mode="w", attributes={"ome": {"version": "0.5", "multiscales": multiscales}})
    codec = BloscCodec(cname="zstd", clevel=1, shuffle="shuffle", typesize=2)
    group.create_array("0", compressors=codec, dimension_names=list("zyx"), **options)[0] = plane
    multiscales[0]["version"] = "0.4"
    staging_old = old.with_suffix(".staging")
    group = zarr.open_group(staging_old, mode="w", zarr_format=2, attributes={"multiscales": multiscales})
    compressor = {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 1, "blocksize": 0}
    keys = {"name": "v2", "separator": "."}
    group.create_array("0", compressors=compressor, chunk_key_encoding=keys, **options)
    for z in range(planes):
        (staging / "0" / "c" / str(z)).mkdir(exist_ok=True)
        for y in range(8):
            (staging / "0" / "c" / str(z) / str(y)).mkdir(exist_ok=True)
            for x in range(8):
                chunk = staging / "0" / "c" / str(z) / str(y) / str(x)
                if z:
                    shutil.copyfile(staging / "0" / "c" / "0" / str((y + z) % 8) / str(x), chunk)
                os.link(chunk, staging_old / "0" / f"{z}.{y}.{x}")
    staging_old.rename(old)
    staging.rename(root)
    return root, old


def make_crop_source(folder: Path, side: int, chunks: str) -> Path:
    """Return an image of four planes of noise over a slope, in chunks of a given size."""
    import ozx

    path = folder / f"crop-{side}-{chunks}.ozx"
    if not path.is_file():
        noise = np.random.default_rng(0)
        y, x = np.mgrid[:side, :side]
        pixels = np.stack([(y // 16 + x // 16 + noise.poisson(8, (side, side))).astype("uint16") for _ in range(4)])
        ozx.write_image(path, pixels, axes="zyx", chunks=chunks, sync=False)
    return path


def make_wide_image(folder: Path, *, quick: bool) -> Path:
    """Return an .ozx file with one image of cells, 20,480 × 20,480 pixels (uint16), and its levels.

    The chunks of 512 × 512 pixels (zstd) are in shards of 4096 × 4096. The image repeats one field of cells, each time
    with another brightness.
    """
    import zarr
    from zarr.codecs import ZstdCodec

    import ozx

    field, repeats = (512, 4) if quick else (4096, 5)
    path = folder / f"wide-{field * repeats}.ozx"
    if path.is_file():
        return path
    cells = make_cells(field, np.random.default_rng(4))
    brightness = np.random.default_rng(5).uniform(0.6, 1.0, (repeats, repeats))
    levels = 3 if quick else 6
    datasets = [
        {
            "path": str(number),
            "coordinateTransformations": [{"type": "scale", "scale": [0.5 * 2**number] * 2}],
        }
        for number in range(levels)
    ]
    axes = [{"name": axis, "type": "space", "unit": "micrometer"} for axis in "yx"]
    window = {"min": 0, "start": 0, "end": 6000, "max": 65535}
    channels = [{"label": "Cells", "color": "FFFFFF", "active": True, "window": window}]
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}], "omero": {"channels": channels}}
    with ozx.OzxStore(path, "w", sync=False) as store:
        group = zarr.create_group(store, attributes={"ome": ome})
        for number in range(levels):
            side = cells.shape[0]
            array = group.create_array(
                str(number),
                shape=(side * repeats, side * repeats),
                chunks=(min(512, side),) * 2,
                shards=(side, side),
                dtype="uint16",
                compressors=ZstdCodec(level=1),
                dimension_names=list("yx"),
            )
            for y, x in np.ndindex(repeats, repeats):
                block = (cells * brightness[y, x]).astype("uint16")
                array[y * side : (y + 1) * side, x * side : (x + 1) * side] = block
            cells = cells.reshape(side // 2, 2, side // 2, 2).mean(axis=(1, 3))
    return path


def make_cells(side: int, noise: np.random.Generator) -> np.ndarray:
    """Return a square field of round cells on a uniform background, with the noise of a camera."""
    field = np.full((side, side), 1000.0, np.float32)
    for _ in range(side * side // 5000):
        radius = int(noise.uniform(12, 28))
        y, x = noise.integers(0, side - 4 * radius, 2)
        down, right = np.mgrid[-2 * radius : 2 * radius, -2 * radius : 2 * radius]
        spot = np.exp(-(((down**2 + right**2) / radius**2) ** 2))
        field[y : y + 4 * radius, x : x + 4 * radius] += (noise.uniform(1000, 5000) * spot).astype(np.float32)
    return np.minimum(noise.normal(field, np.sqrt(field)), 9000).astype(np.float32)


def make_plane_tiff(folder: Path, side: int) -> Path:
    """Return a BigTIFF with one square plane of blurred spots and noise (uint16), in zlib-compressed tiles."""
    import tifffile

    path = folder / f"plane-{side}.tif"
    if path.is_file():
        return path
    noise = np.random.default_rng(0).poisson(8, (8, 512, 512))
    y, x = np.mgrid[:512, :512]
    count = -(-side // 512)

    def tiles() -> Iterator[NDArray[Any]]:
        for row, column in np.ndindex(count, count):
            spot = np.exp(-((y - 200 - 10 * (row % 7)) ** 2 + (x - 300 + 15 * (column % 5)) ** 2) / 6000)
            yield (200 + 600 * spot + noise[(row * 7 + column) % 8]).astype("uint16")

    staging = path.with_suffix(".staging")
    options = {"shape": (side, side), "dtype": "uint16", "tile": (512, 512), "compression": "zlib", "bigtiff": True}
    tifffile.imwrite(staging, tiles(), **options)
    staging.rename(path)
    return path


def make_stack_tiff(folder: Path, shape: tuple[int, ...]) -> Path:
    """Return an uncompressed OME-TIFF of five dimensions (uint16)."""
    import tifffile

    path = folder / f"stack-{'x'.join(map(str, shape))}.ome.tif"
    if path.is_file():
        return path
    noise = np.random.default_rng(0)
    y, x = np.mgrid[: shape[-2], : shape[-1]]
    planes = [200 + 100 * np.sin(y / 40) * np.cos(x / 60) + noise.poisson(8, shape[-2:]) for _ in range(4)]

    def pages() -> Iterator[NDArray[Any]]:
        for number in range(int(np.prod(shape[:-2]))):
            yield np.roll(planes[number % 4], 37 * number, axis=1).astype("uint16")

    staging = folder / "staging.ome.tif"
    sizes = {f"PhysicalSize{axis}": size for axis, size in {"Z": 1.0, "Y": 0.25, "X": 0.25}.items()}
    metadata = {"axes": "TCZYX", **sizes}
    tifffile.imwrite(staging, pages(), shape=shape, dtype="uint16", ome=True, bigtiff=True, metadata=metadata)
    staging.rename(path)
    return path


def make_czi(folder: Path, shape: tuple[int, ...]) -> Path:
    """Return a CZI file of five dimensions (uint16, uncompressed), written by the library of its makers."""
    from pylibCZIrw import czi

    path = folder / f"stack-{'x'.join(map(str, shape))}.czi"
    if path.is_file():
        return path
    noise = np.random.default_rng(0)
    y, x = np.mgrid[: shape[-2], : shape[-1]]
    smooth = 200 + 100 * np.sin(y / 40) * np.cos(x / 60)
    staging = folder / "staging.czi"
    staging.unlink(missing_ok=True)
    with czi.create_czi(str(staging)) as file:
        for t, c, z in np.ndindex(*shape[:3]):
            plane = (smooth + noise.poisson(8, shape[-2:])).astype("uint16")
            file.write(plane[..., None], plane={"T": t, "C": c, "Z": z})
        file.write_metadata("stack", scale_x=0.2e-6, scale_y=0.2e-6, scale_z=1e-6)
    staging.rename(path)
    return path


def decoded_size(tiff: Path) -> int:
    """Return the size of the decoded pixels of a TIFF, in bytes."""
    import tifffile

    with tifffile.TiffFile(tiff) as file:
        return file.series[0].nbytes


def make_plate(folder: Path, *, quick: bool) -> tuple[Path, int]:
    """Return the directory of a plate (4 fields in each well, 5 levels in each field), and its number of documents.

    Each field has another name and position, as on a microscope. There are no chunks: all pixels are the fill value.
    """
    rows, columns = ("AB", 3) if quick else ("ABCDEFGHIJKLMNOP", 24)
    root = folder / f"plate-{len(rows)}x{columns}.ome.zarr"
    names = [(row, str(column + 1)) for row in rows for column in range(columns)]
    plate = {
        "version": "0.5",
        "name": "a plate",
        "field_count": 4,
        "rows": [{"name": row} for row in rows],
        "columns": [{"name": str(column + 1)} for column in range(columns)],
        "wells": [
            {"path": f"{row}/{column}", "rowIndex": rows.index(row), "columnIndex": int(column) - 1}
            for row, column in names
        ],
    }
    documents = {"": _group({"plate": plate}), **{row: _group(None) for row in rows}}
    for number, (row, column) in enumerate(names):
        well = f"{row}/{column}"
        documents[well] = _group({"well": {"images": [{"path": str(field)} for field in range(4)]}})
        for field in range(4):
            documents[f"{well}/{field}"] = _group(_field(f"{well}/{field}", 2160.0 * field, 1e4 * number))
            for level in range(5):
                documents[f"{well}/{field}/{level}"] = _level(2160 >> level)
    if not root.is_dir():
        staging = root.with_suffix(".staging")
        for path, document in documents.items():
            (staging / path).mkdir(parents=True, exist_ok=True)
            (staging / path / "zarr.json").write_text(json.dumps(document, indent=2))
        staging.rename(root)
    return root, len(documents)


def make_wells(folder: Path, *, quick: bool) -> Path:
    """Return the directory of a plate whose wells have one field of 1024² pixels, all with the same chunks of 512²."""
    import zarr

    import ozx

    rows, columns = ("ABCD", 8) if quick else ("ABCDEFGH", 12)
    root = folder / f"wells-{len(rows)}x{columns}.ome.zarr"
    if root.is_dir():
        return root
    staging = root.with_suffix(".staging")
    names = [(row, str(column + 1)) for row in rows for column in range(columns)]
    plate = {
        "rows": [{"name": row} for row in rows],
        "columns": [{"name": str(column + 1)} for column in range(columns)],
        "wells": [
            {"path": f"{row}/{column}", "rowIndex": rows.index(row), "columnIndex": int(column) - 1}
            for row, column in names
        ],
    }
    field = zarr.open_group(staging / "field", mode="w")
    pixels = np.random.default_rng(1).poisson(200, (1024, 1024)).astype("uint16")
    field.create_array("0", shape=pixels.shape, dtype="uint16", chunks=(512, 512))[:] = pixels
    documents = {"": _group({"plate": plate}), **{row: _group(None) for row in rows}}
    for row, column in names:
        documents[f"{row}/{column}"] = _group({"well": {"images": [{"path": "0"}]}})
        shutil.copytree(staging / "field", staging / f"{row}/{column}/0")
    shutil.rmtree(staging / "field")
    for path, document in documents.items():
        (staging / path / "zarr.json").write_text(json.dumps(document, indent=2))
    staging.rename(root)
    ozx.pack(root, archive_of(root), force=True, sync=False)
    return root


def _group(ome: dict[str, object] | None) -> dict[str, object]:
    attributes = {} if ome is None else {"ome": {"version": "0.5", **ome}}
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def _field(name: str, y: float, x: float) -> dict[str, object]:
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "yx")]
    datasets = [
        {
            "path": str(level),
            "coordinateTransformations": [
                {"type": "scale", "scale": [1.0, 0.65 * 2**level, 0.65 * 2**level]},
                {"type": "translation", "translation": [0.0, y, x]},
            ],
        }
        for level in range(5)
    ]
    window = {"min": 0, "max": 65535, "start": 100, "end": 4000}
    channels = [
        {"active": True, "label": label, "color": color, "window": window}
        for label, color in (("DAPI", "0000FF"), ("GFP", "00FF00"), ("Cy5", "FF0000"))
    ]
    image = {"name": name, "type": "mean", "metadata": {"factor": 2}, "axes": axes, "datasets": datasets}
    return {"multiscales": [image], "omero": {"channels": channels}}


def _level(side: int) -> dict[str, object]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [3, side, side],
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, side, side]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
        "dimension_names": ["c", "y", "x"],
    }

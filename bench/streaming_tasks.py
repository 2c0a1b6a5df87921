"""Streaming tasks: ozx, acquire-zarr and ome-writers write equal frames, chunks, shards, codecs and levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker import Repeated

SIDE = 1024
CHUNK = 256
DEPTH = 32  # frames in a shard
LEVEL = 5  # compression level of blosc; ome-writers offers only this one
_DISTINCT = 8


def make_frames() -> list[Any]:
    """Return frames that look like cells: spots on a noisy background."""
    random = np.random.default_rng(0)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    spots = 800 * np.exp(-((rows % 128 - 64) ** 2 + (columns % 128 - 64) ** 2) / 800)
    return [(spots + random.poisson(100, (SIDE, SIDE))).astype("uint16") for _ in range(_DISTINCT)]


def ozx_stream(out: str, count: str, codec: str, has_levels: str) -> Repeated:
    """Return the task of streaming frames by `ozx.stream`."""
    import ozx

    frames = make_frames()
    ozx.stream  # noqa: B018 (imports the modules)

    def run() -> None:
        with ozx.stream(
            out,
            axes="tyx",
            shape=(None, SIDE, SIDE),
            dtype="uint16",
            codec="none" if codec == "plain" else f"blosc-lz4:{LEVEL}",
            chunks={"t": 1, "y": CHUNK, "x": CHUNK},
            shards={"t": DEPTH, "y": SIDE, "x": SIDE},
            downsample="y,x" if has_levels == "levels" else "none",
            sync=False,
        ) as stream:
            for number in range(int(count)):
                stream.append(frames[number % _DISTINCT])

    def verify(_: Any) -> None:
        group = ozx.open(out)
        assert len(list(group)) == (3 if has_levels == "levels" else 1)
        _compare(group["0"], frames, int(count))

    return Repeated(run, verify)


def acquire_stream(out: str, count: str, codec: str, has_levels: str) -> Repeated:
    """Return the task of streaming frames by acquire-zarr."""
    import acquire_zarr as acquire

    frames = make_frames()
    kinds, side = acquire.DimensionType, {"array_size_px": SIDE, "chunk_size_px": CHUNK}
    dimensions = [
        acquire.Dimension(name="t", kind=kinds.TIME, array_size_px=0, chunk_size_px=1, shard_size_chunks=DEPTH),
        acquire.Dimension(name="y", kind=kinds.SPACE, **side, shard_size_chunks=SIDE // CHUNK),
        acquire.Dimension(name="x", kind=kinds.SPACE, **side, shard_size_chunks=SIDE // CHUNK),
    ]
    array = acquire.ArraySettings(dimensions=dimensions, data_type=acquire.DataType.UINT16)
    if has_levels == "levels":
        array.downsampling_method = acquire.DownsamplingMethod.MEAN
    if codec == "lz4":
        array.compression = acquire.CompressionSettings(
            compressor=acquire.Compressor.BLOSC1, codec=acquire.CompressionCodec.BLOSC_LZ4, level=LEVEL, shuffle=1
        )

    def run() -> None:
        stream = acquire.ZarrStream(
            acquire.StreamSettings(arrays=[array], store_path=out, version=acquire.ZarrVersion.V3, overwrite=True)
        )
        for number in range(int(count)):
            stream.append(frames[number % _DISTINCT])
        stream.close()

    def verify(_: Any) -> None:
        import zarr

        found = zarr.open(out, mode="r")
        if isinstance(found, zarr.Group):
            assert len(list(found)) == (3 if has_levels == "levels" else 1)
            found = found["0"]
        _compare(found, frames, int(count))

    return Repeated(run, verify)


def ome_writers_stream(out: str, count: str, codec: str, backend: str) -> Repeated:
    """Return the task of streaming frames by ome-writers, which makes no smaller levels."""
    import ome_writers

    frames, side = make_frames(), {"count": SIDE, "chunk_size": CHUNK, "shard_size_chunks": SIDE // CHUNK}
    settings = ome_writers.AcquisitionSettings(
        root_path=out,
        dimensions=[
            ome_writers.Dimension(name="t", count=None, chunk_size=1, shard_size_chunks=DEPTH),
            ome_writers.Dimension(name="y", **side),
            ome_writers.Dimension(name="x", **side),
        ],
        dtype="uint16",
        format={"name": "ome-zarr", "backend": backend, "suffix": ""},
        compression="none" if codec == "plain" else "blosc-lz4",
        overwrite=True,
    )

    def run() -> None:
        with ome_writers.create_stream(settings) as stream:
            for number in range(int(count)):
                stream.append(frames[number % _DISTINCT])

    def verify(_: Any) -> None:
        import zarr

        _compare(zarr.open_group(out, mode="r")["0"], frames, int(count))

    return Repeated(run, verify)


def _compare(array: Any, frames: list[Any], count: int) -> None:
    assert array.shape == (count, SIDE, SIDE)
    assert array.shards == (DEPTH, SIDE, SIDE)
    assert array.chunks == (1, CHUNK, CHUNK)
    for start in range(0, count, DEPTH):
        for number, found in enumerate(array[start : start + DEPTH], start):
            assert np.array_equal(found, frames[number % _DISTINCT]), number

"""Tasks on stores: ozx, zarr-python and tensorstore read or write the same arrays; every block is compared."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from measuring import remove
from worker import Repeated

SIDE = 256  # pixels, of a chunk
PIECE = 2048  # pixels, of a plane: 8 MiB of uint16
PLANE = (2048, 16384)  # 64 MiB of uint16


def _instant_store(path: str) -> Any:
    """Return a store that keeps in memory all values that it has read: a lower limit for the time of any store."""
    import ozx

    class InstantStore(ozx.OzxStore):
        known: ClassVar[dict[Any, Any]] = {}

        async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
            if (key, byte_range) not in self.known:
                self.known[key, byte_range] = await super().get(key, prototype, byte_range)
            return self.known[key, byte_range]

        def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
            if (key, byte_range) not in self.known:
                self.known[key, byte_range] = super().get_sync(key, prototype=prototype, byte_range=byte_range)
            return self.known[key, byte_range]

    return InstantStore(path)


def _zarr_group(way: str, path: str) -> Any:
    import zarr
    from zarr.storage import LocalStore, ZipStore

    import ozx

    if way == "ozx":
        return ozx.open(path)
    opened: dict[str, Callable[[], Any]] = {
        "store": lambda: ozx.OzxStore(path),
        "instant": lambda: _instant_store(path),
        "zip": lambda: ZipStore(path, mode="r"),
        "local": lambda: LocalStore(path, read_only=True),
    }
    return zarr.open_group(opened[way](), mode="r")


def open_array(way: str, path: str, name: str) -> Callable[[tuple[slice, ...]], Any]:
    """Return a function that reads a region of an array."""
    if way.startswith("tensorstore"):
        import tensorstore

        base: dict[str, Any] = {"driver": "file", "path": f"{path}/{name}/"}
        if way == "tensorstore zip":
            base = {"driver": "zip", "base": {"driver": "file", "path": path}, "path": f"{name}/"}
        array = tensorstore.open({"driver": "zarr3", "kvstore": base}, open=True, read=True).result()
        return lambda region: array[region].read().result()
    array = _zarr_group(way, path)[name]
    return lambda region: array[region]


def inner_chunks(way: str, path: str, plain: str, count: str) -> Repeated:
    """Return the task of reading random inner chunks of the large shard from a store that is open and warm."""
    read = open_array(way, path, "shard")
    moments = random.Random(way)
    shape = _zarr_group("local", plain)["shard"].shape

    def anywhere() -> tuple[slice, slice]:
        y, x = (moments.randrange(length // SIDE) * SIDE for length in shape)
        return slice(y, y + SIDE), slice(x, x + SIDE)

    regions = [anywhere() for _ in range(int(count))]
    read(anywhere())
    return Repeated(lambda: [read(region) for region in regions], _compare(plain, "shard", regions), int(count))


def slices(way: str, path: str, plain: str, name: str) -> Repeated:
    """Return the task of reading an array plane by plane without keeping planes; the check reads them again."""
    read = open_array(way, path, name)
    height, width = _zarr_group("local", plain)[name].shape
    corners = [(y, x) for y in range(0, height, PIECE) for x in range(0, width, PIECE)]
    regions = [(slice(y, y + PIECE), slice(x, x + PIECE)) for y, x in corners]

    def run() -> None:
        for region in regions:
            read(region)

    def check(_: object) -> None:
        _compare(plain, name, regions)([read(region) for region in regions])

    run()
    return Repeated(run, check, len(regions))


def cuts(way: str, path: str, plain: str, name: str, count: str) -> Repeated:
    """Return the task of reading `count` regions of an array.

    The regions are planes of 8 MiB of ``lz4``, planes across an axis of ``volume``, or ``windows`` of 64² pixels.
    """
    name, _, axis = name.partition(" ")
    read, moments = open_array(way, path, name), random.Random(1)
    shape = _zarr_group("local", plain)[name].shape

    def region() -> tuple[slice, ...]:
        if axis:
            at = moments.randrange(shape[0])
            return tuple(slice(at, at + 1) if number == int(axis) else slice(0, n) for number, n in enumerate(shape))
        if name == "lz4":
            return tuple(slice(at, at + PIECE) for at in (moments.randrange(n // PIECE) * PIECE for n in shape))
        return tuple(slice(at, at + 64) for at in (moments.randrange(n - 64) for n in shape))

    regions = [region() for _ in range(int(count))]
    read(regions[0])
    return Repeated(lambda: [read(region) for region in regions], _compare(plain, name, regions), int(count))


def open_group(way: str, path: str, small: str) -> Repeated:
    """Return the task of opening a file with many entries and its image; opening a small file first does imports."""
    _zarr_group(way, small)

    def check(array: Any) -> None:
        assert array.shape[0] > 0

    return Repeated(lambda: _zarr_group(way, path)["0"], check)


def _plane(pixels: str) -> Any:
    noise = np.random.default_rng(2)
    if pixels == "random":
        return noise.integers(0, 65_536, PLANE, dtype="uint16")
    # Like pixels of a camera: a smooth image with the noise of the sensor.
    y, x = (np.linspace(0, 20, length) for length in PLANE)
    return (200 + 300 * (np.sin(y)[:, None] * np.cos(x) + 1) + noise.normal(0, 12, PLANE)).astype("uint16")


def _write_by_tensorstore(path: str, plane: Any, count: int, chunks: Any, shards: Any, *, is_packed: bool) -> None:
    import tensorstore

    codecs: list[Any] = [{"name": "bytes", "configuration": {"endian": "little"}}]
    codecs += [{"name": "zstd", "configuration": {"level": 0}}] if is_packed else []
    if shards:
        index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
        configuration = {"chunk_shape": list(chunks), "codecs": codecs, "index_codecs": index}
        codecs = [{"name": "sharding_indexed", "configuration": configuration}]
    metadata = {
        "shape": [count, *PLANE],
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shards or chunks)}},
        "codecs": codecs,
    }
    place = {"driver": "file", "path": f"{path}/0/", "file_io_sync": False}
    array = tensorstore.open({"driver": "zarr3", "kvstore": place, "metadata": metadata}, create=True).result()
    for number in range(count):
        plane[0, 0] = number
        array[number].write(plane).result()


def write(way: str, path: str, planes: str, kind: str, codec: str, pixels: str) -> Repeated:
    """Return the task of writing planes of 64 MiB, in shards of 64 MiB or in chunks of 2 MiB, and closing the store."""
    import zarr
    from zarr.codecs import ZstdCodec
    from zarr.storage import LocalStore

    import ozx

    plane = _plane(pixels)
    chunks, shards = ((1, 256, 256), (1, *PLANE)) if kind == "shards" else ((1, 1024, 1024), None)

    def fill(store: Any, count: int) -> None:
        group = zarr.open_group(store, mode="w", attributes={"ome": {"version": "0.5"}})
        options = {"chunks": chunks, "shards": shards, "dtype": "uint16"}
        options["compressors"] = ZstdCodec(level=0) if codec == "zstd" else None
        array = group.create_array("0", shape=(int(planes), *PLANE), **options)
        for number in range(count):
            plane[0, 0] = number
            array[number] = plane

    def write_to(path: str, count: int) -> None:
        if way == "local":
            fill(LocalStore(path), count)
        elif way == "tensorstore":
            _write_by_tensorstore(path, plane, count, chunks, shards, is_packed=codec == "zstd")
        else:
            with ozx.OzxStore(path, "w", sync=False) as store:
                store.brings_pipeline = way == "ozx"
                fill(store, count)

    write_to(f"{path}-before", 1)  # so that all imports are done before the timing
    remove(f"{path}-before")

    def check(_: object) -> None:
        if way == "tensorstore":
            array = zarr.open_array(f"{path}/0", mode="r")
            read = array.__getitem__
        else:
            read = open_array("local" if way == "local" else "zip", path, "0")
        for number in range(int(planes)):
            plane[0, 0] = number
            assert np.array_equal(read((slice(number, number + 1),))[0], plane), number

    return Repeated(lambda: write_to(path, int(planes)), check)


def append(path: str, small: str) -> Repeated:
    """Return the task of adding a label image to a file; adding one to a small file first does imports."""
    import zarr

    import ozx

    mask = np.ones((256, 256), "uint8")

    def add(path: str) -> None:
        with ozx.OzxStore(path, "a", sync=False) as store:
            zarr.open_group(store, mode="a").create_array("labels/cells", shape=mask.shape, dtype="uint8")[:] = mask

    add(small)

    def check(_: object) -> None:
        assert np.array_equal(open_array("zip", path, "labels/cells")((slice(None),)), mask)
        assert ozx.validate(path).valid

    return Repeated(lambda: add(path), check)


def copy(source: str, target: str) -> Callable[[], object]:
    """Return the task of copying a file by cp."""
    return lambda: subprocess.run(["cp", source, target], check=True)


def _compare(plain: str, name: str, regions: list[Any]) -> Callable[[Any], None]:
    def check(blocks: Any) -> None:
        expected = _zarr_group("local", plain)[name][:]
        for region, block in zip(regions, blocks, strict=True):
            assert np.array_equal(block, expected[region]), region

    return check

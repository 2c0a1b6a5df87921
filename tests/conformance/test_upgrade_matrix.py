"""Every compressor of Zarr v2 × order × data type × separator: the same values in v3, and the same encoded chunks."""

import itertools
import json
import warnings
import zlib

import numcodecs
import numpy as np
import pytest
import tensorstore
import zarr
from hierarchies import multiscales
from packed import values_of
from zarr.storage import ZipStore

import ozx

COMPRESSORS = {
    "none": None,
    "blosc -1": numcodecs.Blosc("lz4", 5, -1),
    "blosc 0": numcodecs.Blosc("zstd", 1, 0),
    "blosc 1": numcodecs.Blosc("zlib", 3, 1),
    "blosc 2": numcodecs.Blosc("lz4hc", 1, 2),
    "zstd": numcodecs.Zstd(3),
    "gzip": numcodecs.GZip(4),
    "zlib": numcodecs.Zlib(6),
    "bz2": numcodecs.BZ2(1),
    "lzma": numcodecs.LZMA(preset=1),
    "lz4": numcodecs.LZ4(),
}
RECODED = {"bz2", "lzma", "lz4", "filters"}
TYPES = ("|b1", "|u1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8")
SHAPE, CHUNKS = (21, 18), (8, 8)  # with edge chunks


def values(dtype, seed):
    noise = np.random.default_rng(seed)
    if dtype == "|b1":
        return noise.random(SHAPE) < 0.5
    data = noise.integers(0, 120, SHAPE).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        data = (data / 7).astype(dtype)
        data[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
    return data


def write_source(root, names, types, order, separator):
    """Write an OME-Zarr 0.4 image and an array for each of `names` × `types` beside it; return their values."""
    root.mkdir()
    (root / ".zgroup").write_text('{"zarr_format": 2}')
    (root / ".zattrs").write_text(json.dumps({"multiscales": multiscales("yx", "0", version="0.4")}))
    expected = {}
    for number, (name, dtype) in enumerate([("none", "<u2"), *itertools.product(names, types)]):
        filters = [numcodecs.Delta(dtype)] if name == "filters" else None
        data = values(dtype, number)
        with warnings.catch_warnings(action="ignore"):
            array = zarr.create_array(
                root, name=str(number), shape=SHAPE, chunks=CHUNKS, dtype=dtype, zarr_format=2, order=order,
                compressors=COMPRESSORS.get(name), filters=filters, fill_value=number % 2,
                chunk_key_encoding={"name": "v2", "separator": separator},
            )  # fmt: skip
            array[:] = data
            if number % 3 == 0:  # a chunk that is missing
                array[8:16, 8:16] = data[8:16, 8:16] = number % 2
        expected[str(number)] = (name, data)
    return expected


def check(tmp_path, names, types, order, separator, shards):
    root = tmp_path / "old.zarr"
    expected = write_source(root, names, types, order, separator)
    result = ozx.repack(root, tmp_path / "a.ozx", shards=shards)
    assert ozx.validate(tmp_path / "a.ozx").valid
    ozx.unpack(tmp_path / "a.ozx", tmp_path / "new")
    group = zarr.open_group(ZipStore(tmp_path / "a.ozx", mode="r"), mode="r")
    stored = values_of(ozx.repack(tmp_path / "a.ozx", tmp_path / "b.ozx", shards="none", chunk_checksums="keep").path)
    treatments = {array.path: array.treatment for array in result.arrays}
    for path, (name, data) in expected.items():
        array = group[path]
        assert array.metadata.zarr_format == 3
        assert (array.shards is not None) == (shards == "auto")
        found = array[:]
        kvstore = {"driver": "file", "path": f"{tmp_path}/new/{path}/"}
        judged = tensorstore.open({"driver": "zarr3", "kvstore": kvstore}).result().read().result()
        for values in (found, judged):
            assert values.dtype == data.dtype.newbyteorder("="), (name, data.dtype)
            assert values.tobytes() == data.astype(values.dtype).tobytes(), (name, data.dtype)
        if path in treatments:
            assert treatments[path] == {"zlib": "zlib_to_gzip"}.get(name, "transcoded" if name in RECODED else "moved")
        if name not in RECODED:
            chunks = encoded(root / path, separator, name, checksummed=shards == "auto")
            assert sorted(stored[key] for key in stored if key.startswith(f"{path}/c/")) == sorted(chunks), name


def encoded(folder, separator, name, *, checksummed):
    """Yield every chunk of an array of Zarr v2: of zlib's as gzip, in shards with the CRC-32C behind."""
    for chunk in folder.rglob("*" if separator == "/" else "*.*"):
        if chunk.is_file() and not chunk.name.startswith("."):
            data = chunk.read_bytes()
            if name == "zlib":
                plain = zlib.decompress(data)
                head = bytes.fromhex("1f8b08000000000000ff")
                tail = zlib.crc32(plain).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
                data = head + data[2:-4] + tail
            if checksummed:
                data = numcodecs.CRC32C(location="end").encode(data)
            yield bytes(data)


@pytest.mark.parametrize("shards", ["keep", "auto"])
def test_each_compressor_and_each_type_once(tmp_path, shards):
    check(tmp_path, [*COMPRESSORS, "filters"], ["<u2"], "F", ".", shards)


def test_each_type_once(tmp_path):
    check(tmp_path, ["blosc -1"], TYPES, "C", "/", "auto")


@pytest.mark.ci
@pytest.mark.parametrize("shards", ["keep", "auto"])
@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_everything_with_everything(tmp_path, order, separator, shards):
    check(tmp_path, COMPRESSORS, TYPES, order, separator, shards)

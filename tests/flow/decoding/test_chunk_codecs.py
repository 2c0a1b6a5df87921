"""The codecs of an array as functions: zarr-python decodes what they encode, and they decode what it encodes."""

import pickle
import warnings

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.storage import MemoryStore

from ozx.flow.decoding.chunk_codecs import ChunkCodec, compile_metadata

SHAPE = (6, 8)
CHAINS = {
    "bytes": {"compressors": None},
    "big-endian": {"serializer": BytesCodec(endian="big"), "compressors": None},
    "zstd": {"compressors": ZstdCodec(level=3)},
    "zstd with its checksum": {"compressors": ZstdCodec(level=1, checksum=True)},
    "gzip": {"compressors": GzipCodec(level=1)},
    "blosc": {"compressors": BloscCodec(cname="lz4", shuffle="shuffle")},
    "blosc of bits": {"compressors": BloscCodec(cname="zstd", shuffle="bitshuffle")},
    "checksum": {"compressors": Crc32cCodec()},
    "checksums around": {"compressors": [Crc32cCodec(), ZstdCodec(), Crc32cCodec()]},
    "transposed": {"filters": TransposeCodec(order=(1, 0)), "compressors": ZstdCodec()},
}


def created(**chain: object) -> tuple[zarr.Array, MemoryStore]:
    store = MemoryStore()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zarr.create_array(store, shape=SHAPE, chunks=SHAPE, dtype="i2", **chain), store


@pytest.mark.parametrize("name", CHAINS)
def test_zarr_and_we_understand_each_other(name: str) -> None:
    array, store = created(**CHAINS[name])
    pixels = np.arange(48, dtype="i2").reshape(SHAPE) - 20
    array[:] = pixels
    codec = compile_metadata(array.metadata)
    assert codec is not None
    np.testing.assert_array_equal(codec.decode(memoryview(store._store_dict["c/0/0"].to_bytes())), pixels)
    encoded = bytes(pickle.loads(pickle.dumps(codec)).encode(pixels[::-1]))
    store._store_dict["c/0/0"] = type(store._store_dict["c/0/0"]).from_bytes(encoded)
    np.testing.assert_array_equal(array[:], pixels[::-1])


@pytest.mark.parametrize("chain", [{"serializer": ShardingCodec(chunk_shape=(3, 4)), "compressors": None}])
def test_shards_are_no_chunks(chain: dict[str, object]) -> None:
    assert compile_metadata(created(**chain)[0].metadata) is None


def test_more_data_than_a_chunk_can_have() -> None:
    codec = ChunkCodec((2,), np.dtype("u1"), (0,))
    with pytest.raises(ValueError, match="expected at most"):
        codec.decode_bounded(memoryview(bytes(4 << 20)))

"""Encoded chunks, decoded by zarr."""

import pickle

import google_crc32c
import numpy as np
import pytest
import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

from ozx.errors import UnsupportedError
from ozx.hierarchy.json.reading import dump_document
from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.writing.array_layout import NewArray, lay_out
from ozx.images.writing.chunk_encoding import ChunkEncoder

AXES = (Axis("y", "space", None), Axis("x", "space", None))
CODECS = ["none", "zstd:1", "zstd:-3", "gzip:6", "blosc-lz4:5", "blosc-zstd:1", "blosc-lz4hc:9", "blosc-zlib"]
DTYPES = ["bool", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def document(dtype, codec, shape=(40, 30)):
    array = NewArray(shape, np.dtype(dtype), AXES, (1, 1))
    return lay_out({"": array}, LayoutChoice.parse(codec=codec))[""]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("codec", CODECS)
def test_zarr_decodes_what_is_encoded(dtype, codec):
    described = document(dtype, codec)
    pixels = np.random.default_rng(0).integers(0, 99, (40, 30)).astype(dtype)
    encoder = pickle.loads(pickle.dumps(ChunkEncoder(described)))
    encoded = encoder.encode(pixels)
    assert encoder.encode(pixels.copy()) == encoded
    from_bytes = default_buffer_prototype().buffer.from_bytes
    store = MemoryStore({"zarr.json": from_bytes(dump_document(described)), "c/0/0": from_bytes(encoded)})
    array = zarr.open_array(store, mode="r")
    assert array.dtype == dtype
    np.testing.assert_array_equal(array[:], pixels)


def test_big_endian_and_strided_pixels():
    encoder = ChunkEncoder(document("uint16", "none", (2, 2)))
    wide = np.arange(8, dtype=">u2").reshape(2, 4)
    assert encoder.encode(wide[:, ::2]) == np.array([0, 2, 4, 6], "<u2").tobytes()


def test_zeros_are_left_out_and_minus_zero_is_not():
    encoder = ChunkEncoder(document("float32", "none", (2, 2)))
    assert encoder.encode(np.zeros((2, 2), "f4")) is None
    assert encoder.encode(np.zeros((1, 2), "f4")) is None
    assert encoder.encode(np.array([[0, 0], [0, -0.0]], "f4")) is not None
    assert encoder.encode(np.array([[0, 0], [0, 1]], "f4")) is not None


def test_other_codecs_are_refused():
    described = document("uint16", "none")
    with pytest.raises(UnsupportedError, match="one compressor"):
        ChunkEncoder({**described, "codecs": [*described["codecs"], {"name": "zstd"}, {"name": "gzip"}]})
    with pytest.raises(UnsupportedError, match=r"'numcodecs\.bz2'"):
        ChunkEncoder({**described, "codecs": [*described["codecs"], {"name": "numcodecs.bz2"}]}).encode(
            np.ones((40, 30))
        )


@pytest.mark.parametrize("codec", ["none", "zstd", "gzip", "blosc-zstd"])
def test_a_checksum_stands_behind_the_bytes(codec):
    described = document("uint16", codec)
    pixels = np.arange(40 * 30).reshape(40, 30)
    plain = ChunkEncoder(described).encode(pixels)
    summed = ChunkEncoder({**described, "codecs": [*described["codecs"], {"name": "crc32c"}]}).encode(pixels)
    assert summed == plain + google_crc32c.value(plain).to_bytes(4, "little")

"""Tiles as they are stored."""

import imagecodecs
import numpy as np
import pytest
from tiffs import pixels

from ozx.errors import UsageError
from ozx.images.ome_tiff.tile_encoding import COMPRESSIONS, TileEncoding, parse_compression

DECODERS = {
    "zlib": imagecodecs.zlib_decode,
    "zstd": imagecodecs.zstd_decode,
    "lzw": imagecodecs.lzw_decode,
    "none": bytes,
}


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("dtype", ["u1", ">u2", "i4", "f4", ">f8"])
@pytest.mark.parametrize("shape", [(16, 32), (5, 32), (16, 7), (1, 1)])
def test_tiles_are_little_endian_padded_and_never_larger_than_is_said(compression, dtype, shape):
    encoding = TileEncoding(compression, (16, 32))
    values = pixels((40, 40), np.dtype(dtype).newbyteorder("=")).astype(dtype)[3 : 3 + shape[0], 2 : 2 + shape[1]]
    data = encoding.encode(values)
    assert len(data) <= encoding.size(values.dtype)
    tile = np.frombuffer(DECODERS[compression](data), values.dtype.newbyteorder("<")).reshape(16, 32)
    if encoding.has_predictor(values.dtype):
        tile = np.cumsum(tile, axis=1, dtype=tile.dtype)
    np.testing.assert_array_equal(tile[: shape[0], : shape[1]], values)
    assert not tile[shape[0] :].any()
    assert not tile[:, shape[1] :].any()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_noise_takes_no_more_than_is_said(compression):
    noise = np.random.default_rng(0).integers(0, 256, (512, 512), "uint8")
    encoding = TileEncoding(compression, (512, 512))
    assert len(encoding.encode(noise)) <= encoding.size(noise.dtype)


def test_unknown_compressions():
    with pytest.raises(UsageError, match="one of zlib, zstd, lzw, none; got 'lzma'"):
        parse_compression("lzma")

"""Settings that writers leave out, or that the compressors themselves draw into their limits."""

import pytest

from ozx.hierarchy.zarr_v2.codecs import upgrade_compression


def settings(compressor, item_size=2):
    (codec,) = upgrade_compression(compressor, None, item_size).codecs
    return codec["configuration"]


def test_defaults_are_those_of_numcodecs():
    assert settings({"id": "zstd"}) == {"level": 0, "checksum": False}
    assert settings({"id": "gzip"}) == {"level": 1}
    assert settings({"id": "zlib"}) == {"level": 1}
    assert settings({"id": "blosc"}) == {
        "typesize": 2, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("compressor", "key", "wanted"),
    [
        ({"id": "zlib", "level": -1}, "level", 6),
        ({"id": "gzip", "level": 12}, "level", 9),
        ({"id": "zstd", "level": 99}, "level", 22),
        ({"id": "blosc", "clevel": 10}, "clevel", 9),
    ],
)
def test_settings_beyond_their_limits(compressor, key, wanted):
    assert settings(compressor)[key] == wanted


def test_keeping_needs_a_configuration_that_is_known():
    found = upgrade_compression({"id": "imagecodecs_jpeg2k"}, [], 2, keep_numcodecs=True)
    assert found.treatment == "transcode"
    assert "imagecodecs_jpeg2k" in found.notes[0]
    kept = upgrade_compression({"id": "lz4", "acceleration": 2}, [{"id": "shuffle", "elementsize": 2}], 2,
                               keep_numcodecs=True)  # fmt: skip
    assert kept.codecs == (
        {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
        {"name": "numcodecs.lz4", "configuration": {"acceleration": 2}},
    )

from functools import partial

import imagecodecs
import numpy as np
import pytest

from ozx.codecs.chunk_codecs import compile_codecs
from ozx.codecs.joined_chunks import JoinedChunk, decoding, put_joined

_SHAPE = (8, 16)
_ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
_BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
# RFC 8878, 3.1.2: a frame that a decoder skips.
_SKIPPABLE = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"


def _codec(*before, after=(), dtype="u2"):
    return compile_codecs([*before, _BYTES, _ZSTD, *after], _SHAPE, np.dtype(dtype))


def _chunks(count):
    return np.random.default_rng(0).integers(0, 9, (count, *_SHAPE)).astype("u2")


def _frame(pixels):
    return bytes(imagecodecs.zstd_encode(pixels.tobytes(), level=1))


def _put(codec, frames, inside=None, verified=None):
    shape = codec.shape if inside is None else np.empty(codec.shape)[inside].shape
    targets = np.full((len(frames), *shape), 99, "u2")
    chunks = [JoinedChunk(codec, inside, target, verified) for target in targets]
    put_joined([(chunk, memoryview(frame)) for chunk, frame in zip(chunks, frames, strict=True)])
    return targets


def test_many_chunks_are_decoded_as_each_alone():
    pixels = _chunks(5000)  # of 256 bytes: several calls of the decompressor
    assert np.array_equal(_put(_codec(), [_frame(each) for each in pixels]), pixels)


@pytest.mark.parametrize("inside", [(slice(2, 5), slice(0, 16, 3)), (slice(0, 1), slice(15, 16))])
def test_only_the_part_is_copied(inside):
    pixels = _chunks(20)
    assert np.array_equal(_put(_codec(), [_frame(each) for each in pixels], inside), pixels[:, *inside])


def test_transposed_chunks_with_checksums():
    transpose, crc32c = {"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "crc32c"}
    codec, pixels = _codec(transpose, after=[crc32c]), _chunks(20)
    frames = [bytes(codec.encode(each, partial(np.empty, dtype=np.uint8))) for each in pixels]
    assert np.array_equal(_put(codec, frames), pixels)
    frames[7] = frames[7][:-1] + bytes([frames[7][-1] ^ 1])
    with pytest.raises(ValueError, match="CRC-32C"):
        _put(codec, frames)


def test_other_frames_are_decoded_too():
    pixels = _chunks(4)
    unknown_length = imagecodecs.zstd_encode(pixels[1].tobytes(), level=19)
    frames = [_frame(pixels[0]), unknown_length, _SKIPPABLE + _frame(pixels[2]), _frame(pixels[3]) + _SKIPPABLE]
    assert np.array_equal(_put(_codec(), frames), pixels)


def test_frames_that_only_together_have_the_right_length_are_refused():
    pixels = _chunks(2).reshape(-1)
    frames = [_frame(pixels[:120]), _frame(pixels[120:])]
    with pytest.raises(ValueError, match="expected 256 bytes; the data decode to 240"):
        _put(_codec(), frames)


def test_a_frame_that_hides_behind_another_is_refused():
    pixels = _chunks(3)
    first, second, third = map(_frame, pixels)
    with pytest.raises(ValueError, match=r"256 bytes|damaged"):
        _put(_codec(), [first + second, third[:7]])


@pytest.mark.parametrize("number", range(40))
def test_damage_gives_an_error_or_the_pixels_of_the_chunk_alone(number):
    random, codec = np.random.default_rng(number), _codec()
    frames = [bytearray(_frame(each)) for each in _chunks(6)]
    damaged = frames[int(random.integers(6))]
    damaged[int(random.integers(len(damaged)))] ^= int(random.integers(1, 256))
    try:
        alone = [codec.decode(memoryview(frame)).copy() for frame in frames]
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            _put(codec, frames)
    else:
        assert np.array_equal(_put(codec, frames), alone)


def test_each_value_is_verified():
    def fail(_):
        raise OSError("changed")

    with pytest.raises(OSError, match="changed"):
        _put(_codec(), [_frame(each) for each in _chunks(2)], verified=fail)


@pytest.mark.parametrize(
    ("codecs", "is_joined"), [([_BYTES, _ZSTD], True), ([_BYTES], False), ([_BYTES, {"name": "crc32c"}, _ZSTD], False)]
)
def test_only_frames_of_zstd_are_joined(codecs, is_joined):
    codec = compile_codecs(codecs, _SHAPE, np.dtype("u2"))
    assert isinstance(decoding(codec, None, np.empty(_SHAPE, "u2")), JoinedChunk) is is_joined

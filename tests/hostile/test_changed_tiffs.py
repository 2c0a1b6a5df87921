"""TIFF files whose tags were changed: `ozx import` reads them or says what is wrong, and has no fault."""

import random
import struct

import numpy as np
import pytest
import tifffile
from every_verb import answer_of

SIDES = (256, 257)  # TIFF 6.0, "ImageWidth" and "ImageLength"
TAGS = (0, 254, 256, 257, 258, 259, 262, 270, 273, 277, 278, 279, 284, 322, 323, 324, 325, 339, 65535)
NUMBERS = (0, 1, 2, 3, 4, 5, 12, 16, 255, 65535, 1 << 31, (1 << 32) - 1)
PIXELS = np.arange(64 * 64, dtype="uint8").reshape(64, 64)
KINDS = {
    "plain": {"data": PIXELS},
    "tiled": {"data": np.stack([PIXELS] * 3, axis=-1), "tile": (16, 16), "compression": "zlib"},
    "OME": {"data": np.stack([PIXELS] * 6).reshape(2, 3, 64, 64), "ome": True, "metadata": {"axes": "ZCYX"}},
    "ImageJ": {"data": np.stack([PIXELS] * 3), "imagej": True},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiffs")
    for name, options in KINDS.items():
        tifffile.imwrite(folder / f"{name}.tif", **options)
    return {name: (folder / f"{name}.tif").read_bytes() for name in KINDS}


def entries(data):
    """Return where the entries of the first directory are: tag, type, count and value of 12 bytes each."""
    (offset,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, offset)
    return [offset + 2 + 12 * number for number in range(count)]


def imported(path, data):
    path.write_bytes(data)
    return answer_of(["import", str(path), str(path.with_suffix(".ozx")), "--no-sync", "--force"])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("tag", SIDES)
def test_a_side_of_no_pixels(tmp_path, files, name, tag):
    data = bytearray(files[name])
    (at,) = (at for at in entries(data) if struct.unpack_from("<H", data, at)[0] == tag)
    struct.pack_into("<I", data, at + 8, 0)
    code, message = imported(tmp_path / "in.tif", data)
    assert code == 1
    assert message.startswith("error: ")
    assert not [word for word in ("modulo", "operand", "NoneType", "fault of ozx") if word in message]


@pytest.mark.ci
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", [2, 5, 6, 8, 9, 10, 11, 12, 13, 16, 17, 99], ids="type {}".format)
@pytest.mark.parametrize("tag", [273, 324, 279, 325, 256, 257])
def test_tags_of_another_type(tmp_path, files, name, kind, tag):
    data = bytearray(files[name])
    for at in entries(data):
        if struct.unpack_from("<H", data, at)[0] == tag:
            struct.pack_into("<HI", data, at + 2, kind, 1)
            struct.pack_into("<i", data, at + 8, -8)
    code, message = imported(tmp_path / "in.tif", data)
    assert code in (0, 1), message
    assert "unsupported operand" not in message
    assert "not supported between" not in message
    assert ": \n" not in message


def test_refusals_have_a_reason(tmp_path, files, monkeypatch):
    def fail(_):
        raise AssertionError

    monkeypatch.setattr("ozx.readers.tiff.opening.list_series", fail)
    code, message = imported(tmp_path / "in.tif", files["OME"])
    assert code == 1
    assert "cannot be divided into images: a value of the wrong kind (AssertionError)\n" in message


def check(numbers, seed, files, path):
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        data = bytearray(files[rng.choice(sorted(files))])
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.choice(entries(files["plain"]) if rng.random() < 0.1 else entries(data))
            field = rng.choice((0, 2, 4, 8))
            if at + 12 > len(data):
                continue
            if field < 4:
                struct.pack_into("<H", data, at + field, rng.choice(TAGS if field == 0 else range(20)))
            else:
                struct.pack_into("<I", data, at + field, rng.choice((*NUMBERS, len(data), rng.randrange(len(data)))))
        try:
            entries(data)
        except struct.error:
            continue
        code, message = imported(path, data)
        assert code in (0, 1), (number, code, message)
        assert "operand" not in message, (number, message)


def test_changed_tags(tmp_path, files):
    check(range(60), "fast", files, tmp_path / "in.tif")


@pytest.mark.ci
def test_many_changed_tags(tmp_path, files):
    check(range(600), "ci", files, tmp_path / "in.tif")

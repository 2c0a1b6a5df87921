"""Fill values that zarr-python does not write, but other programs do."""

import base64
import struct

import pytest

from ozx.hierarchy.zarr_v2.arrays import upgrade_fill_value
from ozx.hierarchy.zarr_v2.documents import upgrade_data_type


def upgraded(value, dtype):
    return upgrade_fill_value(value, upgrade_data_type(dtype))


@pytest.mark.parametrize(
    ("dtype", "value", "wanted"),
    [
        ("<u2", "12", 12),
        ("<u2", True, 1),
        ("<i4", "-3", -3),
        ("<f4", "0.5", 0.5),
        ("<f4", float("nan"), "NaN"),  # a bare NaN, which Python's json reads
        ("<f2", 1e6, "Infinity"),
        ("<f4", -1e300, "-Infinity"),
        ("<f4", 0.1, 0.1),
        ("<c8", 0, [0.0, 0.0]),
        ("<c8", "NaN", ["NaN", 0.0]),
        ("<c16", [1e300, 2], [1e300, 2.0]),
    ],
)
def test_other_forms(dtype, value, wanted):
    found = upgraded(value, dtype)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    ("code", "number", "wanted"),
    [
        ("e", 0x7E00, "NaN"),
        ("e", 0xFE01, "0xfe01"),
        ("f", 0x7FC00000, "NaN"),
        ("f", 0x7F800001, "0x7f800001"),
        ("f", 0x3F800000, 1.0),
        ("f", 0xFF800000, "-Infinity"),
        ("d", 0x7FF8000000000000, "NaN"),
        ("d", 0x7FF800000000BEEF, "0x7ff800000000beef"),
    ],
)
def test_raw_bytes_keep_every_bit(order, code, number, wanted):
    size = struct.calcsize(code)
    raw = number.to_bytes(size, "little" if order == "<" else "big")
    assert upgraded(base64.b64encode(raw).decode(), f"{order}f{size}") == wanted
    if size > 2:
        both = upgraded(base64.b64encode(raw + bytes(size)).decode(), f"{order}c{2 * size}")
        assert both == [wanted, 0.0]


@pytest.mark.parametrize("value", ["AQ==", "AQDA*w==", "AQDAfw"])
def test_no_raw_bytes_of_one_item(value):
    with pytest.raises(ValueError, match="float32"):
        upgraded(value, "<f4")

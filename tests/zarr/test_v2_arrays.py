"""Arrays of Zarr v2, written by zarr-python, have the same values as Zarr v3 for zarr-python and tensorstore."""

import base64
import json
import struct

import numcodecs
import numpy as np
import pytest
import tensorstore
from upgrades import bits, read_tensorstore, read_zarr, upgrade_values, write_v2

from ozx.errors import FormatError, UnsupportedError
from ozx.zarr.v2_arrays import parse_v2_layout, upgrade_array, upgrade_compression, upgrade_fill_value
from ozx.zarr.v2_documents import parse_v2_array, parse_v2_dtype, upgrade_data_type

CORE_TYPES = ["|b1", "|i1", "|u1", *(f"{order}{kind}" for order in "<>" for kind in (
    "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
))]  # fmt: skip
RECODE = {"bz2": numcodecs.BZ2(level=1), "lzma": numcodecs.LZMA(preset=1), "lz4": numcodecs.LZ4(acceleration=1)}
DOCUMENT = {
    "zarr_format": 2, "shape": [5, 7], "chunks": [3, 4], "dtype": "<u2", "compressor": None, "fill_value": 0,
    "order": "C", "filters": None,
}  # fmt: skip


def values_of(dtype, shape=(5, 7)) -> np.ndarray:
    """Return values with every bit pattern there is room for, NaNs with payloads among them."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return (np.arange(count) % 3 == 0).reshape(shape)
    if dtype.kind == "U":
        return np.array([chr(0x61 + i) * (i % 4) for i in range(count)], dtype=dtype).reshape(shape)
    raw = np.random.default_rng(7).integers(0, 256, count * dtype.itemsize, np.uint8).tobytes()
    return np.frombuffer(raw, dtype.newbyteorder("<")).reshape(shape)


def upgrade_document(**changes):
    return upgrade_array({**DOCUMENT, **changes})


def check(data, values, *, by_tensorstore=True, **options):
    upgraded, moved = upgrade_values(values, **options)
    expected = bits(read_zarr(values, zarr_format=2))
    assert bits(read_zarr(moved)) == expected
    if by_tensorstore:
        assert bits(read_tensorstore(moved)) == expected
    if data is not None:
        assert expected == bits(data)
    return upgraded, moved


@pytest.mark.parametrize("name", RECODE)
def test_chunks_stay_where_numcodecs_names_are_wanted(name):
    data = values_of("<f4")
    values = write_v2(data, chunks=(3, 4), order="F", compressors=RECODE[name])
    upgraded, moved = check(data, values, keep_numcodecs=True, by_tensorstore=False)
    assert upgraded.treatment == "verbatim"
    assert moved["c/0/1"] == values["0.1"]
    assert f"numcodecs.{name}" in [codec["name"] for codec in upgraded.document["codecs"]]
    assert "zarr-python" in upgraded.notes[0]


FILLS = [
    ("|b1", [True, False, 0, 1, 0.0]),
    ("|i1", [-128, 127, 0.0]),
    ("<u2", [0, 65535, 7.0]),
    (">i8", [-(2**63), 2**63 - 1]),
    ("<u8", [2**64 - 1, 2**53 + 1]),
    *((kind, [0, 0.1, -0.0, 3, "NaN", "Infinity", "-Infinity"]) for kind in ("<f2", ">f4", "<f8")),
    ("<f8", [1.7976931348623157e308, 5e-324, 2**70]),
    ("<c8", [[0.5, -1], ["NaN", "Infinity"], [-0.0, 0.0]]),
    (">c16", [[0.1, "-Infinity"]]),
    ("<U3", ["", "abc", "µ"]),
    ("<M8[ns]", [0, -1, "NaT", -(2**63)]),
    ("<m8[10s]", [12, "NaT"]),
]


@pytest.mark.parametrize(("dtype", "fill"), [(dtype, fill) for dtype, fills in FILLS for fill in fills])
def test_fill_values_where_chunks_are_missing(dtype, fill):
    values = write_v2(values_of(dtype), chunks=(3, 4), dtype=dtype, missing=("0.0", "1.1"))
    document = json.loads(values[".zarray"])
    values[".zarray"] = json.dumps({**document, "fill_value": fill}).encode()
    upgraded, _ = check(None, values, by_tensorstore=dtype in CORE_TYPES)
    assert not upgraded.null_fill
    assert upgraded.notes == ()


@pytest.mark.parametrize("dtype", [types for types, _ in FILLS])
def test_no_fill_value(dtype):
    data = values_of(dtype)
    values = write_v2(data, chunks=(3, 4), dtype=dtype)
    values[".zarray"] = json.dumps({**json.loads(values[".zarray"]), "fill_value": None}).encode()
    upgraded, moved = check(data, values, by_tensorstore=dtype in CORE_TYPES)
    assert upgraded.null_fill
    assert "null" in upgraded.notes[0]
    del moved["c/0/0"]
    zero = np.zeros((), read_zarr(moved).dtype)
    assert read_zarr(moved)[0, 0] == zero


@pytest.mark.parametrize("compressor", [
    None, {"id": "zlib", "level": 1}, {"id": "zstd", "level": 1}, {"id": "blosc", "cname": "lz4", "shuffle": -1},
])  # fmt: skip
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["|b1", ">u2", "<f4"])
def test_arrays_that_tensorstore_writes(dtype, order, compressor):
    data = values_of(dtype)
    metadata = {"compressor": compressor, "dtype": dtype, "order": order, "shape": [5, 7], "chunks": [3, 4],
                "fill_value": None, "filters": None}  # fmt: skip
    context = tensorstore.Context()
    spec = {"driver": "zarr", "kvstore": "memory://", "metadata": metadata}
    tensorstore.open(spec, create=True, context=context).result().write(data.astype(data.dtype)).result()
    stored = tensorstore.KvStore.open("memory://", context=context).result()
    values = {key.decode(): bytes(stored[key]) for key in stored.list().result()}
    upgraded, _ = check(data, values)
    assert upgraded.null_fill


@pytest.mark.parametrize("order", "<>")
def test_a_nan_with_a_payload_fills_missing_chunks(order):
    raw = np.array([0x7FC0BEEF], f"{order}u4").tobytes()
    document = {**DOCUMENT, "dtype": f"{order}f4", "fill_value": base64.b64encode(raw).decode()}
    _, moved = upgrade_values({".zarray": json.dumps(document).encode()})
    assert bits(read_zarr(moved)) == bits(read_tensorstore(moved)) == b"\xef\xbe\xc0\x7f" * 35


def test_scalars_of_xarray_have_no_names_to_give():
    values = write_v2(np.float32(3), chunks=(), attributes={"_ARRAY_DIMENSIONS": []})
    upgraded, _ = check(np.float32(3), values)
    assert upgraded.document["dimension_names"] == []
    assert upgraded.document["attributes"] == {}


def test_names_of_xarray():
    def names(found, wanted=None):
        upgraded = upgrade_array(DOCUMENT, {"_ARRAY_DIMENSIONS": found, "a": 1}, wanted)
        document = upgraded.document
        return document.get("dimension_names"), document["attributes"], upgraded.notes

    assert names(["y", "x"]) == (["y", "x"], {"a": 1}, ())
    assert names(["y", "x"], ["y", "x"]) == (["y", "x"], {"a": 1}, ())
    found, attributes, notes = names(["a", "b"], ["y", "x"])
    assert (found, attributes) == (["y", "x"], {"a": 1})
    assert "a, b" in notes[0]
    assert "y, x" in notes[0]
    for useless in (["y"], ["x", "x"], "yx", [1, 2]):
        found, attributes, notes = names(useless)
        assert (found, attributes) == (None, {"_ARRAY_DIMENSIONS": useless, "a": 1})
        assert "stays" in notes[0]
        assert names(useless, ["y", "x"])[:2] == (["y", "x"], attributes)


def test_attributes_that_are_no_json():
    attributes = {"range": [float("nan"), {"max": float("inf")}], "a": 1.0}
    upgraded = upgrade_array(DOCUMENT, attributes)
    assert upgraded.document["attributes"] == {"range": ["NaN", {"max": "Infinity"}], "a": 1.0}
    assert "NaN" in upgraded.notes[0]
    assert attributes["range"][1] == {"max": float("inf")}


def test_fields_of_others_are_dropped_and_told():
    upgraded = upgrade_document(_NCZARR_ARRAY={"storage": "chunked"}, shards=None)
    assert upgraded.document == upgrade_document().document
    assert [note.partition(":")[0] for note in upgraded.notes] == ["_NCZARR_ARRAY", "shards"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dtype": [["x", "<i4"], ["y", "<f4"]]}, "structured"),
        ({"dtype": "|O", "filters": [{"id": "vlen-utf8"}]}, "objects"),
        ({"dtype": "|S5"}, "byte strings"),
        ({"dtype": "|V3"}, "raw bytes"),
        ({"dtype": "<f16"}, "<f16"),
        ({"dtype": "bfloat16"}, "bfloat16"),
        ({"dtype": "<U0"}, "<U0"),
        ({"dtype": "<M8[fortnight]"}, "fortnight"),
        ({"compressor": {"id": "blosc", "cname": "snappy"}}, "snappy"),
        ({"shards": [2, 2]}, "shards"),
    ],
)
def test_what_zarr_v3_has_nothing_for_is_refused_by_name(changes, said):
    with pytest.raises(UnsupportedError, match=said) as refusal:
        upgrade_document(**changes)
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"zarr_format": 3}, "zarr_format"),
        ({"order": "A"}, "order"),
        ({"dimension_separator": ":"}, "dimension_separator"),
        ({"shape": [-1, 7]}, "shape"),
        ({"chunks": [3]}, "chunks"),
        ({"chunks": [0, 4]}, "at least 1"),
        ({"chunks": True}, "chunks"),
        ({"dtype": None}, "dtype"),
        ({"dtype": "|u2"}, "byte order"),
        ({"filters": {"id": "delta"}}, "filters"),
        ({"filters": [{"name": "delta"}]}, "id"),
        ({"compressor": "zlib"}, "id"),
        ({"compressor": {"id": "gzip", "level": "high"}}, "level"),
        ({"compressor": {"id": "zstd", "checksum": 1}}, "checksum"),
        ({"compressor": {"id": "blosc", "shuffle": 3}}, "shuffle"),
        ({"compressor": {"id": "blosc", "clevel": 1.5}}, "clevel"),
        ({"fill_value": -1}, "0 to 65535"),
        ({"fill_value": 65536.0}, "0 to 65535"),
        ({"fill_value": 0.5}, "uint16"),
        ({"fill_value": "NaN"}, "uint16"),
        ({"dtype": "|b1", "fill_value": 2}, "bool"),
        ({"dtype": "|b1", "fill_value": "true"}, "bool"),
        ({"dtype": "<f4", "fill_value": [0]}, "float32"),
        ({"dtype": "<f4", "fill_value": "much"}, "float32"),
        ({"dtype": "<f8", "fill_value": 10**400}, "float64"),
        ({"dtype": "<c8", "fill_value": ["a", 0]}, "complex64"),
        ({"dtype": "<U2", "fill_value": "abc"}, "utf32"),
        ({"dtype": "<U2", "fill_value": 0}, "utf32"),
        ({"dtype": "<M8[s]", "fill_value": "now"}, "datetime64"),
        ({"dtype": "<M8[s]", "fill_value": 2**63}, "datetime64"),
    ],
)
def test_malformed_documents(changes, said):
    with pytest.raises(FormatError, match=said):
        upgrade_document(**changes)


def test_missing_fields_and_names():
    for field in ("shape", "chunks", "dtype", "compressor", "fill_value", "order", "zarr_format"):
        with pytest.raises(FormatError, match=field):
            upgrade_array({key: value for key, value in DOCUMENT.items() if key != field})
    upgrade_array({key: value for key, value in DOCUMENT.items() if key != "filters"})
    with pytest.raises(FormatError, match="z, y, x"):
        upgrade_array(DOCUMENT, {}, ["z", "y", "x"])


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


@pytest.mark.parametrize(
    "wrong", [{"shape": None}, {"chunks": "4"}, {"chunks": [4]}, {"dimension_separator": "-"}], ids=str
)
def test_layouts_of_malformed_documents(wrong):
    with pytest.raises(FormatError, match=r"^the root: expected"):
        parse_v2_layout({"shape": [9, 9], "chunks": [4, 4], "dtype": "<u2"} | wrong, "")


BLOSC = {"typesize": 2, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}


@pytest.mark.parametrize(
    ("compressor", "wanted"),
    [
        # The defaults are those of numcodecs, and limits are kept.
        ({"id": "zstd"}, {"level": 0, "checksum": False}),
        ({"id": "zstd", "level": 99}, {"level": 22, "checksum": False}),
        ({"id": "gzip"}, {"level": 1}),
        ({"id": "gzip", "level": 12}, {"level": 9}),
        ({"id": "zlib"}, {"level": 1}),
        ({"id": "zlib", "level": -1}, {"level": 6}),
        ({"id": "blosc"}, BLOSC),
        ({"id": "blosc", "clevel": 10}, BLOSC | {"clevel": 9}),
    ],
)
def test_configurations_of_compressors(compressor, wanted):
    (codec,), _, _ = upgrade_compression(compressor, None, 2)
    assert codec["configuration"] == wanted


def test_keeping_needs_a_configuration_that_is_known():
    _, treatment, notes = upgrade_compression({"id": "imagecodecs_jpeg2k"}, [], 2, keep_numcodecs=True)
    assert treatment == "transcode"
    assert "imagecodecs_jpeg2k" in notes[0]
    codecs, _, _ = upgrade_compression({"id": "lz4", "acceleration": 2}, [{"id": "shuffle", "elementsize": 2}], 2,
                               keep_numcodecs=True)  # fmt: skip
    assert codecs == [
        {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
        {"name": "numcodecs.lz4", "configuration": {"acceleration": 2}},
    ]


@pytest.mark.parametrize("dtype", [None, 3, "", "uint8", "<u", "u2", [], {}])
def test_no_data_type_is_known(dtype):
    assert parse_v2_dtype(dtype) is None


def test_what_is_wrong_with_a_document_is_named():
    problems = " ".join(parse_v2_array({"shape": 3, "chunks": None, "dtype": "?"}).problems)
    assert all(word in problems for word in ("shape", "chunks", "dtype"))
    assert parse_v2_array({"shape": [3], "chunks": [1, 1], "dtype": "|u1"}).problems == (
        "the array has 1 dimensions, its chunks have 2",
    )

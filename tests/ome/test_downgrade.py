"""Documents of OME-Zarr 0.5 as 0.4, and what 0.4 cannot express."""

import json

import numcodecs
import pytest
from cases import archive_builder
from hierarchies import FIXTURES, tree

from ozx.errors import FormatError, UnsupportedError
from ozx.ome.downgrade import array_attributes, array_document, downgrade_hierarchy, group_attributes
from ozx.ome.upgrade import upgrade_hierarchy
from ozx.zarr.keys import is_legacy_metadata_key

ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": True}}
GZIP = {"name": "gzip", "configuration": {"level": 6}}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def array(**changes):
    keys = {"name": "v2", "configuration": {"separator": "/"}}
    fields = {"data_type": "uint16", "chunk_key_encoding": keys} | changes
    return archive_builder.array_document([3, 4, 5], [1, 2, 5], [LITTLE]) | fields


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def test_documents_of_an_upgraded_04_are_the_old_ones():
    old = {key: data for key, data in tree(FIXTURES / "legacy.ome.zarr").items() if is_legacy_metadata_key(key)}
    new = downgrade_hierarchy(dict(upgrade_hierarchy(old).iter_values()))
    for key, data in new.items():
        document, before = json.loads(data), json.loads(old[key])
        if key.endswith(".zattrs"):
            document.pop("_ARRAY_DIMENSIONS", None)  # they came from the axes
        if "labels" in key and "compressor" in before:
            assert before.pop("compressor")["id"] == "zlib"
            assert document.pop("compressor")["id"] == "gzip"
        assert document == before
    assert all(key.endswith(".zattrs") and old[key].strip() == b"{}" for key in old.keys() - new.keys())


@pytest.mark.parametrize(
    ("codecs", "expected"),
    [
        ([LITTLE], {"compressor": None, "dtype": "<u2", "order": "C"}),
        (
            [{"name": "bytes", "configuration": {"endian": "big"}}, GZIP],
            {"compressor": {"id": "gzip", "level": 6}, "dtype": ">u2"},
        ),
        ([transpose(2, 1, 0), LITTLE, ZSTD], {"compressor": {"id": "zstd", "level": 3}, "order": "F"}),
        ([transpose(0, 1, 2), LITTLE], {"order": "C"}),
    ],
)
def test_codecs_become_order_type_and_compressor(codecs, expected):
    found = array_document(array(codecs=codecs))
    assert {key: found[key] for key in expected} == expected
    assert (found["chunks"], found["dimension_separator"], found["filters"]) == ([1, 2, 5], "/", None)


@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
def test_blosc_gets_a_configuration_that_numcodecs_knows(shuffle):
    settings = {"cname": "zstd", "clevel": 7, "shuffle": shuffle, "typesize": 2, "blocksize": 0}
    found = array_document(array(codecs=[LITTLE, {"name": "blosc", "configuration": settings}]))["compressor"]
    codec, number = numcodecs.get_codec(found), ["noshuffle", "shuffle", "bitshuffle"].index(shuffle)
    assert (codec.cname, codec.clevel, codec.shuffle) == ("zstd", 7, number)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"codecs": [transpose(1, 0, 2), LITTLE]}, r"transpose with the order \[1, 0, 2\]"),
        ({"codecs": [LITTLE, ZSTD, GZIP]}, "the codecs bytes, zstd, gzip"),
        ({"codecs": [LITTLE, {"name": "crc32c"}]}, "the codec crc32c"),
        ({"codecs": [{"name": "packbits"}]}, "packbits"),
        ({"data_type": "string", "codecs": ["vlen-utf8"]}, "the data type 'string'"),
        ({"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s"}}}, r"numpy\.datetime64"),
        ({"storage_transformers": [{"name": "x", "must_understand": False}]}, "storage_transformers"),
        ({"chunk_grid": {"name": "rectilinear", "configuration": {}}}, "rectilinear"),
    ],
)
def test_what_zarr_v2_cannot_express_is_refused_by_name(changes, named):
    with pytest.raises(UnsupportedError, match=named):
        downgrade_hierarchy({"0/zarr.json": json.dumps(array(**changes)).encode()})


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("bool", True, True),
        ("float32", 0.1, 0.1),
        ("float32", "NaN", "NaN"),
        ("float64", "-Infinity", "-Infinity"),
        ("float32", "0x7fc00001", "NaN"),
        ("float16", "0x3e00", 1.5),
        ("complex64", [1.0, "NaN"], [1.0, "NaN"]),
        ("complex128", ["0x3ff8000000000000", 0], [1.5, 0]),
        ("int64", -(1 << 63), -(1 << 63)),
    ],
)
def test_fill_values_stay_and_hexadecimal_ones_become_numbers(data_type, value, expected):
    assert array_document(array(data_type=data_type, fill_value=value))["fill_value"] == expected


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        *(("float32", value) for value in ("0x7f", "0xzz", "0x", "0x3f8000003f800000")),
        ("complex64", "0x3f8000003f800000"),
    ],
)
def test_hexadecimal_fill_values_of_another_form_are_wrong(data_type, value):
    with pytest.raises(FormatError, match="expected a fill_value"):
        array_document(array(data_type=data_type, fill_value=value))


def test_names_of_dimensions_go_where_xarray_looks():
    assert array_attributes(array(dimension_names=["z", "y", "x"], attributes={"a": 1})) == {
        "a": 1,
        "_ARRAY_DIMENSIONS": ["z", "y", "x"],
    }
    assert array_attributes(array(dimension_names=["z", None, "x"])) == {}


def test_each_object_of_a_group_gets_its_version():
    well, plate = {"images": [{"path": "0"}]}, {"wells": [], "version": "0.5"}
    ome = {"version": "0.5", "multiscales": [{"name": "m"}], "omero": {"channels": []}, "plate": plate, "well": well}
    assert group_attributes({"attributes": {"ome": ome, "mine": 1, "well": "hidden"}}) == {
        "multiscales": [{"name": "m", "version": "0.4"}],
        "omero": {"channels": [], "version": "0.4"},
        "plate": {"wells": [], "version": "0.4"},
        "well": {"images": [{"path": "0"}], "version": "0.4"},
        "mine": 1,
    }
    assert group_attributes({"attributes": {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}}) == {
        "bioformats2raw.layout": 3
    }
    with pytest.raises(UnsupportedError, match=r"found 0\.7"):
        group_attributes({"attributes": {"ome": {"version": "0.7"}}})

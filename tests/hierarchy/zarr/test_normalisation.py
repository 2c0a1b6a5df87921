"""Legal documents that zarr-python refuses, in the form it reads."""

import copy
import json

import pytest
from hierarchies import FIXTURES

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.zarr.normalisation import DECODING_POINTS, normalise_document

GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {"a": [1.5, "x"]}}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
SHARDING = {
    "name": "sharding_indexed",
    "configuration": {"chunk_shape": [2], "codecs": [BYTES, ZSTD], "index_codecs": [BYTES, {"name": "crc32c"}]},
}
ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [BYTES, ZSTD],
}
IGNORABLE = {"must_understand": False, "b": 1}


def normalise(document, **options):
    data = json.dumps(document).encode()
    shown = normalise_document(data, "0", **options)
    return document if shown is data else json.loads(shown)


def knows(*names):
    def understands(point, value):
        return point in DECODING_POINTS and (value if isinstance(value, str) else value["name"]) in names

    return understands


@pytest.mark.parametrize(
    "document",
    [
        GROUP,
        ARRAY,
        ARRAY | {"codecs": [SHARDING]},
        ARRAY | {"codecs": [{"name": "bytes"}, {"name": "crc32c"}], "attributes": {}, "storage_transformers": []},
        ARRAY | {"fill_value": float("nan")},
        ARRAY | {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}},
        ARRAY | {"dimension_names": ["x"], "codecs": [BYTES | {"must_understand": False}]},
        GROUP | {"consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {"0": ARRAY}}},
        GROUP | {"consolidated_metadata": None},
        # Broken in ways that are zarr's to refuse.
        {"zarr_format": 3},
        {"node_type": ["group"], "x": 1},
        {"node_type": "array", "codecs": 5, "data_type": 7, "chunk_grid": [], "chunk_key_encoding": None},
        {"node_type": "array", "codecs": [5, None, {}]},
    ],
)
def test_what_needs_nothing_is_the_same_object(document):
    data = json.dumps(document).encode()
    assert normalise_document(data, "") is data


def test_the_fixtures_need_nothing():
    paths = list(FIXTURES.rglob("zarr.json"))
    assert len(paths) > 20
    for path in paths:
        data = path.read_bytes()
        assert normalise_document(data, "") is data


@pytest.mark.parametrize("document", [GROUP, ARRAY])
@pytest.mark.parametrize(
    "more",
    [
        {"cache": IGNORABLE},
        {"extensions": [{"name": "example.statistics", "must_understand": False}]},
        {"extensions": []},
        {"extensions": {"must_understand": False}},
        {"cache": IGNORABLE, "extensions": [{"name": "a", "must_understand": False}, {"must_understand": False}]},
    ],
)
def test_what_may_be_ignored_is_dropped(document, more):
    assert normalise(document | more) == document


@pytest.mark.parametrize("document", [GROUP, ARRAY])
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"origin": [0, 0]}, "unknown field 'origin' (zarr.json, /origin)"),
        ({"origin": {"must_understand": True}}, "unknown field 'origin'"),
        ({"origin": {}}, "unknown field 'origin'"),
        ({"extensions": ["example.offset"]}, "extension 'example.offset' (zarr.json, /extensions/0)"),
        (
            {"extensions": [{"name": "a", "must_understand": False}, {"name": "b.c"}]},
            "'b.c' (zarr.json, /extensions/1)",
        ),
        ({"extensions": None}, "extension ''"),
        ({"extensions": [5]}, "extension '' (zarr.json, /extensions/0)"),
    ],
)
def test_what_must_be_understood_is_refused_by_name(document, more, named):
    with pytest.raises(UnsupportedError) as caught:
        normalise(document | more)
    assert named in str(caught.value)
    assert str(caught.value).startswith("0: ")
    assert caught.value.hint


def test_the_root_is_called_the_root():
    with pytest.raises(UnsupportedError, match=r"^the root: "):
        normalise_document(json.dumps(GROUP | {"extensions": ["a"]}).encode(), "")


def test_an_extension_with_a_handler_is_dropped_for_zarr():
    def understands(point, value):
        return point in DECODING_POINTS or (point, value) == ("extensions", "example.offset")

    assert normalise(GROUP | {"extensions": ["example.offset"]}, understands=understands) == GROUP
    with pytest.raises(UnsupportedError, match=r"example\.other"):
        normalise(GROUP | {"extensions": ["example.offset", "example.other"]}, understands=understands)


@pytest.mark.parametrize(
    ("field", "short", "full"),
    [
        ("codecs", ["bytes"], [{"name": "bytes"}]),
        ("codecs", [BYTES, "crc32c"], [BYTES, {"name": "crc32c"}]),
        ("codecs", [BYTES, "zstd"], [BYTES, {"name": "zstd", "configuration": {}}]),
        ("codecs", [BYTES, {"name": "gzip"}], [BYTES, {"name": "gzip", "configuration": {}}]),
        ("chunk_key_encoding", "default", {"name": "default"}),
        ("chunk_key_encoding", "v2", {"name": "v2"}),
        ("data_type", {"name": "uint16"}, "uint16"),
        ("data_type", {"name": "uint16", "configuration": {}, "must_understand": True}, "uint16"),
        (
            "data_type",
            {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}, "must_understand": True},
            {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}},
        ),
    ],
)
def test_short_hands_become_what_zarr_reads(field, short, full):
    assert normalise(ARRAY | {field: short}) == ARRAY | {field: full}


def test_short_hands_inside_shards_within_shards():
    short, full = copy.deepcopy(SHARDING), copy.deepcopy(SHARDING)
    short["configuration"]["codecs"] = ["bytes", "zstd"]
    short["configuration"]["index_codecs"][1] = "crc32c"
    full["configuration"]["codecs"] = [{"name": "bytes"}, {"name": "zstd", "configuration": {}}]
    assert normalise(ARRAY | {"codecs": [short]}) == ARRAY | {"codecs": [full]}
    outer = {"name": "sharding_indexed", "configuration": {"chunk_shape": [4], "codecs": [short]}}
    nested = {"name": "sharding_indexed", "configuration": {"chunk_shape": [4], "codecs": [full]}}
    assert normalise(ARRAY | {"codecs": [outer]}) == ARRAY | {"codecs": [nested]}


def test_an_unknown_codec_is_dropped_where_it_says_so_and_else_refused():
    understands = knows("bytes", "uint16", "regular", "default", "sharding_indexed", "crc32c")
    ignorable, needed = {"name": "a.b", "must_understand": False}, {"name": "a.b"}
    plain = ARRAY | {"codecs": [BYTES]}
    assert normalise(ARRAY | {"codecs": [BYTES, ignorable]}, understands=understands) == plain
    with pytest.raises(UnsupportedError, match=r"codec 'a\.b' \(zarr\.json, /codecs/1\)"):
        normalise(ARRAY | {"codecs": [BYTES, needed]}, understands=understands)
    shard = copy.deepcopy(SHARDING)
    shard["configuration"]["codecs"] = [BYTES, "a.b"]
    with pytest.raises(UnsupportedError, match=r"'a\.b' \(zarr\.json, /codecs/0/configuration/codecs/1\)"):
        normalise(ARRAY | {"codecs": [shard]}, understands=understands)


@pytest.mark.parametrize(
    ("point", "what"),
    [("data_type", "data type"), ("chunk_grid", "chunk grid"), ("chunk_key_encoding", "chunk key encoding")],
)
def test_data_type_grid_and_key_encoding_cannot_be_ignored(point, what):
    value = {"name": "a.b", "configuration": {"x": 1}, "must_understand": False}
    understands = knows("bytes", "zstd", "uint16", "regular", "default")
    with pytest.raises(UnsupportedError, match=rf"{what} 'a\.b' \(zarr\.json, /{point}\)"):
        normalise(ARRAY | {point: value}, understands=understands)


def test_storage_transformers_are_understood_by_nobody():
    ignorable = {"name": "a.b", "must_understand": False}
    assert normalise(ARRAY | {"storage_transformers": [ignorable]}) == ARRAY
    for value in (["a.b"], [ignorable, {"name": "a.b"}], {"name": "a.b"}):
        with pytest.raises(UnsupportedError, match="storage transformer"):
            normalise(ARRAY | {"storage_transformers": value})


@pytest.mark.parametrize(
    "copies",
    [
        {"kind": "inline", "must_understand": False, "metadata": {"0": ARRAY | {"codecs": ["bytes"]}}},
        # A node that may not be opened does not keep the group from being opened.
        {"kind": "inline", "must_understand": False, "metadata": {"0": ARRAY, "1": GROUP | {"extensions": ["a"]}}},
        {"kind": "inline", "must_understand": False, "metadata": {"0": 5}},
        {"kind": "inline"},
        {"kind": "other", "must_understand": False},
    ],
)
def test_consolidated_metadata_that_zarr_would_refuse_are_dropped(copies):
    assert normalise(GROUP | {"consolidated_metadata": copies}) == GROUP


def test_an_unknown_kind_of_consolidated_metadata_must_be_understood():
    with pytest.raises(UnsupportedError, match="consolidated_metadata"):
        normalise(GROUP | {"consolidated_metadata": {"kind": "other"}})


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff{}", b'{"a":' * 100_000, b"[" * 100_000])
def test_what_is_no_json_object_names_the_node(data):
    with pytest.raises(FormatError, match=r"^labels/cells/zarr\.json: expected") as caught:
        normalise_document(data, "labels/cells")
    assert caught.value.rule == "zarr/json"


@pytest.mark.parametrize("depth", [2, 150, 200, 250, 300, 350, 5000])
def test_shards_nested_without_end_are_never_a_recursion_error(depth):
    codecs = b'[{"name":"sharding_indexed","configuration":{"codecs":' * depth + b"[]" + b"}}]" * depth
    data = b'{"node_type":"array","codecs":' + codecs + b"}"
    try:
        shown = normalise_document(data, "0")
    except FormatError:
        shown = None
    assert shown is (data if depth == 2 else None) or (2 < depth < 5000 and shown is data)


def test_a_byte_order_mark_is_no_fault():
    data = b"\xef\xbb\xbf" + json.dumps(GROUP).encode()
    assert normalise_document(data, "") is data
    shown = normalise_document(b"\xef\xbb\xbf" + json.dumps(GROUP | {"cache": IGNORABLE}).encode(), "")
    assert json.loads(shown) == GROUP


def test_what_is_not_touched_keeps_its_meaning():
    attributes = {"é": "\U0001f600\ud800\0", "big": 2**70, "small": 1e-320, "nan": float("nan"), "e": [], "n": None}
    shown = normalise(GROUP | {"attributes": attributes, "cache": IGNORABLE})["attributes"]
    assert repr(shown) == repr(attributes)

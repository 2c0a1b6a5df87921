"""Legal documents that zarr-python refuses, in the form it reads, and its copies of metadata."""

import json
import warnings

import pytest
import zarr
from cases.archive_builder import array_document, sharding
from zarr.storage import LocalStore

from ozx.errors import FormatError
from ozx.zarr.normalisation import is_stale, normalise_document

GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {"a": [1.5, "x"]}}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
SHARDING = sharding([2], [BYTES, ZSTD])
ARRAY = array_document([4], [2], [BYTES, ZSTD], data_type="uint16")


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


@pytest.mark.parametrize(
    "document",
    [
        GROUP | {"extensions": [{"name": "example.optional", "must_understand": False}]},
        GROUP | {"example": {"name": "example.optional", "must_understand": False}},
        GROUP | {"consolidated_metadata": {"kind": "example", "must_understand": False}},
        {"node_type": "array", "storage_transformers": [{"name": "example.optional", "must_understand": False}]},
    ],
)
def test_handlers_of_what_may_be_ignored_are_not_asked(document):
    def understands(point, value):
        pytest.fail(f"asked for {point} {value}")

    left = json.loads(normalise_document(json.dumps(document).encode(), "", understands))
    assert left == {name: value for name, value in document.items() if name in ("node_type", *GROUP)}


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


@pytest.fixture
def documents(tmp_path):
    """What zarr-python consolidates, as documents by path."""
    root = zarr.create_group(LocalStore(tmp_path), zarr_format=3)
    root.create_array("0", shape=(4,), chunks=(2,), dtype="u2")
    root.create_group("labels").create_array("cells", shape=(4,), chunks=(2,), dtype="u1")
    with warnings.catch_warnings(action="ignore"):
        zarr.consolidate_metadata(LocalStore(tmp_path))
    return {
        path.parent.relative_to(tmp_path).as_posix().removeprefix("."): json.loads(path.read_bytes())
        for path in tmp_path.rglob("zarr.json")
    }


def test_what_zarr_python_writes_is_not_stale(documents):
    root = documents.pop("")
    assert not is_stale(root, documents.keys(), documents.__getitem__)

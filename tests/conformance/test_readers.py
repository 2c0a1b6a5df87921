"""The verdicts on documents beside what zarr-python and tensorstore do with them: every difference has a reason.

A reader is expected to refuse what has an error, and what a warning says that it refuses; to open everything else.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path

import pytest
import tensorstore
import zarr
from hierarchy_cases import FILES, documents_of
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore

from ozx.hierarchy.keys import node_of
from ozx.validation.hierarchy import check_documents
from ozx.validation.readers import TENSORSTORE, ZARR_PYTHON

UNKNOWN = "a name that it does not know: others may"
LAX = "it does not look"
GUESSES = "it takes a default where the document has to say it"
CONVERTS = "it makes another value of it"

# Reader, reason, rule, names of cases.
DIFFERENCES = [
    ("zarr", LAX, "zarr/attributes", ["null"]),
    ("zarr", LAX, "zarr/chunk-grid", ["a length of zero"]),
    ("zarr", GUESSES, "zarr/codec-configuration", ["bytes: no endian for two bytes", "gzip: no level"]),
    ("zarr", GUESSES, "zarr/codec-configuration", ["blosc: cname missing", "blosc: typesize missing"]),
    ("zarr", GUESSES, "zarr/codec-configuration", ["blosc: blocksize missing", "shard: no index_codecs"]),
    ("zarr", GUESSES, "zarr/codec-configuration", ["shard: no codecs", "shard: no endian inside"]),
    ("zarr", GUESSES, "zarr/codec-configuration", ["shard: no endian in the index"]),
    ("zarr", LAX, "zarr/codec-configuration", ["blosc: clevel 10", "blosc: blocksize -1"]),
    ("zarr", "it sorts codecs by their kinds", "zarr/codec-order", ["gzip before bytes in a shard"]),
    ("zarr", UNKNOWN, "zarr/codec-order", ["an unknown codec, which may be the one"]),
    ("zarr", LAX, "zarr/consolidated-metadata", ["a list"]),
    ("zarr", LAX, "zarr/dimension-names", ["a text", "null"]),
    ("zarr", LAX, "zarr/extension-definition", ["must_understand as text"]),
    ("zarr", UNKNOWN, "zarr/extension-name", ["a digit first", "one letter", "a URI", "a URN"]),
    ("zarr", UNKNOWN, "zarr/extension-unregistered", ["a data type", "a chunk grid", "a chunk key encoding"]),
    ("zarr", UNKNOWN, "zarr/extension-unregistered", ["a codec in a shard", "a registered grid"]),
    ("zarr", CONVERTS, "zarr/fill-value", ["bool: 0", 'bool: "false"', "bool: null", "uint8: 0.0", "uint8: true"]),
    ("zarr", CONVERTS, "zarr/fill-value", ['uint8: "0"', 'float32: "nan"', 'float32: "+Infinity"', "float32: true"]),
    ("zarr", CONVERTS, "zarr/fill-value", ['float16: "0x7e000000"', 'float64: "0x7fc00000"', "string: 0"]),
    ("zarr", "Python's parser takes the last", "zarr/json-names", ["node_type twice"]),
    ("zarr", "Python's parser takes it", "zarr/json-numbers", ["NaN as a bare word"]),
    ("zarr", LAX, "zarr/must-understand", ["a chunk grid", "a chunk key encoding"]),
    ("zarr", LAX, "zarr/node-name", ["two underscores", "periods", "nothing"]),
    ("zarr", "it takes it for a group", "zarr/node-type", ["none"]),
    (
        "zarr",
        "it compares inner chunks with the shard before it is transposed",
        "zarr/reader-refuses",
        ["transpose before a shard"],
    ),
    ("zarr", LAX, "zarr/shape", ["a length of 2**63", "a truth value"]),
    ("zarr", LAX, "zarr/sharding", ["a compressed index", "inner shards that do not divide"]),
    (
        "zarr",
        "it compares inner chunks with the shard before it is transposed",
        "zarr/sharding",
        ["transposed, and then not divided", "transposed, and then divided"],
    ),
    ("zarr", LAX, "zarr/storage-transformers", ["an object", "null"]),
    ("zarr", LAX, "zarr/zarr-format", ["2 in a zarr.json", "3.0", "none"]),
    ("tensorstore", '"C" and "F" were orders once', "zarr/codec-configuration", ["transpose: a letter"]),
    ("tensorstore", UNKNOWN, "zarr/codec-order", ["an unknown codec, which may be the one"]),
    ("tensorstore", "it has no times", "zarr/data-type", ["another type as an object"]),
    ("tensorstore", UNKNOWN, "zarr/extension-name", ["a digit first", "one letter", "a URI", "a URN"]),
    ("tensorstore", UNKNOWN, "zarr/extension-unregistered", ["a codec of numcodecs", "a data type", "a chunk grid"]),
    (
        "tensorstore",
        UNKNOWN,
        "zarr/extension-unregistered",
        ["a chunk key encoding", "a codec in a shard", "a registered grid"],
    ),
    ("tensorstore", CONVERTS, "zarr/fill-value", ["uint8: 0.0", 'float32: "0x7fc000"', 'float64: "0x7fc00000"']),
    ("tensorstore", "it has these bytes as a string, too", "zarr/fill-value", ['r16: "AAA="']),
    (
        "tensorstore",
        "it has no times and no strings",
        "zarr/fill-value",
        ['string: ""', 'numpy.datetime64: "NaT"', "numpy.datetime64: 0"],
    ),
    ("tensorstore", CONVERTS, "zarr/shape", ["a fraction"]),
    ("tensorstore", "its lengths are below 2**62", "zarr/shape", ["a length of 2**63 - 1"]),
]
EXPECTED = {(reader, rule, name) for reader, _, rule, names in DIFFERENCES for name in names}


def opens_in_zarr(documents):
    buffer = default_buffer_prototype().buffer
    store = MemoryStore({key: buffer.from_bytes(value) for key, value in documents.items()})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for key in documents:
                zarr.open(store, path=node_of(key), mode="r", zarr_format=3)
    except Exception:  # noqa: BLE001 (it refuses by TypeError, KeyError, ValueError and others)
        return False
    return True


def opens_in_tensorstore(documents):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "zarr.json").write_bytes(documents["zarr.json"])
        try:
            tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": folder + "/"}}).result()
        except ValueError:
            return False
    return True


READERS = {"zarr": (opens_in_zarr, ZARR_PYTHON), "tensorstore": (opens_in_tensorstore, TENSORSTORE)}


def concerns(reader, documents):
    if reader == "zarr":
        return "zarr.json" in documents
    try:
        return json.loads(documents.get("zarr.json", b"{}")).get("node_type") == "array"
    except ValueError:
        return False


@pytest.mark.parametrize("rule", [rule for rule in sorted(FILES) if rule.startswith("zarr/")])
@pytest.mark.parametrize("reader", READERS)
def test_readers_agree_with_the_verdicts_or_it_is_known_why(reader, rule):
    opens, called = READERS[reader]
    differences = set()
    for case in FILES[rule]["fails"] + FILES[rule]["passes"]:
        documents = documents_of(case)
        if not concerns(reader, documents):
            continue
        findings = list(check_documents(documents))
        refused = any(finding.severity == "error" or called in finding.message for finding in findings)
        if opens(documents) == refused:
            differences.add((reader, rule, case["name"]))
    assert differences == {known for known in EXPECTED if known[:2] == (reader, rule)}

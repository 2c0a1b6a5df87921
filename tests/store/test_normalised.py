"""What zarr-python does with legal metadata, alone and through the wrapper."""

import asyncio
import json
import pickle

import numpy as np
import pytest
import zarr
from cases.archive_builder import write_tree
from zarr.codecs import BloscCodec, GzipCodec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.group import GroupMetadata
from zarr.storage import LocalStore, MemoryStore

from ozx.errors import UnsupportedError, UsageError
from ozx.store.normalised import NormalisedStore

PROTOTYPE = default_buffer_prototype()
IGNORABLE = {"must_understand": False, "since": 1}
PIXELS = np.arange(64, dtype="uint16").reshape(8, 8) * 7

# zarr-python 3.1 fails on any field of a group that it does not know; 3.4 ignores what may be ignored.
GROUPS_HAVE_FIELDS = "extra_fields" in GroupMetadata.__dataclass_fields__
REFUSES, READS, MISREADS = "refuses", "reads", "misreads"


def memory(values):
    return MemoryStore({key: PROTOTYPE.buffer.from_bytes(value) for key, value in values.items()})


def stored(store, key):
    return asyncio.run(store.get(key, PROTOTYPE)).to_bytes()


def hierarchy(**options):
    """Return the values of a group with one array, by key."""
    store = MemoryStore()
    group = zarr.create_group(store, attributes={"name": "cells"})
    array = group.create_array("0", shape=(8, 8), chunks=(4, 4), dtype="uint16", fill_value=0, **options)
    array[:] = PIXELS
    return {key: value.to_bytes() for key, value in store._store_dict.items()}


def edited(values, key, edit):
    document = json.loads(values[key])
    edit(document)
    return values | {key: json.dumps(document).encode()}


def put(*place, value):
    def edit(document):
        for step in place[:-1]:
            document = document[step]
        if isinstance(document, list) and place[-1] == len(document):
            document.append(value)
        else:
            document[place[-1]] = value

    return edit


def without(*place):
    def edit(document):
        for step in place[:-1]:
            document = document[step]
        del document[place[-1]]

    return edit


def read(store):
    group = zarr.open_group(store, mode="r", zarr_format=3)
    return group["0"][:]


def what_zarr_does(store):
    try:
        return READS if (read(store) == PIXELS).all() else MISREADS
    except Exception:  # noqa: BLE001 (it refuses by TypeError, KeyError, ValueError and others)
        return REFUSES


SHARDS = {"shards": (8, 8)}
INSIDE = ("codecs", 0, "configuration")
ROOT, LEVEL = "zarr.json", "0/zarr.json"
GROUP_FIELD = READS if GROUPS_HAVE_FIELDS else REFUSES
STATISTICS = {"name": "example.statistics", "must_understand": False}
CODEC = {"name": "example.codec", "must_understand": False}
OTHER_KIND = {"kind": "other", "must_understand": False}
NAMED = {"name": "uint16"}

# Name, what zarr-python does alone, options of the array, key, edit.
LEGAL = [
    ("as zarr writes it", READS, {}, ROOT, lambda _: None),
    ("sharded, as zarr writes it", READS, SHARDS, ROOT, lambda _: None),
    ("group: no attributes", READS, {}, ROOT, without("attributes")),
    ("group: ignorable field", GROUP_FIELD, {}, ROOT, put("cache", value=IGNORABLE)),
    ("group: ignorable extension", REFUSES, {}, ROOT, put("extensions", value=[STATISTICS])),
    ("array: no attributes", READS, {}, LEVEL, without("attributes")),
    ("array: ignorable field", READS, {}, LEVEL, put("cache", value=IGNORABLE)),
    ("array: ignorable extension", REFUSES, {}, LEVEL, put("extensions", value=[STATISTICS])),
    ("group: ignorable copies of another kind", REFUSES, {}, ROOT, put("consolidated_metadata", value=OTHER_KIND)),
    ("codecs: name for crc32c", REFUSES, {"compressors": None}, LEVEL, None),
    ("codecs: object without configuration", REFUSES, {}, LEVEL, put("codecs", 1, value={"name": "zstd"})),
    ("codecs: name for zstd", REFUSES, {}, LEVEL, put("codecs", 1, value="zstd")),
    ("codecs: name for gzip", REFUSES, {"compressors": [GzipCodec()]}, LEVEL, put("codecs", 1, value="gzip")),
    ("codecs: name for blosc", REFUSES, {"compressors": [BloscCodec()]}, LEVEL, put("codecs", 1, value="blosc")),
    ("codecs: must_understand true", READS, {}, LEVEL, put("codecs", 1, "must_understand", value=True)),
    ("codecs: must_understand false, known", READS, {}, LEVEL, put("codecs", 1, "must_understand", value=False)),
    ("codecs: must_understand false, unknown", REFUSES, {}, LEVEL, put("codecs", 2, value=CODEC)),
    ("shard: names inside", REFUSES, SHARDS, LEVEL, put(*INSIDE, "codecs", 1, value="zstd")),
    ("shard: name in the index", REFUSES, SHARDS, LEVEL, put(*INSIDE, "index_codecs", 1, value="crc32c")),
    ("shard: unknown inside, ignorable", REFUSES, SHARDS, LEVEL, put(*INSIDE, "codecs", 2, value=CODEC)),
    ("shard: no index_location", READS, SHARDS, LEVEL, without(*INSIDE, "index_location")),
    ("chunk key encoding: name", REFUSES, {}, LEVEL, put("chunk_key_encoding", value="default")),
    ("chunk key encoding: no configuration", READS, {}, LEVEL, put("chunk_key_encoding", value={"name": "default"})),
    ("chunk grid: must_understand true", READS, {}, LEVEL, put("chunk_grid", "must_understand", value=True)),
    ("data type: object", REFUSES, {}, LEVEL, put("data_type", value=NAMED)),
    ("data type: configuration {}", REFUSES, {}, LEVEL, put("data_type", value=NAMED | {"configuration": {}})),
    ("storage transformers: none", READS, {}, LEVEL, put("storage_transformers", value=[])),
    ("storage transformers: ignorable", READS, {}, LEVEL, put("storage_transformers", value=[STATISTICS])),
]

NEEDED = [
    ("group: unknown field", REFUSES, ROOT, put("origin", value=[0, 0]), r"^the root: .*'origin'"),
    ("group: extension", REFUSES, ROOT, put("extensions", value=["a.b"]), r"^the root: .*extension 'a\.b'"),
    ("array: unknown field", REFUSES, LEVEL, put("origin", value={}), r"^0: .*'origin'"),
    ("array: extension", REFUSES, LEVEL, put("extensions", value=[{"name": "a.b"}]), r"^0: .*extension 'a\.b'"),
    ("codec", REFUSES, LEVEL, put("codecs", 2, value={"name": "a.b"}), r"^0: .*codec 'a\.b'"),
    ("codec by name", REFUSES, LEVEL, put("codecs", 2, value="a.b"), r"^0: .*codec 'a\.b'"),
    ("data type", REFUSES, LEVEL, put("data_type", value="a.b"), r"^0: .*data type 'a\.b'"),
    ("ignorable data type", REFUSES, LEVEL, put("data_type", value=CODEC), r"^0: .*data type 'example\.codec'"),
    ("chunk grid", REFUSES, LEVEL, put("chunk_grid", "name", value="a.b"), r"^0: .*chunk grid 'a\.b'"),
    ("chunk key encoding", REFUSES, LEVEL, put("chunk_key_encoding", value="a.b"), r"^0: .*key encoding 'a\.b'"),
    # zarr-python takes them without a word, though the stored values may be anything.
    ("storage transformer", READS, LEVEL, put("storage_transformers", value=["a.b"]), r"^0: .*transformer 'a\.b'"),
]


def legal_values(options, key, edit):
    if edit is None:  # a checksum behind every chunk, written as a name
        options = options | {"compressors": [zarr.codecs.Crc32cCodec()]}
        edit = put("codecs", 1, value="crc32c")
    return edited(hierarchy(**options), key, edit)


@pytest.mark.parametrize(("alone", "options", "key", "edit"), [row[1:] for row in LEGAL], ids=[row[0] for row in LEGAL])
def test_legal_metadata_open_with_the_right_pixels(alone, options, key, edit):
    store = memory(legal_values(options, key, edit))
    assert what_zarr_does(store) == alone
    np.testing.assert_array_equal(read(NormalisedStore(store)), PIXELS)


@pytest.mark.parametrize(
    ("alone", "key", "edit", "message"), [row[1:] for row in NEEDED], ids=[row[0] for row in NEEDED]
)
def test_what_must_be_understood_is_refused_by_name(alone, key, edit, message):
    store = memory(edited(hierarchy(), key, edit))
    assert what_zarr_does(store) == alone
    with pytest.raises(UnsupportedError, match=message):
        read(NormalisedStore(store))


def test_consolidated_metadata_do_not_bring_back_what_was_dropped():
    values = hierarchy()
    level = json.loads(values[LEVEL])
    level["codecs"][1] = "zstd"
    copies = {"kind": "inline", "must_understand": False, "metadata": {"0": level}}
    values = edited(values, ROOT, put("consolidated_metadata", value=copies))
    values[LEVEL] = json.dumps(level).encode()
    assert what_zarr_does(memory(values)) == REFUSES
    assert (read(NormalisedStore(memory(values))) == PIXELS).all()


@pytest.fixture
def values():
    changed = edited(hierarchy(), ROOT, put("cache", value=IGNORABLE))
    return edited(changed, LEVEL, put("codecs", 1, value="zstd"))


def test_nothing_is_written(values):
    inner = memory(values)
    store = NormalisedStore(inner)
    value = PROTOTYPE.buffer.from_bytes(b"1")
    assert not inner.read_only
    assert store.read_only
    assert not store.supports_writes
    assert not store.supports_deletes
    assert store.with_read_only(read_only=True) == store
    calls = [
        lambda: store.with_read_only(read_only=False),
        lambda: asyncio.run(store.set("a", value)),
        lambda: asyncio.run(store.set_if_not_exists("a", value)),
        lambda: asyncio.run(store._set_many([("a", value)])),
        lambda: asyncio.run(store.delete(ROOT)),
        lambda: asyncio.run(store.delete_dir("0")),
        lambda: asyncio.run(store.clear()),
        lambda: store.set_sync("a", value),
        lambda: store.delete_sync(ROOT),
        lambda: zarr.open_group(store, mode="r").create_group("new"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"read-only|only for reading"):
            call()
    with pytest.raises(UsageError):
        store.set_sync("a", value)
    assert {key: stored(inner, key) for key in values} == values


def test_pickling_and_equality(tmp_path, values):
    write_tree(tmp_path, values)
    store = NormalisedStore(LocalStore(tmp_path, read_only=True))
    copied = pickle.loads(pickle.dumps(store))
    assert copied == store == NormalisedStore(LocalStore(tmp_path, read_only=True))
    assert store != LocalStore(tmp_path, read_only=True)
    assert store != NormalisedStore(LocalStore(tmp_path / "0", read_only=True))
    assert (read(copied) == PIXELS).all()
    assert "NormalisedStore(LocalStore" in repr(store)

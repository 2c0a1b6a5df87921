"""Any sequence of operations on `OzxStore` against zarr's MemoryStore; then closed, reopened, compared, validated."""

import os
import shutil
import subprocess
import tempfile
import warnings
from collections import Counter

import pytest
from cases.archive_builder import array, group
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from stores import SEED, assert_finished, buffer, collect, contents, part_of, pattern, put, run, take
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.storage import MemoryStore

from ozx import OzxStore
from ozx.archive.writer import ArchiveWriter
from ozx.errors import RewrittenWarning
from ozx.store import finishing, growing_file

GROUP = group(None)
ARRAY = SEED["0/zarr.json"]
DOCUMENTS = {
    "labels/zarr.json": [GROUP, group(None, attributes={"labels": ["a" * 4_000]})],
    "labels/cells/zarr.json": [ARRAY, array([8], [8])],
    "0/zarr.json": [ARRAY, ARRAY.replace(b'"attributes": {}', b'"attributes": {"x": "' + b"y" * 3_000 + b'"}')],
    "zarr.json": [group(), group(attributes={"ome": {"version": "0.5"}, "notes": "z" * 70_000})],
}
DATA = [f"0/c/{y}/{x}" for y in range(3) for x in range(3)]
DATA += ["labels/cells/c/0/0", "labels/cells/c/0/1", "OME/METADATA.ome.xml", "OME/é.txt", "0/c.txt", "0/C.txt"]
FOLDERS = ["", "0", "0/", "0/c", "0/c/1", "labels", "labels/cells", "OME", "none"]

keys = st.sampled_from([*DATA, *DOCUMENTS])
data_keys = st.sampled_from(DATA)
sizes = st.one_of(st.integers(0, 300), st.integers(0, 9_000), st.sampled_from([65_400, 70_000, 200_000, 200_000]))
values = st.builds(pattern, st.integers(0, 1 << 20), sizes)
numbers = st.integers(0, 100_000)
ranges = st.one_of(
    st.none(),
    st.tuples(numbers, numbers).map(lambda pair: RangeByteRequest(min(pair), max(pair))),
    st.builds(OffsetByteRequest, numbers),
    st.builds(SuffixByteRequest, st.integers(1, 100_000)),
)
pieces = st.lists(
    st.tuples(st.integers(0, 9), st.binary(min_size=1, max_size=1_000)), max_size=3, unique_by=lambda p: p[0]
)
documents = st.sampled_from([(key, value) for key, choices in DOCUMENTS.items() for value in choices])
operations = st.one_of(
    st.tuples(st.just("set"), data_keys, values),
    st.tuples(st.just("set"), data_keys, values),
    st.tuples(st.just("set"), data_keys, values),
    documents.map(lambda pair: ("set", *pair)),
    documents.map(lambda pair: ("set", *pair)),
    st.tuples(st.just("set_if_not_exists"), data_keys, values),
    st.tuples(st.just("set_partial"), data_keys, pieces),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("delete"), data_keys),
    st.tuples(st.just("delete_prefix"), st.sampled_from(["0/c/1", "0/c/2/", "OME/", "labels/", "0/c.", "none"])),
    st.tuples(st.just("get"), keys, ranges),
    st.tuples(st.just("size"), keys),
    st.tuples(st.sampled_from(["list_dir", "list_prefix"]), st.sampled_from(FOLDERS)),
    st.tuples(st.just("list")),
)


def overwritten(value, writes):
    """Write into bytes one by one; zeros fill the gaps."""
    found = dict(enumerate(value))
    for start, data in writes:
        found |= dict(enumerate(data, start))
    return bytes(found.get(place, 0) for place in range(max(found, default=-1) + 1))


def change(store, memory, name, arguments):
    if name == "set_partial":
        key, parts = arguments
        writes = [(number * 7_000, data) for number, data in parts]
        run(store.set_partial_values((key, start, data) for start, data in writes))
        if writes:
            put(memory, key, overwritten(take(memory, key) or b"", writes))
    elif name == "delete_prefix":
        run(store.delete_prefix(*arguments))
        for key in collect(memory.list_prefix(*arguments)):
            run(memory.delete(key))
    else:
        key, *value = arguments
        for each in (store, memory):
            run(getattr(each, name)(key, *map(buffer, value)))


def ask(store, memory, name, arguments):
    """Ask both stores; their answers have to be the same."""
    if name == "get":
        key, wanted = arguments
        assert take(store, key, wanted) == part_of(take(memory, key), wanted)
    elif name == "size":
        (key,) = arguments
        assert run(store.exists(key)) == run(memory.exists(key))
        if run(memory.exists(key)):
            assert run(store.getsize(key)) == run(memory.getsize(key))
    else:
        found = collect(getattr(store, name)(*arguments))
        assert len(found) == len(set(found))
        assert sorted(found) == sorted(collect(getattr(memory, name)(*arguments)))


def do(store, memory, operation):
    name, *arguments = operation
    (ask if name in ("get", "size", "list", "list_dir", "list_prefix") else change)(store, memory, name, arguments)


def complete_hierarchy(store, memory):
    """Set the documents without which what is there would be no hierarchy."""
    for key in ("zarr.json", "0/zarr.json", "labels/zarr.json", "labels/cells/zarr.json"):
        if not run(memory.exists(key)):
            do(store, memory, ("set", key, DOCUMENTS[key][0]))


def kinds_of_gaps(gaps):
    if gaps and gaps[0] < 0:
        yield "outgrown"
    for gap in gaps[1:]:
        if gap:
            yield "hole"


@pytest.fixture
def reached(monkeypatch):
    """Count which of the ways through closing and through the free places were taken."""
    counts = Counter()

    def count(owner, name, what):
        original = getattr(owner, name)

        def counted(*arguments, **keywords):
            result = original(*arguments, **keywords)
            for word in what(arguments, keywords, result):
                counts[word] += 1
            return result

        monkeypatch.setattr(owner, name, counted)

    count(finishing, "_complete", lambda a, k, r: ["stayed"])
    count(finishing, "_rewrite", lambda a, k, r: ["rewritten"])
    count(finishing, "_gaps", lambda a, k, r: kinds_of_gaps(r))
    count(finishing, "_clear", lambda a, k, r: ["gap cleared"] if a[2] else [])
    count(ArchiveWriter, "add", lambda a, k, r: ["metadata extended"] if a[2].endswith(b" ") else [])
    taken = growing_file.Space.take

    def take_place(room, length):
        end = room.end
        offset = taken(room, length)
        counts["place reused"] += offset is not None and offset < end
        counts["head full"] += offset is None
        return offset

    monkeypatch.setattr(growing_file.Space, "take", take_place)
    return counts


def unzip_tests(path):
    if shutil.which("unzip"):
        asked = subprocess.run(["unzip", "-tq", path], capture_output=True, check=False)
        assert asked.returncode == 0, asked.stdout


def rooms(monkeypatch, room, unused):
    """Let small files take the ways of large ones: how much room there is at the head, and how much may be unused."""
    monkeypatch.setattr(growing_file, "LEAST_ROOM", room)
    monkeypatch.setattr(finishing, "MOST_UNUSED", unused)


several = st.one_of(st.lists(operations, min_size=1, max_size=8), st.lists(operations, min_size=20, max_size=40))
way = st.tuples(st.sampled_from([0, 500, 10_000, 48 << 10, 200_000]), st.sampled_from([0.02, 1.0]))
RELAXED = settings(deadline=None, suppress_health_check=list(HealthCheck))


def check_rounds(folder, mode, rounds, number):
    """Run the operations of each round in a store of its own, beside one MemoryStore for all; returns the file."""
    path = os.path.join(folder, "a.ozx")
    memory = MemoryStore()
    for operations_of_round in rounds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RewrittenWarning)
            with OzxStore(path, mode=mode, sync=False) as store:
                if not os.path.exists(path):
                    for key, value in SEED.items():
                        do(store, memory, ("set", key, value))
                for operation in operations_of_round:
                    do(store, memory, operation)
                complete_hierarchy(store, memory)
                expected = contents(memory)
                assert contents(store) == expected
        assert_finished(path, expected)
        assert os.listdir(folder) == ["a.ozx"]
    if number % 8 == 0:
        unzip_tests(path)


def test_any_sequence_of_operations_leaves_what_memory_holds(monkeypatch, reached):
    numbered = iter(range(1 << 30))

    @settings(RELAXED, max_examples=100)
    @given(several, way)
    def check(sequence, way):
        rooms(monkeypatch, *way)
        with tempfile.TemporaryDirectory() as folder:
            check_rounds(folder, "w", [sequence], next(numbered))

    every_way = {"stayed", "rewritten", "outgrown", "hole", "gap cleared", "metadata extended"}
    every_way |= {"place reused", "head full"}
    # Hypothesis takes constants out of whatever modules are loaded, so that examples depend on the tests before.
    for number in range(8):
        seed(number)(check)()
        if every_way <= {word for word, count in reached.items() if count >= 2}:
            return
    pytest.fail(f"some ways were not gone: {reached}")


def test_any_sequence_of_operations_over_several_rounds_leaves_what_memory_holds(monkeypatch, reached):
    numbered = iter(range(1 << 30))

    @settings(RELAXED, max_examples=40)
    @given(st.lists(st.lists(operations, max_size=12), min_size=2, max_size=4), way)
    def check(rounds, way):
        rooms(monkeypatch, *way)
        with tempfile.TemporaryDirectory() as folder:
            check_rounds(folder, "a", rounds, next(numbered))

    for number in range(4):
        seed(number)(check)()
        if {"stayed", "rewritten", "gap cleared"} <= {word for word, count in reached.items() if count >= 2}:
            return
    pytest.fail(f"some ways were not gone: {reached}")


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["w", "a"])
def test_many_sequences_of_operations_leave_what_memory_holds(monkeypatch, mode):
    numbered = iter(range(1 << 30))

    @settings(RELAXED, max_examples=300)
    @given(st.lists(several, min_size=1, max_size=1 if mode == "w" else 3), way)
    def check(rounds, way):
        rooms(monkeypatch, *way)
        with tempfile.TemporaryDirectory() as folder:
            check_rounds(folder, mode, rounds, next(numbered))

    check()

"""Zarr core 3.1, "Abstract store interface": each operation, by the method that docs/store.md names for it."""

import builtins
import inspect
import re
from pathlib import Path

import pytest
from packed import sort_values, write_archive
from stores import SEED, buffer, collect, contents, put, run, take
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype

from ozx import OzxStore, UsageError, errors
from ozx.store import finishing, growing_file

PAGE = Path(__file__).parents[2] / "docs" / "store.md"
VALUES = SEED | {"0/c/0/0": b"0123456789", "0/c/0/1": b"abcdef", "0/c/1/0": b"", "0/c.txt": b"text"}
PROTOTYPE = default_buffer_prototype()


def make(path, mode):
    """The same values in a finished archive, in one in the making, and in one that is added to."""
    if mode != "w":
        write_archive(path, sort_values(VALUES))
    store = OzxStore(path, mode, sync=False)
    if mode == "w":
        for key, value in VALUES.items():
            put(store, key, value)
    yield store
    if store._write is not None:
        store._write.abort()


@pytest.fixture(params=["r", "w", "a"])
def store(request, tmp_path):
    yield from make(tmp_path / "a.ozx", request.param)


@pytest.fixture(params=["w", "a"])
def writing(request, tmp_path):
    yield from make(tmp_path / "a.ozx", request.param)


def partial_values(store, requests):
    found = run(store.get_partial_values(PROTOTYPE, requests))
    return [None if value is None else value.to_bytes() for value in found]


# Readable stores.


def test_get(store):
    assert {key: take(store, key) for key in VALUES} == VALUES
    for missing in ("0/c/0", "0/c/0/2", "0", "ZARR.JSON", "0/C/0/0", "zarr.json/", ""):
        assert take(store, missing) is None


def test_get_partial_values(store):
    requests = [
        ("0/c/0/1", RangeByteRequest(1, 3)),
        ("no/such/key", RangeByteRequest(0, 1)),
        ("0/c/0/0", SuffixByteRequest(3)),
        ("0/c/0/1", None),
        ("0/c/0/0", OffsetByteRequest(8)),
        ("0/c/0/1", RangeByteRequest(1, 3)),
        ("0/c/0/0", RangeByteRequest(8, 100)),
        ("0/c/0/0", SuffixByteRequest(100)),
        ("0/c/1/0", SuffixByteRequest(4)),
        ("0/c/0/0", OffsetByteRequest(10)),
        ("0/C/0/0", None),
    ]
    expected = [b"bc", None, b"789", b"abcdef", b"89", b"bc", b"89", b"0123456789", b"", b"", None]
    assert partial_values(store, requests) == expected
    assert partial_values(store, iter(requests)) == expected
    assert partial_values(store, reversed(requests)) == expected[::-1]
    assert partial_values(store, []) == []


# Writeable stores.


def test_set(writing):
    put(writing, "0/c/0/0", b"new")
    put(writing, "0/C/0/0", b"other")
    assert contents(writing) == VALUES | {"0/c/0/0": b"new", "0/C/0/0": b"other"}


def test_set_partial_values(writing):
    run(
        writing.set_partial_values(
            [
                ("0/c/0/0", 7, b"GHI"),
                ("0/c/0/1", 5, b"FG"),
                ("0/c/0/0", 0, b"A"),
                ("new", 2, b"x"),
                ("0/c/0/0", 3, b"D"),
            ]
        )
    )
    changed = {"0/c/0/0": b"A12D456GHI", "0/c/0/1": b"abcdeFG", "new": b"\0\0x"}
    assert contents(writing) == VALUES | changed


@pytest.mark.parametrize("order", [1, -1])
def test_set_partial_values_refuses_overlapping_ranges_and_writes_nothing_then(writing, order):
    writes = [("0/c/0/1", 0, b"first"), ("0/c/0/0", 2, b"xx"), ("0/c/0/0", 3, b"y"), ("new", 0, b"z")]
    with pytest.raises(UsageError, match="overlaps"):
        run(writing.set_partial_values(writes[::order]))
    assert contents(writing) == VALUES


def test_set_partial_values_refuses_a_write_before_the_value(writing):
    with pytest.raises(UsageError, match="an offset of 0 or more"):
        run(writing.set_partial_values([("0/c/0/0", 0, b"x"), ("0/c/0/1", -1, b"x")]))
    assert contents(writing) == VALUES


def test_erase(writing):
    run(writing.delete("0/c/0/0"))
    run(writing.delete("no/such/key"))
    run(writing.delete("0/C/0/1"))
    run(writing.delete("0/c"))
    assert contents(writing) == {key: value for key, value in VALUES.items() if key != "0/c/0/0"}


def test_erase_values(writing):
    run(writing.delete_values(iter(["0/c/0/0", "no/such/key", "zarr.json", "0/c/0/0"])))
    assert contents(writing) == {key: value for key, value in VALUES.items() if key not in ("0/c/0/0", "zarr.json")}


@pytest.mark.parametrize("prefix", ["", "0/", "0/c/", "0/c/0/", "0/c", "none/", "0/C/"])
def test_erase_prefix(writing, prefix):
    run(writing.delete_prefix(prefix))
    assert contents(writing) == {key: value for key, value in VALUES.items() if not key.startswith(prefix)}


# Listable stores.


def test_list(store):
    assert sorted(collect(store.list())) == sorted(VALUES)


@pytest.mark.parametrize("prefix", ["", "0/", "0/c/", "0/c/0/", "0/c", "none/", "0/C/", "zarr.json"])
def test_list_prefix(store, prefix):
    found = collect(store.list_prefix(prefix))
    assert sorted(found) == sorted(key for key in VALUES if key.startswith(prefix))


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("", ["0", "zarr.json"]),
        ("0/", ["c", "c.txt", "zarr.json"]),
        ("0/c/", ["0", "1"]),
        ("0/c/0/", ["0", "1"]),
        ("none/", []),
        ("0/C/", []),
        ("zarr.json/", []),
    ],
)
def test_list_dir(store, prefix, expected):
    assert sorted(collect(store.list_dir(prefix))) == expected
    assert sorted(collect(store.list_dir(prefix.rstrip("/")))) == expected


# The page.


def test_the_page_names_a_method_that_exists_for_every_operation():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)\((.*?)\)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    operations = [operation for operation, _, _ in rows]
    tests = [name.removeprefix("test_") for name in globals() if name.startswith("test_")]
    expected = ["get", "get_partial_values", "set", "set_partial_values", "erase", "erase_values", "erase_prefix"]
    expected += ["list", "list_prefix", "list_dir"]
    assert operations == expected
    assert set(expected) <= set(tests)
    for _, method, arguments in rows:
        signature = inspect.signature(getattr(OzxStore, method))
        assert ", ".join(list(signature.parameters)[1:]) == arguments.replace("=None", "")


def test_the_page_names_only_methods_options_and_classes_that_exist():
    text = PAGE.read_text(encoding="utf-8")
    for method in re.findall(r"`(?:OzxStore|store)\.(\w+)", text):
        assert hasattr(OzxStore, method) or method in inspect.signature(OzxStore).parameters, method
    for name in re.findall(r"`(\w+(?:Error|Warning))`", text):
        assert hasattr(errors, name) or hasattr(builtins, name), name
    for option in re.findall(r"`(\w+)=", text):
        assert option in inspect.signature(OzxStore).parameters, option


def test_the_page_tells_the_numbers_of_the_code():
    text = PAGE.read_text(encoding="utf-8")
    assert f"{finishing.MOST_UNUSED:.0%}".replace("%", " %") in text
    assert f"{growing_file.LEAST_ROOM >> 10} KiB" in text


def test_values_are_buffers_whatever_the_operation(store):
    assert isinstance(run(store.get("zarr.json", PROTOTYPE)), type(buffer(b"")))

"""Zarr core 3.1, "Abstract store interface", by the methods that docs/store.md names.

tests/properties/test_store.py compares the other operations with those of zarr's MemoryStore.
"""

import builtins
import inspect
import re
from pathlib import Path

import pytest
from packed import sort_values, write_archive
from stores import SEED, contents, put, run

from ozx import OzxStore, UsageError, errors
from ozx.store import finishing, growing_file

PAGE = Path(__file__).parents[2] / "docs" / "store.md"
VALUES = SEED | {"0/c/0/0": b"0123456789", "0/c/0/1": b"abcdef", "0/c/1/0": b"", "0/c.txt": b"text"}


@pytest.fixture(params=["w", "a"])
def writing(request, tmp_path):
    """The same values in an archive in the making, and in one that is added to."""
    if request.param == "a":
        write_archive(tmp_path / "a.ozx", sort_values(VALUES))
    store = OzxStore(tmp_path / "a.ozx", request.param, sync=False)
    for key, value in VALUES.items() if request.param == "w" else ():
        put(store, key, value)
    yield store
    store._write.abort()


def test_set_partial_values(writing):
    first, second = "0/c/0/0", "0/c/0/1"
    writes = [(first, 7, b"GHI"), (second, 5, b"FG"), (first, 0, b"A"), ("new", 2, b"x"), (first, 3, b"D")]
    run(writing.set_partial_values(writes))
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


def test_the_page_names_a_method_that_exists_for_every_operation():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)\((.*?)\)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    operations = [operation for operation, _, _ in rows]
    expected = ["get", "get_partial_values", "set", "set_partial_values", "erase", "erase_values", "erase_prefix"]
    expected += ["list", "list_prefix", "list_dir"]
    assert operations == expected
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

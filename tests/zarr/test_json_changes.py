"""Documents written anew in the style they had."""

import json

import pytest

from ozx.zarr.json_changes import dump_like, iter_changes


@pytest.mark.parametrize(
    "stored",
    [
        b'{"a": 1.50, "b": [1,2]}',
        b'{\r\n  "a": 1.5,\r\n  "b": [1, 2]\r\n}\r\n',
        b'  {"a" : 1.5, "b":[ 1,2 ]}\n',
        b'{"a": 15e-1, "b": [1, 2], "b": [1, 2]}',
        b"{}",
    ],
)
def test_a_style_that_no_writer_of_ours_has_comes_close(stored):
    old = json.loads(stored)
    new = {**old, "a": 2.5}
    written = dump_like(new, old, stored)
    assert json.loads(written) == new
    assert (b"\n" in written.strip()) == (b"\n" in stored.strip())


def test_half_a_surrogate_pair_is_written():
    old = json.loads(b'{"a": "\\ud800", "b": "\xc2\xb5"}')
    assert json.loads(dump_like(old, old, b'{"a": "\\ud800", "b": "\xc2\xb5"}')) == old


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1.0}, [("/a", 1, 1.0)]),
        ({"a": 1}, {"a": True}, [("/a", 1, True)]),
        ({"a": [1, [2, 3]]}, {"a": [1, [2, 4]]}, [("/a/1/1", 3, 4)]),
        ({"a": [1]}, {"a": [1, 2]}, [("/a", [1], [1, 2])]),
        ({"a": {}}, {}, [("/a", {}, None)]),
        ({}, {"~/": 1}, [("/~0~1", None, 1)]),
        ([float("inf")], [float("inf")], []),
    ],
)
def test_changes_are_named_by_pointers(old, new, changes):
    assert list(iter_changes(old, new)) == changes

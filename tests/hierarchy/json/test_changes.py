"""Documents written anew in the style they had."""

import json

import pytest
from hierarchies import FIXTURES, tree

from ozx.hierarchy.json.changes import JsonChange, JsonStyles, iter_changes

OLD = {"a": [1, 2.5, {"b": None}], "c": "µm", "d": {}, "e": []}
NEW = {"a": [1, 5.0, {"b": True}], "c": "µm", "d": {}, "e": []}

STYLES = {
    "indent 2": {"indent": 2, "ensure_ascii": False},
    "indent 4": {"indent": 4},
    "tabs": {"indent": "\t"},
    "indent 2, tight colons": {"indent": 2, "separators": (",", ":")},
    "one line": {},
    "one line, not ASCII": {"ensure_ascii": False},
    "compact": {"separators": (",", ":")},
    "compact, spaced colons": {"separators": (",", ": ")},
}


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
@pytest.mark.parametrize("style", STYLES)
def test_the_style_stays(style, ending):
    stored = json.dumps(OLD, **STYLES[style]) + ending
    expected = json.dumps(NEW, **STYLES[style]) + ending
    assert JsonStyles().dump_like(NEW, OLD, stored.encode()) == expected.encode()
    assert JsonStyles().dump_like(OLD, OLD, stored.encode()) == stored.encode()


def test_characters_stay_escaped_or_not():
    for escapes in (True, False):
        stored = json.dumps(OLD, ensure_ascii=escapes)
        assert JsonStyles().dump_like(NEW, OLD, stored.encode()) == json.dumps(NEW, ensure_ascii=escapes).encode()


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
    written = JsonStyles().dump_like(new, old, stored)
    assert json.loads(written) == new
    assert (b"\n" in written.strip()) == (b"\n" in stored.strip())


def test_documents_that_look_alike_have_one_style():
    styles = JsonStyles()
    for style in (*STYLES, *STYLES):
        stored = json.dumps(OLD, **STYLES[style])
        assert styles.dump_like(NEW, OLD, stored.encode()) == json.dumps(NEW, **STYLES[style]).encode(), style


def test_half_a_surrogate_pair_is_written():
    old = json.loads(b'{"a": "\\ud800", "b": "\xc2\xb5"}')
    assert json.loads(JsonStyles().dump_like(old, old, b'{"a": "\\ud800", "b": "\xc2\xb5"}')) == old


def test_every_document_of_the_fixtures_comes_out_as_it_is():
    for path in FIXTURES.glob("*.ome.zarr"):
        for key, value in tree(path).items():
            if key.endswith("zarr.json"):
                document = json.loads(value)
                assert JsonStyles().dump_like(document, document, value) == value


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1.0}, [JsonChange("/a", 1, 1.0)]),
        ({"a": 1}, {"a": True}, [JsonChange("/a", 1, True)]),
        ({"a": [1, [2, 3]]}, {"a": [1, [2, 4]]}, [JsonChange("/a/1/1", 3, 4)]),
        ({"a": [1]}, {"a": [1, 2]}, [JsonChange("/a", [1], [1, 2])]),
        ({"a": {}}, {}, [JsonChange("/a", {}, None)]),
        ({}, {"~/": 1}, [JsonChange("/~0~1", None, 1)]),
        ([float("inf")], [float("inf")], []),
    ],
)
def test_changes_are_named_by_pointers(old, new, changes):
    assert list(iter_changes(old, new)) == changes

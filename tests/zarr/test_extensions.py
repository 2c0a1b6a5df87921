"""What a document asks its reader to understand."""

import pytest

from ozx.zarr.extensions import CORE_FIELDS, Extension, parse_extensions, unknown_fields

STATISTICS = {"name": "example.statistics", "must_understand": False, "configuration": {"min": 5}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], []),
        (["a.b"], [("a.b", True)]),
        ([{"name": "a.b"}], [("a.b", True)]),
        ([{"name": "a.b", "must_understand": True}], [("a.b", True)]),
        ([{"name": "a.b", "must_understand": False}], [("a.b", False)]),
        # Only false itself allows ignoring: what is merely no true does not.
        ([{"name": "a.b", "must_understand": None}], [("a.b", True)]),
        ([{"name": "a.b", "must_understand": 0}], [("a.b", True)]),
        ([{"name": "a.b", "must_understand": "false"}], [("a.b", True)]),
        (["a.b", STATISTICS], [("a.b", True), ("example.statistics", False)]),
    ],
)
def test_names_and_objects_are_extensions(value, expected):
    assert [(found.name, found.must_understand) for found in parse_extensions(value)] == expected


def test_an_extension_knows_its_place_and_settings():
    first, second = parse_extensions(["a.b", STATISTICS])
    assert (first.pointer, first.configuration) == ("/extensions/0", {})
    assert second == Extension("extensions", "example.statistics", False, STATISTICS, "/extensions/1")
    assert second.configuration == {"min": 5}
    assert parse_extensions(["x"], "codecs", "/codecs")[0].pointer == "/codecs/0"


@pytest.mark.parametrize("node_type", ["array", "group"])
def test_fields_of_the_core_and_of_zep_10_are_known(node_type):
    document = dict.fromkeys(CORE_FIELDS[node_type], 1) | {"node_type": node_type, "extensions": []}
    assert unknown_fields(document) == ()
    found = unknown_fields(document | {"cache": {"must_understand": False}, "a/b~c": {"must_understand": True}})
    assert [(field.name, field.must_understand, field.pointer) for field in found] == [
        ("cache", False, "/cache"),
        ("a/b~c", True, "/a~1b~0c"),
    ]

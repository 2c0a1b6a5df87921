"""Schemas of conventions: given as files, and nothing is ever fetched."""

import json
import socket

import pytest
from cases.archive_builder import group

from ozx.errors import UsageError
from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.zarr.schemas import Schemas

URL = "https://example.org/proj/v1/schema.json"
OTHER = "https://example.org/code.json"
CODE = {"type": "object", "properties": {"proj:code": {"type": "string"}}, "required": ["proj:code"]}


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("something was looked up in the network")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


def check(document, schemas):
    options = Options(second_opinion=False, schemas=Schemas(schemas))
    return [
        (finding.where.pointer, finding.message)
        for finding in check_documents({"zarr.json": document}, options)
        if finding.id == "conventions/schema"
    ]


def declared(code=None, **more):
    attributes = {"zarr_conventions": [{"schema_url": URL, "name": "proj:"}], **more}
    return group(attributes=attributes | ({} if code is None else {"proj:code": code}))


def test_attributes_that_are_not_as_the_schema_has_them():
    assert check(declared("EPSG:4326"), {URL: CODE}) == []
    assert check(declared(4326), {URL: CODE}) == [("/attributes/proj:code", f"\"{URL}\": 4326 is not of type 'string'")]
    assert check(declared(), {URL: CODE}) == [("/attributes", f"\"{URL}\": 'proj:code' is a required property")]


def test_conventions_whose_schema_is_not_given_are_passed_over():
    assert check(declared(4326), {OTHER: CODE}) == []
    assert check(declared(4326), {}) == []
    assert check(group(attributes={"zarr_conventions": [{"schema_url": 7}, "x"]}), {URL: CODE}) == []


def test_the_form_before_v1():
    key = "f010a634-3525-416e-9320-8f44b5bc352c"
    convention = {"version": "0.1.0", "name": "proj", "schema": URL, "configuration": {"proj:code": 4326}}
    attributes = {"zarr_conventions_version": "0.1.0", "zarr_conventions_metadata": {key: convention}}
    pointer = f"/attributes/zarr_conventions_metadata/{key}/configuration/proj:code"
    assert check(group(attributes=attributes), {URL: CODE}) == [(pointer, f"\"{URL}\": 4326 is not of type 'string'")]


TEXT = {"type": "string"}
SCHEMAS = {
    "of the whole document": {URL: {"properties": {"attributes": CODE}}},
    "of the whole document, by a reference": {
        URL: {"required": ["attributes"], "$ref": "#/$defs/a", "$defs": {"a": {"properties": {"attributes": CODE}}}}
    },
    "that refers to another": {
        URL: {"properties": {"proj:code": {"$ref": "../../code.json#/$defs/code"}}},
        OTHER: {"$defs": {"code": TEXT}},
    },
    "with one inside, in a draft": {
        URL: {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"inner": {"$id": "https://example.org/inner.json", **TEXT}},
            "properties": {"proj:code": {"$ref": "https://example.org/inner.json"}},
        }
    },
    "of an unknown dialect": {URL: {"$schema": "https://example.org/dialect", **CODE}},
}


@pytest.mark.parametrize("schemas", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_of_any_form(schemas):
    assert check(declared("EPSG:4326"), schemas) == []
    assert check(declared(4326), schemas)[0][0] == "/attributes/proj:code"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "https://elsewhere.org/x.json"}, "refers to https://elsewhere.org/x.json, which is not given"),
        ({"allOf": [{"$ref": "x.json#/a"}]}, "refers to https://example.org/proj/v1/x.json, which is not given"),
        ({"$dynamicRef": "file:///etc/passwd"}, "refers to file:///etc/passwd, which is not given"),
        ({"type": "nonsense"}, "expected a JSON schema"),
        ([], "expected a JSON schema, an object; found list"),
    ],
)
def test_schemas_that_are_refused(schema, said):
    with pytest.raises(UsageError, match=r"schema of https://example\.org/proj/v1/schema\.json") as error:
        Schemas({URL: schema})
    assert said in error.value.message


def test_a_reference_to_nothing_in_the_schema_itself():
    with pytest.raises(UsageError, match="where there is nothing"):
        check(declared(4326), {URL: {"properties": {"proj:code": {"$ref": "#/$defs/code"}}}})


def test_files(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text("{")
    with pytest.raises(UsageError, match="expected a JSON schema"):
        Schemas.read({URL: str(path)})
    path.write_text(json.dumps(CODE))
    for given in (path, str(path)):
        assert Schemas.read({URL: given}).faults(URL, {"proj:code": 1})
    with pytest.raises(FileNotFoundError):
        Schemas.read({URL: str(tmp_path / "missing.json")})


def test_a_value_that_is_nested_too_deep():
    value = {}
    for _ in range(100_000):
        value = {"a": value}
    schema = {"properties": {"a": {"$ref": "#"}}}
    assert Schemas({URL: schema}).faults(URL, value) == [((), "the value is nested too deep for the schema")]

"""How documents reach their rules: each is read once, equal ones are checked once, and nothing is lost by that."""

import json
import re

import pytest
from cases.archive_builder import array, group

from ozx.errors import FormatError, UnsupportedError
from ozx.validation import hierarchy
from ozx.validation.hierarchy import NodeChecker, Options, check_documents
from ozx.validation.nodes.facts import ParsedNode, read_legacy_nodes, read_nodes
from ozx.zarr.extensions import registry_date

WRONG = array([4], [4]).replace(b'"fill_value": 0', b'"fill_value": 300')


class Counting(dict):
    """Values by key, which writes down what is asked for."""

    def __init__(self, values):
        super().__init__(values)
        self.asked = []

    def __getitem__(self, key):
        self.asked.append(key)
        return super().__getitem__(key)


def test_every_document_is_read_once():
    values = Counting({"zarr.json": group(), "0/zarr.json": array([4], [4]), "1/zarr.json": array([4], [4])})
    list(check_documents(values))
    assert values.asked == ["zarr.json", "0/zarr.json", "1/zarr.json"]


def test_equal_documents_have_findings_each():
    values = {"zarr.json": group()} | {f"{number}/zarr.json": WRONG for number in range(30)}
    findings = [finding for finding in check_documents(values) if finding.id == "zarr/fill-value"]
    assert [finding.where.entry for finding in findings[:20]] == [f"{number}/zarr.json" for number in range(20)]
    assert [finding.message for finding in findings[20:]] == ["and 10 more of the same"]


def test_equal_documents_are_checked_once_where_nothing_is_said_of_them(monkeypatch):
    checked = []
    monkeypatch.setattr(hierarchy, "NODE_CHECKS", (lambda node: checked.append(node.key) or (),))
    values = {"zarr.json": group()} | {f"{number}/zarr.json": array([4], [4]) for number in range(30)}
    list(check_documents(values, Options(second_opinion=False)))
    assert checked == ["zarr.json", "0/zarr.json"]


def test_facts_of_equal_documents_are_those_of_each_node():
    data = group(extensions=[{"name": "a.b", "configuration": {"reference": ".."}}])
    nodes, _ = read_nodes({"a/zarr.json": data, "b/zarr.json": data}, look=lambda _: None)
    assert [(path, node.path, node.ome_key) for path, node in nodes.items()] == [
        ("a", "a", "a/zarr.json"),
        ("b", "b", "b/zarr.json"),
    ]
    assert nodes["b"].references == (("a.b", ".."),)


def test_faults_of_json_are_those_of_each_node():
    twice = b'{"zarr_format": 3, "node_type": "group", "node_type": "group"}'
    found = [finding.where.entry for finding in check_documents({"zarr.json": twice, "a/zarr.json": twice})]
    assert found == ["zarr.json", "a/zarr.json"]


def test_more_documents_than_are_remembered():
    values = {"zarr.json": group()}
    values |= {f"{number}/zarr.json": group(attributes={"number": number}) for number in range(1200)}
    values |= {"again/zarr.json": group(attributes={"number": 0})}
    assert list(check_documents(values)) == []


def test_a_check_that_goes_too_deep_is_a_finding():
    def dive(node):
        raise RecursionError
        yield node

    checker = NodeChecker()
    checker._node_checks = (dive,)
    checker.look(ParsedNode.of_v3("a/zarr.json", {}))
    (finding,) = checker.findings({})
    assert (finding.id, finding.where.entry) == ("zarr/json", "a/zarr.json")


OLD = {
    ".zgroup": b'{"zarr_format": 2}',
    ".zattrs": b'{"multiscales": []}',
    ".zmetadata": b"no JSON",
    "0/.zattrs": b"{}",
    "0/.zarray": b'{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1"}',
    "1/.zgroup": b"no JSON",
}


class TestZarrV2:
    def test_documents_of_one_node_are_looked_at_together(self):
        seen = []
        nodes, faults = read_legacy_nodes(OLD, (), seen.append)
        assert [(node.key, node.node_type, node.attributes_key) for node in seen] == [
            (".zgroup", "group", ".zattrs"),
            ("0/.zarray", "array", "0/.zattrs"),
        ]
        assert nodes[""].ome == {"multiscales": []}
        assert nodes["0"].array.shape == (4,)
        assert not nodes["1"].is_known
        assert [key for key, _ in faults] == ["1/.zgroup"]

    def test_what_is_known_to_be_damaged_is_not_read(self):
        seen = []
        nodes, faults = read_legacy_nodes(OLD, {"0/.zattrs", "1/.zgroup"}, seen.append)
        assert [node.key for node in seen] == [".zgroup"]
        assert [path for path, node in nodes.items() if not node.is_known] == ["0", "1"]
        assert faults == []

    def test_attributes_without_a_node(self):
        (finding,) = check_documents({".zattrs": b'{"a": 1}'})
        assert (finding.id, finding.where.entry) == ("zarr/v2-metadata", ".zattrs")


@pytest.mark.parametrize("key", ["zarr.json", ".zgroup"])
@pytest.mark.parametrize("error", [FormatError, UnsupportedError])
def test_what_reading_raises_is_a_finding(key, error):
    class Failing(dict):
        def __getitem__(self, key):
            raise error("no such bytes", rule="zip/crc", hint="Copy it again.")

    (finding,) = check_documents(Failing({key: b""}))
    assert (finding.id, finding.where.entry, finding.hint) == ("zip/crc", key, "Copy it again.")


def test_lengths_that_nobody_can_compare():
    document = json.loads(array([4], [4]))
    document["shape"] = document["chunk_grid"] = "?"
    document["codecs"].insert(0, {"name": "transpose", "configuration": {"order": [1, 0]}})
    found = {finding.id for finding in check_documents({"zarr.json": json.dumps(document).encode()})}
    assert found == {"zarr/shape", "zarr/extension-name"}


def test_of_unregistered_names_the_date_of_the_registry_is_told():
    document = json.loads(array([4], [4])) | {"codecs": [{"name": "bytes"}, {"name": "my-codec", "configuration": {}}]}
    (finding,) = check_documents({"zarr.json": json.dumps(document).encode()})
    assert finding.id == "zarr/extension-unregistered"
    assert f"(registry as of {registry_date()})" in finding.message
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", registry_date())

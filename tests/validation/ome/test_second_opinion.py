"""ome-zarr-models 1.7 as the second opinion: it agrees on every case, or it is known why not."""

import copy
import json
import sys

from cases.documents import FILES, documents_of
from hierarchies import group

from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.nodes.facts import ParsedNode, read_legacy_nodes
from ozx.validation.ome.documents import check_ome
from ozx.validation.ome.second_opinion import check_second_opinion, refusals

LAX = "it does not look"
CONVERTS = "it takes text for a number"
UNCHECKED = "it knows omero of 0.4 only"
STRICT = "it asks for more than the text"

# Who alone refuses, rule, names of cases, reason.
DIFFERENCES = [
    ("ours", "ome/acquisitions", ["the same id twice"], LAX),
    ("ours", "ome/axes-count", ["a channel and a custom axis"], "to it these are two kinds, one of each is allowed"),
    ("ours", "ome/channel-color", ["missing", "with a hash", "a name"], UNCHECKED),
    ("ours", "ome/channel-window", ["missing", "no min and max", "strings"], UNCHECKED),
    ("ours", "ome/omero", ["no channels", "a list", "channels by name"], UNCHECKED),
    ("ours", "ome/scale", ["numbers as strings"], CONVERTS),
    ("ours", "ome/series", ["an object", "numbers"], LAX),
    ("ours", "ome/well-path", ["the index of another row", "an index beyond the columns"], LAX),
    ("ours", "ome/well-path", ["the same well twice"], LAX),
    ("theirs", "ome/second-opinion", ["a color without rgba, which it wants"], STRICT),
    ("theirs", "ome/second-opinion", ["colors for other values than properties, which it refuses"], STRICT),
]
EXPECTED = {(who, rule, name) for who, rule, names, _ in DIFFERENCES for name in names}
OME_FILES = {rule: file for rule, file in FILES.items() if rule.startswith("ome/")}
CASES = [(rule, case) for rule, file in OME_FILES.items() for case in file["fails"] + file["passes"]]


def nodes_of(case):
    """Return the nodes of a case that can be read."""
    documents = documents_of(case)
    if not any(key.endswith("zarr.json") for key in documents):
        found = []
        read_legacy_nodes(documents, (), found.append)
        return found
    return [ParsedNode.of_v3(key, json.loads(value)) for key, value in documents.items()]


def opinions(case):
    """Return whether our own rules and ome-zarr-models refuse the attributes of any node."""
    ours = theirs = False
    for node in nodes_of(case):
        if node.ome is None or node.node_type == "array":
            continue
        found = list(check_ome(node))
        if (node.is_v3 and node.ome.get("version") != "0.5") or "ome/unknown-version" in {one.id for one in found}:
            continue
        ours |= any(finding.severity == "error" for finding in found)
        theirs |= bool(refusals(node.ome, is_v3=node.is_v3))
    return ours, theirs


def test_both_agree_or_it_is_known_why():
    found = set()
    for rule, case in CASES:
        ours, theirs = opinions(case)
        if ours != theirs:
            found.add(("ours" if ours else "theirs", rule, case["name"]))
    assert found == EXPECTED


def test_a_disagreement_is_reported_where_it_is():
    case = next(case for case in FILES["ome/second-opinion"]["fails"] if "rgba" in case["name"])
    findings = [finding for finding in check_documents(documents_of(case)) if finding.id == "ome/second-opinion"]
    assert [finding.where.pointer for finding in findings] == ["/attributes/ome/image-label/colors/0"]
    assert "Field required" in findings[0].message
    options = Options(second_opinion=False)
    assert not [finding for finding in check_documents(documents_of(case), options) if "second" in finding.id]


def test_what_ours_say_is_not_said_again():
    node = ParsedNode.of_v3("zarr.json", json.loads(group(version="0.5", labels=7)))
    ours = list(check_ome(node))
    assert [finding.id for finding in ours] == ["ome/labels"]
    assert list(check_second_opinion(node, ours)) == []
    assert [finding.where.pointer for finding in check_second_opinion(node, [])] == ["/attributes/ome/labels"]


def test_what_it_stumbles_over_is_no_opinion():
    # Its comparison of scales fails with an IndexError where one is shorter.
    steps = [[{"type": "scale", "scale": [1.0] * length}] for length in (2, 1)]
    axes = [{"name": name, "type": "space"} for name in "yx"]
    datasets = [{"path": str(number), "coordinateTransformations": step} for number, step in enumerate(steps)]
    assert refusals({"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}, is_v3=True) == []


def test_images_that_differ_in_names_and_places_are_asked_about_once(monkeypatch):
    document = json.loads(documents_of(FILES["ome/translation"]["passes"][0])["zarr.json"])
    ome = document["attributes"]["ome"]
    refusals(ome, is_v3=True)
    monkeypatch.setitem(sys.modules, "pydantic", None)  # a new question would need it
    other = copy.deepcopy(ome)
    other["multiscales"][0]["name"] = "another"
    other["multiscales"][0]["datasets"][0]["coordinateTransformations"][1]["translation"] = [7.5, 8.5]
    assert refusals(other, is_v3=True) == []


def test_it_is_not_asked_where_it_would_compare_millions_of_pairs():
    rows, wells = [{"name": f"R{number}"} for number in range(400)], [{"path": "R0/1", "rowIndex": 0, "columnIndex": 0}]
    plate = {"rows": [*rows, rows[0]], "columns": [{"name": "1"}], "wells": wells, "version": "0.5"}
    assert refusals({"version": "0.5", "plate": plate}, is_v3=True)
    plate["rows"] = [*rows, *rows]
    assert refusals({"version": "0.5", "plate": plate}, is_v3=True) == []
    well = {"images": [{"path": "0"}] * 501}
    assert refusals({"version": "0.5", "well": well}, is_v3=True) == []
    for name in ("axes", "datasets"):
        multiscale = {"axes": [], "datasets": [], name: [{"name": "x", "type": "space"}] * 501}
        assert refusals({"version": "0.5", "multiscales": [multiscale]}, is_v3=True) == []

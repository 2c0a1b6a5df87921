"""Findings as SARIF, JUnit XML and a page."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
from commands import command
from hierarchies import FIXTURES
from packed import pack_tree

from ozx.validation.cases.archive_builder import ArchiveBuilder

ozx = command("validate")


@pytest.fixture
def paths(here):
    """Two valid files, one with hostile names that is not, and a missing one."""
    pack_tree(FIXTURES / "image.ome.zarr", here / "good.ozx")
    pack_tree(FIXTURES / "image.ome.zarr", here / "other.ozx")
    ArchiveBuilder.valid().add("../<script>\x1b&\x00").write(here / "<b>.ozx")
    return ["good.ozx", "other.ozx", "<b>.ozx", "missing.ozx"]


def test_sarif(capsys, paths):
    code, out, err = ozx(capsys, *paths, "--format", "sarif")
    assert code == 4
    assert "error: missing.ozx" in err
    answer = json.loads(out)
    (run,) = answer["runs"]
    assert answer["version"] == "2.1.0"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert {result["ruleId"] for result in run["results"]} == set(rules)
    assert {result["level"] for result in run["results"]} <= {"error", "warning", "note"}
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert "%3Cb%3E.ozx" in uris
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 1


def test_junit(capsys, paths):
    code, out, _ = ozx(capsys, *paths, "--format", "junit")
    assert code == 4
    suite = ET.fromstring(out).find("testsuite")
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
    }
    assert [case.get("name") for case in suite] == paths
    assert "zip/" in suite[2].find("failure").text


def test_a_page(capsys, here, paths):
    (here / "report.html").write_text("an older one")
    code, out, _ = ozx(capsys, *paths, "--quiet", "--report", "report.html")
    assert code == 4
    assert out.startswith("<b>.ozx")
    page = (here / "report.html").read_text(encoding="utf-8")
    assert '2 valid, <span class="error">1 not valid</span>, 1 not read' in page
    assert "&lt;b&gt;.ozx" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "missing.ozx" in page


def test_a_failing_file_has_its_picture(capsys, here):
    builder = pack_tree(FIXTURES / "image.ome.zarr", here / "bad.ozx")
    data = builder.read_bytes()
    builder.write_bytes(data + b"trailing")
    assert ozx(capsys, "bad.ozx", "--report", "report.html")[0] == 1
    assert '<img alt="bad.ozx" src="data:image/png;base64,' in (here / "report.html").read_text(encoding="utf-8")


def test_both_formats(capsys, paths):
    code, _, err = ozx(capsys, *paths, "--json", "--format", "sarif")
    assert code == 2
    assert "expected either --json or --format; got both" in err

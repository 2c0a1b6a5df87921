"""The exported cases of the rules: the same bytes each time, and each file has the findings that it promises."""

import base64
import gzip
import json

import pytest
from cases.export import export
from cases.table import WITHOUT_CASES

from ozx.validation.rules.table import RULES
from ozx.validation.validate import validate

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases") / "all"
    export(folder)
    return folder


def read_rules(folder):
    return json.loads((folder / "expected.json").read_bytes())["rules"]


def decode(path, encoding):
    """Make the file that has another form, as the docstring of the script says how."""
    made = path.with_name("made") / path.name.removesuffix(".gz").removesuffix(".parts.json")
    made.parent.mkdir()
    if encoding == "gzip":
        made.write_bytes(gzip.decompress(path.read_bytes()))
        return made
    form = json.loads(path.read_bytes())
    with made.open("wb") as file:
        file.truncate(form["size"])
        for part in form["parts"]:
            file.seek(part["offset"])
            file.write(base64.b64decode(part["base64"]))
    return made


def test_every_case_has_the_findings_that_it_promises(folder):
    for case in (case for rule in read_rules(folder) for case in rule["cases"]):
        path = folder / case["path"]
        if "pointer" in case:
            _, kind, number = case["pointer"].split("/")
            found = json.loads(path.read_bytes())[kind][int(number)]
            assert (found["name"], found["found"]) == (case["name"], case["found"])
            continue
        made = decode(path, case["encoding"]) if "encoding" in case else path
        report = validate(made, level=case["level"], profile=case["profile"], revision=case["revision"])
        assert {finding.id: finding.severity for finding in report.findings} == case["found"], case
        if made != path:
            made.unlink()
            made.parent.rmdir()


def test_every_rule_has_its_clause_and_cases_or_a_reason(folder):
    for entry, rule in zip(read_rules(folder), RULES.values(), strict=True):
        assert (entry["id"], entry["clause"]) == (rule.id, rule.clause)
        assert {case["breaks"] for case in entry["cases"]} == ({True, False} if entry["cases"] else set())
        assert bool(entry["cases"]) == (entry["id"] not in WITHOUT_CASES) == ("without" not in entry)


def test_twice_the_same_bytes_and_few(folder, tmp_path):
    def contents(root):
        return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    export(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(folder)
    assert sum(map(len, contents(folder).values())) < 5_000_000

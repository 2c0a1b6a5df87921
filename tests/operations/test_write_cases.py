"""The cases of the rules as files: complete, small, the same every time, and each with the findings it promises."""

import base64
import gzip
import json
import os

import pytest

from ozx.errors import UsageError
from ozx.operations.write_cases import write_cases
from ozx.validation.cases.table import WITHOUT_CASES
from ozx.validation.rules.table import RULES
from ozx.validation.validate import validate


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cases") / "all"
    return directory, write_cases(directory)


def contents(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def expected(directory):
    return json.loads((directory / "expected.json").read_bytes())


def archive_cases(directory):
    return [case for rule in expected(directory)["rules"] for case in rule["cases"] if "pointer" not in case]


def decode(path, encoding):
    """Make the file that stands in another form, as the docstring of `write_cases` says."""
    made = path.with_name("made") / path.name.removesuffix(".gz").removesuffix(".parts.json")
    made.parent.mkdir()
    if encoding == "gzip":
        made.write_bytes(gzip.decompress(path.read_bytes()))
    else:
        form = json.loads(path.read_bytes())
        with made.open("wb") as file:
            file.truncate(form["size"])
            for part in form["parts"]:
                file.seek(part["offset"])
                file.write(base64.b64decode(part["base64"]))
    return made


@pytest.mark.ci
def test_all_are_written_and_stay_small(written):
    directory, result = written
    files = contents(directory)
    assert result.files == len(files)
    assert result.bytes == sum(map(len, files.values())) < 5_000_000
    assert result.rules == len(RULES)
    assert result.cases == sum(len(rule["cases"]) for rule in expected(directory)["rules"])
    assert max(len(str(path)) for path in files) < 120


@pytest.mark.ci
def test_every_rule_is_there_with_what_demands_it(written):
    for entry, rule in zip(expected(written[0])["rules"], RULES.values(), strict=True):
        fields = rule.to_dict()
        assert {name: fields[name] for name in entry if name in fields} == {
            name: entry[name] for name in ("id", "severity", "title", "clause", "document", "revision")
        }
        assert {case["breaks"] for case in entry["cases"]} == ({True, False} if entry["cases"] else set())
        assert bool(entry["cases"]) == (entry["id"] not in WITHOUT_CASES) == ("without" not in entry)


@pytest.mark.ci
def test_twice_the_same_bytes(written, tmp_path):
    write_cases(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(written[0])


def test_every_archive_has_the_findings_that_it_promises(written):
    directory = written[0]
    for case in archive_cases(directory):
        if "encoding" not in case:
            report = validate(
                directory / case["path"], level=case["level"], profile=case["profile"], revision=case["revision"]
            )
            assert {finding.id: finding.severity for finding in report.findings} == case["found"], case


@pytest.mark.ci
def test_files_in_another_form_have_the_findings_that_they_promise(written):
    directory = written[0]
    cases = [case for case in archive_cases(directory) if "encoding" in case]
    assert {case["encoding"] for case in cases} == {"gzip", "parts"}
    for case in cases:
        made = decode(directory / case["path"], case["encoding"])
        report = validate(made, level=case["level"], profile=case["profile"], revision=case["revision"])
        assert {finding.id: finding.severity for finding in report.findings} == case["found"], case
        os.remove(made)


def test_documents_are_where_their_cases_point_to(written):
    directory = written[0]
    for rule in expected(directory)["rules"]:
        for case in rule["cases"]:
            if "pointer" in case:
                _, kind, number = case["pointer"].split("/")
                found = json.loads((directory / case["path"]).read_bytes())[kind][int(number)]
                assert (found["name"], found["found"]) == (case["name"], case["found"])


def test_one_rule_alone(tmp_path):
    write_cases(tmp_path / "cases", rule="rfc9/root-first")
    assert [rule["id"] for rule in expected(tmp_path / "cases")["rules"]] == ["rfc9/root-first"]
    assert {path.parts[:3] for path in contents(tmp_path / "cases")} == {
        ("expected.json",),
        ("archives", "rfc9", "root-first"),
    }


@pytest.mark.parametrize(("rule", "said"), [("rfc9/rot", "there is no rule"), (None, "exists")])
def test_refusals(tmp_path, rule, said):
    (tmp_path / "cases").mkdir()
    with pytest.raises(UsageError, match=said):
        write_cases(tmp_path / "cases", rule=rule)
    assert list((tmp_path / "cases").iterdir()) == []

"""The table of rules: complete and well formed."""

import ast
import re
from pathlib import Path

import pytest

from ozx.errors import FormatError
from ozx.validation.report import SEVERITIES
from ozx.validation.rules.findings import each, finding_from_error, make_finding
from ozx.validation.rules.table import RULES, near_matches

ROOT = Path(__file__).parent.parent.parent.parent
SOURCE = ROOT / "src" / "ozx"


def sources():
    return {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}


def test_every_rule_that_the_code_names_is_in_the_table():
    named = {
        (path.name, identifier)
        for path, text in sources().items()
        for identifier in re.findall(r"[\"`]((?:zip|rfc9|zarr|ome|conventions|ozx)/[a-z0-9-]+)[\"`]", text)
    }
    assert {identifier for _, identifier in named} >= RULES.keys()
    assert {pair for pair in named if pair[1] not in RULES} == set()


def test_every_rule_is_used_outside_the_table():
    code = "".join(sources().values())
    assert [identifier for identifier in RULES if f'"{identifier}"' not in code] == []


# Their `UnsupportedError` are about what ozx is asked to write or cannot decode: nothing is wrong with the file.
LIMITS = {"block_transcoding", "transcode", "reshard"}


def test_every_error_about_a_file_that_archive_and_flow_make_names_its_rule():
    for path, text in sources().items():
        if path.parent.name not in ("archive", "flow"):
            continue
        for node in ast.walk(ast.parse(text)):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name == "FormatError" or (name == "UnsupportedError" and path.stem not in LIMITS):
                assert "rule" in {keyword.arg for keyword in node.keywords}, f"{path.name}:{node.lineno}"


def test_rows_are_well_formed():
    for rule in RULES.values():
        assert re.fullmatch(r"(zip|rfc9|zarr|ome|conventions|ozx)/[a-z][a-z0-9-]*", rule.id)
        assert rule.severity in SEVERITIES, rule.id
        assert not rule.title.endswith("."), rule.id
        for text in (rule.clause, rule.meaning, rule.repair):
            assert text.strip() == text, rule.id
            assert text.endswith("."), rule.id
            assert "  " not in text, rule.id
        assert rule.document, rule.id
        assert rule.revision, rule.id
        assert "://" not in str(rule)


def test_ids_are_unique_and_found():
    assert len(RULES) == len({rule.title for rule in RULES.values()})
    for identifier, rule in RULES.items():
        assert RULES[identifier] is rule
        assert rule.id == identifier
    assert RULES.get("rfc9/nothing") is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("rfc9/rot", "rfc9/root"), ("overlap", "zip/overlap"), ("zip/stored", "rfc9/stored"), ("RFC9/ROOT", "rfc9/root")],
)
def test_near_matches(asked, expected):
    assert expected in near_matches(asked)
    assert len(near_matches(asked)) <= 3


@pytest.mark.parametrize("asked", ["", "%%%%"])
def test_nothing_is_near(asked):
    assert near_matches(asked) == []


def test_a_finding_takes_severity_and_hint_from_its_rule():
    finding = make_finding("rfc9/stored", "m", entry="x", offset=3)
    assert (finding.severity, finding.hint) == ("warning", RULES["rfc9/stored"].repair)
    assert finding.to_dict()["where"] == {"entry": "x", "offset": 3}
    assert make_finding("rfc9/stored", "m", severity="error", hint="h").to_dict()["hint"] == "h"


def test_a_finding_from_an_error():
    assert finding_from_error(FormatError("m", rule="zip/crc")).hint == RULES["zip/crc"].repair
    assert finding_from_error(FormatError("m", rule="zip/crc", hint="h")).hint == "h"
    for rule in (None, "zip/unheard-of"):  # a fault of the program
        with pytest.raises(FormatError):
            finding_from_error(FormatError("m", rule=rule))


@pytest.mark.parametrize(("count", "last"), [(20, "19"), (22, "and 2 more of the same")])
def test_the_rest_of_many_is_counted_and_keeps_their_severity(count, last):
    found = list(each("zip/name", range(count), lambda number: make_finding("zip/name", str(number), severity="note")))
    assert (found[-1].message, found[-1].severity) == (last, "note")

"""Format findings for CI systems: SARIF 2.1.0 (OASIS, 2020) and JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import ozx
from ozx.cli.output import one_line
from ozx.errors import OzxError
from ozx.validation.many import Outcome
from ozx.validation.report import Finding, Report
from ozx.validation.rules.table import RULES

Answers = Sequence[tuple[str, Outcome]]


def to_sarif(answers: Answers) -> str:
    """Return the findings on files as a SARIF log; an unreadable file becomes a notification."""
    found = [(path, finding) for path, answer in answers if isinstance(answer, Report) for finding in answer.findings]
    unread = [(path, answer) for path, answer in answers if isinstance(answer, OzxError)]
    used = sorted({finding.id for _, finding in found})
    driver = {"name": "ozx", "version": ozx.__version__, "rules": [_sarif_rule(identifier) for identifier in used]}
    notifications = [
        {"level": "error", "message": {"text": str(error)}, "locations": [_sarif_location(path)]}
        for path, error in unread
    ]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not unread, "toolExecutionNotifications": notifications}],
        "results": [_sarif_result(path, finding) for path, finding in found],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(identifier: str) -> dict[str, Any]:
    rule = RULES[identifier]
    return {
        "id": identifier,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": rule.repair},
    }


def _sarif_result(path: str, finding: Finding) -> dict[str, Any]:
    location = _sarif_location(path)
    if finding.where.entry is not None:
        name = finding.where.entry + (f"#{finding.where.pointer}" if finding.where.pointer else "")
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    text = f"{finding.message}. {finding.hint}" if finding.hint else finding.message
    return {"ruleId": finding.id, "level": finding.severity, "message": {"text": text}, "locations": [location]}


def _sarif_location(path: str) -> dict[str, Any]:
    uri = path if "://" in path else quote(path.encode("utf-8", "surrogateescape"))
    return {"physicalLocation": {"artifactLocation": {"uri": uri}}}


def to_junit(answers: Answers) -> str:
    """Return a JUnit test suite with a case per file; an invalid file is a failure, an unreadable file is an error."""
    suite = ET.Element("testsuite", name="ozx validate", tests=str(len(answers)))
    failures = errors = 0
    for path, answer in answers:
        case = ET.SubElement(suite, "testcase", classname="ozx.validate", name=_xml_text(path))
        if isinstance(answer, OzxError):
            errors += 1
            ET.SubElement(case, "error", message=_xml_text(str(answer)))
            continue
        lines = [_xml_text(_junit_line(finding)) for finding in answer.findings]
        if not answer.valid:
            failures += 1
            ET.SubElement(case, "failure", message=f"{answer.count('error')} errors").text = "\n".join(lines)
        elif lines:
            ET.SubElement(case, "system-out").text = "\n".join(lines)
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode")


def _junit_line(finding: Finding) -> str:
    where = f"{finding.where.entry}: " if finding.where.entry else ""
    return f"{finding.severity} {finding.id}: {where}{finding.message}"


def _xml_text(text: str) -> str:
    """Return text without the characters that XML forbids: control characters and single surrogates."""
    return one_line(text).encode("utf-8", "backslashreplace").decode().replace("\ufffe", "?").replace("\uffff", "?")

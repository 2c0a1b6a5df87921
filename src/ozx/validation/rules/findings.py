"""Creation of findings from rules, with limits on the number of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ozx.errors import FormatError, UnsupportedError
from ozx.validation.report import Finding, Severity, Where
from ozx.validation.rules.table import RULES

#: Number of findings of one kind that are kept; a last finding says how many more there are.
MOST_OF_A_KIND = 20

#: The rule and the severity of a finding.
Kind = tuple[str, Severity]

_T = TypeVar("_T")


def make_finding(
    identifier: str,
    message: str,
    *,
    entry: str | None = None,
    pointer: str | None = None,
    offset: int | None = None,
    severity: Severity | None = None,
    hint: str | None = None,
) -> Finding:
    """Return a finding of a rule, with a message that says what was expected and what was found.

    The place of the finding is a JSON pointer (RFC 6901) in the document of the key `entry`, or an offset in the file.
    By default, severity and hint are those of the rule.
    """
    rule = RULES[identifier]
    return Finding(identifier, severity or rule.severity, Where(entry, pointer, offset), message, hint or rule.repair)


def finding_from_error(error: FormatError | UnsupportedError, *, entry: str | None = None) -> Finding:
    """Return a finding for an error that occurred while reading."""
    if error.rule is None or error.rule not in RULES:
        raise error
    return make_finding(error.rule, error.message, entry=entry, hint=error.hint)


def by_revision(findings: Iterable[Finding], revision: str) -> Iterator[Finding]:
    """Yield findings with the severities of a revision of RFC-9; `REVISIONS` lists all revisions."""
    for finding in findings:
        rule = RULES[finding.id]
        if rule.draft_severity is None or finding.severity != rule.severity:
            yield finding
        elif revision == "draft":
            yield replace(finding, severity=rule.draft_severity)
        elif revision == "all":
            yield replace(
                finding, message=f"{finding.message} (an {rule.draft_severity} in the authors' revision of RFC-9)"
            )
        elif not rule.is_draft_only:
            yield finding


def each(identifier: str, items: Sequence[_T], describe: Callable[[_T], Finding]) -> Iterator[Finding]:
    """Yield findings for the first 20 items that break a rule, and one finding with the number of further items."""
    for item in items[:MOST_OF_A_KIND]:
        yield describe(item)
    rest = len(items) - MOST_OF_A_KIND
    if rest > 0:
        yield _and_more(identifier, describe(items[MOST_OF_A_KIND]).severity, rest)


class FindingCollector:
    """Collector that keeps the first 20 findings of each rule and severity, and counts the others."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._counts: Counter[Kind] = Counter()

    def counts(self) -> Counter[Kind]:
        """Return the number of findings of each rule and severity."""
        return self._counts.copy()

    def count_again(self, kinds: Counter[Kind]) -> bool:
        """Count findings of the given kinds without keeping them; return False if some of them must be kept.

        A kind is a rule and a severity; `kinds` gives the number of findings of each kind. If one of these kinds has
        not reached the limit, nothing is counted.
        """
        if any(self._counts[kind] < MOST_OF_A_KIND for kind in kinds):
            return False
        self._counts.update(kinds)
        return True

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings; findings beyond the limit are only counted."""
        for finding in findings:
            kind = finding.id, finding.severity
            self._counts[kind] += 1
            if self._counts[kind] <= MOST_OF_A_KIND:
                self._findings.append(finding)

    def __iter__(self) -> Iterator[Finding]:
        yield from self._findings
        for (rule, severity), count in self._counts.items():
            if count > MOST_OF_A_KIND:
                yield _and_more(rule, severity, count - MOST_OF_A_KIND)


def _and_more(identifier: str, severity: Severity, count: int) -> Finding:
    return make_finding(identifier, f"and {count:,} more of the same", severity=severity)

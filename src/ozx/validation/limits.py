"""Findings by the thousand: the first of each kind, and how many more there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ozx.validation.findings import Finding, Severity
from ozx.validation.rules import MOST_OF_A_KIND, make_finding

__all__ = ["LimitedFindings"]


class LimitedFindings:
    """Keeps the first `MOST_OF_A_KIND` findings of each rule and severity, and counts the others.

    Examples
    --------
    >>> findings = LimitedFindings()
    >>> findings.add(make_finding("zarr/shape", str(number)) for number in range(100))
    >>> findings.count, [finding.message for finding in findings][-2:]
    (100, ['19', 'and 80 more of the same'])
    """

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._counts: Counter[tuple[str, Severity]] = Counter()

    @property
    def count(self) -> int:
        """How many there are, counted ones included."""
        return self._counts.total()

    def add(self, findings: Iterable[Finding]) -> None:
        """Take findings."""
        for finding in findings:
            kind = finding.id, finding.severity
            self._counts[kind] += 1
            if self._counts[kind] <= MOST_OF_A_KIND:
                self._findings.append(finding)

    def __iter__(self) -> Iterator[Finding]:
        yield from self._findings
        for (rule, severity), count in self._counts.items():
            if count > MOST_OF_A_KIND:
                yield make_finding(rule, f"and {count - MOST_OF_A_KIND:,} more of the same", severity=severity)

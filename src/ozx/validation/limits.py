"""Findings by the thousand: the first of each kind, and how many more there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ozx.validation.findings import Finding, Severity
from ozx.validation.rules import MOST_OF_A_KIND, make_finding

__all__ = ["Kind", "LimitedFindings"]


#: The rule and the severity of a finding.
Kind = tuple[str, Severity]


class LimitedFindings:
    """Keeps the first `MOST_OF_A_KIND` findings of each rule and severity, and counts the others.

    Examples
    --------
    >>> findings = LimitedFindings()
    >>> findings.add(make_finding("zarr/shape", str(number)) for number in range(100))
    >>> [finding.message for finding in findings][-2:]
    ['19', 'and 80 more of the same']
    """

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._counts: Counter[Kind] = Counter()

    def counts(self) -> Counter[Kind]:
        """Return how many there are of each kind, counted ones included."""
        return self._counts.copy()

    def count_again(self, kinds: Counter[Kind]) -> bool:
        """Count findings of which none would be kept; return False, and do nothing, where one would."""
        if any(self._counts[kind] < MOST_OF_A_KIND for kind in kinds):
            return False
        self._counts.update(kinds)
        return True

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

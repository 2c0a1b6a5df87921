"""Format the report of ``ozx validate``: findings by node, the worst first, and how to repair them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ozx.cli.output import one_line
from ozx.errors import shortened
from ozx.hierarchy.entry_order import breadth_first
from ozx.hierarchy.keys import is_legacy_metadata_key, is_metadata_key, node_of
from ozx.validation.report import SEVERITIES, Finding, Report, Severity

# Findings that fit on a screen; the JSON answer lists more.
_MOST_OF_A_KIND = 5

# The sentence with which `ozx.validation.rules.each` counts the findings that it does not list.
_MORE = re.compile(r"and ([\d,]+) more of the same")


def report_lines(report: Report, *, with_notes: bool = True) -> Iterator[str]:
    """Yield the lines of a report for a terminal; leave out notes if `with_notes` is false."""
    if not with_notes:
        report = replace(report, findings=tuple(each for each in report.findings if each.severity != "note"))
    counts = _counts(report.findings)
    if report.valid:
        verdict = f"valid: {extent_of(report)}" + (f" ({counts})" if counts else "")
    else:
        verdict = f"not valid: {counts}"
    yield f"{one_line(report.path)}: {verdict}"
    shown: Counter[str] = Counter()
    hints: set[tuple[str, str]] = set()
    for title, findings in _by_node(finding for finding in report.findings if not _uncounted(finding)):
        fresh = [finding for finding in findings if _count_up(shown, finding)]
        if fresh:
            yield f"  {shortened(one_line(title), 500)}: {_counts(findings)}"
        for finding in fresh:
            yield from _lines(finding, hints)
    for finding in report.findings:
        shown[finding.id] += _uncounted(finding)
    for rule, count in shown.items():
        if count > _MOST_OF_A_KIND:
            yield f"  {rule}: {count - _MOST_OF_A_KIND:,} more of the same; --json lists more"


def extent_of(report: Report) -> str:
    """Return a text on the extent of the checks, and on the option for the remaining checks.

    Examples
    --------
    >>> extent_of(Report.of("cells.ozx", "hierarchy", []))
    'structure, but not the pixels; give --level data to check them, too'
    """
    if report.looked_at["metadata"] == "none":
        return "structure of the ZIP file, but neither metadata nor pixels; give --level data to check them, too"
    return {
        "none": "structure, but not the pixels; give --level data to check them, too",
        "some": "everything was read; not all chunks could be decoded",
        "all": "everything was read",
    }[report.looked_at["pixels"]]


def _count_up(shown: Counter[str], finding: Finding) -> bool:
    shown[finding.id] += 1
    return shown[finding.id] <= _MOST_OF_A_KIND


def _uncounted(finding: Finding) -> int:
    """Return N for a finding with the message "and N more of the same"; 0 for any other finding."""
    match = _MORE.fullmatch(finding.message)
    return int(match[1].replace(",", "")) if match and finding.where.entry is None else 0


def _by_node(findings: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    """Return the findings grouped by node, sorted by severity, then by number of findings."""
    groups: dict[str | None, list[Finding]] = {}
    for finding in findings:  # they come sorted by severity
        groups.setdefault(_node(finding.where.entry), []).append(finding)

    def order(item: tuple[str | None, list[Finding]]) -> tuple[object, ...]:
        entry, found = item
        worst = SEVERITIES.index(found[0].severity)
        return worst, -sum(finding.severity == found[0].severity for finding in found), breadth_first(entry or "")

    return [(_title(entry), found) for entry, found in sorted(groups.items(), key=order)]


def _node(entry: str | None) -> str | None:
    """Return the path of a metadata entry's node, with a slash at the end; return any other entry unchanged."""
    if entry is not None and (is_metadata_key(entry) or is_legacy_metadata_key(entry)):
        return f"{node_of(entry)}/"
    return entry


def _title(entry: str | None) -> str:
    if entry is None:
        return "the file as a whole"
    return "the root" if entry == "/" else entry.removesuffix("/")


def _lines(finding: Finding, hints: set[tuple[str, str]]) -> Iterator[str]:
    yield f"    {finding.severity:<7}  {finding.id}{_place(finding)}"
    yield f"             {shortened(one_line(finding.message))}"
    # Most findings of a rule share a hint: show it once.
    if (finding.id, finding.hint) not in hints:
        yield f"             hint: {shortened(one_line(finding.hint))}"
        hints.add((finding.id, finding.hint))


def _place(finding: Finding) -> str:
    where = finding.where
    parts = []
    if where.entry is not None and where.pointer is not None:
        parts.append(f"in {one_line(where.entry.rpartition('/')[2] + '#' + where.pointer)}")
    if where.offset is not None:
        parts.append(f"at byte {where.offset:,}")
    return f"  {' '.join(parts)}" if parts else ""


def _counts(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(_count(counts[severity], severity) for severity in SEVERITIES if counts[severity])


def _count(number: int, what: Severity) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

"""One finding, and the report on one file or directory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["LEVELS", "SEVERITIES", "Container", "Extent", "Finding", "Level", "Report", "Severity", "Where"]

Severity = Literal["error", "warning", "note"]
Level = Literal["archive", "hierarchy", "data"]
Container = Literal["zip", "directory"]

#: How much was looked at.
Extent = Literal["all", "some", "none"]

#: How far a check goes; each takes in those before it. The container, every metadata document, every chunk.
LEVELS: tuple[Level, ...] = ("archive", "hierarchy", "data")

#: From the worst on. An error breaks a MUST or makes readers differ, a warning breaks a SHOULD.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Where:
    """The place a finding is about.

    Attributes
    ----------
    entry
        Name of the entry, or key of the file in a directory; None for the file as a whole.
    pointer
        JSON pointer (RFC 6901) into that entry, where it is a document.
    offset
        Position in the file, in bytes.

    Examples
    --------
    >>> Where("0/zarr.json", pointer="/codecs/0").to_dict()
    {'entry': '0/zarr.json', 'pointer': '/codecs/0'}
    """

    entry: str | None = None
    pointer: str | None = None
    offset: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"entry", "pointer"?, "offset"?}``."""
        place: dict[str, Any] = {"entry": self.entry}
        if self.pointer is not None:
            place["pointer"] = self.pointer
        if self.offset is not None:
            place["offset"] = self.offset
        return place


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule says about a file.

    Attributes
    ----------
    id
        The rule, named after the document that demands it: ``zip/overlap``, ``rfc9/root``.
    severity
        ``error``, ``warning`` or ``note``.
    where
        What it is about.
    message
        What was expected and what was found, for a person.
    hint
        What to do about it.
    """

    id: str
    severity: Severity
    where: Where
    message: str
    hint: str

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as ``ozx validate --json`` shows it."""
        return {
            "id": self.id,
            "severity": self.severity,
            "where": self.where.to_dict(),
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All findings about one file or directory, the worst first.

    Attributes
    ----------
    path
        What was checked.
    level
        How far the check went.
    findings
        The findings.
    container
        ``zip`` or ``directory``; to a directory the rules about ZIP do not apply.
    """

    path: str
    level: Level
    findings: tuple[Finding, ...]
    container: Container = "zip"

    @classmethod
    def of(cls, path: str, level: Level, findings: Iterable[Finding], container: Container = "zip") -> Report:
        """Return a report on `findings`, sorted by severity; the same thing said twice counts once.

        Parameters
        ----------
        path, level, container
            As the attributes.
        findings
            In any order.
        """
        unique = {(finding.id, finding.where, finding.message): finding for finding in findings}
        in_order = sorted(unique.values(), key=lambda finding: SEVERITIES.index(finding.severity))
        return cls(path, level, tuple(in_order), container)

    @property
    def valid(self) -> bool:
        """Whether there is no error among the findings."""
        return self.count("error") == 0

    @property
    def looked_at(self) -> dict[str, Extent]:
        """Return how much was looked at of the structure (ZIP file, RFC-9), the metadata documents and the pixels.

        A chunk that cannot be decoded here has a finding ``zarr/not-decoded``.

        Examples
        --------
        >>> Report.of("cells.ozx", "hierarchy", []).looked_at
        {'structure': 'all', 'metadata': 'all', 'pixels': 'none'}
        """
        pixels: Extent = "all" if self.level == "data" else "none"
        if self.level == "data" and any(finding.id == "zarr/not-decoded" for finding in self.findings):
            pixels = "some"
        return {"structure": "all", "metadata": "none" if self.level == "archive" else "all", "pixels": pixels}

    def count(self, severity: Severity) -> int:
        """Return the number of findings of one severity.

        Parameters
        ----------
        severity
            ``error``, ``warning`` or ``note``.
        """
        return sum(finding.severity == severity for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``files`` in ``ozx validate --json``."""
        return {
            "path": self.path,
            "level": self.level,
            "container": self.container,
            "valid": self.valid,
            "looked_at": dict(self.looked_at),
            "findings": [finding.to_dict() for finding in self.findings],
        }

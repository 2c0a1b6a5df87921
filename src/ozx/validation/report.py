"""Findings, and the report about one file or directory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
Level = Literal["archive", "hierarchy", "data"]
Container = Literal["zip", "directory"]

#: Extent of the checks of one part.
Extent = Literal["all", "some", "none"]

#: Depths of the checks: the container, every metadata document, every chunk. Each level includes the levels before it.
LEVELS: tuple[Level, ...] = ("archive", "hierarchy", "data")

#: Texts of RFC-9. ``r2``: R2 (2026-04-20). ``draft``: its revision by the authors (autumn 2026), not merged. ``all``:
#: R2, with warnings about forms that only the revision forbids.
REVISIONS = ("all", "r2", "draft")

#: The worst first. An error breaks a MUST, or readers interpret the file differently. A warning breaks a SHOULD.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Where:
    """The position of a finding in a file.

    Attributes
    ----------
    entry
        Name of the entry, or key of the file in a directory; None for the whole file.
    pointer
        JSON pointer (RFC 6901) into that entry, if it is a document.
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
        """Return the position as an object for JSON: ``{"entry", "pointer"?, "offset"?}``."""
        place: dict[str, Any] = {"entry": self.entry}
        if self.pointer is not None:
            place["pointer"] = self.pointer
        if self.offset is not None:
            place["offset"] = self.offset
        return place


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of validation: the rule, its severity, and a message.

    Attributes
    ----------
    id
        Id of the rule, such as ``zip/overlap``. The part before the slash names the document, such as RFC-9 (``rfc9``).
    severity
        ``error``, ``warning`` or ``note``.
    where
        The place in the file.
    message
        The expected and the actual state, for people.
    hint
        How to repair the file.
    """

    id: str
    severity: Severity
    where: Where
    message: str
    hint: str

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as an object for ``findings`` in ``ozx validate --json``."""
        return {
            "id": self.id,
            "severity": self.severity,
            "where": self.where.to_dict(),
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Findings about one file or directory, the most severe first; one finding may stand for many of the same kind.

    It is true if the file is valid.

    Attributes
    ----------
    path
        Path of the file or directory.
    level
        Depth of the checks.
    findings
        The findings.
    container
        ``zip`` or ``directory``; rules about ZIP do not apply to a directory.
    """

    path: str
    level: Level
    findings: tuple[Finding, ...]
    container: Container = "zip"

    @classmethod
    def of(cls, path: str, level: Level, findings: Iterable[Finding], container: Container = "zip") -> Report:
        """Return a report on `findings`, sorted by severity and without duplicates.

        Parameters
        ----------
        path, level, container
            The attributes of the report.
        findings
            All findings, in any order.
        """
        unique = {(finding.id, finding.where, finding.message): finding for finding in findings}
        in_order = sorted(unique.values(), key=lambda finding: SEVERITIES.index(finding.severity))
        return cls(path, level, tuple(in_order), container)

    @property
    def valid(self) -> bool:
        """Whether no finding is an error."""
        return self.count("error") == 0

    def __bool__(self) -> bool:
        return self.valid

    @property
    def looked_at(self) -> dict[str, Extent]:
        """Extent of the checks of structure (ZIP file, RFC-9), metadata and pixels: ``all``, ``some`` or ``none``.

        For chunks that ozx could not decode, there is a finding ``zarr/not-decoded``; for metadata of an unknown
        version, ``ome/unknown-version``.

        Examples
        --------
        >>> Report.of("cells.ozx", "hierarchy", []).looked_at
        {'structure': 'all', 'metadata': 'all', 'pixels': 'none'}
        """
        found = {finding.id for finding in self.findings}
        metadata: Extent = "none" if self.level == "archive" else "some" if "ome/unknown-version" in found else "all"
        pixels: Extent = "none" if self.level != "data" else "some" if "zarr/not-decoded" in found else "all"
        return {"structure": "all", "metadata": metadata, "pixels": pixels}

    def count(self, severity: Severity) -> int:
        """Return the number of findings of one severity.

        Parameters
        ----------
        severity
            ``error``, ``warning`` or ``note``.
        """
        return sum(finding.severity == severity for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as an object for ``files`` in ``ozx validate --json``."""
        return {
            "path": self.path,
            "level": self.level,
            "container": self.container,
            "valid": self.valid,
            "looked_at": dict(self.looked_at),
            "findings": [finding.to_dict() for finding in self.findings],
        }

"""The results of pack."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["PackManyResult", "PackResult"]


@dataclass(frozen=True, slots=True)
class PackResult:
    """The result for one source.

    Attributes
    ----------
    source, path
        The directory, and the written file.
    status
        ``packed``; ``skipped`` when `resume` found the file complete; ``failed``.
    entries, bytes
        Number of entries, and length of the file in bytes; 0 for a failure.
    left_out
        Files and empty directories (ending in a slash) that are no part of the hierarchy.
    notes
        Remarks, one sentence each.
    sha256
        The file's digest in hexadecimal digits, if requested and written.
    verified, source_removed
        Whether the file was read back and compared; whether the whole source was deleted afterwards.
    error
        For a failure ``{"code", "message", "rule", "hint"}``, else None.
    """

    source: str
    path: str
    status: Literal["packed", "skipped", "failed"]
    entries: int = 0
    bytes: int = 0
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str | None = None
    verified: bool = False
    source_removed: bool = False
    error: dict[str, str | None] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``results`` in ``ozx pack --json``."""
        return {**asdict(self), "left_out": list(self.left_out), "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class PackManyResult:
    """The results for several sources.

    Attributes
    ----------
    results
        One for each source, in their order.
    """

    results: tuple[PackResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer of ``ozx pack --json``."""
        return {"schema": 2, "results": [result.to_dict() for result in self.results]}

"""Where in a metadata document a value stands, and findings about it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from ozx.validation.findings import Finding, Severity
from ozx.validation.rules import make_finding

__all__ = ["Check", "Place"]

_T = TypeVar("_T")

#: A check that yields findings and returns what could be read in spite of them.
Check = Generator[Finding, None, _T]


@dataclass(frozen=True, slots=True)
class Place:
    """A value in a metadata document.

    Attributes
    ----------
    entry
        Key of the document.
    pointer
        JSON pointer (RFC 6901) of the value in it.

    Examples
    --------
    >>> place = Place("0/zarr.json") / "attributes" / "a/b" / 0
    >>> place.pointer
    '/attributes/a~1b/0'
    """

    entry: str
    pointer: str = ""

    def __truediv__(self, part: str | int) -> Place:
        step = str(part) if isinstance(part, int) else part.replace("~", "~0").replace("/", "~1")
        return Place(self.entry, f"{self.pointer}/{step}")

    def finding(self, rule: str, message: str, *, severity: Severity | None = None, hint: str | None = None) -> Finding:
        """Return a finding of `rule` about this value."""
        return make_finding(rule, message, entry=self.entry, pointer=self.pointer or None, severity=severity, hint=hint)

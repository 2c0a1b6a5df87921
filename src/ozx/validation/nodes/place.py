"""The position of a value in a metadata document, for findings about the value."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeVar

from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import make_finding
from ozx.validation.wording import pointer

_T = TypeVar("_T")

#: A check that yields findings, and returns the values that it could read.
Check = Generator[Finding, None, _T]


class Place(NamedTuple):
    """A value and its position in a metadata document.

    Examples
    --------
    >>> place = Place("0/zarr.json", "/attributes") / "a/b" / 0
    >>> place.pointer
    '/attributes/a~1b/0'
    """

    entry: str
    # JSON pointer (RFC 6901) to the start of the steps.
    base: str = ""
    # Keys and indexes from `base` to the value. They become a pointer only for a finding, which saves time: a plate has
    # 100,000 places.
    steps: tuple[str | int, ...] = ()

    def __truediv__(self, step: str | int) -> Place:
        return self.below(step)

    def below(self, *steps: str | int) -> Place:
        """Return the position of a member of this value."""
        return Place(self.entry, self.base, (*self.steps, *steps))

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value in the document."""
        return self.base + pointer(*self.steps)

    def finding(self, rule: str, message: str, *, severity: Severity | None = None, hint: str | None = None) -> Finding:
        """Return a finding of `rule` about this value."""
        return make_finding(rule, message, entry=self.entry, pointer=self.pointer or None, severity=severity, hint=hint)

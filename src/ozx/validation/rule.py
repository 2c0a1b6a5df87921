"""What a row of the table of rules is."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ozx.validation.findings import Severity

__all__ = ["Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes
    ----------
    id
        Its name: the document that demands it, and what is demanded. Never a number: documents renumber.
    severity
        Of its findings, unless the text says when they have another.
    title
        What is wrong when it is broken, in a few words.
    clause
        What the document demands.
    document, revision
        Where that stands.
    meaning
        What it is good for, or what goes wrong otherwise.
    repair
        What to do about it.
    """

    id: str
    severity: Severity
    title: str
    clause: str
    document: str
    revision: str
    meaning: str
    repair: str

    def to_dict(self) -> dict[str, str]:
        """Return one element of ``rules`` in ``ozx rules --json``."""
        return asdict(self)

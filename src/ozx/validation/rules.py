"""The one table of rules, and how a finding is made of one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ozx.errors import FormatError, UnsupportedError
from ozx.validation.ambiguity_table import AMBIGUITY_RULES
from ozx.validation.convention_table import CONVENTION_RULES
from ozx.validation.data_table import DATA_RULES
from ozx.validation.extension_table import EXTENSION_RULES
from ozx.validation.findings import Finding, Severity, Where
from ozx.validation.name_table import NAME_RULES
from ozx.validation.ome.image_table import IMAGE_RULES
from ozx.validation.ome.label_table import LABEL_RULES
from ozx.validation.ome.plate_table import PLATE_RULES
from ozx.validation.rfc9_table import RFC9_RULES
from ozx.validation.rule import Rule
from ozx.validation.zarr_table import ZARR_RULES
from ozx.validation.zip_table import ZIP_RULES

__all__ = [
    "MOST_OF_A_KIND",
    "RULES",
    "Rule",
    "each",
    "find_rule",
    "finding_from_error",
    "make_finding",
    "near_matches",
    "rules_dict",
    "rules_markdown",
]

#: Every rule by its id, in the order of the documentation.
RULES: dict[str, Rule] = {
    rule.id: rule
    for table in (
        *(ZIP_RULES, AMBIGUITY_RULES, RFC9_RULES, ZARR_RULES, EXTENSION_RULES, NAME_RULES),
        *(CONVENTION_RULES, IMAGE_RULES, LABEL_RULES, PLATE_RULES, DATA_RULES),
    )
    for rule in table
}

#: So many findings of one kind are listed one by one; one more says how many follow.
MOST_OF_A_KIND = 20

_T = TypeVar("_T")


def find_rule(identifier: str) -> Rule | None:
    """Return the rule with this id, or None.

    Examples
    --------
    >>> find_rule("rfc9/stored").severity
    'warning'
    """
    return RULES.get(identifier)


def near_matches(identifier: str) -> list[str]:
    """Return up to three ids that `identifier` may have been meant as.

    Examples
    --------
    >>> near_matches("RFC9 stored")[0], near_matches("overlap")[0]
    ('rfc9/stored', 'zip/overlap')
    """
    identifier = identifier.lower()
    found = [known for known in RULES if identifier in known.split("/")]
    found += difflib.get_close_matches(identifier, RULES, n=3, cutoff=0.6)
    by_name = {known.rpartition("/")[2]: known for known in RULES}
    found += [by_name[name] for name in difflib.get_close_matches(identifier.rpartition("/")[2], by_name, n=3)]
    return list(dict.fromkeys(found))[:3]


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
    """Return a finding of a rule.

    Parameters
    ----------
    identifier
        The rule's.
    message
        What was found, and what was expected.
    entry, pointer, offset
        Where: a key, a JSON pointer into its document (RFC 6901), bytes from the beginning of the file.
    severity, hint
        The rule's own unless given.

    Examples
    --------
    >>> make_finding("rfc9/zip64", "no ZIP64 structure at all").severity
    'warning'
    """
    rule = RULES[identifier]
    return Finding(identifier, severity or rule.severity, Where(entry, pointer, offset), message, hint or rule.repair)


def finding_from_error(error: FormatError | UnsupportedError, *, entry: str | None = None) -> Finding:
    """Return the finding that an error of reading stands for.

    Raises
    ------
    FormatError, UnsupportedError
        The error itself, where it names no rule of the table: then it is a fault of this program.
    """
    if error.rule not in RULES:
        raise error
    return make_finding(error.rule, error.message, entry=entry, hint=error.hint)


def each(identifier: str, items: Sequence[_T], describe: Callable[[_T], Finding]) -> Iterator[Finding]:
    """Yield a finding for each item; beyond `MOST_OF_A_KIND` one finding for all the rest.

    Parameters
    ----------
    identifier
        The rule.
    items
        What breaks it.
    describe
        Gives the finding for one item.
    """
    for item in items[:MOST_OF_A_KIND]:
        yield describe(item)
    rest = len(items) - MOST_OF_A_KIND
    if rest > 0:
        severity = describe(items[MOST_OF_A_KIND]).severity
        yield make_finding(identifier, f"and {rest:,} more of the same", severity=severity)


def rules_markdown() -> str:
    """Return ``docs/rules.md``: every rule with its clause, its meaning and the way to repair it."""
    lines = [
        "# Rules",
        "",
        "Every finding of `ozx validate` names the rule it comes from, and each rule the document that demands it.",
        "`ozx rules ID` shows the same text. This page is made from the table in the code by `docs/make_rules.py`.",
        "",
        "An *error* breaks a MUST of a document, or makes readers see different things: such a file is not valid. A",
        "*warning* breaks a SHOULD, or leaves the limits of today's readers. A *note* is worth knowing. A rule with",
        "two severities says when it is which.",
        "",
        "| rule | severity | |",
        "|---|---|---|",
        *(f"| [`{rule.id}`](#{_anchor(rule)}) | {rule.severity} | {rule.title} |" for rule in RULES.values()),
        "",
    ]
    for rule in RULES.values():
        lines += [
            f"## `{rule.id}`",
            "",
            f"**{rule.title}** ({rule.severity})",
            "",
            f"{rule.clause} *{rule.document}, {rule.revision}*",
            "",
            f"What it means: {rule.meaning}",
            "",
            f"How to repair it: {rule.repair}",
            "",
        ]
    return "\n".join(lines[:-1]) + "\n"


def rules_dict(rules: Sequence[Rule]) -> dict[str, Any]:
    """Return the answer of ``ozx rules --json``."""
    return {"schema": 1, "rules": [rule.to_dict() for rule in rules]}


def _anchor(rule: Rule) -> str:
    # As the common renderers of Markdown make it from the heading.
    return rule.id.replace("/", "")

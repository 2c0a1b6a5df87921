"""Write docs/rules.md from the table of rules: ``python docs/make_rules.py``."""

import itertools
from collections import Counter
from pathlib import Path

from ozx.validation.rules.table import RULES, Rule

HEAD = """# Rules

Every finding of `ozx validate` names its rule, and each rule names the document that demands it. `ozx rules ID` also
says what breaking the rule means, and how to repair it. `docs/make_rules.py` makes this page from
`src/ozx/validation/rules/`.

An *error* breaks a MUST of a document, or makes readers see different things: the file is not valid. A *warning* breaks
a SHOULD, or exceeds the limits of today's readers. A *note* is worth knowing. A rule with several severities says when
each one applies.
"""
GROUPS = {
    "zip": "The container",
    "rfc9": "The archive of an OME-Zarr",
    "zarr": "Metadata and chunks of Zarr",
    "conventions": "Zarr conventions",
    "ome": "OME-Zarr",
}


def rules_markdown() -> str:
    """Return ``docs/rules.md``: every rule with its clause; the usual document stands at the head of each group."""
    text = HEAD
    for group, found in itertools.groupby(RULES.values(), key=lambda rule: rule.id.partition("/")[0]):
        rules = list(found)
        ((usual, _),) = Counter(map(_document, rules)).most_common(1)
        text += f"\n## {GROUPS[group]}: `{group}/`\n\nUnless a rule says otherwise, of *{usual}*.\n"
        text += "".join(_section(rule, usual) for rule in rules)
    return text


def _section(rule: Rule, usual: str) -> str:
    document = "" if _document(rule) == usual else f" *{_document(rule)}*"
    # Where no document says why, the page does.
    meaning = f" {rule.meaning}" if rule.document.startswith("ozx") else ""
    return f"\n### `{rule.id}`\n\n**{rule.title}** ({rule.severity}). {rule.clause}{meaning}{document}\n"


def _document(rule: Rule) -> str:
    return f"{rule.document}, {rule.revision}"


if __name__ == "__main__":
    Path(__file__).with_name("rules.md").write_text(rules_markdown(), encoding="utf-8", newline="\n")

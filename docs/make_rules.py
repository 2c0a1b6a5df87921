"""Write docs/rules.md from the table of rules: ``python -m docs.make_rules``."""

import itertools
import re
from collections import Counter
from pathlib import Path

from docs.make_conformance import read_documents
from ozx.validation.rules.table import RULES, Rule

HEAD = """# Rules

Every finding of `ozx validate` names its rule. This page lists each rule with its title, its severity, and the section
of the document from which the rule comes. `ozx rules ID` prints the demand, the meaning and the repair.
`docs/make_rules.py` makes this page from `src/ozx/validation/rules/`.

- *error*: the file breaks a MUST of a document, or readers see different contents. The file is not valid.
- *warning*: the file breaks a SHOULD, or exceeds the limits of current readers.
- *note*: information.

If a rule has several severities, `ozx rules ID` explains when each applies.
"""
GROUPS = {
    "zip": "The container",
    "rfc9": "The archive of an OME-Zarr",
    "zarr": "Metadata and chunks of Zarr",
    "conventions": "Zarr conventions",
    "ome": "OME-Zarr",
}
#: The numbers of sections at the beginning of a clause of APPNOTE.
_NUMBERS = re.compile(r"\d+\.\d[^:]*")


def rules_markdown() -> str:
    """Return ``docs/rules.md``: every rule with its section. The head of a group names the most frequent document."""
    text = HEAD
    for group, found in itertools.groupby(RULES.values(), key=lambda rule: rule.id.partition("/")[0]):
        rules = list(found)
        ((usual, _),) = Counter(map(_document, rules)).most_common(1)
        text += f"\n## {GROUPS[group]}: `{group}/`\n\n"
        text += f"Unless a rule names another document, its section belongs to *{usual}*.\n"
        text += "".join(_section(rule, usual) for rule in rules)
    return text


def _section(rule: Rule, usual: str) -> str:
    document = "" if _document(rule) == usual else f"*{_document(rule)}*"
    places = "; ".join(filter(None, (rule.severity, _place(rule), document)))
    return f"\n### `{rule.id}`\n\n**{rule.title}** ({places}).\n"


def _place(rule: Rule) -> str:
    """Return the section numbers of an APPNOTE rule, else the section of the first clause with the rule, or nothing."""
    if rule.document == "APPNOTE.TXT":
        numbers = _NUMBERS.match(rule.clause)
        return numbers.group() if numbers else ""
    for document in read_documents():
        if document["name"].startswith(rule.document):
            for clause in document["clause"]:
                if rule.id in clause.get("rules", ()):
                    return clause["section"]
    return ""


def _document(rule: Rule) -> str:
    return f"{rule.document}, {rule.revision}"


if __name__ == "__main__":
    Path(__file__).with_name("rules.md").write_text(rules_markdown(), encoding="utf-8", newline="\n")

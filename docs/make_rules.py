"""Write docs/rules.md from the table of rules: ``python docs/make_rules.py``."""

from pathlib import Path

from ozx.validation.rules.table import RULES

HEAD = """# Rules

Every finding of `ozx validate` names its rule, and each rule names the document that demands it. `ozx rules ID` shows
the same text. `docs/make_rules.py` makes this page from `src/ozx/validation/rules/`.

An *error* breaks a MUST of a document, or makes readers see different things: the file is not valid. A *warning* breaks
a SHOULD, or exceeds the limits of today's readers. A *note* is worth knowing. A rule with several severities says when
each one applies.

| rule | severity | |
|---|---|---|
"""


def rules_markdown() -> str:
    """Return ``docs/rules.md``: every rule with its clause, its meaning and the way to repair it."""
    rules = RULES.values()
    rows = [f"| [`{rule.id}`](#{anchor(rule.id)}) | {rule.severity} | {rule.title} |\n" for rule in rules]
    sections = [
        f"\n## `{rule.id}`\n\n**{rule.title}** ({rule.severity})\n\n"
        f"{rule.clause} *{rule.document}, {rule.revision}*\n\n"
        f"What it means: {rule.meaning}\n\nHow to repair it: {rule.repair}\n"
        for rule in rules
    ]
    return HEAD + "".join(rows + sections)


def anchor(rule: str) -> str:
    """Return the anchor of a rule's heading, as common renderers of Markdown make it."""
    return rule.replace("/", "")


if __name__ == "__main__":
    Path(__file__).with_name("rules.md").write_text(rules_markdown(), encoding="utf-8", newline="\n")

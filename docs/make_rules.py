"""Write docs/rules.md from the table of rules: ``python docs/make_rules.py``."""

from collections import defaultdict
from pathlib import Path

from ozx.validation.rules.table import RULES

HEAD = """# Rules

Every finding of `ozx validate` names its rule, and each rule names the document that demands it. `ozx rules ID` shows
the same text. `docs/make_rules.py` makes this page from `src/ozx/validation/rules/`.

An *error* breaks a MUST of a document, or makes readers see different things: the file is not valid. A *warning* breaks
a SHOULD, or exceeds the limits of today's readers. A *note* is worth knowing. A rule with several severities says when
each one applies.

| about | rules |
|---|---|
"""


def rules_markdown() -> str:
    """Return ``docs/rules.md``: an index, then every rule with its clause, its meaning and its repair."""
    rules = RULES.values()
    index = defaultdict(list)
    for rule in rules:
        group, _, name = rule.id.partition("/")
        index[group].append(f"[{name}](#{anchor(rule.id)})")
    rows = [f"| `{group}/` | {', '.join(links)} |\n" for group, links in index.items()]
    sections = [
        f"\n## `{rule.id}`\n\n**{rule.title}** ({rule.severity})\n\n"
        f"{rule.clause} *{rule.document}, {rule.revision}*\n\n"
        f"{rule.meaning}\n\n*Repair:* {rule.repair}\n"
        for rule in rules
    ]
    return HEAD + "".join(rows + sections)


def anchor(rule: str) -> str:
    """Return the anchor of a rule's heading, as common renderers of Markdown make it."""
    return rule.replace("/", "")


if __name__ == "__main__":
    Path(__file__).with_name("rules.md").write_text(rules_markdown(), encoding="utf-8", newline="\n")

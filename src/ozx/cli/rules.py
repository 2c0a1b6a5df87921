"""Command ``ozx rules``."""

from __future__ import annotations

import shutil
import textwrap

import click

from ozx.cli.exit_codes import DONE
from ozx.cli.output import print_json
from ozx.errors import UsageError
from ozx.validation.rules.table import RULES, Rule, near_matches


@click.command("rules")
@click.argument("identifier", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the rules as JSON.")
def command(*, identifier: str | None, as_json: bool) -> int:
    """Explain what a finding means and how to repair it.

    Without an ID: list all rules.

    \b
    Examples:
      ozx rules
      ozx rules rfc9/root
    """
    rules = list(RULES.values()) if identifier is None else [_named(identifier)]
    if as_json:
        print_json({"schema": 2, "rules": [rule.to_dict() for rule in rules]})
    elif identifier is None:
        for rule in rules:
            click.echo(f"{rule.id:<21} {rule.severity:<8} {rule.title}")
    else:
        click.echo(_explanation(rules[0]))
    return DONE


def _named(identifier: str) -> Rule:
    rule = RULES.get(identifier)
    if rule is None:
        near = near_matches(identifier)
        hint = f"Did you mean {' or '.join(near)}?" if near else "ozx rules lists all rules."
        raise UsageError(f"there is no rule {identifier!r}", hint=hint)
    return rule


def _explanation(rule: Rule) -> str:
    width = max(40, min(shutil.get_terminal_size((100, 24)).columns, 100))

    def paragraph(text: str) -> str:
        return textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)

    return "\n".join(
        (
            f"{rule.id} ({rule.severity}): {rule.title}",
            "",
            f"Requirement ({rule.document}, {rule.revision})",
            paragraph(rule.clause),
            "Meaning",
            paragraph(rule.meaning),
            "Repair",
            paragraph(rule.repair),
        )
    )

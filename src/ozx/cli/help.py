"""Command ``ozx help``."""

from __future__ import annotations

import click

from ozx.cli.app import COMMANDS, load_command, suggest_command
from ozx.cli.exit_codes import DONE
from ozx.cli.options import GROUPS, options_of_group
from ozx.errors import UsageError

#: A command with the options of all groups.
_WITH_ALL = "pack"


@click.command("help")
@click.argument("topic", metavar="[COMMAND|GROUP]", required=False)
@click.pass_context
def command(ctx: click.Context, *, topic: str | None) -> int:
    """Explain a command, or a group of options that many commands share.

    The groups are batch and network.

    \b
    Examples:
      ozx help pack
      ozx help network
    """
    if topic in GROUPS:
        click.echo(_explanation(topic))
    elif topic in COMMANDS:
        click.echo(load_command(topic).get_help(_context(ctx, topic)))
    elif topic is None and ctx.parent is not None:
        click.echo(ctx.parent.get_help())
    else:
        near = suggest_command(topic or "")
        raise UsageError(f"there is no command or group {topic!r}.{near}", hint=f"Groups: {', '.join(GROUPS)}.")
    return DONE


def _context(ctx: click.Context, name: str) -> click.Context:
    return click.Context(load_command(name), parent=ctx.parent, info_name=name)


def _explanation(group: str) -> str:
    """Return the help of a group of options; a command has those of them that fit its work."""
    context = click.Context(load_command(_WITH_ALL))
    formatter = context.make_formatter()
    formatter.write_text(f"{GROUPS[group]}, for all commands that have these options:")
    with formatter.indentation():
        formatter.write_dl([each.explain(context) for each in options_of_group(context.command, group)])
    return formatter.getvalue().rstrip("\n")

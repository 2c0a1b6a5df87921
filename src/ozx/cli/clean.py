"""Command ``ozx clean``."""

from __future__ import annotations

import sys

import click

from ozx.cli.ages import age_text, to_seconds
from ozx.cli.exit_codes import DONE, WITH_LOSS
from ozx.cli.output import format_bytes, one_line, print_json, say
from ozx.errors import UsageError
from ozx.operations.clean import FoundLeftover, clean


@click.command("clean")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--older-than", metavar="AGE", default="7d", show_default=True, help="Minimum age, as in 7d, 12h or 30m.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(*, folder: str, older_than: str, yes: bool, dry_run: bool, as_json: bool) -> int:
    """Remove the temporary files of killed runs.

    ozx clean searches DIR and the folders below it for .NAME.PID.HOST-BOOT.ozx-tmp. Other commands remove such
    files of this computer from each folder into which they write. They keep the files of other computers, because locks
    on a shared file system may be valid on one computer only. ozx clean removes these files, too: first make sure that
    no run on HOST is active. Files that a running process on this computer writes are never removed.

    The exit code is 3 if a file could not be removed.

    \b
    Examples:
      ozx clean /data/packed --dry-run
      ozx clean /data/packed --older-than 2d --yes
    """

    def may_remove(found: tuple[FoundLeftover, ...]) -> bool:
        for leftover in found:
            facts = f"{format_bytes(leftover.bytes)}, {age_text(leftover.age)} old, of {leftover.host}"
            say(f"{one_line(leftover.path)}  {facts}")
        if dry_run:
            return False
        return yes or _confirm(f"Remove {len(found):,}?")

    result = clean(folder, older_than=to_seconds(older_than), may_remove=may_remove)
    if as_json:
        print_json(result.to_dict())
    removed = sum(leftover.removed for leftover in result.leftovers)
    if not as_json:
        size = format_bytes(sum(leftover.bytes for leftover in result.leftovers if leftover.removed))
        younger = f"; {result.younger:,} younger than {older_than}" if result.younger else ""
        click.echo(f"{removed:,} of {len(result.leftovers):,} removed, {size}{younger}")
    return DONE if dry_run or removed == len(result.leftovers) else WITH_LOSS


def _confirm(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("cannot ask for confirmation without a terminal", hint="Give --yes to remove the files.")
    return click.confirm(question, err=True)

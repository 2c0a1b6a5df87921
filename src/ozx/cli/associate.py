"""``ozx associate``."""

from __future__ import annotations

import shlex

import click

from ozx.cli.output import one_line, print_json, say
from ozx.desktop.association.associate import Association, associate, association_status, dissociate
from ozx.desktop.association.status import Status
from ozx.errors import UsageError

__all__ = ["command"]


@click.command("associate")
@click.option("--viewer", metavar="CMD", help="Open files with this command instead of ozx view; the file comes last.")
@click.option("--status", "wants_status", is_flag=True, help="Tell what would open an .ozx file now.")
@click.option("--remove", is_flag=True, help="Take everything back.")
@click.option("--dry-run", is_flag=True, help="Show every file and change, and do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(*, viewer: str | None, wants_status: bool, remove: bool, dry_run: bool, as_json: bool) -> None:
    """Have a double-click on an .ozx file open it.

    For you alone and without an administrator's rights: the file type with its icon, the program that opens it, and
    on Linux thumbnails. --remove leaves your home directory as it was before.

    \b
    Examples:
      ozx associate --dry-run
      ozx associate --viewer napari
      ozx associate --status
      ozx associate --remove
    """
    if wants_status:
        if viewer is not None or remove or dry_run:
            raise UsageError("--status changes nothing: it takes no --viewer, --remove or --dry-run")
        _show_status(association_status(), as_json=as_json)
        return
    if remove and viewer is not None:
        raise UsageError("expected --viewer or --remove; got both")
    result = dissociate(dry_run=dry_run) if remove else associate(viewer=viewer, dry_run=dry_run)
    for note in result.notes:
        say(f"note: {note}")
    if as_json:
        print_json(result.to_dict())
        return
    for action in result.actions:
        click.echo(f"{action.what:<7}  {one_line(action.target)}")
        if dry_run or action.what in ("change", "keep"):
            for line in action.detail:
                click.echo(f"         {one_line(line)}")
    click.echo(_outcome(result, remove=remove, dry_run=dry_run))


def _outcome(result: Association, *, remove: bool, dry_run: bool) -> str:
    if dry_run and result.actions:
        return "dry run, nothing done"
    if remove:
        return ".ozx files are as they were before ozx associate" if result.written else "nothing to take back"
    opens = f".ozx files open with: {one_line(shlex.join(result.command))} FILE"
    return f"{opens}\nto undo it: ozx associate --remove" if result.written else f"{opens}\nnothing to change"


def _show_status(status: Status, *, as_json: bool) -> None:
    for note in status.notes:
        say(f"note: {note}")
    if as_json:
        print_json(status.to_dict())
        return
    opener = status.opens_with
    click.echo(f"type of .ozx files  {one_line(status.type or 'none of their own')}")
    click.echo(f"opened by           {one_line(opener.identifier) if opener else 'nothing that is known'}")
    if opener is not None and opener.command:
        click.echo(f"command             {one_line(opener.command)}")
    is_ours = opener is not None and opener.is_ours
    click.echo(f"set by ozx          {'yes' if is_ours else 'no'}")
    if not status.associated:
        click.echo("to have ozx view open them: ozx associate")

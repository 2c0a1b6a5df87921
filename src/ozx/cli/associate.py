"""Command ``ozx associate``."""

from __future__ import annotations

import click

from ozx.cli.output import one_line, print_json, print_notes
from ozx.desktop.association.associate import Association, associate, association_status, dissociate
from ozx.desktop.association.status import Status
from ozx.errors import UsageError
from ozx.quoting import quote


@click.command("associate")
@click.option(
    "--viewer", metavar="CMD", help="Open files with this command, not ozx view; the file is its last argument."
)
@click.option("--status", "wants_status", is_flag=True, help="Show which programs open and convert files now.")
@click.option("--remove", is_flag=True, help="Remove what ozx associate has written.")
@click.option("--dry-run", is_flag=True, help="List all changes without making them.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(*, viewer: str | None, wants_status: bool, remove: bool, dry_run: bool, as_json: bool) -> None:
    """Open .ozx files by double-click.

    Registers the file type, its icon, and the program that opens it. On Linux, also registers a program that makes
    thumbnails. Adds "Convert to .ozx" to the menus of file managers, for TIFF files and folders. All changes are for
    you alone, and need no administrator rights. --remove removes them, and changes nothing of other programs.

    \b
    Examples:
      ozx associate --dry-run
      ozx associate --viewer napari
      ozx associate --status
      ozx associate --remove
    """
    if wants_status:
        if viewer is not None or remove or dry_run:
            raise UsageError("--status cannot be combined with --viewer, --remove or --dry-run")
        _show_status(association_status(), as_json=as_json)
        return
    if remove and viewer is not None:
        raise UsageError("--viewer and --remove cannot be combined")
    result = dissociate(dry_run=dry_run) if remove else associate(viewer=viewer, dry_run=dry_run)
    print_notes(result.notes)
    if as_json:
        print_json(result.to_dict())
        return
    for action in result.actions:
        click.echo(f"{action.what:<7}  {one_line(action.target)}")
    click.echo(_outcome(result, remove=remove, dry_run=dry_run))


def _outcome(result: Association, *, remove: bool, dry_run: bool) -> str:
    if dry_run and result.actions:
        return "dry run, nothing changed"
    if remove:
        return "ozx associate has been removed" if result.written else "nothing to remove"
    opens = f".ozx files open with: {one_line(' '.join(map(quote, result.command)))} FILE"
    return f"{opens}\nto remove it: ozx associate --remove" if result.written else f"{opens}\nnothing to change"


def _show_status(status: Status, *, as_json: bool) -> None:
    print_notes(status.notes)
    if as_json:
        print_json(status.to_dict())
        return
    opener = status.opens_with
    click.echo(f"type of .ozx files  {one_line(status.type or 'none')}")
    click.echo(f"opened by           {one_line(opener.identifier) if opener else 'no known program'}")
    if opener is not None and opener.command:
        click.echo(f"command             {one_line(opener.command)}")
    is_ours = opener is not None and opener.is_ours
    click.echo(f"set by ozx          {'yes' if is_ours else 'no'}")
    converter = status.converts_with
    click.echo(f'"Convert to .ozx"   {one_line(converter.command or converter.identifier) if converter else "no"}')
    if not status.associated:
        click.echo("to open them with ozx view: ozx associate")

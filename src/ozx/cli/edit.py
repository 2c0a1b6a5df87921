"""``ozx edit``."""

from __future__ import annotations

from typing import Any

import click

from ozx.cli.edit_text import describe_differences
from ozx.cli.metadata_options import parse_metadata
from ozx.cli.output import print_json, print_notes, printable
from ozx.operations.edit import EditResult, edit

__all__ = ["command"]


@click.command("edit")
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("--pixel-size", metavar="A=N,...", help="Pixel size at full resolution by axis, as in y=0.65,x=0.65.")
@click.option("--unit", metavar="U", help="Unit of the axes, as in micrometer or x=micrometer,t=second.")
@click.option("--channel-names", metavar="A,B,...", help="Names of all channels; an empty one is left unchanged.")
@click.option("--colors", metavar="RRGGBB,...", help="Colours of all channels; an empty one is left unchanged.")
@click.option("--name", metavar="N", help="Name of the image or plate.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the file is on the disk.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(*, path: str, dry_run: bool, no_sync: bool, as_json: bool, **options: Any) -> None:
    """Correct pixel sizes, units, channels and names in an .ozx file.

    All images of FILE are edited, including those of a plate or a series; ozx:///data/plate.ozx/A/1/0 selects one. FILE
    is replaced when the new one is complete. Pixels are not changed.

    Pixel sizes are those of the full resolution; the other levels and the label images change by the same factor. A
    single unit applies to the axes of its kind, space or time, that get a pixel size, or to all if none is given.
    Numbers are not converted. Write a comma in a name as \\,.

    \b
    Examples:
      ozx edit cells.ozx --pixel-size y=0.65,x=0.65 --unit micrometer --dry-run
      ozx edit plate.ozx --channel-names DAPI,GFP --colors blue,00FF00
      ozx edit ozx:///data/series.ozx/0 --name Overview
    """
    result = edit(path, **parse_metadata(options), dry_run=dry_run, sync=not no_sync)
    print_notes(result.notes)
    if as_json:
        print_json(result.to_dict())
        return
    for line in describe_differences(result.differences):
        click.echo(line)
    click.echo(printable(f"{result.path}  {_outcome(result, dry_run=dry_run)}"))


def _outcome(result: EditResult, *, dry_run: bool) -> str:
    if not result.differences:
        return "no changes"
    count = len({difference.node for difference in result.differences})
    what = f"{count:,} group{'s' if count != 1 else ''}"
    return f"{what} would change; dry run, nothing written" if dry_run else f"{what} changed"

"""Command ``ozx info``."""

from __future__ import annotations

import click

from ozx.cli.access import access_options
from ozx.cli.info_text import describe
from ozx.cli.output import print_json
from ozx.operations.info import inspect

__all__ = ["command"]


@click.command("info")
@click.argument("path", metavar="FILE|DIR", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@access_options
def command(*, path: str, as_json: bool) -> None:
    """Describe an .ozx file or an OME-Zarr directory.

    Prints one screen: name, axes and sizes with units, channels, resolution levels, labels, storage, and missing or
    malformed metadata. No pixels are read.

    FILE may be a URL, and may name a node: ozx:///data/cells.ozx/labels/nuclei, or cells.ozx|zip:labels/nuclei/ (quote
    it in a shell).

    \b
    Examples:
      ozx info cells.ozx
      ozx info cells.ome.zarr --json
      ozx info ozx:///data/cells.ozx/labels/nuclei
    """
    inspection = inspect(path)
    if as_json:
        print_json(inspection.to_dict())
    else:
        click.echo(describe(inspection))

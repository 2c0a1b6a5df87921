"""Command ``ozx info``."""

from __future__ import annotations

import click

from ozx.cli.access import access_options
from ozx.cli.arguments import expand_argument
from ozx.cli.exit_codes import DONE, batch_code
from ozx.cli.info_text import describe
from ozx.cli.output import print_json, report_error
from ozx.errors import OzxError
from ozx.operations.info import inspect


@click.command("info")
@click.argument("paths", metavar="FILE|DIR...", nargs=-1, required=True, type=click.Path(), callback=expand_argument)
@click.option(
    "--json", "as_json", is_flag=True, help="Print everything as JSON, a document for each file (jq -s . makes a list)."
)
@access_options
def command(*, paths: tuple[str, ...], as_json: bool) -> int:
    """Describe .ozx files or OME-Zarr directories.

    Prints one screen of text for each file or directory. It shows name, axes and sizes with units, channels, resolution
    levels, labels, storage, and missing or malformed metadata. No pixels are read.

    FILE may be a URL, and may name a node: ozx:///data/cells.ozx/labels/nuclei, or cells.ozx|zip:labels/nuclei/ (quote
    it in a shell).

    \b
    Examples:
      ozx info cells.ozx
      ozx info cells.ome.zarr --json
      ozx info packed/*.ozx --json > survey.json
      ozx info ozx:///data/cells.ozx/labels/nuclei
    """
    if len(paths) == 1:
        _print(paths[0], as_json=as_json)
        return DONE
    from ozx.flow.batch import describe_failure  # noqa: PLC0415 (one file needs no threads)

    failures = []
    for number, path in enumerate(paths):
        try:
            if number and not as_json:
                click.echo()
            _print(path, as_json=as_json)
        except OzxError as error:
            report_error(error)
            failures.append(describe_failure(error))
    return batch_code(failures)


def _print(path: str, *, as_json: bool) -> None:
    inspection = inspect(path)
    if as_json:
        print_json(inspection.to_dict())
    else:
        click.echo(describe(inspection))

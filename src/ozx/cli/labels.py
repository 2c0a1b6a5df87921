"""Command ``ozx labels``."""

from __future__ import annotations

import csv
import os
from typing import Any

import click

from ozx.cli.batch import progress_bar
from ozx.cli.options import node_option, result_options
from ozx.cli.output import one_line, print_json, print_result, printable
from ozx.errors import UsageError
from ozx.ome.images import ImageSummary
from ozx.operations.info import inspect
from ozx.operations.labels import LabelsResult, add_labels, remove_labels

_no_sync_option = click.option("--no-sync", is_flag=True, help="Do not wait until the file is on the disk.")


@click.group("labels", no_args_is_help=False)
def command() -> None:
    """Add labels (a segmentation, a mask) to an image, list or remove them.

    Labels say for each pixel to which cell, nucleus or other object it belongs; 0 is the background. FILE is an .ozx
    file or an OME-Zarr directory.

    \b
    Examples:
      ozx labels add cells.ozx mask.tif --name nuclei
      ozx labels add plate.ozx mask.npy --name cells --path A/1/0 --colors colors.csv
      ozx labels list cells.ozx
      ozx labels remove cells.ozx nuclei
    """


@command.command("add", short_help="Add labels from a mask.")
@click.argument("file", type=click.Path())
@click.argument("mask", type=click.Path())
@click.option("--name", metavar="N", required=True, help="Name of the labels, as in cells.")
@node_option
@click.option("--axes", metavar="AXES", help="Names of the dimensions of MASK, as in tyx.")
@click.option(
    "--colors",
    metavar="CSV|COLOR",
    help="A table of label values and colours (1,FF0000), or one colour for all; by default a different one for each.",
)
@click.option("--force", is_flag=True, help="Replace labels of the same name.")
@_no_sync_option
@result_options
def add(
    *, file: str, mask: str, name: str, as_json: bool, quiet: bool, no_sync: bool, colors: str | None, **options: Any
) -> None:
    """Add labels from MASK: a TIFF file, a .npy file, or an OME-Zarr image.

    MASK has whole numbers, and the full size of the image, without channels. It may lack t and z: the labels then
    apply to all time points and planes. The pixels of the image are neither decoded nor changed.

    \b
    Examples:
      ozx labels add cells.ozx mask.tif --name nuclei
      ozx labels add cells.ozx outline.npy --name border --colors yellow
    """
    is_table = colors is not None and (os.path.isfile(colors) or os.path.splitext(colors)[1])
    given = _read_colors(colors) if colors is not None and is_table else colors
    with progress_bar(quiet=quiet or as_json) as progress:
        result = add_labels(file, name, mask, colors=given, sync=not no_sync, progress=progress, **options)
    print_result(result, _added, quiet=quiet, as_json=as_json)


@command.command("list", short_help="List the labels of all images.")
@click.argument("file", type=click.Path())
@node_option
@result_options
def list_(*, file: str, node: str, as_json: bool, quiet: bool) -> None:
    """List the labels of all images in FILE, with the sizes of their levels.

    \b
    Examples:
      ozx labels list cells.ozx
      ozx labels list plate.ozx --json
    """
    found = inspect(file, node)
    if as_json:
        print_json({"schema": 2, "path": found.path, "labels": found.to_dict()["labels"]})
    elif not quiet:
        for label in found.labels:
            click.echo(printable(_line(label)))


@command.command("remove", short_help="Remove labels from an image.")
@click.argument("file", type=click.Path())
@click.argument("name")
@node_option
@_no_sync_option
@result_options
def remove(*, file: str, name: str, node: str, no_sync: bool, as_json: bool, quiet: bool) -> None:
    """Remove the labels NAME from an image in FILE; their bytes are free again.

    \b
    Examples:
      ozx labels remove cells.ozx nuclei
    """
    result = remove_labels(file, name, node=node, sync=not no_sync)
    print_result(result, lambda result: f"{result.path}  removed {result.label}", quiet=quiet, as_json=as_json)


def _added(result: LabelsResult) -> str:
    values = "" if result.values is None else f", {result.values:,} label{'' if result.values == 1 else 's'}"
    return f"{result.path}  added {result.label}{values}"


def _line(label: ImageSummary) -> str:
    shapes = ["×".join(map(str, level.shape or ())) for level in label.levels]
    axes = "".join(str(axis.name) for axis in label.axes)
    return f"{one_line(label.path)}  {label.levels[0].dtype if label.levels else '?'}  {axes}  {', '.join(shapes)}"


def _read_colors(path: str) -> dict[int, str]:
    """Return the colours in a table of label values and colours; a first line without a number is its title."""
    found: dict[int, str] = {}
    with open(path, newline="", encoding="utf-8-sig") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if not row or (number == 1 and not row[0].strip().lstrip("-").isdecimal()):
                continue
            try:
                value, color = int(row[0]), row[1].strip()
            except (ValueError, IndexError):
                raise UsageError(
                    f"line {number}: expected a label value and a colour, as in 1,FF0000; got {','.join(row)!r:.100}",
                    path=path,
                ) from None
            found[value] = color
    return found

"""Command ``ozx edit``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.batch import Verb, many_options, run_verb
from ozx.cli.options import metadata_options, node_option, parse_metadata, result_options
from ozx.cli.output import format_bytes, one_line, say
from ozx.errors import UsageError
from ozx.ome.edit.image import PropertyChange
from ozx.operations.edit import EditResult, edit
from ozx.progress import Progress

_MOST_NODES = 3


@click.command("edit")
@click.argument("arguments", metavar="FILE...", nargs=-1, type=click.Path(), callback=expand_argument)
@many_options(has_out_dir=False, has_dask=False)
@node_option
@click.option(
    "--pixel-size",
    metavar="N[U]|A=N,...",
    help="Pixel size of y and x, as in 0.65um, or by axis, as in z=2um,y=0.65um,x=0.65um.",
)
@click.option("--time-interval", metavar="N[U]", help="Time between time points, as in 20s.")
@click.option("--translation", metavar="A=N[U],...", help="Position of the first pixel by axis, as in y=20um,x=10um.")
@metadata_options
@click.option("--contrast", metavar="C=MIN:MAX,...", help="Values shown as black and in full colour, by channel.")
@click.option("--name", metavar="N", help="Name of the image or plate.")
@click.option("--forget-recovered", is_flag=True, help="Remove the remark of ozx recover on missing pixels.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--yes", is_flag=True, help="For a URL: do not ask before the file is replaced.")
@click.option("--drop-attributes", is_flag=True, help="For a URL: drop tags and access rights that ozx cannot keep.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the file is on the disk.")
@result_options
def command(*, arguments: tuple[str, ...], yes: bool, **options: Any) -> int:
    """Correct pixel sizes, positions, units, channels and names in an .ozx file.

    All images of FILE are edited, including those of a plate or a series; plate.ozx/A/1/0 selects
    one image. FILE is replaced when the new file is complete. Pixels do not change.

    A pixel size without an axis applies to y and x; z is kept. Give the size at full resolution; the other levels and
    the label images change by the same factor. A single unit applies to axes of its kind (space or time): to those
    with a given pixel size, or to all of them if no pixel size is given. Numbers are not converted, except those of a
    translation, which are positions in the unit of the axis. Write a comma in a name as \\,.

    FILE may be an s3:// URL: the server copies the pixels, so few bytes are transferred. ozx shows the cost and asks.
    Tags, access rights, encryption and storage class are kept.

    \b
    Examples:
      ozx edit cells.ozx --pixel-size 0.65um --dry-run
      ozx edit stack.ozx --pixel-size z=2,y=0.65,x=0.65 --unit um
      ozx edit *.ozx --unit micrometer --log edits.jsonl
      ozx edit movie.ozx --time-interval 20s --translation y=1200um,x=850um
      ozx edit cells.ozx --contrast DAPI=100:4000,1=0:800
      ozx edit plate.ozx --channel-names DAPI,GFP --colors blue,00FF00
      ozx edit series.ozx/0 --name Overview
      ozx edit s3://bucket/huge.ozx --pixel-size y=0.65,x=0.65
    """
    _check_is_no_output(arguments)
    asked: set[str] = set()  # files whose changes were shown with the question

    def ask(result: EditResult) -> bool:
        asked.add(result.path)
        return _ask(result)

    verb = replace(_VERB, lines=lambda result: _result_lines(result, is_shown=result.path in asked))
    confirm = None if yes else ask
    return run_verb(verb, arguments, **parse_metadata(options), confirm=confirm)


def _check_is_no_output(arguments: tuple[str, ...]) -> None:
    """Raise an error for a file and a missing one: the second would be the output of other commands."""
    if len(arguments) == 2 and os.path.isfile(arguments[0]):
        last = arguments[1]
        if "://" not in last and not os.path.lexists(last):
            raise UsageError(
                f"expected .ozx files to edit; {last} does not exist",
                hint="ozx edit changes each FILE itself and has no OUT. To keep the old file, copy it first.",
            )


def _call(source: str, out: str | None, *, progress: Progress, **options: Any) -> EditResult:
    del out, progress  # a file is edited where it is, and its pixels are not touched
    return edit(source, **options)


def _ask(result: EditResult) -> bool:
    for line in describe_differences(result.differences):
        say(line)
    for note in result.notes:
        say(f"note: {note}")
    say(f"{one_line(result.path)}: {_cost(result)}")
    if not sys.stdin.isatty():
        raise UsageError("cannot ask for confirmation without a terminal", hint="Give --yes to replace the file.")
    return click.confirm("Replace it?", err=True)


def _cost(result: EditResult) -> str:
    cost = result.transfer
    if cost is None:
        return "nothing to transfer"
    return (
        f"{format_bytes(cost.bytes_read)} read, {format_bytes(cost.bytes_sent)} sent, "
        f"{format_bytes(cost.bytes_copied)} copied by the server, {cost.requests:,} requests"
    )


def _result_lines(result: EditResult, *, is_shown: bool = False) -> list[str]:
    outcome = f"{result.path}  {_outcome(result)}"
    if is_shown:
        return [outcome]
    cost = [f"  {_cost(result)}"] if result.transfer is not None else []
    return [*describe_differences(result.differences), outcome, *cost]


def _outcome(result: EditResult) -> str:
    if not result.differences:
        return "no changes"
    count = len({difference.node for difference in result.differences})
    what = f"{count:,} group{'s' if count != 1 else ''}"
    if result.written:
        return f"{what} changed"
    return f"{what} would change; {'' if result.transfer is not None else 'dry run, '}nothing written"


def describe_differences(differences: Iterable[PropertyChange]) -> list[str]:
    """Return the differences of each node as lines; nodes with equal differences share a paragraph."""
    by_node: dict[str, list[PropertyChange]] = {}
    for difference in differences:
        by_node.setdefault(difference.node, []).append(difference)
    by_text: dict[tuple[str, ...], list[str]] = {}
    for node, found in by_node.items():
        by_text.setdefault(tuple(_lines(found)), []).append(node)
    lines = []
    for text, nodes in by_text.items():
        more = len(nodes) - _MOST_NODES
        named = ", ".join(one_line(node) or "root" for node in nodes[:_MOST_NODES])
        lines += [f"{named}{f' and {more:,} more' if more > 0 else ''}", *text]
    return lines


def _lines(differences: list[PropertyChange]) -> list[str]:
    width = max(len(difference.what) for difference in differences)
    return [
        f"  {one_line(found.what):<{width}}  {_value(found.old)} → {_value(found.new)}"
        f"{f' {one_line(found.unit)}' if found.unit else ''}"
        for found in differences
    ]


def _value(value: float | str | None) -> str:
    if value is None:
        return "(none)"
    return one_line(value) if isinstance(value, str) else f"{value:.10g}"


_VERB = Verb("edited", _call, _result_lines, None)

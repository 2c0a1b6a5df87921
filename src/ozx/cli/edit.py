"""``ozx edit``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from ozx.cli.many import Verb, many_options, run_verb
from ozx.cli.metadata_options import parse_metadata
from ozx.cli.output import one_line
from ozx.hierarchy.edit.differences import Difference
from ozx.operations.edit import EditResult, edit
from ozx.progress import Progress

__all__ = ["command"]

_MOST_NODES = 3


@click.command("edit")
@click.argument("arguments", metavar="FILE...", nargs=-1, type=click.Path())
@many_options(has_out_dir=False, has_dask=False)
@click.option("--pixel-size", metavar="N[U]|A=N,...", help="Pixel size, as in 0.65um or, by axis, y=0.65,x=0.65.")
@click.option("--unit", metavar="U", help="Unit of the axes, as in um, micrometer or x=um,t=s.")
@click.option("--channel-names", metavar="A,B,...", help="Names of all channels; an empty one is left unchanged.")
@click.option("--colors", metavar="RRGGBB,...", help="Colours of all channels; an empty one is left unchanged.")
@click.option("--name", metavar="N", help="Name of the image or plate.")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the file is on the disk.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(*, arguments: tuple[str, ...], no_sync: bool, **options: Any) -> int:
    """Correct pixel sizes, units, channels and names in an .ozx file.

    All images of FILE are edited, including those of a plate or a series; ozx:///data/plate.ozx/A/1/0 selects one. FILE
    is replaced when the new one is complete. Pixels are not changed.

    A pixel size without an axis is that of all axes of space. Sizes are those of the full resolution; the other levels
    and the label images change by the same factor. A single unit applies to the axes of its kind, space or time, that
    get a pixel size, or to all if none is given. Numbers are not converted. Write a comma in a name as \\,.

    \b
    Examples:
      ozx edit cells.ozx --pixel-size 0.65um --dry-run
      ozx edit stack.ozx --pixel-size z=2,y=0.65,x=0.65 --unit um
      ozx edit *.ozx --unit micrometer --log edits.jsonl
      ozx edit plate.ozx --channel-names DAPI,GFP --colors blue,00FF00
      ozx edit ozx:///data/series.ozx/0 --name Overview
    """
    return run_verb(_VERB, arguments, **parse_metadata(options), sync=not no_sync)


def _call(source: str, out: str | None, progress: Progress, **options: Any) -> EditResult:
    del out, progress  # a file is edited where it is, and its pixels are not touched
    return edit(source, **options)


def _result_lines(result: EditResult) -> list[str]:
    return [*describe_differences(result.differences), f"{result.path}  {_outcome(result)}"]


def _outcome(result: EditResult) -> str:
    if not result.differences:
        return "no changes"
    count = len({difference.node for difference in result.differences})
    what = f"{count:,} group{'s' if count != 1 else ''}"
    return f"{what} would change; dry run, nothing written" if not result.written else f"{what} changed"


def describe_differences(differences: Iterable[Difference]) -> list[str]:
    """Return the differences of each node as lines; nodes with equal differences share a paragraph."""
    by_node: dict[str, list[Difference]] = {}
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


def _lines(differences: list[Difference]) -> list[str]:
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


_VERB = Verb("edited", _call, _result_lines, lambda result: result.notes, None)

"""Command ``ozx ls``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.options import access_options, node_option
from ozx.cli.output import one_line, to_json
from ozx.errors import UsageError
from ozx.operations.list_entries import DIGESTS, EntryListing, iter_digests, list_entries

_LINES = 4096


@click.command("ls")
@click.argument("path", metavar="FILE|DIR", type=click.Path(), callback=expand_argument)
@node_option
@click.option("--nodes", is_flag=True, help="List only the metadata of nodes (zarr.json).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with offsets and CRC-32.")
@click.option(
    "--digests",
    type=click.Choice(DIGESTS),
    help="Print what this program prints for the directory: SHA-256, or DANDI's.",
)
@access_options
def command(*, path: str, node: str, nodes: bool, as_json: bool, digests: str | None) -> None:
    """List the entries of an .ozx file, or the files of an OME-Zarr directory.

    Prints one line for each entry, in archive order: size in bytes, compression method, key. FILE may be a URL. If FILE
    names a node (cells.ozx/labels/nuclei), only the entries below the node are listed, with keys relative
    to the node.

    \b
    Examples:
      ozx ls cells.ozx
      ozx ls cells.ozx --nodes
      ozx ls cells.ozx | sort -n | tail
      ozx ls 'cells.ozx|zip:labels/nuclei/'
      ozx ls cells.ozx --digests sha256sum > SHA256SUMS
      ozx ls cells.ozx --digests zarr-checksum
    """
    if digests is not None:
        if nodes or as_json:
            raise UsageError("--digests prints lines of all values: leave out --nodes and --json")
        lines = iter_digests(path, digests, node=node)
    else:
        listing = list_entries(path, node=node, nodes=nodes)
        lines = _iter_json(listing) if as_json else _iter_lines(listing)
    while block := list(islice(lines, _LINES)):
        click.echo("\n".join(block))


def _iter_lines(listing: EntryListing) -> Iterator[str]:
    for entry in listing:
        yield f"{entry.size:>14}  {entry.method or 'file':<9} {one_line(entry.key)}"


def _iter_json(listing: EntryListing) -> Iterator[str]:
    """Yield the JSON of `EntryListing.to_dict`, one entry per line, without holding all entries in memory."""
    yield "{"
    yield '  "schema": 2,'
    yield f'  "path": {to_json(listing.path)},'
    yield '  "entries": ['
    yield from _separate(f"    {to_json(entry.to_dict())}" for entry in listing)
    yield "  ]"
    yield "}"


def _separate(items: Iterable[str]) -> Iterator[str]:
    """Yield `items` with a comma appended to each except the last."""
    previous = None
    for item in items:
        if previous is not None:
            yield previous + ","
        previous = item
    if previous is not None:
        yield previous

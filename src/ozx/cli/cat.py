"""Command ``ozx cat``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.options import access_options, node_option
from ozx.cli.output import printable
from ozx.errors import UsageError
from ozx.operations.read_value import read_value


@click.command("cat")
@click.argument("path", metavar="FILE|DIR", type=click.Path(), callback=expand_argument)
@click.argument("key", metavar="KEY")
@node_option
@access_options
def command(*, path: str, key: str, node: str) -> None:
    """Write one value to standard output, byte for byte.

    KEY is a key from ozx ls FILE; if FILE names a node, KEY is relative to the node. FILE may be a URL. Binary values
    are not written to a terminal.

    \b
    Examples:
      ozx cat cells.ozx zarr.json
      ozx cat cells.ozx 0/c/0/0/0 > chunk.bin
      ozx cat cells.ozx/labels/nuclei zarr.json
    """
    blocks = read_value(path, key, node=node)
    if sys.stdout.isatty():
        _show(blocks, key)
        return
    for block in blocks:
        click.echo(block, nl=False)


def _show(blocks: Iterator[bytes], key: str) -> None:
    """Write text to a terminal with control characters escaped; raise an error for binary data."""
    value = next(blocks, b"")
    if b"\0" not in value:  # else refuse without reading a gigabyte
        value += b"".join(blocks)
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(
            f"the value of {key!r} is binary, and standard output is a terminal",
            hint="Redirect it to a file (> value.bin) or to another program (| xxd | less).",
        )
    click.echo(printable(text), nl=not text.endswith("\n"))

"""Command ``ozx serve``."""

from __future__ import annotations

from typing import Literal

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.options import node_option
from ozx.cli.output import say
from ozx.places.place import Place


@click.command("serve")
@click.argument("paths", metavar="FILE…", nargs=-1, required=True, type=click.Path(), callback=expand_argument)
@node_option
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port; by default a free one.")
@click.option("--directory", "is_directory", is_flag=True, help="Serve a directory cells.ome.zarr instead of a file.")
@click.option(
    "--ome-version", type=click.Choice(["0.4"]), help="Serve a directory of OME-Zarr 0.4 (Zarr v2) instead of a file."
)
@click.option("--cors", metavar="ORIGIN", help="Let pages of this origin read the files: https://example.org, or '*'.")
def command(
    *,
    paths: tuple[str, ...],
    node: str,
    port: int,
    is_directory: bool,
    ome_version: Literal["0.4"] | None,
    cors: str | None,
) -> None:
    """Serve .ozx files to programs on this computer that read URLs.

    Prints one URL per file and serves until an interrupt (Ctrl-C). The URL returns the file, whole or by ranges.
    Below the URL, the archive looks like a directory (URL/zarr.json, URL/0/zarr.json, …), so any viewer that reads
    OME-Zarr by URL can show it. Every program on this computer can read the files without a password; other computers
    cannot reach the server. Web pages need --cors. Standard error has the address (ZEP 8), as tensorstore takes
    it, and the source for neuroglancer.

    With --directory, the URL ends in cells.ome.zarr, for programs that read directories only. With --ome-version 0.4,
    this directory has OME-Zarr 0.4 (.zgroup, .zarray), for programs that read no later version. Chunks, also those in
    shards, are sent as they lie in the file.

    \b
    Examples:
      ozx serve cells.ozx plate.ozx
      ozx serve cells.ozx --ome-version 0.4 --cors '*'
      ozx serve cells.ozx --port 8000 --cors https://ome.github.io
    """
    from ozx.desktop.viewer.file_server import serve_files  # noqa: PLC0415 (loads zarr, which takes half a second)

    try:
        places = [Place.parse(path, node).given for path in paths]
        form = ome_version or ("directory" if is_directory else "file")
        serve_files(places, form=form, port=port, cors=cors, announce=_announce, warn=say)
    except KeyboardInterrupt:
        say("closed")


def _announce(url: str, address: str) -> None:
    click.echo(url)  # click flushes it for waiting programs
    say(f"address: {address}")
    say(f"in neuroglancer: {url}/|zarr:")

"""Command ``ozx thumbnail``."""

from __future__ import annotations

from typing import Any

import click

from ozx.cli.batch import Verb, many_options, run_verb
from ozx.cli.options import node_option, result_options
from ozx.operations.thumbnail import ThumbnailResult, thumbnail
from ozx.progress import Progress


@click.command("thumbnail")
@click.argument("arguments", metavar="FILE|DIR... [OUT]", nargs=-1, type=click.Path())
@many_options(has_dask=False)
@node_option
@click.option("--size", metavar="N", type=int, default=256, show_default=True, help="The longest side in pixels.")
@click.option("--cache", is_flag=True, help="Write to the desktop's thumbnail folder, instead of OUT.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@result_options
def command(*, arguments: tuple[str, ...], **options: Any) -> int:
    """Make a small picture of an .ozx file or an OME-Zarr directory.

    OUT is a .png or .jpg file, or the URL of one; without OUT, cells.ozx becomes cells.png beside it. The picture shows
    the middle plane of an image, all wells of a plate, or the first image of a series, in the colours and contrast of
    the metadata, without labels. Small images are not enlarged.

    FILE may be a URL, and may name a node: plate.ozx/A/1/0. With --cache, FILE must be local, and the size
    must be 128, 256, 512 or 1024.

    \b
    Examples:
      ozx thumbnail cells.ozx
      ozx thumbnail plate.ozx plate.jpg --size 1024 --force
      ozx thumbnail cells.ozx --cache
      ozx thumbnail *.ozx --out-dir pictures
    """
    return run_verb(_VERB, arguments, **options)


def _call(source: str, out: str | None, *, progress: Progress, **options: Any) -> ThumbnailResult:
    del progress  # a thumbnail takes a moment
    return thumbnail(source, out, **options)


def _lines(result: ThumbnailResult) -> list[str]:
    return [f"{result.path}  {result.width} × {result.height} pixels"]


_VERB = Verb("made", _call, _lines, ".png")

"""``ozx thumbnail``."""

from __future__ import annotations

from typing import Any

import click

from ozx.cli.output import print_result
from ozx.operations.thumbnail import ThumbnailResult, thumbnail

__all__ = ["command"]


@click.command("thumbnail")
@click.argument("path", metavar="FILE|DIR", type=click.Path())
@click.argument("out", metavar="[OUT]", required=False, type=click.Path())
@click.option("--size", metavar="N", type=int, default=256, show_default=True, help="The longest side in pixels.")
@click.option("--cache", is_flag=True, help="Write to the desktop's thumbnail folder, instead of OUT.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(*, path: str, out: str | None, as_json: bool, **options: Any) -> None:
    """Make a small picture of an .ozx file or an OME-Zarr directory.

    OUT is a .png or .jpg file. It shows an image's middle plane, in the colours and contrast of its metadata; all wells
    of a plate; the first image of a series. Small images are not enlarged.

    FILE may be a URL, and may name a node: ozx:///data/plate.ozx/A/1/0. With --cache it is a local file, and the size
    128, 256, 512 or 1024.

    \b
    Examples:
      ozx thumbnail cells.ozx cells.png
      ozx thumbnail plate.ozx plate.jpg --size 1024 --force
      ozx thumbnail cells.ozx --cache
    """
    print_result(thumbnail(path, out, **options), _summary, as_json=as_json)


def _summary(result: ThumbnailResult) -> str:
    return f"{result.path}  {result.width} × {result.height} pixels"

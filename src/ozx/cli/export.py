"""``ozx export``."""

from __future__ import annotations

import logging
from typing import Any

import click

from ozx.cli.app import DONE
from ozx.cli.output import format_bytes, one_line, print_result
from ozx.cli.progress import progress_bar
from ozx.operations.export import ExportedImageResult, ExportResult, export

__all__ = ["command"]


@click.command("export")
@click.argument("path", metavar="FILE|DIR", type=click.Path())
@click.argument("out", type=click.Path())
@click.option("--path", "node", metavar="NODE", default="", help="Export only this image, label image, well, …")
@click.option("--levels", metavar="A:B", help="Resolution levels as a Python slice; 0 is the finest.")
@click.option(
    "--compression",
    type=click.Choice(["zlib", "zstd", "lzw", "none"]),
    default="zlib",
    show_default=True,
    help="Every reader knows zlib.",
)
@click.option("--tile", metavar="N", type=int, help="Height and width of tiles, a multiple of 16.  [default: 512]")
@click.option("--jobs", metavar="N", type=int, help="Threads.  [default: one per processor, at most 8]")
@click.option("--force", is_flag=True, help="Replace OUT once the new file is complete.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the file is on the disk.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(*, path: str, out: str, no_sync: bool, as_json: bool, quiet: bool, **options: Any) -> int:
    """Write images as a pyramidal OME-TIFF file.

    An image becomes tiles with its levels as SubIFDs; a series or a plate becomes one file with all of its images.
    OME/METADATA.ome.xml is updated if there is one; else OME-XML is made from the metadata.

    FILE may be a URL, and may name a node: ozx:///data/plate.ozx/A/1/0.

    \b
    Examples:
      ozx export cells.ozx cells.ome.tif
      ozx export plate.ozx field.ome.tif --path A/1/0
      ozx export cells.ozx nuclei.ome.tif --path labels/nuclei
      ozx export slide.ozx preview.ome.tif --levels 2:
    """
    # zarr reads chunks concurrently and reports the first damaged one; asyncio would print the others at the exit.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    with progress_bar(quiet=quiet or as_json) as progress:
        result = export(path, out, **options, sync=not no_sync, progress=progress)
    print_result(result, _summary, quiet=quiet, as_json=as_json)
    return DONE


def _summary(result: ExportResult) -> str:
    parts = [format_bytes(result.bytes), _describe(result.images[0])]
    if result.image_count > 1:
        parts[1] = f"{result.image_count:,} images, the first: {parts[1]}"
    return f"{one_line(result.path)}  {', '.join(parts)}"


def _describe(image: ExportedImageResult) -> str:
    lengths = " × ".join(f"{length:,}" for axis, length in image.axes.items() if length > 1 or axis in "yx")
    axes = "".join(axis for axis, length in image.axes.items() if length > 1 or axis in "yx")
    return f"{axes} {lengths} {image.dtype}, {len(image.levels)} level{'s' if len(image.levels) != 1 else ''}"

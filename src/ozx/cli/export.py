"""Command ``ozx export``."""

from __future__ import annotations

import logging
from typing import Any

import click

from ozx.cli.batch import Verb, many_options, run_verb
from ozx.cli.options import join_parts, node_option, part_options, result_options
from ozx.cli.output import format_bytes, one_line
from ozx.operations.export import ExportedImageResult, ExportResult, export


@click.command("export")
@click.argument("arguments", metavar="FILE|DIR... [OUT]", nargs=-1, type=click.Path())
@many_options(has_jobs=False)
@node_option
@click.option("--levels", metavar="A:B", help="Resolution levels as a Python slice; 0 is the finest.")
@part_options
@click.option(
    "--compression",
    type=click.Choice(["zlib", "zstd", "lzw", "jpeg", "none"]),
    default="zlib",
    show_default=True,
    help="Every reader supports zlib; jpeg, for 8-bit colour images, changes pixels.",
)
@click.option("--tile", metavar="N", type=int, help="Height and width of tiles, a multiple of 16.  [default: 512]")
@click.option("--split-rgb", is_flag=True, help="Keep red, green and blue of a colour image as three channels.")
@click.option(
    "--jobs",
    metavar="N",
    type=int,
    help="Number of threads; with --out-dir, number of concurrent sources.  "
    "[default: one thread per processor, at most 8]",
)
@click.option("--force", is_flag=True, help="Replace OUT once the new file is complete.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the output is on the disk.")
@result_options
def command(*, arguments: tuple[str, ...], **options: Any) -> int:
    """Write images as a pyramidal OME-TIFF file.

    An image becomes tiles with its levels as SubIFDs; a series or a plate becomes one file with all of its images.
    If the hierarchy has OME/METADATA.ome.xml, OUT gets an updated copy; otherwise, its OME-XML is made from the
    metadata. Without OUT, cells.ozx becomes cells.ome.tif beside it.

    FILE may be a URL, and may name a node: plate.ozx/A/1/0.

    \b
    Examples:
      ozx export cells.ozx
      ozx export plate.ozx field.ome.tif --path A/1/0
      ozx export cells.ozx nuclei.ome.tif --path labels/nuclei
      ozx export cells.ozx corner.ome.tif --region x=10:60um,y=20:70um --channels DAPI
      ozx export *.ozx --out-dir tiffs
      ozx export slide.ozx preview.ome.tif --levels 2:
      ozx export slide.ozx slide.ome.tif --compression jpeg
    """
    # zarr reads chunks concurrently and reports the first damaged one; asyncio would print the others at the exit.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    return run_verb(_VERB, arguments, **join_parts(options))


def _lines(result: ExportResult) -> list[str]:
    parts = [format_bytes(result.bytes), _describe(result.images[0])]
    if result.image_count > 1:
        parts[1] = f"{result.image_count:,} images, the first: {parts[1]}"
    return [f"{one_line(result.path)}  {', '.join(parts)}"]


def _describe(image: ExportedImageResult) -> str:
    lengths = " × ".join(f"{length:,}" for axis, length in image.axes.items() if length > 1 or axis in "yx")
    axes = "".join(axis for axis, length in image.axes.items() if length > 1 or axis in "yx")
    return f"{axes} {lengths} {image.dtype}, {len(image.levels)} level{'s' if len(image.levels) != 1 else ''}"


_VERB = Verb("exported", export, _lines, ".ome.tif", has_threads=True)

"""Command ``ozx extract``."""

from __future__ import annotations

from typing import Any

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.batch import progress_bar
from ozx.cli.exit_codes import DONE
from ozx.cli.options import join_parts, node_option, part_options, result_options, version_options
from ozx.cli.output import format_bytes, one_line, print_result
from ozx.ome.subset.hierarchy import ExtractedImageResult
from ozx.operations.extract import ExtractResult, extract


@click.command("extract")
@click.argument("path", metavar="FILE|DIR", type=click.Path(), callback=expand_argument)
@click.argument("out", type=click.Path())
@node_option
@click.option("--levels", metavar="A:B", help="Resolution levels as a Python slice; 0 is the finest.")
@part_options
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Leave out the finest levels until OUT has at most this size: 20MB, 1.5GiB, bytes.",
)
@click.option("--whole-chunks", is_flag=True, help="Decode nothing: enlarge the region to whole chunks.")
@version_options
@click.option("--force", is_flag=True, help="Replace OUT once the new file is complete.")
@click.option("--dry-run", is_flag=True, help="Write nothing; show what would be written and read.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the output is on the disk.")
@result_options
def command(
    *,
    path: str,
    out: str,
    no_sync: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Crop a region, or take out a node, channels, or levels.

    A region is a crop: it has exactly the requested pixels, and so have the label images; pixels keep their positions
    in physical space. Chunks are copied where the region begins and ends at chunks, otherwise encoded again; lower
    levels are computed anew. With --whole-chunks, all levels show the same larger region, and those with too large
    chunks are left out unless --levels names them.

    \b
    Examples:
      ozx extract plate.ozx well.ozx --path A/1
      ozx extract cells.ozx mail.ozx --max-size 20MB
      ozx extract cells.ozx corner.ozx --region y=0:2048,x=0:2048,t=3
      ozx extract cells.ozx corner.ozx --region x=10:60um,y=20:70um
      ozx extract cells.ozx pair.ozx --channels DAPI,Cy5
      ozx extract cells.ozx preview.ozx --levels 2:
      ozx extract https://example.org/plate.ozx well.ozx --path A/1 --dry-run
    """
    with progress_bar(quiet=quiet or as_json) as progress:
        result = extract(path, out, **join_parts(options), sync=not no_sync, progress=progress)
    print_result(result, _summary, quiet=quiet, as_json=as_json)
    return DONE


def _summary(result: ExtractResult) -> str:
    parts = [f"{result.entries:,} entries", format_bytes(result.bytes)]
    if result.image_count == 1:
        parts.append(_describe(result.images[0]))
    elif result.image_count:
        parts.append(f"{result.image_count:,} images, the first: {_describe(result.images[0])}")
    if result.bytes_read is not None:
        by = "" if result.requests is None else f" by {result.requests:,} request{'s' if result.requests != 1 else ''}"
        parts.append(f"{format_bytes(result.bytes_read)} read{by}")
    return f"{one_line(result.path)}  {'would have ' if result.dry_run else ''}{', '.join(parts)}"


def _describe(image: ExtractedImageResult) -> str:
    levels = f"{len(image.levels)} level{'s' if len(image.levels) != 1 else ''}"
    if image.left_out:
        levels = f"level{'s' if len(image.levels) != 1 else ''} {', '.join(map(one_line, image.levels))}"
        levels += f" without {', '.join(map(one_line, image.left_out))}"
    region = "".join(f", {one_line(axis)}={start}:{stop}" for axis, (start, stop) in image.region.items())
    channels = f", channels {','.join(map(str, image.channels))}" if image.channels else ""
    return f"{levels}{region}{channels}"

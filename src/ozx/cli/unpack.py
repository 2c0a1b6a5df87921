"""Command ``ozx unpack``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ozx.cli.batch import Verb, many_options, run_verb
from ozx.cli.options import node_option, result_options
from ozx.cli.output import format_bytes
from ozx.operations.unpack import UnpackResult, unpack


@click.command("unpack")
@click.argument("arguments", metavar="FILE... [OUT]", nargs=-1, type=click.Path())
@many_options()
@node_option
@click.option("--force", is_flag=True, help="Replace OUT (empty or a Zarr hierarchy) once the new one is complete.")
@click.option("--replace-folder", is_flag=True, help="Replace OUT whatever it contains.")
@click.option("--allow-bombs", is_flag=True, help="Also unpack files that look like a decompression bomb.")
@click.option(
    "--ome-version", type=click.Choice(["0.4"]), help="Write OME-Zarr 0.4 (Zarr v2), without decoding the chunks."
)
@click.option("--to", type=click.Choice(["bagit"]), help="Make OUT a BagIt bag with the directory in data/.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the output is on the disk.")
@result_options
def command(*, arguments: tuple[str, ...], **options: Any) -> int:
    """Turn .ozx files back into directories.

    cells.ozx becomes cells.ome.zarr beside it unless OUT is given; several files need --out-dir.

    Any other ZIP file is unpacked the same way. Every value is compared with its CRC-32, and the directory gets its
    name only if all values are correct. OUT may be an s3:// URL; the root's zarr.json is then written last.

    If FILE names a node (cells.ozx/labels/nuclei), only the entries below the node are unpacked, and the
    node becomes the root.

    \b
    Examples:
      ozx unpack cells.ozx
      ozx unpack cells.ozx /scratch/cells.ome.zarr
      ozx unpack *.ozx --out-dir unpacked --jobs 2
      ozx unpack 'cells.ozx|zip:labels/nuclei/' nuclei.ome.zarr
      ozx unpack cells.ozx --ome-version 0.4
      ozx unpack cells.ozx --to bagit cells.bag
    """
    verb = _VERB if options["to"] is None else replace(_VERB, ending=".bag")
    return run_verb(verb, arguments, **options)


def _lines(result: UnpackResult) -> list[str]:
    return [f"{result.path}  {result.entries:,} files, {format_bytes(result.bytes)}"]


_VERB = Verb("unpacked", unpack, _lines, ".ome.zarr", writes_folders=True)

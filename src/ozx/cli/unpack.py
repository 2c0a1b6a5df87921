"""``ozx unpack``."""

from __future__ import annotations

import click

from ozx.cli.output import format_bytes, print_result
from ozx.cli.progress import progress_bar
from ozx.operations.unpack import UnpackResult, unpack

__all__ = ["command"]


@click.command("unpack")
@click.argument("file", type=click.Path())
@click.argument("out", required=False, type=click.Path())
@click.option("--force", is_flag=True, help="Replace OUT (empty or a Zarr hierarchy) once the new one is complete.")
@click.option("--replace-folder", is_flag=True, help="Replace OUT whatever it contains.")
@click.option("--allow-bombs", is_flag=True, help="Also unpack files that look like a decompression bomb.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the files are on the disk.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(*, file: str, out: str | None, no_sync: bool, as_json: bool, quiet: bool, **options: bool) -> None:
    """Turn an .ozx file back into a directory.

    cells.ozx becomes cells.ome.zarr beside it unless OUT is given. Any other ZIP file is unpacked the same way. Every
    value is checked against its CRC-32; the directory gets its name only when all are correct.

    For a node (ozx:///data/cells.ozx/labels/nuclei), only the entries below it are unpacked, and it becomes the root.

    \b
    Examples:
      ozx unpack cells.ozx
      ozx unpack cells.ozx /scratch/cells.ome.zarr
      ozx unpack 'cells.ozx|zip:labels/nuclei/' nuclei.ome.zarr
    """
    with progress_bar(quiet=quiet or as_json) as progress:
        result = unpack(file, out, **options, sync=not no_sync, progress=progress)
    print_result(result, _summary, quiet=quiet, as_json=as_json)


def _summary(result: UnpackResult) -> str:
    return f"{result.path}  {result.entries:,} files, {format_bytes(result.bytes)}"

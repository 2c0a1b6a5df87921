"""``ozx repack``."""

from __future__ import annotations

from typing import Any

import click

from ozx.cli.app import DONE
from ozx.cli.output import format_bytes, print_result, say
from ozx.cli.progress import progress_bar
from ozx.hierarchy.ome.conversion import VERSIONS
from ozx.operations.repack import RepackResult, repack

__all__ = ["command"]

_WORDS = {
    "copied": "as stored",
    "moved": "moved without decoding",
    "zlib_to_gzip": "converted from zlib to gzip without decoding",
    "transcoded": "decoded and encoded",
}


@click.command("repack")
@click.argument("source")
@click.argument("out", type=click.Path())
@click.option(
    "--shards",
    metavar="auto|keep|none|A=N,...",
    default="keep",
    show_default=True,
    help="Shards: chosen per array, unchanged, none, or their shape in pixels by axis (y=4096,x=4096).",
)
@click.option("--chunks", metavar="A=N,...", help="New chunk shape, in pixels by axis: transcodes everything.")
@click.option("--codec", metavar="NAME[:LEVEL]", help="New compressor (zstd:3, blosc-lz4:5, none): transcodes, too.")
@click.option(
    "--chunk-checksums",
    type=click.Choice(["add", "keep", "drop"]),
    help="Add a CRC-32C to each encoded chunk; by default for chunks that are put into shards.",
)
@click.option(
    "--keep-numcodecs", is_flag=True, help="Keep bz2, lzma and lz4 chunks of Zarr v2, which only zarr-python reads."
)
@click.option("--ome-version", type=click.Choice(VERSIONS), help="Write metadata of this OME-Zarr version.")
@click.option("--drop-transformations", is_flag=True, help="Leave out what OME-Zarr 0.5 cannot express.")
@click.option("--thumbnail", is_flag=True, help="Add a thumbnail to OUT, for file managers and web pages.")
@click.option("--verify", is_flag=True, help="Read the file back and compare every value.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace OUT (a file, an empty directory or a Zarr hierarchy) once the new one is complete.",
)
@click.option("--replace-folder", is_flag=True, help="Replace the directory OUT whatever it contains.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the result is on the disk.")
@click.option(
    "--jobs", metavar="N", type=click.IntRange(min=1), help="Threads.  [default: one per processor, at most 4]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(*, source: str, out: str, no_sync: bool, as_json: bool, quiet: bool, **options: Any) -> int:
    """Rewrite a hierarchy: repaired, upgraded to OME-Zarr 0.5, in other shards.

    SOURCE is a directory, an .ozx or .zip file, or a URL, of OME-Zarr 0.4 or 0.5. OUT is an .ozx file, or a directory
    if it ends in .zarr or a slash. Compressed chunks are moved without decoding, except for --chunks and --codec, and
    for codecs that Zarr v3 lacks.

    \b
    Examples:
      ozx repack old.zarr.zip clean.ozx
      ozx repack plate.ome.zarr plate.ozx --shards auto
      ozx repack cells.ozx cells.ome.zarr --shards y=4096,x=4096
      ozx repack cells.ozx small.ozx --codec zstd:9 --shards auto
    """
    with progress_bar(quiet=quiet or as_json) as progress:
        result = repack(source, out, **options, sync=not no_sync, progress=progress)
    for sentence in result.repaired:
        say(f"repaired: {sentence}", quiet=quiet)
    print_result(result, _summary, quiet=quiet, as_json=as_json)
    return DONE


def _summary(result: RepackResult) -> str:
    parts = [f"{result.entries:,} entries", format_bytes(result.bytes)]
    for treatment, count in result.treatments.items():
        parts.append(f"{count:,} {'array' if count == 1 else 'arrays'} {_WORDS[treatment]}")
    parts += ["verified"] if result.verified else []
    return f"{result.path}  {', '.join(parts)}"

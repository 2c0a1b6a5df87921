"""Command ``ozx repack``."""

from __future__ import annotations

from typing import Any

import click

from ozx.cli.batch import Verb, many_options, run_verb
from ozx.cli.options import any_version_options, encoding_options, node_option, result_options
from ozx.cli.output import format_bytes
from ozx.operations.repack import RepackResult, repack

_WORDS = {
    "copied": "as stored",
    "moved": "moved without decoding",
    "zlib_to_gzip": "converted from zlib to gzip without decoding",
    "transcoded": "decoded and encoded",
}


@click.command("repack")
@click.argument("arguments", metavar="SOURCE... OUT", nargs=-1, type=click.Path())
@many_options(has_jobs=False)
@node_option
@click.option(
    "--shards",
    metavar="auto|keep|none|A=N,...",
    default="keep",
    show_default=True,
    help="Shards: chosen per array, unchanged, none, or their shape in pixels by axis (y=4096,x=4096).",
)
@encoding_options
@click.option(
    "--keep-numcodecs", is_flag=True, help="Keep bz2, lzma and lz4 chunks of Zarr v2, which only zarr-python reads."
)
@any_version_options
@click.option("--thumbnail", is_flag=True, help="Add a thumbnail to OUT, for file managers and web pages.")
@click.option("--verify", is_flag=True, help="Read the file back and compare every value.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace OUT (a file, an empty directory or a Zarr hierarchy) once the new one is complete.",
)
@click.option("--replace-folder", is_flag=True, help="Replace the directory OUT whatever it contains.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the output is on the disk.")
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of threads; with --out-dir, number of concurrent sources.  "
    "[default: one thread per processor, at most 4]",
)
@result_options
def command(*, arguments: tuple[str, ...], **options: Any) -> int:
    """Rewrite a hierarchy: repair it, upgrade it to OME-Zarr 0.5, change its shards.

    SOURCE is a directory, an .ozx or .zip file, or a URL, with OME-Zarr 0.4, 0.5 or 0.6. OUT is an .ozx file, or a
    directory if it ends in .zarr or a slash. Compressed chunks are moved without decoding, except for --chunks and
    --codec, and for codecs that Zarr v3 lacks.

    \b
    Examples:
      ozx repack old.zarr.zip clean.ozx
      ozx repack plate.ome.zarr plate.ozx --shards auto
      ozx repack cells.ozx cells.ome.zarr --shards y=4096,x=4096
      ozx repack old/*.zarr --out-dir new
      ozx repack cells.ozx small.ozx --codec blosc-zstd:9 --shards auto
      ozx repack cells.ozx old.ome.zarr --ome-version 0.4
    """
    return run_verb(_VERB, arguments, **options)


def _notes(result: RepackResult) -> list[str]:
    return [*(f"repaired: {sentence}" for sentence in result.repaired), *result.notes]


def _lines(result: RepackResult) -> list[str]:
    parts = [f"{result.entries:,} entries", format_bytes(result.bytes)]
    for treatment, count in result.treatments.items():
        parts.append(f"{count:,} {'array' if count == 1 else 'arrays'} {_WORDS[treatment]}")
    parts += ["verified"] if result.verified else []
    return [f"{result.path}  {', '.join(parts)}"]


_VERB = Verb(
    "repacked",
    repack,
    _lines,
    ".ozx",
    _notes,
    needs_output=True,
    writes_folders=True,
    has_threads=True,
    has_executor=True,
)

"""Command ``ozx pack``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ozx.cli.arguments import is_zarr, names_output, output_of_one, refuse_folder
from ozx.cli.batch import Verb, run_resumable
from ozx.cli.exit_codes import DONE, WITH_LOSS
from ozx.cli.options import dask_option, encoding_options, jobs_option, result_options, version_options
from ozx.cli.output import format_bytes
from ozx.cli.run_logging import log_options
from ozx.errors import UsageError
from ozx.operations.pack import LAYOUTS, PackResult, pack, pack_many

_ENDINGS = (".ozx", ".zip")


@click.command("pack")
@click.argument("arguments", metavar="SOURCE... [OUT]", nargs=-1, type=click.Path())
@click.option(
    "--out-dir",
    metavar="D",
    type=click.Path(file_okay=False),
    help="Write the files to this folder, not beside SOURCE.",
)
@click.option("--force", is_flag=True, help="Replace each existing file once the new one is complete.")
@jobs_option
@click.option("--verify", is_flag=True, help="Read each file back and compare every value.")
@click.option(
    "--remove-source", is_flag=True, help="Delete each source when its file is verified, unless the source changed."
)
@click.option("--drop-attributes", is_flag=True, help="Remove sources even if ACLs, attributes or hard links get lost.")
@click.option("--checksum", type=click.Choice(["sha256"]), help="Write OUT.sha256, as sha256sum does.")
@click.option("--resume", is_flag=True, help="Skip sources whose output is complete.")
@click.option(
    "--shards", metavar="auto|keep|none|A=N,...", default="keep", show_default=True, help="Put chunks into shards."
)
@encoding_options
@version_options
@click.option("--thumbnail", is_flag=True, help="Add a thumbnail to each file, for file managers and web pages.")
@click.option("--manifest", is_flag=True, help="Write OUT.manifest.json, for ozx verify.")
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default=LAYOUTS[0],
    show_default=True,
    help="bioimage-archive writes NAME.ome.zarr.zip with the folder NAME.ome.zarr.",
)
@click.option("--author", metavar="NAME", multiple=True, help="An author, for --license; can be repeated.")
@click.option("--license", metavar="L", help="Add ro-crate-metadata.json with this license: CC-BY-4.0, or a URL.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the output is on the disk.")
@dask_option
@log_options
@result_options
def command(*, arguments: tuple[str, ...], remove_source: bool, **options: Any) -> int:
    """Turn OME-Zarr directories into .ozx files.

    SOURCE is a directory with a zarr.json; cells.ome.zarr becomes cells.ozx beside it. The second of two arguments
    is OUT if it ends in .ozx or .zip. It is also OUT if it does not exist, unless it ends in .zarr or has the same
    ending as SOURCE. Otherwise all arguments are sources.

    Values are copied byte for byte. --shards, and the automatic upgrade of OME-Zarr 0.4 to 0.5, move chunks without
    decoding them. The file gets its name only when it is complete.

    \b
    Examples:
      ozx pack cells.ome.zarr
      ozx pack cells.ome.zarr /data/cells.ozx --verify
      ozx pack plate.ome.zarr --shards auto
      ozx pack cells.ome.zarr --layout bioimage-archive
      ozx pack *.ome.zarr --out-dir packed --jobs 2 --resume
    """
    verb = replace(_VERB, quiet_notes=_notes_of_removal, code=_code_of_removal) if remove_source else _VERB
    return run_resumable(verb, pack_many, arguments, _split_arguments, remove_source=remove_source, **options)


def _split_arguments(arguments: list[str], out_dir: str | None) -> tuple[list[str], str | None]:
    out = output_of_one(arguments, out_dir, _ENDINGS)
    if out is not None:
        return [arguments[0]], out
    if len(arguments) > 2 and names_output(arguments[-1], _ENDINGS):
        raise UsageError(
            f"{len(arguments) - 1} sources cannot become one file, {arguments[-1]}: an .ozx file holds exactly one "
            "hierarchy",
            hint="Give --out-dir D to get one file for each source.",
        )
    if len(arguments) > 1 and not is_zarr(arguments[-1]):
        refuse_folder(arguments, out_dir)
    return arguments, None


def _code_of_removal(packed: PackResult) -> int:
    return DONE if packed.source_removed else WITH_LOSS


def _notes_of_removal(packed: PackResult) -> list[str]:
    """Return the notes that matter for a source that was to be removed: what is lost, and why it is still there."""
    return _left_out(packed) if packed.source_removed else _notes(packed)


def _notes(packed: PackResult) -> list[str]:
    return [*_left_out(packed), *packed.notes]


def _left_out(packed: PackResult) -> list[str]:
    return [f"left out: {key}{' (empty)' if key.endswith('/') else ''}" for key in packed.left_out]


def _lines(packed: PackResult) -> list[str]:
    extras = [f"{packed.entries:,} entries", format_bytes(packed.bytes)]
    extras += ["complete already"] if packed.status == "skipped" else []
    extras += ["verified"] if packed.verified else []
    extras += ["source removed"] if packed.source_removed else []
    extras += [f"sha256 {packed.sha256}"] if packed.sha256 else []
    return [f"{packed.path}  {', '.join(extras)}"]


_VERB = Verb("packed", pack, _lines, ".ozx", _notes)

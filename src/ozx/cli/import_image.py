"""Command ``ozx import``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

import click

from ozx.cli.arguments import names_output, output_of_one, refuse_folder
from ozx.cli.batch import Verb, run_resumable
from ozx.cli.exit_codes import DONE, WITH_LOSS
from ozx.cli.options import (
    dask_option,
    jobs_option,
    join_parts,
    metadata_options,
    new_layout_options,
    parse_metadata,
    part_options,
    result_options,
)
from ozx.cli.output import format_bytes, say
from ozx.cli.run_logging import log_options
from ozx.errors import OzxError, UsageError
from ozx.flow.batch import hint_with_folder
from ozx.flow.sources.wrong_sources import check_is_image_file
from ozx.missing_files import hint_at_missing
from ozx.ome.conversion_05_06 import VERSIONS
from ozx.operations.import_image import ImportManyResult, ImportResult, import_image, import_images
from ozx.quoting import quote
from ozx.readers.folders import describe_folder
from ozx.readers.plane_names import TIFF, names_below

_ENDINGS = (".ozx",)
# An image, its output, and a word that was not meant as an argument; more arguments are several images.
_MIXED = 3


@click.command("import")
@click.argument("arguments", metavar="IMAGE... [OUT]", nargs=-1, type=click.Path())
@click.option(
    "--out-dir", metavar="D", type=click.Path(file_okay=False), help="Write the files to this folder, not beside IMAGE."
)
@click.option(
    "--pattern",
    metavar="P",
    help="Join the files of a folder by their names, as in img_t{t}_c{c}.tif; also {z}, {s} (positions), {well}, *.",
)
@click.option("--separate", is_flag=True, help="Make one file for each TIFF file of a folder.")
@click.option("--series", metavar="N", type=int, help="Import only image N, counted from 0.")
@part_options
@click.option("--times", metavar="N:N", help="Time points, as in 2:5 or 3, or in a unit, as in 10:60s.")
@click.option("--axes", metavar="tczyx", help="Axes in the order of the file, instead of the axes that the file names.")
@click.option("--keep-singletons", is_flag=True, help="Keep axes of length 1.")
@click.option(
    "--pixel-size",
    metavar="N[U]|A=N,...",
    help="Pixel size of z, y and x, as in 0.65um; or by axis, as in z=2um,y=0.65um,x=0.65um.",
)
@metadata_options
@click.option("--name", metavar="N", help="Name of the image or of the plate.")
@click.option(
    "--ome-xml",
    type=click.Choice(["keep", "drop"]),
    default="keep",
    show_default=True,
    help="Keep or drop the original OME-XML.",
)
@click.option("--labels", is_flag=True, help="The pixels are labels: write a label image.")
@click.option("--reuse-levels", is_flag=True, help="Copy the smaller levels of the TIFF file if they fit the image.")
@click.option("--method", type=click.Choice(["mean", "nearest", "mode"]), help="Method of downsampling.")
@new_layout_options
@click.option(
    "--chunk-checksums",
    type=click.Choice(["add", "keep", "drop"]),
    help="Add a CRC-32C to each encoded chunk; by default only to chunks in shards.",
)
@click.option(
    "--on-error",
    type=click.Choice(["fail", "fill"]),
    default="fail",
    show_default=True,
    help="Stop at damaged tiles, or fill them with zeros.",
)
@click.option(
    "--ome-version", type=click.Choice(VERSIONS), default="0.5", show_default=True, help="OME-Zarr version to write."
)
@click.option("--thumbnail", is_flag=True, help="Add a thumbnail to the file.")
@click.option("--force", is_flag=True, help="Replace each existing file once the new one is complete.")
@click.option("--resume", is_flag=True, help="Skip sources whose output is complete.")
@jobs_option
@dask_option
@click.option("--no-sync", is_flag=True, help="Do not wait until the files are on the disk.")
@log_options
@result_options
def command(*, arguments: tuple[str, ...], separate: bool, **options: Any) -> int:
    """Turn TIFF, CZI, ND2, LIF and IMS files into .ozx files, with all levels.

    IMAGE is any TIFF file: an OME-TIFF (any of its files, or the .companion.ome file), an ImageJ stack, a whole slide.
    With the extra formats, it may also be a CZI, ND2, LIF or IMS file, and others. A folder of one plane per file, of
    Micro-Manager or of a plate becomes one file. cells.ome.tif becomes cells.ozx beside it. The second of two arguments
    is OUT if it ends in .ozx. It is also OUT if it does not exist, unless it ends in .zarr or has the same ending as
    IMAGE. Otherwise all arguments are images.

    Several images in a file become a series, or a plate. Options override the file's metadata.

    \b
    Examples:
      ozx import cells.ome.tif
      ozx import stack.tif stack.ozx --axes tyx --pixel-size 0.65um
      ozx import slide.svs --series 0 --reuse-levels
      ozx import planes/ --pattern "img_t{t}_c{c}.tif"
      ozx import movie.czi --channels DAPI --times 2:5 --region x=100:200,y=10:60um
      ozx import *.tif --out-dir imported --jobs 2 --resume
    """
    if separate:
        if options["pattern"] is not None:
            raise UsageError("--separate and --pattern exclude each other", hint="Give only one of them.")
        arguments = tuple(file for argument in arguments for file in _files_of(argument))
    return run_resumable(_VERB, _import_many, arguments, _split_arguments, **parse_metadata(join_parts(options)))


def _files_of(argument: str) -> list[str]:
    """Return the TIFF files of a folder, or of the folders in it; another argument as it is."""
    if not os.path.isdir(argument):
        return [argument]
    names = [name for name in names_below(argument, 1) if name.lower().endswith(TIFF)]
    names = [name for name in names if "/" not in name] or names
    return [os.path.join(argument, name) for name in names] or [argument]


def _import(source: str, out: str | None, **options: Any) -> ImportResult:
    _say_joined([source], options)
    return import_image(source, out, **options)


def _import_many(sources: list[str], *, executor: Executor | None, **options: Any) -> ImportManyResult:
    _say_joined(sources, options)
    return import_images(sources, file_executor=executor, **options)


def _say_joined(sources: Sequence[str], options: Mapping[str, Any]) -> None:
    """Say before the work what the files of each folder become."""
    given = click.get_current_context().params
    for source in sources:
        if os.path.isdir(source) and not (given["quiet"] or given["as_json"]):
            with suppress(OzxError):  # the import reports it
                if joined := describe_folder(source, pattern=options["pattern"], on_error=options["on_error"]):
                    say(f"{joined}; --separate for one image each")


def _split_arguments(arguments: list[str], out_dir: str | None) -> tuple[list[str], str | None]:
    out = output_of_one(arguments, out_dir, _ENDINGS)
    if out is not None:
        _check_source(arguments[0], out)
        return [arguments[0]], out
    last = arguments[-1].rstrip("/")
    if len(arguments) == 2 and last.lower().endswith(".zarr") and not os.path.lexists(last):
        image, file, folder = map(quote, (arguments[0], f"{last.removesuffix('.zarr').removesuffix('.ome')}.ozx", last))
        raise UsageError(
            f"expected an .ozx file as output; got {last}",
            hint="ozx import writes .ozx files. To get a directory, unpack the file: "
            f"ozx import {image} {file}; ozx unpack {file} {folder}",
        )
    if len(arguments) == 2 and last.lower().endswith((".tif", ".tiff")) and not os.path.lexists(last):
        image, file = map(quote, (arguments[0], f"{os.path.splitext(last)[0].removesuffix('.ome')}.ozx"))
        output = f"An output has the ending .ozx: ozx import {image} {file}"
        hint = " ".join(filter(None, [hint_at_missing(last), output]))
        raise UsageError(f"expected images, or one image and an output; {last} does not exist", hint=hint)
    if names_output(arguments[-1], _ENDINGS) and (len(arguments) == 1 or out_dir is not None):
        file = quote(arguments[-1])
        raise UsageError(
            f"expected image files; {arguments[-1]} is an .ozx file",
            hint=f"It needs no import: ozx info {file} describes it, ozx view {file} shows it.",
        )
    if names_output(arguments[-1], _ENDINGS):
        raise UsageError(
            f"expected one image file as input for the one output {arguments[-1]}; got {len(arguments) - 1}",
            hint="Give --out-dir D to get one file for each source.",
        )
    between = next((each for each in arguments if names_output(each, _ENDINGS)), None)
    if between is not None and len(arguments) > _MIXED:
        raise UsageError(
            f"expected image files; {between} is an .ozx file", hint="Name only image files, as in ozx import *.tif."
        )
    if between is not None:
        raise UsageError(
            f"expected image files; {between} is an .ozx file",
            hint=f"For one image and its output, write ozx import IMAGE {quote(between)}. If other words are a "
            "list for an option, write it without blanks, as in --channel-names DAPI,GFP.",
        )
    if len(arguments) > 1:
        refuse_folder(arguments, out_dir)
    return arguments, None


def _check_source(source: str, out: str) -> None:
    """Raise an error if the source is a folder, and the output no .ozx file, but perhaps a folder for outputs."""
    if os.path.isdir(source) and not names_output(out, _ENDINGS):
        try:
            check_is_image_file(source)
        except UsageError as error:
            if error.hint is not None:
                error.hint = hint_with_folder(error.hint, out)
            raise


def _code(imported: ImportResult) -> int:
    return WITH_LOSS if imported.damage else DONE


def _warnings(imported: ImportResult) -> list[str]:
    return [f"warning: {sentence}" for sentence in imported.damage]


def _notes(imported: ImportResult) -> list[str]:
    return [*_warnings(imported), *imported.notes]


def _lines(imported: ImportResult) -> list[str]:
    if imported.part_of is not None:
        return [f"{imported.source}  part of the image of {imported.part_of}, {imported.path}"]
    parts = [f"{imported.images:,} {'image' if imported.images == 1 else 'images'}", f"{imported.entries:,} entries"]
    parts.append(format_bytes(imported.bytes))
    parts += ["complete already"] if imported.status == "skipped" else []
    return [f"{imported.path}  {', '.join(parts)}"]


_VERB = Verb("imported", _import, _lines, ".ozx", _notes, _warnings, _code, has_executor=True)

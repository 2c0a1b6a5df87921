"""Command ``ozx stream``."""

from __future__ import annotations

import sys
from typing import Any

import click
import numpy as np

from ozx.cli.exit_codes import DONE, WITH_LOSS
from ozx.cli.options import new_layout_options, parse_metadata, store_options
from ozx.cli.output import format_bytes, one_line, print_result, say_error
from ozx.errors import UsageError
from ozx.flow.sinks.file_size import parse_size
from ozx.ome.conversion_05_06 import VERSIONS
from ozx.ome.plates import parse_field_counts
from ozx.ome.subset.region import split_names
from ozx.operations.stream import stream
from ozx.streaming.frame_stream import StreamResult
from ozx.streaming.frames import read_frames


@click.command("stream")
@click.argument("out", type=click.Path())
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the frames from standard input, as they come.")
@click.option("--axes", metavar="tcyx", required=True, help="Axes in the order of acquisition; the last are y, x.")
@click.option("--shape", metavar="N,...", required=True, help="Lengths of the axes; n if the first length is unknown.")
@click.option("--dtype", metavar="TYPE", required=True, help="Pixel type: uint16, float32, >u2, ...")
@click.option("--headers", "has_headers", is_flag=True, help="A line of JSON before each frame gives its index.")
@click.option("--positions", metavar="A,B,...", help="Write a series of images, one for each of these positions.")
@click.option("--plate", metavar="A/1=N,...", help="Write a plate of these wells, each with its number of fields.")
@click.option("--pixel-size", metavar="N[U]|A=N,...", help="Pixel size, as in 0.65um or, by axis, y=0.65,x=0.65.")
@click.option("--unit", metavar="U|A=U,...", help="Unit of the axes, as in micrometer or x=micrometer,t=second.")
@click.option("--channel-names", metavar="A,B,...", help="Names of the channels.")
@click.option("--name", metavar="N", help="Name of the image.")
@click.option("--method", type=click.Choice(["mean", "nearest", "mode"]), default="mean", help="Downsampling method.")
@new_layout_options
@click.option(
    "--ome-version", type=click.Choice(VERSIONS), default="0.5", show_default=True, help="OME-Zarr version to write."
)
@click.option(
    "--memory", metavar="SIZE", help="Memory for waiting frames and chunks, in bytes or with a unit: 176MiB, 1GB."
)
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), help="Threads; by default one per core.")
@click.option("--sync-every", metavar="N", type=click.IntRange(min=1), help="Sync the file after every N frames.")
@click.option("--upload-to", metavar="URL", help="Also upload the finished file to s3://.")
@click.option("--force", is_flag=True, help="Replace OUT once the new file is complete.")
@click.option("--no-sync", is_flag=True, help="Do not wait until the file is on the disk.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@store_options
def command(
    *,
    out: str,
    from_stdin: bool,
    shape: str,
    dtype: str,
    has_headers: bool,
    positions: str | None,
    plate: str | None,
    memory: str | None,
    no_sync: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Write the frames of a camera, from a pipe, to an .ozx file.

    A program in any language can send the frames. A frame consists of its pixels, row by row; the next frame follows
    directly. With --headers, a line of JSON precedes each frame: {"index": [3, 0]} gives its indexes along the axes
    before y, x; {"position": "left"} or {"position": "A/1/0"} gives its position; {"record": {"time": 0.25}} gives
    further facts about it; an empty object means the next frame. The end of the input ends the image. The exit code is
    3 if frames are missing or the last frame is incomplete.

    \b
    Examples:
      camera | ozx stream run7.ozx --stdin --axes tcyx --shape n,2,1024,1024 --dtype uint16
      camera | ozx stream run7.ozx --stdin --axes tyx --shape 500,512,512 --dtype uint8 --sync-every 100 --json
      camera | ozx stream p.ozx --stdin --axes cyx --shape 2,512,512 --dtype uint16 --plate A/1=4,B/3=4 --headers
    """
    if not from_stdin:
        raise UsageError("expected --stdin; frames come from standard input", hint="Add --stdin, and pipe the frames.")
    lengths, kind = _parse_shape(shape), _parse_type(dtype)
    known: dict[str, Any] = parse_metadata({**options, "colors": None})
    del known["colors"]
    known["channel_names"] = known["channel_names"] or ()
    if positions is not None:
        known["positions"] = split_names(positions)
    if plate is not None:
        known["plate"] = parse_field_counts(plate)
    if memory is not None:
        known["memory"] = parse_size(memory)
    faults: list[str] = []
    with stream(out, shape=lengths, dtype=kind, sync=not no_sync, **known) as frames:
        plane = [length or 1 for length in lengths[-2:]]
        for pixels, place, position, record in read_frames(
            sys.stdin.buffer, plane, kind, faults.append, has_headers=has_headers
        ):
            where = 0 if position is None else position
            if place is None:
                frames.append(pixels, position=where, record=record)
            else:
                frames.write(pixels, place, position=where, record=record)
    result = frames.close()
    print_result(result, _summary, quiet=quiet, as_json=as_json)
    for fault in faults:
        say_error(fault)
    return WITH_LOSS if faults or result.missing_count else DONE


def _parse_shape(text: str) -> list[int | None]:
    lengths: list[int | None] = []
    for part in text.split(","):
        if part.strip() == "n":
            lengths.append(None)
        elif part.strip().isdecimal():
            lengths.append(int(part))
        else:
            raise UsageError(f"--shape: expected lengths, as in n,2,1024,1024; got {text!r}")
    return lengths


def _parse_type(text: str) -> np.dtype[Any]:
    try:
        return np.dtype(text)
    except TypeError:
        raise UsageError(f"--dtype: expected a pixel type, as in uint16; got {text!r}") from None


def _summary(result: StreamResult) -> str:
    frames = "1 frame" if result.frames == 1 else f"{result.frames:,} frames"
    missing = f", {result.missing_count:,} missing" if result.missing_count else ""
    waits = f", {result.waits:,} waits" if result.waits else ""
    sent = "" if result.uploaded is None else f", sent to {one_line(result.uploaded)}"
    return (
        f"{one_line(result.path)}  {frames}{missing}, {format_bytes(result.bytes)}, "
        f"{format_bytes(int(result.rate))}/s{waits}, longest append {result.longest_append * 1000:.1f} ms{sent}"
    )

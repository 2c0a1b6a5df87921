"""Command ``ozx recover``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ozx.cli.batch import Verb, many_options, run_verb
from ozx.cli.exit_codes import DONE, WITH_LOSS
from ozx.cli.options import result_options
from ozx.cli.output import format_bytes, one_line
from ozx.errors import shortened
from ozx.flow.repair.salvage import DamagedArray, LostChunk
from ozx.ome.recovered import describe_pixels, pixels_by_axis
from ozx.operations.recover import RecoverResult, recover

_MOST_LINES = 20


@click.command("recover")
@click.argument("arguments", metavar="BROKEN... OUT", nargs=-1, type=click.Path())
@many_options()
@click.option("--force", is_flag=True, help="Replace OUT once the new file is complete.")
@click.option(
    "--keep-unproven", is_flag=True, help="Keep chunks without a checksum in damaged shards; pixels may be wrong."
)
@click.option("--no-sync", is_flag=True, help="Do not wait until the output is on the disk.")
@result_options
def command(*, arguments: tuple[str, ...], **options: Any) -> int:
    """Recover the intact values of a damaged or unfinished .ozx file.

    BROKEN may be truncated, damaged anywhere, or the NAME.partial of a killed writer. A URL is copied into the folder
    for temporary files first. OUT gets every value with a correct CRC, and from a damaged shard each chunk with a
    correct checksum. Values with a doubtful key are left out and listed. BROKEN is not changed. Several files need
    --out-dir instead of OUT.

    The exit code is 3 if something is, or may be, lost. OUT then says which pixels are missing: ozx info, view and
    validate show it, until ozx edit --forget-recovered removes it.

    \b
    Examples:
      ozx recover download.ozx cells.ozx
      ozx recover https://example.org/cells.ozx cells.ozx
      ozx recover damaged/*.ozx --out-dir recovered
      ozx recover run7.ozx.partial run7.ozx --json > report.json
    """
    return run_verb(_VERB, arguments, **options)


def _code(result: RecoverResult) -> int:
    return DONE if result.complete else WITH_LOSS


def _lines(result: RecoverResult) -> Iterator[str]:
    return map(shortened, _describe(result))


def _describe(result: RecoverResult) -> Iterator[str]:
    verdict = (
        "nothing is lost"
        if result.complete
        else "something is lost"
        if result.lost_count or result.lost_chunks_count
        else "more may be lost"
    )
    yield f"{result.path}  {result.entries:,} entries, {format_bytes(result.bytes)}; {verdict}"
    yield from map(_describe_array, result.arrays[:_MOST_LINES])
    if len(result.arrays) > _MOST_LINES:
        yield f"and {len(result.arrays) - _MOST_LINES:,} more arrays (--json lists them)"
    if result.lost_count:
        yield f"lost: {result.lost_count:,} entr{'ies' if result.lost_count != 1 else 'y'}"
        for entry in result.lost[:_MOST_LINES]:
            yield f"  {shortened(one_line(entry.name), 300)}: {entry.reason}"
        if result.lost_count > _MOST_LINES:
            yield f"  and {result.lost_count - _MOST_LINES:,} more (--json lists {len(result.lost):,})"
    if result.lost_chunks_count:
        yield f"chunks without a correct checksum in damaged values: {result.lost_chunks_count:,}"
        yield from map(_describe_chunk, result.lost_chunks[:_MOST_LINES])
        if result.lost_chunks_count > _MOST_LINES:
            yield f"  and {result.lost_chunks_count - _MOST_LINES:,} more (--json lists {len(result.lost_chunks):,})"


def _describe_chunk(chunk: LostChunk) -> str:
    where = describe_pixels(pixels_by_axis(chunk.axes, chunk.region))
    return f"  {one_line(chunk.key)}, {one_line(where)}: {'kept, ' if chunk.is_kept else ''}{chunk.reason}"


def _describe_array(loss: DamagedArray) -> str:
    lost = f", with its metadata; {loss.found:,} chunks are left out" if loss.is_lost else ""
    return f"{one_line(loss.sentence)}{lost}"


_VERB = Verb("recovered", recover, _lines, ".ozx", code=_code, needs_output=True, writes_urls=False)

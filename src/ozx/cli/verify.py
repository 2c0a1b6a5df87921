"""Command ``ozx verify``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from ozx.cli.arguments import expand_argument, is_zarr
from ozx.cli.batch import Verb, many_options, progress_bar, run_verb
from ozx.cli.exit_codes import DONE, WRONG_FILE
from ozx.cli.options import result_options
from ozx.cli.output import format_bytes, print_json, say
from ozx.errors import UsageError
from ozx.operations.verify import FixityResult, VerifyResult, verify, verify_folder, verify_log
from ozx.progress import Progress


@click.command("verify")
@click.argument("arguments", metavar="FILE...|DIR", nargs=-1, type=click.Path(), callback=expand_argument)
@click.option(
    "--manifest", metavar="M", type=click.Path(), help="The manifest of one FILE.  [default: FILE.manifest.json]"
)
@many_options(has_out_dir=False, has_dask=False)
@result_options
def command(*, arguments: tuple[str, ...], **options: Any) -> int:
    """Compare .ozx files, or all of a folder or log, with what was recorded when they were packed.

    Given a DIR, all archives in it are compared. Without FILE, --log names the log of earlier runs, and the files that
    they wrote are compared with it. Both list what is lost, what changed, and what is new.

    `ozx pack --manifest` writes FILE.manifest.json with the SHA-256 and size of every value, hashed from the bytes that
    were packed. FILE.sha256 is compared, too, if it exists.

    The exit code is 1 if a value differs, is missing or is additional, or a file is lost. For several files it is 3 if
    one file fails.

    \b
    Examples:
      ozx verify cells.ozx
      ozx verify packed/*.ozx --jobs 2 --quiet --log verified.jsonl
      ozx verify https://example.org/cells.ozx
      ozx verify copy.ozx --manifest cells.ozx.manifest.json
      ozx verify packed
      ozx verify --log runs.jsonl
    """
    if not arguments and options["log"] is not None and options["retry_failed"] is None:
        return _print_fixity(verify_log, options["log"], options)
    if len(arguments) == 1 and os.path.isdir(arguments[0]) and not is_zarr(arguments[0]):
        return _print_fixity(verify_folder, arguments[0], options)
    if options["manifest"] is not None and len(arguments) > 1:
        raise UsageError("expected one file for --manifest", hint="Verify the files one by one.")
    return run_verb(_VERB, arguments, **options)


def _print_fixity(compare: Callable[..., FixityResult], path: str, options: dict[str, Any]) -> int:
    """Compare the recorded files of a folder or log, and print what became of them."""
    with progress_bar(quiet=options["quiet"] or options["as_json"]) as progress:
        result = compare(path, jobs=options["jobs"], progress=progress)
    if options["as_json"]:
        print_json(result.to_dict())
    for lost in result.lost:
        say(f"lost: {lost}")
    for changed, message in result.changed.items():
        say(f"changed: {changed}: {message.removeprefix(f'{changed}: ')}")
    for new in result.new:
        say(f"new: {new}: no record of it", quiet=options["quiet"])
    counts = {"verified": result.verified, "changed": len(result.changed), "lost": len(result.lost)}
    if not (options["quiet"] or options["as_json"]):
        click.echo(", ".join(f"{count:,} {what}" for what, count in (counts | {"new": len(result.new)}).items()))
    return DONE if result else WRONG_FILE


def _call(source: str, out: str | None, *, progress: Progress, **options: Any) -> VerifyResult:
    del out  # nothing is written
    return verify(source, **options, progress=progress)


def _lines(result: VerifyResult) -> list[str]:
    parts = (
        [f"{result.entries:,} values, {format_bytes(result.bytes)}, equal the packed values"] if result.manifest else []
    )
    parts += [f"sha256 {result.sha256}"] if result.sha256 else []
    return [f"{result.path}  {'; '.join(parts)}"]


_VERB = Verb("verified", _call, _lines, None, lambda _: ())

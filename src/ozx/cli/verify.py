"""Command ``ozx verify``."""

from __future__ import annotations

from typing import Any

import click

from ozx.cli.access import access_options
from ozx.cli.many import Verb, many_options, run_verb
from ozx.cli.output import format_bytes
from ozx.errors import UsageError
from ozx.operations.verify import VerifyResult, verify
from ozx.progress import Progress

__all__ = ["command"]


@click.command("verify")
@click.argument("arguments", metavar="FILE...", nargs=-1, type=click.Path())
@click.option(
    "--manifest", metavar="M", type=click.Path(), help="The manifest of one FILE.  [default: FILE.manifest.json]"
)
@many_options(has_out_dir=False, has_dask=False)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@access_options
def command(*, arguments: tuple[str, ...], **options: Any) -> int:
    """Compare .ozx files with the manifests written when they were packed.

    `ozx pack --manifest` writes FILE.manifest.json with the SHA-256 and size of every value, hashed from the bytes that
    were packed; with --manifest-inside, the manifest is in FILE. FILE.sha256 is compared, too, if it exists.

    The exit code is 1 if a value differs, is missing or is additional. For several files it is 3 if one file fails.

    \b
    Examples:
      ozx verify cells.ozx
      ozx verify packed/*.ozx --jobs 2 --quiet --log verified.jsonl
      ozx verify https://example.org/cells.ozx
      ozx verify copy.ozx --manifest cells.ozx.manifest.json
    """
    if options["manifest"] is not None and len(arguments) > 1:
        raise UsageError("expected one file for --manifest", hint="Verify the files one by one.")
    return run_verb(_VERB, arguments, **options)


def _call(source: str, out: str | None, progress: Progress, **options: Any) -> VerifyResult:
    del out  # nothing is written
    return verify(source, **options, progress=progress)


def _lines(result: VerifyResult) -> list[str]:
    parts = (
        [f"{result.entries:,} values, {format_bytes(result.bytes)}, equal the packed values"] if result.manifest else []
    )
    parts += [f"sha256 {result.sha256}"] if result.sha256 else []
    return [f"{result.path}  {'; '.join(parts)}"]


_VERB = Verb("verified", _call, _lines, lambda _: (), None)

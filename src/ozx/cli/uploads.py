"""Command ``ozx uploads``."""

from __future__ import annotations

import click

from ozx.cli.access import access_options
from ozx.cli.ages import age_text, to_seconds
from ozx.cli.output import one_line, print_json, print_notes
from ozx.operations.uploads import FoundUpload, uploads


@click.command("uploads")
@click.argument("url", metavar="URL")
@click.option(
    "--abort", metavar="ID", help="Abort the upload with this ID, if the list calls it an upload of a killed run."
)
@click.option(
    "--older-than", metavar="AGE", help="Abort uploads of your killed runs of at least this age: 7d, 12h or 30m."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@access_options
def command(*, url: str, abort: str | None, older_than: str | None, as_json: bool) -> None:
    """List unfinished uploads to a bucket, and end uploads of killed runs.

    URL is s3://BUCKET or s3://BUCKET/PREFIX, or the same with az:// or gs://. Servers of az:// and gs:// discard
    unfinished uploads after a week, and cannot end them earlier. Each run records its uploads in your state folder. A
    later run with the same output on this computer ends the uploads of a killed run. Uploads of active runs and of
    other users are only listed. If a run was killed while it began an upload, ozx cannot be sure that this run began
    the upload. The list then says "probably of a killed run", and only --abort ends the upload.

    \b
    Examples:
      ozx uploads s3://lab/images
      ozx uploads s3://lab --older-than 7d
    """
    result = uploads(url, abort=abort, older_than=None if older_than is None else to_seconds(older_than))
    if as_json:
        print_json(result.to_dict())
        return
    for upload in result.uploads:
        click.echo(_line(upload))
    ended = sum(upload.ended for upload in result.uploads)
    click.echo(f"{len(result.uploads):,} unfinished uploads" + (f", {ended:,} ended" if ended else ""))
    print_notes(result.notes)


def _line(upload: FoundUpload) -> str:
    states = {"live": "of a live run", "dead": "of a killed run", "other": "of another user or program"}
    states["unsure"] = "probably of a killed run"
    by = "" if upload.command is None else f" ({upload.command}, on {upload.host})"
    end = ", ended" if upload.ended else ""
    name = f"{one_line(upload.url)}  {upload.upload_id}".rstrip()
    age = "" if upload.age is None else f"{age_text(upload.age)} old, "
    return f"{name}  {age}{states[upload.state]}{by}{end}"

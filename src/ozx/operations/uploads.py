"""uploads: list unfinished uploads in a bucket; on request, abort uploads of this user's killed runs.

S3 lists and ends them. Azure lists them, and both Azure and Google Cloud Storage discard them after a week.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.outputs.opening import KINDS
from ozx.archive.remote.outputs.s3 import S3Object
from ozx.archive.remote.s3 import client_errors, explain_client_error, split_object_url
from ozx.archive.remote.upload_records import RecordedUpload, end_leftover, recorded_uploads
from ozx.archive.remote.urls import split_url
from ozx.errors import UsageError, resource_errors

# The largest difference in seconds between the clocks of a user and of S3; S3 refuses requests beyond this limit.
_CLOCKS = 15 * 60
_OF_AZURE = (
    "Azure discards unfinished uploads a week after their last part, or when another upload to the same URL is complete"
)
_OF_GCS = (
    "Google Cloud Storage does not list unfinished uploads, and discards them after a week; ozx ends its own uploads"
)


@dataclass(frozen=True, slots=True)
class FoundUpload:
    """An unfinished upload in a bucket.

    Attributes
    ----------
    url
        The object that the upload would create.
    upload_id
        The server's identifier of the upload; empty if the server has none.
    age
        Seconds since the upload was begun, or None if the server does not report this.
    state
        ``live``: its process is, or may be, alive; ``dead``: a killed run of this user left it; ``unsure``: probably a
        killed run of this user left it, because such a run was killed while it began an upload to the same URL;
        ``other``: another user or program began it.
    host, command
        The computer and the command that began the upload, if they are recorded.
    ended
        Whether it was ended.
    """

    url: str
    upload_id: str
    age: float | None
    state: str
    host: str | None = None
    command: str | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class UploadsResult:
    """The unfinished uploads below a URL.

    Attributes
    ----------
    path
        The URL.
    uploads
        The uploads, in the server's order.
    notes
        Remarks, one sentence each.
    """

    path: str
    uploads: tuple[FoundUpload, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output of ``ozx uploads --json`` as a dictionary."""
        uploads = [asdict(upload) for upload in self.uploads]
        return {"schema": 1, "path": self.path, "uploads": uploads, "notes": list(self.notes)}


@resource_errors()
def uploads(url: str, *, abort: str | None = None, older_than: float | None = None) -> UploadsResult:
    """List the unfinished uploads in a bucket or below a prefix; on request, abort uploads of this user's killed runs.

    Live uploads and uploads of other users are only listed; the owner of a bucket can end them by a lifecycle rule.
    Azure and Google Cloud Storage discard unfinished uploads after a week, and cannot end them earlier. Google Cloud
    Storage does not list them.

    Parameters
    ----------
    url
        ``s3://bucket`` or ``s3://bucket/prefix``; or the same with ``az://`` or ``gs://``.
    abort
        Identifier of the upload to end; its state must be ``dead`` or ``unsure``.
    older_than
        Also end the ``dead`` uploads that were begun at least this number of seconds ago.

    Returns
    -------
    UploadsResult
        The uploads; the attribute `ended` of each shows whether it was ended.

    Raises
    ------
    UsageError
        `url` is no URL of a bucket; or there is no upload `abort`, it is live, or another user or program began it.
    ResourceError
        The server cannot be reached, or refuses; a package is not installed.
    """
    kind = KINDS.get(split_url(url).scheme, "s3")
    if abort is not None and kind != "s3":
        raise UsageError(
            "expected an upload to s3://; ozx cannot abort uploads to other stores",
            path=printable_url(url),
            hint=f"{_OF_GCS if kind == 'gcs' else _OF_AZURE}.",
        )
    if kind == "azure":
        from ozx.archive.remote.outputs.azure import iter_unfinished  # noqa: PLC0415 (an extra)

        unfinished = tuple(FoundUpload(name, "", age, "other") for name, age in iter_unfinished(url))
        return UploadsResult(printable_url(url), unfinished, (_OF_AZURE,))
    if kind == "gcs":
        return UploadsResult(printable_url(url), (), (_OF_GCS,))
    bucket = S3Object(url)
    recorded = tuple(recorded_uploads())
    records = {each.upload_id: each for each in recorded if each.upload_id}
    intents = [each for each in recorded if not each.upload_id]
    found = [_describe(upload, records, intents) for upload in _iter_uploads(bucket.client, url)]
    _forget_intents(url, intents, found)
    if abort is not None:
        _check_can_end(url, abort, found)

    def is_wanted(upload: FoundUpload) -> bool:
        is_old = older_than is not None and upload.age is not None and upload.age >= older_than
        return upload.upload_id == abort or (upload.state == "dead" and is_old)

    result = [_end(bucket, upload, records.get(upload.upload_id)) if is_wanted(upload) else upload for upload in found]
    if abort is not None:  # another run may have continued the upload meanwhile
        _check_can_end(url, abort, result)
    return UploadsResult(printable_url(url), tuple(result))


def _check_can_end(url: str, upload_id: str, found: Iterable[FoundUpload]) -> None:
    state = next((upload.state for upload in found if upload.upload_id == upload_id), None)
    if state not in ("dead", "unsure"):
        raise UsageError(
            "expected an unfinished upload of a killed run of yours; found "
            + ("no such upload" if state is None else f"an upload whose state is {state}"),
            path=printable_url(url),
            hint="ozx uploads URL lists all unfinished uploads.",
        )


def _end(bucket: S3Object, upload: FoundUpload, record: RecordedUpload | None) -> FoundUpload:
    """End an upload, unless another run has continued it since its record was read; return its new description."""
    end = bucket.at(upload.url).end
    if record is None:  # an unsure upload has no record of its own
        end(upload.upload_id)
    elif not end_leftover(record, end):
        return replace(upload, state="live")
    return replace(upload, ended=True)


def _plain(url: str) -> str:
    """Return an S3 URL in the spelling in which the server lists uploads."""
    bucket, key = split_object_url(url)
    return f"s3://{bucket}/{key}"


def _forget_intents(url: str, intents: Iterable[RecordedUpload], found: Iterable[FoundUpload]) -> None:
    """Remove the records of killed runs whose uploads below a URL were never begun, or have ended."""
    place = _plain(url)
    present = {upload.url for upload in found}
    for intent in intents:
        name = _plain(intent.url)
        is_old = time.time() - intent.begun > _CLOCKS  # the request may be on its way
        if is_old and not intent.is_live and name.startswith(place) and name not in present:
            intent.remove()


def _iter_uploads(client: Any, url: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    bucket, prefix = split_object_url(url)
    try:
        for page in client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix):
            for upload in page.get("Uploads", ()):
                yield f"s3://{bucket}/{upload['Key']}", upload
    except client_errors() as error:
        raise explain_client_error(error, url, doing="list uploads") from None


def _describe(
    found: tuple[str, Mapping[str, Any]], records: Mapping[str, RecordedUpload], intents: Sequence[RecordedUpload]
) -> FoundUpload:
    url, upload = found
    record = records.get(str(upload["UploadId"]))
    if record is None:
        begun = upload["Initiated"].timestamp()
        named = str(upload["UploadId"]), max(0.0, time.time() - begun)
        for intent in intents:
            if abs(intent.begun - begun) <= _CLOCKS and _plain(intent.url) == url:
                return FoundUpload(url, *named, "live" if intent.is_live else "unsure", intent.host, intent.command)
        return FoundUpload(url, *named, "other")
    state = "live" if record.is_live else "dead"
    return FoundUpload(url, record.upload_id, max(0.0, time.time() - record.begun), state, record.host, record.command)

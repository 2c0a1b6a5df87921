"""Replacement of an S3 object by one with mostly the same bytes, which the server itself copies.

See docs/decisions/0024-edit-by-url.md.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ozx.cloud.s3 import (
    CONFLICTS,
    MARK,
    S3Object,
    check_made,
    client_errors,
    error_code_of,
    explain_client_error,
    was_made,
)
from ozx.errors import OzxError, UnsupportedError
from ozx.places.byte_source import Run
from ozx.places.remote.errors import changed_error, printable_url
from ozx.threads import map_ahead

# Properties that an object keeps when it is replaced: headers, tags, access rights, encryption, storage class.
#
# An object that an upload creates has default properties, unless the upload states others. If a property cannot be read
# or kept, the replacement is refused; the caller can drop tags and access rights.

# Properties that the answer to a HEAD request and the arguments of an upload contain under the same name.
_SAME_NAMES = (
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Expires",
    "Metadata",
    "ServerSideEncryption",
    "SSEKMSKeyId",
    "BucketKeyEnabled",
    "StorageClass",
    "WebsiteRedirectLocation",
)
_LOCKS = ("ObjectLockMode", "ObjectLockRetainUntilDate", "ObjectLockLegalHoldStatus")
# Error codes of servers that have no tags or access rights.
_ABSENT = ("NotImplemented", "501", "MethodNotAllowed", "405", "NoSuchTagSet", "AccessControlListNotSupported")
_GRANTS = {
    "FULL_CONTROL": "GrantFullControl",
    "READ": "GrantRead",
    "READ_ACP": "GrantReadACP",
    "WRITE_ACP": "GrantWriteACP",
}
_DROP_HINT = "Give drop_attributes=True to edit the object without keeping these properties."


def kept_properties(
    client: Any, target: Mapping[str, str], head: Mapping[str, Any], url: str, *, drop: bool
) -> dict[str, Any]:
    """Return boto3 arguments that give a new object the properties of the existing object."""
    name = printable_url(url)
    lock = next((head[field] for field in _LOCKS if head.get(field) not in (None, "OFF")), None)
    if lock is not None:
        raise UnsupportedError(
            f"the object is locked ({lock}) and must not change",
            path=name,
            hint="Copy it to another name, and edit the copy.",
        )
    if head.get("SSECustomerAlgorithm"):
        raise UnsupportedError("the object is encrypted with a key that only its owner has", path=name)
    kept = {field: head[field] for field in _SAME_NAMES if head.get(field) not in (None, "", {})}
    return kept | _tags(client, target, url, drop=drop) | _grants(client, target, url, drop=drop)


def _tags(client: Any, target: Mapping[str, str], url: str, *, drop: bool) -> dict[str, str]:
    answer = _ask(client.get_object_tagging, target, "tags", url, drop=drop)
    tags = {tag["Key"]: tag["Value"] for tag in answer.get("TagSet", ())}
    return {"Tagging": urlencode(tags)} if tags else {}


def _grants(client: Any, target: Mapping[str, str], url: str, *, drop: bool) -> dict[str, str]:
    """Return boto3 arguments for the access rights of an object; no arguments if only the owner has rights."""
    answer = _ask(client.get_object_acl, target, "access rights", url, drop=drop)
    owner = answer.get("Owner", {}).get("ID")
    by_right: dict[str, list[str]] = {}
    for grant in answer.get("Grants", ()):
        grantee, right = grant.get("Grantee", {}), grant.get("Permission")
        if right == "FULL_CONTROL" and grantee.get("ID", owner) == owner and "URI" not in grantee:
            continue
        named = f'uri="{grantee["URI"]}"' if "URI" in grantee else f'id="{grantee.get("ID", "")}"'
        if right not in _GRANTS:
            if drop:
                continue
            raise UnsupportedError(
                f"the object has the access right {right}, which an upload cannot give",
                path=printable_url(url),
                hint=_DROP_HINT,
            )
        by_right.setdefault(_GRANTS[right], []).append(named)
    if not by_right:
        return {}
    if owner is not None:  # grants replace the default, under which the owner has all rights
        by_right.setdefault("GrantFullControl", []).append(f'id="{owner}"')
    return {argument: ",".join(named) for argument, named in by_right.items()}


def _ask(method: Any, target: Mapping[str, str], what: str, url: str, *, drop: bool) -> dict[str, Any]:
    try:
        return dict(method(**target))
    except client_errors() as error:
        code = error_code_of(error)
        if code in _ABSENT or (drop and code in ("AccessDenied", "403")):
            return {}
        if code in ("AccessDenied", "403"):
            raise UnsupportedError(
                f"the {what} of the object cannot be read, so the new object would not have them",
                path=printable_url(url),
                hint=_DROP_HINT,
            ) from None
        raise explain_client_error(error, url, doing="read") from None


# Parts of a new object: parts that ozx sends, and parts that the server copies from the old object.

_MIB, _GIB = 1 << 20, 1 << 30
# The limits of S3: the least length of a part (except the last), the greatest length of a copied range, and the largest
# number of parts.
LEAST_PART = 5 * _MIB
_MOST_COPIED = 5 * _GIB
_MOST_PARTS = 10_000
# A shorter range is not worth the additional requests.
_LEAST_COPIED = 8 * _MIB
_USUAL_COPIED = _GIB
_USUAL_SENT = 16 * _MIB


#: A part of a new object: a range of the old object, which the server copies, or runs of bytes to send.
UploadedPart = Run | tuple[Run, ...]


def length_of(part: UploadedPart) -> int:
    """Return the length of a part in bytes."""
    return part.length if isinstance(part, Run) else sum(run.length for run in part)


def _old_span(runs: tuple[Run, ...]) -> tuple[int, int]:
    """Return the start and the end offset of the old bytes in a part to send; both are 0 if all bytes are new."""
    old = [run for run in runs if run.data is None]
    return (old[0].offset, old[-1].offset + old[-1].length) if old else (0, 0)


def plan_parts(runs: Sequence[Run]) -> list[UploadedPart]:
    """Return the parts in which to upload an object that consists of the byte ranges `runs`.

    The last range must be new bytes, such as the central directory. Short ranges of old bytes are sent as well, and so
    are old bytes that fill a sent part up to the least length.
    """
    total = sum(run.length for run in runs)
    longest = min(_MOST_COPIED, max(_USUAL_COPIED, -(-total // (_MOST_PARTS // 2))))
    least, usual = _LEAST_COPIED, _USUAL_SENT
    while len(parts := list(_iter_parts(runs, least, longest, usual))) > _MOST_PARTS:
        least, usual = 2 * least, 2 * usual
    return parts


def _iter_parts(runs: Sequence[Run], least_copied: int, longest: int, usual_sent: int) -> Iterator[UploadedPart]:
    sent: list[Run] = []
    length = 0  # of the runs in `sent`
    for run in runs:
        lacking = max(0, LEAST_PART - length) if sent else 0
        if run.data is not None or run.length - lacking < least_copied:
            sent.append(run)
            length += run.length
            continue
        if lacking:
            sent.append(Run(run.offset, lacking))
        yield from _iter_sent(sent, usual_sent)
        sent, length = [], 0
        yield from _iter_copied(run.offset + lacking, run.length - lacking, longest)
    yield from _iter_sent(sent, usual_sent)


def _iter_sent(runs: list[Run], usual: int) -> Iterator[UploadedPart]:
    """Divide the byte ranges `runs` into parts to send, of almost equal length; yield no part for an empty list.

    A part has at least `usual` bytes and less than twice as many, unless all ranges together have fewer bytes.
    """
    left = sum(run.length for run in runs)
    count = max(1, left // usual) if runs else 0
    pending = runs[::-1]
    for number in range(count):
        room = left // (count - number)
        left -= room
        taken = []
        while pending and room:
            run = pending.pop()
            if run.length > room:
                first, rest = _cut(run, room)
                pending.append(rest)
                run = first
            taken.append(run)
            room -= run.length
        yield tuple(taken)


def _cut(run: Run, length: int) -> tuple[Run, Run]:
    if run.data is None:
        return Run(run.offset, length), Run(run.offset + length, run.length - length)
    return Run.of(run.data[:length]), Run.of(run.data[length:])


def _iter_copied(offset: int, length: int, longest: int) -> Iterator[UploadedPart]:
    count = -(-length // longest)
    for number in range(count):
        size = length // (count - number)
        yield Run(offset, size)
        offset, length = offset + size, length - size


_THREADS = 8
_LONGEST_PAUSE = 10.0
_NO_COPIES = ("NotImplemented", "501", "MethodNotAllowed", "405")

#: A function that returns bytes of the old object, given their offset and length.
ReadAt = Callable[[int, int], bytes]


class OldObject(NamedTuple):
    """An object that will be replaced."""

    url: str
    object: S3Object
    tag: str  # its ETag
    size: int  # its length in bytes
    properties: dict[str, Any]  # boto3 arguments that give a new object the same properties
    is_versioned: bool  # whether the bucket keeps the old object as a version


#: The number of requests that `look_at` makes.
LOOKS = 3


def look_at(url: str, *, drop_attributes: bool) -> OldObject:
    """Return the facts that are necessary to replace an object; make three requests."""
    present = S3Object(url)
    head = present.call("head_object", partial(explain_client_error, url=url, doing="read"))
    tag = str(head.get("ETag", ""))
    if not tag or tag.startswith("W/"):
        raise UnsupportedError(
            "the server sends no strong ETag, so ozx could not notice a change of the object", path=printable_url(url)
        )
    properties = kept_properties(present.client, present.target, head, url, drop=drop_attributes)
    is_versioned = head.get("VersionId", "null") != "null"
    return OldObject(url, present, tag, int(head["ContentLength"]), properties, is_versioned)


def predict_cost(
    parts: Sequence[UploadedPart], missing: Callable[[int, int], int], *, bytes_read: int, requests: int
) -> tuple[int, int, int, int]:
    """Return the bytes that ozx reads and sends, those that the server copies, and the number of requests.

    They are those of `replace_object` and of the earlier requests (`requests` and `bytes_read`).

    `missing` returns how many bytes of a span (offset, length) have to be requested.
    """
    sent = [part for part in parts if not isinstance(part, Run)]
    spans = [missing(start, stop - start) for start, stop in map(_old_span, sent)]
    # Two requests check the object before and after the new object is created. One request creates a whole object; two
    # requests begin and complete an upload in parts.
    calls = 2 + (1 if len(parts) == 1 else len(parts) + 2)
    return (
        bytes_read + sum(spans),
        sum(map(length_of, sent)),
        sum(part.length for part in parts if isinstance(part, Run)),
        requests + sum(span > 0 for span in spans) + calls,
    )


def replace_object(old: OldObject, parts: Sequence[UploadedPart], read: ReadAt) -> None:
    """Replace an object by a new object with the given parts and the same properties, unless it has changed meanwhile.

    After an error or an interrupt, the old object still exists, and the upload is aborted.
    """
    properties = dict(old.properties)
    mark = uuid.uuid4().hex
    properties["Metadata"] = {**properties.get("Metadata", {}), MARK: mark}
    first, *others = parts
    if not (others or isinstance(first, Run)):  # one request can create the object
        body = _bytes_of(first, read)
        since = _check_unchanged(old)
        _finish(old, mark, "put_object", **properties, Body=body)
    else:
        since = _upload(old, parts, read, properties, mark)
    # A server may ignore `If-Match`: let another program finish that also compared the ETag just before this one wrote.
    sleep(min(monotonic() - since, _LONGEST_PAUSE))
    check_made(old.object.find(), sum(map(length_of, parts)), mark, printable_url(old.url))


def _upload(
    old: OldObject, parts: Sequence[UploadedPart], read: ReadAt, properties: dict[str, Any], mark: str
) -> float:
    """Make the new object, and return the time at which the old one was compared."""
    upload = str(old.object.call("create_multipart_upload", **properties)["UploadId"])
    try:
        make = partial(_make_part, old, upload, read)
        made = list(map_ahead(make, enumerate(parts, 1), _THREADS))  # after an error, the others are cancelled
        since = _check_unchanged(old)
        _finish(old, mark, "complete_multipart_upload", UploadId=upload, MultipartUpload={"Parts": made})
    except BaseException:
        with contextlib.suppress(OzxError):  # the first error is the one to report
            old.object.call("abort_multipart_upload", UploadId=upload)
        raise
    return since


def _make_part(old: OldObject, upload: str, read: ReadAt, numbered: tuple[int, UploadedPart]) -> dict[str, Any]:
    """Send a part, or let the server copy it; return its number and its ETag, as the last request names them."""
    number, part = numbered
    call = partial(old.object.call, UploadId=upload, PartNumber=number)
    if isinstance(part, Run):
        span = f"bytes={part.offset}-{part.offset + part.length - 1}"
        source = {"CopySource": old.object.target, "CopySourceRange": span, "CopySourceIfMatch": old.tag}
        answer = call("upload_part_copy", partial(_explain, old, is_copy=True), **source)["CopyPartResult"]
    else:
        answer = call("upload_part", partial(_explain, old), Body=_bytes_of(part, read))
    return {"PartNumber": number, "ETag": str(answer["ETag"])}


def _bytes_of(runs: tuple[Run, ...], read: ReadAt) -> bytes:
    """Return the bytes of a part to send; read the bytes of the old object with one request."""
    start, stop = _old_span(runs)
    old = memoryview(read(start, stop - start) if stop > start else b"")
    return b"".join(
        old[run.offset - start : run.offset - start + run.length] if run.data is None else run.data for run in runs
    )


def _explain(old: OldObject, error: BaseException, *, is_copy: bool = False) -> OzxError:
    code = error_code_of(error)
    if code in CONFLICTS:
        return changed_error(printable_url(old.url), old.size, old.size)
    if is_copy and code in _NO_COPIES:
        return UnsupportedError(
            f"the server cannot copy parts of an object, so all {old.size:,} bytes would be read and sent",
            path=printable_url(old.url),
            hint="Copy the file to a disk, edit it there, and copy it back.",
        )
    return explain_client_error(error, old.url, doing="write")


def _check_unchanged(old: OldObject) -> float:
    """Raise an error if the object's ETag has changed; return the time of this comparison.

    Some servers ignore ``If-Match`` in the request that creates the new object.
    """
    since = monotonic()
    head = old.object.call("head_object", partial(_explain, old))
    if head.get("ETag") != old.tag:
        raise changed_error(printable_url(old.url), old.size, int(head["ContentLength"]))
    return since


def _finish(old: OldObject, mark: str, method: str, **arguments: Any) -> None:
    """Make the last request of an upload; ignore its error if the new object exists and only the reply was lost."""
    try:
        old.object.call(method, partial(_explain, old), **arguments, IfMatch=old.tag)
    except OzxError:
        if not was_made(old.object, mark):
            raise

"""Replace documents of an archive at a URL; the server itself copies all other bytes, without a transfer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ozx.archive.reader import ArchiveReader
from ozx.archive.splicing import splice
from ozx.cloud.replacement import (
    LOOKS,
    look_at,
    plan_parts,
    predict_cost,
    replace_object,
)
from ozx.errors import FormatError, OzxError, UsageError
from ozx.places.byte_source import read_exactly
from ozx.places.remote.errors import changed_error, printable_url
from ozx.places.remote.source import RemoteSource
from ozx.places.remote.urls import COPYING, split_url


def check_can_copy(url: str) -> None:
    """Raise an error if the server of a URL cannot copy parts of objects: an edit would transfer the whole file."""
    scheme = split_url(url).scheme
    if scheme in ("s3", "s3a"):
        return
    if scheme in COPYING:
        raise UsageError(
            "expected a file on this computer or an s3:// URL; found a URL that ozx only reads",
            path=printable_url(url),
            hint=f"Copy the file to a disk, edit it there, and copy it back with {COPYING[scheme]}.",
        )
    source = RemoteSource(url, {"retry_config": {"max_retries": 0}})
    try:
        cost = f"all {source.size():,} bytes of the file"
    except OzxError:  # for example a missing file: the message is still true
        cost = "all bytes of the file"
    finally:
        source.close()
    raise UsageError(
        f"an edit at this URL would read and send {cost}; ozx edits files on this computer and s3:// URLs in place",
        path=source.name,
        hint="Copy the file to a disk, edit it there, and copy it back. At s3://, the server copies the pixels itself.",
    )


def plan_replacement(
    source: RemoteSource, old: Mapping[str, bytes], new: Mapping[str, bytes], *, drop_attributes: bool
) -> tuple[tuple[str, ...], tuple[int, int, int, int], Callable[[], None]]:
    """Plan to replace some documents of an archive; `old` and `new` map keys to values.

    Return notes about old versions of the object that the bucket keeps, the result of `predict_cost`, and the function
    that replaces the object on the server.
    """
    reader = ArchiveReader(source)
    reader.check()
    values = {}
    for key, value in new.items():
        index = reader.find(key)
        if index is None or int(reader.columns.uncompressed_sizes[index]) != len(old[key]):
            raise FormatError(f"{key} changed while it was edited; nothing is written", path=source.name)
        values[index] = value
    parts = plan_parts(splice(reader, values))
    present = look_at(source.url, drop_attributes=drop_attributes)
    if present.tag != source.identity or present.size != source.size():
        raise changed_error(source.name, source.size(), present.size)
    cost = predict_cost(parts, source.missing, bytes_read=source.bytes_read, requests=source.requests + LOOKS)
    kept = "the bucket keeps versions: the old file stays, and occupies space, until its version is removed"
    apply = partial(replace_object, present, parts, partial(read_exactly, source, what="the archive"))
    return (kept,) if present.is_versioned else (), cost, apply

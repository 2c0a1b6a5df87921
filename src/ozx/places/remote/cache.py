"""Cache of the central directories of remote archives, in the user's cache folder.

A record belongs to one URL, and to one length and strong ETag of the file at this URL. A later run uses the record only
if the server's first response gives the same length and ETag. Names of records are hashes; no record contains a URL.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ozx.crc32 import crc32
from ozx.file_changes import Mark
from ozx.places.byte_source import MemorySource
from ozx.places.remote.errors import printable_url

#: The key of the option ``cache`` among the options of `ozx.places.remote.access.storage_options`.
CACHE = "ozx_cache"

_MOST_BYTES = 256 << 20
#: The largest number of cached bytes of one file.
LONGEST_RECORD = 255 << 20
_ENDING = ".spans"
_TEMPORARY = ".part"
_MAGIC = b"ozx-spans 1\n"
_FRAME = struct.Struct("<II")  # length and CRC-32 of the header
# An incomplete record of a killed process is removed after this time, in seconds.
_OLD = 3600
# Options that select the server of a URL such as s3://bucket/key.
_PLACES = ("endpoint", "endpoint_url", "aws_endpoint", "account_name", "azure_storage_account_name")
_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ACCOUNT_NAME")


class Record(NamedTuple):
    """Bytes of a remote file, as a server sent or the cache kept them; the last span of a first answer is the tail."""

    mark: Mark  # of the file
    spans: tuple[MemorySource, ...]


def has_strong_tag(identity: str) -> bool:
    """Return whether the identity of a file is a strong ETag (RFC 9110, 8.8.3)."""
    return len(identity) > 2 and identity[0] == identity[-1] == '"'


def cache_folder() -> str:
    """Return the cache folder: ``$OZX_CACHE``, else the system's usual folder; an empty string if it is unknown."""
    given = os.environ.get("OZX_CACHE")
    if given is not None:
        return given
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "ozx") if os.path.isabs(base) else ""


def find_record(url: str, options: Mapping[str, Any]) -> Record | None:
    """Return the cached record of a URL, or None if the record is missing or damaged."""
    path = _path_of(url, options)
    if not path:
        return None
    try:
        with open(path, "rb") as file:
            record = _read(file.read(_MOST_BYTES + 1))
        os.utime(path)  # `_make_room` keeps the records used last
    except (OSError, ValueError, TypeError, KeyError, struct.error):
        return None
    return record


def store_record(url: str, options: Mapping[str, Any], record: Record) -> None:
    """Store the record of a URL, if possible; remove the oldest ones of a cache above 256 MiB."""
    path = _path_of(url, options)
    spans = _joined(record.spans)
    if not path or not has_strong_tag(record.mark.identity) or sum(len(span.data) for span in spans) > LONGEST_RECORD:
        return
    with contextlib.suppress(OSError):
        folder = os.path.dirname(path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _make_private(folder):
            return
        descriptor, temporary = tempfile.mkstemp(_TEMPORARY, dir=folder)  # mode 0600
        try:
            with open(descriptor, "wb") as file:
                file.writelines(_encode(record._replace(spans=spans)))
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _make_room(folder)


def _path_of(url: str, options: Mapping[str, Any]) -> str:
    folder = cache_folder()
    if not folder or options.get(CACHE) is False:
        return ""
    places = [str(options.get(name, "")) for name in _PLACES] + [os.environ.get(name, "") for name in _VARIABLES]
    # The hash would not reveal a password in an endpoint, but the password is left out all the same.
    key = json.dumps([printable_url(url), *map(printable_url, places)])
    name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(folder, "directories", name + _ENDING)


def _encode(record: Record) -> list[bytes | memoryview]:
    spans = [[span.start, len(span.data), crc32(span.data)] for span in record.spans]
    header = json.dumps({"size": record.mark.size, "tag": record.mark.identity, "spans": spans}).encode("ascii")
    return [_MAGIC, _FRAME.pack(len(header), crc32(header)), header, *(span.data for span in record.spans)]


def _read(data: bytes) -> Record:
    """Parse the bytes of a record."""
    start = len(_MAGIC) + _FRAME.size
    length, checksum = _FRAME.unpack_from(data, len(_MAGIC))
    header = data[start : start + length]
    if not data.startswith(_MAGIC) or len(header) != length or crc32(header) != checksum:
        raise ValueError("damaged")
    content = json.loads(header)
    position, spans = start + length, []
    for offset, size, expected in content["spans"]:
        span = data[position : position + size]
        if len(span) != size or crc32(span) != expected or not 0 <= offset <= content["size"] - size:
            raise ValueError("damaged")
        spans.append(MemorySource(span, start=offset))
        position += size
    if position != len(data):
        raise ValueError("damaged")
    return Record(Mark(content["size"], content["tag"]), tuple(spans))


def _joined(spans: Iterable[MemorySource]) -> tuple[MemorySource, ...]:
    """Return the spans in order, with overlapping and adjacent spans joined."""
    joined: list[MemorySource] = []
    for span in sorted(spans, key=lambda span: (span.start, -len(span.data))):
        last = joined[-1] if joined else None
        if last is None or span.start > last.size():
            joined.append(span)
        elif span.size() > last.size():
            data = b"".join((last.data, span.data[last.size() - span.start :]))
            joined[-1] = MemorySource(data, start=last.start)
    return tuple(joined)


def _make_private(folder: str) -> bool:
    """Remove the access of other users to the folder, if possible; return whether only this user can access it."""
    if os.name == "nt":
        return True
    status = os.stat(folder)
    if status.st_uid != os.getuid():
        return False
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(folder, 0o700)
    return True


def _make_room(folder: str) -> None:
    files, now = [], time.time()
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat()
                if entry.name.endswith(_TEMPORARY) and status.st_mtime < now - _OLD:
                    os.unlink(entry.path)
                elif entry.name.endswith(_ENDING):
                    files.append((status.st_mtime, entry.path, status.st_size))
    size = sum(length for _, _, length in files)
    for _, path, length in sorted(files):
        if size <= _MOST_BYTES:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        size -= length

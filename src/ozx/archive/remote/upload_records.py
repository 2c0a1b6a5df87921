"""Local records of started uploads, by which a later run finds unfinished uploads on a server.

A record is a file in the user's state folder; the uploading process locks the file. The record is written before the
upload begins, and again with the name that the server gives the upload. A second file beside the record may contain one
line for each part that the server has: number, length, SHA-256, and the server's tag.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from ozx.archive.remote.user_folders import user_folder
from ozx.atomic.host import HOST, is_of_this_host, this_host
from ozx.atomic.locks import has_locks, lock_file, still_has_name, unlock_file
from ozx.atomic.syncing import flush
from ozx.quoting import quote

_ENDING = ".json"
_ENDING_OF_PARTS = ".parts"
_PART = re.compile(rb"(\d+) (\d+) ([0-9a-f]{64}) (\S+)\n")


def records_folder() -> str:
    """Return the folder of the upload records, in ``$XDG_STATE_HOME`` or the system's usual folder.

    Examples
    --------
    >>> import os
    >>> os.path.basename(records_folder())
    'uploads'
    """
    return os.path.join(user_folder("XDG_STATE_HOME", "~/.local/state", "~/Library/Application Support"), "uploads")


class SentPart(NamedTuple):
    """A part that the server has: its length, the SHA-256 of its bytes, and the server's tag."""

    size: int
    digest: str
    tag: str


@dataclass(frozen=True, slots=True)
class RecordedUpload:
    """The record of one started upload.

    Attributes
    ----------
    url
        The object, without a query.
    upload_id
        The server's name of the upload; empty if the server has not named the upload yet.
    host
        The computer, as in names of temporary files.
    pid
        The process.
    command
        The name of the command.
    begun
        Seconds since 1970.
    mark
        The mark that the object will have; empty if the upload cannot be continued.
    part_size
        The length of each part but the last.
    path
        The record.
    is_live
        Whether the process is, or may be, alive.
    """

    url: str
    upload_id: str
    host: str
    pid: int
    command: str
    begun: float
    mark: str = ""
    part_size: int = 0
    path: str = ""
    is_live: bool = True

    def remove(self) -> None:
        """Remove the record of the upload."""
        _remove(self.path)

    def read_parts(self) -> dict[int, SentPart]:
        """Return a map of the recorded parts, numbered from 0; omit an incomplete line that a killed process wrote."""
        parts = {}
        with contextlib.suppress(OSError), open(_parts_path(self.path), "rb") as file:
            for line in file:
                if match := _PART.fullmatch(line):
                    number, size, digest, tag = match.groups()
                    parts[int(number)] = SentPart(int(size), digest.decode(), tag.decode())
        return parts


class UploadRecord:
    """The record of a running upload of this process; the record exists until `close`.

    Parameters
    ----------
    path, descriptor
        The record, open and locked.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._parts: int | None = None
        self._lock = threading.Lock()

    @classmethod
    def intend(cls, url: str, *, mark: str = "", part_size: int = 0) -> Self:
        """Record an upload before it begins, when the server has not named it yet.

        Parameters
        ----------
        url
            The object, without a query.
        mark, part_size
            Facts that a later run needs to continue the upload.

        Raises
        ------
        OSError
            The record cannot be written. The upload must then not begin, because no later run could find it.
        """
        folder = records_folder()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        command = " ".join(quote(os.path.basename(word)) for word in sys.argv[:2] if "://" not in word)
        found = RecordedUpload(url, "", this_host(), os.getpid(), command, time.time(), mark, part_size)
        path = os.path.join(folder, f"{os.getpid()}-{time.time_ns():x}{_ENDING}")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        lock_file(descriptor)
        os.write(descriptor, json.dumps(asdict(found)).encode())
        return cls(path, descriptor)

    @classmethod
    def claim(cls, found: RecordedUpload) -> Self | None:
        """Take over the record of a killed process; return None if another process has taken over the record."""
        try:
            descriptor = os.open(found.path, os.O_RDWR)
        except OSError:
            return None
        if not (lock_file(descriptor) and still_has_name(descriptor, found.path)):
            os.close(descriptor)
            return None
        return cls(found.path, descriptor)

    def begin(self, upload_id: str) -> None:
        """Record the id of the upload on the server.

        Raises
        ------
        OSError
            The record cannot be written.
        """
        text = json.dumps({**_load(self._descriptor), "upload_id": upload_id})
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text.encode())  # one call; the new text is longer than the old text
        flush(self._descriptor)

    def add_part(self, number: int, part: SentPart) -> None:
        """Record a part that the server has; a part that cannot be recorded will be sent again."""
        line = f"{number} {part.size} {part.digest} {part.tag}\n".encode()
        with contextlib.suppress(OSError), self._lock:
            if self._parts is None:
                self._parts = os.open(_parts_path(self._path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                line = b"\n" + line  # ends an incomplete line of a killed process
            os.write(self._parts, line)

    def close(self) -> None:
        """Remove the record, because the upload is complete or aborted."""
        self._close_parts()
        if not has_locks():  # Windows removes closed files only
            os.close(self._descriptor)
        _remove(self._path)
        if has_locks():
            unlock_file(self._descriptor)
            os.close(self._descriptor)

    def keep(self) -> None:
        """Keep the record for a later run, because the upload is neither complete nor aborted."""
        self._close_parts()
        unlock_file(self._descriptor)
        os.close(self._descriptor)

    def _close_parts(self) -> None:
        if self._parts is not None:
            os.close(self._parts)
            self._parts = None


def end_leftover(found: RecordedUpload, end: Callable[[str], None]) -> bool:
    """End the upload of a killed process and remove its record.

    Return False, and do nothing, if another process has taken over the record since `found` was read: that process
    continues the upload, or has ended it.

    Parameters
    ----------
    found
        The record.
    end
        A function that ends the upload on the server, given its name. If it raises an error, the record stays.
    """
    record = UploadRecord.claim(found)
    if record is None:
        return False
    try:
        end(found.upload_id)
    except BaseException:
        record.keep()
        raise
    record.close()
    return True


def recorded_uploads() -> Iterator[RecordedUpload]:
    """Yield all recorded uploads; damaged records are skipped."""
    folder = records_folder()
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if name.endswith(_ENDING):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                yield _read(path)


def _read(path: str) -> RecordedUpload:
    descriptor = os.open(path, os.O_RDWR)
    try:
        content = _load(descriptor)
        fields = {name: content[name] for name in ("url", "upload_id", "host", "pid", "command", "begun")}
        fields |= {"mark": str(content.get("mark", "")), "part_size": int(content.get("part_size", 0))}
        host = re.fullmatch(HOST, str(fields["host"]))
        is_here = host is not None and is_of_this_host(host["host"], host["boot"], path)
        # The folder may be on a file server: only the computer of a writer can tell whether the writer is alive.
        is_live = not is_here or not lock_file(descriptor, is_shared=True)
    finally:
        os.close(descriptor)
    return RecordedUpload(**fields, path=path, is_live=is_live)


def _load(descriptor: int) -> dict[str, Any]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    content: dict[str, Any] = json.loads(os.read(descriptor, 1 << 16))
    return content


def _parts_path(path: str) -> str:
    return path.removesuffix(_ENDING) + _ENDING_OF_PARTS


def _remove(path: str) -> None:
    for each in (_parts_path(path), path):
        with contextlib.suppress(OSError):
            os.unlink(each)

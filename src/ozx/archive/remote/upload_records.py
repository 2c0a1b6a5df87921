"""Local records of started uploads, by which a later run finds unfinished uploads on a server.

A record is a file in the user's state folder, locked as long as its process lives.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ozx.archive.remote.user_folders import user_folder
from ozx.atomic.host import HOST, is_of_this_host, this_host
from ozx.atomic.locks import has_locks, is_locked, lock_file, unlock_file

__all__ = ["RecordedUpload", "UploadRecord", "recorded_uploads", "records_folder"]

_ENDING = ".json"


def records_folder() -> str:
    """Return the folder of the upload records, in ``$XDG_STATE_HOME`` or the system's usual folder.

    Examples
    --------
    >>> import os
    >>> os.path.basename(records_folder())
    'uploads'
    """
    return os.path.join(user_folder("XDG_STATE_HOME", "~/.local/state", "~/Library/Application Support"), "uploads")


@dataclass(frozen=True, slots=True)
class RecordedUpload:
    """The record of one started upload.

    Attributes
    ----------
    url
        The object, without a query.
    upload_id
        The server's name of the upload.
    host
        The computer, as in names of temporary files.
    pid
        The process.
    command
        The name of the command.
    begun
        Seconds since 1970.
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
    path: str = ""
    is_live: bool = True

    def remove(self) -> None:
        """Remove the record of the upload."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


class UploadRecord:
    """The record of a running upload of this process, which exists until `close`.

    Parameters
    ----------
    url
        The object, without a query.
    upload_id
        The server's name of the upload.

    Raises
    ------
    OSError
        The record cannot be written: an upload that no run could find again is not begun.
    """

    def __init__(self, url: str, upload_id: str) -> None:
        folder = records_folder()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        command = shlex.join(os.path.basename(word) for word in sys.argv[:2] if "://" not in word)
        record = RecordedUpload(url, upload_id, this_host(), os.getpid(), command, time.time())
        self._path = os.path.join(folder, f"{os.getpid()}-{time.time_ns():x}{_ENDING}")
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        lock_file(self._descriptor)
        os.write(self._descriptor, json.dumps(asdict(record)).encode())
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Remove the record, because the upload is complete or aborted."""
        if not has_locks():  # Windows removes closed files only
            os.close(self._descriptor)
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        if has_locks():
            unlock_file(self._descriptor)
            os.close(self._descriptor)

    def keep(self) -> None:
        """Leave the record for a later run, because the upload could not be aborted."""
        unlock_file(self._descriptor)
        os.close(self._descriptor)


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
        content: dict[str, Any] = json.loads(os.read(descriptor, 1 << 16))
        fields = {name: content[name] for name in ("url", "upload_id", "host", "pid", "command", "begun")}
        host = re.fullmatch(HOST, str(fields["host"]))
        is_here = host is not None and is_of_this_host(host["host"], host["boot"], path)
        # The folder may be on a file server: only the own computer knows whether a writer lives.
        is_live = not is_here or not has_locks() or is_locked(descriptor)
    finally:
        os.close(descriptor)
    return RecordedUpload(**fields, path=path, is_live=is_live)

"""Write entries as objects below a URL; write the root's metadata last, when all other objects are complete.

An object store cannot rename objects, so that the write is not atomic. After an error, ozx removes the objects that it
wrote; if ozx is killed, they stay, without root metadata.
"""

from __future__ import annotations

import contextlib
import io
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from urllib.parse import quote

from ozx.cloud.s3 import S3Object, was_made
from ozx.cloud.upload import Upload
from ozx.errors import OzxError, ResourceError, UsageError
from ozx.flow.entry import Entry
from ozx.places.remote.folder import RemoteFolder
from ozx.places.remote.urls import check_object_url
from ozx.progress import Progress
from ozx.zarr.keys import LEGACY_METADATA, ROOT_METADATA

# The document that makes it a hierarchy comes last.
_ROOT = (".zmetadata", ".zattrs", ".zarray", ".zgroup", ROOT_METADATA)


def write_prefix(
    url: str,
    entries: Iterable[Entry],
    keys: Iterable[str],
    *,
    force: bool,
    replace_folder: bool,
    check: Callable[[], None],
    progress: Progress,
) -> list[str]:
    """Write entries below a URL; return notes.

    `force`: whether existing objects may be replaced or removed if they are a Zarr hierarchy, or if all of them have
    keys in `keys`, as after a killed run.
    """
    names = set(keys)
    new = NewObjects(url, replace=force or replace_folder)
    try:
        old = set(new.list_keys())
        _check_old(old, names, new.name, force=force, replace_folder=replace_folder)
        try:
            new.remove(old.intersection(_ROOT))  # from now on the old objects are no hierarchy
            late = {}
            for entry in entries:
                if entry.key in _ROOT:
                    late[entry.key] = entry
                    continue
                new.add(entry.key, entry.size, entry.iter_blocks())
                progress.advance(entry.size)
            new.wait()
            new.remove(old - names)
            check()
            for key in sorted(late, key=_ROOT.index):
                new.add(key, late[key].size, late[key].iter_blocks())
                new.wait()
                progress.advance(late[key].size)
        except BaseException as error:
            left = new.abort()
            if isinstance(error, OzxError):
                state = f"{left:,} objects may be left below {new.name}" if left else "The new objects were removed"
                gone = "; the old hierarchy there is incomplete" if old else ""
                error.hint = f"{error.hint or ''} {state}{gone}.".strip()
            raise
    finally:
        new.close()
    replaced = f"{len(old):,} objects were replaced or removed below {new.name}"
    return [replaced] if old else []


def _check_old(old: set[str], names: set[str], url: str, *, force: bool, replace_folder: bool) -> None:
    if not old or replace_folder:
        return
    if not old.intersection((ROOT_METADATA, *LEGACY_METADATA)) and not old <= names:
        raise UsageError(
            f"below the URL are {len(old):,} objects, but no Zarr hierarchy to replace: the root has no zarr.json",
            path=url,
            hint="Choose another name. replace_folder=True removes all of these objects.",
        )
    if not force:
        raise UsageError(
            f"expected no objects below the URL; found {len(old):,}",
            path=url,
            hint="Choose another name, or give force=True to replace a Zarr hierarchy.",
        )


_REQUESTS = 32
# A longer value is uploaded in parts.
_SMALL = 8 << 20
# The largest number of bytes of small values that are sent at the same time.
_ROOM = 128 << 20


class NewObjects:
    """Objects that are being written below a URL."""

    def __init__(self, url: str, *, replace: bool) -> None:
        self._folder = RemoteFolder(url)
        self.url, self.name = self._folder.url, self._folder.name
        # The keys of all requests that have begun.
        self._begun: set[str] = set()
        # All objects of a run have this mark, by which `abort` recognises them.
        self._mark = uuid.uuid4().hex
        self._replace = replace
        check_object_url(self._url_of("x"))
        self._client = S3Object(self._url_of("x"))
        self._threads = ThreadPoolExecutor(_REQUESTS, "ozx-put")
        self._sending: dict[Future[None], int] = {}

    def list_keys(self) -> list[str]:
        """Return the keys of all objects below the URL."""
        return [key for key, _ in self._folder.list_objects()]

    def add(self, key: str, size: int, blocks: Iterable[bytes]) -> None:
        """Write a value of `size` bytes as an object; small values may be complete only after `wait`."""
        if size > _SMALL:
            self._upload(key, size, blocks)
            return
        data = b"".join(blocks)
        self._wait(_REQUESTS - 1, _ROOM - len(data))
        self._sending[self._threads.submit(self._put, key, data)] = len(data)

    def wait(self) -> None:
        """Wait until all values are written; raise the same errors as `add`."""
        self._wait(0, 0)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects; ignore missing objects."""
        list(self._threads.map(self._remove, keys))

    def abort(self) -> int:
        """Remove the objects that `add` wrote; return the number of objects that may remain.

        An object without the mark of this run stays: another program wrote it, or the request of `add` failed before
        it replaced the object.
        """
        for future in self._sending:
            future.cancel()
        wait(self._sending)
        self._sending.clear()
        left = set(self._begun)
        # After the first failure the other objects are not tried: each attempt may take as long as all retries.
        with contextlib.suppress(ResourceError):
            for key in self._threads.map(self._withdraw, self._begun):
                left.discard(key)
        return len(left)

    def close(self) -> None:
        """End the threads that send requests."""
        self._threads.shutdown()

    def _upload(self, key: str, size: int, blocks: Iterable[bytes]) -> None:
        with Upload(self._url_of(key), expected=size, force=self._replace, mark=self._mark) as upload:
            self._begun.add(key)
            offset = 0
            for block in blocks:
                upload.write_at(offset, block)
                offset += len(block)

    def _put(self, key: str, data: bytes) -> None:
        client = self._client.at(self._url_of(key))
        self._begun.add(key)
        try:
            client.put(io.BytesIO(data), self._mark, replace=self._replace)
        except (UsageError, ResourceError):
            if not was_made(client, self._mark):  # a lost reply: the object may be there
                raise

    def _withdraw(self, key: str) -> str:
        """Remove an object if this run wrote it; return its key."""
        client = self._client.at(self._url_of(key))
        found = client.find()
        if found is not None and found[1] == self._mark:
            client.remove()
        return key

    def _remove(self, key: str) -> None:
        self._client.at(self._url_of(key)).remove()

    def _url_of(self, key: str) -> str:
        return f"{self.url}/{quote(key)}"

    def _wait(self, most: int, room: int) -> None:
        while self._sending and (len(self._sending) > most or sum(self._sending.values()) > room):
            for future in wait(self._sending, return_when=FIRST_COMPLETED).done:
                del self._sending[future]
                future.result()

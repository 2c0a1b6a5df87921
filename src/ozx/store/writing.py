"""Write the values of an unfinished archive by key, for `OzxStore`."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Any

from zarr.abc.store import ByteRequest

from ozx.archive.names.decoding import name_fault
from ozx.atomic.targets import check_target, naming_errors
from ozx.atomic.temporary import name_beside
from ozx.cloud.upload import check_absent
from ozx.errors import OzxError, PartialFileWarning, ResourceError, UsageError, resource_errors
from ozx.flow.sinks.output import upload_file
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.places.byte_source import FileSource
from ozx.places.remote.access import current_options
from ozx.places.remote.errors import printable_url
from ozx.places.remote.urls import check_object_url
from ozx.store.finishing import contents_of, finish
from ozx.store.growing_file import GrowingFile, Slot
from ozx.store.partial_file import left_behind_warning
from ozx.store.reading import ArchiveSession, requested_span
from ozx.threads import renew_after_fork
from ozx.zarr.keys import SortedKeys

# Freeing a file of this size takes 20 ms; a larger file is freed in a thread, although forking then causes a warning.
_SLOWLY_FREED = 64 << 20

_numbers = count()


class WriteSession:
    """The values of an unfinished archive; no file is opened or locked before the first access.

    Any number of threads of one process may use it. Metadata stays in memory until the end; values are written at once.
    `token` identifies this session, so that unpickled stores find it again. For the options see `ozx.OzxStore`.
    """

    def __init__(
        self,
        path: str,
        mode: str,
        *,
        require_ome: bool = False,
        keep_partial: bool = True,
        sync: bool = True,
        metadata_last: bool = False,
    ) -> None:
        self.path = path
        self._mode = mode
        self._keep_partial = keep_partial
        self._finishing = {"require_ome": require_ome, "sync": sync, "metadata_last": metadata_last}
        self.renew_locks()
        self._process = os.getpid()
        self.token = f"{self._process}-{next(_numbers)}"
        self._is_prepared = self._is_closed = False
        self._growing: GrowingFile | None = None
        self._base: ArchiveSession | None = None
        self._documents: dict[str, bytes] = {}
        self._slots: dict[str, Slot] = {}
        self._base_indices: dict[str, int] = {}
        self._folders: list[int] = []  # entries of the old archive for folders
        self._keys: SortedKeys | None = None
        renew_after_fork(self)

    def renew_locks(self) -> None:
        """Create new locks after a fork; discard unfinished writes, whose threads do not exist in the child process."""
        self._lock = threading.RLock()
        self._no_writes = threading.Condition(self._lock)
        self._writes = 0
        # Whether one of these writes appends a value of unknown length at the end of the file.
        self._is_appending = False

    def __del__(self) -> None:
        growing: GrowingFile | None = getattr(self, "_growing", None)
        if growing is None or self._is_closed or self._process != os.getpid():
            return
        warnings.warn(
            f"{self.path}: the store was never closed, so the file is not finished; the written data stays in "
            f"{growing.partial.path}, and ozx recover saves it. Use the store in a with block, or call close().",
            PartialFileWarning,
            stacklevel=1,
        )
        self.abort()

    def size(self, key: str) -> int | None:
        """Return the length of a value in bytes; None if there is no such key."""
        self._prepare()
        with self._lock:
            self._check_open()
            document, slot = self._documents.get(key), self._slots.get(key)
            if document is not None:
                return len(document)
            if slot is not None:
                return slot.size
            return self._base.size(key) if self._base is not None and key in self._base_indices else None

    def read(self, key: str, byte_range: ByteRequest | None = None) -> bytes | None:
        """Return the requested bytes of a value; None for a missing key. A forked process may get a `ResourceError`."""
        self._prepare()
        with ExitStack() as reading:
            with self._lock:
                self._check_open()
                document, slot, growing = self._documents.get(key), self._slots.get(key), self._growing
                base = self._base if key in self._base_indices else None
                if slot is not None and growing is not None:
                    reading.enter_context(growing.reading())
            if document is not None:
                offset, length = requested_span(byte_range, len(document))
                return document[offset : offset + length]
            if slot is None or growing is None:
                return None if base is None else base.read(key, byte_range)
            offset, length = requested_span(byte_range, slot.size)
            if self._process != os.getpid():
                return self._read_in_child(growing, slot, offset, length)
            return growing.read_at(slot.data_offset + offset, length)

    def _read_in_child(self, growing: GrowingFile, slot: Slot, offset: int, length: int) -> bytes:
        """Read a value in a forked child process; the value was written before the fork.

        The parent process may have replaced the value in the meantime.
        """
        try:
            data = growing.read_at(slot.data_offset + offset, length)
            if growing.holds(slot):  # checked after reading: the value was intact until now
                return data
        except FileNotFoundError:
            pass
        raise ResourceError(
            f"{slot.raw_name.decode()}: since this process ({os.getpid()}) was forked, process {self._process}, "
            "which writes the file, has replaced the value or closed the file",
            path=self.path,
            hint="Fork after closing the store, and open it for reading.",
        )

    @contextmanager
    def keys(self) -> Iterator[SortedKeys]:
        """Yield a list of all keys, which does not change during the ``with`` block."""
        self._prepare()
        with self._lock:
            self._check_open()
            if self._keys is None:
                self._keys = SortedKeys([*self._documents, *self._slots, *self._base_indices])
            yield self._keys

    def set(self, key: str, *parts: bytes | memoryview) -> None:
        """Store a value given in parts, and free the old value afterwards; raise errors as `OzxStore.set` does."""
        self._check_key(key)
        with self._writing_errors(sum(map(len, parts))):
            self._set(key, parts)

    def append(self, key: str, pieces: Iterable[bytes | memoryview], most: int) -> None:
        """Store a new value piece by piece as the pieces are made; without pieces, store nothing.

        Other writers wait: the length (at most about `most`) is unknown until the end. Raise the errors of `set`.
        """
        self._check_key(key)
        with self._writing_errors(most), self._only_writer() as growing:
            slot = growing.append(key, pieces)
            if slot is not None:
                self._register(key, slot)

    @contextmanager
    def _only_writer(self) -> Iterator[GrowingFile]:
        """Hold the write lock during the ``with`` block; wait until no other thread writes."""
        with self._lock:
            self._wait_for_appending()
            self._is_appending = True
            self._writes += 1
        try:
            with self._lock:
                self._no_writes.wait_for(lambda: self._writes == 1)
                growing = self._begin_values()
            yield growing
        finally:
            with self._lock:
                self._is_appending = False
                self._writes -= 1
                self._no_writes.notify_all()

    def _wait_for_appending(self) -> None:
        self._no_writes.wait_for(lambda: not self._is_appending)

    def _check_key(self, key: str) -> None:
        fault = "it ends with a slash" if key.endswith("/") else name_fault(key)
        if fault is not None:
            raise UsageError(f"{key!r} is not a valid key: {fault}", path=self.path)

    def _set(self, key: str, parts: Sequence[bytes | memoryview]) -> None:
        if is_any_metadata_key(key):
            document = b"".join(parts)
            with self._lock:
                self._wait_for_appending()
                growing = self._begin()
                if growing.has_room:
                    growing.draft(key, document)
                self._forget(key)
                self._documents[key] = document
                self._remember(key)
            return
        with self._lock:
            self._wait_for_appending()
            growing = self._begin_values()
            self._writes += 1
        try:
            self._register(key, growing.write(key, parts))  # without the lock: threads write side by side
        finally:
            with self._lock:
                self._writes -= 1
                self._no_writes.notify_all()

    def set_if_missing(self, key: str, value: memoryview) -> None:
        """Store a value if the key has no value, atomically."""
        with self._lock:
            self._wait_for_appending()  # now, because a wait in `set` would release the lock
            if self.size(key) is None:
                self.set(key, value)

    def update(self, key: str, change: Callable[[bytes], bytes]) -> None:
        """Replace a value by the result of `change`, atomically; a missing value is passed as empty bytes."""
        with self._lock:
            self._wait_for_appending()
            self.set(key, change(self.read(key) or b""))

    def delete(self, key: str) -> None:
        """Delete the value of a key, if there is one."""
        if self.size(key) is None:
            return
        with self._writing_errors(), self._lock:
            growing = self._begin()
            growing.forget_draft(key)
            if self._forget(key) and self._keys is not None:
                self._keys.remove(key)

    def close(self) -> None:
        """Finish the archive and rename it; raise errors as `OzxStore.close` does; a second call does nothing."""
        with self._writing_errors(), self._lock:
            growing, base = self._end()
            if growing is None:
                return
            try:
                if base is not None:
                    base.source.check_unchanged()
                kept = [*self._base_indices.values(), *self._folders]
                finish(
                    growing,
                    self._documents,
                    self._slots,
                    None if base is None else (base.reader, kept),
                    force=self._mode != "x",
                    **self._finishing,
                )
            except BaseException:
                self._leave(growing)
                raise
            if base is not None and base.source.size() > _SLOWLY_FREED:
                # Closing the last descriptor of the old file frees its blocks: a third of a second per GB on ext4.
                threading.Thread(target=base.close, name="ozx-free-old-file").start()

    def abort(self) -> None:
        """Stop writing without renaming or replacing a file; the written data stays in ``NAME.partial``."""
        with self._lock:
            growing, _ = self._end()
            if growing is not None:
                self._leave(growing)

    @contextmanager
    def _writing_errors(self, more: int = 0) -> Iterator[None]:
        """Convert system errors to `ResourceError`; for a full disk, state the needed space, including `more` bytes."""

        def needed() -> int:
            with self._lock:
                documents = sum(map(len, self._documents.values()))
                values = sum(slot.length for slot in self._slots.values())
                kept = self._base.source.size() if self._base is not None else 0
                return documents + values + kept + more

        with resource_errors(), naming_errors(self.path, name_beside(self.path, ".partial"), needed):
            yield

    def _end(self) -> tuple[GrowingFile | None, ArchiveSession | None]:
        """Close the session; return the new file and the old archive, both None in a forked child process."""
        if self._is_closed or self._process != os.getpid():
            return None, None
        self._is_closed = True
        while self._writes:
            self._no_writes.wait()
        base, self._base = self._base, None
        return self._growing, base

    def _leave(self, growing: GrowingFile) -> None:
        growing.stop_reading()
        if not self._keep_partial or not (self._slots or self._documents):
            growing.partial.remove()
            return
        # An error here would hide the first one, which probably has the same cause: a full disk.
        with suppress(OSError):
            if not growing.has_room:
                growing.make_room(self._documents)
        growing.partial.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise UsageError("the store was closed", path=self.path, hint="Open the file again to read or change it.")

    def _prepare(self) -> None:
        """Check on first access whether a file exists that must not be replaced."""
        self._check_open()
        if self._is_prepared:
            return
        with self._lock:
            if self._is_prepared:
                return
            if (exists := os.path.lexists(self.path)) and self._mode == "x":
                hint = 'Choose another name, or mode="w" to replace it.'
                raise UsageError("the file exists already", path=self.path, hint=hint)
            if exists and self._mode == "a":
                check_target(self.path, force=True)
                self._read_base(ArchiveSession(FileSource(self.path)))
            self._is_prepared = True

    def _read_base(self, base: ArchiveSession) -> None:
        self._documents, others = contents_of(base.reader)
        self._folders = [index for name, index in others.items() if name.endswith("/")]
        self._base_indices = {name: index for name, index in others.items() if not name.endswith("/")}
        self._base = base

    def _begin(self) -> GrowingFile:
        """Create and lock the file before the first change."""
        if self._process != os.getpid():
            raise ResourceError(
                f"the store is written by process {self._process}; this is process {os.getpid()}",
                path=self.path,
                hint="Write from threads of one process, or let each process write a file of its own.",
            )
        self._prepare()
        with self._lock:
            if self._growing is None:
                self._growing = GrowingFile(self.path)
                left_behind = self._growing.partial.left_behind
                if left_behind is not None:
                    warnings.warn(left_behind_warning(self.path, left_behind), stacklevel=2)
            return self._growing

    def _begin_values(self) -> GrowingFile:
        growing = self._begin()
        if not growing.has_room:
            growing.make_room(self._documents)
        return growing

    def _register(self, key: str, slot: Slot) -> None:
        with self._lock:
            self._forget(key)
            self._slots[key] = slot
            self._remember(key)

    def _forget(self, key: str) -> bool:
        """Drop the value of `key`; return whether the key had a value."""
        slot = self._slots.pop(key, None)
        if slot is not None and self._growing is not None:
            self._growing.free(slot)
        known = self._documents.pop(key, None) is not None
        return self._base_indices.pop(key, None) is not None or known or slot is not None

    def _remember(self, key: str) -> None:
        """Add `key` to the sorted keys."""
        if self._keys is not None and key not in self._keys:
            self._keys.add(key)


class RemoteWriteSession(WriteSession):
    """A session that writes an archive into a local file, and uploads the file when the session is closed.

    The file is in a folder of its own below the folder for temporary files (``TMPDIR``). After an error it stays there,
    and a warning or the error names it.

    `storage`: settings of the object store; they override the current settings of `ozx.storage_options`.
    """

    def __init__(self, url: str, mode: str, *, storage: Mapping[str, Any] | None, **options: Any) -> None:
        check_object_url(url)
        name = os.path.basename(printable_url(url))
        folder = os.path.join(tempfile.gettempdir(), f"ozx-upload-{uuid.uuid4().hex}")
        super().__init__(os.path.join(folder, name), mode, **{**options, "sync": False})
        self._url = url
        self._storage = {**current_options(), **(storage or {})}
        self._is_checked = False

    def renew_locks(self) -> None:
        """Create new locks, after a fork."""
        super().renew_locks()
        self._uploading = threading.Lock()

    def close(self) -> None:
        """Finish the archive and upload it; after a failed upload, another call uploads it again.

        A call after a complete upload does nothing, and neither does a call in a forked child process.
        """
        super().close()
        if self._process != os.getpid():
            return
        with self._uploading:
            if os.path.isfile(self.path):
                self._upload()

    def _upload(self) -> None:
        try:
            with resource_errors():
                upload_file(self.path, self._url, force=self._mode != "x", options=self._storage)
        except OzxError as error:
            error.hint = f"{error.hint or ''} The complete file is {self.path}.".strip()
            raise
        except BaseException as error:  # also an interrupt
            error.add_note(f"{printable_url(self._url)}: not uploaded. The complete file is {self.path}.")
            raise
        os.unlink(self.path)
        self._remove_folder()

    def abort(self) -> None:
        """Stop writing, without an upload."""
        super().abort()
        if self._process != os.getpid():
            return
        self._remove_folder()
        partial = f"{self.path}.partial"
        if os.path.lexists(partial):
            message = f"{printable_url(self._url)}: not uploaded; the written data stays in {partial}"
            warnings.warn(message, PartialFileWarning, stacklevel=3)

    def _prepare(self) -> None:
        if self._mode == "x" and not self._is_checked:
            check_absent(self._url, self._storage)
            self._is_checked = True
        super()._prepare()

    def _begin(self) -> GrowingFile:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        return super()._begin()

    def _remove_folder(self) -> None:
        with suppress(OSError):  # it has the partial file
            os.rmdir(os.path.dirname(self.path))

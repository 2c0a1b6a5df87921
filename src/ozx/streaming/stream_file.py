"""The file of a stream: chunks and shards go to their final places; all data can be recovered at any time.

::

    [ groups ][ image, draft A ][ image, draft B ] … [ late drafts ][ value ][ value ] …

A draft is a preliminary metadata document, which describes the data that are written so far. One call writes all
documents of an image, alternately as draft A and draft B; another call erases the older draft. So a killed program
leaves documents that fit each other. A late draft is a document that was not known at first, or is too long for the
areas of drafts A and B. The final documents are first written after the values, then at the start of the file; at last,
the central directory overwrites the copy after the values.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from ozx.archive.names.decoding import encode_name
from ozx.archive.writer import local_header
from ozx.atomic.syncing import flush
from ozx.atomic.targets import EXISTS_HINT, check_target, naming_errors, naming_given
from ozx.atomic.temporary import name_beside
from ozx.cloud.upload import check_absent
from ozx.crc32 import crc32
from ozx.errors import OzxError, UsageError, resource_errors
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.sinks.output import upload_file
from ozx.images.writing.shard_assembly import checked_size
from ozx.places.remote.access import current_options
from ozx.places.remote.errors import printable_url
from ozx.places.remote.urls import check_object_url
from ozx.quoting import quote
from ozx.store.finishing import finish
from ozx.store.growing_file import GrowingFile, Slot, Space, document_room
from ozx.store.live.index import IndexWriter
from ozx.store.partial_file import left_behind_warning
from ozx.streaming.open_chunks import put_aside

Documents = Mapping[str, bytes]

# Space at the start of the file for documents that are not known at first; if it is full, they go between the values.
_ROOM_FOR_LATE = 16 << 10


class StreamFile:
    """The locked file ``NAME.partial``, which is renamed to NAME when complete; threads may write concurrently."""

    def __init__(
        self, target: str, place: str, groups: Documents, images: Mapping[str, Documents], *, force: bool, sync: bool
    ) -> None:
        check_target(target, force=force)
        self.target, self.place, self._force, self._sync = target, place, force, sync
        self.groups = groups  # the documents that do not change during the stream
        self._slots: dict[str, Slot] = {}
        self._drafts: dict[str, Slot] = {}
        self._lock = threading.Lock()
        self.is_begun = False
        with self.errors():
            self._growing = GrowingFile(place)
            put_aside(place, self._growing.partial.left_behind)
            self.index = IndexWriter(self.partial_path, place, self._growing.partial.descriptor)
        if self._growing.partial.left_behind is not None:
            warnings.warn(left_behind_warning(target, self._growing.partial.left_behind), stacklevel=2)
        # Of each image: the offset of its two areas for drafts, and the longest document of each key. New drafts go
        # into the area that does not contain the last complete drafts, whose offset is known once there are any.
        self._areas: dict[str, tuple[int, dict[str, int]]] = {}
        self._complete: dict[str, int] = {}
        offset = _length(groups)
        for path, documents in images.items():
            self._areas[path] = offset, {key: len(document) for key, document in documents.items()}
            offset += 2 * _length(documents)
        self._length = offset + _ROOM_FOR_LATE
        self._late_room = Space(offset, self._length)
        self._growing.reserve(self._length)

    @property
    def partial_path(self) -> str:
        """The absolute path of the file until it is complete."""
        return self._growing.partial.path

    def begin(self, images: Mapping[str, Documents]) -> None:
        """Write the first drafts of all metadata, before the first value is written; later calls do nothing."""
        with self._late(images) as fitting, self._lock:
            if not self.is_begun:
                self._growing.put(0, [_entries(self.groups)])
                self.index.show(self.groups)
                for path, documents in fitting.items():
                    self._put(path, documents)
                self.is_begun = True

    def update(self, path: str, documents: Documents) -> None:
        """Write a new draft of an image's metadata, and erase the old draft."""
        with self._late({path: documents}) as fitting, self._lock:
            self._put(path, fitting[path])

    def write(self, entry: Entry) -> None:
        """Write a value (a chunk or shard) to its final place."""
        checked_size(entry)
        with self.errors(entry.size):
            slot = self._growing.write(
                entry.key,
                [memoryview(part.data) if isinstance(part, BytesPart) else part for part in entry.parts],
            )
            with self._lock:
                self._slots[entry.key] = slot
            self.index.add_value(entry.key, slot)

    def draft(self, documents: Documents) -> list[Slot]:
        """Write preliminary documents (drafts) outside the images' reserved areas; return the places of the old drafts.

        `ozx recover` finds drafts; the finished file does not contain them.
        """
        replaced = []
        with self.errors():
            for key, document in documents.items():
                slot = self._write_draft(key, document)
                with self._lock:
                    if key in self._drafts:
                        replaced.append(self._drafts[key])
                    self._drafts[key] = slot
        return replaced

    def forget(self, drafts: Iterable[Slot]) -> None:
        """Erase drafts (preliminary metadata documents), so that their space can be reused."""
        with self.errors():
            for slot in drafts:
                if slot.offset >= self._length:
                    self._growing.free(slot)
                    continue
                self._growing.put(slot.offset, [bytes(slot.length)])
                with self._lock:
                    self._late_room.give_back(slot.offset, slot.length)

    def sync(self) -> None:
        """Wait until all written bytes are on disk."""
        with self.errors():
            flush(self._growing.partial.descriptor)

    def finish(self, documents: Documents) -> tuple[int, int]:
        """Complete the file with its metadata, and rename it; return the number of entries and its length in bytes.

        After an error all that was written stays in `partial_path`.
        """
        with self.errors():
            # A kill while the final metadata overwrites the draft can destroy both: so write a copy after the values.
            self._growing.put(self._growing.end, [_entries(documents)])
            try:
                size = finish(
                    self._growing,
                    documents,
                    self._slots,
                    require_ome=True,
                    force=self._force,
                    sync=self._sync,
                    metadata_last=True,
                )
            except UsageError as error:
                if error.hint == EXISTS_HINT:  # too late for another name, and for `force`
                    error.hint = (
                        "Another program created the file during the stream. To save the frames under another name: "
                        f"ozx recover {quote(self.partial_path)} OUT.ozx"
                    )
                raise
            self.index.close("finished")
            return len(documents) + len(self._slots), size

    def leave(self) -> None:
        """Close the file under its partial name; remove the file if nothing was written."""
        self._growing.stop_reading()
        if self.is_begun:
            self.index.close("unfinished")
            self._growing.partial.close()
        else:
            self.index.close("removed")
            self._growing.partial.remove()

    def remove(self) -> None:
        """Remove the file."""
        self._growing.stop_reading()
        self.index.close("removed")
        self._growing.partial.remove()

    def _write_draft(self, key: str, document: bytes) -> Slot:
        """Write a draft into free reserved space at the start of the file, else between chunks and shards."""
        entry = _entries({key: document})
        with self._lock:
            offset = self._late_room.take(len(entry))
        if offset is None:
            return self._growing.write(key, [document])
        self._growing.put(offset, [entry])
        raw_name, flags = encode_name(key)
        return Slot(raw_name, flags, crc32(document), len(document), offset, len(entry) - len(document))

    @contextmanager
    def _late(self, images: Mapping[str, Documents]) -> Iterator[dict[str, Documents]]:
        """Yield the documents that fit into their image's reserved area; write the longer ones to another place.

        Metadata that is set during the stream can make a document longer. At exit, the drafts that these documents
        replace are erased.
        """
        rooms = {key: room for path in images for key, room in self._areas[path][1].items()}
        long = {key: text for every in images.values() for key, text in every.items() if len(text) > rooms[key]}
        with self.errors():
            replaced = self.draft(long)
            yield {path: {key: every[key] for key in every if key not in long} for path, every in images.items()}
            self.forget(replaced)

    def _put(self, path: str, documents: Documents) -> None:
        (first, rooms), old = self._areas[path], self._complete.get(path)
        length = sum(document_room(key, bytes(room)) for key, room in rooms.items())
        new = first + length if old == first else first
        padded = {key: document.ljust(rooms[key]) for key, document in documents.items()}
        self._growing.put(new, [_entries(padded)])
        if old is not None:
            self._growing.put(old, [bytes(length)])
        self._complete[path] = new

    @contextmanager
    def errors(self, more: int = 0) -> Iterator[None]:
        """Convert system errors, while `more` bytes are written, to a `ResourceError` that names the final file."""

        def needed() -> int:
            with self._lock:
                return sum(slot.length for slot in self._slots.values()) + more

        partial = name_beside(self.place, ".partial")
        with resource_errors(), naming_given(self.place, self.target), naming_errors(self.place, partial, needed):
            yield


def _length(documents: Documents) -> int:
    return sum(document_room(key, document) for key, document in documents.items())


def _entries(documents: Documents) -> bytes:
    """Return the bytes of consecutive archive entries that contain the documents."""
    pieces = []
    for key, document in documents.items():
        raw_name, flags = encode_name(key)
        pieces += [local_header(raw_name, flags, crc32(document), len(document)), document]
    return b"".join(pieces)


# The upload of a finished stream to an object store.


def stream_upload(url: str, *, force: bool) -> Callable[[str], str]:
    """Return a function that uploads a finished file, which stays, and returns the printable URL.

    It uses the `ozx.storage_options` that are in effect now.
    """
    check_object_url(url)
    name, options = printable_url(url), current_options()
    if not force:
        check_absent(url, options)

    def upload(path: str) -> str:
        try:
            upload_file(path, url, force=force, options=options)
        except OzxError as error:
            command = f"ozx repack {quote(path)} {quote(name)}"
            error.hint = f"{error.hint or ''} {path} is complete; to upload it: {command}".strip()
            raise
        return name

    return upload

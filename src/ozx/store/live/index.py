"""``NAME.partial.index``: the index of a growing file, which lists the data that other processes may read.

It is a text file to which lines are only added. A line is a record, which is a JSON list, after the record's CRC-32::

    ["index", 1, 5432, "cells.ozx"]                      the format, the inode of NAME.partial, and NAME
    ["documents", {"zarr.json": "{…}"}]                  documents by key
    ["value", "0/c/0/0/0/0", 8192, 41, 52100, 987654]    key, offset, length of the header, size, CRC-32
    ["lengths", {"0": [8, 2, 300, 400]}]                 new shapes of arrays
    ["end", "finished"]                                  the file is complete; or unfinished; or removed

A value is listed once all of its bytes are written, and a length once all values that it needs are listed. An
incomplete line counts as not yet written.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ozx.archive.names.decoding import encode_name
from ozx.atomic.locks import has_locks
from ozx.crc32 import crc32
from ozx.ome.partial_hierarchy import document_key
from ozx.places.positional_reading import READ, open_for_reading
from ozx.store.growing_file import Slot
from ozx.zarr.json_reading import Document, dump_document, parse_document

_FORMAT = 1
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CHECKSUM_LENGTH = 8


def index_of(partial: str) -> str:
    """Return the path of the index of a partial file."""
    return f"{partial}.index"


class IndexWriter:
    """Writer of the index of a growing file; thread-safe.

    Only readers need the index: after a system error, it gets no further lines, and the writer continues. On systems
    without locks (Windows) there is no index.
    """

    def __init__(self, partial: str, target: str, descriptor: int) -> None:
        self.path = index_of(partial)
        self._lock = threading.Lock()
        self._file: int | None = None
        if not has_locks():
            return  # nor are there readers
        with suppress(OSError):
            self._begin(os.path.basename(target), os.fstat(descriptor))

    def _begin(self, name: str, status: os.stat_result) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        self._file = os.open(self.path, _FLAGS, status.st_mode & 0o777)
        self._add("index", _FORMAT, status.st_ino, name)

    def add_value(self, key: str, slot: Slot) -> None:
        """Add a value whose bytes have been written."""
        self._add("value", key, slot.offset, slot.header_length, slot.size, slot.crc32)

    def show(self, documents: Mapping[str, bytes]) -> None:
        """Add documents (by key) that describe the values listed so far."""
        self._add("documents", {key: document.decode("utf-8") for key, document in documents.items()})

    def resize(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Add new shapes (by path) of arrays whose documents are already listed."""
        self._add("lengths", {path: list(shape) for path, shape in shapes.items()})

    def close(self, end: str) -> None:
        """Add the final state (``finished``, ``unfinished`` or ``removed``), then remove the index file."""
        self._add("end", end)
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file)
        with suppress(OSError):
            os.unlink(self.path)

    def _add(self, *record: Any) -> None:
        data = json.dumps(record, separators=(",", ":")).encode("ascii")
        line = b"%08x %b\n" % (crc32(data), data)
        with self._lock:
            if self._file is None:
                return
            try:
                while line:
                    line = line[os.write(self._file, line) :]
            except OSError:  # write no more: if a line were missing, readers would take its value for empty
                os.close(self._file)
                self._file = None


class Index:
    """The content of an index that may still grow: what a growing file contains.

    The file stays open, so that its last lines can be read after its removal.
    """

    def __init__(self, path: str) -> None:
        self._file: int | None = open_for_reading(path)
        self._offset = 0  # of the first line that is not read
        self.inode: int | None = None
        self.name = ""
        self.documents: dict[str, bytes] = {}
        self.values: dict[str, Slot] = {}
        self.end: str | None = None

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        file, self._file = getattr(self, "_file", None), None
        if file is not None:
            os.close(file)

    def _iter_new(self) -> Iterator[list[Any]]:
        """Yield the complete records that were added since the last call."""
        rest, end = b"", self._offset
        while self._file is not None and (data := os.pread(self._file, READ, end)):
            end += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                record = _parse(line)
                if record is None:  # on another computer it may arrive in pieces: read it again at the next call
                    return
                self._offset += len(line) + 1
                yield record

    def look(self) -> bool:
        """Read the records that were added since the last call; return whether there were any."""
        changed: dict[str, bytes] = {}
        shapes: dict[str, list[int]] = {}
        is_new = False
        for kind, *record in self._iter_new():
            is_new = True
            if kind == "documents":
                documents = {key: text.encode("utf-8") for key, text in record[0].items()}
                changed |= documents
                shapes = {path: shape for path, shape in shapes.items() if document_key(path) not in documents}
            elif kind == "lengths":
                shapes |= record[0]
            else:
                self._take_other(kind, record)
        if changed or shapes:
            documents = {**self.documents, **changed}
            for path, shape in shapes.items():
                key = document_key(path)
                if key in documents:
                    documents[key] = _resized(documents[key], key, shape)
            self.documents = documents
        return is_new

    def _take_other(self, kind: str, record: list[Any]) -> None:
        if kind == "index" and record[0] == _FORMAT:
            self.inode, self.name = record[1:]
        elif kind == "value":
            key, offset, header_length, size, checksum = record
            self.values[key] = Slot(*encode_name(key), checksum, size, offset, header_length)
        elif kind == "end":
            self.end = record[0]


def _parse(line: bytes) -> list[Any] | None:
    """Return the record of a line; None if the line is damaged."""
    data = line[_CHECKSUM_LENGTH + 1 :]
    if line[: _CHECKSUM_LENGTH + 1] != b"%08x " % crc32(data):
        return None
    record = json.loads(data)
    return record if isinstance(record, list) else None


def _resized(document: bytes, key: str, shape: list[int]) -> bytes:
    described: Document = {**parse_document(document, key), "shape": shape}
    return dump_document(described)

"""An archive whose metadata is complete only when its data is: room for it is kept at the head.

The room is what the metadata takes with the longest numbers there are. What is not needed of it is filled with spaces
behind the JSON, which every parser passes over (RFC 8259, section 2): so nothing is written twice, and no entry needs
an extra field.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter
from ozx.errors import UnsupportedError
from ozx.hierarchy.comment import make_comment
from ozx.hierarchy.json.documents import Document, dump_document
from ozx.hierarchy.keys import METADATA, breadth_first
from ozx.hierarchy.relayout.shard_choice import LARGEST_SHARD

__all__ = ["NewArchive"]


class NewArchive:
    """An archive in the making: first data, then metadata, which stands before it.

    Parameters
    ----------
    descriptor
        An empty file, open for writing; it stays the caller's.
    drafts
        The ``zarr.json`` of all nodes by path, as long as they can become.
    """

    def __init__(self, descriptor: int, drafts: Mapping[str, Document]) -> None:
        self._descriptor = descriptor
        self._room = {_key(path): len(dump_document(draft)) for path, draft in drafts.items()}
        self._order = sorted(self._room, key=breadth_first)
        self._data = ArchiveWriter(descriptor)
        self._data.skip_to(sum(LOCAL_OVERHEAD + len(key.encode()) + room for key, room in self._room.items()))

    def add(self, key: str, parts: Sequence[bytes]) -> None:
        """Write a value.

        Raises
        ------
        UnsupportedError
            It is larger than readers take.
        """
        size = sum(map(len, parts))
        if size > LARGEST_SHARD:
            raise UnsupportedError(
                f"{key}: expected a value of at most {LARGEST_SHARD:,} bytes; found {size:,}",
                hint="Readers drop larger entries: ask for shorter chunks or shards.",
            )
        self._data.add(key, parts[0] if len(parts) == 1 else b"".join(parts))

    def finish(self, documents: Mapping[str, Document], version: str) -> tuple[int, int]:
        """Write metadata, directory and comment; return the number of entries and of bytes.

        More can be added afterwards, where the directory was; the archive is then finished anew.

        Parameters
        ----------
        documents
            The ``zarr.json`` of the nodes that drafts were given of, none longer than its draft.
        version
            The OME-Zarr version for the comment.

        Raises
        ------
        RuntimeError
            A document is longer than its draft.
        OSError
            The file cannot be written.
        """
        end = self._data.flush()
        values = {_key(path): dump_document(document) for path, document in documents.items()}
        writer = ArchiveWriter(self._descriptor)
        for key in self._order:
            value = values[key].ljust(self._room[key])
            if len(value) > self._room[key]:
                raise RuntimeError(f"{key}: longer than its draft")
            writer.add(key, value)
        writer.flush()
        writer.directory.extend(self._data.directory)
        writer.skip_to(end)
        # RFC-9 (R2): jsonFirst is true as metadata comes first, breadth-first.
        entries, size = writer.directory.entries, writer.finish(make_comment(version, json_first=True))
        os.ftruncate(self._descriptor, size)
        return entries, size


def _key(path: str) -> str:
    return f"{path}/{METADATA}" if path else METADATA

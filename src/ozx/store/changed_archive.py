"""Write an archive anew with changed metadata, without some entries, and with more entries behind the old ones.

::

    [ all metadata, white space ][ the longest run of old entries ][ other old entries ][ new entries ][ directory ]

White space at the end of the last document aligns the longest run with its old place, so that file systems which can
share blocks between files (Btrfs, XFS) share those of the run. On others, the system copies it; ozx reads none of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from ozx.archive.byte_source import FileSource
from ozx.archive.reader import ArchiveReader
from ozx.archive.writer import ArchiveWriter
from ozx.atomic.new_file import replacing_file
from ozx.flow.entry import Entry
from ozx.flow.sinks.archive import write_entries
from ozx.flow.sources.browsing import is_any_metadata_key
from ozx.hierarchy.comment import make_comment
from ozx.hierarchy.json.reading import parse_document
from ozx.hierarchy.keys import ROOT_METADATA
from ozx.hierarchy.ome.versions import version_of
from ozx.progress import NO_PROGRESS
from ozx.store.finishing import in_archive_order, iter_runs, move_run, padding_before, run_length
from ozx.store.growing_file import document_room


class ChangedArchive:
    """An archive to write anew: the metadata to write, by key, and the other entries to keep from it, as indices."""

    def __init__(self, source: FileSource) -> None:
        self._source, self._reader = source, ArchiveReader(source)
        self.documents: dict[str, bytes] = {}
        self._kept: dict[str, int] = {}
        for index, key in enumerate(self._reader.columns.names()):
            if is_any_metadata_key(key):
                self.documents[key] = self._reader.read(index).rstrip(b" ")  # without white space that filled room
            else:
                self._kept[key] = index

    def drop_below(self, prefix: str) -> None:
        """Leave out all entries whose keys begin with `prefix`."""
        self.documents = {key: value for key, value in self.documents.items() if not key.startswith(prefix)}
        self._kept = {key: index for key, index in self._kept.items() if not key.startswith(prefix)}

    def has_below(self, prefix: str) -> bool:
        """Return whether the key of an entry begins with `prefix`."""
        return any(key.startswith(prefix) for entries in (self.documents, self._kept) for key in entries)

    def write(self, entries: Iterable[Entry], *, sync: bool) -> list[str]:
        """Replace the archive by the changed one, with `entries` added; return what was removed beside it."""
        target = os.path.realpath(self._source.name)  # a link stays a link
        check_old = self._source.check_before_replacing
        with replacing_file(target, force=True, sync=sync, check_old=check_old) as new:
            writer = ArchiveWriter(new.descriptor)
            runs = sorted(iter_runs(self._reader, self._kept.values()), key=run_length, reverse=True)
            documents = in_archive_order(self.documents)
            head = sum(document_room(*document) for document in documents)
            white = padding_before(runs[0], head) if runs else 0
            for number, (key, document) in enumerate(documents, 1):
                writer.add(key, document + b" " * (white if number == len(documents) else 0))
            for run in runs:
                move_run(run, self._reader, writer)
            self._source.check_unchanged()
            write_entries(writer, entries, NO_PROGRESS)
            writer.finish(self._comment())
        return new.swept

    def _comment(self) -> bytes:
        root = self.documents.get(ROOT_METADATA)
        version = None if root is None else version_of(parse_document(root, ROOT_METADATA))
        old = self._reader.end.comment
        return old if version is None else make_comment(version, json_first=True, old=old)

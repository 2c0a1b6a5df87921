"""Temporary local copies of remote files, for operations that read a whole file in any order."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from ozx.archive.byte_source import FileSource, read_exactly
from ozx.archive.coalesced_reads import in_order
from ozx.archive.remote.opening import open_remote
from ozx.progress import Progress

_BLOCK = 8 << 20


class _Copy(FileSource):
    """A local copy of a file; messages show the name of the original."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(path)
        self._name = name

    @property
    def name(self) -> str:
        """The URL of the original, without a query."""
        return self._name


@contextmanager
def copied(url: str, progress: Progress) -> Iterator[FileSource]:
    """Yield a temporary copy of the file at a URL, and remove the copy after the ``with`` block.

    The copy lies in the folder for temporary files (``TMPDIR``).
    """
    source = open_remote(url)
    descriptor, path = tempfile.mkstemp(prefix="ozx-copy-")
    try:
        with open(descriptor, "wb") as file:
            size = source.size()

            def read(start: int) -> bytes:
                return read_exactly(source, start, min(_BLOCK, size - start), "the file")

            for data in in_order(read, range(0, size, _BLOCK)):
                progress.advance(file.write(data))
        copy = _Copy(path, source.name)
        try:
            yield copy
        finally:
            copy.close()
    finally:
        source.close()
        os.unlink(path)

"""The files of the images to import: read by any number of threads, and unchanged from their first use on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

from ozx.archive.byte_source import FileSource
from ozx.errors import FormatError

# Systems allow a process 256 or 1,024 open files.
_MOST_OPEN = 64


class FileSet:
    """The files of an image, safe to read from any number of threads; the number of open files is limited.

    After its first use in any process, a file must not change.
    """

    def __init__(self, also_close: Callable[[], object] | None = None) -> None:
        self._also_close = also_close
        self._files: dict[str, FileSource] = {}
        self._open: OrderedDict[str, FileSource] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, FileSource]:
        return self._files

    def __setstate__(self, files: dict[str, FileSource]) -> None:
        self.__init__()  # type: ignore[misc]
        self._files = files

    def __getitem__(self, path: str) -> FileSource:
        with self._lock:
            source = self._files.get(path)
            if source is None:
                source = self._files[path] = FileSource(path)
                source.size()  # records the state of the file
            self._open[path] = source
            self._open.move_to_end(path)
            if len(self._open) > _MOST_OPEN:
                # Closing waits for reads in progress.
                self._open.popitem(last=False)[1].close()
        return source

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._files))

    def check_unchanged(self) -> None:
        """Check that no file was modified or replaced since its first use."""
        for source in list(self._files.values()):
            try:
                source.check_unchanged()
            except FormatError as error:
                # The rule and hint of the original error are for archives.
                hint = "Import the file again when the program that writes it has finished."
                raise FormatError(error.message, path=source.name, hint=hint) from None

    def close(self) -> None:
        """Close all files; the next read opens its file again."""
        with self._lock:
            for source in self._open.values():
                source.close()
            self._open.clear()
        if self._also_close is not None:
            self._also_close()

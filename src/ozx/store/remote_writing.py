"""Write the values of a new archive into a local file, which `close` uploads to a URL."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ozx.archive.remote.access import current_options
from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.upload import check_absent
from ozx.archive.remote.urls import check_object_url
from ozx.errors import OzxError, PartialFileWarning, resource_errors
from ozx.flow.sinks.output import upload_file
from ozx.store.growing_file import GrowingFile
from ozx.store.writing import WriteOptions, WriteSession


class RemoteWriteSession(WriteSession):
    """A session that writes an archive into a local file, and uploads the file when the session is closed.

    The file is in a folder of its own below the folder for temporary files (``TMPDIR``). After an error it stays there,
    and a warning or the error names it.

    `storage`: settings of the object store; they override the current settings of `ozx.storage_options`.
    """

    def __init__(self, url: str, options: WriteOptions, storage: Mapping[str, Any] | None) -> None:
        check_object_url(url)
        name = os.path.basename(printable_url(url))
        folder = os.path.join(tempfile.gettempdir(), f"ozx-upload-{uuid.uuid4().hex}")
        super().__init__(os.path.join(folder, name), options._replace(sync=False))
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
                upload_file(self.path, self._url, force=not self.options.exclusive, options=self._storage)
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
        if self.options.exclusive and not self._is_checked:
            check_absent(self._url, self._storage)
            self._is_checked = True
        super()._prepare()

    def _begin(self) -> GrowingFile:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        return super()._begin()

    def _remove_folder(self) -> None:
        with suppress(OSError):  # it has the partial file
            os.rmdir(os.path.dirname(self.path))

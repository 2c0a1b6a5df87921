"""The upload of a finished stream to an object store."""

from __future__ import annotations

from ozx.archive.remote.access import current_options
from ozx.archive.remote.errors import printable_url
from ozx.archive.remote.upload import check_absent
from ozx.archive.remote.urls import check_object_url
from ozx.errors import OzxError
from ozx.flow.sinks.output import upload_file
from ozx.quoting import quote


class StreamUpload:
    """Upload target of a finished file; `send` uses the `ozx.storage_options` in effect when the target is created."""

    def __init__(self, url: str, *, force: bool) -> None:
        check_object_url(url)
        self.name = printable_url(url)
        self._url, self._force, self._options = url, force, current_options()
        if not force:
            check_absent(url, self._options)

    def send(self, path: str) -> None:
        """Upload the finished file; the local file stays."""
        try:
            upload_file(path, self._url, force=self._force, options=self._options)
        except OzxError as error:
            command = f"ozx repack {quote(path)} {quote(self.name)}"
            error.hint = f"{error.hint or ''} {path} is complete; to upload it: {command}".strip()
            raise

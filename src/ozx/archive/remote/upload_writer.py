"""Writer of an archive that is uploaded while it is written."""

from __future__ import annotations

from collections.abc import Iterable

from ozx.archive.remote.upload import Upload
from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter

__all__ = ["UploadWriter"]


class UploadWriter(ArchiveWriter):
    """Writer of one archive to an upload; the caller must finish or abort the upload.

    Parameters
    ----------
    upload
        A new upload, without bytes.
    """

    def __init__(self, upload: Upload) -> None:
        super().__init__(-1)
        self._upload = upload

    def add_blocks(self, name: str, size: int, blocks: Iterable[bytes | memoryview]) -> None:
        """Write one entry from blocks; the part with its header is sent when the CRC-32 is known.

        Raises
        ------
        FormatError, ResourceError
            As for `ArchiveWriter.add_blocks` and `Upload.write_at`.
        """
        self._upload.hold(self.offset, LOCAL_OVERHEAD + len(name.encode("utf-8", "surrogateescape")))
        super().add_blocks(name, size, blocks)
        self._upload.release()

    def _write(self, data: bytes | bytearray | memoryview, offset: int) -> None:
        self._upload.write_at(offset, data)

"""Writer of an archive that is uploaded while it is written."""

from __future__ import annotations

from collections.abc import Iterable

from ozx.archive.remote.upload import Upload
from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter
from ozx.errors import FormatError

_BLOCK = 8 << 20


class UploadWriter(ArchiveWriter):
    """Writer of one archive to an upload; the caller must finish or abort the upload."""

    def __init__(self, upload: Upload) -> None:
        super().__init__(-1)
        self._upload = upload

    def add_blocks(self, name: str, size: int, blocks: Iterable[bytes | memoryview]) -> None:
        """Write one entry from blocks; send the part that contains the local header as soon as the CRC-32 is known."""
        self._upload.hold(self.offset, LOCAL_OVERHEAD + len(name.encode("utf-8", "surrogateescape")))
        super().add_blocks(name, size, blocks)
        self._upload.release()

    def copy(self, source: int, source_offset: int, length: int) -> None:
        """Append bytes of another file; the caller must add the headers of the copied entries to `directory`."""
        with open(source, "rb", closefd=False) as file:
            file.seek(source_offset)
            while length:
                block = file.read(min(length, _BLOCK))
                if not block:
                    raise FormatError(f"expected {length:,} more bytes; the file ends", rule="zip/changed")
                self._append(block)
                length -= len(block)

    def _write(self, data: bytes | bytearray | memoryview, offset: int) -> None:
        self._upload.write_at(offset, data)

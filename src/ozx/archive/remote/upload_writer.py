"""Writer of an archive that is uploaded while it is written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable

from ozx.archive.crc32 import crc32
from ozx.archive.names.decoding import encode_name
from ozx.archive.remote.upload import Upload
from ozx.archive.writer import LOCAL_OVERHEAD, ArchiveWriter
from ozx.errors import FormatError

_MOST_HELD = 64 << 20
_BLOCK = 8 << 20


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
        """Write one entry from blocks; send the part that contains the local header as soon as the CRC-32 is known.

        If the store requires parts in order, a value of more than 64 MiB is first written to a temporary file.
        """
        if self._upload.is_in_order and size > _MOST_HELD:
            self._add_by_file(name, size, blocks)
            return
        self._upload.hold(self.offset, LOCAL_OVERHEAD + len(name.encode("utf-8", "surrogateescape")))
        super().add_blocks(name, size, blocks)
        self._upload.release()

    def copy(self, source: int, source_offset: int, length: int) -> None:
        """Append bytes of another file; the caller must add the headers of the copied entries to `directory`.

        Raises
        ------
        FormatError
            The other file is too short (``zip/changed``).
        """
        with open(source, "rb", closefd=False) as file:
            file.seek(source_offset)
            while length:
                block = file.read(min(length, _BLOCK))
                if not block:
                    raise FormatError(f"expected {length:,} more bytes; the file ends", rule="zip/changed")
                self._append(block)
                length -= len(block)

    def _add_by_file(self, name: str, size: int, blocks: Iterable[bytes | memoryview]) -> None:
        raw_name, flags = encode_name(name)
        checksum = 0
        with tempfile.TemporaryFile() as spool:
            for block in blocks:
                checksum = crc32(block, checksum)
                spool.write(block)
            spool.flush()
            written = os.fstat(spool.fileno()).st_size
            if written != size:
                raise FormatError(f"{name!r}: expected {size:,} bytes, got {written:,}", rule="zip/changed")
            self.add_copied(raw_name, flags, checksum, size, spool.fileno(), 0)

    def _write(self, data: bytes | bytearray | memoryview, offset: int) -> None:
        self._upload.write_at(offset, data)

"""Writing at a given offset with `os.pwrite`, `os.pwritev` and `os.copy_file_range`, or portable fallbacks."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence

from ozx.errors import FormatError
from ozx.places.positional_reading import READ, pread, turn

_LONGEST_COPY = 1 << 30
# POSIX: IOV_MAX is at least 16; Linux, macOS and BSD take 1024.
_MOST_PARTS = 1024
# The largest number of bytes per system call; during a call, other threads cannot write to the file. For more bytes,
# Linux allocates larger blocks of memory, which can take several times as long in a virtual machine.
_MOST_AT_ONCE = 1 << 20
_NOT_POSSIBLE_HERE = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM)


def write_all_at(descriptor: int, data: bytes | bytearray | memoryview, offset: int) -> None:
    """Write all of `data` at `offset`."""
    pwrite = getattr(os, "pwrite", None)
    view = memoryview(data).cast("B")
    if pwrite is None:
        with turn(descriptor):
            os.lseek(descriptor, offset, os.SEEK_SET)
            while len(view):
                view = view[os.write(descriptor, view) :]
        return
    while len(view):
        written = pwrite(descriptor, view[:_MOST_AT_ONCE], offset)
        offset += written
        view = view[written:]


def write_parts_at(descriptor: int, parts: Sequence[bytes | bytearray | memoryview], offset: int) -> None:
    """Write `parts` one after the other from `offset` on, with few system calls if `os.pwritev` exists."""
    pwritev = getattr(os, "pwritev", None)
    for group in _iter_groups(parts):
        written = 0 if pwritev is None or len(group) == 1 else pwritev(descriptor, group, offset)
        for part in group:
            if written < len(part):
                write_all_at(descriptor, part[written:], offset + written)
            written = max(0, written - len(part))
            offset += len(part)


def _iter_groups(parts: Sequence[bytes | bytearray | memoryview]) -> Iterator[list[bytes | bytearray | memoryview]]:
    """Yield groups of consecutive parts, each for one system call; a very long part forms its own group."""
    group: list[bytes | bytearray | memoryview] = []
    size = 0
    for part in parts:
        if group and (len(group) == _MOST_PARTS or size + len(part) > _MOST_AT_ONCE):
            yield group
            group, size = [], 0
        group.append(part)
        size += len(part)
    if group:
        yield group


def copy_range(source: int, source_offset: int, descriptor: int, offset: int, length: int) -> None:
    """Copy `length` bytes from one open file to another, by a system call if possible.

    `os.copy_file_range` shares blocks on file systems that support this (Btrfs, XFS); on others, the kernel copies.
    """
    call = getattr(os, "copy_file_range", None)
    while length:
        copied = 0
        if call is not None:
            try:
                copied = call(source, descriptor, min(length, _LONGEST_COPY), source_offset, offset)
            except OSError as error:
                if error.errno not in _NOT_POSSIBLE_HERE:
                    raise
                call = None
                continue
        else:
            data = pread(source, min(length, READ), source_offset)
            write_all_at(descriptor, data, offset)
            copied = len(data)
        if not copied:
            raise FormatError(
                f"expected {length:,} more bytes at {source_offset:,}; the file shrank", rule="zip/changed"
            )
        source_offset, offset, length = source_offset + copied, offset + copied, length - copied

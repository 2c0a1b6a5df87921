"""Writing at a position: `os.pwrite`, with a portable fallback beside it."""

from __future__ import annotations

import os

__all__ = ["write_all_at"]


def write_all_at(descriptor: int, data: bytes | bytearray | memoryview, offset: int) -> None:
    """Write all of `data` at `offset`.

    Where `os.pwrite` is missing the descriptor's own position moves instead, so that a descriptor is used by one
    thread at a time there; every writer of this project has one thread that writes.
    """
    pwrite = getattr(os, "pwrite", None)
    view = memoryview(data).cast("B")
    if pwrite is None:
        os.lseek(descriptor, offset, os.SEEK_SET)
        while len(view):
            view = view[os.write(descriptor, view) :]
        return
    while len(view):
        written = pwrite(descriptor, view, offset)
        offset += written
        view = view[written:]

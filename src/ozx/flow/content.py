"""What can be packed: a directory as it is, or laid out anew. `plain_content` and `converted_content` are the two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ozx.flow.entry import Entry
from ozx.progress import Progress

__all__ = ["Content"]


class Content(Protocol):
    """What goes into an archive."""

    @property
    def metadata(self) -> Mapping[str, bytes]:
        """The ``zarr.json`` by key, as they will be written."""

    @property
    def legacy_keys(self) -> Sequence[str]:
        """Keys that are metadata of Zarr v2."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not plainly the same as in the source, as sentences; complete when all is written."""

    def add(self, entry: Entry) -> None:
        """Have an entry written right after the metadata; it takes the place of a file of the same key."""

    def count_bytes(self) -> int:
        """Return about how many bytes will be written."""

    def is_in(self, archive: str) -> bool:
        """Tell whether `archive` is a sound archive with these keys and sizes."""

    def write(self, descriptor: int, version: str, progress: Progress) -> tuple[int, int]:
        """Write an archive into the empty file `descriptor`; return its number of entries and of bytes."""

    def verify(self, archive: str, progress: Progress) -> None:
        """Read `archive` back and compare every value; `ResourceError` where one differs."""

"""Read a repaired hierarchy as a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import filterfalse, islice
from typing import TYPE_CHECKING, Literal, Self

from ozx.flow.entry import BytesPart, Entry, Part
from ozx.flow.sources.source import Source
from ozx.places.byte_source import FileSource
from ozx.zarr.keys import breadth_first

if TYPE_CHECKING:
    from ozx.places.remote.folder import RemoteFolder
    from ozx.places.remote.source import RemoteSource

#: Ids of repairs without a rule of ``ozx validate``.
OWN_IDS = ("repair/litter", "repair/outside", "repair/data-descriptor", "repair/consolidated")


#: One kind of repair: the id of the rule that the fault breaks, or one of `OWN_IDS`; the fault and its repair, in one
#: sentence.
Repair = tuple[str, str]


class RepairedSource:
    """A hierarchy with its container faults repaired, as a source; see `ozx.flow.repair.hierarchy.open_repaired`.

    `metadata` and `legacy` are the keys of all metadata of Zarr v3, in archive order, and of Zarr v2, which a hierarchy
    of Zarr v3 leaves out. `written` holds new and changed documents.
    """

    def __init__(
        self,
        source: Source,
        zarr_format: Literal[2, 3],
        metadata: Sequence[str],
        legacy: Sequence[str],
        written: Mapping[str, bytes],
        repairs: Sequence[Repair],
        left_out: Sequence[str] = (),
        file: FileSource | RemoteSource | None = None,
    ) -> None:
        self._source = source
        self._written = written
        self._dropped = frozenset(legacy if zarr_format == 3 else ())
        self._metadata = metadata
        self._added = [key for key in written if key not in source]
        self._file = file
        self.zarr_format = zarr_format
        self.repairs = tuple(repairs)
        self.left_out = tuple(left_out)

    @property
    def name(self) -> str:
        """Path or URL of the hierarchy."""
        return self._source.name

    @property
    def repaired(self) -> tuple[str, ...]:
        """The repairs, as one sentence each."""
        return tuple(message for _, message in self.repairs)

    @property
    def remote(self) -> RemoteSource | RemoteFolder | None:
        """The remote file or folder, with its counters of requests and bytes; None if the hierarchy is local."""
        if isinstance(self._file, FileSource):
            return None
        return getattr(self._source, "folder", None) if self._file is None else self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; if a `Part` returned earlier is read, the file is opened again."""
        if self._file is not None:
            self._file.close()

    def check_unchanged(self) -> None:
        """Raise `FormatError` (``zip/changed``) if the archive changed since the first read.

        In a directory, each file is checked when it is read.
        """
        if self._file is not None:
            self._file.check_unchanged()

    def __contains__(self, key: str) -> bool:
        return key in self._written or (key not in self._dropped and key in self._source)

    def iter_keys(self) -> Iterator[str]:
        """Yield all keys in archive order."""
        keys = self._source.iter_keys()
        if self._added:
            yield from sorted([*self._metadata, *self._added], key=breadth_first)
            keys = islice(keys, len(self._metadata), None)
        yield from filterfalse(self._dropped.__contains__, keys) if self._dropped else keys

    def size(self, key: str) -> int:
        """Return the length in bytes of the value of a key."""
        return len(self._written[key]) if key in self._written else self._source.size(self._checked(key))

    def read(self, key: str) -> bytes:
        """Return the value of a key."""
        return self._written[key] if key in self._written else self._source.read(self._checked(key))

    def part(self, key: str, offset: int = 0, length: int | None = None) -> Part:
        """Return a `Part` that reads a span of the value of a key."""
        if key not in self._written:
            return self._source.part(self._checked(key), offset, length)
        whole = BytesPart(self._written[key])
        return whole.span(offset, whole.length - offset if length is None else length)

    def parts(self, keys: Sequence[str]) -> list[Part]:
        """Return a `Part` for each key, which reads the whole value; see `Source.parts`."""
        if self._dropped.isdisjoint(keys) and self._written.keys().isdisjoint(keys):
            return self._source.parts(keys)
        return list(map(self.part, keys))

    def entry(self, key: str) -> Entry:
        """Return a value as an entry with the same key; raise `FormatError` if the value is an archive."""
        return Entry(key, (self.part(key),)) if key in self._written else self._source.entry(self._checked(key))

    def _checked(self, key: str) -> str:
        if key in self._dropped:
            raise KeyError(key)
        return key

"""Compare an archive with its plan, value by value."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain

from ozx.archive.directory import read_end
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, OzxError, ResourceError
from ozx.flow.plan import Plan
from ozx.flow.read_ahead import read_ahead
from ozx.flow.sinks.manifest import MANIFEST_KEY, Manifest, time_of_copy
from ozx.flow.sources.archive import iter_entries
from ozx.places.byte_source import FileSource, read_in_runs
from ozx.places.place import Place
from ozx.places.positional_reading import forget_cache
from ozx.progress import Progress
from ozx.threads import Workers


def _has_same_entries(archive: Place, plan: Plan, workers: Workers) -> bool:
    """Return whether the file at `archive` is an intact archive with the keys and sizes of `plan`."""
    try:
        with closing(archive.open()) as source:
            reader = ArchiveReader(source)
            reader.check()
            sizes = dict(zip(reader.columns.names(), reader.columns.uncompressed_sizes.tolist(), strict=True))
    except OzxError:
        return False
    same = all(sizes.pop(entry.key, None) == entry.size for entry in plan.iter_entries(workers))
    return same and sizes.keys() <= {MANIFEST_KEY}  # the plan lacks the manifest, which is made while writing


def find_same_entries(archive: Place, plan: Plan, variants: Iterable[Plan], workers: Workers) -> Plan | None:
    """Return the first of several plans whose keys and sizes match an archive, or None."""
    for each in chain([plan], variants):
        if _has_same_entries(archive, each, workers):
            return each
    return None


def check_archive(archive: Place, plan: Plan, workers: Workers, progress: Progress) -> None:
    """Raise `ResourceError` if the file at `archive`, which was just written, differs from `plan`."""
    difference = find_difference(archive, plan, workers, progress)
    if difference is not None:
        raise ResourceError(
            f"the written archive differs from its source: {difference}",
            path=archive.name,
            hint="Disk, memory or network damaged the archive; the source is unchanged. Try again, then try another "
            "disk.",
        )


def find_difference(archive: Place, plan: Plan, workers: Workers, progress: Progress) -> str | None:
    """Read the file at `archive` again, and compare it with `plan`; return the first difference, or None.

    If possible, the bytes are read from disk instead of the cache.

    The plan is executed a second time, so that every value is compared with its source.
    """
    with closing(archive.open()) as source:
        if isinstance(source, FileSource):
            forget_cache(source.descriptor())
        read_in_runs(source)
        reader = ArchiveReader(source)
        reader.check()
        count, is_packed = 0, False
        for entry in plan.iter_entries(workers):
            count += 1
            is_packed = is_packed or entry.key == MANIFEST_KEY
            index = reader.find(entry.key)
            if index is None:
                return f"{entry.key!r} is missing"
            damage: list[str] = []
            if not _is_same(_stored_blocks(reader, index, damage), entry.iter_blocks()) or damage:
                return damage[0] if damage else f"the value of {entry.key!r} differs"
            progress.advance(entry.size)
        count += reader.find(MANIFEST_KEY) is not None and not is_packed
        return None if count == len(reader) else f"it has {len(reader):,} entries; the source has {count:,}"


def hash_values(archive: Place) -> Iterator[tuple[str, int, str]]:
    """Yield the key, length and SHA-256 of each value of an archive."""
    with closing(archive.open()) as source:
        reader = ArchiveReader(source)
        reader.check()
        for entry in read_ahead(iter_entries(reader, range(len(reader)))):
            digest, size = hashlib.sha256(), 0
            for block in entry.iter_blocks():
                digest.update(block)
                size += len(block)
            yield entry.key, size, digest.hexdigest()


def manifest_of_archive(archive: Place, source: str) -> Manifest:
    """Return the manifest of a complete archive, with the current times of the files in `source`."""
    manifest: Manifest = {}
    for key, size, digest in hash_values(archive):
        manifest[key] = size, digest, time_of_copy(os.path.join(source, key), size)
    return manifest


def measure_archive(archive: Place) -> tuple[int, int]:
    """Return the number of entries and the length in bytes of an archive."""
    with closing(archive.open()) as source:
        return read_end(source).entries, source.size()


def _stored_blocks(reader: ArchiveReader, index: int, damage: list[str]) -> Iterator[bytes]:
    """Yield the value of an entry in blocks; if the value is damaged, end, and add a description to `damage`."""
    try:
        yield from reader.iter_blocks(index)
    except FormatError as error:
        damage.append(error.message)


def _is_same(first: Iterator[bytes], second: Iterator[bytes]) -> bool:
    """Return whether two streams contain the same bytes, regardless of block boundaries."""
    left = right = memoryview(b"")
    while True:
        left = left or memoryview(next(filter(None, first), b""))
        right = right or memoryview(next(filter(None, second), b""))
        length = min(len(left), len(right))
        if length == 0:
            return len(left) == len(right)
        # A memoryview compares item by item, which takes many times as long as two copies and their comparison.
        if bytes(left[:length]) != bytes(right[:length]):
            return False
        left, right = left[length:], right[length:]

"""Rules of the ZIP specification (APPNOTE 6.3.10), of safe file names, and of limits of common readers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ozx.archive.names.decoding import name_fault
from ozx.archive.reader import BOMB_TOTAL
from ozx.archive.records import EXTRA_TIMES, EXTRA_UNIX, EXTRA_ZIP64, method_name
from ozx.validation.container.ambiguities import check_ambiguities, each_entry
from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import each, make_finding

if TYPE_CHECKING:
    from ozx.archive.audit.facts import ArchiveFacts
    from ozx.archive.columns import Columns

# rules/zip.toml gives the figures and the readers they come from.
LARGE_ENTRY = 2 << 30
LONG_COMMENT = 4096
MANY_ENTRIES = 65_535
TOO_MANY_ENTRIES = 262_144


def check_zip(facts: ArchiveFacts, *, plain_only: bool = False) -> Iterator[Finding]:
    """Yield findings about an archive as a ZIP file.

    With `plain_only`, extra fields other than those of ZIP64, times and owners are errors.
    """
    yield from _check_end_records(facts)
    yield from _check_places(facts)
    yield from _check_headers(facts)
    yield from _check_zip64_fields(facts)
    yield from _check_names(facts)
    yield from _check_sizes(facts)
    yield from _check_kinds(facts)
    yield from check_ambiguities(facts)
    yield from _check_limits(facts)
    yield from _check_extras(facts, plain_only=plain_only)


def _check_end_records(facts: ArchiveFacts) -> Iterator[Finding]:
    end, locator = facts.end, facts.end.locator_offset
    # 4.3.15: the "relative offset of the zip64 end of central directory record". Some writers count the bytes before
    # the archive in offsets, others do not.
    if locator is not None and locator not in (end.end_offset, end.end_offset - end.prepended):
        message = f"the ZIP64 locator points to {locator:,}, but the end record is at {end.end_offset:,}"
        yield make_finding("zip/end-record", message, offset=end.end_offset)
    # 4.4.1.4: a number that is too large for its field needs ZIP64.
    if end.is_wrapped or len(facts.columns) != end.entries:
        found = f"{len(facts.columns):,} entries and {facts.file_size:,} bytes need ZIP64 records; there are none"
        yield make_finding(
            "zip/overflow", f"{found}. The end record counts {end.entries:,} entries", offset=end.end_offset
        )


def _check_places(facts: ArchiveFacts) -> Iterator[Finding]:
    columns, layout, end = facts.columns, facts.layout, facts.end

    def beyond(entry: int, name: str) -> str:
        size, offset = int(columns.compressed_sizes[entry]), int(columns.header_offsets[entry])
        where = f"{offset:,}, but the central directory begins at {end.directory_offset:,}"
        return f"entry {name!r} declares {size:,} bytes at {where}"

    # 4.3.6: every entry stands before the central directory.
    yield from each_entry(facts, "zip/bounds", facts.out_of_bounds, beyond)

    def overlap(pair: tuple[int, int]) -> Finding:
        first, second = (columns.name(entry) for entry in pair)
        offset = int(columns.header_offsets[pair[1]])
        return make_finding("zip/overlap", f"entries {first!r} and {second!r} overlap", entry=second, offset=offset)

    # 4.3.6: one entry after the other.
    yield from each("zip/overlap", layout.overlaps, overlap)
    yield from each(
        "zip/overlap",
        layout.into_directory.tolist(),
        lambda entry: make_finding(
            "zip/overlap",
            f"entry {columns.name(entry)!r} extends into the central directory",
            entry=columns.name(entry),
            offset=int(columns.header_offsets[entry]),
        ),
    )
    # 4.1.9: a self-extracting file begins with a program. Bytes that begin with a local header are old entries.
    is_prefix = layout.leading > 0 and not layout.begins_as_entry
    if end.prepended or is_prefix:
        count = end.prepended or layout.leading
        yield make_finding("zip/prepended-bytes", f"{count:,} bytes are before the archive", offset=0)
    # 4.3.16: the archive comment ends the file.
    if end.trailing:
        offset = facts.file_size - end.trailing
        message = f"{end.trailing:,} bytes are after the end record and its comment"
        yield make_finding("zip/trailing-bytes", message, offset=offset)
    if len(facts.out_of_bounds) or (facts.local.lengths < 0).any():
        return  # a gap may belong to an entry whose header cannot be read
    # Bytes before the archive, and bytes after its central directory, are not gaps.
    gaps = layout.gap_offsets > 0 if end.prepended or is_prefix else layout.gap_offsets >= 0
    gaps &= layout.gap_offsets != end.directory_offset + end.directory_size
    offsets, lengths = layout.gap_offsets[gaps], layout.gap_lengths[gaps]
    if len(offsets):
        places = f"{len(offsets):,} place{'s' if len(offsets) != 1 else ''}"
        message = f"{int(lengths.sum()):,} bytes in {places} belong to no entry"
        yield make_finding("zip/unreferenced-bytes", message, offset=int(offsets[0]))

    # 4.3.12: the central directory has a header for each entry.
    yield from each(
        "zip/unlisted-entry",
        sorted(facts.unlisted.items()),
        lambda entry: make_finding(
            "zip/unlisted-entry", f"the undamaged entry {entry[0]!r} is not in the central directory", offset=entry[1]
        ),
    )


def _finding_of_header(columns: Columns, rule: str, fault: tuple[int, str]) -> Finding:
    entry, message = fault
    name = columns.name(entry)
    return make_finding(rule, f"entry {name!r}: {message}", entry=name, offset=int(columns.header_offsets[entry]))


def _check_headers(facts: ArchiveFacts) -> Iterator[Finding]:
    columns = facts.columns
    for rule in ("zip/truncated", "zip/local-header"):
        faults = [(entry, message) for entry, message, broken in facts.local.faults if broken == rule]
        # 4.3.2: each entry has a local header that corresponds to its header in the central directory.
        yield from each(
            rule,
            faults,
            partial(_finding_of_header, columns, rule),
        )
    # 4.3.9: the data descriptor agrees with the central directory.
    message = "entry {name!r}: its data descriptor is missing, or contradicts the central directory"
    yield from each_entry(facts, "zip/local-header", facts.layout.bad_descriptors, message)
    # 4.4.4: an entry that lost its sizes looks empty.
    message = "entry {name!r} is empty according to its headers, but unused bytes follow"
    yield from each_entry(facts, "zip/local-header", facts.layout.hidden_values, message)
    # 4.4.4, bits 0 and 6.
    yield from each_entry(facts, "zip/encrypted", facts.encrypted, "entry {name!r} is encrypted")

    def method(entry: int, name: str) -> str:
        found = method_name(int(columns.methods[entry]))
        return f"entry {name!r}: expected a stored, deflated or Deflate64 entry; found {found}"

    # 4.4.5
    yield from each_entry(facts, "zip/method", facts.unreadable_methods, method)


def _check_zip64_fields(facts: ArchiveFacts) -> Iterator[Finding]:
    for place, extras in (
        ("local header", facts.local.extras),
        ("header in the central directory", facts.central_extras),
    ):

        def contradiction(entry: int, name: str, place: str = place) -> str:
            stored, original = _sizes(facts, entry)
            return (
                f"entry {name!r}: the ZIP64 field in its {place} has another size or offset than the entry, which has "
                f"{stored:,} compressed and {original:,} uncompressed bytes"
            )

        # 4.5.3
        yield from each_entry(facts, "zip/zip64-field", extras.contradicts.nonzero()[0], contradiction)


def _check_names(facts: ArchiveFacts) -> Iterator[Finding]:
    columns = facts.columns

    # 4.4.17.1
    yield from each_entry(
        facts, "zip/name", facts.faulty_names, lambda _, name: f"entry name {name!r} is refused: {name_fault(name)}"
    )
    # 4.3.8: an entry for a folder has no bytes.
    full = [entry for entry in facts.directories.tolist() if columns.uncompressed_sizes[entry]]
    yield from each_entry(
        facts, "zip/name", full, "entry {name!r} has bytes, although its name ends in a slash like a folder name"
    )

    def duplicate(entries: list[int]) -> Finding:
        name = columns.name(entries[0])
        message = f"{len(entries):,} entries are called {name!r}; programs differ in which of these entries they read"
        return make_finding("zip/duplicate-name", message, entry=name)

    yield from each("zip/duplicate-name", facts.duplicates, duplicate)

    def folder(pair: tuple[int, int]) -> Finding:
        name, below = map(columns.name, pair)
        message = f"entry {name!r} has a value, but is also the folder of {below!r}"
        return make_finding("zip/value-and-folder", message, entry=name)

    yield from each("zip/value-and-folder", facts.also_folders, folder)
    # 4.4.4, bit 11, and appendix D.
    if len(facts.unmarked_names):
        count, name = len(facts.unmarked_names), columns.name(facts.unmarked_names[0])
        message = f"{count:,} names are not ASCII and not declared as UTF-8; ozx reads the first as {name!r}"
        yield make_finding("zip/name-encoding", message, entry=name)


def _check_sizes(facts: ArchiveFacts) -> Iterator[Finding]:
    def uneven(entry: int, name: str) -> str:
        stored, original = _sizes(facts, entry)
        return (
            f"entry {name!r} is not compressed, but declares {stored:,} compressed and {original:,} uncompressed bytes"
        )

    # 4.4.8 and 4.4.9
    yield from each_entry(facts, "zip/stored-size", facts.uneven, uneven)

    def bomb(entry: int, name: str) -> str:
        stored, original = _sizes(facts, entry)
        return f"entry {name!r} would decompress from {stored:,} to {original:,} bytes"

    yield from each_entry(facts, "zip/bomb", facts.bombs, bomb)
    if facts.inflated_total > BOMB_TOTAL:
        yield make_finding("zip/bomb", f"all entries together would decompress to {facts.inflated_total:,} bytes")


def _sizes(facts: ArchiveFacts, entry: int) -> tuple[int, int]:
    return int(facts.columns.compressed_sizes[entry]), int(facts.columns.uncompressed_sizes[entry])


def _check_kinds(facts: ArchiveFacts) -> Iterator[Finding]:
    # 4.4.15
    yield from each_entry(facts, "zip/symlink", facts.symlinks, "entry {name!r} is a symbolic link")
    message = "entry {name!r} is a device, pipe or socket according to its attributes"
    yield from each_entry(facts, "zip/special-file", facts.special, message)
    directories = facts.directories
    # 4.3.8
    if len(directories):
        name = facts.columns.name(int(directories[0]))
        yield make_finding("zip/directory-entry", f"{len(directories):,} entries are folders", entry=name)


def _check_limits(facts: ArchiveFacts) -> Iterator[Finding]:
    columns = facts.columns
    large = (columns.uncompressed_sizes > LARGE_ENTRY).nonzero()[0]
    if len(large):
        name, size = columns.name(int(large[0])), int(columns.uncompressed_sizes[large].max())
        message = f"{len(large):,} entries are larger than 2 GiB, the largest has {size:,} bytes"
        yield make_finding("zip/large-entry", message, entry=name)
    count = len(columns)
    if count >= MANY_ENTRIES:
        severity: Severity = "warning" if count >= TOO_MANY_ENTRIES else "note"
        yield make_finding("zip/many-entries", f"there are {count:,} entries", severity=severity)
    length = len(facts.end.comment)
    if length > LONG_COMMENT:
        yield make_finding("zip/long-comment", f"the archive comment has {length:,} bytes")


def _check_extras(facts: ArchiveFacts, *, plain_only: bool) -> Iterator[Finding]:
    # RFC-9, the authors' revision of 2026: no extra fields but these, in either header.
    for place, extras in (("local headers", facts.local.extras), ("the central directory", facts.central_extras)):
        for identifier in sorted(extras.counts.keys() - {EXTRA_ZIP64, EXTRA_TIMES, EXTRA_UNIX}):
            message = f"{extras.counts[identifier]:,} extra fields 0x{identifier:04X} in {place}"
            name = facts.columns.name(extras.first[identifier])
            yield make_finding("zip/extra-field", message, entry=name, severity="error" if plain_only else None)

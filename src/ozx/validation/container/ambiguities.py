"""Rules about ZIP structures that programs interpret differently, as found by `ozx.archive.audit.facts`.

A finding is an error if programs return different names or bytes, or if some programs return nothing. A finding is a
warning if programs only print warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ozx.archive.audit.facts import MOST_NEEDED
from ozx.archive.directory import ZIP64_END_LENGTH
from ozx.validation.report import Finding, Severity
from ozx.validation.rules.findings import each, make_finding
from ozx.validation.wording import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ozx.archive.audit.facts import ArchiveFacts


def check_ambiguities(facts: ArchiveFacts) -> Iterator[Finding]:
    """Yield findings about parts of an archive that programs interpret differently."""
    yield from _check_ends(facts)
    yield from _check_beginning(facts)
    yield from _check_paths(facts)
    yield from _check_extra_blocks(facts)
    yield from _check_attributes(facts)
    yield from _check_flags(facts)
    yield from _check_versions(facts)


def _check_ends(facts: ArchiveFacts) -> Iterator[Finding]:
    end = facts.end
    # 4.3.14.1 and 4.3.14.2: the size of the ZIP64 end record; programs do not read past its fields.
    if end.zip64_length not in (None, ZIP64_END_LENGTH):
        message = (
            f"expected a ZIP64 end record of {ZIP64_END_LENGTH} bytes; the record declares {end.zip64_length:,}. "
            "zipfile, unzip or bsdtar refuse the file"
        )
        yield make_finding("zip/end-record", message, offset=end.end_offset)
    # 4.4.21: "the total number of disks", which is at least 1.
    if end.parts == 0:
        message = "the ZIP64 locator counts 0 parts; expected 1. unzip and bsdtar refuse the file"
        yield make_finding("zip/end-record", message, offset=end.end_offset)
    # 4.3.16: readers search for the signature of the end record from the end of the file backwards.
    if facts.end_in_comment is not None:
        message = (
            "the archive comment contains the signature of an end record; zipfile, unzip and bsdtar read this "
            "record instead of the archive's end record"
        )
        yield make_finding("zip/end-record", message, offset=facts.end_in_comment)
    # 4.3.6 and 4.3.13
    if facts.bytes_after_directory:
        what = "a digital signature of " if facts.is_signed else ""
        message = f"{what}{facts.bytes_after_directory:,} bytes are between the central directory and the end record"
        offset = end.directory_offset + end.directory_size
        yield make_finding("zip/bytes-after-directory", message, offset=offset)


def _check_beginning(facts: ArchiveFacts) -> Iterator[Finding]:
    end = facts.end
    # 4.3.6
    if facts.leading_entries:
        message = f"the file begins with {facts.leading_entries:,} bytes of entries that the directory does not list"
        yield make_finding("zip/leading-entries", message, offset=0)
    # 4.3.6: an archive without entries has nothing but the end record.
    if not len(facts.columns) and end.end_offset:
        message = f"{end.end_offset:,} bytes are before the end record of an archive without entries"
        yield make_finding("zip/prepended-bytes", message, offset=0, severity="warning")


def _check_paths(facts: ArchiveFacts) -> Iterator[Finding]:
    paths = facts.other_paths

    def other_path(entry: int, name: str) -> str:
        path = brief(paths[entry].decode("utf-8", "replace"))
        return f"entry {name!r} has a Unicode Path field that names it {path}; readers use different names"

    # 4.6.9
    yield from each_entry(facts, "zip/unicode-path", sorted(paths), other_path)


def _check_extra_blocks(facts: ArchiveFacts) -> Iterator[Finding]:
    for place, extras in (
        ("local header", facts.local.extras),
        ("header in the central directory", facts.central_extras),
    ):
        # 4.5.1
        yield from each_entry(
            facts,
            "zip/extra-block",
            extras.is_broken.nonzero()[0],
            f"entry {{name!r}}: the extra fields of its {place} do not have their declared length",
        )


def _check_attributes(facts: ArchiveFacts) -> Iterator[Finding]:
    # 4.4.15
    for entries, fault in (
        (facts.folder_values, "a folder according to its attributes, but its name does not end in a slash"),
        (facts.volume_labels, "a volume label according to its attributes, not a file or a folder"),
    ):
        yield from each_entry(facts, "zip/attributes", entries, f"entry {{name!r}} is {fault}")


def _check_flags(facts: ArchiveFacts) -> Iterator[Finding]:
    # 4.4.4: the flags of a local header and of its header in the directory are the same.
    message = "entry {name!r}: its two headers have different flags; 7-Zip refuses the entry"
    yield from each_entry(facts, "zip/local-header", facts.differing_flags, message)
    # 4.4.4, bit 3: readers find the right bytes, because they use the sizes in the directory.
    message = "entry {name!r}: only one of its two headers announces a data descriptor"
    yield from each_entry(facts, "zip/local-header", facts.differing_descriptors, message, "warning")
    # 4.4.4, bit 5
    yield from each_entry(facts, "zip/flags", facts.patched, "entry {name!r} claims to be patch data", "error")
    # 4.4.4
    if len(facts.unknown_flags):
        first = int(facts.unknown_flags[0])
        flags = f"the flags of the first are 0x{int(facts.columns.flags[first]):04X}"
        message = f"{len(facts.unknown_flags):,} entries have undefined flags; {flags}"
        yield make_finding("zip/flags", message, entry=facts.columns.name(first))


def _check_versions(facts: ArchiveFacts) -> Iterator[Finding]:
    versions = facts.versions
    new = (versions > MOST_NEEDED).nonzero()[0]
    # 4.4.3.2
    if len(new):
        most = int(versions.max())
        message = f"{len(new):,} entries require a ZIP version above 4.6, up to {most // 10}.{most % 10}"
        yield make_finding("zip/version-needed", message, entry=facts.columns.name(int(new[0])))
    message = "entry {name!r} needs a reader on VMS; unzip skips the entry"
    yield from each_entry(facts, "zip/version-needed", facts.needs_vms, message)


def each_entry(
    facts: ArchiveFacts,
    identifier: str,
    entries: NDArray[Any] | list[int],
    message: str | Callable[[int, str], str],
    severity: Severity | None = None,
) -> Iterator[Finding]:
    """Yield one finding for each entry; `message` is a template with ``{name}``, or a function of entry and name."""

    def describe(entry: int) -> Finding:
        name = facts.columns.name(entry)
        text = message.format(name=name) if isinstance(message, str) else message(entry, name)
        return make_finding(identifier, text, entry=name, severity=severity)

    if len(entries):
        yield from each(identifier, entries if isinstance(entries, list) else entries.tolist(), describe)

"""Size limits of metadata documents; without limits, parsing a long document could exhaust the memory.

Consolidated metadata of a plate of 384 wells with 4 fields each have some 11,000 nodes, 20 MB and 1,000,000 values. The
memory of a verb that changes a document is some six times the document's length, and has to stay below 200 MB.
"""

from __future__ import annotations

import re

from ozx.errors import FormatError
from ozx.hierarchy.keys import is_legacy_metadata_key, is_metadata_key

#: The longest metadata document, in bytes. Readers check its length before they read or inflate it.
LONGEST_DOCUMENT = 32 << 20
# Shorter documents take little memory, whatever they contain. Only consolidated metadata are longer.
_SHORT = 1 << 20
# A parsed value takes some hundred bytes of memory, a name at its first occurrence twice as much.
_MOST_VALUES = 1_200_000
_MOST_NAMES = 400_000
_MARKS = (b"{", b"[", b",", b":")
_NAME = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:', re.DOTALL)
# Bytes of characters that make Python store the whole text with two or four bytes for each character.
_TWO_BYTES, _FOUR_BYTES = re.compile(rb"[\xc4-\xef]"), re.compile(rb"[\xf0-\xff]")


def check_document_length(length: int, key: str) -> None:
    """Raise an error if a metadata document is too long to be read."""
    if length > LONGEST_DOCUMENT:
        raise FormatError(
            f"{key}: expected metadata of at most {LONGEST_DOCUMENT:,} bytes; found {length:,}",
            rule="zarr/json",
            hint="Remove consolidated metadata, and store large attributes in an array.",
        )


def check_value_length(length: int, key: str) -> None:
    """Raise an error if `key` is a metadata key of Zarr v3 or v2 and its value is too long."""
    if length > LONGEST_DOCUMENT and (is_metadata_key(key) or is_legacy_metadata_key(key)):
        check_document_length(length, key)


class LongDocuments:
    """Limit on the total length of a hierarchy's long documents: those longer than 1 MiB.

    Verbs keep in memory all documents that they change. Even a small file may contain too many: 40 MB of JSON may be
    deflated to 40 KB.
    """

    def __init__(self) -> None:
        self._lengths: dict[str, int] = {}

    def check(self, length: int, key: str) -> None:
        """Raise an error if this value of the metadata key `key` makes the total length of long documents too large."""
        if length <= _SHORT or not (is_metadata_key(key) or is_legacy_metadata_key(key)):
            return
        check_document_length(length, key)
        self._lengths[key] = length
        together = sum(self._lengths.values())
        if together > LONGEST_DOCUMENT:
            found = f"{together:,} in {len(self._lengths):,} documents"
            del self._lengths[key]
            raise FormatError(
                f"{key}: expected metadata of at most {LONGEST_DOCUMENT:,} bytes; found {found}", rule="zarr/json"
            )

    def takes(self, length: int, key: str) -> bool:
        """Return whether a value of this length may be read as metadata.

        If `key` is a metadata key, add the length of the value to the total.
        """
        try:
            check_document_length(length, key)
            self.check(length, key)
        except FormatError:
            return False
        return True


def check_document(data: bytes, key: str) -> None:
    """Raise an error if a parsed metadata document would need too much memory."""
    if len(data) <= _SHORT:
        return
    check_document_length(len(data), key)
    if len(data) > LONGEST_DOCUMENT // 4 and not data.isascii():
        width = 4 if _FOUR_BYTES.search(data) else 2 if _TWO_BYTES.search(data) else 1
        check_document_length(len(data) * width, key)
    values = sum(data.count(mark) for mark in _MARKS)
    if values > _MOST_VALUES:
        raise _too_many(key, _MOST_VALUES, "values", f"about {values:,}")
    if data.count(b":") > _MOST_NAMES:
        names = set()
        for match in _NAME.finditer(data):
            names.add(match[1])
            if len(names) > _MOST_NAMES:
                raise _too_many(key, _MOST_NAMES, "different names", "more")


def _too_many(key: str, most: int, what: str, found: str) -> FormatError:
    return FormatError(f"{key}: expected metadata of at most {most:,} {what}; found {found}", rule="zarr/json")

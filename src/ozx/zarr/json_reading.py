"""Parsing of JSON documents within limits, strictly, and typed access to their values."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from ozx.errors import FormatError, UsageError
from ozx.zarr.keys import is_legacy_metadata_key, is_metadata_key

# Size limits of metadata documents; without limits, parsing a long document could exhaust the memory.
#
# Consolidated metadata of a plate of 384 wells with 4 fields each have some 11,000 nodes, 20 MB and 1,000,000 values.
# The memory of a verb that changes a document is some six times the document's length, and has to stay below 200 MB.

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


def check_text(text: object, what: str) -> str:
    """Return a text that may stand in metadata; `what` it is.

    Zarr core 3.1, "Metadata": documents are UTF-8, which has no surrogates. Python makes surrogates of undecodable
    bytes, as in names of files.
    """
    if not isinstance(text, str):
        raise UsageError(f"expected a text as {what}; got {text!r:.200}")
    if _LONE.search(text):
        raise UsageError(
            f"{what} has half of a character (a surrogate), which UTF-8 cannot hold: {text!a:.200}",
            hint="Decode the name with its right encoding, or leave this character out.",
        )
    return text


# Metadata documents: parsing from JSON bytes, and writing.

Document = dict[str, Any]

_DECODER = json.JSONDecoder()
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parse_document(data: bytes, key: str, decoder: json.JSONDecoder = _DECODER) -> Document:
    """Return the JSON object parsed from the value of the metadata key `key`.

    `FormatError`: The value is too large, not UTF-8, not JSON, or no object (``zarr/json``). Zarr core 3.1, "Metadata
    documents".
    """
    if data.startswith(_BYTE_ORDER_MARK):
        raise FormatError(f"{key}: expected JSON; it begins with a byte order mark", rule="zarr/json")
    check_document(data, key)
    try:
        document = decoder.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(f"{key}: expected JSON in UTF-8; byte {error.start} is not UTF-8", rule="zarr/json") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"{key}: expected JSON; {error.msg} ({where})", rule="zarr/json") from None
    except (RecursionError, ValueError) as error:  # nested too deep; a number of too many digits
        message = f"{key}: expected JSON without deep nesting or very long numbers; {error}"
        raise FormatError(message, rule="zarr/json") from None
    if not isinstance(document, dict):
        raise FormatError(f"{key}: expected a JSON object; found {type(document).__name__}", rule="zarr/json")
    return document


def dump_document(document: Document) -> bytes:
    r"""Return a new metadata document as JSON bytes in the layout of zarr-python: ASCII, two spaces for each level."""
    try:
        return json.dumps(document, indent=2, allow_nan=False).encode("ascii")
    except RecursionError as error:
        raise FormatError(f"expected metadata of limited depth; {error}", rule="zarr/json") from None
    except ValueError as error:  # NaN, Infinity, or a number that Python reads as Infinity: 1e400
        raise FormatError(
            f"expected numbers that JSON can represent; {error}",
            rule="zarr/json",
            hint='Write these numbers as text, "NaN" or "Infinity", or omit them.',
        ) from None


# Detection of JSON that Python accepts but other programs refuse or read differently, for example NaN.

# In UTF-8, only an escape can express half a character.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


#: What JSON forbids in a document or what readers interpret differently, by kind; kinds without faults are missing.
#: ``names``: names that an object repeats; Python, like most readers, takes the last. ``words``: ``NaN``, ``Infinity``
#: and ``-Infinity`` as bare words, which JSON does not have. ``numbers``: numbers beyond the range of a double.
#: ``surrogates``: one text if a string holds half of a character, which cannot be written as UTF-8.
JsonFaults = Mapping[Literal["names", "words", "numbers", "surrogates"], list[str]]


def parse_strictly(data: bytes, key: str) -> tuple[Document, JsonFaults]:
    """Return the JSON object in the value of the metadata key `key`, and its faults."""
    names: list[str] = []
    words: list[str] = []
    numbers: list[str] = []
    document = parse_document(data, key, _noticing(names, words, numbers))
    half = _LONE.search(_all_text(document, key)) if _SURROGATE.search(data) else None
    faults: JsonFaults = {"names": names, "words": words, "numbers": numbers, "surrogates": [half[0]] if half else []}
    return document, {kind: found for kind, found in faults.items() if found}


def _all_text(document: Document, key: str) -> str:
    try:
        return json.dumps(document, ensure_ascii=False)  # parsing made one character of each surrogate pair
    except RecursionError as error:
        raise FormatError(f"{key}: expected JSON of limited depth; {error}", rule="zarr/json") from None


def _noticing(names: list[str], words: list[str], numbers: list[str]) -> json.JSONDecoder:
    """Return a decoder that adds faults to these lists."""

    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return value

    def to_constant(word: str) -> float:
        words.append(word)
        return float(word)

    def to_float(text: str) -> float:
        value = float(text)
        if math.isinf(value):
            numbers.append(text)
        return value

    return json.JSONDecoder(object_pairs_hook=to_object, parse_constant=to_constant, parse_float=to_float)


# Typed access to parsed JSON; values of an unexpected type become None or empty.
#
# Metadata may come from any program: a reader can report a missing value instead of failing.

# Zarr core 3.1 sets no limit; implementations hold lengths in 64-bit signed integers.
_LONGEST = (1 << 63) - 1


def copy_json(value: Any) -> Any:
    """Return a deep copy of a JSON value, at any nesting depth."""
    root = [value]
    waiting: list[dict[str, Any] | list[Any]] = [root]
    while waiting:
        holder = waiting.pop()
        for key, inner in list(holder.items()) if isinstance(holder, dict) else enumerate(holder):
            if isinstance(inner, dict | list):
                holder[key] = inner.copy()  # type: ignore[index]
                waiting.append(holder[key])  # type: ignore[index]
    return root[0]


def as_object(value: Any) -> dict[str, Any]:
    """Return `value` if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return `value` if it is a JSON array, else an empty array."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """Return `value` if it is a non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def as_texts(value: Any) -> tuple[str, ...] | None:
    """Return `value` if it is an array of strings, else None."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return tuple(value)


def as_lengths(value: Any) -> tuple[int, ...] | None:
    """Return `value` if it is an array of lengths (integers from 0 to 2**63 - 1), else None."""
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item <= _LONGEST for item in value):
        return None
    return tuple(value)


def as_numbers(value: Any) -> tuple[float, ...] | None:
    """Return `value` if it is an array of finite numbers, else None.

    Examples
    --------
    >>> as_numbers([1, 0.5]), as_numbers([float("nan")]), as_numbers([10**400])
    ((1.0, 0.5), None, None)
    """
    if not isinstance(value, list):
        return None
    numbers = []
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | float):
            return None
        try:
            number = float(item)
        except OverflowError:
            return None
        if not math.isfinite(number):
            return None
        numbers.append(number)
    return tuple(numbers)


def without_special_numbers(value: Any) -> Any:
    """Return a JSON value in which NaN and infinities are text; `value` itself if it contains none of these.

    Python reads and writes them as bare words, which are no JSON: other readers refuse the whole document.
    """
    try:
        return value if _is_plain(value) else _spell_out(value)
    except RecursionError as error:
        raise FormatError(f"expected metadata of limited depth; {error}", rule="zarr/json") from None


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)  # many times faster than a loop over all values
    except ValueError:
        return False
    return True


def _spell_out(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spell_out(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spell_out(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value

"""Detection of JSON that Python accepts but other programs refuse or read differently, for example NaN."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ozx.errors import FormatError
from ozx.hierarchy.json.documents import Document, parse_document

# In UTF-8, only an escape can express half a character.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class JsonFaults:
    """Features of a document that JSON forbids or that readers interpret differently."""

    # Names that an object repeats; Python, like most readers, takes the last.
    duplicates: list[str] = field(default_factory=list)
    # ``NaN``, ``Infinity`` and ``-Infinity`` as bare words, which JSON does not have.
    specials: list[str] = field(default_factory=list)
    # Numbers beyond the range of a double.
    huge: list[str] = field(default_factory=list)
    # Whether a string holds half of a character, which cannot be written as UTF-8.
    has_lone_surrogate: bool = False

    def __bool__(self) -> bool:
        return bool(self.duplicates or self.specials or self.huge or self.has_lone_surrogate)


def parse_strictly(data: bytes, key: str) -> tuple[Document, JsonFaults]:
    """Return the JSON object in the value of the metadata key `key`, and its faults."""
    faults = JsonFaults()
    document = parse_document(data, key, _noticing(faults))
    if _SURROGATE.search(data):
        faults.has_lone_surrogate = _LONE.search(_all_text(document, key)) is not None
    return document, faults


def _all_text(document: Document, key: str) -> str:
    try:
        return json.dumps(document, ensure_ascii=False)  # parsing made one character of each surrogate pair
    except RecursionError as error:
        raise FormatError(f"{key}: expected JSON of limited depth; {error}", rule="zarr/json") from None


def _noticing(faults: JsonFaults) -> json.JSONDecoder:
    def to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            faults.duplicates += [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        return value

    def to_constant(word: str) -> float:
        faults.specials.append(word)
        return float(word)

    def to_float(text: str) -> float:
        value = float(text)
        if math.isinf(value):
            faults.huge.append(text)
        return value

    return json.JSONDecoder(object_pairs_hook=to_object, parse_constant=to_constant, parse_float=to_float)

"""Metadata documents with arbitrary changes, drawn by Hypothesis.

tests/hostile/mutations.py makes more of them with a random generator.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cases.documents import FILES
from hypothesis import strategies as st

_Place = tuple[str | int, ...]

NUMBERS = (0, -1, 1 << 63, 10**400, 0.5, 1.5, float("nan"), float("inf"))
TEXTS = ("", "x", "/", "a/b", "../..", "0.5", "NaN", "\ud800", "x" * 10_000)
CONTAINERS = ([], {}, [[]], [None], [{}], {"path": 7}, ["x"] * 40, {"": {"": {}}})
CONTAINERS += (["x" * 10_000] * 3, {"y" * 10_000: 1})
# What transformations of OME-Zarr 0.6 consist of.
CONTAINERS += ([[1, 2], [3, 4]], {"name": "physical"}, {"path": "0"}, {"type": "scale"}, {"type": "byDimension"})
ODD = st.sampled_from([None, True, False, *NUMBERS, *TEXTS, *CONTAINERS])
KEYS = st.text(max_size=3)
VALUES = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


def documents_of_cases(*prefixes: str, kinds: Sequence[str] = ("fails", "passes")) -> list[dict[str, Any]]:
    """Return the documents of the cases of rules with these prefixes, if all documents of a case are JSON objects."""
    return [
        case["documents"]
        for rule, file in FILES.items()
        if rule.startswith(prefixes or "")
        for kind in kinds
        for case in file[kind]
        if all(isinstance(document, dict) for document in case["documents"].values())
    ]


def places_in(value: Any, path: _Place = ()) -> Iterator[_Place]:
    """Yield the path of every value in documents; a value comes before the values inside it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places_in(item, (*path, key))


def _holder(documents: Any, place: _Place) -> Any:
    for step in place[:-1]:
        documents = documents[step]
    return documents


def as_stored(documents: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the documents as bytes of files."""
    return {key: json.dumps(document).encode("utf-8", "surrogatepass") for key, document in documents.items()}


@st.composite
def changed(draw: st.DrawFn, documents: st.SearchStrategy[dict[str, Any]], most: int = 4) -> dict[str, Any]:
    """Draw documents of which up to `most` values are replaced, removed, renamed or put into a list."""
    found = copy.deepcopy(draw(documents))
    for _ in range(draw(st.integers(1, most))):
        place = draw(st.sampled_from(list(places_in(found))))
        holder, last = _holder(found, place), place[-1]
        how = draw(st.sampled_from(["replace", "remove", "rename", "nest"]))
        if how == "remove":
            del holder[last]
        elif how == "rename" and isinstance(holder, dict):
            name = draw(st.text(max_size=8)) if len(place) > 1 else f"{draw(KEYS)}/{last}"
            holder[name] = holder.pop(last)
        elif how == "nest":
            holder[last] = [holder[last]]
        else:
            holder[last] = copy.deepcopy(draw(VALUES))  # copied, so that no list contains itself
        if not found:
            return {"zarr.json": {}}
    return found

"""Kinds of Zarr extension names: registered names, unregistered names and URIs (Zarr core 3.1, ZEP 9)."""

from __future__ import annotations

import functools
import json
import os
import re
from typing import Any, Literal

#: ``raw``: as in Zarr core 3.1; ``loose``: allowed by ZEP 9 only; ``uri``: the form before 3.1; ``none``: any other.
NameKind = Literal["raw", "loose", "uri", "none"]

# Zarr core 3.1, "Extension naming"; ZEP 9 (draft of 2025-01-21), "Extension naming".
_RAW = re.compile(r"[a-z][a-z0-9\-_.]+")
_LOOSE = re.compile(r"[a-z0-9\-_.]+")
_HTTP = re.compile(r"https?://[^/?#]+[^?#]*")
# Before 3.1 a name had to be a URI, whatever its scheme: RFC 3986, 3.1.
_URI = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:\S+")
# "r followed by the number of bits" is a family of names.
_RAW_BITS = re.compile(r"r[0-9]+")


def name_kind(name: str) -> NameKind:
    """Return the kind of an extension's name: registered, unregistered or URI.

    Examples
    --------
    >>> [name_kind(name) for name in ("zstd", "4bit", "https://example.com/zarr/string", "urn:example:time", "Foo/Bar")]
    ['raw', 'loose', 'uri', 'uri', 'none']
    """
    if _RAW.fullmatch(name):
        return "raw"
    if _LOOSE.fullmatch(name):
        return "loose"
    return "uri" if _HTTP.fullmatch(name) or _URI.fullmatch(name) else "none"


def is_listed(point: str, name: str) -> bool:
    """Return whether a name is part of the Zarr core or is registered for an extension point.

    Examples
    --------
    >>> is_listed("codecs", "zstd"), is_listed("codecs", "numcodecs.bz2"), is_listed("data_type", "r16")
    (True, False, True)
    """
    return name in _names(point) or (point == "data_type" and _RAW_BITS.fullmatch(name) is not None)


def registry_date() -> str:
    """Return the month in which the list of registered names was copied."""
    return str(_registry()["date"])


@functools.cache
def _names(point: str) -> frozenset[str]:
    return frozenset(_registry().get(point, ()))


@functools.cache
def _registry() -> dict[str, Any]:
    # importlib.resources would load zipfile, which takes as long as all the rest of `ozx info`.
    with open(os.path.join(os.path.dirname(__file__), "registered_names.json"), encoding="utf-8") as file:
        registry: dict[str, Any] = json.load(file)
    return registry

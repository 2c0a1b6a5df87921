"""The archive comment: a JSON object that names the OME-Zarr version.

RFC-9 (R2, 2026-04-20): "The ZIP archive comment SHOULD contain a UTF-8-encoded JSON string with an ome attribute
that holds a version key"; ``ome.zipFile.centralDirectory.jsonFirst`` promises that all ``zarr.json`` come first.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["Comment", "make_comment", "parse_comment"]


@dataclass(frozen=True, slots=True)
class Comment:
    """A parsed archive comment."""

    # ``ome.version``, or None.
    version: str | None
    # Whether it promises that a reader may stop at the first entry that is no ``zarr.json``.
    json_first: bool
    # The whole JSON object, or None.
    document: dict[str, Any] | None
    # Whether NUL bytes follow the JSON, as tools of 2025 wrote.
    has_trailing_nul: bool
    problem: str | None


def make_comment(version: str, *, json_first: bool) -> bytes:
    """Return the comment that ozx writes."""
    ome: dict[str, Any] = {"version": version}
    if json_first:
        ome["zipFile"] = {"centralDirectory": {"jsonFirst": True}}
    return json.dumps({"ome": ome}, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def parse_comment(data: bytes) -> Comment:
    """Parse a comment; never raises an error: `problem` describes faults.

    Examples
    --------
    >>> parse_comment(b"made by hand").problem
    'it is not JSON'
    """
    text = data.rstrip(b"\0")
    has_nul = text != data
    if not text:
        return Comment(None, json_first=False, document=None, has_trailing_nul=has_nul, problem="it is empty")
    try:
        document = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return Comment(None, json_first=False, document=None, has_trailing_nul=has_nul, problem="it is not JSON")
    ome = document.get("ome") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(ome, dict):
        known = document if isinstance(document, dict) else None
        return Comment(None, json_first=False, document=known, has_trailing_nul=has_nul, problem="it has no ome object")
    version = ome.get("version")
    problem = None if isinstance(version, str) else "ome.version is missing or no string"
    flag: Any = ome
    for name in ("zipFile", "centralDirectory", "jsonFirst"):
        flag = flag.get(name) if isinstance(flag, dict) else None
    if flag is not None and not isinstance(flag, bool):
        problem = problem or "ome.zipFile.centralDirectory.jsonFirst is no boolean"
    return Comment(
        version if isinstance(version, str) else None,
        json_first=flag is True,
        document=document,
        has_trailing_nul=has_nul,
        problem=problem,
    )

"""The archive comment: a JSON object that names the OME-Zarr version.

RFC-9 (R2, 2026-04-20): "The ZIP archive comment SHOULD contain a UTF-8-encoded JSON string with an ome attribute
that holds a version key"; ``ome.zipFile.centralDirectory.jsonFirst`` promises that all ``zarr.json`` come first.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import Any

from ozx.errors import OzxWarning
from ozx.zarr.json_reading import as_object

# 4.4.12: the length is a field of two bytes.
_LONGEST = 65_535


@dataclass(frozen=True, slots=True)
class Comment:
    """A parsed archive comment."""

    # ``ome.version``, or None.
    version: str | None
    # Whether the comment promises that a reader may stop at the first entry that is no ``zarr.json``.
    json_first: bool
    # The whole JSON object, or None.
    document: dict[str, Any] | None
    # Whether NUL bytes follow the JSON; tools of 2025 wrote them.
    has_trailing_nul: bool
    problem: str | None
    # Keys below ``ome`` that RFC-9 does not define.
    unknown: tuple[str, ...] = ()


def make_comment(version: str, *, json_first: bool, old: bytes = b"") -> bytes:
    """Return a new archive comment.

    Keys of other programs, except ``ome``, are copied from the `old` comment.

    RFC-9, the authors' revision: other keys at the top are allowed. If the comment would be too long with these
    keys, all of them are left out.
    """
    ome: dict[str, Any] = {"version": version}
    if json_first:
        ome["zipFile"] = {"centralDirectory": {"jsonFirst": True}}
    others = {key: value for key, value in (parse_comment(old).document or {}).items() if key != "ome"}
    made = _dump({"ome": ome, **others})
    return made if len(made) <= _LONGEST else _dump({"ome": ome})


def _dump(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def parse_comment(data: bytes) -> Comment:
    """Parse an archive comment. Faults raise no error; `problem` of the result describes them."""
    text = data.rstrip(b"\0")
    document, problem = None, None
    try:
        document = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        problem = "it is not JSON" if text else "it is empty"
    value = as_object(document).get("ome")
    ome = as_object(value)
    zip_file = as_object(ome.get("zipFile"))
    directory = as_object(zip_file.get("centralDirectory"))
    version, flag = ome.get("version"), directory.get("jsonFirst")
    defined = (
        ("ome", ome, {"version", "zipFile"}),
        ("ome.zipFile", zip_file, {"centralDirectory"}),
        ("ome.zipFile.centralDirectory", directory, {"jsonFirst"}),
    )
    if not isinstance(value, dict):
        problem = problem or "it has no ome object"
    elif not isinstance(version, str):
        problem = "ome.version is missing or not a string"
    elif flag is not None and not isinstance(flag, bool):
        problem = "ome.zipFile.centralDirectory.jsonFirst is not a boolean"
    return Comment(
        version if isinstance(version, str) else None,
        json_first=flag is True,
        document=document if isinstance(document, dict) else None,
        has_trailing_nul=text != data,
        problem=problem,
        unknown=tuple(f"{at}.{key}" for at, found, known in defined for key in sorted(found.keys() - known)),
    )


def warn_of_unknown_keys(comment: Comment, name: str) -> None:
    """Warn of an archive comment with keys that ozx does not understand; `name` is the path or URL of the archive.

    RFC-9, the authors' first response: readers must understand every key below ``ome``, so that a later key can change
    the meaning of the file, for example by naming another root.
    """
    if comment.unknown:
        keys = ", ".join(comment.unknown[:5])
        message = (
            f"{name}: the archive comment has keys that ozx does not understand: {keys}; they may change the meaning "
            "of the file. ozx ignores them, and leaves them out of files that it writes"
        )
        warnings.warn(message, OzxWarning, stacklevel=1)  # one warning of a file, however often it is opened

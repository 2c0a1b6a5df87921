"""Hints for a path at which no file exists, the file that the user may have meant; or at which none can be written."""

from __future__ import annotations

import itertools
import os
import re

from ozx.quoting import quote

# The most names of a folder that are compared with the missing name: a large folder must not delay an error message.
_MOST_NAMES = 2000
_TIFF = (".tif", ".tiff")
_PATTERN = re.compile(r"[*?\[]")
# A URL that was converted to a `pathlib.Path`.
_SHORTENED_URL = re.compile(r"(^|[/\\])(https?|s3|gs|az):[/\\](?![/\\])")


def hint_at_missing(path: str) -> str | None:
    """Return a hint for a missing file, or None if there is no hint."""
    if _SHORTENED_URL.search(path):
        return "Give a URL as text: a Path drops one of its slashes."
    return _hint_at_partial(path) or hint_at_pattern(path) or _hint_at_similar(path)


def hint_at_folder(path: str) -> str | None:
    """Return the hint for a path in a folder that lets nobody write; None if something else is forbidden."""
    folder = os.path.dirname(path) or os.curdir
    is_readable = os.access(folder, os.R_OK | os.X_OK) and (not os.path.exists(path) or os.access(path, os.R_OK))
    if not is_readable or os.access(folder, os.W_OK):
        return None
    return (
        f"You cannot write to the folder {folder}: name an output elsewhere. To change a file, copy it elsewhere first."
    )


def is_pattern(path: str) -> bool:
    """Return whether a path has characters that a shell would expand."""
    return _PATTERN.search(path) is not None


def hint_at_pattern(path: str) -> str | None:
    """Return the hint for a missing path that is a pattern for existing files; None for other paths."""
    if not is_pattern(path):
        return None
    import glob  # noqa: PLC0415 (only this error needs it)

    found = sorted(glob.glob(path))
    if not found or os.name == "nt":
        return f"These names match, give one: {', '.join(found[:3])}" if found else None
    parts = [part if is_pattern(part) else quote(part) if part else "" for part in path.split(os.sep)]
    return f"ozx does not expand patterns. In a shell, write the pattern outside of quotes: {os.sep.join(parts)}"


def _hint_at_partial(path: str) -> str | None:
    """Return the hint for a missing file whose writer left ``NAME.partial``."""
    partial = f"{path}.partial"
    if not os.path.exists(partial):
        return None
    quoted = quote(partial)
    return (
        f"A program is writing it, or was killed while writing it. After a kill, ozx recover {quoted} OUT.ozx saves "
        "the data. ozx view --live and ozx.open(…, live=True) show a stream that is not finished."
    )


def _hint_at_similar(path: str) -> str | None:
    """Return the hint for a missing path if a similar name exists in the same folder."""
    folder, name = os.path.split(path.rstrip(os.sep))
    if not name:
        return None
    try:
        with os.scandir(folder or os.curdir) as items:
            names = [item.name for item in itertools.islice(items, _MOST_NAMES) if not item.name.startswith(".")]
    except OSError:
        return None
    import difflib  # noqa: PLC0415 (only this error needs it)

    # Linux distinguishes capitals, and they are the likeliest difference. Then come other or forgotten endings, and
    # similar names.
    same = [other for other in names if other.lower() == name.lower()]
    if not same and (whole := sorted(other for other in names if other.startswith(f"{name} "))):
        return f"Put a name with blanks in quotes: {quote(os.path.join(folder, whole[0]))}"
    begin = f"{name.partition('.')[0].lower()}."
    endings = sorted(other for other in names if other.lower().startswith(begin))
    longer = sorted(other for other in names if other.startswith(f"{name}."))
    near = (
        same
        or longer[:3]
        or list(dict.fromkeys([*endings[:2], *difflib.get_close_matches(name, names, 2, cutoff=0.8)]))
    )
    if not near:
        return None
    if folder == os.getcwd():  # some paths were made absolute; the given one is shorter
        folder = ""
    images = [other for other in near if other.lower().endswith(_TIFF)]
    if images == near and not name.lower().endswith(_TIFF):
        return f"To convert the TIFF image, run: ozx import {quote(os.path.join(folder, near[0]))}"
    return f"Did you mean {' or '.join(os.path.join(folder, other) for other in near)}?"

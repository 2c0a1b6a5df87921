"""cat: read one value by its key."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

from ozx.archive.names.decoding import name_fault
from ozx.calls import public_call
from ozx.errors import UsageError, resource_errors
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, Item, open_view
from ozx.places.place import Place

# The most keys that a missing key is compared with, which takes a tenth of a second.
_MOST_COMPARED = 2_000
_SHOWN = 3


@public_call()
def read_value(path: str | os.PathLike[str], key: str, *, node: str = "") -> Iterator[bytes]:
    """Return the value of `key` in blocks of about 1 MiB, decompressed if necessary.

    Parameters
    ----------
    path
        An ``.ozx`` file, another ZIP file, a URL of one, or a directory; or a node such as
        ``cells.ozx/labels/cells``.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.
    key
        A store key, as ``ozx ls`` shows it for the same place: relative to the node.

    Raises
    ------
    UsageError
        There is no such node, or no such key; the hint names similar ones.
    FormatError
        The archive is damaged. A wrong CRC-32 (``zip/crc``) is detected only after the last block.
    UnsupportedError
        The entry is encrypted, or compressed by an unsupported method.
    ResourceError
        `path` does not exist or cannot be read.

    Examples
    --------
    >>> import os, tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.zip")
    ...     with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
    ...         archive.writestr("zarr.json", "{}")
    ...     b"".join(read_value(path, "zarr.json"))
    b'{}'
    """
    place = Place.parse(path, node)
    name, view = place.name, open_view(place)
    if not isinstance(key, str):
        raise UsageError(f"expected a key as a text; got {key!r}", path=name, hint="ozx ls lists the keys.")
    fault = name_fault(key) if isinstance(view, DirectoryView) else None
    if fault is not None:
        raise UsageError(f"{key!r} is not a key: {fault}", path=name)
    item = view.find(key)
    if item is None:
        raise UsageError(f"it has no key {key!r}", path=name, hint=_hint(view, key))
    return _iter_value(view, item)


def _iter_value(view: ArchiveView | DirectoryView, item: Item) -> Iterator[bytes]:
    with resource_errors():
        yield from view.iter_value(item)


def _hint(view: ArchiveView | DirectoryView, key: str) -> str:
    """Return a hint for a missing key: the keys below it, or keys with a similar spelling."""
    below, beside = key.strip("/") + "/", key.rpartition("/")[0] + "/"
    children: list[str] = []
    siblings: list[str] = []
    others: list[str] = []
    for item in view.iter_items():
        if item.key.startswith(below):
            children.append(item.key)
            if len(children) == _SHOWN:
                return f"This key is a folder, not a value; the folder contains {', '.join(children)}, for instance."
        found = siblings if item.key.startswith(beside) else others
        if len(found) < _MOST_COMPARED:
            found.append(item.key)
    if children:
        return f"This key is a folder, not a value; the folder contains {' and '.join(children)}."
    alike = difflib.get_close_matches(key, siblings, _SHOWN) or difflib.get_close_matches(key, others, _SHOWN)
    return f"Did you mean {' or '.join(alike)}?" if alike else "ozx ls lists the keys."

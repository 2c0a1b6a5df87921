"""Digests of the values of a hierarchy, computed without unpacking: the lines of sha256sum, DANDI's tree checksum."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from ozx.calls import public_call
from ozx.errors import UsageError, resource_errors
from ozx.flow.sinks.manifest import sha256_line
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, open_view
from ozx.places.place import Place
from ozx.zarr.keys import paths_above

DIGESTS = ("sha256sum", "zarr-checksum")


@public_call()
def iter_digests(path: str | os.PathLike[str], kind: str, *, node: str = "") -> Iterator[str]:
    """Return the lines that a program for checksums prints for the directory to which a file would be unpacked.

    `kind`: ``sha256sum``, one line for each value, which ``sha256sum -c`` takes in the directory; or
    ``zarr-checksum``, the one line by which DANDI names a Zarr hierarchy.
    """
    if kind not in DIGESTS:
        raise UsageError(f"expected the digests {' or '.join(DIGESTS)}; got {kind!r}")
    view = open_view(Place.parse(path, node))
    return _iter_sha256(view) if kind == DIGESTS[0] else iter([_zarr_checksum(view)])


def _iter_values(view: ArchiveView | DirectoryView, algorithm: str) -> Iterator[tuple[str, int, str]]:
    """Yield the key, length and digest of each value; each is checked against its CRC-32."""
    with resource_errors():
        for item in view.iter_items():
            if item.key.endswith("/"):
                continue  # an entry that stands for a folder
            digest, size = hashlib.new(algorithm, usedforsecurity=False), 0
            for block in view.iter_value(item):
                digest.update(block)
                size += len(block)
            yield item.key, size, digest.hexdigest()


def _iter_sha256(view: ArchiveView | DirectoryView) -> Iterator[str]:
    for key, _, digest in _iter_values(view, "sha256"):
        yield sha256_line(key, digest)


def _zarr_checksum(view: ArchiveView | DirectoryView) -> str:
    """Return DANDI's checksum: the MD5 of the list of what the root contains, each folder with its own checksum."""
    files: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    folders: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for key, size, digest in _iter_values(view, "md5"):
        folder, _, name = key.rpartition("/")
        files[folder].append({"digest": digest, "name": name, "size": size})
        counts[folder] += 1
    below = {folder for each in files for folder in (each, *paths_above(each))} - {""}
    for folder in sorted(below, key=lambda path: path.count("/"), reverse=True):
        above, _, name = folder.rpartition("/")
        digest, size = _of_folder(folders[folder], files[folder], counts[folder])
        folders[above].append({"digest": digest, "name": name, "size": size})
        counts[above] += counts[folder]
    return _of_folder(folders[""], files[""], counts[""])[0]


def _of_folder(folders: list[dict[str, Any]], files: list[dict[str, Any]], count: int) -> tuple[str, int]:
    """Return the checksum of a folder with `count` files in and below it, and their length."""
    lists = {"directories": folders, "files": files}
    for each in lists.values():
        each.sort(key=lambda one: str(one["name"]))
    size = sum(one["size"] for each in lists.values() for one in each)
    text = json.dumps(lists, separators=(",", ":")).encode("ascii")
    return f"{hashlib.md5(text, usedforsecurity=False).hexdigest()}-{count}--{size}", size

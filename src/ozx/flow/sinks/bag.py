"""Make a BagIt bag (RFC 8493) of a folder ``data``: tag files beside it, with the SHA-256 of every file."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Iterator

_PAYLOAD = "data"

_DECLARATION = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_MANIFEST = "manifest-sha256.txt"


def make_payload(bag: str, name: str) -> str:
    """Make the folder `name` of the payload in the folder `bag`, and return its path."""
    path = os.path.join(bag, _PAYLOAD, name)
    os.makedirs(path)
    return path


def write_tag_files(bag: str) -> None:
    """Write the tag files of the bag in the folder `bag`, whose payload is complete.

    There is no date, so that the same file becomes the same bag.
    """
    files = {key: os.path.join(bag, key) for key in _keys(bag)}
    size = sum(map(os.path.getsize, files.values()))
    agent = f"ozx {importlib.import_module('ozx').__version__}"
    texts = {
        "bagit.txt": _DECLARATION,
        # RFC 8493, 2.2.2: Payload-Oxum is the number of bytes and of files.
        "bag-info.txt": f"Bag-Software-Agent: {agent}\nPayload-Oxum: {size}.{len(files)}\n",
        _MANIFEST: "".join(_line(key, _sha256(path)) for key, path in files.items()),
    }
    texts["tagmanifest-sha256.txt"] = "".join(
        _line(name, hashlib.sha256(text.encode()).hexdigest()) for name, text in texts.items()
    )
    for name, text in texts.items():
        with open(os.path.join(bag, name), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _keys(bag: str) -> Iterator[str]:
    """Yield the payload's files, with slashes, in a fixed order."""
    for folder, folders, names in os.walk(os.path.join(bag, _PAYLOAD)):
        folders.sort()
        below = os.path.relpath(folder, bag).replace(os.sep, "/")
        yield from (f"{below}/{name}" for name in sorted(names))


def _line(key: str, digest: str) -> str:
    # RFC 8493, 2.1.3: a line feed, a carriage return and a per cent sign are percent-encoded, nothing else.
    escaped = key.replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")
    return f"{digest}  {escaped}\n"


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

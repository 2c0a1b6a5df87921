"""Write and read what stands beside an archive: the manifest, with the SHA-256 of every value, and ``.sha256``."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from ozx.atomic.renaming import CHECKSUM_ENDING, MANIFEST_ENDING
from ozx.errors import ResourceError, UsageError
from ozx.file_changes import mark_of
from ozx.flow.entry import Entry
from ozx.flow.sinks.output import Output
from ozx.places.byte_source import iter_exactly
from ozx.places.place import Place

#: The name of the manifest that previews of ozx wrote into an archive, as its last entry; it is still read.
MANIFEST_KEY = "ozx-manifest.json"

_SCHEMA = 1
_DIGEST = re.compile(r"[0-9a-f]{64}")


#: The length and the SHA-256 of a value, and the modification time of its source file in nanoseconds since 1970: None
#: if the value is no copy of a file.
Listed = tuple[int, str, int | None]


#: The values of an archive by key, in the order of the archive, recorded while they are written.
Manifest = dict[str, Listed]


def hashed(entry: Entry, manifest: Manifest, root: str | None) -> Iterator[bytes]:
    """Yield the blocks of an entry, and record the entry after its last block.

    `root` is the directory of which the entries are copies, if they are.
    """
    digest, size = hashlib.sha256(), 0
    changed = None if root is None else time_of_copy(os.path.join(root, entry.key), entry.size)
    for block in entry.iter_blocks():
        digest.update(block)
        size += len(block)
        yield block
    manifest[entry.key] = size, digest.hexdigest(), changed


def time_of_copy(path: str, size: int) -> int | None:
    """Return the modification time of the file of which a value of `size` bytes is a copy; None if it is no copy."""
    try:
        length, time = mark_of(os.stat(path))
    except FileNotFoundError:
        return None
    return time if length == size else None


def _encode_manifest(manifest: Manifest, source: str, archive: str) -> bytes:
    """Return the manifest document of the archive at the path `archive`, packed from the directory `source`."""
    # Written by hand, because an encoder call for each of a million small values takes longer than hashing them.
    values = (
        f'{{"key": {json.dumps(key)}, "bytes": {size}, "sha256": "{digest}", '
        f'"mtime_ns": {"null" if changed is None else changed}}}'
        for key, (size, digest, changed) in manifest.items()
    )
    head = {"schema": _SCHEMA, "file": os.path.basename(archive), "source": Place(source).full_path()}
    version = importlib.import_module("ozx").__version__
    return _document({**head, "version": version}, ",\n".join(values))


def write_manifest(output: Output, source: str, manifest: Manifest) -> str:
    """Write ``NAME.manifest.json`` beside an output, and return its SHA-256 in hexadecimal digits."""
    document = _encode_manifest(manifest, source, output.path)
    output.beside(MANIFEST_ENDING).write_small(document)
    return hashlib.sha256(document).hexdigest()


def renewed_manifest(document: bytes, values: Mapping[str, bytes]) -> bytes:
    """Return a manifest in which the lines of changed `values` are renewed.

    A renewed line keeps the old length and digest, and the time of the change, in the list ``earlier``.
    """
    content, now = json.loads(document), datetime.now(UTC).isoformat(timespec="seconds")
    for value in content["values"]:
        new = values.get(value["key"])
        if new is None or (digest := hashlib.sha256(new).hexdigest()) == value["sha256"]:
            continue
        old = {"bytes": value["bytes"], "sha256": value["sha256"], "until": now}
        value |= {"bytes": len(new), "sha256": digest, "mtime_ns": None, "earlier": [*value.get("earlier", []), old]}
    lines = ",\n".join(map(json.dumps, content.pop("values")))
    return _document(content, lines)


def _document(head: Mapping[str, Any], lines: str) -> bytes:
    """Return the document of a manifest.

    One value per line: line tools can read it, and a comparison of two manifests shows the values that differ.
    """
    return (json.dumps(head)[:-1] + f', "values": [\n{lines}\n]}}\n').encode("ascii")


def is_manifest_of(path: str, source: str) -> bool:
    """Return whether the manifest at `path` exists and names `source` as the packed directory."""
    try:
        with open(path, "rb") as file:
            return bool(json.load(file)["source"] == os.path.abspath(source))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return False


def parse_manifest(document: bytes, path: str) -> Manifest:
    """Parse a manifest; return its values by key; `path` names the manifest in errors."""
    try:
        return dict(_values(json.loads(document)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(
            f"expected a manifest of ozx, schema {_SCHEMA}; found another document",
            path=path,
            hint="`ozx pack --manifest` writes one.",
        ) from error


def _values(content: Any) -> Iterator[tuple[str, Listed]]:
    if content["schema"] != _SCHEMA:
        raise ValueError(content["schema"])
    for value in content["values"]:
        key, size, digest, changed = (value[name] for name in ("key", "bytes", "sha256", "mtime_ns"))
        if not (isinstance(key, str) and isinstance(size, int) and _DIGEST.fullmatch(digest)):
            raise ValueError(value)
        yield key, (size, digest, changed)


def sha256_of(place: Place) -> str:
    """Return the SHA-256 of a file or object in hexadecimal; an object is downloaded for this."""
    digest = hashlib.sha256()
    with closing(place.open()) as source:
        for block in iter_exactly(source, 0, source.size(), "the file"):
            digest.update(block)
    return digest.hexdigest()


def read_checksum_file(place: Place) -> str:
    """Return the digest in a checksum file."""
    text = place.read_small(4096)
    digest = text[1 if text.startswith(b"\\") else 0 :][:64].decode("ascii", "replace").lower()
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise UsageError(
            "expected a line in the format of sha256sum; found other content",
            path=place.name,
            hint="Remove the checksum file, or write it again.",
        )
    return digest


def check_checksum_file(place: Place) -> str:
    """Compare a file with the digest in ``NAME.sha256`` beside it; return the digest."""
    checksum = place.beside(CHECKSUM_ENDING)
    digest, found = read_checksum_file(checksum), sha256_of(place)
    if digest != found:
        raise ResourceError(
            f"expected the SHA-256 {digest}, from {os.path.basename(checksum.name)}; found {found}",
            path=place.name,
            hint="The file or its checksum was damaged or changed: pack the source again with force=True.",
        )
    return found


def write_checksum_file(output: Output, digest: str, *, sync_name: bool = True) -> None:
    """Write ``NAME.sha256`` beside an output, with the line that ``sha256sum`` prints for the file."""
    line = f"{sha256_line(os.path.basename(output.path), digest)}\n"
    output.beside(CHECKSUM_ENDING).write_small(os.fsencode(line), sync_name=sync_name)


def sha256_line(name: str, digest: str) -> str:
    """Return the line that ``sha256sum`` prints for a file.

    As with `sha256sum`, backslashes and line breaks in the name are escaped, and the line then begins with a backslash.
    """
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return ("\\" if escaped != name else "") + f"{digest}  {escaped}"

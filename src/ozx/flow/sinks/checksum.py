"""Write and check the checksum file of an archive, in the format of ``sha256sum -c``."""

from __future__ import annotations

import hashlib
import os
from contextlib import closing

from ozx.archive.byte_source import iter_exactly
from ozx.atomic.renaming import CHECKSUM_ENDING
from ozx.errors import ResourceError, UsageError
from ozx.flow.sinks.output import write_small
from ozx.flow.sources.location import Place, printable_location


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file or object in hexadecimal; an object is downloaded for this."""
    if not Place(path).is_remote:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    with closing(Place(path).open()) as source:
        for block in iter_exactly(source, 0, source.size(), "the object"):
            digest.update(block)
    return digest.hexdigest()


def read_checksum_file(path: str) -> str:
    """Return the digest in the checksum file at `path`."""
    with closing(Place(path).open()) as source:
        text = source.read_at(0, 4096)
    digest = text[1 if text.startswith(b"\\") else 0 :][:64].decode("ascii", "replace").lower()
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise UsageError(
            "expected a line in the format of sha256sum; found other content",
            path=printable_location(path),
            hint="Remove the checksum file, or write it again.",
        )
    return digest


def check_checksum_file(path: str, checksum: str | None = None) -> str:
    """Compare the file at `path` with the digest in ``PATH.sha256``, or in the file `checksum`; return the digest."""
    checksum = path + CHECKSUM_ENDING if checksum is None else checksum
    digest, found = read_checksum_file(checksum), sha256_of(path)
    if digest != found:
        raise ResourceError(
            f"expected the SHA-256 {digest}, from {os.path.basename(printable_location(checksum))}; found {found}",
            path=printable_location(path),
            hint="The file or its checksum was damaged or changed: pack the source again with --force.",
        )
    return found


def write_checksum_file(path: str, digest: str, *, sync: bool, sync_name: bool = True) -> None:
    """Write ``PATH.sha256`` with the line that ``sha256sum`` prints for the file.

    As with `sha256sum`, backslashes and line breaks in the name are escaped, and the line then begins with a backslash.
    """
    name = os.path.basename(path)
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    line = ("\\" if escaped != name else "") + f"{digest}  {escaped}\n"
    write_small(path + CHECKSUM_ENDING, os.fsencode(line), sync=sync, sync_name=sync_name)

"""Write and check the checksum file of an archive, in the format of ``sha256sum -c``."""

from __future__ import annotations

import hashlib
import os
from contextlib import closing

from ozx.archive.byte_source import iter_exactly
from ozx.atomic.renaming import CHECKSUM_ENDING
from ozx.errors import ResourceError, UsageError
from ozx.flow.sinks.output import Output
from ozx.flow.sources.location import Place


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
    """Write ``NAME.sha256`` beside an output, with the line that ``sha256sum`` prints for the file.

    As with `sha256sum`, backslashes and line breaks in the name are escaped, and the line then begins with a backslash.
    """
    name = os.path.basename(output.path)
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    line = ("\\" if escaped != name else "") + f"{digest}  {escaped}\n"
    output.beside(CHECKSUM_ENDING).write_small(os.fsencode(line), sync_name=sync_name)

"""The checksum file of an archive, for ``sha256sum -c``."""

from __future__ import annotations

import hashlib
import os

from ozx.atomic.new_file import replacing_file

__all__ = ["sha256_of", "write_checksum_file"]


def sha256_of(path: str) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_checksum_file(path: str, digest: str, *, sync: bool) -> None:
    """Write ``PATH.sha256`` with the line that ``sha256sum`` prints in the file's folder.

    As with `sha256sum`, backslashes and line breaks in the name are escaped, and the line then begins with a backslash.
    """
    name = os.path.basename(path)
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    line = ("\\" if escaped != name else "") + f"{digest}  {escaped}\n"
    with replacing_file(path + ".sha256", force=True, sync=sync) as new:
        os.write(new.descriptor, os.fsencode(line))

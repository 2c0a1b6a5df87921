"""Comparison of the bytes of remote objects with ETags that are the MD5 of their object."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping

from ozx.errors import ResourceError

_MD5 = re.compile("[0-9a-f]{32}", re.IGNORECASE)
# After this many objects with ETags that are no MD5, no more are compared: each costs a second read.
_MOST_OTHERS = 3
_ENCRYPTION = "x-amz-server-side-encryption"


class ETags:
    """The ETags below one URL, some of which are the MD5 of their object.

    `ask` returns the headers of an object, given its key; none if they cannot be read. S3 makes other ETags for uploads
    in parts, which contain a hyphen, and for objects with the encryption SSE-KMS or SSE-C, which only headers tell.
    """

    def __init__(self, ask: Callable[[str], Mapping[str, str]]) -> None:
        self._ask = ask
        self._agree = False
        self._others = 0
        self._doubtful = ""  # an object that must have an MD5, if any object has

    def covers(self, tag: str) -> bool:
        """Return whether an ETag may be an MD5."""
        return self._others < _MOST_OTHERS and _MD5.fullmatch(tag) is not None

    def check(self, tag: str, key: str, name: str, read: bytes, again: Callable[[], bytes]) -> None:
        """Compare the MD5 `read` of all bytes of an object with its ETag.

        If they differ, `again` reads the object once more, and returns its MD5 or raises an error. If both reads agree
        with each other only, the ETag may be no MD5. The bytes are then accepted, unless the headers of the object are
        known and tell of no encryption, and the ETag of another object is an MD5.
        """
        second = None if read.hex() == tag.lower() else again()
        if second is None or second.hex() == tag.lower():
            self._agree = True
            if self._doubtful:
                raise damaged_error(self._doubtful)
        elif second != read:
            raise damaged_error(name)
        else:
            self._others += 1
            headers = self._ask(key)
            if headers and not _is_encrypted(headers):
                self._doubtful = name
                if self._agree:
                    raise damaged_error(name)


def _is_encrypted(headers: Mapping[str, str]) -> bool:
    """Return whether an object is encrypted by SSE-KMS or SSE-C, so that its ETag is no MD5."""
    values = {name.lower(): value for name, value in headers.items()}
    return values.get(_ENCRYPTION, "AES256") != "AES256" or f"{_ENCRYPTION}-customer-algorithm" in values


def md5_of(blocks: Iterable[bytes]) -> bytes:
    """Return the MD5 of the bytes of all blocks."""
    digest = hashlib.md5(usedforsecurity=False)
    for block in blocks:
        digest.update(block)
    return digest.digest()


def damaged_error(name: str) -> ResourceError:
    """Return the error for an object whose bytes differ from its ETag."""
    return ResourceError(
        "the bytes that arrived do not have the MD5 of the object, which the server gives as its ETag",
        path=name,
        hint="Try again. If the error comes again, a device on the way or the server damages bytes.",
    )

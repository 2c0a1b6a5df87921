"""The thumbnail cache of desktops (freedesktop.org, Thumbnail Managing Standard 0.9.0)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from urllib.parse import quote

#: "Directory structure": folders by the longest side of their pictures, in pixels.
CACHE_FOLDERS = {128: "normal", 256: "large", 512: "x-large", 1024: "xx-large"}

# Characters that GLib's g_filename_to_uri does not encode. A thumbnail's name is a hash of the URI, so programs do not
# find it if one character is encoded differently.
_PLAIN = "!$&'()*+,-./:=@_~"


def file_uri(path: str) -> str:
    """Return the URI of a local file as file managers write it; symbolic links are not resolved.

    Examples
    --------
    >>> file_uri("/data/é #1;2.ozx")
    'file:///data/%C3%A9%20%231%3B2.ozx'
    """
    absolute = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + quote(os.fsencode("/" + absolute.lstrip("/")), safe=_PLAIN)


def cache_path(uri: str, size: int, environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of a file's thumbnail in the cache; `size` is a key of `CACHE_FOLDERS`.

    Examples
    --------
    >>> cache_path("file:///home/jens/photos/me.png", 128, {"XDG_CACHE_HOME": "/home/jens/.cache"})
    '/home/jens/.cache/thumbnails/normal/c6ee772d9e49320e97ec29a7eb5b1697.png'
    """
    home = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # XDG Base Directory Specification 0.8: all paths must be absolute, others are ignored
        home = os.path.join(os.path.expanduser("~"), ".cache")
    name = hashlib.md5(uri.encode("ascii"), usedforsecurity=False).hexdigest()
    return os.path.join(home, "thumbnails", CACHE_FOLDERS[size], f"{name}.png")


def cache_texts(uri: str, status: os.stat_result) -> dict[str, str]:
    """Return the properties of a file that its cached thumbnail stores in ``tEXt`` chunks.

    "Thumbnail creation": URI and modification time are mandatory; a picture with another time is out of date.
    """
    return {
        "Thumb::URI": uri,
        "Thumb::MTime": str(status.st_mtime_ns // 1_000_000_000),
        "Thumb::Size": str(status.st_size),
        "Software": "ozx",
    }


def make_cache_folder(path: str) -> None:
    """Create the missing parent folders of a cached thumbnail with mode 0700, as the thumbnail standard requires."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        make_cache_folder(folder)
        os.makedirs(folder, mode=0o700, exist_ok=True)

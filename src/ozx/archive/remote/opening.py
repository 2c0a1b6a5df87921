"""Open a URL as a source of bytes, without loading what only requests need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ozx.archive.remote.source import RemoteSource

__all__ = ["open_remote"]


def open_remote(url: str, options: Mapping[str, Any] | None = None) -> RemoteSource:
    """Return the bytes of a file behind a URL; nothing is asked for yet.

    Parameters
    ----------
    url, options
        As `RemoteSource` takes them.

    Raises
    ------
    UsageError
        It is a URL of a kind that is not read.

    Examples
    --------
    >>> open_remote("https://example.org/cells.ozx").name
    'https://example.org/cells.ozx'
    """
    from ozx.archive.remote.source import RemoteSource  # noqa: PLC0415 (asyncio, for what most runs do not do)

    return RemoteSource(url, options)

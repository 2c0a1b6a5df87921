"""Opening of a URL as a source of bytes, without imports that are needed only for requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ozx.archive.remote.source import RemoteSource


def open_remote(url: str, options: Mapping[str, Any] | None = None) -> RemoteSource:
    """Return a `RemoteSource` for a URL; no request is made yet."""
    from ozx.archive.remote.source import RemoteSource  # noqa: PLC0415 (loads asyncio, which most runs do not need)

    return RemoteSource(url, options)

"""The group of a file that another process is writing."""

from __future__ import annotations

from typing import Any

import zarr

from ozx.codecs.zarr_errors import refused_by_zarr
from ozx.store.extension_groups import OpenedGroup


class LiveGroup(OpenedGroup):
    """A read-only zarr group of a stream: the result of `ozx.open` with ``live=True``.

    The group shows the data that was complete when the group was opened. `refresh` adds newer data. After `refresh`,
    read arrays again, as in ``group["0"]``, because an array keeps its shape. A shard is visible once it is wholly
    written. An image ends before the first frame that is not complete in all channels, planes and levels.

    Examples
    --------
    >>> import numpy as np
    >>> import ozx
    >>> words = {"axes": "tyx", "shape": (None, 64, 64), "dtype": "uint8", "shards": "none"}
    >>> with ozx.stream("live.ozx", **words, force=True) as frames:
    ...     for number in range(3):
    ...         _ = frames.append(np.full((64, 64), number, "uint8"))
    ...     _ = frames.flush()
    ...     group = ozx.open("live.ozx", live=True)
    ...     group["0"].shape[0], group.is_finished
    (3, False)
    >>> group.refresh(), group["0"].shape[0], group.is_finished
    (True, 3, True)
    """

    @property
    def state(self) -> str:
        """The state of the file at the last `refresh`.

        ``growing``; ``finished``: the group reads the finished file; ``unfinished``: the writer ended without finishing
        the file, and ``ozx recover`` saves the written data; or ``removed``: the writer removed the file.
        """
        state: str = self._archive.state
        return state

    @property
    def is_finished(self) -> bool:
        """Whether the stream is closed and the file has its final name."""
        return self.state == "finished"

    def refresh(self) -> bool:
        """Make visible the data that the writer has finished since the last call.

        Returns
        -------
        bool
            Whether anything is new: frames, metadata or the state.

        Raises
        ------
        FormatError, ResourceError
            The finished file cannot be read.
        """
        if not self._archive.refresh():
            return False
        with refused_by_zarr(self.path or "the root"):
            group = zarr.open_group(self.store, mode="r", path=self.path, zarr_format=3)
        object.__setattr__(self, "_async_group", group._async_group)  # noqa: SLF001 (the only way)
        return True

    @property
    def _archive(self) -> Any:
        return getattr(self.store, "_store", self.store)

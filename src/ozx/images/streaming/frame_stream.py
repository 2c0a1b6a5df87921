"""`FrameStream`: a file that grows with every frame of a camera."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ozx.errors import OzxError, PartialFileWarning, UsageError, resource_errors
from ozx.flow.entry import Entry
from ozx.images.streaming.frame_ring import FrameRing
from ozx.images.streaming.statistics import Durations, StreamResult
from ozx.images.streaming.stream_file import StreamFile
from ozx.images.streaming.streamed_image import StreamedImage

__all__ = ["FrameStream"]

_MOST_LISTED = 1000


class FrameStream:
    """A new .ozx file that takes frames while they are recorded; `ozx.stream` makes one.

    Frames are copied into a bounded memory, and threads do the rest. Until `close` the file is ``NAME.partial``. The
    end of the ``with`` block closes it; after an exception the frames that came stay in ``NAME.partial``, for
    ``ozx recover``. Any number of threads may write frames.

    Parameters
    ----------
    file
        The file.
    images
        The images by the name of their position.
    ring
        The memory for frames.
    threads
        Number of threads that encode; by default one per core.

    Attributes
    ----------
    path
        The final name.
    result
        Numbers of the finished stream; None before `close`.

    Examples
    --------
    >>> import numpy as np
    >>> import ozx
    >>> with ozx.stream("frames.ozx", axes="tyx", shape=(None, 64, 64), dtype="uint8", force=True) as stream:
    ...     for number in range(3):
    ...         _ = stream.append(np.full((64, 64), number, "uint8"))
    >>> stream.frames, stream
    (3, <ozx stream of 3 frames to 'frames.ozx', closed>)
    """

    def __init__(
        self, file: StreamFile, images: dict[str, StreamedImage], ring: FrameRing, threads: int | None = None
    ) -> None:
        self.path = file.target
        self.result: StreamResult | None = None
        self._file, self._images, self._ring = file, images, ring
        self._positions = list(images)
        self._pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, "ozx-stream")
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._drafting = threading.Lock()
        self._drafted = dict.fromkeys((image.path for image in images.values()), 0)
        self._encoded = 0
        self._durations = Durations()
        self._started: float | None = None
        self._is_open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        elif self._is_open:
            self._keep()
            self._leave(error)

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):
            message = (
                f"{self.path}: the stream was never closed, so the file is not finished; what was written stays in "
            )
            warnings.warn(f"{message}{self._file.partial_path}", PartialFileWarning, stacklevel=1)

    def __repr__(self) -> str:
        state = "open" if self._is_open else "closed"
        return f"<ozx stream of {self.frames:,} frames to {self.path!r}, {state}>"

    @property
    def frames(self) -> int:
        """Number of frames that came."""
        return sum(image.order.count for image in self._images.values())

    @property
    def buffered(self) -> int:
        """Number of frames in memory that are not encoded yet."""
        return self._ring.used

    @property
    def buffer(self) -> int:
        """Number of frames that may be in memory."""
        return self._ring.count

    def append(self, frame: ArrayLike, *, position: int | str = 0) -> int:
        """Take the next frame in the order of acquisition.

        Parameters
        ----------
        frame
            The pixels of one plane, of the stream's type; they are copied.
        position
            The position, by number or name.

        Returns
        -------
        int
            The number of frames in memory.

        Raises
        ------
        UsageError
            The frame has another shape or type, is one too many, or the stream is closed.
        BufferFull
            The memory is full, and the stream was opened with ``when_full="raise"``; the frame was not taken.
        ResourceError
            Writing failed; no more frames are taken.
        """
        return self._take(frame, None, position)

    def write(self, frame: ArrayLike, index: int | Sequence[int], *, position: int | str = 0) -> int:
        """Take the frame of a given place, in any order.

        Parameters
        ----------
        frame, position
            As for `append`, which continues behind this place.
        index
            Its numbers along the axes before y and x, in the order in which they were given.

        Returns
        -------
        int
            The number of frames in memory.

        Raises
        ------
        UsageError
            As for `append`; or there is a frame in this place.
        BufferFull, ResourceError
            As for `append`.
        """
        return self._take(frame, index, position)

    @resource_errors()
    def close(self) -> StreamResult:
        """Encode what waits, complete the file and give it its name; do nothing when called again.

        Returns
        -------
        StreamResult
            The written file, and numbers.

        Raises
        ------
        UsageError
            No frame came; there is no file then. Or another program took the name, and `force` was not given.
        ResourceError
            Writing failed; what was written stays in ``NAME.partial``.
        """
        if self.result is not None:
            return self.result
        self._check_open()
        try:
            self.result = self._finish()
        except BaseException as error:
            self._leave(error)
            raise
        self._is_open = False
        self._pool.shutdown(wait=False)
        return self.result

    def abort(self) -> None:
        """Stop, and remove what was written; do nothing if the stream is closed.

        Raises
        ------
        ResourceError
            The file could not be removed.
        """
        if self._is_open:
            self._stop()
            self._file.remove()

    def _take(self, frame: ArrayLike, index: int | Sequence[int] | None, position: int | str) -> int:
        start = time.perf_counter()
        pixels = np.asarray(frame)
        self._check_open()
        self._raise_error()
        image = self._image(position)
        slot = self._ring.acquire()
        try:
            self._raise_error()
            self._check_frame(pixels, slot)
            np.copyto(slot, pixels)
            with self._lock:
                self._check_open()
                if self._started is None:
                    self._started = start
                place = image.order.take(index)
                try:
                    self._pool.submit(self._work, image, place, slot)
                except BaseException:
                    image.order.give_back(place)
                    raise
        except BaseException:
            self._ring.release(slot)
            raise
        with self._lock:
            self._durations.add(time.perf_counter() - start)
        return self._ring.used

    def _check_frame(self, pixels: NDArray[Any], slot: NDArray[Any]) -> None:
        if pixels.shape != slot.shape or pixels.dtype.newbyteorder("=") != slot.dtype:
            raise UsageError(
                f"expected a frame of the shape {slot.shape} and the type {slot.dtype}; got {pixels.shape} and "
                f"{pixels.dtype}"
            )

    def _image(self, position: int | str) -> StreamedImage:
        try:
            return self._images[position if isinstance(position, str) else self._positions[position]]
        except (KeyError, IndexError):
            known = ", ".join(map(repr, self._positions[:10]))
            raise UsageError(
                f"expected one of the {len(self._positions):,} positions; got {position!r}",
                hint="There is one, number 0." if self._positions == [""] else f"They are {known}.",
            ) from None

    def _work(self, image: StreamedImage, index: tuple[int, ...], frame: NDArray[Any]) -> None:
        try:
            if self._error is None:
                for entry in image.encode(index, frame):
                    self._write(entry)
                with self._lock:
                    self._encoded += 1
                self._draft(image)
        except BaseException as error:  # noqa: BLE001 (raised in the thread of the caller)
            self._fail(error)
        finally:
            self._ring.release(frame)

    def _write(self, entry: Entry) -> None:
        self._begin()
        self._file.write(entry)

    def _begin(self) -> None:
        if not self._file.is_begun:
            self._file.begin({image.path: image.draft(1) for image in self._images.values()})

    def _draft(self, image: StreamedImage) -> None:
        """Let the metadata in the file say how many frames are stored, when these are more."""
        if image.complete_length <= self._drafted[image.path]:
            return
        with self._drafting:
            length = image.complete_length
            if length > self._drafted[image.path]:
                self._begin()
                self._file.update(image.path, image.draft(length))
                self._drafted[image.path] = length

    def _finish(self) -> StreamResult:
        self._ring.wait_until_empty()
        self._raise_error()
        frames = self.frames
        if not frames:
            raise UsageError(f"{self.path}: expected at least one frame; none came, so there is no file")
        if self._encoded != frames:
            raise RuntimeError(f"{frames:,} frames came, but {self._encoded:,} were encoded")
        self._finish_values()
        documents = self._file.groups
        for image in self._images.values():
            documents |= image.describe()
        entries, size = self._file.finish(documents)
        return self._summary(entries, size, frames)

    def _finish_values(self) -> None:
        for image in self._images.values():
            for entry in image.finish():
                self._write(entry)

    def _keep(self) -> None:
        """Write all that came into NAME.partial, if it can be written, for a later recovery."""
        with suppress(OzxError, OSError):
            self._is_open = False  # no more frames
            self._ring.wait_until_empty()
            if self._error is None and self.frames:
                self._finish_values()
                self._begin()
                for image in self._images.values():
                    self._file.update(image.path, image.describe())

    def _summary(self, entries: int, size: int, frames: int) -> StreamResult:
        seconds = time.perf_counter() - (self._started or 0.0)
        missing = chain.from_iterable(
            ((position, index) for index in image.order.iter_missing()) for position, image in self._images.items()
        )
        listed = tuple(islice(missing, _MOST_LISTED))
        frame_bytes = self._ring.frame_bytes
        return StreamResult(
            path=self.path,
            entries=entries,
            bytes=size,
            frames=frames,
            frame_bytes=frame_bytes,
            missing_count=len(listed) + sum(1 for _ in missing),
            missing=listed,
            seconds=seconds,
            rate=frames * frame_bytes / seconds,
            waits=self._ring.waits,
            waited=self._ring.waited,
            longest_append=self._durations.longest,
            append_p999=self._durations.percentile(0.999),
            fullest=self._ring.fullest,
            buffer=self._ring.count,
        )

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._error is None:
                self._error = error
        self._ring.stop()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _check_open(self) -> None:
        if not self._is_open:
            raise UsageError(f"{self.path}: the stream is closed", hint="Open another one, to another file.")

    def _stop(self) -> None:
        """Take no more frames, and let the threads end."""
        self._is_open = False
        self._ring.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _leave(self, error: BaseException) -> None:
        """Keep what came as NAME.partial, after an error."""
        self._stop()
        self._file.leave()
        if os.path.exists(self._file.partial_path):
            error.add_note(f"What was written is kept: ozx recover {self._file.partial_path} OUT.ozx")

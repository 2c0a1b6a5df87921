"""`FrameStream`: an .ozx file that grows with every frame of a camera."""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ozx.calls import public_call
from ozx.errors import PartialFileWarning, UsageError, resource_errors
from ozx.images.writing.array_image import ChannelLike, PixelSizes
from ozx.quoting import quote
from ozx.streaming.encoding_threads import EncodingThreads, ReceivedFrame
from ozx.streaming.frame_ring import FrameRing
from ozx.streaming.frames import whole_number
from ozx.streaming.open_chunks import OpenChunks
from ozx.streaming.stream_file import StreamFile
from ozx.streaming.streamed_image import StreamedImage

_MOST_LISTED = 1000

# Durations are counted in classes that grow by this factor, from a microsecond on.
_FACTOR = 1.05
_SHORTEST = 1e-6


@dataclass(frozen=True, slots=True)
class StreamResult:
    """The written file, and statistics of the stream.

    Attributes
    ----------
    path
        Path of the file.
    entries, bytes
        Number of entries, and length of the file in bytes.
    frames, frame_bytes
        Number of received frames, and bytes of a frame; if there are several cameras, bytes of the largest frame.
    missing_count
        Number of frames that the images contain, but that were not received; their pixels are zero. Positions without
        any received frame do not count.
    missing
        The first thousand missing frames: position and index of each.
    seconds, rate
        Seconds from the first frame until the file was complete; bytes of frames per second.
    waits, waited
        How often a frame had to wait for memory, and for how many seconds in all.
    longest_append, append_p999
        Duration of the longest `append` or `write`, and the duration below which 99.9 % of them lie, in seconds.
    fullest, buffer
        The largest number of frames in memory at a time, and the number of frames that fit into the memory.
    notes
        Remarks, one sentence each.
    uploaded
        The URL to which the file was uploaded; None without an upload.

    Examples
    --------
    >>> import numpy as np
    >>> import ozx
    >>> with ozx.stream("frames.ozx", axes="tyx", shape=(4, 64, 64), dtype="uint8", force=True) as stream:
    ...     _ = stream.write(np.ones((64, 64), "uint8"), 2)
    >>> stream.result.missing, stream.result.frame_bytes
    ((('', (0,)), ('', (1,))), 4096)
    """

    path: str
    entries: int
    bytes: int
    frames: int
    frame_bytes: int
    missing_count: int
    missing: tuple[tuple[str, tuple[int, ...]], ...]
    seconds: float
    rate: float
    waits: int
    waited: float
    longest_append: float
    append_p999: float
    fullest: int
    buffer: int
    notes: tuple[str, ...]
    uploaded: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        missing = [{"position": position, "index": list(index)} for position, index in self.missing]
        return {"schema": 2, **asdict(self), "missing": missing, "notes": list(self.notes)}


def _class_of(seconds: float) -> int:
    """Return the number of the class of a duration."""
    return math.ceil(math.log(max(seconds, _SHORTEST) / _SHORTEST, _FACTOR))


def _percentile(counts: Mapping[int, int], share: float) -> float:
    """Return the duration below which the given share of all durations lies, up to 5 % too long.

    Examples
    --------
    >>> round(_percentile(Counter(_class_of(number / 1000) for number in range(1, 1001)), 0.5), 1)
    0.5
    """
    rest = sum(counts.values()) * (1 - share)
    for number in sorted(counts, reverse=True):
        rest -= counts[number]
        if rest < 0:
            return _SHORTEST * _FACTOR**number
    return 0.0


# The most names in a message: a plate has thousands of positions.
_MOST_NAMED = 10


class FrameStream:
    """A new .ozx file to which frames are added while they are recorded; `ozx.stream` creates it.

    Frames are copied into a bounded memory; threads encode and write them. Until `close`, the file is ``NAME.partial``.
    The end of the ``with`` block closes the stream. After an exception, the received frames stay in ``NAME.partial``,
    for ``ozx recover``. Any number of threads may write frames.

    Parameters
    ----------
    file
        The file.
    images
        The images by the name of their position.
    ring
        The memory for frames.
    store
        The chunks of unfinished shards.
    threads
        Number of threads that encode; by default one per core.
    sync_every
        Number of frames after which `flush` is called by a thread of its own; None for never.
    upload
        Sends the finished file.

    Attributes
    ----------
    path
        The final name.

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
        self,
        file: StreamFile,
        images: dict[str, StreamedImage],
        ring: FrameRing,
        store: OpenChunks,
        *,
        threads: int | None = None,
        sync_every: int | None = None,
        upload: Callable[[str], str] | None = None,
    ) -> None:
        self.path = file.target
        self._result: StreamResult | None = None
        self._file, self._images, self._ring, self._store = file, images, ring, store
        self._by_number = dict(enumerate(images.values()))
        self._frame_bytes = max(image.frame_bytes for image in images.values())
        self._threads = EncodingThreads(file, list(images.values()), ring, store, threads)
        self._sync_every, self._upload = sync_every, upload
        self._lock = threading.Lock()
        self._started: float | None = None
        # The durations of `append` and `write`: how many of each class, which needs little memory, and the longest.
        self._durations: Counter[int] = Counter()
        self._longest = 0.0
        self._taken = 0
        self._is_open = True
        self._is_aborted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._threads.are_elsewhere:
            return  # the parent process goes on
        if error is None and not self._is_aborted:
            self.close()
        elif error is not None and self._is_open:
            self._is_open = False
            try:
                self._threads.keep()
            finally:  # also after a second Ctrl-C
                self._leave(error)

    @property
    def result(self) -> StreamResult:
        """The written file, and statistics of the finished stream.

        Raises
        ------
        UsageError
            The stream is not finished.
        """
        if self._result is None:
            raise UsageError(f"{self.path}: the stream is not finished", hint="Call close() first.")
        return self._result

    def __del__(self) -> None:
        if getattr(self, "_is_open", False) and not self._threads.are_elsewhere:
            self._threads.dismiss()
            message = (
                f"{self.path}: the stream was never closed, so the file is not finished; the written data stays in "
                f"{self._file.partial_path}, and ozx recover saves it"
            )
            warnings.warn(message, PartialFileWarning, stacklevel=1)

    def __repr__(self) -> str:
        state = "open" if self._is_open else "closed"
        return f"<ozx stream of {self.frames:,} frames to {self.path!r}, {state}>"

    @property
    def frames(self) -> int:
        """Number of received frames."""
        return sum(image.order.count for image in self._images.values())

    @property
    def durable(self) -> int:
        """Number of frames that were on disk when the last `flush` ended.

        `ozx recover` can recover these frames after a kill or a power cut.
        """
        return self._threads.durable

    @property
    def buffered(self) -> int:
        """Number of frames in memory that are not yet encoded."""
        return self._ring.used

    @property
    def buffer(self) -> int:
        """Number of frames that fit into the frame buffer if all frames have the largest frame size."""
        return self._ring.size // self._frame_bytes

    def append(
        self, frame: ArrayLike, *, position: int | str = 0, record: Mapping[str, float | str | None] | None = None
    ) -> int:
        """Add the next frame in the order of acquisition.

        Parameters
        ----------
        frame
            The pixels of one plane, of the type of the stream or camera; they are copied.
        position
            The position, camera or field of a plate, by name (``A/1/0`` for a field) or number.
        record
            Numbers and short texts about the frame by name, as in ``{"time": 0.25, "exposure": 20, "state": "idle"}``.
            They become the arrays ``frames/time`` and so on beside the levels of the image, with its axes except y and
            x. A missing value, or None, becomes NaN or an empty text.

        Returns
        -------
        int
            The number of frames in memory.

        Raises
        ------
        UsageError
            The frame has another shape or type or is one too many, a value of the record is of another kind than in
            earlier records, or the stream is closed.
        BufferFull
            The memory is full, and the stream was opened with ``when_full="raise"``; the frame was not taken.
        ResourceError
            Writing failed, so no more frames are taken; or another process writes the stream, and forked this one.
        """
        return self._take(frame, None, position, record)

    def write(
        self,
        frame: ArrayLike,
        index: int | Sequence[int],
        *,
        position: int | str = 0,
        record: Mapping[str, float | str | None] | None = None,
    ) -> int:
        """Add a frame at the given place; frames may be added in any order.

        Parameters
        ----------
        frame, position, record
            As for `append`. The next call of `append` adds a frame after this place.
        index
            The indices of the frame along the axes before y and x, in the order of the axes of the stream. Along an
            axis of unknown length, an index may be at most 100,000,000 higher than those of all received frames.

        Returns
        -------
        int
            The number of frames in memory.

        Raises
        ------
        UsageError
            As for `append`; a frame at this place was already received; or the index is too high.
        BufferFull, ResourceError
            As for `append`.
        """
        return self._take(frame, index, position, record)

    @public_call(scale="pixel_size", channels="channel_names")
    def set_metadata(
        self,
        *,
        channel_names: Sequence[ChannelLike] | None = None,
        pixel_size: PixelSizes | None = None,
        unit: str | Mapping[str, str] | None = None,
        name: str | None = None,
        position: int | str | None = None,
    ) -> None:
        """Change metadata before `close`; omitted arguments keep the current values.

        Parameters
        ----------
        channel_names, pixel_size, unit, name
            As for `ozx.stream`. The axes, and all values that a channel omits, stay unchanged.
        position
            The position, camera or field of a plate; None for all.

        Raises
        ------
        UsageError
            The values do not fit the image, a name is given for several images, or the stream is closed.
        ResourceError
            Another process writes the stream, and forked this one.
        """
        self._check_open()
        images = list(self._images.values()) if position is None else [self._at(position)]
        if name is not None and len(images) > 1:
            raise UsageError(
                f"expected one position for the name {name!r}; found {len(images):,} positions",
                hint="To rename one position, select it with position=.",
            )
        given = {"channel_names": channel_names, "pixel_size": pixel_size, "unit": unit, "name": name}
        for image, described in [(image, image.described(**given)) for image in images]:
            image.redescribe(described)

    @resource_errors()
    def flush(self) -> int:
        """Wait until all received frames are on disk.

        Frames of unfinished shards are stored in ``NAME.partial.chunks``. Frames may be added in the meantime.

        Returns
        -------
        int
            The number of frames that are now safe from a kill or a power cut: `ozx recover` finds them.

        Raises
        ------
        UsageError
            The stream is closed.
        ResourceError
            As for `append`.
        """
        self._check_open()
        return self._threads.flush()

    @resource_errors()
    def close(self) -> StreamResult:
        """Encode the remaining frames, complete the file, and rename it to its final name.

        A second call does nothing.

        Returns
        -------
        StreamResult
            The written file, and statistics of the stream.

        Raises
        ------
        UsageError
            No frame was received, so there is no file; or another program took the name, and `force` was not given.
        ResourceError
            Writing failed: the written data stays in ``NAME.partial``. Or the upload failed: the file is complete. Or
            another process writes the stream, and forked this one.
        """
        if self._result is not None:
            return self._result
        self._check_open()
        self._is_open = False
        try:
            self._result = self._finish()
        except BaseException as error:
            self._leave(error)
            raise
        self._threads.stop()
        if self._upload is not None:
            self._result = replace(self._result, uploaded=self._upload(self._file.place))
        return self._result

    def abort(self) -> None:
        """Stop the stream, and remove the written file; do nothing if the stream is closed, or in a forked process.

        Raises
        ------
        ResourceError
            The file could not be removed.
        """
        if self._is_open and not self._threads.are_elsewhere:
            self._is_open, self._is_aborted = False, True
            self._threads.stop()
            self._store.close(keep=False)
            self._file.remove()

    def _take(
        self,
        frame: ArrayLike,
        index: int | Sequence[int] | None,
        position: int | str,
        record: Mapping[str, float | str | None] | None,
    ) -> int:
        start = time.perf_counter()
        pixels = np.asarray(frame)
        self._check_open()
        image = self._at(position)
        received = ReceivedFrame(image, None if record is None else image.records.check(record))
        try:
            received.pixels = self._ring.acquire(received, image.frame_shape, image.dtype)
            self._check_open()
            self._threads.raise_error()
            image.check_frame(pixels)
            np.copyto(received.pixels, pixels)
            self._threads.submit(received, index)
        except BaseException:
            self._threads.release_unless_queued(received)
            raise
        with self._lock:
            if self._started is None:
                self._started = start
            self._taken += 1
            if self._sync_every and self._taken % self._sync_every == 0:
                self._threads.flush_behind()
            seconds = time.perf_counter() - start
            self._durations[_class_of(seconds)] += 1
            self._longest = max(self._longest, seconds)
        return self._ring.used

    def _at(self, position: object) -> StreamedImage:
        """Return the image of a position, which is a name, or a number from 0."""
        try:
            if isinstance(position, str):
                return self._images[position]
            return self._by_number[whole_number(position)]
        except (KeyError, TypeError):
            known = ", ".join(map(repr, islice(self._images, _MOST_NAMED)))
            raise UsageError(
                f"expected one of the {len(self._images):,} positions; got {position!r:.200}",
                hint="Give position 0." if [*self._images] == [""] else f"Give a number or name, such as {known}.",
            ) from None

    def _finish(self) -> StreamResult:
        self._threads.wait()
        frames = self.frames
        if not frames:
            raise UsageError(f"{self.path}: expected at least one frame; received none, so no file was written")
        if self._threads.encoded != frames:
            raise RuntimeError(f"received {frames:,} frames, but encoded {self._threads.encoded:,}")
        self._threads.finish_values()
        documents = dict(self._file.groups)
        for image in self._images.values():
            documents |= image.describe() | image.records.documents(max(1, image.order.length))
        written = self._file.finish(documents)
        self._store.close(keep=False)
        return self._summarise(*written)

    def _summarise(self, entries: int, length: int) -> StreamResult:
        seconds = time.perf_counter() - (self._started or 0.0)
        every = chain.from_iterable(
            ((position, index) for index in image.order.iter_missing()) for position, image in self._images.items()
        )
        missing = sum(image.order.missing_count for image in self._images.values())
        unused = sum(1 for image in self._images.values() if not image.order.count)
        notes = [f"{missing:,} frames were not received; their pixels are zero"] if missing else []
        notes += [f"{unused:,} positions have no frames; their pixels are zero"] if unused else []
        return StreamResult(
            path=self.path,
            entries=entries,
            bytes=length,
            frames=self.frames,
            frame_bytes=self._frame_bytes,
            missing_count=missing,
            missing=tuple(islice(every, _MOST_LISTED)),
            seconds=seconds,
            rate=sum(image.order.count * image.frame_bytes for image in self._images.values()) / seconds,
            waits=self._ring.waits,
            waited=self._ring.waited,
            longest_append=self._longest,
            append_p999=min(self._longest, _percentile(self._durations, 0.999)),
            fullest=self._ring.fullest,
            buffer=self.buffer,
            notes=tuple(notes),
        )

    def _check_open(self) -> None:
        self._threads.check_process()
        if not self._is_open:
            raise UsageError(f"{self.path}: the stream is closed", hint="Open another stream, to another file.")

    def _leave(self, error: BaseException) -> None:
        """Keep the received frames as ``NAME.partial`` after an error."""
        self._threads.stop()
        self._store.close(keep=True)
        self._file.leave()
        partial = self._file.partial_path
        if os.path.exists(partial):
            error.add_note(f"The written data is kept: ozx recover {quote(partial)} OUT.ozx")

"""Threads of a stream: they encode frames, write the encoded values to the file, and sync the file to disk.

Ctrl-C may come at any moment while the program adds or flushes frames. Methods of a ThreadPoolExecutor, a Semaphore or
a Condition may then leave a lock locked for which all threads wait. The program's thread therefore wakes the other
threads through a SimpleQueue, in a single step that Ctrl-C cannot divide, and does not pause them itself.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

from numpy.typing import NDArray

from ozx.errors import OzxError, ResourceError, UsageError
from ozx.flow.entry import Entry
from ozx.streaming.frame_records import Record
from ozx.streaming.frame_ring import FrameRing
from ozx.streaming.open_chunks import OpenChunks
from ozx.streaming.stream_file import StreamFile
from ozx.streaming.streamed_image import StreamedImage
from ozx.threads import processors

# The queue of received frames; work on later frames can pause until all earlier frames are encoded.
#
# Ctrl-C may interrupt the thread that adds a frame at any moment. The queue therefore counts a frame only when a thread
# can take it, so that no thread waits for a frame that was never added.


@dataclass(slots=True, eq=False)
class ReceivedFrame:
    """A frame to encode: its image, its record, its pixels in the ring buffer, and its place in the image."""

    image: StreamedImage
    record: Record | None = None
    pixels: NDArray[Any] = field(init=False)
    place: tuple[int, ...] | None = None
    #: Whether a thread works, or has worked, on it.
    is_taken: bool = False


class FrameQueue:
    """The received frames in their order; thread-safe."""

    def __init__(self) -> None:
        # Entering a Condition takes several steps of Python, between which Ctrl-C would leave its lock locked.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiting: deque[ReceivedFrame] = deque()
        # The turns (numbers) of the frames that threads work on; the number of frames that threads have taken.
        self._running: set[int] = set()
        self._taken = 0
        # The first turn whose work waits.
        self._first_held: int | None = None

    def put(self, frame: ReceivedFrame) -> None:
        """Add a frame."""
        self._waiting.append(frame)

    def has(self, frame: ReceivedFrame) -> bool:
        """Return whether a frame was added."""
        with self._lock:
            return frame.is_taken or frame in self._waiting

    def take(self) -> tuple[int, ReceivedFrame] | None:
        """Remove the first frame, and return it with its turn (number); None if no frame waits."""
        with self._lock:
            if not self._waiting:
                return None
            turn, self._taken = self._taken, self._taken + 1
            self._running.add(turn)
            frame = self._waiting.popleft()
            frame.is_taken = True
            return turn, frame

    def wait_for(self, turn: int) -> None:
        """Wait until the work on frame `turn` may begin; return at once unless the work is paused."""
        with self._lock:
            self._changed.wait_for(lambda: self._first_held is None or turn < self._first_held)

    def end(self, turn: int) -> None:
        """Mark the work on frame `turn` (the number that `take` returned) as done."""
        with self._lock:
            self._running.discard(turn)
            self._changed.notify_all()

    def hold(self) -> None:
        """Pause the work on all frames that are added after this call, until `go_on`."""
        with self._lock:
            self._first_held = self._taken + len(self._waiting)

    def wait_until_done(self) -> None:
        """Wait until the work is done on all frames that were added before `hold` was called."""
        with self._lock:
            self._changed.wait_for(self._is_done)

    def go_on(self) -> None:
        """End the pause that `hold` began, so that the work on later frames begins."""
        with self._lock:
            self._first_held = None
            self._changed.notify_all()

    def wait_until_empty(self) -> None:
        """Wait until the work on all frames is done."""
        with self._lock:
            self._changed.wait_for(lambda: not self._waiting and not self._running)

    def clear(self) -> None:
        """Drop the frames that no thread has taken, and end the pause that `hold` began."""
        with self._lock:
            self._waiting.clear()
            self._first_held = None
            self._changed.notify_all()

    def _is_done(self) -> bool:
        first = self._taken if self._first_held is None else self._first_held
        are_taken = self._taken >= first or not self._waiting
        return are_taken and not any(turn < first for turn in self._running)


class EncodingThreads:
    """Threads that encode frames and write completed chunks and shards, and one thread that syncs the file to disk."""

    def __init__(
        self,
        file: StreamFile,
        images: Sequence[StreamedImage],
        ring: FrameRing,
        store: OpenChunks,
        count: int | None = None,
    ) -> None:
        self._file, self._images, self._ring, self._store = file, images, ring, store
        self._queue = FrameQueue()
        # True wakes a thread, and None ends it. A request to flush is the queue for its answer; None ends the thread.
        self._calls: SimpleQueue[bool | None] = SimpleQueue()
        self._flushes: SimpleQueue[SimpleQueue[int | Exception] | None] = SimpleQueue()
        self._is_stopped = self._takes_no_more = False
        self._drafted = {image.path: 0 for image in images}
        # The length of each image in the index for readers, and when the index last listed all documents.
        self._shown, self._described = dict(self._drafted), dict(self._drafted)
        self._error: BaseException | None = None
        self._lock, self._drafting, self._showing, self._flushing = (threading.Lock() for _ in range(4))
        self.encoded = self.durable = 0
        self._process = os.getpid()
        # Daemons: a program that never closes its stream can end; `_end_all` waits for what they do by then.
        self._threads = [
            threading.Thread(target=self._work, name=f"ozx-stream-{number}", daemon=True)
            for number in range(count or processors())
        ]
        self._syncing = threading.Thread(target=self._answer_flushes, name="ozx-stream-sync", daemon=True)
        for thread in (*self._threads, self._syncing):
            thread.start()
        _unfinished.add(self)

    @property
    def are_elsewhere(self) -> bool:
        """Whether this is a forked child process, in which none of these threads exists."""
        return self._process != os.getpid()

    def check_process(self) -> None:
        """Raise an error in a forked child process, where a frame would wait for a thread for ever."""
        if self.are_elsewhere:
            raise ResourceError(
                f"the stream is written by process {self._process}; this is process {os.getpid()}",
                path=self._file.target,
                hint="Write from threads of one process, or let each process write a file of its own.",
            )

    def submit(self, frame: ReceivedFrame, index: int | Sequence[int] | None) -> None:
        """Queue a frame for encoding; `index` and the errors are the same as for `FrameOrder.place`.

        The memory of the frame goes back to the ring when the frame is encoded.
        """
        order = frame.image.order
        with self._lock:
            self._check_open()
            try:
                frame.place = order.place(index)
                order.record(frame.place)
                self._queue.put(frame)
            except BaseException:
                # Ctrl-C may come at any step, and just after the frame was queued.
                if frame.place is not None and not self._queue.has(frame):
                    order.forget(frame.place)
                raise
        self._wake()

    def release_unless_queued(self, frame: ReceivedFrame) -> None:
        """Give the memory of a frame back to the ring buffer, unless the frame was queued.

        Call this after an error in `submit`, or if `submit` is not called because of an earlier error.
        """
        if not self._queue.has(frame):
            self._ring.release(frame)

    def raise_error(self) -> None:
        """Raise the first error of any thread; do nothing if no thread has failed."""
        if self._error is not None:
            raise self._error

    def flush(self) -> int:
        """Write all received frames to the disk, and return their number.

        Further frames may be submitted in the meantime.
        """
        answer = self._call_flush().get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def flush_behind(self) -> None:
        """Have all received frames written to the disk, without a wait; do nothing if the stream is closed."""
        with suppress(UsageError):
            self._call_flush()

    def wait(self) -> None:
        """Wait until all received frames are encoded; raise the error of a failed thread."""
        self._refuse_more()
        self._wake()
        self._queue.wait_until_empty()
        self._flushes.put(None)
        self._syncing.join()
        self.raise_error()

    def finish_values(self) -> None:
        """Write the chunks and shards that still lack frames, with zeros for missing frames; call this after `wait`."""
        for image in self._images:
            for entry in image.finish():
                self._write(entry)

    def keep(self) -> None:
        """Write all received frames to the partial file, if possible, so that they can be recovered later."""
        with suppress(OzxError, OSError):
            self.wait()
            if self.encoded:
                self.finish_values()
                self._begin()
                for image in self._images:
                    self._file.update(image.path, image.describe())
                    self._file.forget(self._file.draft(image.records.documents(max(1, image.order.length))))

    def stop(self) -> None:
        """End all threads, and wait for them."""
        self._refuse_more()
        self._ring.stop()
        self._queue.clear()
        self._is_stopped = True
        self.dismiss()
        self._syncing.join()
        # Before Python 3.13 a thread counts as ended once Ctrl-C has interrupted a wait for it.
        with self._flushing:
            pass
        for thread in self._threads:
            thread.join()
        _unfinished.discard(self)

    def dismiss(self) -> None:
        """Have all threads end as soon as no frame waits; do not wait for them."""
        self._wake()
        self._flushes.put(None)
        for _ in self._threads:
            self._calls.put(None)

    def finish(self) -> None:
        """Have all threads end as soon as no frame waits, and wait for them."""
        self._refuse_more()
        self.dismiss()
        for thread in (*self._threads, self._syncing):
            thread.join()

    def _refuse_more(self) -> None:
        """Refuse further frames: another thread may still copy one, and no thread would encode it."""
        with self._lock:
            self._takes_no_more = True

    def _call_flush(self) -> SimpleQueue[int | Exception]:
        """Request a flush from the thread that flushes; return the queue for its answer."""
        answer: SimpleQueue[int | Exception] = SimpleQueue()
        with self._lock:
            self._check_open()  # a thread that has ended does not answer
            self._flushes.put(answer)
        self._wake()
        return answer

    def _check_open(self) -> None:
        if self._takes_no_more:
            raise UsageError("the stream is closed", hint="Open another stream, to another file.")

    def _wake(self) -> None:
        """Wake an encoding thread.

        `wait` and `flush` wake one, too, because Ctrl-C may have interrupted `submit` before it woke one.
        """
        self._calls.put(True)

    def _work(self) -> None:
        """Encode the queued frames after each call of `_wake`, and write the chunks and shards that they complete."""
        while self._calls.get():
            while (taken := self._queue.take()) is not None:
                turn, frame = taken
                try:
                    self._queue.wait_for(turn)
                    if self._error is None:
                        self._encode(frame)
                except BaseException as error:  # noqa: BLE001 (raised in the thread of the caller)
                    self._fail(error)
                finally:
                    self._queue.end(turn)
                    self._ring.release(frame)

    def _answer_flushes(self) -> None:
        """Write all received frames to the disk after each call of `_call_flush`, and answer the request."""
        while (answer := self._flushes.get()) is not None:
            answer.put(self._try_flush())

    def _try_flush(self) -> int | Exception:
        if self._is_stopped:
            return UsageError("the stream ended before its frames were flushed", hint="Open another stream.")
        try:
            with self._flushing, self._file.errors():
                return self._flush()
        except Exception as error:  # noqa: BLE001 (raised in the thread of the caller)
            self._fail(error)
            return error

    def _encode(self, frame: ReceivedFrame) -> None:
        image = frame.image
        with self._file.errors():
            for entry in image.encode(frame.place or (), frame.pixels, frame.record):
                # For the previous value: a kill while this value is written must not lose its frames.
                self._draft(image)
                self._write(entry)
        with self._lock:
            self.encoded += 1
        self._draft(image)
        self._show(image)

    def _flush(self) -> int:
        try:
            with self._lock:
                lengths = [(image, image.order.length) for image in self._images if image.order.length]
                self._queue.hold()
            # A frame that a thread still encodes is neither part of a kept chunk nor in the file.
            self._queue.wait_until_done()
            self.raise_error()
            frames = self.encoded
            chunks = [chunk for image, _ in lengths for chunk in image.kept()]
            drafts = [image.drafts(length) for image, length in lengths]
            records = [draft for image, _ in lengths for draft in image.records.drafts()]
            documents = {
                key: value for image, length in lengths for key, value in image.records.documents(length).items()
            }
        finally:
            self._queue.go_on()
        if not frames:
            return 0
        self._store.save(chunks, chain(records, *drafts))
        self._begin()
        with self._drafting:
            for image, length in lengths:
                self._drafted[image.path] = max(length, self._drafted[image.path])
                self._file.update(image.path, image.draft(self._drafted[image.path]))
        replaced = self._file.draft(documents)
        self._store.sync()
        self._file.sync()
        self._store.drop_unneeded()
        self._file.forget(replaced)
        self.durable = frames
        return frames

    def _write(self, entry: Entry) -> None:
        self._begin()
        self._file.write(entry)

    def _begin(self) -> None:
        if not self._file.is_begun:
            self._file.begin({image.path: image.draft(1) for image in self._images})

    def _draft(self, image: StreamedImage) -> None:
        """Update the metadata in the file if the number of stored frames has grown."""
        if image.stored_length <= self._drafted[image.path]:
            return
        with self._drafting:
            length = image.stored_length
            if length > self._drafted[image.path]:
                self._begin()
                self._file.update(image.path, image.draft(length))
                self._drafted[image.path] = length

    def _show(self, image: StreamedImage) -> None:
        """Write the complete length of an image into the index that readers of a growing file use, if it has grown.

        The image then ends before its first incomplete frame. When its length has doubled, the index lists all its
        documents again, because its contrast may have changed.
        """
        path = image.path
        if image.complete_length <= self._shown[path]:
            return
        with self._showing:
            length = image.complete_length
            if length <= self._shown[path]:
                return
            if length >= 2 * self._described[path]:
                self._described[path] = length
                self._file.index.show(image.draft(length))
            else:
                self._file.index.resize(image.shapes(length))
            self._shown[path] = length

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            if self._error is None:
                self._error = error
        self._ring.stop()


_unfinished: WeakSet[EncodingThreads] = WeakSet()


@atexit.register
def _end_all() -> None:
    """Encode the frames of streams that the program did not close, so that ``ozx recover`` finds them."""
    for threads in list(_unfinished):
        if not threads.are_elsewhere:
            threads.finish()

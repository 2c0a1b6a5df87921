"""The view that readers have of a growing file: each image ends before its first incomplete frame."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from ozx.images.streaming.streamed_image import StreamedImage
from ozx.store.live.index import IndexWriter


class LiveView:
    """Writer of the index that readers of a growing file use: each image ends before its first incomplete frame.

    When the length of an image has doubled, the index lists all documents of this image again, because its contrast
    may have changed.
    """

    def __init__(self, index: IndexWriter, images: Iterable[StreamedImage]) -> None:
        self._index = index
        self._shown = {image.path: 0 for image in images}
        self._described = dict(self._shown)
        self._lock = threading.Lock()

    def follow(self, image: StreamedImage) -> None:
        """Write the complete length of an image into the index if it has grown."""
        if image.complete_length <= self._shown[image.path]:
            return
        with self._lock:
            length = image.complete_length
            if length <= self._shown[image.path]:
                return
            if length >= 2 * self._described[image.path]:
                self._described[image.path] = length
                self._index.show(image.draft(length))
            else:
                self._index.resize(image.shapes(length))
            self._shown[image.path] = length

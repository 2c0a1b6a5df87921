"""A stream in this process, for readers of its file."""

from contextlib import contextmanager

import numpy as np

import ozx

PIXELS = np.random.default_rng(3).integers(1, 4000, (7, 2, 40, 500)).astype("uint16")
LAYOUT = {"shards": {"t": 2, "y": 64, "x": 512}, "chunks": {"t": 1, "y": 32, "x": 256}, "downsample": ["y", "x"]}


@contextmanager
def growing(path, **words):
    """Yield a function that appends the frames of a number of time points, and waits until they are encoded."""
    stream = ozx.stream(path, axes="tcyx", shape=(None, 2, 40, 500), dtype="uint16", **{**LAYOUT, **words})

    def append(count, **place):
        done = stream.frames // 2
        for frame in PIXELS[done : done + count].reshape(-1, 40, 500):
            stream.append(frame, **place)
        stream.flush()

    append.stream = stream
    try:
        yield append
    finally:
        stream.abort()

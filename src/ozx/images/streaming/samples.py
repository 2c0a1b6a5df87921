"""Samples of pixels from frames, from which the contrast of channels is computed."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.hierarchy.ome.rendering import Window
from ozx.images.pictures.channels import percentile_window
from ozx.images.writing.pyramid import choose_sampling, take_sample

# Frames of unknown number: this many of each channel are sampled at first, and at most twice as many are kept.
_FRAMES = 16

Lengths = tuple[int, ...]


class Samples:
    """Sampled pixels of each channel of one image; thread-safe.

    If all lengths are known, `ozx.write_image` samples the same pixels. Else every frame is sampled at first, then
    every second frame, then every fourth, and so on.
    """

    def __init__(self, shape: Lengths, dtype: np.dtype[Any], channel: int | None, growing: int | None) -> None:
        self._channel, self._growing, self._dtype = channel, growing, dtype
        channels = 1 if channel is None else shape[channel]
        plane = shape[-2:]
        counted = shape if growing is None else (_FRAMES * channels, *plane)
        self._sampling = choose_sampling(counted, channels)
        self._size = math.prod(
            len(range(first, length, step)) for length, (first, step) in zip(plane, self._sampling, strict=True)
        )
        others = [length for axis, length in enumerate(shape[:-2]) if axis not in (channel, growing)]
        self._most = 2 * _FRAMES * max(1, math.prod(others))
        self._step = 1
        self._kept: dict[int, dict[Lengths, NDArray[Any]]] = {number: {} for number in range(channels)}
        self._lock = threading.Lock()

    def add(self, corner: Lengths, pixels: NDArray[Any]) -> None:
        """Sample a frame that starts at `corner`."""
        if self._growing is not None and corner[self._growing] % self._step:
            return
        sample = take_sample(pixels, corner, self._sampling).reshape(-1)
        with self._lock:
            kept = self._kept[0 if self._channel is None else corner[self._channel]]
            kept[corner] = sample
            if self._growing is not None and len(kept) > self._most:
                self._thin(self._growing)

    def _thin(self, growing: int) -> None:
        self._step *= 2
        for number, kept in self._kept.items():
            self._kept[number] = {corner: kept[corner] for corner in kept if corner[growing] % self._step == 0}

    def windows(self, missing: int = 0) -> dict[int, Window]:
        """Return the contrast of each channel, as if `missing` more frames with only zeros had been sampled."""
        none = np.zeros(0, self._dtype)
        with self._lock:
            return {
                number: percentile_window(
                    np.concatenate([none, *kept.values()]), missing * self._size if missing or kept else 1
                )
                for number, kept in self._kept.items()
            }

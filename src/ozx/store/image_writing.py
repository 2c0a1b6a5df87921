"""Writing an image and its labels as OME-Zarr 0.5 into a zarr group, one shard at a time.

What is written is what every reader takes: all keys of ``omero`` that viewers ask for, shards of at most 64 MiB
decoded, blosc-compressed inner chunks. Levels are written as they are given; none are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec

from ozx.hierarchy.ome import Axis
from ozx.hierarchy.rendering import LabelDisplay, ShownChannel

__all__ = ["ArrayLike", "NewImage", "NewLevel", "Stacked", "Strided", "choose_chunks", "write_image"]

_VERSION = "0.5"
# One plane's part that a viewer wants at once: half a MiB of 16-bit pixels.
_CHUNK = 512
# Decoded; a shard is held in memory while it is written. Readers fail from 2 GiB on.
_SHARD_BYTES = 64 << 20


class ArrayLike(Protocol):
    """What pixels come from: NumPy, dask, zarr and other arrays; any that has these and gives out slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""

    @property
    def dtype(self) -> Any:
        """The type of the pixels."""

    def __getitem__(self, key: Any) -> Any:
        """Return a part that NumPy can take as an array."""


@dataclass(frozen=True)
class NewLevel:
    """One level to be written: its pixels, and where they lie in the units of the axes."""

    data: ArrayLike
    scale: tuple[float, ...]
    translation: tuple[float, ...]


@dataclass(frozen=True)
class NewImage:
    """An image to be written, or a label image where `label` says how it is shown; full resolution first."""

    name: str
    axes: tuple[Axis, ...]
    levels: tuple[NewLevel, ...]
    channels: tuple[ShownChannel, ...] = ()
    label: LabelDisplay | None = None


class Stacked:
    """Arrays of one shape and type as one, along a new dimension at `axis`.

    Examples
    --------
    >>> stacked = Stacked([np.zeros((4, 5)), np.ones((4, 5))], axis=0)
    >>> stacked.shape, stacked[1:2, 0:1, 0:2].tolist()
    ((2, 4, 5), [[[1.0, 1.0]]])
    """

    def __init__(self, arrays: Sequence[ArrayLike], axis: int) -> None:
        self._arrays = list(arrays)
        self._axis = axis
        self.dtype = arrays[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""
        shape = list(self._arrays[0].shape)
        shape.insert(self._axis, len(self._arrays))
        return tuple(shape)

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        rest = (*key[: self._axis], *key[self._axis + 1 :])
        return np.stack([np.asarray(array[rest]) for array in self._arrays[key[self._axis]]], axis=self._axis)


class Strided:
    """Every n-th pixel of an array, as a lower level of labels: a pixel next to the middle of each block.

    Examples
    --------
    >>> Strided(np.arange(7), (2,), (4,))[slice(0, 4),].tolist()
    [1, 3, 5, 6]
    """

    def __init__(self, array: ArrayLike, factors: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self._array = array
        self._factors = factors
        self.shape = shape
        self.dtype = array.dtype

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        wanted, spans = [], []
        for part, factor, length, size in zip(key, self._factors, self._array.shape, self.shape, strict=True):
            places = np.minimum(np.arange(*part.indices(size)) * factor + factor // 2, length - 1)
            wanted.append(places - places[0])
            spans.append(slice(int(places[0]), int(places[-1]) + 1))
        # Taken from what was read, not asked of the array: not every kind of array takes steps.
        return np.asarray(np.asarray(self._array[tuple(spans)])[np.ix_(*wanted)])


def choose_chunks(
    shape: tuple[int, ...], axes: Sequence[Axis], item_size: int
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Return inner chunks and shards for an array: planes in squares, up to 64 MiB of them in a file.

    Shards never join channels, which are looked at one by one; None where the array is a single chunk.

    Examples
    --------
    >>> axes = [Axis("c", "channel", None), Axis("y", "space", None), Axis("x", "space", None)]
    >>> choose_chunks((2, 2048, 3000), axes, 2)
    ((1, 512, 512), (1, 2048, 3072))
    >>> choose_chunks((1, 30, 40), axes, 2)
    ((1, 30, 40), None)
    """
    chunks = tuple(min(length, _CHUNK) if place >= len(shape) - 2 else 1 for place, length in enumerate(shape))
    shards = list(chunks)
    room = max(1, _SHARD_BYTES // (prod(chunks) * item_size))
    for place in reversed(range(len(shape))):
        if axes[place].type != "channel":
            count = min(-(-shape[place] // chunks[place]), room)
            shards[place] *= count
            room //= count
    return chunks, None if chunks == shape else tuple(shards)


def write_image(group: zarr.Group, image: NewImage, labels: Mapping[str, NewImage] | None = None) -> None:
    """Make a group an OME-Zarr 0.5 image, with one array per level (``0``, ``1``, …), and label images below it.

    All metadata comes before the first pixels: `OzxStore` keeps room for what it has seen by then.

    Examples
    --------
    >>> axes = (Axis("y", "space", "micrometer"), Axis("x", "space", "micrometer"))
    >>> root = zarr.create_group({})
    >>> write_image(root, NewImage("Cells", axes, (NewLevel(np.ones((4, 4), "uint8"), (0.5, 0.5), (0.0, 0.0)),)))
    >>> root.attrs["ome"]["multiscales"][0]["datasets"]
    [{'path': '0', 'coordinateTransformations': [{'type': 'scale', 'scale': [0.5, 0.5]}]}]
    """
    group.attrs["ome"] = _describe(image, None)
    arrays = _create_levels(group, image)
    if labels:
        parent = group.create_group("labels", attributes={"ome": {"version": _VERSION, "labels": list(labels)}})
        for name, label in labels.items():
            # OME-Zarr 0.5, "labels": the path from a label image to the image that it belongs to.
            below = parent.create_group(name, attributes={"ome": _describe(label, "../../")})
            arrays += _create_levels(below, label)
    for array, data in arrays:
        _fill(array, data)


def _create_levels(group: zarr.Group, image: NewImage) -> list[tuple[zarr.Array[Any], ArrayLike]]:
    arrays: list[tuple[zarr.Array[Any], ArrayLike]] = []
    for number, level in enumerate(image.levels):
        dtype = np.dtype(level.data.dtype).newbyteorder("=")
        chunks, shards = choose_chunks(level.data.shape, image.axes, dtype.itemsize)
        array = group.create_array(
            str(number),
            shape=level.data.shape,
            dtype=dtype,
            chunks=chunks,
            shards=shards,
            fill_value=0,
            compressors=BloscCodec(cname="zstd", clevel=5, shuffle="shuffle", typesize=dtype.itemsize),
            dimension_names=[axis.name for axis in image.axes],
        )
        arrays.append((array, level.data))
    return arrays


def _fill(array: zarr.Array[Any], data: ArrayLike) -> None:
    blocks = [range(0, length, step) for length, step in zip(data.shape, array.shards or array.chunks, strict=True)]
    for corner in product(*blocks):
        region = tuple(
            slice(start, min(start + block.step, length))
            for start, block, length in zip(corner, blocks, data.shape, strict=True)
        )
        array[region] = np.asarray(data[region]).astype(array.dtype, copy=False)


def _describe(image: NewImage, source: str | None) -> dict[str, Any]:
    # A translation is optional, but then that of every level: readers look at the first one for the form of all.
    is_moved = any(any(level.translation) for level in image.levels)
    datasets = []
    for number, level in enumerate(image.levels):
        steps: list[dict[str, Any]] = [{"type": "scale", "scale": list(level.scale)}]
        if is_moved:
            steps.append({"type": "translation", "translation": list(level.translation)})
        datasets.append({"path": str(number), "coordinateTransformations": steps})
    axes = [
        {key: value for key in ("name", "type", "unit") if (value := getattr(axis, key)) is not None}
        for axis in image.axes
    ]
    ome: dict[str, Any] = {
        "version": _VERSION,
        "multiscales": [{"name": image.name, "axes": axes, "datasets": datasets}],
    }
    if image.channels:
        ome["omero"] = _describe_channels(image)
    if image.label is not None:
        ome["image-label"] = _describe_label(image.label, source)
    return ome


def _describe_channels(image: NewImage) -> dict[str, Any]:
    # vizarr and others fail on a channel without one of these keys, and on planes outside of the image.
    channels = []
    for number, channel in enumerate(image.channels):
        window = channel.window
        shown = {"start": 0.0, "end": 1.0} if window is None else {"start": window.start, "end": window.end}
        least = None if window is None else window.min
        most = None if window is None else window.max
        limits = {"min": shown["start"] if least is None else least, "max": shown["end"] if most is None else most}
        channels.append(
            {
                "active": channel.active,
                "color": channel.color or "FFFFFF",
                "label": channel.label or f"Channel {number}",
                "window": {**limits, **shown},
            }
        )
    depth = next((n for n, axis in zip(image.levels[0].data.shape, image.axes, strict=True) if axis.name == "z"), 1)
    is_grey = all(channel["color"] == "FFFFFF" for channel in channels)
    model = "greyscale" if is_grey else "color"
    return {"channels": channels, "rdefs": {"defaultT": 0, "defaultZ": depth // 2, "model": model}}


def _describe_label(label: LabelDisplay, source: str | None) -> dict[str, Any]:
    described: dict[str, Any] = {} if source is None else {"source": {"image": source}}
    if label.colors:
        described["colors"] = [{"label-value": value, "rgba": list(rgba)} for value, rgba in label.colors.items()]
    if label.properties:
        described["properties"] = [{"label-value": value, **known} for value, known in label.properties.items()]
    return described

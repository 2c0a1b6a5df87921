"""write_image: write an array to an .ozx file as an OME-Zarr image with all resolution levels."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import BinaryIO

from ozx.calls import JsonResult, public_call
from ozx.errors import UsageError
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import check_name
from ozx.images.pixel_source import ArrayLike, MaskSource
from ozx.images.writing.array_image import (
    ChannelLike,
    PixelSizes,
    axis_names,
    check_lengths,
    describe_array,
    given_channels,
    image_title,
    own_axes,
    read_coordinates,
)
from ozx.images.writing.hierarchy_writing import count_bytes, write_hierarchy
from ozx.images.writing.label_image import check_is_integer, check_label_name
from ozx.images.writing.new_image import NewHierarchy, NewImage, PyramidChoice
from ozx.ome.colors import LabelDisplay
from ozx.ome.conversion_05_06 import checked_version
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.places.place import Place
from ozx.progress import NO_PROGRESS, Progress, begin_phase


@dataclass(frozen=True, slots=True)
class WriteImageResult(JsonResult):
    """The file that `write_image` wrote.

    Attributes
    ----------
    path
        Path of the file; of an open file its name.
    entries, bytes
        Number of entries, and length of the file in bytes.
    notes
        Parts of the array's coordinates and attributes that were left out, one sentence each.
    """

    path: str
    entries: int
    bytes: int
    notes: tuple[str, ...] = ()


@public_call(scale="pixel_size", channels="channel_names")
def write_image(  # noqa: PLR0913 (one argument for each choice)
    path: str | os.PathLike[str] | BinaryIO,
    array: ArrayLike,
    *,
    axes: str | Sequence[str] | None = None,
    pixel_size: PixelSizes | None = None,
    unit: str | Mapping[str, str] | None = None,
    channel_names: Sequence[ChannelLike] = (),
    name: str | None = None,
    labels: bool | Mapping[str, ArrayLike] = False,
    method: str | None = None,
    downsample: str | Sequence[str] | None = None,
    chunks: str | Mapping[str, int] | None = None,
    shards: str | Mapping[str, int] = "auto",
    codec: str | None = None,
    chunk_checksums: str | None = None,
    ome_version: str = "0.5",
    force: bool = False,
    sync: bool = True,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> WriteImageResult:
    """Write an array as an OME-Zarr image with all resolution levels, in one pass over its pixels.

    Parameters
    ----------
    path
        The file to write, or a binary file that is open for writing, or `io.BytesIO`, which stays open.
    array
        An array of NumPy, dask, zarr or xarray, or any other array that returns slices. It is read block by block, each
        pixel once if the chunks of the array allow it. From the coordinates of an array of xarray come pixel sizes and
        positions (if they rise by equal steps), units (their attribute ``units``) and names of channels, from its
        ``long_name`` or name that of the image, as far as the arguments below do not say otherwise.
    axes
        Names of its dimensions, out of t, c, z, y and x; by default the names in ``array.dims``, as arrays of xarray
        have them, or else the last of these names: y and x for a plane. Capitals, ``time`` and ``channel`` work too.
        An array in another order, such as ``yxc``, is transposed into OME order.
    pixel_size
        The distance between neighbouring pixels: for all axes of space (``0.65``), by axis (``{"y": 0.65, "x": 0.65}``)
        or for each dimension; also with units (``"0.65um"``). 1 if unknown.
    unit
        Unit of the axes of space, or units by axis, such as ``micrometer``, ``um``, ``second``.
    channel_names
        For each channel its name, or a mapping with any of ``label``, ``color`` (as for `ozx.edit`), ``active``,
        ``window`` (start, end) and ``emission`` (nanometers). Missing contrast extends from the 1st to the 99.8th
        percentile of the pixels; a missing colour comes from the dye in the name, or from the emission. Without
        names, 8-bit pixels with three or four channels as their last dimension, such as ``yxc``, are red, green,
        blue and transparency.
    name
        The image's name; by default that of the array, or else of the file.
    labels
        True for an array of labels. Or label images by name; each has the dimensions of `array` without ``c``, in the
        same order; without `axes`, names in ``dims`` may give another order. The axes t and z may be missing or have
        the length 1, as for `add_labels`. Labels are integers; a mask of booleans is written as 0 and 1.
    method, downsample
        Method of downsampling: ``mean``, ``nearest`` or ``mode`` (by default ``mean``, and ``nearest`` for labels;
        label images of an image get ``nearest`` unless it is ``mode``); and the axes to halve, or ``none``; by default
        those that `plan_pyramid` chooses.
    chunks, shards, codec, chunk_checksums
        Another layout than `lay_out` chooses; see `ozx.repack`. By default, chunks in shards end in a checksum.
        ``chunk_checksums="add"`` also adds a checksum to chunks outside of shards, ``"drop"`` adds no checksum.
    ome_version
        OME-Zarr version of the file, ``"0.5"`` or ``"0.6"``.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    sync
        Whether to wait until the file is on the disk.
    executor
        Executor that reads, halves and encodes; by default one thread per core. The executor of
        Dask, ``Client.get_executor()``, uses the workers of a cluster.
    progress
        Receives the number of bytes of pixels read.

    Returns
    -------
    WriteImageResult
        The written file.

    Raises
    ------
    UsageError
        The file exists or is a URL that ozx only reads, or an option does not fit the array. Or a block of the array
        has another shape than the array declares, a type whose values the declared type does not hold, or masked
        pixels.
    UnsupportedError
        OME-Zarr or Zarr has no such type or number of dimensions.
    ResourceError
        The file cannot be written. After any error, `path` is as it was before, but for an open file on a full disk.

    Examples
    --------
    >>> import numpy as np
    >>> pixels = np.random.default_rng(0).integers(0, 4096, (2, 600, 800), dtype="uint16")
    >>> result = write_image("cells.ozx", pixels, axes="cyx", pixel_size="0.325um",
    ...                      channel_names=["DAPI", "GFP"], force=True)
    >>> import ozx
    >>> [level.shape for level in ozx.inspect("cells.ozx").images[0].levels]
    [(2, 600, 800), (2, 300, 400), (2, 150, 200)]
    """
    if hasattr(path, "shape") and isinstance(array, str | os.PathLike):
        raise UsageError("expected the path first, then the array", hint="Write ozx.write_image(path, array).")
    target, output = _target(path, force=force, sync=sync)
    names = own_axes(array) if axes is None else axes
    known = read_coordinates(array, None if names is None else axis_names(array, names))
    title = image_title(known.name if name is None else name, target)
    described = describe_array(array, names, pixel_size, unit, known)
    channels = channel_names or [str(channel.label) for channel in known.channels]
    choice = PyramidChoice.parse(method, downsample, is_label=labels is True)
    image = NewImage(
        title, *described, pyramid=choice, channels=given_channels(channels, described, names, are_all=True)
    )
    if labels is True:
        image = _as_labels(image)
    elif labels is not None and labels is not False:
        image = _with_labels(image, labels, method, axis_names(array, names), has_own=axes is None)
    layout = LayoutChoice.parse(shards, chunks, codec, chunk_checksums=chunk_checksums)
    hierarchy = NewHierarchy({"": image}, version=checked_version(ome_version))
    with _opened(output) as descriptor:
        progress = begin_phase(progress or NO_PROGRESS, os.path.basename(target), count_bytes(hierarchy))
        entries, size = write_hierarchy(descriptor, hierarchy, layout, executor=executor, progress=progress)
    progress.stop()
    return WriteImageResult(target, entries, size, known.notes)


def _target(path: str | os.PathLike[str] | BinaryIO, *, force: bool, sync: bool) -> tuple[str, Output | BinaryIO]:
    """Return the name of what is written, and the output, or the open file."""
    if not isinstance(path, str | os.PathLike) and hasattr(path, "write"):
        is_closed = getattr(path, "closed", False)
        if isinstance(path, io.TextIOBase) or is_closed or not getattr(path, "writable", lambda: True)():
            raise UsageError(f"expected a file that is open for writing bytes; got {path!r:.200}")
        name = getattr(path, "name", None)
        return name if isinstance(name, str) else f"<{type(path).__name__}>", path
    output = Output(Place.output(path, remote=True), force, sync=sync)  # type: ignore[arg-type]  # refuses other types
    check_name(output.path, "an .ozx file")
    if output.path.rstrip("/").endswith(".zarr"):
        raise UsageError(
            f"expected the name of an .ozx file; got {output.path}",
            hint="ozx.unpack makes a directory of an .ozx file.",
        )
    return output.path, output


@contextmanager
def _opened(output: Output | BinaryIO) -> Iterator[int]:
    """Yield the descriptor of a new file; an open file gets its bytes at the end, if nothing failed."""
    if isinstance(output, Output):
        with output.spooled() as new:
            yield new.descriptor
        return
    with tempfile.TemporaryFile() as file:
        yield file.fileno()
        file.seek(0)
        shutil.copyfileobj(file, output)
        # Readers look for an archive from the end of a file, which may have been longer; a pipe has nothing behind it.
        with suppress(OSError, AttributeError):
            output.truncate()


def _with_labels(
    image: NewImage, labels: Mapping[str, ArrayLike], method: str | None, names: Sequence[str], *, has_own: bool
) -> NewImage:
    """Return the image with label images added.

    `names` are the axes of the image's array as the caller gave it. With `has_own`, the order of the axes of a label
    image is that of its own dimensions, if these have names.
    """
    kept = [number for number in range(len(image.axes)) if number != image.channel_axis]
    full, named = image.levels[0], {}
    # Labels cannot be averaged.
    choice = replace(image.pyramid, method="mode" if method == "mode" else "nearest")
    axes = tuple(image.axes[number] for number in kept)
    lengths = {str(image.axes[number].name): full.shape[number] for number in kept}
    given = [name for name in names if name in lengths]
    for name, array in _named_labels(labels):
        own = own_axes(array) if has_own else None
        # As in `add_labels`, t and z may be missing or have the length 1.
        orders = [own] if own else [[axis for axis in given if axis not in left] for left in ("", "t", "z", "tz")]
        if own and not set(given) - {"t", "z"} <= set(own) <= set(given):
            raise UsageError(f"expected labels {name!r} with the dimensions {', '.join(given)}; found {', '.join(own)}")
        order = next((order for order in orders if _fits(array.shape, order, lengths)), None)
        if order is None:
            raise UsageError(
                f"expected labels {name!r} of the shape {tuple(lengths[axis] for axis in orders[0])}; "
                f"found {tuple(array.shape)}",
                hint=f"Give the axes of the labels in the order of the image's array: {', '.join(orders[0])}.",
            )
        _, sources, (level,) = describe_array(array, order, None, None)
        if len(order) < len(axes):
            found = [sources[0].axes.index(axis) if axis in order else None for axis in lengths]
            shape = tuple(1 if number is None else level.shape[number] for number in found)
            sources, level = (MaskSource(sources[0], tuple(lengths), shape, found),), replace(level, shape=shape)
        scale, start = (tuple(values[number] for number in kept) for values in (full.scale, full.translation))
        level = replace(level, scale=scale, translation=start)
        named[name] = _as_labels(NewImage(name, axes, sources, (level,), pyramid=choice))
    return replace(image, labels=named)


def _fits(shape: Sequence[int], axes: Sequence[str], lengths: Mapping[str, int]) -> bool:
    """Return whether labels of a shape may have these axes."""
    return len(shape) == len(axes) and all(
        length == lengths[axis] or (length == 1 and axis in ("t", "z"))
        for axis, length in zip(axes, shape, strict=True)
    )


def _named_labels(labels: Mapping[str, ArrayLike]) -> Iterator[tuple[str, ArrayLike]]:
    if not isinstance(labels, Mapping):
        raise UsageError(
            f"expected True, or label images by name; got {type(labels).__name__}",
            hint='Write labels={"cells": array}, or labels=True if the pixels themselves are labels.',
        )
    for name, array in labels.items():
        check_label_name(name)
        if not hasattr(array, "shape"):
            raise UsageError(
                f"expected labels {name!r} as an array; got {type(array).__name__}", hint="Use numpy.asarray(...)."
            )
        check_lengths(array)
        yield name, array


def _as_labels(image: NewImage) -> NewImage:
    check_is_integer(image.sources[0].dtype)
    return replace(image.with_integers(), label=LabelDisplay({}, {}), channels=())

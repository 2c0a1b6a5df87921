"""Open a mask, made by a segmentation program, as a source of pixels: an image file, NumPy (.npy) or OME-Zarr."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ozx.archive.other_formats import LONGEST_SIGNATURE, find_format
from ozx.errors import FormatError, UsageError
from ozx.images.image import GroupNodes
from ozx.images.pixel_source import ArrayLike, ArraySource, PixelSource
from ozx.images.writing.array_image import axis_names, own_axes
from ozx.ome.images import image_paths
from ozx.places.place import Place
from ozx.readers.registry import open_images
from ozx.store.opening import opened_hierarchy

_NPY = b"\x93NUMPY"

#: A source of pixels, and the names of its dimensions.
Mask = tuple[PixelSource, Sequence[str]]


@contextmanager
def opened_mask(mask: str | os.PathLike[str] | ArrayLike, axes: str | None = None) -> Iterator[Mask]:
    """Yield the pixels of a mask, read on request; `axes` replaces the names of its dimensions."""
    if not isinstance(mask, str | os.PathLike):
        yield _array_mask(mask, axes)
        return
    first = b""
    if os.path.isfile(mask):
        with open(mask, "rb") as file:
            first = file.read(LONGEST_SIGNATURE)
    if first.startswith(_NPY):
        yield _array_mask(_load_npy(os.fspath(mask)), axes)
        return
    known = find_format(first)
    if first and not (known is not None and known.is_zip):
        with _file_mask(os.fspath(mask), axes) as found:
            yield found
        return
    with opened_hierarchy(Place.parse(mask)) as group:
        nodes = GroupNodes(group)
        view = nodes.image(next(image_paths(nodes), ""))
        own = [(axis.name or "").lower() for axis in view.axes]
        names = _named(axes or own, len(own))
        yield ArraySource(view.levels[0], names), names


def _array_mask(array: ArrayLike, axes: str | None) -> Mask:
    names = axis_names(array, axes or own_axes(array))
    return ArraySource(array, names), names


def _load_npy(path: str) -> ArrayLike:
    try:
        array: ArrayLike = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        problem = f"NumPy cannot read this file: {error}"
        raise FormatError(problem, path=path, hint="Save it again with numpy.save.") from None
    return array


@contextmanager
def _file_mask(path: str, axes: str | None) -> Iterator[Mask]:
    with open_images(path) as found:
        if len(found.images) != 1:
            raise UsageError(
                f"expected one image in the mask; found {len(found.images)}",
                path=path,
                hint="Save the mask as a file of its own.",
            )
        (image,) = found.images.values()
        yield image.sources[0], _named(axes or image.sources[0].axes, len(image.sources[0].axes))
        found.files.check_unchanged()


def _named(names: Sequence[str], count: int) -> tuple[str, ...]:
    if len(names) != count:
        raise UsageError(f"expected {count} axes, one for each dimension of the mask; got {', '.join(names)}")
    return tuple(names)

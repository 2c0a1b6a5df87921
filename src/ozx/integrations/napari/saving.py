"""Write napari layers to one .ozx file: an image of one or more channels, and its label images."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.atomic.new_file import replacing_file
from ozx.errors import OzxError, ResourceError, UnsupportedError, UsageError
from ozx.flow.sources.location import given_output
from ozx.hierarchy.images import level_factor
from ozx.hierarchy.ome.model import Axis
from ozx.images.block_checks import with_checked_blocks
from ozx.images.pixel_source import ArrayLike, ArraySource
from ozx.images.writing.hierarchy_writing import write_hierarchy
from ozx.images.writing.new_image import NewHierarchy, NewImage, NewLevel, PyramidChoice
from ozx.integrations.napari.layers import Layer, parse_layer, place_levels
from ozx.integrations.napari.reading import LayerData, with_way_out

# Combine lazy arrays into new lazy arrays.


class Stacked:
    """A lazy array made of several arrays of equal shape and type, stacked along a new dimension at `axis`."""

    def __init__(self, arrays: Sequence[ArrayLike], axis: int) -> None:
        self._arrays = list(arrays)
        self._axis = axis
        self.dtype = arrays[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        shape = list(self._arrays[0].shape)
        shape.insert(self._axis, len(self._arrays))
        return tuple(shape)

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        rest = (*key[: self._axis], *key[self._axis + 1 :])
        return np.stack([np.asarray(array[rest]) for array in self._arrays[key[self._axis]]], axis=self._axis)


class Strided:
    """A lazy array with the central pixel of each block of another array; used for the lower levels of labels."""

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
        # Steps are applied after reading, as some kinds of arrays do not support them.
        return np.asarray(np.asarray(self._array[tuple(spans)])[np.ix_(*wanted)])


_ONE_BY_ONE = "Save the layers one by one, each to a file of its own."
_AS_THEY_ARE = PyramidChoice(axes=())


def write_layers(path: str, layers: Sequence[LayerData]) -> list[str]:
    """Write image and labels layers to one .ozx file; return its path in a list, as napari requires.

    Image layers of one shape, type and place become the channels of one image. Labels layers become the label images of
    this image, with the same number of levels. A single labels layer without an image becomes a label image. Only the
    levels of the layers are written. The target must not be the file from which the layers are read.

    Parameters
    ----------
    path
        The file to write; an existing one is replaced once the new one is complete.
    layers
        Data, arguments and type of each layer, ``image`` or ``labels``.

    Returns
    -------
    list of str
        The path.

    Raises
    ------
    UnsupportedError
        `path` is a URL; the layers do not make one image, or are read from `path`; or OME-Zarr 0.5 cannot store a layer
        with a rotation, a shear, too many dimensions, or dimensions in another order.
    ResourceError
        The file cannot be written.

    Examples
    --------
    >>> import ozx
    >>> from ozx.integrations.napari import read_layers
    >>> write_layers("copy.ozx", read_layers("cells.ozx"))
    ['copy.ozx']
    >>> ozx.validate("copy.ozx").valid
    True
    """
    try:
        path = given_output(path)
        _check_target(path, layers)
        image, labels = _arrange(layers, os.path.basename(path).removesuffix(".ozx").removesuffix(".ome"))
        with replacing_file(path, force=True) as new:
            write_hierarchy(new.descriptor, NewHierarchy({"": replace(image, labels=labels)}))
    except OzxError as error:
        refusal = with_way_out(error, path)
        # For a ValueError, napari says "no plugin could write it", without the text of the error.
        if isinstance(refusal, ValueError):
            refusal = UnsupportedError(refusal.message, path=refusal.path, rule=refusal.rule, hint=refusal.hint)
        raise refusal from None
    except OSError as error:
        raise ResourceError(f"cannot be written: {error.strerror or error}", path=path) from None
    return [path]


def _check_target(path: str, layers: Sequence[LayerData]) -> None:
    for _, meta, _ in layers:
        origin = meta.get("metadata", {}).get("ozx", {})
        source = origin.get("path") if isinstance(origin, dict) else None
        if isinstance(source, str) and os.path.realpath(source) == os.path.realpath(path):
            raise UsageError(f"the layer {meta.get('name')!r} is read from this file", hint="Choose another name.")


def _arrange(layers: Sequence[LayerData], title: str) -> tuple[NewImage, dict[str, NewImage]]:
    """Return the image to write, and its label images by name."""
    kinds = sorted({kind for _, _, kind in layers})
    if not layers or not set(kinds) <= {"image", "labels"}:
        found = ", ".join(kinds) or "none"
        raise UsageError(
            f"expected image and labels layers, found {found}", hint="Select only image and labels layers."
        )
    images, labels = ([parse_layer(*layer) for layer in layers if layer[2] == kind] for kind in ("image", "labels"))
    if not images:
        if len(labels) > 1:
            raise UsageError(f"expected an image beside {len(labels)} labels layers, found none", hint=_ONE_BY_ONE)
        return _label_image(labels[0], None), {}
    image = _merge(images, title)
    named: dict[str, NewImage] = {}
    for label in labels:
        named[_node_name(label.name, named)] = _label_image(label, image)
    return image, named


def _merge(layers: Sequence[Layer], title: str) -> NewImage:
    """Return an image with the layers as its channels."""
    first = layers[0]
    for other in layers[1:]:
        if (other.shapes, other.levels[0].dtype) != (first.shapes, first.levels[0].dtype):
            raise UsageError(
                "expected layers of one shape and type, because they become channels of one image; found "
                + " and ".join(
                    f"{item.name!r} with {item.shapes[0]} {item.levels[0].dtype}" for item in (first, other)
                ),
                hint=_ONE_BY_ONE,
            )
        if other.axes != first.axes or not np.allclose(other.places[0], first.places[0]):
            raise UsageError(
                "expected layers of one scale, translation and unit, because they become channels of one image; "
                f"{first.name!r} and {other.name!r} have different scales, translations, units or names of dimensions",
                hint=_ONE_BY_ONE,
            )
    channels = tuple(channel for layer in layers for channel in layer.channels)
    parts = [part for layer in layers for part in layer.parts]
    if len(parts) == 1:
        levels = [_level(data, first.axes, *place) for data, place in zip(parts[0], first.places, strict=True)]
        return NewImage(title, first.axes, tuple(levels), channels, pyramid=_AS_THEY_ARE)
    # OME-Zarr 0.5, "axes": time, then channels or one axis of another kind, then space.
    if any(axis.type not in ("time", "space") for axis in first.axes):
        names = ", ".join(str(axis.name) for axis in first.axes)
        raise UnsupportedError(f"expected t, z, y, x in layers that become channels, found {names}", hint=_ONE_BY_ONE)
    at = sum(axis.type == "time" for axis in first.axes)
    axes = (*first.axes[:at], Axis("c", "channel", None), *first.axes[at:])
    merged = []
    for number, (scale, moved) in enumerate(first.places):
        data = Stacked([with_checked_blocks(part[number], _names(first.axes)) for part in parts], at)
        merged.append(_level(data, axes, (*scale[:at], 1.0, *scale[at:]), (*moved[:at], 0.0, *moved[at:])))
    return NewImage(title, axes, tuple(merged), channels, pyramid=_AS_THEY_ARE)


def _level(data: ArrayLike, axes: Sequence[Axis], scale: tuple[float, ...], translation: tuple[float, ...]) -> NewLevel:
    return NewLevel(ArraySource(data, _names(axes)), scale, translation)


def _names(axes: Sequence[Axis]) -> tuple[str, ...]:
    return tuple(str(axis.name) for axis in axes)


def _label_image(layer: Layer, image: NewImage | None) -> NewImage:
    """Return a label image with the same number of levels as its image, as OME-Zarr 0.5 ("labels") requires."""
    levels = list(layer.levels)
    if image is not None:
        levels = levels[: len(image.levels)]
        levels += [_thin(levels[0], layer.axes, image, number) for number in range(len(levels), len(image.levels))]
    places = place_levels(*layer.places[0], [tuple(level.shape) for level in levels])
    new = tuple(_level(data, layer.axes, *place) for data, place in zip(levels, places, strict=True))
    return NewImage(layer.name, layer.axes, new, label=layer.label, pyramid=_AS_THEY_ARE)


def _thin(array: ArrayLike, axes: Sequence[Axis], image: NewImage, number: int) -> ArrayLike:
    """Return labels at the resolution of a lower level of their image."""
    names = [axis.name for axis in image.axes]
    full, lower = (dict(zip(names, image.levels[level].source.shape, strict=True)) for level in (0, number))
    factors = [round(level_factor(full[axis.name], lower[axis.name])) if axis.name in full else 1 for axis in axes]
    lengths = [
        lower[axis.name] if full.get(axis.name) == length else max(1, length // factor)
        for axis, length, factor in zip(axes, array.shape, factors, strict=True)
    ]
    return Strided(with_checked_blocks(array, _names(axes)), tuple(factors), tuple(lengths))


def _node_name(name: str, taken: dict[str, Any]) -> str:
    """Return a valid node name: letters, digits, dots, dashes and underscores (Zarr core 3.1, "Node names")."""
    plain = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).lstrip("_.") or "labels"
    number = 2
    unique = plain
    while unique in taken:
        unique, number = f"{plain}_{number}", number + 1
    return unique

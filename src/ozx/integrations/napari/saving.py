"""Write napari layers to one .ozx file: an image of one or more channels, and its label images."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.atomic.new_file import replacing_file
from ozx.errors import OzxError, ResourceError, UnsupportedError, UsageError
from ozx.images.pixel_source import ArrayLike, ArraySource, with_checked_blocks
from ozx.images.writing.array_image import image_title
from ozx.images.writing.hierarchy_writing import write_hierarchy
from ozx.images.writing.new_image import NewHierarchy, NewImage, PyramidChoice, PyramidLevel
from ozx.integrations.napari.reading import LayerData, with_way_out
from ozx.ome.colors import RGBA, WHITE, LabelDisplay, ShownChannel, Window
from ozx.ome.images import level_factor
from ozx.ome.model import Axis
from ozx.ome.units import TIME_UNITS, UNITS_OF
from ozx.places.place import Place

# The metadata of a layer in OME-Zarr's terms: axes, positions, channels, label colours.

#: Scale and translation of a level.
LevelPlace = tuple[tuple[float, ...], tuple[float, ...]]

_TYPES = {"t": "time", "time": "time", "c": "channel", "channel": "channel", "z": "space", "y": "space", "x": "space"}
# For dimensions without names.
_NAMES = {2: "yx", 3: "zyx", 4: "tzyx"}


@dataclass(frozen=True)
class Layer:
    """An image layer or labels layer of napari.

    `parts` contains the levels of each channel, full resolution first. There is only one part if the channels are an
    axis, or if there are no channels, as in a labels layer.
    """

    name: str
    axes: tuple[Axis, ...]
    parts: tuple[tuple[ArrayLike, ...], ...]
    places: tuple[LevelPlace, ...]
    channels: tuple[ShownChannel, ...]
    label: LabelDisplay | None

    @property
    def levels(self) -> tuple[ArrayLike, ...]:
        """The levels of the layer, or of its first channel if each channel has levels of its own."""
        return self.parts[0]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each level."""
        return tuple(tuple(level.shape) for level in self.levels)


@dataclass(frozen=True)
class _LazyArray:
    """An array whose blocks a function makes when they are read."""

    shape: tuple[int, ...]
    dtype: Any
    read: Callable[[tuple[slice, ...]], NDArray[Any]]

    def __getitem__(self, key: tuple[slice, ...]) -> NDArray[Any]:
        return self.read(key)


def _component(array: ArrayLike, number: int) -> ArrayLike:
    """Return one colour component (red, green or blue) from the last dimension of colour pixels."""
    return _LazyArray(tuple(array.shape[:-1]), array.dtype, lambda key: np.asarray(array[(*key, number)]))


def parse_layer(data: Any, meta: Mapping[str, Any], kind: str) -> Layer:
    """Parse the layer data that napari passes to writers."""
    name = str(meta.get("name") or ("Labels" if kind == "labels" else "Image"))
    levels: tuple[ArrayLike, ...] = tuple(data) if meta.get("multiscale") else (data,)
    dtype = np.dtype(levels[0].dtype)
    if dtype.kind not in "biufc" or 0 in levels[0].shape:
        raise UsageError(f"the layer {name!r}: expected pixels that are numbers, found the data type {dtype}")
    _check_upright(name, meta)
    is_rgb = bool(meta.get("rgb"))
    axes = _parse_axes(name, meta, len(levels[0].shape) - is_rgb)
    parts: tuple[tuple[ArrayLike, ...], ...] = (levels,)
    if is_rgb:
        count = levels[0].shape[-1]
        parts = tuple(tuple(_component(level, number) for level in levels) for number in range(count))
    scale = tuple(float(number) for number in _numbers(meta.get("scale"), len(axes), 1.0))
    moved = tuple(float(number) for number in _numbers(meta.get("translate"), len(axes), 0.0))
    places = place_levels(scale, moved, [tuple(level.shape) for level in parts[0]])
    label = _parse_label_display(meta) if kind == "labels" else None
    channels = () if kind == "labels" else _parse_channels(name, meta, axes, parts)
    return Layer(name, axes, parts, places, channels, label)


def place_levels(
    scale: tuple[float, ...], translation: tuple[float, ...], shapes: Sequence[tuple[int, ...]]
) -> tuple[LevelPlace, ...]:
    """Return the scale and translation of each level, computed from the first level.

    A pixel of a lower level covers whole pixels of the first one, and their centres coincide.
    """
    places = []
    for shape in shapes:
        factors = [level_factor(full, length) for full, length in zip(shapes[0], shape, strict=True)]
        scales = tuple(one * factor for one, factor in zip(scale, factors, strict=True))
        steps = zip(translation, scale, factors, strict=True)
        places.append((scales, tuple(start + one * (factor - 1) / 2 for start, one, factor in steps)))
    return tuple(places)


def _check_upright(name: str, meta: Mapping[str, Any]) -> None:
    # OME-Zarr 0.5, "coordinateTransformations": a multiscale has only scale and translation.
    turned = meta.get("rotate")
    affine = meta.get("affine")
    rotation = np.zeros(1) if turned is None else np.asarray(turned, dtype=float)
    still = np.eye(len(rotation)) if rotation.ndim == 2 else 0.0
    matrix = np.eye(1) if affine is None else np.asarray(affine, dtype=float)
    is_upright = np.allclose(rotation, still) and np.allclose(matrix, np.eye(len(matrix)))
    if not is_upright or np.any(np.asarray(meta.get("shear", 0.0) or 0.0)):
        raise UnsupportedError(
            f"the layer {name!r} has rotation, shear or an affine transform; only scale and translation can be saved",
            hint="Reset layer.affine, layer.rotate and layer.shear: OME-Zarr 0.5 cannot store them.",
        )


def _parse_axes(name: str, meta: Mapping[str, Any], count: int) -> tuple[Axis, ...]:
    units = [str(unit) for unit in meta.get("units") or ("pixel",) * count]
    names = [str(label) for label in meta.get("axis_labels") or ()]
    if len(names) != count or not {"y", "x"} <= set(names):  # napari's own names are "axis -2", "axis -1"
        if count not in _NAMES:
            raise UnsupportedError(
                f"the layer {name!r} has {count} dimensions without names; expected 2, 3 or 4, or names of the axes",
                hint='Set layer.axis_labels to the names of the axes, as in ("t", "c", "z", "y", "x").',
            )
        names = list("tyx" if count == 3 and units[0] in TIME_UNITS else _NAMES[count])
    types = [_TYPES.get(name) for name in names]
    ranks = [("time", "channel", "space").index(kind or "channel") for kind in types]
    # OME-Zarr 0.5, "axes": one of time, one of channels or of another kind, two or three of space, in this order.
    if ranks != sorted(ranks) or ranks.count(0) > 1 or ranks.count(1) > 1 or not 2 <= ranks.count(2) <= 3:
        raise UnsupportedError(
            f"the layer {name!r}: expected the dimensions t, c, z, y, x or some of them, found {', '.join(names)}",
            hint="Reorder the dimensions. OME-Zarr cannot store other dimensions: save one index along each of them.",
        )
    known = [unit if unit in UNITS_OF.get(kind or "", ()) else None for unit, kind in zip(units, types, strict=True)]
    return tuple(Axis(*item) for item in zip(names, types, known, strict=True))


def _numbers(value: Any, count: int, default: float) -> NDArray[Any]:
    numbers = np.full(count, default) if value is None else np.asarray(value, dtype=float)
    return np.broadcast_to(numbers, count)


def _parse_channels(
    name: str, meta: Mapping[str, Any], axes: Sequence[Axis], parts: Sequence[Sequence[ArrayLike]]
) -> tuple[ShownChannel, ...]:
    dtype = np.dtype(parts[0][0].dtype)
    window = _parse_window(meta.get("contrast_limits"), dtype)
    visible = bool(meta.get("visible", True))
    if len(parts) > 1:
        return tuple(ShownChannel(label, color, visible and label != "Alpha", window)
                     for label, color in RGBA[: len(parts)])  # fmt: skip
    color = _parse_color(meta.get("colormap"))
    types = [axis.type for axis in axes]
    if "channel" not in types:
        return (ShownChannel(name, color, visible, window),)
    count = parts[0][0].shape[types.index("channel")]
    return tuple(ShownChannel(f"{name} {number}", color, visible, window) for number in range(count))


def _parse_window(limits: Any, dtype: np.dtype[Any]) -> Window:
    if dtype.kind not in "iu":  # the range of other types is unknown
        start, end = (0.0, 1.0) if limits is None else (float(limit) for limit in limits)
        return Window(start, end, start, end)
    least, most = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    start, end = (least, most) if limits is None else (float(limit) for limit in limits)
    return Window(start, end, min(least, start), max(most, end))


def _parse_color(colormap: Any) -> str:
    """Return the colour of the brightest pixels as six hexadecimal digits; white if the layer has no colour."""
    if isinstance(colormap, Mapping) and len(colormap.get("colors", ())):
        red, green, blue = (round(255 * float(part)) for part in np.asarray(colormap["colors"])[-1][:3])
        return f"{red:02X}{green:02X}{blue:02X}"
    match = re.fullmatch(r"#([0-9A-Fa-f]{6})(?:[0-9A-Fa-f]{2})?", colormap) if isinstance(colormap, str) else None
    return match[1].upper() if match else WHITE


def _parse_label_display(meta: Mapping[str, Any]) -> LabelDisplay:
    given = getattr(meta.get("colormap"), "color_dict", None) or {}
    properties = _parse_properties(meta.get("features"))
    colors = {int(value): _rgba(color) for value, color in given.items() if value not in (None, 0)}
    if colors and properties:
        # ome-zarr-models requires colours and properties for the same labels. Labels without a colour get that of None.
        other = _rgba(given.get(None, (0.5, 0.5, 0.5, 1.0)))
        colors |= {value: other for value in properties if value not in colors}
        properties |= {value: {} for value in colors if value not in properties}
    return LabelDisplay(colors, properties)


def _rgba(color: Any) -> tuple[int, int, int, int]:
    red, green, blue, alpha = (round(255 * float(part)) for part in color)
    return red, green, blue, alpha


def _parse_properties(features: Any) -> dict[int, dict[str, Any]]:
    """Return the properties of each label value (column ``index``), as far as JSON can represent them."""
    if features is None or "index" not in features:
        return {}
    columns = {str(key): np.asarray(features[key]).tolist() for key in features}
    values = columns.pop("index")
    return {
        int(value): {key: column[row] for key, column in columns.items() if _is_plain(column[row])}
        for row, value in enumerate(values)
    }


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bool | int) or (isinstance(value, float) and np.isfinite(value))


# Saving. Lazy arrays are combined into new lazy arrays.


def _stacked(arrays: Sequence[ArrayLike], axis: int) -> ArrayLike:
    """Return several arrays of equal shape and type as one, stacked along a new dimension at `axis`."""

    def read(key: tuple[slice, ...]) -> NDArray[Any]:
        rest = (*key[:axis], *key[axis + 1 :])
        return np.stack([np.asarray(array[rest]) for array in arrays[key[axis]]], axis=axis)

    shape = arrays[0].shape
    return _LazyArray((*shape[:axis], len(arrays), *shape[axis:]), arrays[0].dtype, read)


def _strided(array: ArrayLike, factors: tuple[int, ...], shape: tuple[int, ...]) -> ArrayLike:
    """Return the central pixel of each block of an array; used for the lower levels of labels."""

    def read(key: tuple[slice, ...]) -> NDArray[Any]:
        wanted, spans = [], []
        for part, factor, length, size in zip(key, factors, array.shape, shape, strict=True):
            places = np.minimum(np.arange(*part.indices(size)) * factor + factor // 2, length - 1)
            wanted.append(places - places[0])
            spans.append(slice(int(places[0]), int(places[-1]) + 1))
        # Steps are applied after reading, as some kinds of arrays do not support them.
        return np.asarray(np.asarray(array[tuple(spans)])[np.ix_(*wanted)])

    return _LazyArray(shape, array.dtype, read)


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
        path = Place.output(path).path
        _check_target(path, layers)
        image, labels = _arrange(layers, image_title(None, path))
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
                f"{first.name!r} and {other.name!r} have different scales, translations, units or names of dimensions, "
                "and cannot become channels of one image",
                hint=_ONE_BY_ONE,
            )
    channels = tuple(channel for layer in layers for channel in layer.channels)
    parts = [part for layer in layers for part in layer.parts]
    if len(parts) == 1:
        return _new_image(title, first.axes, parts[0], first.places, channels=channels)
    # OME-Zarr 0.5, "axes": time, then channels or one axis of another kind, then space.
    if any(axis.type not in ("time", "space") for axis in first.axes):
        names = ", ".join(str(axis.name) for axis in first.axes)
        raise UnsupportedError(f"expected t, z, y, x in layers that become channels, found {names}", hint=_ONE_BY_ONE)
    at = sum(axis.type == "time" for axis in first.axes)
    axes = (*first.axes[:at], Axis("c", "channel", None), *first.axes[at:])
    stacks = [
        _stacked([with_checked_blocks(part[number], _names(first.axes)) for part in parts], at)
        for number in range(len(first.places))
    ]
    places = [((*scale[:at], 1.0, *scale[at:]), (*moved[:at], 0.0, *moved[at:])) for scale, moved in first.places]
    return _new_image(title, axes, stacks, places, channels=channels)


def _new_image(
    name: str, axes: tuple[Axis, ...], arrays: Sequence[ArrayLike], places: Sequence[LevelPlace], **options: Any
) -> NewImage:
    """Return an image with these arrays as its only levels."""
    sources = tuple(ArraySource(data, _names(axes)) for data in arrays)
    levels = tuple(PyramidLevel(source.shape, *place) for source, place in zip(sources, places, strict=True))
    return NewImage(name, axes, sources, levels, pyramid=_AS_THEY_ARE, **options)


def _names(axes: Sequence[Axis]) -> tuple[str, ...]:
    return tuple(str(axis.name) for axis in axes)


def _label_image(layer: Layer, image: NewImage | None) -> NewImage:
    """Return a label image with the same number of levels as its image, as OME-Zarr 0.5 ("labels") requires."""
    levels = list(layer.levels)
    if image is not None:
        levels = levels[: len(image.levels)]
        levels += [_thin(levels[0], layer.axes, image, number) for number in range(len(levels), len(image.levels))]
    places = place_levels(*layer.places[0], [tuple(level.shape) for level in levels])
    return _new_image(layer.name, layer.axes, levels, places, label=layer.label).with_integers()


def _thin(array: ArrayLike, axes: Sequence[Axis], image: NewImage, number: int) -> ArrayLike:
    """Return labels at the resolution of a lower level of their image."""
    names = [axis.name for axis in image.axes]
    full, lower = (dict(zip(names, image.levels[level].shape, strict=True)) for level in (0, number))
    factors = [round(level_factor(full[axis.name], lower[axis.name])) if axis.name in full else 1 for axis in axes]
    lengths = [
        lower[axis.name] if full.get(axis.name) == length else max(1, length // factor)
        for axis, length, factor in zip(axes, array.shape, factors, strict=True)
    ]
    return _strided(with_checked_blocks(array, _names(axes)), tuple(factors), tuple(lengths))


def _node_name(name: str, taken: dict[str, Any]) -> str:
    """Return a valid node name: letters, digits, dots, dashes and underscores (Zarr core 3.1, "Node names")."""
    plain = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).lstrip("_.") or "labels"
    number = 2
    unique = plain
    while unique in taken:
        unique, number = f"{plain}_{number}", number + 1
    return unique

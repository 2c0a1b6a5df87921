"""A mask as a new label image: with the axes and levels of its image, read in blocks, and with a colour per value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ozx.archive.names.decoding import name_fault
from ozx.errors import UsageError
from ozx.images.image import Image
from ozx.images.pictures.render import made_label_colors
from ozx.images.pixel_source import MOST_VALUES, MaskSource, PixelSource
from ozx.images.writing.downsampling import halved_shape
from ozx.images.writing.new_image import LABEL_KINDS, NewImage, PyramidChoice, PyramidLevel
from ozx.ome.colors import LabelDisplay, Rgba
from ozx.store.level import Level, factor_between
from ozx.zarr.json_reading import check_text
from ozx.zarr.keys import METADATA

Lengths = tuple[int, ...]


def check_label_name(name: object) -> None:
    """Raise an error if `name` cannot name a label image."""
    # Zarr core 3.1, "Node names"; a slash would put the label image below another one.
    is_node = (
        isinstance(name, str)
        and check_text(name, "the name of a label image")
        and "/" not in name
        and name.strip(".")
        and not name.startswith("__")
    )
    if not is_node or name == METADATA or name_fault(f"labels/{name}"):
        raise UsageError(
            f"expected the name of a label image; got {name!r:.200}",
            hint="A name has no slash or backslash, does not begin with '__', and is not zarr.json or only dots.",
        )


def check_is_integer(dtype: np.dtype[Any]) -> None:
    """Raise an error if pixels of this type are no labels."""
    # OME-Zarr 0.5, "labels": "The pixels of the label images MUST be integer data types".
    if dtype.kind not in LABEL_KINDS:
        hint = 'Convert them, for example with array.astype("uint32").'
        raise UsageError(f"expected labels that are integers; found {dtype}", hint=hint)


def new_label_image(
    name: str, view: Image, mask: PixelSource, axes: Sequence[str]
) -> tuple[NewImage, MaskSource, list[str]]:
    """Return a mask as a label image of `view`, without colours; its pixels, whose values are read later; and notes.

    `axes` are the names of the mask's dimensions.
    """
    check_is_integer(mask.dtype)
    kept = [number for number in range(len(view.axes)) if number != view.channel_axis]
    lengths = tuple(view.levels[0].shape[number] for number in kept)
    names = tuple(str(view.axes[number].name or number) for number in kept)
    dimensions = _match(axes, mask.shape, names, lengths)
    found = tuple(1 if dimension is None else mask.shape[dimension] for dimension in dimensions)
    notes = [
        f"the mask has no {axis}: it applies to all {length:,} positions along {axis}"
        for axis, length, own in zip(names, lengths, found, strict=True)
        if own < length
    ]
    pixels = MaskSource(mask, names, found, dimensions, knows_values=True)
    full = PyramidLevel(
        found,
        tuple(_placed(view.levels[0].scale, kept, 1.0)),
        tuple(_placed(view.levels[0].translation, kept, 0.0)),
    )
    factors = [_factors(view.levels[0], level, kept, found) for level in view.levels]
    shapes = [
        tuple(level.shape[number] if own > 1 else 1 for number, own in zip(kept, found, strict=True))
        for level in view.levels
    ]
    steps = _halvings(shapes, factors)
    sources: list[PixelSource] = [pixels]
    levels = [full]
    if steps is None:  # the levels of other programs: each is sampled from the full resolution
        for shape, by in zip(shapes[1:], factors[1:], strict=True):
            scale = tuple(size * factor for size, factor in zip(full.scale, by, strict=True))
            sources.append(MaskSource(mask, names, shape, dimensions, factors=by))
            levels.append(PyramidLevel(shape, scale, full.translation, is_sampled=True))
    image = NewImage(
        name,
        tuple(replace(view.axes[number], name=axis) for number, axis in zip(kept, names, strict=True)),
        tuple(sources),
        tuple(levels),
        label=LabelDisplay({}, {}),
        pyramid=PyramidChoice("nearest", steps=steps or ()),
    )
    return image, pixels, notes


def color_labels(image: NewImage, found: list[int] | None, colors: Rgba | Mapping[int, Rgba] | None) -> list[str]:
    """Give a label image its colours: the given ones, or one unlike its neighbours' for each value that was found."""
    display = image.label
    if display is None:
        return []
    if isinstance(colors, Mapping):
        display.colors.update(colors)
    elif found is None:
        return [f"the mask has more than {MOST_VALUES:,} values: no colours are written, each program chooses its own"]
    elif colors is not None:
        display.colors.update(dict.fromkeys(found, colors))
    else:
        made = made_label_colors(np.array(found, np.float64)).tolist()
        display.colors.update(zip(found, map(tuple, made), strict=True))
    if not display.colors:  # OME-Zarr 0.5, "image-label": it SHOULD have colors; 0 is transparent
        display.colors[0] = (0, 0, 0, 0)
    return []


def _match(axes: Sequence[str], shape: Lengths, names: Sequence[str], lengths: Lengths) -> list[int | None]:
    """Return the mask's dimension for each axis of the label image: by name, else by position; check the lengths."""
    by_name = {axis.lower(): number for number, axis in enumerate(axes)}
    found = [by_name.get(name.lower()) for name in names]
    if any(length > 1 and number not in found for number, length in enumerate(shape)):
        long = [number for number, length in enumerate(shape) if length > 1]
        given = list(range(len(shape))) if len(shape) <= len(names) else long
        found = [*[None] * (len(names) - len(given)), *given[-len(names) :]]
    fits = all(
        (1 if number is None else shape[number]) in ((length,) if axis >= len(names) - 2 else (1, length))
        for axis, (number, length) in enumerate(zip(found, lengths, strict=True))
    )
    # OME-Zarr 0.5, "Images": "Each dimension of the label should be either the same as the corresponding dimension of
    # the image, or `1` if that dimension of the label is irrelevant."
    if not fits or any(length > 1 and number not in found for number, length in enumerate(shape)):
        wanted = ", ".join(f"{name}={length:,}" for name, length in zip(names, lengths, strict=True))
        mine = ", ".join(f"{name}={length:,}" for name, length in zip(axes, shape, strict=True))
        raise UsageError(
            f"the mask has another size ({mine}) than the image ({wanted})",
            hint="A mask has the full size of its image, without channels; t and z may be missing or have the length "
            "1. For a crop, add the labels to the whole image, then crop it. Name the mask's dimensions if they were "
            "taken for others, as in axes=tyx.",
        )
    return found


def _placed(numbers: tuple[float, ...] | None, kept: Sequence[int], default: float) -> list[float]:
    return [default if numbers is None else numbers[number] for number in kept]


def _factors(full: Level, level: Level, kept: Sequence[int], found: Lengths) -> Lengths | tuple[float, ...]:
    """Return by which factor a level is smaller along each axis of the label image, from its scale or its lengths."""
    return tuple(factor_between(full, level, number) if own > 1 else 1 for number, own in zip(kept, found, strict=True))


def _halvings(shapes: Sequence[Lengths], factors: Sequence[tuple[float, ...]]) -> tuple[tuple[int, ...], ...] | None:
    """Return the axes that are halved for each lower level; None if a level is not the half of the one before."""
    steps = []
    for number in range(1, len(shapes)):
        above, here = factors[number - 1], factors[number]
        halved = tuple(axis for axis in range(len(here)) if here[axis] == 2 * above[axis])
        is_half = all(by == above[axis] for axis, by in enumerate(here) if axis not in halved)
        if not is_half or shapes[number] != halved_shape(shapes[number - 1], halved):
            return None
        steps.append(halved)
    return tuple(steps)

"""The images of a stream: one, a series of positions or cameras, or the fields of a plate; their documents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ozx.calls import public_call
from ozx.errors import UsageError
from ozx.images.description import PlateDescription
from ozx.images.writing.array_image import (
    ChannelLike,
    PixelSizes,
    describe_array,
    given_channels,
    image_title,
    short_names,
    sizes_by_axis,
    units_by_axis,
)
from ozx.images.writing.documents import HierarchyDocuments
from ozx.images.writing.new_image import NewHierarchy, NewImage, PyramidChoice, plate_of, series_of
from ozx.ome.colors import ShownChannel, Window
from ozx.ome.model import row_name
from ozx.ome.partial_hierarchy import document_key
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.streaming.frames import FrameOrder
from ozx.zarr.json_reading import Document, dump_document
from ozx.zarr.keys import join_path
from ozx.zarr.layout import parse_layout, relayout_document

# Chunks and shards are chosen as if each unknown length were this one.
_USUAL_LENGTH = 1000

_LETTERS = re.compile("[A-Z]{1,2}")
_NUMBER = re.compile("[0-9]{1,3}")
_NAME = re.compile("[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Camera:
    """One of several cameras of a stream; omitted arguments are taken from the call of `ozx.stream`.

    Attributes
    ----------
    shape, dtype, axes, pixel_size, unit, channel_names
        As for `ozx.stream`.

    Examples
    --------
    >>> import ozx
    >>> cameras = {"gray": ozx.Camera(shape=(None, 64, 64)), "fast": ozx.Camera(shape=(None, 32, 48), dtype="uint8")}
    >>> with ozx.stream("both.ozx", axes="tyx", dtype="uint16", cameras=cameras, force=True) as stream:
    ...     _ = stream.append(np.full((64, 64), 500, "uint16"), position="gray")
    ...     _ = stream.append(np.full((32, 48), 5, "uint8"), position="fast")
    >>> [(image.name, image.levels[0].dtype, image.levels[0].shape) for image in ozx.inspect("both.ozx").images]
    [('gray', 'uint16', (1, 64, 64)), ('fast', 'uint8', (1, 32, 48))]
    """

    shape: Sequence[int | None] | None = None
    dtype: DTypeLike | None = None
    axes: str | Sequence[str] | None = None
    pixel_size: PixelSizes | None = None
    unit: str | Mapping[str, str] | None = None
    channel_names: Sequence[Any] = ()


_former_names = public_call(scale="pixel_size", channels="channel_names")
Camera.__init__ = _former_names(Camera.__init__)  # type: ignore[method-assign]


def plan_frames(
    camera: Camera, name: str, method: str, downsample: str | Sequence[str] | None
) -> tuple[NewImage, FrameOrder]:
    """Return the plan of an image for the frames of a camera, and their order.

    A usual length stands for an unknown length of the image.
    """
    axes, shape = camera.axes, camera.shape
    axes = None if axes is None else short_names(axes)
    if axes is None or shape is None or camera.dtype is None:
        raise UsageError(
            "expected axes, shape and dtype; at least one is missing",
            hint="Give them to ozx.stream, or to each camera.",
        )
    lengths = _checked_lengths(axes, shape)
    kind = np.dtype(camera.dtype).newbyteorder("=")
    usual = [_USUAL_LENGTH if length is None else length for length in lengths]
    described = describe_array(blank_array(usual, kind), axes, camera.pixel_size, camera.unit)
    image = NewImage(
        name,
        *described,
        pyramid=_pyramid(method, downsample, str(axes[0]) if None in lengths else None),
        channels=given_channels(camera.channel_names, described, axes),
    )
    return image, FrameOrder(axes[:-2], lengths[:-2])


def completed(camera: Camera, other: Camera) -> Camera:
    """Return a camera whose missing values are taken from another camera."""
    names = ("shape", "dtype", "axes", "pixel_size", "unit")
    missing: dict[str, Any] = {name: getattr(other, name) for name in names if getattr(camera, name) is None}
    return replace(camera, **missing, channel_names=camera.channel_names or other.channel_names)


def _checked_lengths(axes: str | Sequence[str], shape: Sequence[int | None]) -> tuple[int | None, ...]:
    lengths = tuple(None if length is None else int(length) for length in shape)
    if len(axes) != len(lengths):
        raise UsageError(f"expected a length for each of the axes {', '.join(axes)}; got {len(lengths)}")
    if tuple(axes[-2:]) != ("y", "x"):
        raise UsageError(
            f"expected axes that end in y, x, because each frame is a plane; got {axes!r}",
            hint="Transpose each frame, or name the axes in the order of acquisition.",
        )
    if None in lengths[1:] or (lengths[0] is None and (axes[0] == "c" or len(lengths) == 2)):
        raise UsageError(
            "only the first axis may have an unknown length, and only if it is not c, y or x; "
            f"got {tuple(shape)!r} for {axes!r}"
        )
    if not all(length is None or length > 0 for length in lengths):
        raise UsageError(f"expected lengths above 0; got {tuple(shape)!r}")
    return lengths


def _pyramid(method: str, downsample: str | Sequence[str] | None, endless: str | None) -> PyramidChoice:
    choice = PyramidChoice.parse(method, downsample)
    if choice.axes is None and endless == "z":  # the only axis that numbers frames and may be halved unasked
        return replace(choice, axes=("y", "x"))
    if choice.axes is not None and endless in choice.axes:
        raise UsageError(
            f"axis {endless!r} has an unknown length and cannot be downsampled",
            hint="Downsample only y and x, or give the length of this axis.",
        )
    return choice


def position_series(image: NewImage, positions: Sequence[str]) -> NewHierarchy:
    """Return a series with an image for each position, named after the position."""
    if isinstance(positions, str) or len(set(positions)) < len(positions):
        raise UsageError(f"expected a list of distinct names of positions; got {positions!r}")
    return series_of([replace(image, name=name) for name in positions])


def plate_fields(image: NewImage, plate: Mapping[str, int], plate_shape: tuple[int, int] | None = None) -> NewHierarchy:
    """Return a plate with the name of `image`, and one image for each field, named after the path of the field.

    OME-Zarr 0.5, "plate" metadata: each row and column of the physical plate is defined, also those without wells. If
    rows are letters and columns are numbers, all rows and columns up to the last used one are added.
    """
    if not isinstance(plate, Mapping) or not plate:
        raise UsageError(f'expected wells with their number of fields, as in {{"A/1": 2, "B/3": 4}}; got {plate!r}')
    places: list[tuple[str, str, int]] = []
    for path, count in plate.items():
        parts = path.split("/") if isinstance(path, str) else []
        if len(parts) != 2 or not all(_NAME.fullmatch(part) for part in parts):
            raise UsageError(f"expected a well as ROW/COLUMN, letters and digits, as in B/3; got {path!r}")
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
            raise UsageError(f"expected a whole number of fields, at least 1, for the well {path}; got {count!r}")
        places.append((parts[0], parts[1], int(count)))
    rows = _all_rows([row for row, _, _ in places], None if plate_shape is None else plate_shape[0])
    columns = _all_columns([column for _, column, _ in places], None if plate_shape is None else plate_shape[1])
    wells = {}
    images: dict[int, NewImage] = {}
    for row, column, count in places:
        numbers = tuple(range(len(images), len(images) + count))
        wells[rows.index(row), columns.index(column)] = [(number, None) for number in numbers]
        images |= {n: replace(image, name=f"{row}/{column}/{place}") for place, n in enumerate(numbers)}
    return plate_of(PlateDescription(image.name, rows, columns, wells), images)


def _all_rows(used: Sequence[str], count: int | None) -> tuple[str, ...]:
    if not all(map(_LETTERS.fullmatch, used)):
        return _named(used, count, "rows of one or two capital letters")
    return _filled(used, [row_name(number) for number in range(26 * 27)], count, "rows")


def _all_columns(used: Sequence[str], count: int | None) -> tuple[str, ...]:
    if not all(map(_NUMBER.fullmatch, used)):
        return _named(used, count, "numbered columns")
    # "01" is another name than "1".
    width = max((len(column) for column in used if column.startswith("0")), default=0)
    return _filled(used, [f"{number:0{width}}" for number in range(1, 1000)], count, "columns")


def _filled(used: Sequence[str], names: Sequence[str], count: int | None, what: str) -> tuple[str, ...]:
    """Return the first `count` of `names`, by default all up to the last used one; the used ones if one is unusual."""
    if not set(used) <= set(names):
        return _named(used, count, f"usual names of {what} (A, B or 1, 2 or 01, 02)")
    filled = [*takewhile(lambda name: name != max(used, key=names.index), names), max(used, key=names.index)]
    if count is None:
        return tuple(filled)
    if not len(filled) <= count <= len(names):
        raise UsageError(
            f"expected a plate of at least {len(filled)} {what}, because {filled[-1]} is in use; got {count}"
        )
    return tuple(names[:count])


def _named(used: Sequence[str], count: int | None, expected: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(used))
    if count is not None:
        raise UsageError(f"expected {expected} if plate_shape is given; got {', '.join(names)}")
    return names


# The ``zarr.json`` documents of images that grow, for any current length.

#: A length that no image reaches; it stands for an unknown length.
ENDLESS = 1 << 36


def blank_array(shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of the shape and type of an image whose pixels come later; it takes no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


class StreamDocuments:
    """The ``zarr.json`` of all groups and arrays, for any length of each image along its growing axis."""

    def __init__(self, hierarchy: NewHierarchy, layout: LayoutChoice, orders: Mapping[str, FrameOrder]) -> None:
        self._planned = HierarchyDocuments(hierarchy, layout)
        self.orders = orders
        #: The index of each image's growing axis, the slowest axis of the frames; None for a single frame.
        self.growing = {
            path: [axis.name for axis in image.axes].index(orders[path].axes[0]) if orders[path].axes else None
            for path, image in hierarchy.images.items()
        }
        if layout.shards in ("auto", "keep"):
            for path in self._planned.images:
                self._align_shards(path)

    def longest(self, path: str) -> int | None:
        """Return `ENDLESS` for an image whose number of frames is unknown; else None, which is its own length."""
        return ENDLESS if None in self.orders[path].lengths else None

    def image(self, path: str, length: int | None = None) -> NewImage:
        """Return an image with its levels; `length` is the length along the growing axis."""
        planned, growing = self._planned.images[path], self.growing[path]
        if length is None or growing is None:
            return planned
        levels = []
        for level in planned.levels:
            if growing in level.halved:
                length = -(-length // 2)
            shape = tuple(length if axis == growing else whole for axis, whole in enumerate(level.shape))
            levels.append(replace(level, shape=shape))
        return replace(planned, levels=tuple(levels))

    def described(
        self,
        path: str,
        *,
        channel_names: Sequence[ChannelLike] | None,
        pixel_size: PixelSizes | None,
        unit: str | Mapping[str, str] | None,
        name: str | None,
    ) -> NewImage:
        """Return an image with new metadata, to pass to `replace`; metadata that is None keeps the current values."""
        image = self._planned.images[path]
        full, source = image.levels[0], image.sources[0]
        names = [str(axis.name) for axis in image.axes]
        given, own = sizes_by_axis(pixel_size, (*self.orders[path].axes, "y", "x"))  # in the order of acquisition
        sizes = dict(zip(names, full.scale, strict=True)) | given
        units = {axis: one.unit for axis, one in zip(names, image.axes, strict=True) if one.unit is not None}
        units |= own | units_by_axis(unit, tuple(names))
        blank = blank_array(source.shape, source.dtype)
        axes, _, (level,) = described = describe_array(blank, names, sizes, units)
        known = image.channels
        if channel_names is not None:
            added = given_channels(channel_names, described)
            known = (*map(_joined, known, added), *added[len(known) :], *known[len(added) :])
        factors = [new / old for new, old in zip(level.scale, full.scale, strict=True)]
        return replace(
            image,
            name=image.name if name is None else image_title(name, ""),
            axes=axes,
            channels=known,
            levels=tuple(
                replace(
                    one,
                    scale=tuple(size * factor for size, factor in zip(one.scale, factors, strict=True)),
                    translation=tuple(at * factor for at, factor in zip(one.translation, factors, strict=True)),
                )
                for one in image.levels
            ),
        )

    def replace(self, path: str, image: NewImage) -> None:
        """Use another description of an image for all documents that are made from now on."""
        self._planned.images[path] = image

    def arrays(self, path: str, length: int | None = None) -> list[tuple[str, Document]]:
        """Return the path and the ``zarr.json`` of each array of an image, full resolution first."""
        levels = self.image(path, length).levels
        return [
            (array, {**self._planned.arrays[array], "shape": list(level.shape)})
            for number, level in enumerate(levels)
            for array in [join_path(path, str(number))]
        ]

    def of_image(self, path: str, length: int | None, windows: Mapping[int, Window] | None) -> dict[str, bytes]:
        """Return the ``zarr.json`` documents of an image and its arrays, by key."""
        group = self._planned.describe(path, self.image(path, length), windows)
        documents = {path: group, **dict(self.arrays(path, length))}
        return {document_key(node): dump_document(document) for node, document in documents.items()}

    def of_groups(self) -> dict[str, bytes]:
        """Return the ``zarr.json`` documents of all groups except images, by key."""
        documents = self._planned.documents(are_drafts=True)
        images = self._planned.images
        arrays = self._planned.arrays
        return {
            document_key(node): dump_document(document)
            for node, document in documents.items()
            if node not in images and node not in arrays
        }

    def _align_shards(self, path: str) -> None:
        """Limit the shards of lower levels to the frames that one full-resolution shard contains.

        Shards of all levels are then complete at the same time.

        Without this limit, shards of a lower level contain more frames. They would wait in memory long after the shards
        of the full resolution are written, and a killed program would lose their frames.
        """
        levels = self._planned.images[path].levels
        first = parse_layout(self._planned.arrays[join_path(path, "0")], path)
        factors = [1] * len(levels[0].shape)
        for number, level in enumerate(levels[1:], 1):
            for axis in level.halved:
                factors[axis] *= 2
            array = join_path(path, str(number))
            layout = parse_layout(self._planned.arrays[array], array)
            if layout.shards is None:
                continue
            shards = list(layout.shards)
            for axis in range(len(shards) - 2):
                depth = first.stored_shape[axis] // factors[axis]
                chunk = layout.chunks[axis]
                shards[axis] = min(shards[axis], max(chunk, depth // chunk * chunk))
            self._planned.arrays[array] = relayout_document(self._planned.arrays[array], tuple(shards))


def _joined(old: ShownChannel, new: ShownChannel) -> ShownChannel:
    """Return a channel with a new description; missing values are taken from the old description."""
    names = ("label", "color", "window", "emission")
    return replace(new, **{name: getattr(old, name) for name in names if getattr(new, name) is None})

"""A plate as one picture: an array that is read when it is sliced, as `Level` is.

It supports what NumPy-like libraries need (`shape`, `dtype`, `ndim`, slicing), holds no pixels, and can be pickled.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.errors import FormatError
from ozx.images.image import ByName, GroupNodes, Image, ImageAxis
from ozx.ome.model import Plate
from ozx.ome.nodes import ome_at
from ozx.ome.plates import placed_wells
from ozx.store.level import Index, Level
from ozx.zarr.keys import join_path

Slices = tuple[slice, ...]


@dataclass(frozen=True)
class OpenedPlate:
    """A plate with the images of its fields, each opened when it is first shown.

    `paths` maps the (row, column) of each non-empty well to the paths of its fields. `first` is the first
    existing image; all other images should have as many axes and levels. `part` is the path of the shown label image
    below a field's group; it is empty if the field's own image is shown.
    """

    nodes: GroupNodes
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    paths: dict[tuple[int, int], tuple[str, ...]]
    first: Image
    part: str = ""
    notes: tuple[str, ...] = ()
    _views: dict[str, Image | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def count(self) -> int:
        """The maximal number of fields in a well."""
        return max(len(paths) for paths in self.paths.values())

    @property
    def is_label(self) -> bool:
        """Whether label images are shown."""
        return bool(self.part)

    def array(self, path: str) -> zarr.Array[Any] | None:
        """Return the array at a path; None if there is none."""
        found = self.nodes.find(path)
        return found if isinstance(found, zarr.Array) else None

    def places(self, rows: Collection[int], columns: Collection[int]) -> list[tuple[int, int]]:
        """Return the wells with fields in the given rows and columns, row by row."""
        if len(rows) * len(columns) < len(self.paths):
            return [place for place in itertools.product(rows, columns) if place in self.paths]
        return sorted(place for place in self.paths if place[0] in rows and place[1] in columns)

    def view(self, row: int, column: int, number: int) -> Image | None:
        """Return the image of a field; None if the field has no image."""
        fields = self.paths.get((row, column), ())
        if number >= len(fields):
            return None
        path = join_path(fields[number], self.part)
        if path not in self._views:
            self._views[path] = self.nodes.image(path) if self.nodes.find(path) is not None else None
        return self._views[path]

    def image(self) -> Image:
        """Return all wells side by side as one image; its first axis is ``field`` if a well has several fields."""
        lead = (ImageAxis("field", None, None, self.count),) if self.count > 1 else ()
        levels = tuple(
            PlatePicture(
                level.array,
                level.path,
                scale=None if level.scale is None else (*(1.0 for _ in lead), *level.scale),
                translation=None if level.translation is None else (*(0.0 for _ in lead), *level.translation),
                fields=self,
                number=number,
            )
            for number, level in enumerate(self.first.levels)
        )
        axes = [replace(axis, size=size) for axis, size in zip((*lead, *self.first.axes), levels[0].shape, strict=True)]
        wells = {f"{self.rows[row]}/{self.columns[column]}": paths for (row, column), paths in self.paths.items()}
        parts = {path: join_path(path, self.part) for paths in wells.values() for path in paths}
        labels = {part.rpartition("labels/")[2]: partial(self._label_image, part) for part in self._parts()}
        return replace(
            self.first,
            axes=tuple(axes),
            levels=levels,
            labels=ByName("labels", {} if self.part else labels),
            wells=ByName("wells", {well: partial(tuple, paths) for well, paths in wells.items()}),
            fields=ByName("fields", {path: partial(self.nodes.image, part) for path, part in parts.items()}),
            drawn_plate=self,
        )

    def labels(self) -> list[OpenedPlate]:
        """Return one `OpenedPlate` for each label image of the plate's first field."""
        return [self._label(part) for part in self._parts()]

    def _parts(self) -> list[str]:
        return [path[len(self.first.path) + 1 :] for path in self.first.label_paths]

    def _label(self, part: str) -> OpenedPlate:
        first = self.nodes.image(join_path(self.first.path, part))
        return OpenedPlate(self.nodes, self.rows, self.columns, self.paths, first, part)

    def _label_image(self, part: str) -> Image:
        return self._label(part).image()


@dataclass(frozen=True)
class PlatePicture(Level):
    """One level of all wells of a plate side by side; `array` is that of the first field.

    The first dimension is the number of the field in its well, if a well has more than one field. The other dimensions
    are those of a field image; y and x extend across the plate. Pixels of a missing well or field are 0. Field images
    of another size than the first are cropped, or padded with zeros.
    """

    fields: OpenedPlate = field(kw_only=True)
    number: int = field(kw_only=True)  # of the level

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        *rest, height, width = self._tile.shape
        return (*self._lead, *rest, height * len(self.fields.rows), width * len(self.fields.columns))

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of the smallest unit that is decoded: a chunk of a field."""
        return (*(1 for _ in self._lead), *self._tile.chunks)

    @property
    def blocks(self) -> tuple[int, ...]:
        """The shape of a block to read in one task: one plane of one field."""
        return (*(1 for _ in self.shape[:-2]), *self._tile.shape[-2:])

    @property
    def _tile(self) -> Level:
        return self._slice(self.fields.first)

    @property
    def _lead(self) -> tuple[int, ...]:
        return (self.fields.count,) if self.fields.count > 1 else ()

    def __getitem__(self, key: Index) -> NDArray[Any]:
        data = self._read_ranges(tuple(part if isinstance(part, slice) else slice(part, part + 1) for part in key))
        return data[tuple(slice(None) if isinstance(part, slice) else 0 for part in key)]

    def _read_ranges(self, key: Slices) -> NDArray[Any]:
        ranges = [range(*part.indices(length)) for part, length in zip(key, self.shape, strict=True)]
        numbers = ranges[0] if self._lead else range(1)
        out = np.zeros([len(numbers), *(len(part) for part in ranges[len(self._lead) :])], self.dtype)
        height, width = self._tile.shape[-2:]
        # A plate may have a million positions but few wells.
        rows = {row: parts for row, *parts in met_tiles(ranges[-2], height)}
        columns = {column: parts for column, *parts in met_tiles(ranges[-1], width)}
        for row, column in self.fields.places(rows, columns):
            (inside_y, target_y), (inside_x, target_x) = rows[row], columns[column]
            for place, number in enumerate(numbers):
                view = self.fields.view(row, column, number)
                if view is not None:
                    data = self._slice(view)[(*key[len(self._lead) : -2], inside_y, inside_x)]
                    # A smaller field returns less; the rest stays zero.
                    corner = tuple(slice(length) for length in data.shape)
                    out[place][..., target_y, target_x][corner] = data
        return out if self._lead else out[0]

    def _slice(self, view: Image) -> Level:
        first = self.fields.first
        if len(view.axes) != len(first.axes) or self.number >= len(view.levels):
            raise FormatError(
                f"{view.path}: expected {len(first.axes)} axes and {len(first.levels)} levels as in {first.path}, "
                f"found {len(view.axes)} and {len(view.levels)}",
                hint="Open this field by itself.",
            )
        level = view.levels[self.number]
        axis = None if self.axis is None else self.axis - len(self._lead)
        if axis is not None and self.channel is not None:
            expected, found = self.array.shape[axis], level.array.shape[axis]
            if self.channel >= found:
                raise FormatError(
                    f"{view.path}: expected {expected} channels as in {first.path}, found {found}",
                    hint="Open this field by itself.",
                )
        return replace(level, axis=axis, channel=self.channel)


def opened_plate(nodes: GroupNodes, plate: Plate) -> OpenedPlate:
    """Return a plate with its fields; `plate` is the ``plate`` metadata of the root."""
    paths: dict[tuple[int, int], tuple[str, ...]] = {}
    notes = []
    for well, place in placed_wells(plate):
        if place is None:
            raise FormatError(f"{well}: expected a well at ROW/COLUMN, with a row and a column of the plate")
        listed = ome_at(nodes, join_path("", well)).fields
        if not listed:
            notes.append(f"{well}: a well is listed here, but it has no images")
            continue
        paths[place] = tuple(join_path(well, path) for path in listed)
    present = (path for fields in paths.values() for path in fields if nodes.find(path) is not None)
    path = next(present, None)
    if path is None:
        raise FormatError("expected a plate with at least one image, found none", hint="ozx info lists the wells.")
    return OpenedPlate(nodes, plate.rows, plate.columns, paths, nodes.image(path), notes=tuple(notes))


def met_tiles(wanted: range, length: int) -> list[tuple[int, slice, slice]]:
    """Return each tile of `length` pixels that overlaps a range: its number, a slice of the tile, a slice of the range.

    Examples
    --------
    >>> met_tiles(range(3, 7), 4)
    [(0, slice(3, 4, 1), slice(0, 1, None)), (1, slice(0, 3, 1), slice(1, 4, None))]
    """
    found = []
    done = 0
    while done < len(wanted):
        tile, start = divmod(wanted[done], length)
        count = min(len(wanted) - done, -(-(length - start) // wanted.step))
        stop = start + (count - 1) * wanted.step + 1
        found.append((tile, slice(start, stop, wanted.step), slice(done, done + count)))
        done += count
    return found

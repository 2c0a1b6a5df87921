"""The ``zarr.json`` documents of images that grow, for any current length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ozx.hierarchy.json.reading import Document, dump_document
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.ome.colors import ShownChannel, Window
from ozx.hierarchy.ome.conversion import convert_group
from ozx.hierarchy.partial_hierarchy import document_key
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.hierarchy.zarr.layout import parse_layout, relayout_document
from ozx.images.writing.array_image import (
    ChannelLike,
    describe_array,
    given_channels,
    image_title,
    sizes_by_axis,
    units_by_axis,
)
from ozx.images.writing.documents import HierarchyDocuments, PlannedImage, describe_image, group_document
from ozx.images.writing.new_image import NewHierarchy

#: A length that no image reaches; it stands for an unknown length.
ENDLESS = 1 << 36


def blank_array(shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of the shape and type of an image whose pixels come later; it takes no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


class StreamDocuments:
    """The ``zarr.json`` of all groups and arrays, for any length of each image along its growing axis."""

    def __init__(self, hierarchy: NewHierarchy, layout: LayoutChoice, growing: Mapping[str, int | None]) -> None:
        self._version, self._growing = hierarchy.version, dict(growing)
        self._planned = HierarchyDocuments(hierarchy, layout)
        if layout.shards.kind in ("auto", "keep"):
            for path in self._planned.images:
                self._align_shards(path)

    def image(self, path: str, length: int | None = None) -> PlannedImage:
        """Return an image with its levels; `length` is the length along the growing axis."""
        planned, growing = self._planned.images[path], self._growing[path]
        if length is None or growing is None:
            return planned
        levels = []
        for level in planned.levels:
            if growing in level.halved:
                length = -(-length // 2)
            levels.append(replace(level, shape=_resized(level.shape, growing, length)))
        return replace(planned, levels=tuple(levels))

    def described(
        self,
        path: str,
        order: Sequence[str],
        *,
        channels: Sequence[ChannelLike] | None,
        scale: Sequence[float] | Mapping[str, float] | None,
        unit: str | Mapping[str, str] | None,
        name: str | None,
    ) -> PlannedImage:
        """Return an image with new metadata, to pass to `replace`; metadata that is None keeps the current values.

        `order`: the names of the axes in the order of acquisition, which is that of `scale`.
        """
        planned = self._planned.images[path]
        image, full = planned.image, planned.image.levels[0]
        names = [str(axis.name) for axis in image.axes]
        sizes = dict(zip(names, full.scale, strict=True)) | sizes_by_axis(scale, tuple(order))
        units = {axis: one.unit for axis, one in zip(names, image.axes, strict=True) if one.unit is not None}
        units |= units_by_axis(unit, tuple(names))
        blank = blank_array(full.source.shape, full.source.dtype)
        axes, (level,) = described = describe_array(blank, names, sizes, units)
        known = image.channels
        if channels is not None:
            added = given_channels(channels, described)
            known = (*map(_joined, known, added), *added[len(known) :], *known[len(added) :])
        factors = [new / old for new, old in zip(level.scale, full.scale, strict=True)]
        return replace(
            planned,
            image=replace(
                image,
                name=image.name if name is None else image_title(name, ""),
                axes=axes,
                levels=(replace(full, scale=level.scale),),
                channels=known,
            ),
            levels=tuple(
                replace(
                    one,
                    scale=tuple(size * factor for size, factor in zip(one.scale, factors, strict=True)),
                    translation=tuple(at * factor for at, factor in zip(one.translation, factors, strict=True)),
                )
                for one in planned.levels
            ),
        )

    def replace(self, path: str, image: PlannedImage) -> None:
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
        planned = self.image(path, length)
        known = self._planned.longest_windows(path) if windows is None else windows
        group = group_document(describe_image(planned.image, planned.levels, known, planned.source))
        documents = {path: convert_group(group, self._version, path).document, **dict(self.arrays(path, length))}
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
    return ShownChannel(
        old.label if new.label is None else new.label,
        old.color if new.color is None else new.color,
        new.active,
        old.window if new.window is None else new.window,
        old.emission if new.emission is None else new.emission,
    )


def _resized(shape: tuple[int, ...], growing: int, length: int) -> tuple[int, ...]:
    return tuple(length if axis == growing else whole for axis, whole in enumerate(shape))

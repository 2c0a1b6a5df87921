"""The ``zarr.json`` of all groups and arrays of a new hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.keys import missing_groups
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.ome.conversion import convert_group
from ozx.hierarchy.ome.rendering import Window
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.writing.array_layout import NewArray, lay_out
from ozx.images.writing.image_documents import describe_image, group_document
from ozx.images.writing.levels import PyramidLevel, plan_pyramid
from ozx.images.writing.new_image import NewHierarchy, NewImage

# No number has a longer text in JSON. So no contrast window has a longer text than this draft.
_LONGEST = -2.2250738585072014e-308
_DRAFT = Window(_LONGEST, _LONGEST, _LONGEST, _LONGEST)


@dataclass
class PlannedImage:
    """An image with all of its levels; for a label image `source` is the path to its image.

    `windows` maps channel numbers to the computed contrast of channels without a given contrast.
    """

    image: NewImage
    levels: tuple[PyramidLevel, ...]
    source: str | None
    windows: dict[int, Window] = field(default_factory=dict)


class HierarchyDocuments:
    """The ``zarr.json`` of all groups and arrays of a new hierarchy."""

    def __init__(self, hierarchy: NewHierarchy, layout: LayoutChoice) -> None:
        self._version = hierarchy.version
        self._groups: dict[str, Mapping[str, Any] | None] = dict(hierarchy.groups)
        self.images = {path: _plan(path, image, hierarchy) for path, image in all_images(hierarchy).items()}
        for path, image in hierarchy.images.items():
            if image.labels:
                self._groups[join_path(path, "labels")] = {"labels": list(image.labels)}
        arrays = {
            join_path(path, str(number)): NewArray(
                level.shape, _source_dtype(planned.image), planned.image.axes, _read_alignment(planned.image, number)
            )
            for path, planned in self.images.items()
            for number, level in enumerate(planned.levels)
        }
        self.arrays = lay_out(arrays, layout)
        for path in missing_groups(["", *self._groups, *self.images, *self.arrays]):
            self._groups.setdefault(path, None)
        if "" not in self.images:
            self._groups.setdefault("", None)

    def longest_windows(self, path: str) -> dict[int, Window]:
        """Return a contrast window with the longest possible text for each channel of an image, by channel number."""
        return dict.fromkeys(range(self.images[path].image.channel_count), _DRAFT)

    def drafts(self) -> dict[str, Document]:
        """Return drafts of the ``zarr.json`` of all nodes, which are as long as the final documents can become."""
        return self._documents(is_draft=True)

    def documents(self) -> dict[str, Document]:
        """Return the ``zarr.json`` of all nodes, with the contrast windows of the pixels that were read."""
        return self._documents(is_draft=False)

    def _documents(self, *, is_draft: bool) -> dict[str, Document]:
        documents = {path: group_document(ome) for path, ome in self._groups.items()}
        for path, planned in self.images.items():
            windows = self.longest_windows(path) if is_draft else planned.windows
            documents[path] = group_document(describe_image(planned.image, planned.levels, windows, planned.source))
        groups = {path: convert_group(found, self._version, path).document for path, found in documents.items()}
        return {**groups, **self.arrays}


def all_images(hierarchy: NewHierarchy) -> dict[str, NewImage]:
    """Return images and label images by path."""
    found = {}
    for path, image in hierarchy.images.items():
        found[path] = image
        found |= {join_path(path, f"labels/{name}"): label for name, label in image.labels.items()}
    return found


def _plan(path: str, image: NewImage, hierarchy: NewHierarchy) -> PlannedImage:
    given = [PyramidLevel(level.source.shape, level.scale, level.translation) for level in image.levels]
    levels = (*given[:-1], *plan_pyramid(given[-1], image.axes, image.pyramid))
    # OME-Zarr 0.5, "labels": the path from a label image to the image that it belongs to.
    return PlannedImage(image, levels, None if path in hierarchy.images else "../../")


def _source_dtype(image: NewImage) -> np.dtype[Any]:
    return image.levels[0].source.dtype


def _read_alignment(image: NewImage, number: int) -> tuple[int, ...]:
    # Computed levels have the chunks of the level from which they are computed.
    return image.levels[min(number, len(image.levels) - 1)].source.read_alignment

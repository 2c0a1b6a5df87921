"""Plan of a subset: the new metadata for some levels or a region of a hierarchy's images.

Levels and the region apply to each image separately. Label images follow their image: they show the same region in
their own scale, and keep the levels that their image keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from ozx.calls import plain_json
from ozx.errors import FormatError, UnsupportedError
from ozx.ome.colors import parse_shown_channels
from ozx.ome.downscaling import Method, choose_method
from ozx.ome.images import LABELS
from ozx.ome.model import Dataset, Multiscale, OmeMetadata, find_channel_axis, parse_ome
from ozx.ome.nodes import NoteCollector
from ozx.ome.recovered import Loss, crop_loss
from ozx.ome.subset.exact import crop_exactly
from ozx.ome.subset.image import (
    crop_image_document,
    explain_crops,
    explain_larger_label,
    explain_whole,
    name_levels,
)
from ozx.ome.subset.levels import (
    AxisPlace,
    Box,
    Halvings,
    ImageCrop,
    PixelRange,
    crop_document,
    crop_levels,
    place_axes,
)
from ozx.ome.subset.region import IndexRange, Selection, find_channels
from ozx.zarr.array import parse_array
from ozx.zarr.extensions import EXTENSIONS, check_understood
from ozx.zarr.json_reading import Document, as_list, as_object
from ozx.zarr.keys import METADATA, breadth_first, join_path, paths_above
from ozx.zarr.layout import ArrayLayout, parse_layout

# Choice of a label image's levels that match the kept levels of its image.


def labels_group(path: str) -> str:
    """Return the path of the ``labels`` group that lists the label image at `path`.

    Examples
    --------
    >>> labels_group("A/1/0/labels/cells"), labels_group("labels/by hand/cells")
    ('A/1/0/labels', 'labels')
    """
    parts = path.split("/")
    return "/".join(parts[: len(parts) - parts[::-1].index(LABELS)])


def matching_levels(label: Multiscale, image: Multiscale, kept: Collection[int]) -> list[int]:
    """Return the indexes of a label image's levels that match the kept levels of its image.

    OME-Zarr 0.5, "labels": both "MUST have the same number of entries (scale levels)", so that levels match by their
    numbers. If the numbers of levels differ, a level matches if the image's level of the most similar pixel size is
    kept. If no level matches, the level that is most similar to a kept level is returned: a label image needs a level.
    """
    count = len(label.datasets)
    if count == len(image.datasets):
        return sorted(kept)
    if len(kept) == len(image.datasets) or not count:
        return list(range(count))
    theirs = [_fineness(image, dataset, label) for dataset in image.datasets]
    ours = [_fineness(label, dataset, image) for dataset in label.datasets]
    least: list[tuple[float, int]] = []
    found = []
    for number, own in enumerate(ours):
        distances = [
            abs(at - number) if own is None or other is None else abs(own - other) for at, other in enumerate(theirs)
        ]
        nearest = min(distances[at] for at in kept)
        least.append((nearest, number))
        if math.isclose(nearest, min(distances), abs_tol=1e-6):
            found.append(number)
    return found or [min(least)[1]]


def _fineness(multiscale: Multiscale, dataset: Dataset, other: Multiscale) -> float | None:
    """Return the sum of the logarithms of a level's scales along the axes that `other` also has, except channels."""
    if dataset.scale is None or min(dataset.scale, default=1.0) <= 0:
        return None
    names = {axis.name for axis in other.axes}
    return sum(
        math.log(scale)
        for axis, scale in zip(multiscale.axes, dataset.scale, strict=True)
        if axis.name in names and axis.type != "channel"
    )


# Extraction of non-consecutive channels: the levels whose chunks hold no other channels, and the regions to copy.


def has_gaps(channels: Sequence[int]) -> bool:
    """Return whether an ascending list of channel numbers has gaps."""
    return bool(channels) and channels[-1] - channels[0] + 1 != len(channels)


def whole_chunks(channels: Iterable[int], chunk: int, count: int) -> tuple[int, ...]:
    """Return the given channels, and all other channels that are in the same chunks."""
    firsts = dict.fromkeys(channel // chunk * chunk for channel in channels)
    return tuple(channel for first in firsts for channel in range(first, min(first + chunk, count)))


def separate_levels(
    multiscale: Multiscale,
    kept: Sequence[int],
    picked: tuple[int, ...],
    places: Mapping[str, AxisPlace],
    layout_of: Callable[[Dataset], ArrayLayout],
    where: str,
    *,
    keep_all: bool,
) -> tuple[list[int], list[int]]:
    """Return two lists of levels: levels whose chunks do not mix picked and other channels, and levels whose chunks do.

    `multiscale` is the image of `places`, or one of its label images. `keep_all` demands all levels.
    """
    dimension = find_channel_axis(multiscale.axes)
    if not picked or dimension is None:
        return list(kept), []
    fits: list[int] = []
    others: list[int] = []
    for number in kept:
        layout = layout_of(multiscale.datasets[number])
        count, chunk = layout.shape[dimension], layout.chunks[dimension]
        # A label image may have one channel for all channels of its image.
        is_alike = count == places[str(multiscale.axes[dimension].name)].length
        is_fit = not is_alike or whole_chunks(picked, chunk, count) == picked
        (fits if is_fit else others).append(number)
    if others and (keep_all or not fits or others[0] < fits[0]):
        raise UnsupportedError(
            f"{where}: the channels {', '.join(map(str, picked))} share chunks with other channels in level "
            f"{multiscale.datasets[others[0]].path}",
            hint="Separate the channels with ozx repack --chunks c=1 first.",
        )
    return fits, others


def pick_channels(
    multiscale: Multiscale,
    crops: ImageCrop,
    picked: tuple[int, ...],
    others: Sequence[int],
    layout_of: Callable[[Dataset], ArrayLayout],
) -> ImageCrop:
    """Return `crops` limited to the picked channels, without the other channels between them.

    `others` are the numbers of levels that were left out because their chunks mix picked and other channels.
    """
    dimension = find_channel_axis(multiscale.axes)
    left_out = tuple(sorted((*crops.left_out, *others)))
    if not picked or dimension is None or multiscale.axes[dimension].name not in crops.region:
        return replace(crops, left_out=left_out)
    boxes = []
    for number, box in zip(crops.kept, crops.boxes, strict=True):
        shape = layout_of(multiscale.datasets[number]).shape if box is None else box.shape
        start = (0,) * len(shape) if box is None else box.start
        lengths = (*shape[:dimension], len(picked), *shape[dimension + 1 :])
        boxes.append(Box(start, lengths, {dimension: picked}))
    return replace(crops, boxes=tuple(boxes), left_out=left_out, picked=picked)


def shown_region(multiscale: Multiscale, crops: ImageCrop) -> dict[str, tuple[int, int]]:
    """Return start and stop of the shown full-resolution pixels by axis; omit a channel axis with gaps."""
    dimension = find_channel_axis(multiscale.axes)
    channel = None if dimension is None or not crops.picked else multiscale.axes[dimension].name
    return {axis: interval.pixels() for axis, interval in crops.region.items() if axis != channel}


_SEPARATE = "channels share chunks: ozx repack FILE NEW.ozx --chunks c=1 separates them first"


@dataclass(frozen=True, slots=True)
class CroppedArray:
    """A cropped array: its old and new layout, the box of the kept pixels, its new document, and what it computes."""

    old: ArrayLayout
    new: ArrayLayout
    box: Box
    document: Document
    is_encoded: bool = False  # whether its chunks are decoded and encoded in any case
    # The paths of the arrays of its image that are computed anew from its pixels, the method, and the number of the
    # channel axis.
    levels: tuple[tuple[str, Halvings], ...] = ()
    method: Method = "nearest"
    channel: int | None = None

    @property
    def is_movable(self) -> bool:
        """Whether the box consists of whole chunks, so that nothing has to be decoded.

        A chunk that ends behind the box is none of these: its pixels there would still be in the file.
        """
        return not self.is_encoded and self.box == whole_chunk_box(self.old, self.box)

    def whole(self, path: str) -> CroppedArray:
        """Return the crop that grows to whole chunks; `path` is that of the array."""
        box = whole_chunk_box(self.old, self.box)
        document = crop_document(self.document, self.old, box)
        return CroppedArray(self.old, parse_layout(document, path), box, document)

    def within(self, whole: CroppedArray) -> CroppedArray:
        """Return the same crop of the array that `whole` makes."""
        start = tuple(at - first for at, first in zip(self.box.start, whole.box.start, strict=True))
        there = whole.box.picked
        picked = {axis: tuple(map(there[axis].index, pixels)) for axis, pixels in self.box.picked.items()}
        return replace(self, old=whole.new, box=Box(start, self.box.shape, picked))


def whole_chunk_box(layout: ArrayLayout, box: Box) -> Box:
    """Return a box, extended to whole chunks or the edge of the array."""
    start, ends = list(box.start), [at + length for at, length in zip(box.start, box.shape, strict=True)]
    for axis, (chunk, length) in enumerate(zip(layout.chunks, layout.shape, strict=True)):
        start[axis] -= start[axis] % chunk
        ends[axis] = min(-(-ends[axis] // chunk) * chunk, length)
    shape = [end - at for at, end in zip(start, ends, strict=True)]
    picked = {
        axis: whole_chunks(pixels, layout.chunks[axis], layout.shape[axis]) for axis, pixels in box.picked.items()
    }
    for axis, pixels in picked.items():
        start[axis], shape[axis] = box.start[axis], len(pixels)
    return Box(tuple(start), tuple(shape), picked)


@dataclass(frozen=True, slots=True)
class ExtractedImageResult:
    """The extracted part of one image.

    Attributes
    ----------
    path
        Path of its group in the new file; the root's is empty.
    levels
        Paths of the kept levels, relative to this group, the finest first.
    left_out
        Paths of the other levels.
    region
        Start and stop of the extracted full-resolution pixels, by axis. Empty if neither a region nor channels were
        requested.
    channels
        Numbers of the kept channels in the source if channels between them are left out; else empty.
    """

    path: str
    levels: tuple[str, ...]
    left_out: tuple[str, ...]
    region: dict[str, tuple[int, int]]
    channels: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``images`` in ``ozx extract --json``."""
        return {**plain_json(self)}


#: An image that may have label images: its first multiscale metadata, its crops and its axes.
_Owner = tuple[Multiscale, ImageCrop, dict[str, AxisPlace]]


def plan_subset(documents: Mapping[str, Document], selection: Selection) -> Subset:
    """Plan a subset of a hierarchy, given the ``zarr.json`` documents of its nodes by path."""
    subset = Subset(documents, selection)
    subset.plan()
    return subset


class Subset:
    """The extracted part of a hierarchy: the crops of its images, and the new documents."""

    def __init__(self, documents: Mapping[str, Document], selection: Selection) -> None:
        # Images and label images, in the order of their groups.
        self.images: list[ExtractedImageResult] = []
        # New documents by path, those of cropped arrays included.
        self.documents: dict[str, Document] = {}
        self.arrays: dict[str, CroppedArray] = {}
        # Paths of nodes that are left out with everything below them.
        self.dropped: set[str] = set()
        # The largest number of levels of an image before any were skipped.
        self.most_levels = 0
        self._stored = documents
        self._selection = selection
        self._notes = NoteCollector()
        self._images: dict[str, _Owner] = {}
        self._kept: dict[str, Box | None] = {}  # arrays of kept levels
        # Of arrays from which others are computed: the arguments of `CroppedArray` that say how.
        self._computed: dict[str, tuple[tuple[tuple[str, Halvings], ...], Method, int | None]] = {}
        self._listed: set[str] = set()  # arrays of any level
        self._checked: set[str] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks, one sentence each."""
        return self._notes.sentences()

    @property
    def computed(self) -> set[str]:
        """The paths of the arrays that are computed from another."""
        return {path for array in self.arrays.values() for path, _ in array.levels}

    def remaining(self, losses: Iterable[Loss]) -> Iterator[Loss]:
        """Yield the losses of a recovered source that the extracted part has, in its pixels."""
        for loss in losses:
            path = join_path(str(loss.get("node") or ""), str(loss.get("level") or ""))
            if path in self.computed or any(above in self.dropped for above in (path, *paths_above(path))):
                continue
            cropped = self.arrays.get(path)
            yield from (loss,) if cropped is None else crop_loss(loss, cropped.box.pixels())

    def decoded(self) -> list[str]:
        """Return the paths of the arrays to decode: first those from which others are computed."""
        computed = self.computed
        found = {path: array for path, array in self.arrays.items() if path not in computed}
        roots = [path for path, array in found.items() if array.levels]
        return roots + [path for path, array in found.items() if not array.levels and not array.is_movable]

    def plan(self) -> None:
        """Plan the crops of all images, then the metadata of arrays and groups."""
        found = {path: ome for path, ome in map(self._parse, self._stored) if ome is not None and ome.multiscales}
        order = sorted(found, key=lambda path: breadth_first(join_path(path, METADATA)))
        multiscales = [multiscale for ome in found.values() for multiscale in ome.multiscales]
        self._selection.check([one.axes for one in multiscales], [len(one.datasets) for one in multiscales])
        for path in order:
            self._add_image(path, found[path])
        self.dropped |= {path for path in self._listed - self._kept.keys() if self._is_array(path)}
        self._crop_arrays()
        self._unlist_labels()

    def _parse(self, path: str) -> tuple[str, OmeMetadata | None]:
        return path, parse_ome(as_object(self._stored[path].get("attributes")), 3)

    def _add_image(self, path: str, ome: OmeMetadata) -> None:
        owner = self._owner(path)
        crops: list[ImageCrop] = []
        for number, multiscale in enumerate(ome.multiscales):
            if owner is None:
                cropped, places = self._crop_image(path, multiscale)
                if not number:
                    self._images[path] = multiscale, cropped, places
            else:
                found = self._crop_label(path, multiscale, owner)
                if found is None:
                    self._check_groups(path)
                    self._notes.add(path, "left out: it lies outside of the region")
                    self.dropped.add(path)
                    return
                cropped = found
            crops.append(cropped)
        # As in `crop_image_document`.
        items = [item for item in as_list(ome.raw.get("multiscales")) if isinstance(item, dict)]
        methods = [choose_method(item.get("type"), is_label=ome.is_label) for item in items]
        crops = [replace(cropped, method=method) for cropped, method in zip(crops, methods, strict=True)]
        for multiscale, cropped in zip(ome.multiscales, crops, strict=True):
            self._keep_arrays(path, multiscale, cropped)
        if any(self._is_changed(*pair) for pair in zip(ome.multiscales, crops, strict=True)):
            self._change_image(path, ome, crops)

    def _crop_image(self, path: str, multiscale: Multiscale) -> tuple[ImageCrop, dict[str, AxisPlace]]:
        """Return the crops of an image's levels, and the image's axes if a region is requested."""
        selection, where = self._selection, path or "the root"
        count = len(multiscale.datasets)
        kept = (selection.levels or IndexRange()).nearest(count) if count else []
        if selection.levels is not None and not selection.levels.choose(count):
            self._notes.add(
                path, f"the nearest level is kept, because the image has none of the levels {selection.levels}"
            )
        self.most_levels = max(self.most_levels, len(kept))
        kept = kept[min(selection.skipped, len(kept) - 1) :] if kept else kept
        names = {axis.name for axis in multiscale.axes}
        absent = [axis for axis in selection.region if axis not in names]
        if absent:
            self._notes.add(path, f"not cropped along {', '.join(absent)}: the image has no such axis")
        channel_axis = next((axis.name for axis in multiscale.axes if axis.type == "channel"), None)
        has_channels = bool(selection.channels) and channel_axis is not None
        if selection.channels and channel_axis is None:
            self._notes.add(path, "the whole image is kept, because it has no channel axis")
        if not kept or (len(absent) == len(selection.region) and not has_channels):
            return ImageCrop(tuple(kept), (None,) * len(kept)), {}
        places = place_axes(multiscale, self._layout(path, multiscale.datasets[0]), where)
        requested: dict[str, PixelRange] = {}
        picked: tuple[int, ...] = ()
        for axis, limits in selection.region.items():
            if axis in places:
                start, stop = places[axis].resolve(axis, limits, where)
                requested[axis] = PixelRange(Fraction(start), Fraction(stop))
        if has_channels:
            finest = self._layout(path, multiscale.datasets[kept[0]])
            interval, picked = self._find_channels(path, multiscale, finest)
            requested[str(channel_axis)] = interval
        crops = self._crop_levels(path, multiscale, kept, requested, places, picked=picked)
        if crops is None:
            raise UnsupportedError(
                f"{where}: the region is outside of the finest extracted level",
                hint="The levels have different translations: keep the first level, or omit the region.",
            )
        if selection.whole_chunks:
            self._note_crops(path, multiscale, crops, self._note_region(path, multiscale, requested, crops))
        return crops, places

    def _find_channels(
        self, path: str, multiscale: Multiscale, finest: ArrayLayout
    ) -> tuple[PixelRange, tuple[int, ...]]:
        """Return the interval around the requested channels, and the channel numbers if they are not consecutive."""
        dimension = [axis.type for axis in multiscale.axes].index("channel")
        count, chunk = finest.shape[dimension], finest.chunks[dimension]
        attributes = as_object(self._stored[path].get("attributes"))
        labels = [channel.label for channel in parse_shown_channels(as_object(attributes.get("ome")))]
        found = find_channels(self._selection.channels, labels, count, path or "the root")
        if has_gaps(found) and self._selection.whole_chunks:
            taken = whole_chunks(found, chunk, count)
            if taken != found:
                numbers, more = (", ".join(map(str, those)) for those in (found, taken))
                self._notes.add(
                    path, f"channels {numbers} became {more}, because only whole chunks are copied; {_SEPARATE}"
                )
            found = taken
        return PixelRange(Fraction(found[0]), Fraction(found[-1] + 1)), found if has_gaps(found) else ()

    def _crop_label(self, path: str, multiscale: Multiscale, owner: _Owner) -> ImageCrop | None:
        """Return the crops of a label image's levels; None if the label image lies outside of the region."""
        image, whole, places = owner
        kept = matching_levels(multiscale, image, whole.kept)
        if not whole.region:
            return ImageCrop(tuple(kept), (None,) * len(kept))
        has_same = len(multiscale.datasets) == len(image.datasets)
        crops = self._crop_levels(path, multiscale, kept, whole.region, places, keep_all=has_same, picked=whole.picked)
        if crops is not None and self._selection.whole_chunks:
            self._note_crops(path, multiscale, crops, {})
            if note := explain_larger_label(crops, whole):
                self._notes.add(path, note)
        return crops

    def _crop_levels(
        self,
        path: str,
        multiscale: Multiscale,
        kept: list[int],
        requested: Mapping[str, PixelRange],
        places: Mapping[str, AxisPlace],
        *,
        keep_all: bool = False,
        picked: tuple[int, ...] = (),
    ) -> ImageCrop | None:
        where, keep_all = path or "the root", keep_all or self._selection.levels is not None
        layout_of = partial(self._layout, path)
        if not self._selection.whole_chunks:
            exact = crop_exactly(multiscale, kept, requested, places, layout_of, where, keep_all=keep_all)
            return exact and pick_channels(multiscale, exact, picked, (), layout_of)
        kept, shared = separate_levels(multiscale, kept, picked, places, layout_of, where, keep_all=keep_all)
        crops = crop_levels(multiscale, kept, requested, places, layout_of, where, keep_all=keep_all)
        crops = crops and pick_channels(multiscale, crops, picked, shared, layout_of)
        if crops is not None and crops.alone:
            self._notes.add(
                path,
                f"{name_levels(multiscale, crops.alone)} cannot be cropped to exactly the region of the other "
                f"levels: each keeps more pixels, and programs that ignore translations show it in the wrong place; "
                f"if no levels are asked for, ozx leaves out such levels",
            )
        return crops

    def _note_region(
        self, path: str, multiscale: Multiscale, requested: Mapping[str, PixelRange], crops: ImageCrop
    ) -> dict[str, tuple[int, PixelRange]]:
        """Note how the region grew; return the chunks that extend it too far, as for `explain_crops`."""
        grown = {axis: interval for axis, interval in requested.items() if crops.region[axis] != interval}
        for axis, interval in grown.items():
            became = f"{axis}={interval.start}:{interval.stop} became {crops.region[axis].text()}"
            self._notes.add(path, f"{became}, because only whole chunks are copied")
        if not grown:
            return {}
        layout = self._layout(path, multiscale.datasets[crops.kept[0]])
        whole = self._layout(path, multiscale.datasets[0]).shape
        chunks = {}
        for number, axis in enumerate(axis.name or "" for axis in multiscale.axes):
            if axis in grown:
                share = Fraction(layout.shape[number], whole[number])
                chunks[axis] = layout.chunks[number], PixelRange(*(end * share for end in grown[axis]))
        if all(box is None for box in crops.boxes):
            self._notes.add(path, explain_whole(chunks))
        elif self._selection.channels and any(
            axis.type == "channel" and axis.name in grown for axis in multiscale.axes
        ):
            self._notes.add(path, _SEPARATE)
        elif any(crops.region[axis].length > 1.5 * interval.length for axis, interval in grown.items()):
            return chunks
        return {}

    def _note_crops(
        self, path: str, multiscale: Multiscale, crops: ImageCrop, kept_chunks: Mapping[str, tuple[int, PixelRange]]
    ) -> None:
        if note := explain_crops(multiscale, crops, partial(self._layout, path), kept_chunks):
            self._notes.add(path, note)

    def _keep_arrays(self, path: str, multiscale: Multiscale, crops: ImageCrop) -> None:
        chosen = dict(zip(crops.kept, crops.boxes, strict=True))
        for number, dataset in enumerate(multiscale.datasets):
            if dataset.path is None:
                continue
            array = join_path(path, dataset.path)
            self._listed.add(array)
            if number not in chosen:
                continue
            if array in self._kept and self._kept[array] != chosen[number]:
                raise _differing(array)
            self._kept[array] = chosen[number]
        if crops.computed:
            finest, *lower = (join_path(path, _path(multiscale, number)) for number in crops.kept)
            levels = tuple(zip(lower, crops.computed, strict=True))
            self._compute(finest, levels, crops.method, find_channel_axis(multiscale.axes))
        self.images.append(
            ExtractedImageResult(
                path,
                tuple(_path(multiscale, number) for number in crops.kept),
                tuple(_path(multiscale, number) for number in range(len(multiscale.datasets)) if number not in chosen),
                shown_region(multiscale, crops),
                crops.picked,
            )
        )

    def _compute(
        self, array: str, levels: tuple[tuple[str, Halvings], ...], method: Method, channel: int | None
    ) -> None:
        if self._computed.get(array) == (levels, method, channel):
            return
        mine = {array, *(path for path, _ in levels)}
        for other, (lower, _, _) in self._computed.items():
            if shared := mine & {other, *(path for path, _ in lower)}:
                raise _differing(min(shared))
        self._computed[array] = levels, method, channel

    def _is_changed(self, multiscale: Multiscale, crops: ImageCrop) -> bool:
        return len(crops.kept) != len(multiscale.datasets) or any(box is not None for box in crops.boxes)

    def _change_image(self, path: str, ome: OmeMetadata, crops: list[ImageCrop]) -> None:
        self._check_groups(path)
        shapes = {}
        for dataset in ome.multiscales[0].datasets:
            document = None if dataset.path is None else self._stored.get(join_path(path, dataset.path))
            shape = None if document is None else parse_array(document).shape
            if dataset.path is not None and shape is not None:
                shapes[dataset.path] = shape
        document, notes = crop_image_document(self._stored[path], ome.multiscales, crops, shapes, path or "the root")
        self.documents[path] = document
        self._note_extensions(path)
        for note in notes:
            self._notes.add(path, note)

    def _crop_arrays(self) -> None:
        for path, box in self._kept.items():
            if box is not None:
                document, old = self._stored[path], parse_layout(self._stored[path], path)
                new = crop_document(document, old, box)
                self.documents[path] = new
                levels, method, channel = self._computed.get(path, ((), "nearest", None))
                self.arrays[path] = CroppedArray(
                    old, parse_layout(new, path), box, new, levels=levels, method=method, channel=channel
                )
                self._note_extensions(path)

    def _unlist_labels(self) -> None:
        """Remove dropped label images from the lists of their groups, and drop groups that become empty."""
        removed: dict[str, list[str]] = {}
        for path in self.dropped:
            if not self._is_array(path):
                group = labels_group(path)
                removed.setdefault(group, []).append(path[len(group) :].strip("/"))
        for group, names in removed.items():
            document = self.documents.get(group, self._stored.get(group, {}))
            ome = as_object(as_object(document.get("attributes")).get("ome"))
            rest = [name for name in as_list(ome.get(LABELS)) if str(name).strip("/") not in names]
            # OME-Zarr 0.5, "labels": "Unlisted groups MAY be labels."
            if not rest and not any(image.path.startswith(f"{group}/") for image in self.images):
                self.dropped.add(group)
            elif LABELS in ome:
                attributes = {**document["attributes"], "ome": {**ome, LABELS: rest}}
                self.documents[group] = {**document, "attributes": attributes}

    def _owner(self, path: str) -> _Owner | None:
        """Return the path of the image to which a label image belongs (OME-Zarr 0.5, "labels")."""
        parts = path.split("/")
        for position in reversed(range(len(parts) - 1)):
            if parts[position] == LABELS and "/".join(parts[:position]) in self._images:
                return self._images["/".join(parts[:position])]
        return None

    def _layout(self, path: str, level: Dataset) -> ArrayLayout:
        where = path or "the root"
        array = None if level.path is None else join_path(path, level.path)
        document = None if array is None else self._stored.get(array)
        if array is None or document is None or document.get("node_type") != "array":
            raise FormatError(f"{where}: expected the array of level {level.path!r}; there is none")
        return parse_layout(document, array)

    def _is_array(self, path: str) -> bool:
        return path in self._stored and self._stored[path].get("node_type") == "array"

    def _check_groups(self, path: str) -> None:
        """Raise an error if an image's group or a parent group contains unknown metadata that must be understood."""
        for above in (path, *paths_above(path)):
            if above not in self._checked and above in self._stored:
                check_understood(self._stored[above], above)
            self._checked.add(above)

    def _note_extensions(self, path: str) -> None:
        if EXTENSIONS in self._stored[path]:
            self._notes.add(path, "its extensions are unchanged, and may refer to parts that are left out")


def _path(multiscale: Multiscale, number: int) -> str:
    return multiscale.datasets[number].path or ""


def _differing(array: str) -> UnsupportedError:
    return UnsupportedError(
        f"{array}: expected the same region for all images that use this array; the regions differ",
        hint="Omit the region to extract whole levels.",
    )

"""What is left of a hierarchy when some levels, or a region, of its images are wanted. Documents in, documents out.

Levels and the region are those of each image by itself. Label images follow their image: they show the same region by
their own scale, and keep the levels that their image keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ozx.errors import FormatError, UnsupportedError
from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.json.values import as_list, as_object
from ozx.hierarchy.keys import METADATA, breadth_first
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.note_collector import NoteCollector
from ozx.hierarchy.ome.metadata import Dataset, Multiscale, OmeMetadata, parse_ome
from ozx.hierarchy.subset.alignment import Interval
from ozx.hierarchy.subset.array import Box, crop_document
from ozx.hierarchy.subset.image import crop_image_document
from ozx.hierarchy.subset.label_levels import LABELS, labels_group, matching_levels
from ozx.hierarchy.subset.level_choice import LevelChoice
from ozx.hierarchy.subset.levels import AxisPlace, LevelCrops, crop_levels, place_axes
from ozx.hierarchy.subset.selection import Selection
from ozx.hierarchy.zarr.array import parse_array
from ozx.hierarchy.zarr.chunk_layout import ArrayLayout, parse_layout
from ozx.hierarchy.zarr.extensions import EXTENSIONS
from ozx.hierarchy.zarr.must_understand import check_understood

__all__ = ["CroppedArray", "ImageExcerpt", "Subset", "plan_subset"]


@dataclass(frozen=True, slots=True)
class CroppedArray:
    """An array of which a box is left: its layouts before and after, the box, and its new document."""

    old: ArrayLayout
    new: ArrayLayout
    cut: Box
    document: Document


@dataclass(frozen=True, slots=True)
class ImageExcerpt:
    """What is left of one image.

    Attributes
    ----------
    path
        Path of its group.
    levels
        Paths of the levels that are kept, below the group, the finest first.
    left_out
        Paths of the others.
    region
        The pixels of the full resolution that are shown, by axis: the first, and the one behind the last. Empty where
        no region is asked for.
    """

    path: str
    levels: tuple[str, ...]
    left_out: tuple[str, ...]
    region: dict[str, tuple[int, int]]


@dataclass(slots=True)
class Subset:
    """What is left of a hierarchy.

    Attributes
    ----------
    images
        Label images included, in the order of their groups.
    documents
        New documents by path, those of arrays that are cut included.
    arrays
        The arrays that are cut, by path.
    dropped
        Paths of nodes that are left out with everything below them.
    notes
        One sentence each.
    most_levels
        The largest number of levels of an image before any were skipped.
    """

    images: list[ImageExcerpt] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)
    arrays: dict[str, CroppedArray] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    notes: tuple[str, ...] = ()
    most_levels: int = 0


@dataclass(frozen=True, slots=True)
class _Image:
    """An image that label images may belong to: its first multiscale, and what is kept of it."""

    multiscale: Multiscale
    cuts: LevelCrops
    places: dict[str, AxisPlace]


def plan_subset(documents: Mapping[str, Document], selection: Selection) -> Subset:
    """Return what is left of the hierarchy whose nodes have these ``zarr.json``, by path.

    Raises
    ------
    UsageError
        The region is outside of an image, or no image has such an axis or such levels.
    FormatError
        An image names an array that is missing or of another form.
    UnsupportedError
        Metadata that must be understood, and are not, forbid the change; or nobody can tell what shows the region.
    """
    return _Work(documents, selection).subset()


class _Work:
    """An subset in the making."""

    def __init__(self, documents: Mapping[str, Document], selection: Selection) -> None:
        self._documents = documents
        self._selection = selection
        self._subset = Subset()
        self._notes = NoteCollector()
        self._images: dict[str, _Image] = {}
        self._kept: dict[str, Box | None] = {}  # arrays of levels that are kept
        self._listed: set[str] = set()  # arrays of any level
        self._checked: set[str] = set()

    def subset(self) -> Subset:
        """Go through all images."""
        found = {path: ome for path, ome in map(self._parse, self._documents) if ome is not None and ome.multiscales}
        order = sorted(found, key=lambda path: breadth_first(join_path(path, METADATA)))
        self._selection.check([multiscale for ome in found.values() for multiscale in ome.multiscales])
        for path in order:
            self._take_image(path, found[path])
        self._subset.dropped |= {path for path in self._listed - self._kept.keys() if self._is_array(path)}
        self._crop_arrays()
        self._unlist_labels()
        self._subset.notes = self._notes.sentences()
        return self._subset

    def _parse(self, path: str) -> tuple[str, OmeMetadata | None]:
        return path, parse_ome(as_object(self._documents[path].get("attributes")), 3)

    def _take_image(self, path: str, ome: OmeMetadata) -> None:
        owner = self._owner(path)
        taken: list[LevelCrops] = []
        for number, multiscale in enumerate(ome.multiscales):
            if owner is None:
                cuts, places = self._take(path, multiscale)
                if not number:
                    self._images[path] = _Image(multiscale, cuts, places)
            else:
                found = self._follow(path, multiscale, owner)
                if found is None:
                    self._check_groups(path)
                    self._notes.add(path, "left out: it shows nothing of the region")
                    self._subset.dropped.add(path)
                    return
                cuts = found
            taken.append(cuts)
        for multiscale, cuts in zip(ome.multiscales, taken, strict=True):
            self._keep_arrays(path, multiscale, cuts)
        if any(self._is_changed(*pair) for pair in zip(ome.multiscales, taken, strict=True)):
            self._change_image(path, ome, taken)

    def _take(self, path: str, multiscale: Multiscale) -> tuple[LevelCrops, dict[str, AxisPlace]]:
        """Return what becomes of the levels of an image by itself, and its axes where there is a region."""
        selection, where = self._selection, path or "the root"
        count = len(multiscale.datasets)
        kept = (selection.levels or LevelChoice()).nearest(count) if count else []
        if selection.levels is not None and not selection.levels.choose(count):
            self._notes.add(path, f"it has no level {selection.levels}: the nearest one is kept")
        self._subset.most_levels = max(self._subset.most_levels, len(kept))
        kept = kept[min(selection.skipped, len(kept) - 1) :] if kept else kept
        names = {axis.name for axis in multiscale.axes}
        absent = [axis for axis in selection.region if axis not in names]
        if absent:
            self._notes.add(path, f"left as it is along {', '.join(absent)}: the image has no such axis")
        if not kept or len(absent) == len(selection.region):
            return LevelCrops(tuple(kept), (None,) * len(kept)), {}
        if any("coordinateSystems" in as_object(item) for item in self._items(path)):
            raise UnsupportedError(
                f"{where}: expected OME-Zarr 0.5 to cut a region out of; found coordinate systems, as 0.6 has",
                hint="Leave the region out; whole levels can be extracted.",
            )
        places = place_axes(multiscale, self._layout(path, multiscale.datasets[0]), where)
        asked = {}
        for axis, wanted in selection.region.items():
            if axis in places:
                start, stop = wanted.resolve(axis, places[axis].length, where)
                asked[axis] = Interval(Fraction(start), Fraction(stop))
        cuts = self._crop_levels(path, multiscale, kept, asked, places)
        if cuts is None:
            raise UnsupportedError(
                f"{where}: expected levels that show the same; the finest that is kept shows nothing of the region",
                hint="Its translations differ too much: keep its first level, or leave the region out.",
            )
        self._tell_region(path, asked, cuts)
        return cuts, places

    def _follow(self, path: str, multiscale: Multiscale, owner: _Image) -> LevelCrops | None:
        """Return what becomes of the levels of a label image; None where it shows nothing of the region."""
        kept = matching_levels(multiscale, owner.multiscale, owner.cuts.kept)
        if not owner.cuts.region:
            return LevelCrops(tuple(kept), (None,) * len(kept))
        has_same = len(multiscale.datasets) == len(owner.multiscale.datasets)
        return self._crop_levels(path, multiscale, kept, owner.cuts.region, owner.places, keep_all=has_same)

    def _crop_levels(
        self,
        path: str,
        multiscale: Multiscale,
        kept: list[int],
        asked: Mapping[str, Interval],
        places: Mapping[str, AxisPlace],
        *,
        keep_all: bool = False,
    ) -> LevelCrops | None:
        cuts = crop_levels(
            multiscale,
            kept,
            asked,
            places,
            lambda level: self._layout(path, level),
            path or "the root",
            keep_all=keep_all or self._selection.levels is not None,
        )
        if cuts is not None and cuts.left_out:
            self._notes.add(
                path,
                f"left out {_names(multiscale, cuts.left_out)}, whose chunks are too long for the region "
                "(--levels keeps the levels it names)",
            )
        if cuts is not None and cuts.alone:
            self._notes.add(
                path,
                f"{_names(multiscale, cuts.alone)} cannot be cut like the others, and more than the region is kept; "
                "programs that take no heed of translations draw that in the wrong place",
            )
        return cuts

    def _tell_region(self, path: str, asked: Mapping[str, Interval], cuts: LevelCrops) -> None:
        for axis, interval in asked.items():
            taken = cuts.region[axis]
            if taken != interval:
                self._notes.add(
                    path,
                    f"{axis}={interval.start}:{interval.stop} became {_text(taken)}, as chunks are taken whole",
                )

    def _keep_arrays(self, path: str, multiscale: Multiscale, cuts: LevelCrops) -> None:
        chosen = dict(zip(cuts.kept, cuts.cuts, strict=True))
        for number, dataset in enumerate(multiscale.datasets):
            if dataset.path is None:
                continue
            array = join_path(path, dataset.path)
            self._listed.add(array)
            if number not in chosen:
                continue
            if array in self._kept and self._kept[array] != chosen[number]:
                raise UnsupportedError(
                    f"{array}: expected one region of it; the images that share it need different ones",
                    hint="Leave the region out; whole levels can be extracted.",
                )
            self._kept[array] = chosen[number]
        self._subset.images.append(
            ImageExcerpt(
                path,
                tuple(_path(multiscale, number) for number in cuts.kept),
                tuple(_path(multiscale, number) for number in range(len(multiscale.datasets)) if number not in chosen),
                {axis: taken.pixels() for axis, taken in cuts.region.items()},
            )
        )

    def _is_changed(self, multiscale: Multiscale, cuts: LevelCrops) -> bool:
        return len(cuts.kept) != len(multiscale.datasets) or any(cut is not None for cut in cuts.cuts)

    def _change_image(self, path: str, ome: OmeMetadata, taken: list[LevelCrops]) -> None:
        self._check_groups(path)
        shapes = {}
        for dataset in ome.multiscales[0].datasets:
            document = None if dataset.path is None else self._documents.get(join_path(path, dataset.path))
            shape = None if document is None else parse_array(document).shape
            if dataset.path is not None and shape is not None:
                shapes[dataset.path] = shape
        document, notes = crop_image_document(self._documents[path], ome.multiscales, taken, shapes, path or "the root")
        self._subset.documents[path] = document
        self._tell_extensions(path)
        for note in notes:
            self._notes.add(path, note)

    def _crop_arrays(self) -> None:
        for path, cut in self._kept.items():
            if cut is not None:
                document, old = self._documents[path], parse_layout(self._documents[path], path)
                new = crop_document(document, old, cut)
                self._subset.documents[path] = new
                self._subset.arrays[path] = CroppedArray(old, parse_layout(new, path), cut, new)
                self._tell_extensions(path)

    def _unlist_labels(self) -> None:
        """Take label images that are left out off the lists of their groups; groups without any go, too."""
        gone: dict[str, list[str]] = {}
        for path in self._subset.dropped:
            if not self._is_array(path):
                group = labels_group(path)
                gone.setdefault(group, []).append(path[len(group) :].strip("/"))
        for group, names in gone.items():
            document = self._subset.documents.get(group, self._documents.get(group, {}))
            ome = as_object(as_object(document.get("attributes")).get("ome"))
            left = [name for name in as_list(ome.get(LABELS)) if str(name).strip("/") not in names]
            # OME-Zarr 0.5, "labels": "Unlisted groups MAY be labels."
            if not left and not any(image.path.startswith(f"{group}/") for image in self._subset.images):
                self._subset.dropped.add(group)
            elif LABELS in ome:
                attributes = {**document["attributes"], "ome": {**ome, LABELS: left}}
                self._subset.documents[group] = {**document, "attributes": attributes}

    def _owner(self, path: str) -> _Image | None:
        """Return the image that a label image belongs to (OME-Zarr 0.5, "labels")."""
        parts = path.split("/")
        for position in reversed(range(len(parts) - 1)):
            if parts[position] == LABELS and "/".join(parts[:position]) in self._images:
                return self._images["/".join(parts[:position])]
        return None

    def _layout(self, path: str, level: Dataset) -> ArrayLayout:
        where = path or "the root"
        array = None if level.path is None else join_path(path, level.path)
        document = None if array is None else self._documents.get(array)
        if array is None or document is None or document.get("node_type") != "array":
            raise FormatError(f"{where}: expected the array of level {level.path!r}; there is none")
        return parse_layout(document, array)

    def _is_array(self, path: str) -> bool:
        return path in self._documents and self._documents[path].get("node_type") == "array"

    def _items(self, path: str) -> list[object]:
        return as_list(as_object(as_object(self._documents[path].get("attributes")).get("ome")).get("multiscales"))

    def _check_groups(self, path: str) -> None:
        """Refuse to change an image where its group, or one above, asks for more than is understood here."""
        for above in _upwards(path):
            if above not in self._checked and above in self._documents:
                check_understood(self._documents[above], above)
            self._checked.add(above)

    def _tell_extensions(self, path: str) -> None:
        if EXTENSIONS in self._documents[path]:
            self._notes.add(path, "its extensions are kept as they were, and may speak of what is left out")


def _upwards(path: str) -> Iterable[str]:
    yield path
    while path:
        path = path.rpartition("/")[0]
        yield path


def _path(multiscale: Multiscale, number: int) -> str:
    return multiscale.datasets[number].path or ""


def _names(multiscale: Multiscale, numbers: Iterable[int]) -> str:
    names = [_path(multiscale, number) for number in numbers]
    return f"level{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _text(interval: Interval) -> str:
    start, stop = interval.pixels()
    return f"{start}:{stop}"

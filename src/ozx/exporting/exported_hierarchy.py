"""The images, plate and OME-XML that are exported from a hierarchy to an OME-TIFF file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

import zarr
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.exporting.exported_image import ExportedImage, take_image
from ozx.exporting.ome_xml import make_ome, read_kept_xml, render_xml, update_ome
from ozx.flow.sources.browsing import similar_nodes
from ozx.images.description import PlateDescription
from ozx.images.image import GroupNodes
from ozx.images.ome_xml import OmeXml
from ozx.ome.images import image_paths
from ozx.ome.model import OmeMetadata, describe_scene
from ozx.ome.nodes import ome_at
from ozx.ome.plates import placed_wells
from ozx.ome.subset.region import IndexRange, require_levels
from ozx.zarr.json_reading import as_list, as_object, as_text
from ozx.zarr.keys import ORIGINAL_METADATA, join_path

#: Images in page order, their OME-XML, whether it is an update of their original one, and notes about changes.
Exported = tuple[list[ExportedImage], str, bool, list[str]]


def take_hierarchy(group: zarr.Group, node: str, choice: IndexRange, *, join_rgb: bool = True) -> Exported:
    """Return the images below a group in the form that OME-TIFF requires; no pixels are read."""
    start = _find_group(group, node)
    nodes, notes = GroupNodes(start), list[str]()
    skip = len(group.path) and len(group.path) + 1
    images = list(_take_images(nodes, start.path, choice, notes, skip, join_rgb=join_rgb))
    if not images:
        ome = nodes[""].ome
        found = "no OME-Zarr metadata" if ome is None else f"a hierarchy of kind {ome.kind} without images"
        raise UnsupportedError(f"expected images; found {found}", hint="Show the contents with ozx info.")
    plate = _take_plate(nodes, [image.path for image in images], len(start.path) and len(start.path) + 1)
    kept = _read_kept(start, notes)
    numbers = None if kept is None else _match(start, kept[1], images)
    if kept is not None and numbers is not None:
        order = sorted(range(len(images)), key=numbers.__getitem__)
        images = [images[place] for place in order]
        places = {old: new for new, old in enumerate(order)}
        plate = None if plate is None else plate.renumbered(places)
        notes += update_ome(*kept, images, sorted(numbers), plate)
        return images, render_xml(kept[0]), True, notes
    if kept is not None:
        notes.append(f"{ORIGINAL_METADATA} is left out: its images cannot be matched with the exported images")
    return images, render_xml(make_ome(images, plate)), False, notes


def check_lossy(images: Sequence[ExportedImage], compression: str) -> None:
    """Raise an error if JPEG would change the pixels of an image that people measure, and not only look at."""
    other = next((image for image in images if not image.is_rgb or image.dtype != "uint8"), None)
    if compression == "jpeg" and other is not None:
        channels = f"{other.shape[1]} channel{'s' if other.shape[1] > 1 else ''} of {other.dtype.name}"
        raise UsageError(
            f"{other.path or 'the root'}: expected 8-bit red, green and blue for jpeg; found {channels}",
            hint="Choose zlib or zstd, which keep all pixels.",
        )


def _find_group(group: zarr.Group, node: str) -> zarr.Group:
    nodes = GroupNodes(group)
    path = join_path("", node)
    found = nodes.find(path)
    if isinstance(found, zarr.Array):
        image = path.rpartition("/")[0]
        way = f"Give node={image!r}" if image else "Leave out node=…"
        raise UsageError(
            f"expected an image; {path} is a level of an image",
            hint=f"{way} to export the image; levels=… chooses its levels.",
        )
    if found is None:
        raise UsageError(f"expected the path of an image; there is no {path!r}", hint=_hint_at_images(nodes, path))
    return found


def _hint_at_images(nodes: GroupNodes, path: str) -> str:
    """Return the hint for a missing path: the images and wells of the file, or how to export the only image."""
    images = list(image_paths(nodes))
    if images != [""]:
        return similar_nodes(path, {*images, *(image.rpartition("/")[0] for image in images)})
    labels = nodes.image().label_paths
    nearest = f" {similar_nodes(path, labels)}" if labels else ""
    return f"Leave out node=…: the file is one image. channels=… selects channels.{nearest}"


def _take_images(
    nodes: GroupNodes, start: str, choice: IndexRange, notes: list[str], given: int, *, join_rgb: bool
) -> Iterator[ExportedImage]:
    """Yield the images below a group for the export; add notes about images and labels that are left out."""
    labels, counts = list[str](), list[int]()
    root = nodes[""].ome
    if root is not None and root.scene is not None:
        notes.append(describe_scene(root.scene))
    for path in image_paths(nodes):
        full = join_path(start, path)
        if not isinstance(nodes.find(path), zarr.Group):
            notes.append(f"{full}: an image is listed here, but does not exist")
            continue
        view = nodes.image(path)
        labels += [join_path(start, label) for label in view.label_paths]
        counts.append(len(view.levels))
        ome = nodes[path].ome
        if ome is not None and len(ome.multiscales) > 1:
            notes.append(
                f"{full or 'the root'}: only the first of {len(ome.multiscales)} images in one group is exported"
            )
        image = take_image(view, full, choice, join_rgb=join_rgb)
        notes += image.notes
        yield image
    if counts:
        require_levels(choice, counts)
    if labels:
        more = f" and {len(labels) - 1:,} more" if len(labels) > 1 else ""
        notes.append(f"labels are left out: {labels[0]}{more}; node={labels[0][given:]!r} exports a label image")


def _take_plate(nodes: GroupNodes, images: Sequence[str], skip: int) -> PlateDescription | None:
    """Return the plate at the root; its fields of view are given as indices into `images`."""
    ome = ome_at(nodes, "")
    plate = ome.plate
    if plate is None:
        return None
    numbers = {path[skip:]: number for number, path in enumerate(images)}
    acquisitions = _acquisitions(ome)
    by_id = {number: place for place, (number, _) in enumerate(acquisitions)}
    wells: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
    for listed, place in placed_wells(plate):
        path = join_path("", listed)
        if place is None:
            continue
        fields: list[tuple[int, int | None]] = [
            (numbers[field], by_id.get(_identifier(item.get("acquisition"))))
            for item in _items(ome_at(nodes, path), "well", "images")
            if (field := join_path(path, item.get("path") or "")) in numbers
        ]
        if fields:
            wells.setdefault(place, []).extend(fields)
    times = tuple(time for _, time in acquisitions)
    return PlateDescription(plate.name, plate.rows, plate.columns, wells, times)


def _items(ome: OmeMetadata, kind: str, key: str) -> list[dict[str, Any]]:
    """Return the items of a list in the metadata of a plate or well."""
    return [as_object(item) for item in as_list(as_object(ome.raw.get(kind)).get(key))]


def _acquisitions(ome: OmeMetadata) -> list[tuple[Any, tuple[str | None, int | None, int | None]]]:
    """Return the ids of a plate's acquisitions, with their names and start times."""

    def time(item: Mapping[str, Any], key: str) -> int | None:
        value = item.get(key)
        return value if type(value) is int else None

    return [
        (_identifier(item.get("id")), (as_text(item.get("name")), time(item, "starttime"), time(item, "endtime")))
        for item in _items(ome, "plate", "acquisitions")
    ]


def _identifier(value: Any) -> int | str | None:
    """Return the id of an acquisition; None if the id is an object or a list, which wells cannot refer to."""
    return value if isinstance(value, int | str) else None


def _read_kept(start: zarr.Group, notes: list[str]) -> tuple[Element, OmeXml] | None:
    found = sync(start.store.get(ORIGINAL_METADATA, default_buffer_prototype()))
    if found is None:
        return None
    try:
        return read_kept_xml(found.to_bytes())
    except FormatError as error:
        notes.append(f"{ORIGINAL_METADATA} is left out: {error.message}")
        return None


def _match(start: zarr.Group, document: OmeXml, images: Sequence[ExportedImage]) -> list[int] | None:
    """Return the number of each exported image in the original OME-XML, or None if the images cannot be matched."""
    described = [number for number, image in enumerate(document.images) if image.has_planes]
    if not start.path:
        root: zarr.Group | None = start
    else:
        root = None
        with contextlib.suppress(FileNotFoundError, KeyError):
            root = zarr.open_group(start.store, mode="r", path="", zarr_format=start.metadata.zarr_format)
    nodes = None if root is None else GroupNodes(root)
    listed = [] if nodes is None else list(image_paths(nodes))
    places = {path: number for number, path in enumerate(listed)}
    if len(document.images) in (len(listed), len(described)):
        described = list(range(len(document.images)))
    by_place = _wells_of(nodes, listed, document) if nodes is not None and document.plate else None
    if by_place is None and len(described) == len(listed):
        by_place = dict(enumerate(described))
    if by_place is not None:
        numbers = [by_place.get(places.get(image.path, -1)) for image in images]
    else:
        names = [image.name for image in document.images]
        numbers = [
            names.index(name) if (name := image.description.name) is not None and names.count(name) == 1 else None
            for image in images
        ]
    known = [number for number in numbers if number is not None]
    return known if len(set(known)) == len(images) else None


def _wells_of(nodes: GroupNodes, listed: Sequence[str], document: OmeXml) -> dict[int, int] | None:
    """Map indices of `listed` to image numbers in the OME-XML. Wells match by row and column, and fields by order."""
    plate = _take_plate(nodes, listed, 0)
    if plate is None or document.plate is None:
        return None
    return {
        field: number
        for place, fields in plate.wells.items()
        for (field, _), (number, _) in zip(fields, document.plate.wells.get(place, ()), strict=False)
    }

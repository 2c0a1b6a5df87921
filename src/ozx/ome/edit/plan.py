"""Plan of an edit: the images to edit, and the metadata documents that change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.ome.edit.image import (
    PropertyChange,
    check_editable,
    edit_image,
    edit_label,
    edit_plate_name,
    update_copy,
)
from ozx.ome.edit.request import EditRequest
from ozx.ome.images import image_paths, label_paths
from ozx.ome.model import Axis, OmeMetadata
from ozx.ome.nodes import Node, NoteCollector, ome_at
from ozx.ome.recovered import describe_losses, with_losses
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.json_changes import Styles, dump_like, iter_changes
from ozx.zarr.json_reading import Document, copy_json, parse_document
from ozx.zarr.keys import METADATA, join_path, paths_above


@dataclass(frozen=True, slots=True)
class Change:
    """One changed JSON value.

    Attributes
    ----------
    node
        Path of the group whose ``zarr.json`` holds it; the root's is empty.
    pointer
        The JSON pointer (RFC 6901) to it.
    old, new
        The value before and after the edit; None for a missing value.
    """

    node: str
    pointer: str
    old: Any
    new: Any


def edit_hierarchy(
    nodes: Mapping[str, Node], read: Callable[[str], bytes | None], edits: EditRequest, node: str = ""
) -> EditPlan:
    """Plan the requested `edits` of all images at or below `node`, and of their label images.

    `node` is the path of a plate, well, series, image or label image; `read` returns the value of a metadata key.
    """
    plan = EditPlan(nodes, read)
    if edits.forget_recovered and node:
        raise UsageError(
            "what a recovered file lacks is a remark of the whole file, not of a node",
            hint="Give the file without the path of a node, to forget all of it.",
        )
    others = replace(edits, forget_recovered=False)
    if not others.is_empty:
        plan.edit_images(others, node)
    if edits.forget_recovered:
        plan.forget_recovered()
    plan.finish()
    return plan


def _find_images(nodes: Mapping[str, Node], node: str) -> list[str]:
    """Return the paths of the images that the metadata of `node` refers to; `node` is treated as the root."""
    here = nodes.get(node)
    if here is None:
        if node:
            raise UsageError(f"expected a node to edit; there is no {node!r}")
        raise FormatError("expected a hierarchy to edit; there is no zarr.json at the root", rule="rfc9/root")
    if here.node_type == "array":
        raise UsageError(f"expected an image or a group of images; {node or 'the root'} is an array")
    prefix = f"{node}/" if node else ""
    below = {path[len(prefix) :]: found for path, found in nodes.items() if path.startswith(prefix)}
    below = {"": here, **below}
    images = [join_path(node, path) for path in image_paths(below)]
    if not any(ome_at(nodes, path).multiscales for path in images):
        if here.problems:
            raise FormatError(f"{node or 'the root'}: expected metadata to edit; {here.problems[0]}")
        kind = UsageError if node else UnsupportedError
        raise kind(f"expected an image, a plate or a series to edit; there are no images in {node or 'the root'}")
    return list(dict.fromkeys(images))


def _axes(ome: OmeMetadata) -> list[Axis]:
    return [axis for multiscale in ome.multiscales for axis in multiscale.axes]


class EditPlan:
    """The changes that an edit makes to a hierarchy, collected document by document."""

    def __init__(self, nodes: Mapping[str, Node], read: Callable[[str], bytes | None]) -> None:
        # The documents that change, by key, as bytes, and their changes: known when the plan is finished.
        self.old: dict[str, bytes] = {}
        self.new: dict[str, bytes] = {}
        self.changes: tuple[Change, ...] = ()
        self.differences: tuple[PropertyChange, ...] = ()
        # Axes of space that got a pixel size and have no unit.
        self.without_unit: dict[str, None] = {}
        self._nodes = nodes
        self._read = read
        self._version = ome_at(nodes, "").version
        self._stored: dict[str, bytes] = {}
        self._originals: dict[str, Document] = {}
        self._edited: dict[str, Document] = {}
        self._notes = NoteCollector()

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks, one sentence each."""
        return self._notes.sentences()

    def open(self, path: str) -> Document:
        """Return the original document of a group."""
        if path not in self._originals:
            key = join_path(path, METADATA)
            stored = self._read(key)
            if stored is None:
                raise UnsupportedError(
                    f"{key}: expected the metadata of OME-Zarr 0.5; the file does not exist",
                    hint="ozx cannot edit OME-Zarr 0.4 (Zarr v2); convert the file to 0.5 with ozx repack first.",
                )
            self._stored[path], self._originals[path] = stored, parse_document(stored, key)
        return self._originals[path]

    def edit_images(self, edits: EditRequest, node: str) -> None:
        """Edit the images at or below `node`, and their label images."""
        images = _find_images(self._nodes, node)
        if edits.name is not None:
            edits = self.name_plate(node, edits, edits.name, images)
        if edits.is_empty:
            return
        self.open(images[0])
        edits.check_axes([_axes(ome_at(self._nodes, path)) for path in images])
        for path in images:
            self.edit_image(path, edits)

    def forget_recovered(self) -> None:
        """Remove what the root says about missing pixels."""
        document = self._edited.get("", self.open(""))
        losses = describe_losses(document.get("attributes"))
        if losses:
            self._edited[""] = with_losses(document, [])
            self.differences += tuple(PropertyChange("", "recovered", loss, None) for loss in losses)

    def name_plate(self, node: str, edits: EditRequest, name: str, images: list[str]) -> EditRequest:
        """Set the name of the plate if `node` is a plate; return the edits that apply to the images."""
        if ome_at(self._nodes, node).plate is not None:
            self._take(node, *edit_plate_name(self.open(node), name, node, version=self._version))
            return replace(edits, name=None)
        if len(images) > 1:
            listed = ", ".join(images[:3]) + (", …" if len(images) > 3 else "")
            raise UsageError(
                f"expected one image for the new name; there are {len(images):,}: {listed}",
                hint=f"Give the path of one image in the file, as in FILE.ozx/{images[0]}",
            )
        return edits

    def edit_image(self, path: str, edits: EditRequest) -> None:
        """Edit the metadata of one image and its label images."""
        if not ome_at(self._nodes, path).multiscales:
            self._notes.add(path, "an image is listed here, but does not exist")
            return
        axes = _axes(check_editable(self.open(path), path, self._version))
        here = edits.limited_to(axes)
        absent = [axis for axis in edits.axis_names if axis not in {found.name for found in axes}]
        if absent:
            self._notes.add(path, f"not changed along {', '.join(absent)}: the image has no such axis")
        if edits.space_size is not None and (kept := edits.kept_z(axes)) is not None:
            self._notes.add(path, f"the pixel size along {kept} is kept; pixel_size='{kept}=2um' sets it")
        if here.is_empty:
            return
        new, differences, placed, notes = edit_image(
            self.open(path), here, path, array=self._full_resolution(path), version=self._version
        )
        self._take(path, new, differences)
        for note in notes:
            self._notes.add(path, note)
        self.without_unit |= {
            str(axis.name): None
            for axis in axes
            if axis.type == "space" and axis.name in here.pixel_size and not (axis.unit or axis.name in placed.units)
        }
        if not placed:
            return
        for label in label_paths(self._nodes, path):
            if ome_at(self._nodes, label).multiscales:
                document = self.open(label)
                self._take(label, *edit_label(document, placed, label, version=self._version))
            else:
                self._notes.add(label, "a label image is listed here, but does not exist")

    def finish(self) -> None:
        """Update consolidated metadata, and write the changed documents."""
        for path in list(self._edited):
            for above in paths_above(path):
                self._update_copy(above, path)
        styles: Styles = {}
        for path in self._nodes:
            if path in self._edited:
                key, old, new = join_path(path, METADATA), self._originals[path], self._edited[path]
                self.old[key], self.new[key] = self._stored[path], dump_like(new, old, self._stored[path], styles)
                self.changes += tuple(Change(path, *change) for change in iter_changes(old, new))

    def _take(self, path: str, document: Document, differences: list[PropertyChange]) -> None:
        if differences:
            self._edited[path] = document
            self.differences += tuple(differences)

    def _update_copy(self, above: str, path: str) -> None:
        if above not in self._nodes or (above not in self._edited and not self._has_copies(above)):
            return
        document = self._edited.get(above) or copy_json(self.open(above))
        if update_copy(document, path[len(above) :].lstrip("/"), self._edited[path]):
            self._edited[above] = document

    def _has_copies(self, path: str) -> bool:
        try:
            return "consolidated_metadata" in self.open(path)
        except (FormatError, UnsupportedError):  # a broken document in between has no copies
            return False

    def _full_resolution(self, image: str) -> ArrayMetadata | None:
        datasets = ome_at(self._nodes, image).multiscales[0].datasets
        node = self._nodes.get(join_path(image, datasets[0].path)) if datasets and datasets[0].path else None
        return None if node is None else node.array

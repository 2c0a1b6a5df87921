"""References: relative paths from one node to another, in the metadata of the first node.

ZEP 10 (draft of 2025-05-12), "Application to sub-nodes": an extension of a node may be a copy of an extension of a
group above, or may refer to it, as in ``{"reference": "../.."}``. The same or another extension may hold the reference.
A label image names its image in ``image-label.source.image`` (OME-Zarr 0.5, "image-label").
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Literal

from ozx.errors import UnsupportedError
from ozx.zarr.extensions import listed_extensions
from ozx.zarr.json_reading import Document, as_object, as_text, copy_json
from ozx.zarr.keys import join_path


def resolve_reference(node: str, reference: str) -> str | None:
    """Return the path of the node to which `reference` in the node at `node` refers; None for a path outside the root.

    Examples
    --------
    >>> resolve_reference("labels/cells", "../../"), resolve_reference("A/1", "./0"), resolve_reference("A", "/B")
    ('', 'A/1/0', 'B')
    >>> resolve_reference("A", "../../B") is None
    True
    """
    parts = [] if reference.startswith("/") or not node else node.split("/")
    for part in reference.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def iter_references(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the extension name and the reference of each extension that refers to a node of the same hierarchy."""
    for extension in listed_extensions(document):
        reference = as_text(extension.configuration.get("reference"))
        if reference is not None and "://" not in reference:
            yield extension.name, reference


def _fate(
    path: str, reference: str, node: str, before: Container[str], after: Container[str]
) -> Literal["kept", "lost", "broken"]:
    """Return what the extraction of `node` does to a reference in the node at `path` below it.

    `before` and `after` are the nodes before and after the extraction; a broken reference had no target before.
    """
    target = None if node and reference.startswith("/") else resolve_reference(path, reference)
    if target is not None and target in after:
        return "kept"
    target = resolve_reference(join_path(node, path), reference)
    return "lost" if target is not None and target in before else "broken"


def check_references(
    documents: Iterable[tuple[str, Document]], node: str, before: Container[str], after: Container[str]
) -> list[str]:
    """Raise an error for a reference that the extraction of `node` would break; return notes about those broken before.

    `before` and `after` are the paths of the nodes before and after the extraction.
    """
    notes = []
    for path, document in documents:
        for name, reference in iter_references(document):
            fate, where = _fate(path, reference, node, before, after), path or "the root"
            if fate == "lost":
                raise UnsupportedError(
                    f"{where}: the extension {name!r} refers to {reference!r}, which the extraction would leave out",
                    hint="Extract a node higher in the hierarchy, or all levels.",
                )
            if fate == "broken":
                notes.append(f"{where}: the extension {name!r} refers to {reference!r}, where there is no node")
    return notes


def drop_source_image(
    document: Document, path: str, node: str, before: Container[str], after: Container[str]
) -> tuple[Document, str] | None:
    """Return a label image's ``zarr.json`` without a reference to an image outside the subset; None if unchanged."""
    label = _label_of(document)
    image = as_text(as_object(label.get("source")).get("image"))
    if image is None or _fate(path, image, node, before, after) != "lost":
        return None
    new: Document = copy_json(document)
    changed = new["attributes"]["ome"]["image-label"]
    del changed["source"]["image"]
    if not changed["source"]:
        del changed["source"]
    return new, f"left out the reference to its image (image-label.source.image, {image!r}), which is not extracted"


def _label_of(document: Mapping[str, object]) -> dict[str, object]:
    return as_object(as_object(as_object(document.get("attributes")).get("ome")).get("image-label"))

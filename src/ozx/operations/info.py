"""info: describe an OME-Zarr hierarchy: its kind, its size, and its storage."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from ozx.archive.other_formats import describe_names
from ozx.calls import JsonResult, public_call
from ozx.errors import FormatError, UnsupportedError
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, is_any_metadata_key, open_view
from ozx.flow.sources.wrong_sources import describe_folder
from ozx.ome.images import ImageSummary, LevelSummary, describe_images, describe_level, image_paths, label_paths
from ozx.ome.model import Collection, Scene
from ozx.ome.nodes import Node, NodeCollector, ome_at
from ozx.ome.plates import Well, plate_wells
from ozx.ome.recovered import describe_loss, losses_below, losses_of
from ozx.ome.versions import describe_draft, is_known
from ozx.places.place import Place
from ozx.zarr.json_reading import as_object, parse_document

#: The most images that an `Inspection` describes level by level; for other images it has only nodes and wells.
MOST_IMAGES = 100

_ENDINGS = (".ome.zarr", ".zarr", ".ome.ozx", ".ozx", ".zip")


@dataclass(frozen=True, slots=True)
class Container:
    """The archive or directory that contains the hierarchy.

    Attributes
    ----------
    format
        ``zip`` or ``directory``; the other fields describe only a ZIP file.
    zip64
        Whether there is a ZIP64 end record.
    comment
        The archive comment.
    json_first
        Whether the comment promises that all ``zarr.json`` come first.
    """

    format: str
    zip64: bool | None = None
    comment: str | None = None
    json_first: bool | None = None


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """A summary of one node of the hierarchy.

    Attributes
    ----------
    path
        Path of the node; the root's is empty.
    node_type
        ``group``, ``array``, or None if its metadata names neither.
    extensions
        Names of its declared extensions, without registered codecs, data types and the like.
    conventions
        Names, or else identifiers, of the conventions that its attributes declare.
    """

    path: str
    node_type: str | None
    extensions: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlateSummary:
    """The wells and images that a plate lists.

    Attributes
    ----------
    name
        Its name, or None.
    rows, columns
        Their names, in the order of the plate.
    wells
        The listed wells, with the number of fields in each.
    """

    name: str | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    wells: tuple[Well, ...]


@dataclass(frozen=True, slots=True)
class Inspection(JsonResult):
    """The result of `inspect`; ``ozx info --json`` prints its `to_dict()`.

    Attributes
    ----------
    path
        The file, directory or node, as given.
    address
        The same place as a URL pipeline (ZEP 8), which tensorstore and neuroglancer read:
        ``file:///data/cells.ozx|zip:labels/cells/|zarr3:``.
    kind
        ``image``, ``plate``, ``series``, ``labels``, ``scene``, ``collection`` or ``other``.
    name
        Name of the image, of the plate, of the collection, or else of the file.
    ome_version
        OME-Zarr version of the root, or None.
    zarr_format
        Zarr version of the root, 2 or 3; None without a root.
    entries
        Entries of the archive, or files of the directory.
    bytes
        Size in bytes of the archive, or of all files of the directory; for a node, of the values below the node.
    decoded_bytes
        Total size in bytes of the decoded arrays, without arrays of a type whose size is unknown.
    container
        The archive or directory of the hierarchy.
    images
        The first `MOST_IMAGES` images, in the order of the metadata.
    image_count
        Number of all images, including those that are listed but missing.
    labels
        The label images that belong to `images`, the first `MOST_IMAGES`.
    arrays
        The first `MOST_IMAGES` arrays of a hierarchy without images.
    plate
        The plate, or None.
    scene
        The places of the images relative to each other (OME-Zarr 0.6), or None.
    collection
        The collection (a draft, RFC-8), or None.
    nodes
        All nodes, breadth-first.
    notes
        Missing, malformed and noteworthy parts, one sentence each.
    recovered
        What is missing, if `recover` made the file of a damaged one, one sentence each.
    """

    path: str
    address: str
    kind: str
    name: str
    ome_version: str | None
    zarr_format: int | None
    entries: int
    bytes: int
    decoded_bytes: int
    container: Container
    images: tuple[ImageSummary, ...]
    image_count: int
    labels: tuple[ImageSummary, ...]
    arrays: tuple[LevelSummary, ...]
    plate: PlateSummary | None
    scene: Scene | None
    collection: Collection | None
    nodes: tuple[NodeSummary, ...]
    notes: tuple[str, ...]
    recovered: tuple[str, ...] = ()


@public_call()
def inspect(path: str | os.PathLike[str], node: str = "") -> Inspection:
    """Return a description of an ``.ozx`` file, another ZIP file or a directory, or of a node in one of these.

    If the archive comment promises ``jsonFirst``, only the end records and the leading ``zarr.json`` are read: the time
    does not depend on the number of entries. Malformed metadata is described as far as possible, with notes.

    Parameters
    ----------
    path
        A path, a URL, or a node such as ``cells.ozx/labels/cells``. For a node, all paths are relative
        to the node, and the numbers of entries and bytes are those below the node.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.

    Raises
    ------
    UsageError
        There is no such node.
    FormatError
        `path` is no ZIP file, a broken ZIP file, or a directory without metadata at its root.
    UnsupportedError
        It is one part of a split archive (``rfc9/not-split``).
    ResourceError
        It does not exist or cannot be read.

    Examples
    --------
    >>> import os, tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "labels.ozx")
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         attributes = '{"ome": {"version": "0.5", "labels": []}}'
    ...         group = f'{{"zarr_format": 3, "node_type": "group", "attributes": {attributes}}}'
    ...         archive.writestr("zarr.json", group)
    ...     inspection = inspect(path)
    >>> inspection.name, inspection.kind, inspection.ome_version
    ('labels', 'labels', '0.5')
    """
    place = Place.parse(path, node)
    name, view = place.name, open_view(place)
    if isinstance(view, DirectoryView):
        _check_root(view)
    notes: list[str] = []
    nodes, entries, size = _collect(view)
    for found in nodes.values():
        notes += [f"{found.path or 'the root'}: {problem}" for problem in found.problems]
    paths = list(image_paths(nodes))
    images = _describe(nodes, paths, notes)
    labels = dict.fromkeys(label for image in images for label in label_paths(nodes, image.path))
    root = nodes.get("")
    ome = None if root is None else root.ome
    collection = None if ome is None else ome.collection
    plate = _summarise_plate(nodes)
    arrays = [] if images else [node for node in nodes.values() if node.array is not None]
    return Inspection(
        path=name,
        address=place.address(2 if root is not None and root.zarr_format == 2 else 3),
        kind="other" if ome is None else ome.kind,
        name=_name(view.node or view.name, images, plate or collection),
        ome_version=_version(nodes),
        zarr_format=None if root is None else root.zarr_format,
        entries=entries,
        bytes=size,
        decoded_bytes=sum(node.array.decoded_bytes or 0 for node in nodes.values() if node.array is not None),
        container=_describe_container(view),
        images=tuple(images),
        image_count=sum(max(1, len(ome_at(nodes, path).multiscales)) for path in paths),
        labels=tuple(_describe(nodes, labels, notes)),
        arrays=tuple(describe_level(node.path, node.array) for node in islice(arrays, MOST_IMAGES)),
        plate=plate,
        scene=None if ome is None else ome.scene,
        collection=collection,
        nodes=tuple(
            NodeSummary(node.path, node.node_type, node.extensions, node.conventions) for node in nodes.values()
        ),
        notes=tuple(dict.fromkeys([*_remark(view, nodes), *notes])),
        recovered=_recovered(view, root),
    )


def _check_root(view: DirectoryView) -> None:
    """Raise an error if the folder contains no Zarr hierarchy; this saves listing all files below the folder."""
    if any(view.find(name) for name in ("zarr.json", ".zgroup", ".zarray", ".zattrs")):
        return
    inside = [os.path.join(view.path, name) for name in view.names() if name.endswith((".zarr", ".ozx"))][:3]
    found = None if inside else describe_folder(view.path)
    what = "the directory has neither zarr.json nor .zgroup nor .zarray" if found is None else f"it is {found[0]}"
    raise FormatError(
        f"expected an OME-Zarr hierarchy; {what}",
        path=view.path,
        rule="rfc9/root",
        hint=f"Did you mean one of the items in the directory: {', '.join(inside)}?" if inside else found and found[1],
    )


def _collect(view: ArchiveView | DirectoryView) -> tuple[dict[str, Node], int, int]:
    """Return the nodes, the number of entries, and the total size of the entries in bytes."""
    collector = NodeCollector()
    entries = size = 0
    is_whole_archive = isinstance(view, ArchiveView) and not view.node
    for item in view.iter_items(metadata_only=is_whole_archive):
        entries, size = entries + 1, size + item.size
        if is_any_metadata_key(item.key):
            try:
                collector.add(item.key, view.read_document(item))
            except (FormatError, UnsupportedError) as error:
                collector.add_problem(item.key, error.message)
    if isinstance(view, ArchiveView) and is_whole_archive:
        entries = sum(1 for _ in view.iter_items()) if view.end.may_wrap else view.end.entries
        size = view.source.size()
    return collector.nodes(), entries, size


def _recovered(view: ArchiveView | DirectoryView, root: Node | None) -> tuple[str, ...]:
    """Return what is missing at and below the viewed node if the file was recovered; its root says so."""
    if not view.node:
        return () if root is None else root.recovered
    if not isinstance(view, ArchiveView) or view.top is None:
        return ()
    try:
        document = parse_document(view.read_document(view.top), view.top.key)
    except (FormatError, UnsupportedError):
        return ()
    return tuple(map(describe_loss, losses_below(losses_of(as_object(document.get("attributes"))), view.node)))


def _describe(nodes: Mapping[str, Node], paths: Iterable[str], notes: list[str]) -> list[ImageSummary]:
    # Stop after the last image to describe, because further notes would be about images that the result lacks.
    images: list[ImageSummary] = []
    for path in paths:
        if len(images) >= MOST_IMAGES:
            break
        images += describe_images(nodes, path, notes)
    return images[:MOST_IMAGES]


def _summarise_plate(nodes: Mapping[str, Node]) -> PlateSummary | None:
    plate = ome_at(nodes, "").plate
    return None if plate is None else PlateSummary(plate.name, plate.rows, plate.columns, plate_wells(nodes))


def _describe_container(view: ArchiveView | DirectoryView) -> Container:
    if isinstance(view, DirectoryView):
        return Container("directory")
    comment = view.end.comment.decode("utf-8", "replace")
    return Container("zip", view.end.has_zip64_end, comment, view.comment.json_first)


def _name(path: str, images: list[ImageSummary], whole: PlateSummary | Collection | None) -> str:
    given = whole.name if whole is not None else images[0].name if len(images) == 1 else None
    if given is not None:
        return given
    name = os.path.basename(os.path.abspath(path))
    ending = next((ending for ending in _ENDINGS if name.lower().endswith(ending) and name.lower() != ending), "")
    return name[: len(name) - len(ending)]


def _version(nodes: Mapping[str, Node]) -> str | None:
    """Return the OME-Zarr version of the root.

    For a Zarr v2 series whose root has no version, return the first version of a lower node.
    """
    root = nodes.get("")
    if root is None or root.ome is None:
        return None
    if root.ome.version is not None or root.zarr_format == 3:
        return root.ome.version
    versions = (node.ome.version for node in nodes.values() if node.ome is not None)
    return next((version for version in versions if version is not None), None)


def _remark(view: ArchiveView | DirectoryView, nodes: Mapping[str, Node]) -> list[str]:
    """Return remarks on the whole hierarchy, to show before the details."""
    root, notes = nodes.get(""), list(view.notes) if isinstance(view, DirectoryView) else []
    if root is None:
        where = next((path for path, node in nodes.items() if node.node_type is not None), None)
        found = "no Zarr metadata at all" if where is None else f"the first node is {where}/, one folder too deep"
        if where is None and isinstance(view, ArchiveView):
            names = (item.key for item in view.iter_items())
            found = ". ".join(describe_names(names, view.name, is_folder=False) or (found,))
        notes.append(f"no hierarchy: there is no zarr.json at the root of the archive; {found}")
    elif view.node or root.node_type is None:
        # A node of an OME-Zarr hierarchy may be an array, or a group without ome metadata; if the root cannot be read,
        # the note on its document says why.
        pass
    elif root.array is not None:
        notes.append("not OME-Zarr: the root is a Zarr array, not a group with ome metadata")
    elif root.ome is None:
        notes.append("not OME-Zarr: the root is a Zarr group without ome metadata")
    else:
        notes += _remark_on_version(root.ome.version, is_v3=root.zarr_format == 3)
    if isinstance(view, ArchiveView) and view.comment.unknown:
        keys = ", ".join(view.comment.unknown[:5])
        notes.append(f"the archive comment has keys that ozx does not understand: {keys}")
    if isinstance(view, ArchiveView) and root is not None and root.zarr_format == 2:
        # RFC-9 (R2, 2026-04-20) builds on Zarr v3: the root zarr.json is a MUST.
        notes.append("Zarr v2 (OME-Zarr 0.4) in a ZIP file is not RFC-9: ozx repack converts it to OME-Zarr 0.5")
    is_v3 = root is not None and root.zarr_format == 3
    if isinstance(view, ArchiveView) and is_v3 and view.comment.json_first and not view.is_metadata_first:
        notes.append("the comment declares jsonFirst, but a zarr.json comes after an entry that is not a zarr.json")
    return notes


def _remark_on_version(version: str | None, *, is_v3: bool) -> list[str]:
    if version is None:
        return ["the root does not state its OME-Zarr version (ome.version)"] if is_v3 else []
    draft = describe_draft(version)
    if draft is not None:
        return [f"OME-Zarr {version} is {draft}"]
    return [] if is_known(version, is_v3=is_v3) else [f"OME-Zarr {version} is unknown: its metadata was not checked"]

"""labels: add label images (segmentations) to an image, and remove them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ozx.calls import JsonResult, public_call
from ozx.errors import OzxError, UnsupportedError, UsageError
from ozx.flow.entry import BytesPart, Entry, open_spool
from ozx.flow.sinks.target import swept_notes
from ozx.ome.colors import parse_label_colors
from ozx.ome.conversion_05_06 import VERSIONS
from ozx.ome.images import LABELS, image_paths, label_paths
from ozx.places.place import Place
from ozx.progress import NO_PROGRESS, Progress, begin_phase
from ozx.zarr.keys import join_path

if TYPE_CHECKING:
    from ozx.images.image import GroupNodes, Image
    from ozx.images.pixel_source import ArrayLike
    from ozx.images.writing.new_image import NewHierarchy

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class LabelsResult(JsonResult):
    """The label image that was added or removed.

    Attributes
    ----------
    path
        The file or directory.
    label
        Path of the label image in it, such as ``labels/cells``.
    values
        Number of label values other than 0; None if there are more than 10,000, or if the label image was removed.
    notes
        Remarks, one sentence each.
    """

    path: str
    label: str
    values: int | None = None
    notes: tuple[str, ...] = ()


@public_call()
def add_labels(
    path: str | os.PathLike[str],
    name: str,
    mask: str | os.PathLike[str] | ArrayLike,
    *,
    node: str = "",
    axes: str | None = None,
    colors: str | Mapping[int, str] | None = None,
    force: bool = False,
    sync: bool = True,
    progress: Progress | None = None,
) -> LabelsResult:
    """Add a mask, or any segmentation, to an image as a label image with the levels of the image.

    The image is not decoded, and stays as it is. Lower levels have the nearest pixel of the full resolution. The old
    file stays until the new one is complete; in a directory, only the label image and its list are written.

    Parameters
    ----------
    path
        An ``.ozx`` file or a directory with OME-Zarr 0.5 or 0.6, or a node in a file.
    name
        Name of the label image.
    mask
        Integers, or booleans: an array; or a TIFF file, a file of NumPy (``.npy``) or an OME-Zarr image, which are read
        in blocks. Its shape is that of the image's full resolution without channels. The axes t and z may be missing or
        have the length 1: the mask then applies to all their positions.
    node
        Path of the image in the file, such as ``A/1/0``. Needed only if there are several images.
    axes
        Names of the dimensions of the mask, such as ``tyx``; by default its own, or as its shape fits the image.
    colors
        The colours by label value, ``{1: "FF0000", 2: "green"}``, or one colour for all labels. By default, each label
        gets a colour unlike those of nearby values.
    force
        Whether an existing label image of this name may be replaced.
    sync
        Whether to wait until the file is on the disk.
    progress
        Receives the number of bytes of pixels read.

    Returns
    -------
    LabelsResult
        The added label image.

    Raises
    ------
    UsageError
        The label image exists, the mask has no integers or another size, the file has several images and `node` is
        missing, or `path` is a URL.
    FormatError
        A file is damaged, or changed while it was read.
    UnsupportedError
        The hierarchy is OME-Zarr 0.4 (Zarr v2).
    ResourceError
        Reading or writing failed. After any error, the file is as it was before.

    Examples
    --------
    >>> import numpy as np
    >>> pixels = np.random.default_rng(0).integers(0, 4000, (2, 600, 800), dtype="uint16")
    >>> import ozx
    >>> image = ozx.write_image("image.ozx", pixels, axes="cyx", force=True)
    >>> ozx.add_labels("image.ozx", "bright", pixels[0] > 3000).label
    'labels/bright'
    >>> [label.levels[1].shape for label in ozx.inspect("image.ozx").labels]
    [(300, 400)]
    """
    # These modules load zarr, which takes half a second.
    from ozx.images.writing.label_image import check_label_name, color_labels, new_label_image  # noqa: PLC0415
    from ozx.images.writing.new_image import NewHierarchy  # noqa: PLC0415
    from ozx.readers.masks import opened_mask  # noqa: PLC0415
    from ozx.store.label_groups import add_label  # noqa: PLC0415

    check_label_name(name)
    known = parse_label_colors(colors)
    with _opened_image(path, node) as (place, nodes, view):
        version = _writable_version(nodes, place.node)
        group = join_path(place.node, LABELS)
        label = join_path(group, name)
        is_there = label in label_paths(nodes, place.node) or nodes.find(label) is not None
        if is_there and not force:
            raise UsageError(
                f"the image has labels {name!r} already",
                path=place.path,
                hint="Choose another name, or give force=True to replace them.",
            )
        with _naming_mask(mask), opened_mask(mask, axes) as (pixels, own_axes):
            image, marked, notes = new_label_image(name, view, pixels, own_axes)
            hierarchy = NewHierarchy({label: image}, version=version)
            entries = _encode(
                hierarchy,
                label,
                progress or NO_PROGRESS,
                lambda: notes.extend(color_labels(image, marked.values(), known)),
            )
    notes += swept_notes(add_label(place, name, entries, version=version, replace=force, sync=sync))
    found = marked.values()
    return LabelsResult(place.path, label, None if found is None else len(found), tuple(notes))


@public_call()
def remove_labels(path: str | os.PathLike[str], name: str, *, node: str = "", sync: bool = True) -> LabelsResult:
    """Remove a label image from an image.

    A file is written anew without it, so that its bytes are free again; the image is not decoded.

    Parameters
    ----------
    path, node
        As for `add_labels`.
    name
        Name of the label image.
    sync
        Whether to wait until the file is on the disk.

    Returns
    -------
    LabelsResult
        The removed label image.

    Raises
    ------
    UsageError
        There is no such label image, or several images and no `node`; or `path` is a URL.
    FormatError, UnsupportedError, ResourceError
        As for `add_labels`.

    Examples
    --------
    >>> import numpy as np, ozx
    >>> image = ozx.write_image("image.ozx", np.eye(64), labels={"line": np.eye(64, dtype="uint8")}, force=True)
    >>> ozx.remove_labels("image.ozx", "line").label
    'labels/line'
    >>> ozx.inspect("image.ozx").labels
    ()
    """
    from ozx.store.label_groups import remove_label  # noqa: PLC0415 (zarr)

    with _opened_image(path, node) as (place, nodes, _):
        _writable_version(nodes, place.node)
        label, there = join_path(place.node, f"{LABELS}/{name}"), label_paths(nodes, place.node)
        if label not in there:
            names = [other.rpartition("/")[2] for other in there]
            hint = f"Its labels are {', '.join(names)}." if names else "It has no labels."
            raise UsageError(f"the image has no labels {name!r}", path=place.path, hint=hint)
    return LabelsResult(place.path, label, notes=swept_notes(remove_label(place, name, sync=sync)))


@contextmanager
def _opened_image(path: str | os.PathLike[str], node: str) -> Iterator[tuple[Place, GroupNodes, Image]]:
    """Yield the place of an image, the nodes of its file or directory, and the image."""
    from ozx.images.image import GroupNodes  # noqa: PLC0415 (zarr)
    from ozx.store.opening import opened_hierarchy  # noqa: PLC0415 (zarr)

    given = Place.parse(path)
    file = Place.output(given.path).path  # refuses a URL
    try:
        with opened_hierarchy(Place(file)) as group:
            nodes = GroupNodes(group)
            place = Place(file, join_path(given.node, str(node).strip("/")) or _only_image(nodes))
            if nodes.find(place.node) is None:
                raise UsageError(f"there is no node {place.node!r}", hint="ozx info lists the images.")
            view = nodes.image(place.node)
            if view.is_label:
                raise UsageError(f"expected an image; {place.node or 'the root'} is a label image")
            yield place, nodes, view
    except OzxError as error:
        raise error.at(file) from None


@contextmanager
def _naming_mask(mask: object) -> Iterator[None]:
    """Name the mask, not the file of the image, in errors about the mask."""
    try:
        yield
    except OzxError as error:
        raise error.at(Place.parse(mask).name if isinstance(mask, str | os.PathLike) else "the mask") from None


def _only_image(nodes: GroupNodes) -> str:
    """Return the path of the only image of a file."""
    images = list(islice(image_paths(nodes), _SHOWN + 1))
    if len(images) > 1:
        shown = ", ".join(images[:_SHOWN]) + (", …" if len(images) > _SHOWN else "")
        raise UsageError(f"the file has several images: {shown}", hint=f'Name one, as in node="{images[0]}".')
    return next(iter(images), "")


def _writable_version(nodes: GroupNodes, path: str) -> str:
    """Return the OME-Zarr version of an image to which label images can be added."""
    ome = nodes[path].ome
    version = None if ome is None else ome.version
    if version not in VERSIONS:
        raise UnsupportedError(
            f"expected OME-Zarr {' or '.join(VERSIONS)}; found {version or 'no version'}",
            hint="ozx repack writes 0.4 as a new file with 0.5.",
        )
    return version


def _encode(hierarchy: NewHierarchy, label: str, progress: Progress, finish: Callable[[], None]) -> list[Entry]:
    """Return the documents and chunks of a label image, with keys relative to it; `finish` completes the metadata."""
    from ozx.images.writing.hierarchy_writing import block_workers, count_bytes, plan_hierarchy  # noqa: PLC0415 (zarr)

    keep, prefix = open_spool(), f"{label}/"
    progress = begin_phase(progress, label, count_bytes(hierarchy))
    plan = plan_hierarchy(hierarchy, progress=progress)
    with block_workers() as workers:
        values = [
            Entry(entry.key.removeprefix(prefix), (keep(b"".join(entry.iter_blocks())),))
            for entry in plan.data(workers)
        ]
    finish()
    documents = (key for key in plan.metadata if key.startswith(prefix))
    progress.stop()
    return [*(Entry(key.removeprefix(prefix), (BytesPart(plan.metadata[key]),)) for key in documents), *values]

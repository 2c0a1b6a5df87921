"""Open the images of a hierarchy, and read their pixels: `ozx.open_image` and `ozx.read`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import zarr

from ozx.calls import public_call
from ozx.errors import OzxError, UsageError
from ozx.flow.sources.browsing import similar_nodes
from ozx.images.image import GroupNodes, Image
from ozx.images.plate_picture import opened_plate
from ozx.images.selection import Bounds
from ozx.ome.images import image_paths
from ozx.ome.recovered import describe_loss
from ozx.ome.subset.region import ChannelsLike
from ozx.places.place import Place
from ozx.store.opening import open_hierarchy, open_in_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN = 5  # images named in a message

#: What can be opened: a path, a URL, or an open binary file.
ImageFile = str | os.PathLike[str] | BinaryIO


@public_call()
def open_image(path: ImageFile, node: str = "", *, options: Mapping[str, Any] | None = None) -> Image:
    """Return an image, label image or plate, with its metadata; pixels are read when they are asked for.

    Parameters
    ----------
    path
        An .ozx file, a directory with OME-Zarr (0.4, 0.5 or 0.6), the URL of one of them (extra ``remote``), or an open
        binary file or `io.BytesIO` with the bytes of an .ozx file. A node in the file may follow:
        ``plate.ozx/A/1/0``.
    node
        The path of the image in the file, such as ``labels/cells`` or ``A/1/0``, counted from the node in `path`.
    options
        For URLs: settings of the object store, as keyword arguments of obstore.

    Returns
    -------
    Image
        Of a plate, one image of all wells side by side, with the images of the fields in `Image.fields`. Of a well or a
        series with one image, this image.

    Raises
    ------
    UsageError
        There is no such node, it is an array, or it has several images.
    FormatError
        It is no archive, is damaged, or the node is no image.
    UnsupportedError
        A feature that ozx does not support is needed.
    ResourceError
        The file is missing (also a `FileNotFoundError`) or cannot be read.

    Examples
    --------
    >>> import ozx
    >>> with ozx.open_image("cells.ozx") as image:
    ...     image.shape, image.read(channels="Nuclei").max().item()
    ((2, 256, 256), 2617)
    >>> ozx.open_image("cells.ozx/labels/cells")
    <ozx.Image 'cells': y=256, x=256, uint16, 3 levels>
    """
    place = Place.parse(path) if isinstance(path, str | os.PathLike) else None
    given = None if place is None else place.name
    if not isinstance(node, str):
        raise UsageError(f"expected the path of an image in the file as a text; got {node!r}", path=given)
    root = open_hierarchy(place, options=options) if place is not None else open_in_file(cast("BinaryIO", path))
    try:
        return _image(_entered(root, node.strip("/")))
    except OzxError as error:
        root.store.close()
        raise error if given is None else error.at(given) from None


@public_call()
def read(
    path: ImageFile,
    node: str = "",
    *,
    channels: ChannelsLike | None = None,
    z: Bounds | None = None,
    t: Bounds | None = None,
    region: Mapping[str, Bounds] | str | None = None,
    unit: str | None = None,
    level: int | None = None,
    pixel_size: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> NDArray[Any]:
    """Return pixels of an image as a NumPy array, with the dimensions in the order of the image's axes.

    Parameters
    ----------
    path, node, options
        The image, as for `open_image`.
    channels, z, t, region, unit, level, pixel_size
        The part to read, as for `Image.read`; without them, all of the full resolution.

    Raises
    ------
    UsageError
        There is no such image, channel, axis, level or pixel.
    FormatError, UnsupportedError, ResourceError
        As for `open_image`, and a chunk cannot be decoded or read.

    Examples
    --------
    >>> import ozx
    >>> ozx.read("cells.ozx").shape
    (2, 256, 256)
    >>> ozx.read("cells.ozx", "labels/cells", region={"y": (10, 20), "x": (10, 20)}, unit="um").shape
    (31, 31)
    """
    with open_image(path, node, options=options) as image:
        try:
            return image.read(channels=channels, z=z, t=t, region=region, unit=unit, level=level, pixel_size=pixel_size)
        except OzxError as error:
            raise error.at(Place.parse(path).name) if isinstance(path, str | os.PathLike) else error from None


def _entered(root: zarr.Group, node: str) -> zarr.Group:
    """Return the group at a node; raise `UsageError` if there is none."""
    nodes = GroupNodes(root)
    found = nodes.find(node)
    if found is None:
        raise UsageError(f"it has no node {node!r}", hint=similar_nodes(node, set(nodes)))
    if isinstance(found, zarr.Array):
        image = node.rpartition("/")[0]
        way = f"Give the node of its image, {image!r}" if image else "Leave out the node for the image"
        raise UsageError(
            f"expected an image; {node} is an array", hint=f"{way}, or open it with ozx.open_array(path, {node!r})."
        )
    return found


def _image(group: zarr.Group) -> Image:
    nodes = GroupNodes(group)
    ome = nodes[""].ome
    if ome is not None and ome.plate is not None:
        fields = opened_plate(nodes, ome.plate)
        notes = (*fields.notes, *map(describe_loss, nodes.losses))
        return replace(fields.image(), path="", name=ome.plate.name, plate=ome.plate, notes=notes)
    paths = list(image_paths(nodes))
    if len(paths) > 1:
        listed = ", ".join(paths[:_SHOWN]) + (", …" if len(paths) > _SHOWN else "")
        raise UsageError(
            f"expected one image; {group.path or 'the file'} has {len(paths):,} ({listed})",
            hint=f"Choose one, as in ozx.open_image(path, {f'{group.path}/{paths[0]}'.lstrip('/')!r}).",
        )
    return nodes.image(*paths)

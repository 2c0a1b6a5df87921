"""Open .ozx files in xarray: ``xr.open_dataset("cells.ozx")`` and ``xr.open_datatree("cells.ozx")``.

Axes become dimensions with coordinates in the image's units; pixels are read when used. CF decoding does not apply: a
fill value is a pixel value, not a mask, and integers stay integers. xarray passes its options of CF decoding only to
engines whose functions declare them by name.
"""

# ruff: noqa: ARG002 (the options of CF decoding are accepted, but have no effect)
from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import xarray as xr
import zarr
from xarray.backends import BackendEntrypoint

from ozx.errors import FormatError, UsageError
from ozx.images.image import GroupNodes, Image
from ozx.ome.images import image_paths
from ozx.places.place import Place
from ozx.store.opening import open_group
from ozx.zarr.keys import join_path

_SHOWN = 3  # images named in a message


class OzxBackend(BackendEntrypoint):
    """The engine ``ozx`` of `xarray.open_dataset`, `xarray.open_datatree` and `xarray.open_groups`.

    Examples
    --------
    >>> import xarray
    >>> dataset = xarray.open_dataset("cells.ozx")
    >>> dataset["image"].dims, str(dataset["image"].dtype), dataset["x"].attrs["units"]
    (('c', 'y', 'x'), 'uint16', 'micrometer')
    >>> dataset["image"].sel(c="Nuclei").sel(y=10, x=20, method="nearest").item()
    92
    """

    description = "Open OME-Zarr images in .ozx files"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether the argument is a path or URL that ends in ``.ozx``, or a node in such a file.

        Parameters
        ----------
        filename_or_obj
            The argument of xarray's function.
        """
        if not isinstance(filename_or_obj, str | os.PathLike):
            return False
        text = os.fspath(filename_or_obj).lower()
        try:
            path = urlsplit(text).path if "://" in text else text
        except ValueError:  # http://[
            return False
        return text.startswith("ozx://") or path.endswith(".ozx") or ".ozx|zip:" in text

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        mask_and_scale: object = None,
        decode_times: object = None,
        decode_timedelta: object = None,
        use_cftime: object = None,
        concat_characters: object = None,
        decode_coords: object = None,
        group: str = "",
        image: int | str | None = None,
        level: int = 0,
        options: dict[str, Any] | None = None,
    ) -> xr.Dataset:
        """Return one level of one image as a dataset.

        Parameters
        ----------
        filename_or_obj
            Path or URL of the file, or of a node in it (``cells.ozx/labels/cells``).
        drop_variables
            Variables to leave out.
        mask_and_scale, decode_times, decode_timedelta, use_cftime, concat_characters, decode_coords
            Options of CF decoding, which xarray passes. They change nothing, because an image has nothing to decode.
        group
            Path of an image, a label image, or a group that leads to images.
        image
            One of several images: its number in the list of ``ozx info``, its path or its name.
        level
            Resolution level; 0 is the full one.
        options
            Passed to `ozx.open`, for remote files.

        Returns
        -------
        Dataset
            One variable, called ``image``; the variable of a label image has the name of its group, or ``labels``. Its
            `encoding` has the inner chunks as ``preferred_chunks``. Axes with scale and translation have coordinates
            with ``units`` in their attributes; those of the channel axis are the names of the channels.

        Raises
        ------
        UsageError
            There are several images and no choice, or there is no such image or level.
        FormatError, UnsupportedError
            The file is not an archive, or the group is missing or not an image.
        ResourceError
            The file is missing or cannot be read.
        """
        root = open_group(filename_or_obj, options=options)
        name = Place(os.fspath(filename_or_obj)).name
        parent = _enter(root, group, name)
        view = _choose(parent, image, name)
        if not 0 <= level < len(view.levels):
            raise UsageError(f"expected a level from 0 to {len(view.levels) - 1}, got {level}", path=name)
        return _make_dataset(view, level, parent, drop_variables)

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        mask_and_scale: object = None,
        decode_times: object = None,
        decode_timedelta: object = None,
        use_cftime: object = None,
        concat_characters: object = None,
        decode_coords: object = None,
        group: str = "",
        options: dict[str, Any] | None = None,
    ) -> dict[str, xr.Dataset]:
        """Return a dataset for every level of every image and label image, by the level's path below `group`.

        Parameters
        ----------
        filename_or_obj, drop_variables, mask_and_scale, decode_times, decode_timedelta, use_cftime
        concat_characters, decode_coords, group, options
            As for `open_dataset`.

        Raises
        ------
        FormatError, UnsupportedError
            The file is not an archive, the group is missing, or an image is malformed.
        UsageError
            The file has no such node.
        ResourceError
            The file is missing or cannot be read.
        """
        root = open_group(filename_or_obj, options=options)
        parent = _enter(root, group, Place(os.fspath(filename_or_obj)).name)
        found = {"/": xr.Dataset()}
        found["/"].set_close(root.store.close)
        nodes = GroupNodes(parent)
        for image in nodes.images():
            for view in (image, *image.labels.values()):
                for number, level in enumerate(view.levels):
                    found[f"/{level.path}"] = _make_dataset(view, number, parent, drop_variables)
        return found

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> xr.DataTree:
        """Return a tree with a dataset for every level of every image and label image, at the level's path.

        Arguments and errors are those of `open_groups_as_dict`.

        Examples
        --------
        >>> tree = xr.open_datatree("cells.ozx")
        >>> tree["labels/cells/1"]["cells"].shape
        (128, 128)
        """
        groups = self.open_groups_as_dict(filename_or_obj, **options)
        tree = xr.DataTree.from_dict(groups)
        tree.set_close(groups["/"].close)
        return tree


def _enter(root: zarr.Group, group: str, name: str) -> zarr.Group:
    path = group.strip("/")
    found = GroupNodes(root).find(path)
    if isinstance(found, zarr.Group):
        return found
    what = "nothing" if found is None else "an array; open its group, and select the array by its level number (level=)"
    raise FormatError(
        f"{path}: expected a group, found {what}", path=name, hint="List the images and label images with ozx info."
    )


def _choose(group: zarr.Group, image: int | str | None, name: str) -> Image:
    """Return the selected image; raise an error if there are several images and no selection."""
    nodes = GroupNodes(group)
    paths = list(image_paths(nodes))
    if image is None and (len(paths) == 1 or not paths):
        return nodes.image(*paths)
    if isinstance(image, int) and image >= 0:
        found = list(islice(nodes.images(), image, image + 1))
    else:
        found = [view for view in nodes.images() if image is not None and image in (view.path, view.name)]
    if found:
        return found[0]
    paths = [join_path(group.path, path) for path in paths]  # in the form of group=
    listed = ", ".join(repr(path) for path in paths[:_SHOWN]) + (", …" if len(paths) > _SHOWN else "")
    asked = "none was chosen" if image is None else f"there is no {image!r}"
    raise UsageError(
        f"expected one image to open; {asked}, and there are {len(paths):,} images ({listed})",
        path=name,
        hint=f"Choose an image with group={paths[0]!r} or image=0, or open all with xarray.open_datatree."
        if paths
        else "List the images with ozx info.",
    )


def _make_dataset(
    image: Image, level: int, parent: zarr.Group, drop_variables: str | Iterable[str] | None
) -> xr.Dataset:
    pixels = image.to_xarray(level=level)
    dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
    variables = {} if pixels.name in dropped else {pixels.name: pixels.variable}
    dataset = xr.Dataset(variables, {name: found for name, found in pixels.coords.items() if name not in dropped})
    dataset.set_close(parent.store.close)
    return dataset

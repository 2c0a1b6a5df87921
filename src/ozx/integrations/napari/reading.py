"""Read .ozx files as napari layers: one layer per channel and label image, with pixels read when shown."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import zarr

import ozx
from ozx.errors import FormatError, OzxError, OzxWarning, ResourceError
from ozx.extras import install_hint
from ozx.images.image import GroupNodes, Image
from ozx.images.plate_picture import OpenedPlate, opened_plate
from ozx.images.writing.array_image import image_title
from ozx.ome.colors import LabelDisplay, ShownChannel
from ozx.ome.model import Plate, Scene, unapplied_note
from ozx.ome.placing import ImagePlace, Matrix, place_image, place_scene
from ozx.ome.units import ALL_UNITS
from ozx.places.place import Place

#: The data of a layer, the arguments of its constructor, and its type.
LayerData = tuple[Any, dict[str, Any], str]

# napari's default colours for one, two, or more channels.
_COLORS = (("gray",), ("magenta", "green"), ("cyan", "yellow", "magenta", "red", "green", "blue"))
# Each channel becomes a layer up to this number; a list of hundreds is useless.
_MOST_CHANNELS = 64
_NO_COLOR = (0.5, 0.5, 0.5, 1.0)  # of label values without a colour, if others have one
_URI = "ozx://"


def get_reader(path: str | Sequence[str]) -> Callable[[str | Sequence[str]], list[LayerData]] | None:
    """Return `read_layers`, or None for a path that is neither an .ozx file nor an OME-Zarr zip file.

    Any file whose name ends in .ozx is accepted, so that the user sees an error for a wrong file. A .zip file is
    accepted only if its contents look like an OME-Zarr.

    Parameters
    ----------
    path
        A file or a URI, or several of them.

    Examples
    --------
    >>> get_reader("cells.tif") is None, get_reader("cells.ozx") is read_layers
    (True, True)
    """
    paths = [path] if isinstance(path, str) else list(path)
    return read_layers if paths and all(_is_ours(item) for item in paths) else None


def read_layers(path: str | Sequence[str]) -> list[LayerData]:
    """Return one layer per channel and label image of .ozx files; pixels are read when shown.

    Data is a dask array, or a list of them, full resolution first. All wells of a plate make one picture; if wells have
    several fields, the first dimension counts them. In a series, only the first image is set to visible.

    Parameters
    ----------
    path
        A file, or the URI of an image in one (``ozx:///abs/x.ozx/A/1/0``), or several of them.

    Returns
    -------
    list
        For each layer its data, the arguments of napari's constructor, and its type, ``image`` or ``labels``.

    Raises
    ------
    FormatError
        It is not an OME-Zarr zip file, is damaged, or has no image.
    UnsupportedError
        It uses a feature that ozx does not support.
    ResourceError
        It cannot be read, or dask is not installed.

    Examples
    --------
    >>> layers = read_layers("cells.ozx")
    >>> [(kind, meta["name"]) for data, meta, kind in layers]
    [('image', 'Nuclei'), ('image', 'Cytoplasm'), ('labels', 'cells')]
    """
    layers: list[LayerData] = []
    for item in [path] if isinstance(path, str) else path:
        name = Place(item).name
        try:
            layers += _read(ozx.open(item), name)
        except OzxError as error:
            raise with_way_out(error, name) from None
        except OSError as error:
            raise ResourceError(f"cannot be read: {error.strerror or error}", path=name) from None
    return layers


def with_way_out(error: OzxError, path: str) -> OzxError:
    """Return an error whose message names the file and ends with the hint, because napari shows only the message."""
    message = error.message if error.hint is None else f"{error.message}. {error.hint}"
    return type(error)(message, path=error.path or path, rule=error.rule, hint=error.hint)


@dataclass(frozen=True)
class _LayerPicture:
    """The source of the layers of one image, or of a whole plate."""

    file: str
    view: Image
    place: ImagePlace = field(default_factory=ImagePlace)


def _is_ours(path: str) -> bool:
    name = os.fspath(path)
    if name.lower().endswith(".ozx") or name.startswith(_URI):
        return True
    try:
        return name.lower().endswith(".zip") and ozx.is_ozx(name)
    except OSError:
        return False


def _read(group: zarr.Group, name: str) -> list[LayerData]:
    nodes = GroupNodes(group)
    root = nodes[""].ome
    if root is not None and root.plate is not None:
        return _read_plate(nodes, root.plate, name)
    views = list(nodes.images())
    placed = _place_images(None if root is None else root.scene, views)
    images = [
        (view.name or view.path or image_title(None, name.rstrip("/")), _read_image(view, place, name))
        for view, place in zip(views, placed, strict=True)
    ]
    if not images:
        raise FormatError("expected OME-Zarr images, found none", hint="Show the contents with ozx info.")
    if len(images) == 1:
        return images[0][1]
    return [
        (data, {**meta, "name": _under(title, meta["name"]), "visible": meta["visible"] and number == 0}, kind)
        for number, (title, layers) in enumerate(images)
        for data, meta, kind in layers
    ]


def _place_images(scene: Scene | None, views: Sequence[Image]) -> list[ImagePlace]:
    """Return the position of each image in the scene; for an image outside of the scene, see `place_image`."""
    places = {} if scene is None else place_scene(scene, {view.path: view.multiscale for view in views})
    return [places.get(view.path) or place_image(view.multiscale) for view in views]


def _read_image(view: Image, place: ImagePlace, name: str) -> list[LayerData]:
    for phrase in place.unapplied:
        warnings.warn(f"{name}: {unapplied_note(view.path, phrase)}", OzxWarning, stacklevel=2)
    picture = _picture(view, name, place)
    title = view.name or view.path or image_title(None, name.rstrip("/"))
    layers = list(_label_layers(picture, title) if view.is_label else _image_layers(picture, title))
    for label_name, shown in view.labels.items():
        label = _picture(shown, name, _place_of_label(place, view, shown))
        layers += _label_layers(label, label_name, picture)
    return layers


def _place_of_label(place: ImagePlace, image: Image, label: Image) -> ImagePlace:
    """Compute the position of a label image from the position of its image, which may have more axes."""
    names = [axis.name for axis in image.axes]
    axes = [names.index(axis.name) for axis in label.axes if axis.name in names]
    matrix, count = place.matrix, len(names)
    is_part = matrix is not None and matrix.shape == (count, count + 1) and len(axes) == len(label.axes)
    if matrix is None or not is_part or not _keeps_apart(matrix, axes):
        return place
    return replace(place, matrix=matrix[np.ix_(axes, [*axes, count])])


def _picture(view: Image, name: str, place: ImagePlace) -> _LayerPicture:
    for note in view.notes:
        warnings.warn(f"{name}: {note}", OzxWarning, stacklevel=2)
    return _LayerPicture(name, view, place)


def _read_plate(nodes: GroupNodes, plate: Plate, name: str) -> list[LayerData]:
    fields = opened_plate(nodes, plate)
    for note in fields.notes:
        warnings.warn(f"{name}: {note}", OzxWarning, stacklevel=2)
    title = plate.name or image_title(None, name.rstrip("/"))
    layers = [*_image_layers(_plate_picture(fields, name), title)]
    for labels in fields.labels():
        layers += _label_layers(_plate_picture(labels, name), labels.part.rpartition("labels/")[2])
    return [(data, {**meta, "name": _under(title, meta["name"])}, kind) for data, meta, kind in layers]


def _plate_picture(fields: OpenedPlate, name: str) -> _LayerPicture:
    # Drop a field's translation, its position under the microscope: the plate's picture places it.
    view = fields.image()
    return _LayerPicture(name, replace(view, levels=tuple(replace(level, translation=None) for level in view.levels)))


def _image_layers(picture: _LayerPicture, title: str) -> Iterator[LayerData]:
    view = picture.view
    axis, count = view.channel_axis, view.channel_count
    if count > _MOST_CHANNELS and len(view.channels) < count:
        axis, count = None, 1  # one layer, and a slider for the channels
    colors = _COLORS[min(count, len(_COLORS)) - 1]
    for number in range(count):
        channel = view.channels[number] if number < len(view.channels) else ShownChannel()
        meta = _place(picture, axis)
        meta["name"] = channel.label or (title if count == 1 else f"{title} {number}")
        meta["colormap"] = colors[number % len(colors)] if channel.color is None else f"#{channel.color}"
        meta["visible"] = channel.active
        meta["rgb"] = False  # otherwise, napari shows a last axis of length 3 or 4 as colours
        if count > 1:
            meta["blending"] = "additive"
        if channel.window is not None:
            meta["contrast_limits"] = (channel.window.start, channel.window.end)
        yield _as_layer(_levels(picture, axis, number), meta, "image")


def _label_layers(picture: _LayerPicture, title: str, image: _LayerPicture | None = None) -> Iterator[LayerData]:
    view = picture.view
    level = view.levels[0]
    if level.array.dtype.kind not in "biu":  # OME-Zarr 0.5, "labels": the arrays MUST be of an integer type
        raise FormatError(f"{level.path}: expected a label image of integers, found {level.array.dtype}")
    axis, count = view.channel_axis, view.channel_count
    for number in range(count):
        meta = _place(picture, axis)
        meta["name"] = title if count == 1 else f"{title} {number}"
        meta["visible"] = True
        meta |= _label_colors(view.display) | _label_features(view.display)
        levels = _levels(picture, axis, number)
        if image is not None:
            levels, meta = _spread(levels, meta, image)
        yield _as_layer(levels, meta, "labels")


def _levels(picture: _LayerPicture, axis: int | None, channel: int) -> list[Any]:
    """Return the levels as dask arrays in blocks of several chunks."""
    _dask()  # its error names the extra napari
    return [replace(level, axis=axis, channel=channel).to_dask() for level in picture.view.levels]


def _dask() -> Any:
    try:
        import dask.array  # noqa: PLC0415 (of the extra napari)
    except ImportError:
        raise ResourceError(
            "dask, which reads pixels when they are shown, is not installed",
            hint=install_hint("napari"),
        ) from None
    return dask.array


def _as_layer(levels: list[Any], meta: dict[str, Any], kind: str) -> LayerData:
    several = len(levels) > 1
    return levels if several else levels[0], {**meta, "multiscale": several}, kind


def _place(picture: _LayerPicture, axis: int | None) -> dict[str, Any]:
    """Return the names, units and position of a layer's dimensions, without the channel dimension."""
    view, level = picture.view, picture.view.levels[0]
    kept = [number for number in range(len(view.axes)) if number != axis]
    meta: dict[str, Any] = {"metadata": {"ozx": {"path": picture.file, "image": view.path}}}
    names = [view.axes[number].name for number in kept]
    if all(names):
        meta["axis_labels"] = names
    units = [view.axes[number].unit for number in kept]
    if any(unit in ALL_UNITS for unit in units):  # napari refuses unknown ones
        meta["units"] = [unit if unit in ALL_UNITS else "pixel" for unit in units]
    if level.scale is not None:
        if 0 in level.scale:
            raise FormatError(f"{level.path}: expected a scale other than 0 for every axis, found {level.scale}")
        meta["scale"] = [level.scale[number] for number in kept]
    if level.translation is not None:
        meta["translate"] = [level.translation[number] for number in kept]
    if picture.place.matrix is not None:
        _add_affine(meta, picture, kept)
    return meta


def _add_affine(meta: dict[str, Any], picture: _LayerPicture, kept: Sequence[int]) -> None:
    """Add to `meta` the affine matrix to another coordinate system; warn if napari cannot apply this matrix."""
    matrix, view = picture.place.matrix, picture.view
    count = len(view.axes)
    if matrix is None or matrix.shape != (count, count + 1) or not _keeps_apart(matrix, kept):
        message = f"{view.path or 'the root'}: napari cannot show the image at its position in {picture.place.system!r}"
        warnings.warn(f"{picture.file}: {message}", OzxWarning, stacklevel=2)
        return
    meta["affine"] = np.vstack([matrix[np.ix_(kept, [*kept, count])], np.eye(1, len(kept) + 1, len(kept))])
    meta["metadata"]["ozx"]["system"] = picture.place.system


def _keeps_apart(matrix: Matrix, kept: Sequence[int]) -> bool:
    """Return whether positions along the layer's axes (`kept`) depend only on these axes, not on other image axes."""
    others = [number for number in range(len(matrix)) if number not in kept]
    return not matrix[np.ix_(kept, others)].any()


def _spread(levels: list[Any], meta: dict[str, Any], image: _LayerPicture) -> tuple[list[Any], dict[str, Any]]:
    """Repeat labels along the image's dimensions that the labels lack.

    napari pairs dimensions from the last to the first: it would pair the t of labels tyx with the z of an image tzyx.
    """
    axis = image.view.channel_axis
    like = _place(image, axis)
    names, wanted = meta.get("axis_labels", []), like.get("axis_labels", [])
    if names == wanted[-len(names) :] or names != [name for name in wanted if name in names]:
        return levels, meta
    lengths = dict(zip(wanted, replace(image.view.levels[0], axis=axis, channel=0).shape, strict=True))
    index = tuple(slice(None) if name in names else None for name in wanted)
    spread = []
    for level in levels:
        own = dict(zip(names, level.shape, strict=True))
        spread.append(_dask().broadcast_to(level[index], [own.get(name, lengths[name]) for name in wanted]))
    placed = {key: dict(zip(names, meta[key], strict=True)) for key in ("scale", "translate", "units") if key in meta}
    defaults = {"scale": [1.0] * len(wanted), "translate": [0.0] * len(wanted), "units": ["pixel"] * len(wanted)}
    filled: dict[str, Any] = {
        key: [own.get(name, other) for name, other in zip(wanted, like.get(key, defaults[key]), strict=True)]
        for key, own in placed.items()
    }
    if "affine" in meta:
        places = [*(wanted.index(name) for name in names), len(wanted)]
        filled["affine"] = np.eye(len(wanted) + 1)
        filled["affine"][np.ix_(places, places)] = meta["affine"]
    return spread, {**meta, **filled, "axis_labels": wanted}


def _label_colors(display: LabelDisplay) -> dict[str, Any]:
    """Return label colours as a keyword argument of a layer; an empty dictionary if napari is not installed."""
    if not display.colors:
        return {}
    try:
        from napari.utils import DirectLabelColormap  # noqa: PLC0415 (only where napari runs)
    except ImportError:
        return {}
    colors: dict[int | None, Any] = {None: _NO_COLOR, 0: (0.0, 0.0, 0.0, 0.0)}
    colors |= {value: tuple(part / 255 for part in rgba) for value, rgba in display.colors.items()}
    return {"colormap": DirectLabelColormap(color_dict=colors)}


def _label_features(display: LabelDisplay) -> dict[str, Any]:
    """Return label properties as an argument for a new layer: a table, whose column ``index`` has the label values."""
    items = display.properties
    if not items:
        return {}
    names = dict.fromkeys(name for known in items.values() for name in known if name != "index")
    columns = {name: [known.get(name) for known in items.values()] for name in names}
    plain = {name: column for name, column in columns.items() if not any(isinstance(v, list | dict) for v in column)}
    return {"features": {"index": list(items), **plain}}


def _under(title: str, name: str) -> str:
    return name if name == title else f"{title}: {name}"

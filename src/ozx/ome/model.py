"""OME-Zarr metadata of one group: version, axes, images, channels, labels, plate, well, series."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ozx.errors import UsageError
from ozx.ome.transformations import intrinsic_system, parse_transformations
from ozx.zarr.json_reading import as_list, as_object, as_text, as_texts

# The usual names of axes, and the error for an axis that no image has.

#: The types of the usual axes, in the order of OME-Zarr 0.5 ("axes": time, then channels, then space).
AXIS_TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}


def unknown_axis(name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a requested axis that does not exist.

    Examples
    --------
    >>> error = unknown_axis("X", ["c", "y", "x"])
    >>> str(error), error.hint
    ("unknown axis 'X'; the axes are c, y, x", 'Axis names distinguish capitals: write x.')
    """
    names = list(dict.fromkeys(known))
    meant = next((other for other in names if other.lower() == name.lower()), None)
    found = f"the axes are {', '.join(names)}" if names else "the axes have no names"
    hint = f"Axis names distinguish capitals: write {meant}." if meant is not None else None
    return UsageError(f"unknown axis {name!r}; {found}", hint=hint)


# Usual names of the rows of a plate.


def row_name(number: int) -> str:
    """Return the name of a row, counted from 0: A to Z, then AA."""
    name, rest = "", number + 1
    while rest:
        rest, place = divmod(rest - 1, 26)
        name = chr(ord("A") + place) + name
    return name


# Collections of OME-Zarr nodes, by RFC-8 (D1), a draft that is part of 0.9.dev3.

_MOST_NODES = 100


@dataclass(frozen=True, slots=True)
class CollectionNode:
    """A node of a collection.

    Attributes
    ----------
    name, type, path
        Name, type (such as ``multiscale``) and path or URL; None if missing.
    depth
        0 for a node of the collection, 1 for a node of a collection in it, and so on.
    """

    name: str | None
    type: str | None
    path: str | None
    depth: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection of images and other nodes.

    Attributes
    ----------
    name
        Its name, or None.
    nodes
        The first 100 nodes; those of a collection follow it.
    """

    name: str | None
    nodes: tuple[CollectionNode, ...]


def parse_collection(ome: dict[str, Any]) -> Collection | None:
    """Parse a collection; return None if the metadata is none.

    Examples
    --------
    >>> parse_collection({"type": "collection", "name": "all", "nodes": [{"name": "raw", "path": {"path": "./raw"}}]})
    Collection(name='all', nodes=(CollectionNode(name='raw', type=None, path='./raw', depth=0),))
    """
    if ome.get("type") != "collection":
        return None
    nodes: list[CollectionNode] = []
    pending = [(ome, -1)]
    while pending and len(nodes) <= _MOST_NODES:
        item, depth = pending.pop()
        path = item.get("path")
        path = path.get("path") if isinstance(path, dict) else path
        nodes.append(CollectionNode(as_text(item.get("name")), as_text(item.get("type")), as_text(path), depth))
        if item.get("type") == "collection":  # the nodes of an image are its levels
            pending += [(as_object(node), depth + 1) for node in reversed(as_list(item.get("nodes")))]
    return Collection(nodes[0].name, tuple(nodes[1:]))


# OME-Zarr metadata of one group: version, images, channels, labels, plate, well, series.
#
# Versions 0.4 (Zarr v2 attributes), 0.5 and 0.6 (``attributes.ome`` of Zarr v3) are read in full. Later versions are
# read as far as they have the same form.

#: The attributes of OME-Zarr: at the top of a ``.zattrs`` (0.4), under ``ome`` in a ``zarr.json`` (0.5).
OME_KEYS = ("multiscales", "omero", "labels", "image-label", "plate", "well", "bioformats2raw.layout", "series")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an image; missing properties are None.

    Attributes
    ----------
    name
        Name of the axis, such as ``x``.
    type
        ``space``, ``time``, ``channel`` or a custom type.
    unit
        Unit of scales and translations, as OME-Zarr spells it: ``micrometer``, ``second``.
    """

    name: str | None
    type: str | None
    unit: str | None


def axis_kind(axis: Axis) -> str | None:
    """Return the type of an axis, or else the type that its usual name tells."""
    # OME-Zarr 0.5, "axes": the type is only a SHOULD.
    return axis.type or AXIS_TYPES.get((axis.name or "").lower())


def find_channel_axis(axes: Iterable[Axis]) -> int | None:
    """Return the index of the first axis of the type ``channel``, or None."""
    return next((number for number, axis in enumerate(axes) if axis.type == "channel"), None)


@dataclass(frozen=True, slots=True)
class Dataset:
    """One resolution level: the path of its array relative to the image, and the position of its pixels.

    `scale` and `translation` have one value per axis, in the axes' units, and include the transformations of the
    whole multiscale. Both have the value None if the transformations are missing, malformed, or not only scales and
    translations.
    """

    path: str | None
    scale: tuple[float, ...] | None
    translation: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class CoordinateSystem:
    """A coordinate system of an image or a scene (OME-Zarr 0.6 and later).

    Attributes
    ----------
    name
        Its name, or None.
    axes
        Its axes, one per dimension, in order.
    """

    name: str | None
    axes: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The input or output coordinate system of a transformation.

    Attributes
    ----------
    name
        Name of the coordinate system.
    path
        Path of the group with this system, relative to the group of the transformation; None for the same group.
    """

    name: str | None
    path: str | None


@dataclass(frozen=True, slots=True)
class Transformation:
    """A transformation between two coordinate systems (OME-Zarr 0.6 and later).

    Attributes
    ----------
    type
        Type of the transformation, such as ``affine``.
    input, output
        Its input and output coordinate systems.
    document
        Its parameters, as in the metadata.
    """

    type: str | None
    input: End
    output: End
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """The positions of several images relative to each other (OME-Zarr 0.6 and later).

    Attributes
    ----------
    systems
        The coordinate systems of the scene; the first is the default of viewers.
    transformations
        The transformations between these and the coordinate systems of images.
    """

    systems: tuple[CoordinateSystem, ...]
    transformations: tuple[Transformation, ...]


@dataclass(frozen=True, slots=True)
class Multiscale:
    """One multiscale image: its axes and its resolution levels, full resolution first.

    From 0.6 on, `system` is the name of the levels' coordinate system, which is one of `systems`, and `axes` are the
    axes of this system. `transformations` connect coordinate systems; those of the levels are not among them.
    """

    name: str | None
    axes: tuple[Axis, ...]
    datasets: tuple[Dataset, ...]
    system: str | None = None
    systems: tuple[CoordinateSystem, ...] = ()
    transformations: tuple[Transformation, ...] = ()


@dataclass(frozen=True, slots=True)
class Channel:
    """Name, colour and contrast of a channel, each None if missing.

    Attributes
    ----------
    label
        Its name.
    color
        Six hexadecimal digits, RRGGBB.
    contrast
        The pixel values that are shown as black and in full colour.
    """

    label: str | None
    color: str | None
    contrast: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Plate:
    """A plate: the names of its rows and columns, and the paths of its wells."""

    name: str | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    wells: tuple[str, ...]
    field_count: int | None


@dataclass(frozen=True, slots=True)
class OmeMetadata:
    """The OME-Zarr metadata of one group."""

    version: str | None
    # The images of this group, nearly always one.
    multiscales: tuple[Multiscale, ...] = ()
    # Names of the label images below a ``labels`` group; None for other groups.
    labels: tuple[str, ...] | None = None
    is_label: bool = False
    plate: Plate | None = None
    # Paths of the images of a well, or None.
    fields: tuple[str, ...] | None = None
    layout: int | None = None
    # Paths of the images that the group (``OME``) lists, or None.
    series: tuple[str, ...] | None = None
    scene: Scene | None = None
    collection: Collection | None = None
    # Missing values and values of the wrong type, one phrase each.
    problems: tuple[str, ...] = ()
    # The object with all of it, for parts that few need: ``omero``, ``image-label``, the acquisitions of a plate.
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def kind(self) -> str:
        """Kind of the hierarchy at this root, as in ``ozx info --json``."""
        if self.plate is not None:  # bioformats2raw writes its layout into plates, too
            return "plate"
        if self.multiscales:
            return "labels" if self.is_label else "image"
        if self.layout is not None or self.series is not None:
            return "series"
        if self.scene is not None:
            return "scene"
        if self.collection is not None:
            return "collection"
        return "other" if self.labels is None else "labels"


def parse_ome(attributes: dict[str, Any], zarr_format: int) -> OmeMetadata | None:
    """Parse the OME-Zarr attributes of a group; return None if there are no OME-Zarr attributes.

    This never raises an error.

    With `zarr_format` 3, `attributes` are those of a ``zarr.json``, with the metadata under ``ome`` (0.5, "OME-Zarr
    Metadata"). With 2, they are a whole ``.zattrs``, with the metadata at the top and a version in each object (0.4).
    """
    if zarr_format == 3:
        if "ome" not in attributes:
            return None
        ome, problems = as_object(attributes["ome"]), []
        if not isinstance(attributes["ome"], dict):
            problems.append("ome is not an object")
        version = as_text(ome.get("version"))
    else:
        if not any(key in attributes for key in OME_KEYS):
            return None
        ome, problems, version = attributes, [], _version_of_v2(attributes)
    layout = ome.get("bioformats2raw.layout")
    return OmeMetadata(
        version=version,
        multiscales=_parse_multiscales(ome.get("multiscales"), problems),
        labels=_parse_names(ome, "labels", problems),
        is_label=isinstance(ome.get("image-label"), dict),
        plate=_parse_plate(ome.get("plate"), problems),
        fields=_parse_well(ome.get("well"), problems),
        layout=layout if type(layout) is int else None,
        series=_parse_names(ome, "series", problems),
        scene=_parse_scene(ome["scene"]) if isinstance(ome.get("scene"), dict) else None,
        collection=parse_collection(ome) if zarr_format == 3 else None,
        problems=tuple(problems),
        raw=ome,
    )


def _version_of_v2(attributes: dict[str, Any]) -> str | None:
    # 0.4 has one version in each of these; images may leave it out (SHOULD).
    candidates = [*as_list(attributes.get("multiscales"))]
    candidates += [attributes.get(key) for key in ("plate", "well", "image-label", "omero")]
    return next((version for item in candidates if (version := as_text(as_object(item).get("version")))), None)


def _parse_names(ome: dict[str, Any], key: str, problems: list[str]) -> tuple[str, ...] | None:
    if key not in ome:
        return None
    names = as_texts(ome[key])
    if names is None:
        problems.append(f"{key} is not a list of names")
    return names or ()


def _parse_multiscales(value: Any, problems: list[str]) -> tuple[Multiscale, ...]:
    if value is None:
        return ()
    items = [item for item in as_list(value) if isinstance(item, dict)]
    if not items or len(items) != len(value):
        problems.append("multiscales is empty, or not a list of objects")
    return tuple(_parse_multiscale(item, problems) for item in items)


def _parse_multiscale(item: dict[str, Any], problems: list[str]) -> Multiscale:
    datasets = [as_object(dataset) for dataset in as_list(item.get("datasets"))]
    if not datasets:
        problems.append("a multiscale has no datasets")
    has_systems = "coordinateSystems" in item
    axes = _parse_axes(intrinsic_system(item).get("axes") if has_systems else item.get("axes"))
    if not axes:
        problems.append("a multiscale has no axes")
    # Up to 0.5, these transformations apply after each level's own; from 0.6 on, they lead to other coordinate systems.
    common = [] if has_systems else as_list(item.get("coordinateTransformations"))
    parsed = []
    for dataset in datasets:
        path, steps = as_text(dataset.get("path")), as_list(dataset.get("coordinateTransformations"))
        if path is None:
            problems.append("a dataset has no path")
        placement = parse_transformations([*steps, *common], len(axes)) if steps and axes else None
        parsed.append(
            Dataset(path, None, None) if placement is None else Dataset(path, placement.scale, placement.translation)
        )
    name = as_text(item.get("name"))
    if not has_systems:
        return Multiscale(name, axes, tuple(parsed))
    scene = _parse_scene(item)
    system = as_text(intrinsic_system(item).get("name"))
    return Multiscale(name, axes, tuple(parsed), system, scene.systems, scene.transformations)


def _parse_scene(item: dict[str, Any]) -> Scene:
    """Parse the coordinate systems and transformations of a scene or an image."""
    systems = [as_object(system) for system in as_list(item.get("coordinateSystems"))]
    steps = [step for step in as_list(item.get("coordinateTransformations")) if isinstance(step, dict)]
    return Scene(
        tuple(CoordinateSystem(as_text(system.get("name")), _parse_axes(system.get("axes"))) for system in systems),
        tuple(
            Transformation(
                as_text(step.get("type")), _parse_end(step.get("input")), _parse_end(step.get("output")), step
            )
            for step in steps
        ),
    )


def _parse_end(value: Any) -> End:
    if isinstance(value, str):  # in drafts of 0.6
        return End(value, None)
    return End(*(as_text(as_object(value).get(key)) for key in ("name", "path")))


def _parse_axes(value: Any) -> tuple[Axis, ...]:
    axes = []
    for item in as_list(value):
        if isinstance(item, str):  # as in 0.3
            axes.append(Axis(item, None, None))
        elif isinstance(item, dict):
            axes.append(Axis(*(as_text(item.get(key)) for key in ("name", "type", "unit"))))
        else:
            axes.append(Axis(None, None, None))
    return tuple(axes)


def _parse_plate(value: Any, problems: list[str]) -> Plate | None:
    if value is None:
        return None
    plate = as_object(value)
    wells = _paths(plate.get("wells"))
    if not wells:
        problems.append("the plate lists no wells")
    count = plate.get("field_count")
    return Plate(
        name=as_text(plate.get("name")),
        rows=_paths(plate.get("rows"), "name"),
        columns=_paths(plate.get("columns"), "name"),
        wells=wells,
        field_count=count if type(count) is int else None,
    )


def _parse_well(value: Any, problems: list[str]) -> tuple[str, ...] | None:
    if value is None:
        return None
    images = _paths(as_object(value).get("images"))
    if not images:
        problems.append("the well lists no images")
    return images


def _paths(value: Any, key: str = "path") -> tuple[str, ...]:
    texts = (as_text(as_object(item).get(key)) for item in as_list(value))
    return tuple(text for text in texts if text is not None)


# Descriptions of coordinate transformations for messages.


def describe_transformation(step: Transformation) -> str:
    """Return a phrase that describes a transformation, for messages."""
    return f"the {step.type or 'transformation'} from {_end(step.input)} to {_end(step.output)}"


def describe_scene(scene: Scene) -> str:
    """Return a note that the images of a scene are shown separately, without their transformations."""
    where = f" in {scene.systems[0].name!r}" if scene.systems else ""
    return (
        f"the scene places its images{where}; ozx does not apply these positions: each image stays in its own "
        f"coordinate system"
    )


def unapplied_note(where: str, phrase: str) -> str:
    """Return a note that a transformation is not applied to an image."""
    return f"{where or 'the root'}: {phrase} is not applied"


def _end(end: End) -> str:
    return repr(end.name or "?") + ("" if end.path is None else f" of {end.path}")

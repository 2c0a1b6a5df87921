"""Rules about the OME-Zarr metadata of a single node: its version, and the value of each key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ozx.ome.model import OME_KEYS
from ozx.ome.versions import describe_draft, has_systems, is_before_objects, is_understood
from ozx.validation.nodes.facts import ParsedNode
from ozx.validation.nodes.place import (
    MISSING,
    Check,
    JsonPlace,
    describe_found,
    expect_list,
    expect_object,
    expect_objects,
)
from ozx.validation.ome.coordinates.ends import End, Systems, check_ends, check_level_ends, check_systems
from ozx.validation.ome.coordinates.steps import check_step
from ozx.validation.ome.labels import check_image_label, check_labels
from ozx.validation.ome.levels import (
    check_axes,
    check_axis_order,
    check_datasets,
    check_order_of_scales,
    check_transformations,
)
from ozx.validation.ome.plates import check_plate, check_well
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.json_reading import as_list, as_numbers, as_object

# Rules about the images of a group (OME-Zarr 0.5.2, "multiscales" metadata).


def check_multiscales(value: Any, place: JsonPlace, *, has_systems: bool | None = None) -> Iterator[Finding]:
    """Yield findings about the images of a group, from the group's own metadata only.

    `has_systems` tells whether images of this version have coordinate systems; if None, the form of each image decides.
    """
    # OME-Zarr 0.5.2, "multiscales": ""multiscales" contains a list of dictionaries where each entry describes a
    # multiscale image."
    items = yield from expect_objects(value, place, "ome/multiscales")
    for where, item in items:
        if has_systems or (has_systems is None and "coordinateSystems" in item):
            yield from check_image(item, where)
        else:
            yield from _check_multiscale(item, where)
        yield from _check_descriptions(item, where)


def _check_multiscale(item: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # "Each "multiscales" dictionary MUST contain the field "axes", see "axes" metadata."
    axes = yield from check_axes(item.get("axes", MISSING), place / "axes")
    if axes is not None:
        yield from check_axis_order(axes, place / "axes")
    ndim = None if axes is None else len(axes)
    scales = []
    for where, dataset in (yield from check_datasets(item, place)):
        steps = dataset.get("coordinateTransformations", MISSING)
        scales.append((yield from check_transformations(steps, where / "coordinateTransformations", ndim)))
    yield from check_order_of_scales(scales, place / "datasets")
    # "Each "multiscales" dictionary MAY contain the field "coordinateTransformations" … The transformations MUST follow
    # the same rules about allowed types, order, etc. as in "datasets:coordinateTransformations"".
    if "coordinateTransformations" in item:
        where = place / "coordinateTransformations"
        yield from check_transformations(item["coordinateTransformations"], where, ndim)


def _check_descriptions(item: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # "Each "multiscales" dictionary SHOULD contain the field "name"."
    name = item.get("name", MISSING)
    if not isinstance(name, str):
        yield place.finding("ome/image-name", f"expected a name, a string; {describe_found(name)}")
    # "Each "multiscales" dictionary SHOULD contain the field "type", which gives the type of downscaling method used to
    # generate the multiscale image pyramid. It SHOULD contain the field "metadata", which contains a dictionary with
    # additional information about the downscaling method." An image of one level was not downscaled, and a type without
    # metadata is accepted.
    levels = item.get("datasets")
    if isinstance(levels, list) and len(levels) > 1 and "type" not in item:
        missing = "a type" if "metadata" in item else "a type and metadata"
        message = f"expected {missing} of the downscaling method; found none"
        yield place.finding("ome/downscaling", message)


# Rules about display settings of an image (OME-Zarr 0.5.2, transitional "omero" metadata).

_COLOR = re.compile("[0-9A-Fa-f]{6}")
_WINDOW = ("min", "max", "start", "end")


def check_omero(value: Any, place: JsonPlace) -> Iterator[Finding]:
    """Yield findings about the display settings of an image's channels."""
    omero = yield from expect_object(value, place, "ome/omero")
    if omero is None:
        return
    # OME-Zarr 0.5.2, "omero": "The "omero" metadata is optional, but if present it MUST contain the field "channels",
    # which is an array of dictionaries describing the channels of the image."
    channels = omero.get("channels", MISSING)
    for where, channel in (yield from expect_objects(channels, place / "channels", "ome/omero", may_be_empty=True)):
        yield from _check_channel(channel, where)


def _check_channel(channel: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # "Each dictionary in "channels" MUST contain the field "color", which is a string of 6 hexadecimal digits
    # specifying the color of the channel in RGB format."
    color = channel.get("color", MISSING)
    if not isinstance(color, str) or not _COLOR.fullmatch(color):
        where = place if color is MISSING else place / "color"
        message = f"expected a color, six hexadecimal digits; {describe_found(color)}"
        yield where.finding("ome/channel-color", message)
    # "Each dictionary in "channels" MUST contain the field "window", which is a dictionary describing the windowing of
    # the channel. The field "window" MUST contain the fields "min" and "max", which are the minimum and maximum values
    # of the window, respectively. It MUST also contain the fields "start" and "end", which are the start and end values
    # of the window, respectively."
    window = channel.get("window", MISSING)
    if isinstance(window, dict):
        yield from _check_window(window, place / "window")
    else:
        yield place.finding("ome/channel-window", f"expected a window, an object; {describe_found(window)}")
    # Without `active` and `label`, vizarr and other viewers show nothing, or stop (tried in 2026).
    missing = [key for key in ("active", "label") if key not in channel]
    if missing:
        yield place.finding("ome/channel-display", f"expected {' and '.join(missing)}, which viewers rely on; missing")


def _check_window(window: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    values = [window.get(key, MISSING) for key in _WINDOW]
    if as_numbers(values) is None:
        wrong = [key for key, value in zip(_WINDOW, values, strict=True) if as_numbers([value]) is None]
        found = ", ".join("missing" if key not in window else shown(window[key]) for key in wrong)
        yield place.finding("ome/channel-window", f"expected numbers in {', '.join(wrong)}; found {found}")
    else:
        least, most, start, end = values
        if least > most or start > end:
            message = (
                f"expected min below max and start below end; found {shown(dict(zip(_WINDOW, values, strict=True)))}"
            )
            yield place.finding("ome/channel-window-order", message)


# Rules about scenes, which define the positions of several images (OME-Zarr 0.6, "scene" metadata).


def check_scene(value: Any, place: JsonPlace) -> Iterator[Finding]:
    """Yield findings about a scene, from its own metadata only."""
    scene = yield from expect_object(value, place, "ome/scene")
    if scene is None:
        return
    systems: Systems = {}
    # "It MAY contain the field `coordinateSystems`".
    if "coordinateSystems" in scene:
        systems = yield from check_systems(scene["coordinateSystems"], place / "coordinateSystems", of_image=False)
    # "The `scene` object MUST contain the field `coordinateTransformations`".
    where = place / "coordinateTransformations"
    for place_of_step, step in (
        yield from expect_objects(scene.get("coordinateTransformations", MISSING), where, "ome/scene")
    ):
        _, counts = yield from check_ends(step, place_of_step, systems)
        yield from check_step(step, place_of_step, counts[0], counts[1])
        for end in ("input", "output"):
            others = [key for key in as_object(step.get(end)) if key not in ("name", "path")]
            if others:
                message = f"scene.schema expects name and path only; found {listed(others)}"
                yield (place_of_step / end).finding("ome/schema", message)


# Rules about series of images (OME-Zarr 0.5.2, transitional "bioformats2raw.layout" metadata).

LAYOUT = "bioformats2raw.layout"


def check_layout(value: Any, place: JsonPlace) -> Iterator[Finding]:
    """Yield a finding if the ``bioformats2raw.layout`` is not 3."""
    # OME-Zarr 0.5.2, "bioformats2raw.layout": "MUST have the value "3" for the "bioformats2raw.layout" key in their
    # OME-Zarr Metadata in the `zarr.json` at the top of the hierarchy". Its schema asks for the number.
    if type(value) is not int or value != 3:
        yield place.finding("ome/bioformats2raw", f"{LAYOUT}: expected the number 3; found {shown(value)}")


def check_series(value: Any, place: JsonPlace) -> Iterator[Finding]:
    """Yield findings about the list of images in the group ``OME``."""
    # ""series" MUST be a list of string objects, each of which is a path to an image group."
    items = yield from expect_list(value, place, "ome/series", "a list of paths")
    for number, item in enumerate(items or []):
        if not isinstance(item, str) or not item:
            yield (place / number).finding("ome/series", f"expected a path; found {shown(item)}")


_Check = Callable[[Any, JsonPlace], Iterator[Finding]]

_CHECKS: dict[str, _Check] = {
    "omero": check_omero,
    "labels": check_labels,
    LAYOUT: check_layout,
    "series": check_series,
}
_SPATIALDATA = "The library spatialdata writes and reads this version. ozx copies such metadata, but cannot convert it."
# RFC-3, in 0.9.dev1 and 0.9.dev2, allows any number, types and order of axes.
_FREE_AXES = ("ome/axes-count", "ome/axes-order", "ome/axes-zyx", "ome/axis-type")
# Parts with a version in OME-Zarr 0.4.
_VERSIONED = ("omero", "plate", "well", "image-label")


def inner_versions(ome: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield path and value of each ``version`` inside OME-Zarr metadata."""
    for number, item in enumerate(as_list(ome.get("multiscales"))):
        if "version" in as_object(item):
            yield ("multiscales", number, "version"), item["version"]
    for key in _VERSIONED:
        if "version" in as_object(ome.get(key)):
            yield (key, "version"), ome[key]["version"]


def check_ome(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about the OME-Zarr metadata of a node."""
    attributes = as_object(node.attributes)
    if node.node_type == "array":
        return
    yield from _check_namespace(node, attributes)
    ome = node.ome
    if ome is None:
        return
    place = JsonPlace(node.attributes_key, node.ome_pointer)
    if node.is_v3:
        version = ome["version"] if isinstance(ome.get("version"), str) else None
        yield from _check_inner_versions(ome, place)
    else:
        version = next((value for _, value in inner_versions(ome) if isinstance(value, str)), None)
        yield from _check_versions_of_v2(ome, place)
    findings = _check_keys(ome, place, version, is_v2=not node.is_v3)
    draft = describe_draft(version) if node.is_v3 and version is not None else None
    if is_understood(version, is_v3=node.is_v3):
        is_early = version is not None and is_before_objects(version)
        yield from _without_errors(findings) if is_early else findings
    elif draft is not None:
        yield from (finding for finding in _without_errors(findings) if finding.id not in _FREE_AXES)
    else:
        known = "0.5 and 0.6" if node.is_v3 else "0.4"
        message = f"not checked: unknown OME-Zarr version {shown(version)}; in this Zarr version, ozx checks {known}"
        hint = _SPATIALDATA if str(version).endswith("-spatialdata") else None
        yield place.finding("ome/unknown-version", message, hint=hint)


def _without_errors(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings with errors turned into warnings, for rules of another version."""
    for finding in findings:
        yield replace(finding, severity="warning") if finding.severity == "error" else finding


def _checks_of(version: str | None) -> Iterator[tuple[str, _Check]]:
    """Yield each key of OME-Zarr metadata in this version, with the check of its value."""
    with_systems = has_systems(version)
    yield "multiscales", partial(check_multiscales, has_systems=with_systems)
    yield "plate", partial(check_plate, has_version=not with_systems)
    yield "well", partial(check_well, has_free_paths=bool(with_systems))
    if with_systems is not False:
        yield "scene", check_scene
    yield from _CHECKS.items()


def _check_keys(ome: dict[str, Any], place: JsonPlace, version: str | None, *, is_v2: bool) -> Iterator[Finding]:
    for key, check in _checks_of(version):
        if key in ome:
            yield from check(ome[key], place / key)
    if ome.get("labels") == [] and not is_v2:
        yield (place / "labels").finding("ome/schema", "the schema expects at least one label; the list is empty")
    if "image-label" in ome:
        # OME-Zarr 0.5.2, "labels": "The `zarr.json` file for the label image MUST implement the multiscales
        # specification."
        if "multiscales" not in ome:
            message = "expected multiscales beside image-label; they are missing"
            yield (place / "image-label").finding("ome/label-missing", message)
        yield from check_image_label(ome["image-label"], place / "image-label", is_v2=is_v2)


def _check_namespace(node: ParsedNode, attributes: dict[str, Any]) -> Iterator[Finding]:
    # OME-Zarr 0.5.2, "OME-Zarr Metadata": "In this file, the metadata is stored under the namespaced key `ome` in
    # `attributes`."
    where = JsonPlace(node.attributes_key, node.attributes_pointer)
    if node.is_v3:
        if "ome" in attributes and node.ome is None:
            message = f"expected attributes.ome to be an object; found {shown(attributes['ome'])}"
            yield (where / "ome").finding("ome/metadata", message)
        # A Zarr convention also uses the key `multiscales`, but with an object as its value.
        found = [
            key
            for key in OME_KEYS
            if key in attributes and isinstance(attributes[key], list if key == "multiscales" else dict)
        ]
        if found:
            message = f"{listed(found)} are in attributes; OME-Zarr in Zarr v3 has them in attributes.ome"
            yield where.finding("ome/namespace", message)
    # OME-Zarr 0.4.2, "Metadata": "The various `.zattrs` files throughout the above array hierarchy may contain metadata
    # keys as specified below".
    elif isinstance(attributes.get("ome"), dict):
        message = "readers of Zarr v2 look for OME-Zarr metadata directly in the attributes, not in ome"
        yield (where / "ome").finding("ome/namespace", message)


def _check_inner_versions(ome: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    version = ome.get("version")
    # "The OME-Zarr Metadata version MUST be consistent within a hierarchy."
    for path, inner in inner_versions(ome):
        if isinstance(version, str) and inner != version:
            message = f"expected {shown(version)}, the version of the group, or no version; found {shown(inner)}"
            yield place.below(*path).finding("ome/inner-version", message)


def _check_versions_of_v2(ome: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # OME-Zarr 0.4.2, "multiscales": "It SHOULD contain the field "version", which indicates the version of the
    # multiscale metadata of this image (current version is 0.4)."
    for number, item in enumerate(as_list(ome.get("multiscales"))):
        if isinstance(item, dict) and not isinstance(item.get("version"), str):
            message = "expected a version, a string; it is missing"
            yield (place / "multiscales" / number).finding("ome/version", message)
    # The text of 0.4 recommends a version of a label image, and names no version of a well; label.schema and
    # well.schema require both.
    for key in ("image-label", "well"):
        if isinstance(ome.get(key), dict) and "version" not in ome[key]:
            message = f"the schema of 0.4 expects a version in {key}; it is missing"
            yield (place / key).finding("ome/schema", message)


_LEVEL_KINDS = ("scale", "identity", "sequence")
# "the transformation MUST be one of identity, scale, or translation"; by "labels" metadata also "a sequence of a scale
# and a translation transformation".
_LABEL_KINDS = ("identity", "scale", "translation", "sequence")


def check_image(item: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    """Yield findings about one image that has coordinate systems."""
    # "`coordinateSystems` | JSON array of objects | yes".
    value = item.get("coordinateSystems", MISSING)
    systems = yield from check_systems(value, place / "coordinateSystems", of_image=True)
    outputs: list[str] = []
    scales = []
    for where, dataset in (yield from check_datasets(item, place)):
        # "Each object in `datasets` MUST contain the field `coordinateTransformations`".
        value = dataset.get("coordinateTransformations", MISSING)
        steps = yield from expect_objects(value, where / "coordinateTransformations", "ome/transformations")
        # "`coordinateTransformations` herein MUST be restricted to a single `scale`, `identity` or `sequence` of a
        # scale followed by a translation transformation."
        if len(steps) > 1:
            message = f"expected one transformation; found {len(steps):,}"
            yield (where / "coordinateTransformations").finding("ome/transformations", message)
        for place_of_step, step in steps[:1]:
            name = yield from _check_level(step, dataset.get("path"), place_of_step, systems)
            outputs += [] if name is None else [name]
            scales.append(_scale_of(step))
    yield from check_order_of_scales(scales, place / "datasets")
    # "It MUST be the same value for every resolution level in a single multiscales".
    if len(set(outputs)) > 1:
        message = f"expected one coordinate system as the output of all levels; found {listed(sorted(set(outputs)))}"
        yield (place / "datasets").finding("ome/transformation-ends", message)
    if "coordinateTransformations" in item:
        yield from _check_further(item, place / "coordinateTransformations", systems, outputs)


def _check_level(step: dict[str, Any], path: Any, place: JsonPlace, systems: Systems) -> Check[str | None]:
    """Check the transformation of a level, and yield findings; return the name of its output."""
    name = yield from check_level_ends(step, path, place, systems)
    axes = None if name is None else systems.get(name)
    count = None if axes is None else len(axes)
    kind = step.get("type")
    if isinstance(kind, str) and kind not in _LEVEL_KINDS:
        yield place.finding("ome/transformations", f"expected a scale, identity or sequence; found {shown(kind)}")
    if kind == "sequence":
        yield from _check_scale_and_translation(step, place)
    yield from check_step(step, place, count, count)
    return name


def _check_scale_and_translation(step: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    parts = as_list(step.get("transformations"))
    kinds = [as_object(part).get("type") for part in parts]
    if parts and kinds != ["scale", "translation"]:
        message = f"expected a sequence of a scale and a translation; found {shown(kinds)}"
        yield place.finding("ome/transformations", message)


def _scale_of(step: dict[str, Any]) -> tuple[float, ...] | None:
    parts = [step, *map(as_object, as_list(step.get("transformations"))[:1])]
    return next((as_numbers(part.get("scale")) for part in parts if part.get("type") == "scale"), None)


def _check_further(item: dict[str, Any], place: JsonPlace, systems: Systems, outputs: list[str]) -> Iterator[Finding]:
    # "each `multiscales` object MAY contain the field `coordinateTransformations`".
    value = item["coordinateTransformations"]
    steps = yield from expect_objects(value, place, "ome/transformations", may_be_empty=True)
    if value == []:
        yield place.finding("ome/schema", "image.schema expects at least one transformation; the list is empty")
    for where, step in steps:
        ends, counts = yield from check_ends(step, where, systems)
        yield from check_step(step, where, counts[0], counts[1])
        # "One of `input` or `output` MUST reference the "intrinsic" coordinate system by `name` (`path` MAY be omitted
        # or null)."
        if outputs and len(ends) == 2 and not any(path is None and name in outputs for _, name, path in ends):
            message = f"expected {shown(outputs[0])}, the system of the levels, as input or output; found "
            yield where.finding("ome/transformation-ends", message + " and ".join(shown(name) for _, name, _ in ends))
        for end in ends:
            yield from _check_label_end(end, step, where)


def _check_label_end(end: End, step: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    # "The other MUST reference a named coordinate system in the same multiscales group …, or in a child labels group
    # (by `name` and `path`)."
    where, _, path = end
    if path is None:
        return
    if not path.startswith("labels/"):
        message = f"expected a label image of this image, labels/NAME; found {shown(path)}"
        yield (where / "path").finding("ome/transformation-ends", message)
    # "When referencing a child labels group, the transformation MUST be `identity`, `scale`, or `translation`."
    elif step.get("type") not in _LABEL_KINDS:
        message = f"expected identity, scale or translation to a label image; found {shown(step.get('type'))}"
        yield place.finding("ome/transformations", message)
    elif step["type"] == "sequence":
        yield from _check_scale_and_translation(step, place)

"""Edits of one group's OME-Zarr metadata: pixel sizes, positions, units, channels and names.

Only the requested values change; everything else in a document stays, including the order of members.

The position of a pixel is computed from its index with the scale and translation of its level, then with those of the
whole multiscale (OME-Zarr 0.5, "multiscales"). An edit multiplies the position along an axis by one factor: requested
size / present size of the full resolution. So all levels keep their ratios, and a shift by half a pixel stays a shift
by half a pixel. The scale of the whole multiscale stays; the levels' scales and all translations are multiplied. A new
position of the full resolution shifts all levels and the label images by the same distance. Images of 0.6 are converted
to the form of 0.5, edited and converted back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from math import prod
from typing import Any

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.ome.colors import WHITE, default_color
from ozx.ome.edit.request import EditRequest
from ozx.ome.model import Axis, Multiscale, OmeMetadata, axis_kind, parse_ome
from ozx.ome.subset.region import find_channels
from ozx.ome.transformations import exact, parse_transformations, with_axes, with_systems
from ozx.ome.units import unit_ratio
from ozx.ome.versions import has_systems, is_before_objects, is_understood
from ozx.zarr.array import ArrayMetadata
from ozx.zarr.json_reading import Document, as_list, as_numbers, as_object, as_text, copy_json

# The differences that an edit makes, in terms that users know: pixel sizes, units, names, colours.


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """One changed property of an image.

    Attributes
    ----------
    node
        Path of the image's group; the root's is empty.
    what
        ``axis x`` (its pixel size at full resolution), ``origin x`` (where the full resolution begins), ``unit of x``,
        ``channel 0 name``, ``channel 0 color``, ``channel 0 active``, ``channel 0 start`` or ``channel 0 end`` (of its
        contrast window), ``rendering model`` (a colour was set in an image that viewers showed in grey), ``name``,
        or ``recovered`` (a sentence on missing pixels, which is removed).
    old, new
        The value before and after the edit; None for a missing value.
    unit
        Unit of the numbers, after the edit.
    """

    node: str
    what: str
    old: float | str | None
    new: float | str | None
    unit: str | None = None

    @property
    def is_visible(self) -> bool:
        """Whether viewers show the channels in another way: with other colours, another contrast, or other channels."""
        return self.what == "rendering model" or (self.what.startswith("channel ") and not self.what.endswith(" name"))


@dataclass(frozen=True, slots=True)
class AxisChanges:
    """Changes by axis that an image shares with its label images: factors of pixel sizes, units, and shifts."""

    factors: Mapping[str, Fraction]
    units: Mapping[str, str]
    shifts: Mapping[str, Fraction]  # in the unit of the axis, after the edit

    def __bool__(self) -> bool:
        return bool(self.units) or any(factor != 1 for factor in self.factors.values()) or any(self.shifts.values())


# Names, colours and contrast of channels, in the ``omero`` block of an image.

_INTEGER = re.compile(r"(u?)int(8|16|32|64)")


def edit_channels(
    ome: dict[str, Any],
    edits: EditRequest,
    node: str,
    axes: Sequence[Axis],
    array: ArrayMetadata | None,
    notes: list[str],
) -> list[PropertyChange]:
    """Apply the requested channel edits to the ``ome`` attributes of an image, in place; return the differences.

    If the ``omero`` block is missing or lists too few channels, complete channels are added: viewers fail on
    channels without window or colour (OME-Zarr 0.5, "omero" metadata). A sentence about assumed values is added to
    `notes`.
    """
    count = count_channels(ome, node, axes, array)
    requested: tuple[tuple[str, Sequence[Any] | None], ...] = (
        ("channel names", edits.channel_names),
        ("colors", edits.colors),
        ("values of active", edits.active),
    )
    for what, values in requested:
        if values is not None and len(values) != count:
            raise UsageError(
                f"{node or 'the image'}: expected one value per channel for the {what}, {count} in all; "
                f"got {len(values)}",
                hint="Give a value for each channel; an empty value keeps the present one. In a shell, write A,,C "
                '("\\," is a comma in a name); in Python, ["A", None, "C"].',
            )
    omero = copy_json(as_object(ome.get("omero"))) or _new_block(axes, array)
    old = list(as_list(omero.get("channels")))
    data_type = None if array is None else array.data_type
    channels, made = _complete(old, count, data_type)
    windows = _windows(edits, old, count, node or "the image")
    differences = []
    for index, channel in enumerate(channels[:count]):
        before = as_object(old[index] if index < len(old) else None)
        for word, member, values in (
            ("name", "label", edits.channel_names),
            ("color", "color", edits.colors),
            ("active", "active", edits.active),
        ):
            value = None if values is None else values[index]
            if value is not None and before.get(member) != value:
                was = before.get(member)
                known = was if isinstance(was, bool) else as_text(was)
                differences.append(PropertyChange(node, f"channel {index} {word}", known, value))
                channel[member] = value
        if index in windows:
            known_window = as_object(before.get("window"))
            differences += _set_window(channel, known_window, windows[index], data_type, (node, index))
    differences += _show_colors(omero, edits.colors, node)
    if differences:
        omero["channels"] = channels
        ome["omero"] = omero
        notes += made
    return differences


def _windows(edits: EditRequest, channels: Sequence[Any], count: int, where: str) -> dict[int, tuple[float, float]]:
    """Return the requested contrast windows by the number of their channel; its new name comes before its old one."""
    labels = [as_text(as_object(channel).get("label")) for channel in channels]
    named = [new or old for new, old in zip_longest((edits.channel_names or ())[:count], labels)]
    known = {(name or "").lower() for name in named}
    found: dict[int, tuple[float, float]] = {}
    for channel, window in edits.contrast.items():
        by_name = () if isinstance(channel, int) else named if channel.lower() in known else labels
        (number,) = find_channels([str(channel)], by_name, count, where)
        if number in found:
            raise UsageError(f"{where}: the contrast of channel {number} is given twice, by name and by number")
        found[number] = window
    return found


def _show_colors(omero: dict[str, Any], colors: Sequence[str | None] | None, node: str) -> list[PropertyChange]:
    """Change the rendering model ``greyscale``, in place, if a requested colour is not white.

    With this model, viewers ignore the colours of the channels.
    """
    rdefs = as_object(omero.get("rdefs"))
    is_colored = any(color is not None and color.upper() != WHITE for color in colors or ())
    if not is_colored or rdefs.get("model") != "greyscale":
        return []
    omero["rdefs"] = {**rdefs, "model": "color"}
    return [PropertyChange(node, "rendering model", "greyscale", "color")]


def _set_window(
    channel: dict[str, Any],
    before: dict[str, Any],
    window: tuple[float, float],
    data_type: str | None,
    place: tuple[str, int],
) -> list[PropertyChange]:
    """Set the contrast window of a channel, in place; extend the limits `min` and `max` to contain the window."""
    node, index = place
    differences = []
    new = {**_window(data_type)[0], **before}
    for member, value in zip(("start", "end"), window, strict=True):
        if before.get(member) != value:
            old = as_numbers([before.get(member)])
            was = None if old is None else old[0]
            differences.append(PropertyChange(node, f"channel {index} {member}", was, value))
            new[member] = value
    if differences:
        limits = as_numbers([new["min"], new["max"]]) or window
        new["min"], new["max"] = min(limits[0], window[0]), max(limits[1], window[1])
        channel["window"] = new
    return differences


def count_channels(ome: dict[str, Any], node: str, axes: Sequence[Axis], array: ArrayMetadata | None) -> int:
    """Return the number of channels of an image: the length of its channel axis, or 1 without a channel axis.

    If the axes, the array of the full resolution or its shape are missing, the channels of the ``omero`` block are
    counted.
    """
    index = next((number for number, axis in enumerate(axes) if axis_kind(axis) == "channel"), None)
    if index is None and axes:
        return 1
    if index is not None and array is not None and array.shape is not None and index < len(array.shape):
        return array.shape[index]
    listed = len(as_list(as_object(ome.get("omero")).get("channels")))
    if not listed:
        raise FormatError(
            f"{node or 'the root'}: expected the array of the full resolution, to count the channels; found none"
        )
    return listed


def _new_block(axes: Sequence[Axis], array: ArrayMetadata | None) -> dict[str, Any]:
    spatial = [(axis.name or "").lower() if axis_kind(axis) == "space" else "" for axis in axes]
    depth = spatial.index("z") if "z" in spatial else None
    planes = array.shape[depth] if depth is not None and array is not None and array.shape is not None else 1
    return {"channels": [], "rdefs": {"defaultT": 0, "defaultZ": planes // 2, "model": "color"}}


def _complete(channels: list[Any], count: int, data_type: str | None) -> tuple[list[Any], list[str]]:
    """Add defaults for missing channels, up to `count`; return all channels, and a note if a default was added."""
    window, assumed = _window(data_type)
    complete = list(channels)
    made = 0
    for index in range(count):
        if index < len(channels) and isinstance(channels[index], dict):
            continue
        color = default_color(index, count)
        complete[index : index + 1] = [
            {"active": True, "color": color, "label": f"Channel {index}", "window": dict(window)}
        ]
        made += 1
    low, high = window["min"], window["max"]
    note = (
        f"{made} of {count} channels had no description; these got defaults, with a contrast window from {low} to "
        f"{high} ({assumed}; no pixels were read)"
    )
    return complete, [note] if made else []


def _window(data_type: str | None) -> tuple[dict[str, float], str]:
    match = _INTEGER.fullmatch(data_type or "")
    if match is None:
        low, high, assumed = 0.0, 1.0, f"assumed for {data_type or 'an unknown data type'}"
    else:
        bits = int(match[2])
        low, high = (0, (1 << bits) - 1) if match[1] else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        assumed = f"the range of {data_type}"
    return {"min": low, "max": high, "start": low, "end": high}, assumed


def check_editable(document: Document, node: str, version: str | None) -> OmeMetadata:
    """Return a group's OME-Zarr metadata if it can be edited; `version` is the default if the group has no version."""
    attributes = as_object(document.get("attributes"))
    ome = parse_ome(attributes, 3) if document.get("zarr_format") == 3 else None
    found = None if ome is None else ome.version or version
    raw = as_object(attributes.get("ome"))
    is_new = has_systems(found)
    has_form = is_new is None or all(("coordinateSystems" in one) == is_new for one in _objects(raw.get("multiscales")))
    is_edited = found is not None and is_understood(found, is_v3=True) and not is_before_objects(found)
    if ome is None or not is_edited or not has_form:
        what = f"version {found}" if has_form else f"version {found} with axes in the form of another version"
        raise UnsupportedError(
            f"{node or 'the root'}: expected OME-Zarr 0.5 or 0.6 to edit; found {what if ome else 'no ome metadata'}",
            hint="ozx cannot edit other versions."
            if has_form
            else "ozx validate names what the version does not allow.",
        )
    return ome


def edit_image(
    document: Document, edits: EditRequest, node: str, *, array: ArrayMetadata | None = None, version: str | None = None
) -> tuple[Document, list[PropertyChange], AxisChanges, list[str]]:
    """Return a copy of an image's ``zarr.json`` with the requested changes.

    Also return the differences from the original, what label images need too, and remarks, as phrases. `array` is the
    array of the full resolution. Only edits of channels need it, for the number of channels.
    """
    ome = check_editable(document, node, version)
    if not ome.multiscales:
        raise FormatError(f"{node or 'the root'}: expected an image; there are no multiscales")
    edits.check_axes([multiscale.axes for multiscale in ome.multiscales])
    new = copy_json(document)
    raw = new["attributes"]["ome"]
    notes: list[str] = []
    differences: list[PropertyChange] = []
    factors: list[dict[str, Fraction]] = []
    shifts: list[dict[str, Fraction]] = []
    originals = _objects(raw["multiscales"])
    raw["multiscales"] = [_with_axes(item, node) for item in originals]
    for item, multiscale in zip(raw["multiscales"], ome.multiscales, strict=True):
        here = edits.limited_to(multiscale.axes)
        units = here.units_for(multiscale.axes)
        factors.append(
            {axis: exact(size) / _size(item, multiscale, axis, node) for axis, size in here.pixel_size.items()}
        )
        before = {axis: _origin(item, multiscale, axis, node) for axis in here.translation}
        rescaled = _rescale(item, multiscale, factors[-1], units, node)
        differences += [one for one in rescaled if one.what.removeprefix("origin ") not in before]
        differences += _set_units(item, units, node)
        places = _places(here.translation, multiscale.axes, units, node)
        shifts.append({axis: place - _origin(item, multiscale, axis, node) for axis, place in places.items()})
        _shift(item, multiscale, shifts[-1], node)
        differences += [
            PropertyChange(
                node, f"origin {axis}", float(before[axis]), float(place), _unit(multiscale.axes, units, axis)
            )
            for axis, place in places.items()
            if place != before[axis]
        ]
    if edits.has_channels:
        if ome.is_label:
            raise UsageError(f"{node or 'the root'}: a label image has no channels to name or colour")
        differences += edit_channels(raw, edits, node, ome.multiscales[0].axes, array, notes)
    if edits.name is not None:
        differences += _rename(raw["multiscales"][0], edits.name, node, raw)
    raw["multiscales"] = _with_systems(raw["multiscales"], originals)
    if (any(factors) or any(shifts)) and any("coordinateSystems" in item and _common(item) for item in originals):
        notes.append("transformations to other coordinate systems are unchanged")
    placed = AxisChanges(factors[0], edits.units_for(ome.multiscales[0].axes), shifts[0])
    return new, differences, placed, notes


def edit_label(
    document: Document, placed: AxisChanges, node: str, *, version: str | None = None
) -> tuple[Document, list[PropertyChange]]:
    """Return a label image's ``zarr.json`` with the changes of its image: units, factors of all positions, and shifts.

    A label image may have another resolution than its image, and fewer axes: the same changes keep it in place.
    """
    ome = check_editable(document, node, version)
    new = copy_json(document)
    differences: list[PropertyChange] = []
    raw = new["attributes"]["ome"]
    originals = _objects(raw.get("multiscales"))
    items = [_with_axes(item, node) for item in originals]
    for item, multiscale in zip(items, ome.multiscales, strict=True):
        here = {axis.name for axis in multiscale.axes}
        factors = {axis: by for axis, by in placed.factors.items() if axis in here}
        differences += _rescale(item, multiscale, factors, placed.units, node)
        differences += _set_units(item, placed.units, node)
        for axis, shift in placed.shifts.items():
            if axis in here and shift:
                old = _origin(item, multiscale, axis, node)
                unit = _unit(multiscale.axes, placed.units, axis)
                differences.append(PropertyChange(node, f"origin {axis}", float(old), float(old + shift), unit))
        _shift(item, multiscale, {axis: by for axis, by in placed.shifts.items() if axis in here}, node)
    if originals:
        raw["multiscales"] = _with_systems(items, originals)
    return new, differences


def edit_plate_name(
    document: Document, name: str, node: str, *, version: str | None = None
) -> tuple[Document, list[PropertyChange]]:
    """Return a plate's ``zarr.json`` with the new name, and the difference from the original."""
    check_editable(document, node, version)
    new = copy_json(document)
    return new, _rename(new["attributes"]["ome"]["plate"], name, node)


def update_copy(document: Document, below: str, new: Document) -> bool:
    """Update the copy of an edited group in a parent's consolidated metadata, in place; return whether a copy exists.

    zarr-python, which writes ``consolidated_metadata``, reads the copies and not the nodes' own documents: an old copy
    would hide the edit. `below` is the edited group's path relative to the parent.
    """
    copies = as_object(as_object(document.get("consolidated_metadata")).get("metadata"))
    found = as_object(copies.get(below))
    if found:
        found["attributes"] = copy_json(new["attributes"])
    parts = below.split("/")
    nested = [("/".join(parts[:depth]), "/".join(parts[depth:])) for depth in range(1, len(parts))]
    # A copy of a group in between may hold copies of its own.
    inner = [update_copy(as_object(copies.get(above)), rest, new) for above, rest in nested]
    return bool(found) or any(inner)


def _with_axes(item: Document, node: str) -> Document:
    """Return an image's metadata in the form of OME-Zarr 0.5, with axes instead of coordinate systems."""
    return with_axes(item, node or "the root") if "coordinateSystems" in item else item


def _with_systems(items: list[Document], originals: list[Document]) -> list[Document]:
    """Return images' metadata in the same form as the originals: with axes (0.5) or coordinate systems (0.6)."""
    return [
        with_systems(item, original) if "coordinateSystems" in original else item
        for item, original in zip(items, originals, strict=True)
    ]


def _common(item: Document) -> list[Any]:
    return as_list(item.get("coordinateTransformations"))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in as_list(value) if isinstance(item, dict)]


def _size(item: dict[str, Any], multiscale: Multiscale, axis: str, node: str) -> Fraction:
    """Return the current pixel size of the full resolution along `axis`, exact in decimal digits."""
    index = [found.name for found in multiscale.axes].index(axis)
    datasets, common = _objects(item.get("datasets")), as_list(item.get("coordinateTransformations"))
    if not datasets:
        raise FormatError(f"{node or 'the root'}: expected datasets in the multiscales; found none")
    size = Fraction(1)
    for step in [*_steps(datasets[0], multiscale.axes, node), *_checked(common, len(multiscale.axes), node)]:
        if step.get("type") == "scale":
            size *= exact(step["scale"][index])
    if size <= 0:
        raise UnsupportedError(
            f"{node or 'the root'}: expected a current pixel size greater than 0 along {axis}; found {float(size)}",
            hint="First correct the scales in zarr.json by hand: ozx changes a pixel size by multiplying the current "
            "scales.",
        )
    return size


def _steps(dataset: dict[str, Any], axes: tuple[Axis, ...], node: str) -> list[dict[str, Any]]:
    steps = _checked(as_list(dataset.get("coordinateTransformations")), len(axes), node)
    # OME-Zarr 0.5, "multiscales": coordinateTransformations MUST contain exactly one scale transformation.
    if sum(step.get("type") == "scale" for step in steps) != 1:
        raise FormatError(
            f"{node or 'the root'}: expected exactly one scale for level {dataset.get('path')!r}; found {steps!r:.200}"
        )
    return steps


def _checked(steps: list[Any], dimensions: int, node: str) -> list[dict[str, Any]]:
    if parse_transformations(steps, dimensions) is None:
        raise UnsupportedError(
            f"{node or 'the root'}: expected scales and translations of {dimensions} finite numbers; "
            f"found {steps!r:.200}",
            hint="ozx cannot edit other transformations.",
        )
    return [as_object(step) for step in steps]


def _rescale(
    item: dict[str, Any], multiscale: Multiscale, factors: Mapping[str, Fraction], units: Mapping[str, str], node: str
) -> list[PropertyChange]:
    """Multiply the pixel sizes and origins of all levels by `factors`, in place.

    Return the differences between the old and new pixel sizes and origins of the full resolution.
    """
    changing = {axis: factor for axis, factor in factors.items() if factor != 1}
    if not changing:
        return []
    before = {axis: _size(item, multiscale, axis, node) for axis in changing}
    names = [axis.name for axis in multiscale.axes]
    common = _checked(as_list(item.get("coordinateTransformations")), len(names), node)
    for dataset in _objects(item.get("datasets")):
        steps = _steps(dataset, multiscale.axes, node)
        first = next(position for position, step in enumerate(steps) if step.get("type") == "scale")
        # A translation after the scale, as in OME-Zarr 0.5, is in the axis's unit; one before the scale is in pixels,
        # and stays.
        moves = [step for step in steps[first:] if step.get("type") == "translation"]
        for axis, factor in changing.items():
            _multiply(steps[first]["scale"], names.index(axis), factor, node)
            for move in moves:
                _multiply(move["translation"], names.index(axis), factor, node)
    for move in common:
        for axis, factor in changing.items():
            if move.get("type") == "translation":
                _multiply(move["translation"], names.index(axis), factor, node)
    full = multiscale.datasets[0]
    sizes, origins = [], []
    for axis, old in before.items():
        index = names.index(axis)
        unit = units.get(axis, multiscale.axes[index].unit)
        sizes.append(PropertyChange(node, f"axis {axis}", float(old), float(old * changing[axis]), unit))
        start = 0.0 if full.translation is None else full.translation[index]
        if start:
            moved = float(exact(start) * changing[axis])
            origins.append(PropertyChange(node, f"origin {axis}", start, moved, unit))
    return [*sizes, *origins]


def _places(
    translation: Mapping[str, tuple[float, str | None]], axes: Sequence[Axis], units: Mapping[str, str], node: str
) -> dict[str, Fraction]:
    """Return the requested positions by axis, in the unit that the axis has after the edit."""
    places = {}
    for axis, (number, given) in translation.items():
        unit = _unit(axes, units, axis)
        ratio = Fraction(1) if given is None else None if unit is None else unit_ratio(given, unit)
        if ratio is None:
            found = "has no unit" if unit is None else f"is in {unit}"
            raise UsageError(
                f"{node or 'the image'}: the translation along {axis} is in {given}, but the axis {found}",
                hint="Give the translation as a number in the unit of the axis, or set the unit of the axis too.",
            )
        places[axis] = exact(number) * ratio
    return places


def _unit(axes: Sequence[Axis], units: Mapping[str, str], axis: str) -> str | None:
    return units.get(axis) or next((known.unit for known in axes if known.name == axis), None)


def _origin(item: dict[str, Any], multiscale: Multiscale, axis: str, node: str) -> Fraction:
    """Return the position of the first pixel of the full resolution along `axis`."""
    index = [found.name for found in multiscale.axes].index(axis)
    common = _checked(as_list(item.get("coordinateTransformations")), len(multiscale.axes), node)
    place = Fraction(0)
    for dataset in _objects(item.get("datasets"))[:1]:
        for step in [*_steps(dataset, multiscale.axes, node), *common]:
            numbers = step.get(str(step.get("type")), ())
            if step.get("type") == "scale":
                place *= exact(numbers[index])
            elif step.get("type") == "translation":
                place += exact(numbers[index])
    return place


def _shift(item: dict[str, Any], multiscale: Multiscale, shifts: Mapping[str, Fraction], node: str) -> None:
    """Add a distance to the positions of all levels, in place."""
    names = [axis.name for axis in multiscale.axes]
    common = _checked(as_list(item.get("coordinateTransformations")), len(names), node)
    moving = {names.index(axis): by for axis, by in shifts.items() if by}
    for dataset in _objects(item.get("datasets")) if moving else ():
        steps = _steps(dataset, multiscale.axes, node)
        # OME-Zarr 0.5, "multiscales": a translation MUST come after the scale.
        if steps[-1].get("type") != "translation":
            steps.append({"type": "translation", "translation": [0.0] * len(names)})
            dataset["coordinateTransformations"] = steps
        for index, by in moving.items():
            factor = prod(exact(step["scale"][index]) for step in common if step.get("type") == "scale")
            numbers = steps[-1]["translation"]
            numbers[index] = float(exact(numbers[index]) + by / factor)


def _multiply(numbers: list[Any], index: int, factor: Fraction, node: str) -> None:
    # The file holds the very size that was requested.
    try:
        product = float(exact(numbers[index]) * factor)
    except OverflowError:
        product = 0.0
    if not product and numbers[index]:
        raise UsageError(
            f"the pixel size is too far from the current one: in {node or 'the root'} the number {numbers[index]} "
            f"would become {'0' if factor < 1 else 'infinite'}"
        )
    if product != numbers[index]:
        numbers[index] = product


def _set_units(item: dict[str, Any], units: Mapping[str, str], node: str) -> list[PropertyChange]:
    differences = []
    for axis in _objects(item.get("axes")):
        name, old = as_text(axis.get("name")), axis.get("unit")
        if name is not None and name in units and old != units[name]:
            axis["unit"] = units[name]
            differences.append(PropertyChange(node, f"unit of {name}", as_text(old), units[name]))
    return differences


def _rename(item: dict[str, Any], name: str, node: str, ome: dict[str, Any] | None = None) -> list[PropertyChange]:
    old = item.get("name")
    if old == name:
        return []
    item["name"] = name
    omero = as_object(None if ome is None else ome.get("omero"))
    if old is not None and omero.get("name") == old:  # viewers that read the omero block show this copy
        omero["name"] = name
    return [PropertyChange(node, "name", as_text(old), name)]

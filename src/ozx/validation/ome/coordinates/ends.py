"""Rules about the input and output of a transformation (OME-Zarr 0.6, "coordinateTransformations")."""

from __future__ import annotations

from typing import Any, NamedTuple

from ozx.validation.nodes.expecting import MISSING, find
from ozx.validation.nodes.place import Check, Place
from ozx.validation.ome.coordinates.systems import Systems
from ozx.validation.wording import listed, shown

_RULE = "ome/transformation-ends"


class End(NamedTuple):
    """The input or output of a transformation: a coordinate system's name, and its group's path (None: this group)."""

    name: str
    path: str | None
    place: Place

    def dimensions(self, systems: Systems) -> int | None:
        """Return the number of axes of the coordinate system; None if it is not in `systems`, those of the group."""
        axes = systems.get(self.name) if self.path is None else None
        return None if axes is None else len(axes)


def check_ends(step: dict[str, Any], place: Place, systems: Systems) -> Check[tuple[End | None, End | None]]:
    """Check the input and output of a transformation, and yield findings; return the ends that can be read."""
    start = yield from _check_end(find(step, "input"), place / "input", systems)
    stop = yield from _check_end(find(step, "output"), place / "output", systems)
    return start, stop


def check_level_ends(step: dict[str, Any], path: Any, place: Place, systems: Systems) -> Check[str | None]:
    """Check the input and output of a level's transformation, and yield findings; return the output's name."""
    # Inside `multiscales > datasets`: "in the `input` object provide `path` and omit `name`", "in the `output` object
    # provide `name` and omit `path`".
    start, where = find(step, "input"), place / "input"
    given = start.get("path") if isinstance(start, dict) else None
    if not isinstance(given, str):
        yield where.finding(_RULE, f"expected an input, an object with the path of the level; {_found(start)}")
    # "The `input` object MUST specify a `path` field matching the `path` field of the dataset."
    elif isinstance(path, str) and given != path:
        yield where.finding(_RULE, f"expected the path of the level, {shown(path)}; found {shown(given)}")
    # "The `name` field under `input` SHOULD be omitted", "The `path` field of `output` SHOULD be omitted".
    yield from _check_omitted(start, "name", where)
    stop, where = find(step, "output"), place / "output"
    yield from _check_omitted(stop, "path", where)
    name = stop.get("name") if isinstance(stop, dict) else None
    if not isinstance(name, str):
        yield where.finding(
            _RULE, f"expected an output, an object with the name of a coordinate system; {_found(stop)}"
        )
        return None
    yield from _check_name(name, where, systems)
    return name


def _check_end(value: Any, place: Place, systems: Systems) -> Check[End | None]:
    # "the `input` and `output` fields of `coordinateTransformations` MUST contain a json object, which MUST contain the
    # field `name` and MAY contain the field `path`."
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        end = place.steps[-1]
        yield place.finding(_RULE, f"expected {end}, an object with the name of a coordinate system; {_found(value)}")
        return None
    path = value.get("path") if isinstance(value, dict) else None
    if path is not None and not isinstance(path, str):
        yield (place / "path").finding(_RULE, f"expected the path of a group, a string; found {shown(path)}")
        return None
    # "If the `path` field is null or omitted, this is to be interpreted as referring to a named coordinate system in
    # the same `zarr.json` file."
    if path is None:
        yield from _check_name(name, place, systems)
    return End(name, path, place)


def _check_name(name: str, place: Place, systems: Systems) -> Check[None]:
    if name not in systems:
        known = listed(list(systems)) if systems else "none"
        yield place.finding(_RULE, f"{shown(name)} is not a coordinate system of this group, which has {known}")


def _check_omitted(end: Any, key: str, place: Place) -> Check[None]:
    if isinstance(end, dict) and end.get(key) is not None:
        message = f"expected no {key} in the {place.steps[-1]} of a level; found {shown(end[key])}"
        yield (place / key).finding(_RULE, message, severity="warning")


def _found(value: Any) -> str:
    return "it is missing" if value is MISSING else f"found {shown(value)}"

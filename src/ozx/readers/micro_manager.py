"""Data sets of Micro-Manager with one plane per file: their ``metadata.txt`` says where each stands.

Micro-Manager 1.4 writes an entry ``FrameKey-t-c-z`` for each file, 2.0 writes ``Coords-NAME`` and
``Metadata-NAME``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

from ozx.errors import FormatError
from ozx.images.description import ImageDescription
from ozx.ome.units import PixelSize
from ozx.readers.plane_names import TIFF, PlaneGrid, key_of, make_grid, names_below
from ozx.readers.tiff.kinds import describe_micro_manager

_METADATA = "metadata.txt"
# The keys of an index, in the order of the versions that wrote them.
_INDEXES = {
    "t": ("FrameIndex", "Frame", "TimeIndex", "time"),
    "c": ("ChannelIndex", "channel"),
    "z": ("SliceIndex", "Slice", "ZIndex", "z"),
}


#: An entry of a file: its name, its place, and what else is said of it.
_Frame = tuple[str, Mapping[str, str], Mapping[str, Any]]


def find_planes(folder: str, *, is_filled: bool) -> PlaneGrid:
    """Return the planes of a folder with ``metadata.txt``, or with a folder of this kind for each position."""
    parts = [""] if has_metadata(folder) else position_folders(folder)
    places: dict[str, dict[str, str]] = {}
    described = {}
    for part in parts:
        path = os.path.join(folder, part, _METADATA)
        document = _read(path)
        frames: dict[str, list[_Frame]] = {}
        for frame in _iter_frames(document, path):
            frames.setdefault(part or frame[1].get("s", ""), []).append(frame)
        if not frames:
            raise FormatError("expected entries of image files; found none", path=path)
        for position, those in frames.items():
            for file, place, _ in those:
                name = f"{part}/{file}" if part else file
                if name in places:
                    raise FormatError(f"expected one place of each file; found two of {name}", path=path)
                places[name] = {**place, "s": position}
            described[key_of(position)] = _describe(document.get("Summary"), those, part)
    others = [name for name in names_below(folder, 1) if name.lower().endswith(TIFF) and name not in places]
    grid = make_grid(folder, places, others=others, is_filled=is_filled)
    if len(described) == 1:
        described = {key: replace(only, name=None) for key, only in described.items()}
    # Each file has a number along all axes, whether planes were taken along them or not.
    axes = tuple(axis for axis, length in grid.lengths().items() if length > 1)
    return replace(grid, axes=axes, described=described)


def has_metadata(folder: str) -> bool:
    """Return whether a folder has a ``metadata.txt`` that begins like JSON, and is no other text of this name."""
    path = os.path.join(folder, _METADATA)
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def position_folders(folder: str) -> list[str]:
    """Return the folders in a folder that have a ``metadata.txt``, Pos2 before Pos10."""
    with os.scandir(folder) as entries:
        parts = [entry.name for entry in entries if entry.is_dir() and has_metadata(entry.path)]
    return sorted(parts, key=key_of)


def _read(path: str) -> Mapping[str, Any]:
    with open(path, "rb") as file:
        text = file.read().decode("utf-8-sig", "replace").strip()
    try:
        try:
            document = json.loads(text)
        except ValueError:
            # Of an acquisition that was stopped, the end may be missing.
            document = json.loads(text.rstrip(",") + "}")
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"expected the JSON of Micro-Manager; {error}",
            path=path,
            hint="If it is not of Micro-Manager, name the axes by a pattern, as in pattern='img_t{t}_c{c}.tif'.",
        ) from None
    found: dict[str, Any] = document  # JSON that begins with { is an object
    return found


def _iter_frames(document: Mapping[str, Any], path: str) -> Iterator[_Frame]:
    for key, entry in document.items():
        kind, _, rest = key.partition("-")
        if kind not in ("FrameKey", "Coords") or not isinstance(entry, Mapping):
            continue
        file = str(entry.get("FileName") or "") if kind == "FrameKey" else rest
        metadata = entry if kind == "FrameKey" else document.get(f"Metadata-{rest}")
        place = {axis: _index(entry, keys) for axis, keys in _INDEXES.items()}
        if kind == "FrameKey" and None in place.values() and re.fullmatch("[0-9]{1,9}-[0-9]{1,9}-[0-9]{1,9}", rest):
            place = dict(zip(_INDEXES, rest.split("-"), strict=True))
        if kind == "Coords":  # axes without positions are not named
            place = {axis: index or "0" for axis, index in place.items()}
        # The folders and drives in the names are those of the computer that wrote them.
        file = PureWindowsPath(file).name
        if not file or None in place.values():
            raise FormatError(f"the entry {key} has no name or place of a file", path=path)
        place["s"] = _index(entry, ("PositionIndex", "position")) or ""
        yield (
            file,
            {axis: str(index) for axis, index in place.items()},
            metadata if isinstance(metadata, Mapping) else {},
        )


def _index(entry: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    numbers = (entry.get(key) for key in keys)
    return next((str(number) for number in numbers if type(number) is int and 0 <= number < 10**9), None)


def _describe(summary: Any, frames: list[_Frame], folder: str) -> ImageDescription:
    summary, (_, _, first) = summary if isinstance(summary, Mapping) else {}, frames[0]
    label = str(first.get("PositionName") or folder)
    names = {int(place["c"]): metadata.get("Channel") for _, place, metadata in frames}
    listed = [names[number] for number in sorted(names)]
    if not isinstance(summary.get("ChNames"), list) or len(summary["ChNames"]) != len(listed):
        summary = {**summary, "ChNames": listed if all(isinstance(name, str) for name in listed) else []}
    found = describe_micro_manager(summary, first)
    return replace(found, name=label or None, origin=_origin(first, summary, label))


def _origin(frame: Mapping[str, Any], summary: Mapping[str, Any], label: str) -> dict[str, PixelSize]:
    """Return the place on the stage, from the first plane or from the list of positions."""
    values = {axis: frame.get(f"{axis.upper()}PositionUm") for axis in "zyx"}
    for listed in (summary.get("StagePositions"), summary.get("InitialPositionList")):
        for position in listed if isinstance(listed, list) else ():
            if isinstance(position, Mapping) and position.get("Label") == label:
                values = {axis: value for axis, value in _stages(position) if values[axis] is None} | {
                    axis: value for axis, value in values.items() if value is not None
                }
    return {
        axis: PixelSize(float(value), "micrometer")
        for axis, value in values.items()
        if isinstance(value, int | float) and abs(value) < 1e300  # of JSON, also nan and 10**400
    }


def _stages(position: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the places of the stages of a position: of two axes, or of one."""
    devices = position.get("DevicePositions")
    listed = devices if isinstance(devices, list) else ()
    of_devices = [each.get("Position_um") for each in listed if isinstance(each, Mapping)]
    of_names = position.get("DeviceCoordinatesUm")
    places = of_devices + list(of_names.values() if isinstance(of_names, Mapping) else ())
    for place in places:
        if isinstance(place, list) and len(place) in (1, 2):
            yield from zip("xy" if len(place) == 2 else "z", place, strict=True)

"""Folders that are imported as a whole: planes in one file each, data sets of Micro-Manager, plates with an index."""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from ozx.errors import UsageError
from ozx.flow.sources.wrong_sources import check_is_image_file
from ozx.quoting import quote
from ozx.readers.images import Images, ReadingOptions
from ozx.readers.micro_manager import find_planes, has_metadata, position_folders
from ozx.readers.microscopes import open_microscope_file
from ozx.readers.plane_names import (
    TIFF,
    PlaneGrid,
    axis_before,
    guess_pattern,
    is_thumbnail,
    is_well,
    make_grid,
    match_names,
    names_below,
    without_identifiers,
)
from ozx.readers.tiff.opening import count_files, open_tiff
from ozx.readers.tiff.planes import describe_planes, open_planes

# The index of a plate, by the end of its name: ImageXpress, CellVoyager, Harmony and Columbus.
_INDEXES = (".htd", "measurementdata.mlf", "index.idx.xml", "imageindex.columbusidx.xml")
_NDTIFF = "NDTiff.index"


def open_folder(path: str, options: ReadingOptions) -> Images:
    """Open a folder whose files make one image, a series or a plate; no pixels are read.

    Raise `UsageError` for a folder of several images.
    """
    found = _find(path, options)
    if isinstance(found, PlaneGrid):
        return open_planes(found, options, open_folder)
    is_index = found.lower().endswith(_INDEXES)
    return replace(open_microscope_file(found, options) if is_index else open_tiff(found, options), path=path)


def describe_folder(path: str, *, pattern: str | None, on_error: str) -> str | None:
    """Return what the files of a folder become, from their names and one of them; None if an index says it."""
    options = ReadingOptions(pattern=pattern, on_error="fill" if on_error == "fill" else "fail")
    found = _find(path, options)
    return describe_planes(found, options) if isinstance(found, PlaneGrid) else None


def _find(path: str, options: ReadingOptions) -> PlaneGrid | str:
    """Return the planes in a folder; or the path of a file that says how its files belong together."""
    if options.pattern is not None:
        return _find_by_pattern(path, options.pattern, options)
    names = names_below(path)
    tiffs = [name for name in names if name.lower().endswith(TIFF) and not is_thumbnail(name)]
    if _NDTIFF in names and tiffs:
        return os.path.join(path, tiffs[0])
    indexes = [os.path.join(path, name) for name in names if name.lower().endswith(_INDEXES)]
    inside = os.path.join(path, "Images", "Index.idx.xml")  # Harmony
    if len(indexes) == 1 or (not indexes and os.path.isfile(inside)):
        return indexes[0] if indexes else inside
    if (tiffs and has_metadata(path)) or (not tiffs and position_folders(path)):
        return find_planes(path, is_filled=options.on_error == "fill")
    if len(tiffs) < 2:
        _check_is_no_folder_of_data_sets(path)
        check_is_image_file(path)  # says what it is
    with suppress(Exception):  # opening the files reports it
        if count_files(os.path.join(path, tiffs[0])) >= len(tiffs):
            return os.path.join(path, tiffs[0])
    return _find_by_names(path, names, tiffs, options)


def _check_is_no_folder_of_data_sets(path: str) -> None:
    """Raise `UsageError` for a folder with data sets of Micro-Manager, each with a folder for each position."""
    with os.scandir(path) as entries:
        found = sorted(entry.path for entry in entries if entry.is_dir() and position_folders(entry.path))
    if found:
        names, more = " ".join(map(quote, found[:3])), " …" if len(found) > 3 else ""
        count = "1 data set" if len(found) == 1 else f"{len(found):,} data sets"
        hint = f"Run: ozx import {names}{more} --out-dir imported"
        raise UsageError(f"expected an image; it is a directory of {count} of Micro-Manager", path=path, hint=hint)


def _find_by_names(path: str, names: list[str], tiffs: list[str], options: ReadingOptions) -> PlaneGrid:
    """Return files whose names differ in numbers of axes only."""
    pattern, why = guess_pattern(tiffs)
    if pattern is None:
        try:
            check_is_image_file(path)
        except UsageError as error:
            if example := _example(tiffs):
                error.message += f", which make no single image: {why}"
                join = f"ozx import {quote(path)} --pattern {quote(example)}"
                each = str(error.hint).replace("Run:", "run:", 1)
                error.hint = f"To join them, name the axes: {join}. For one image each, {each}"
            raise
    others = sorted({*names} - {*tiffs})
    return _planes(path, match_names(tiffs, str(pattern)), str(pattern), others, options)


def _example(names: list[str]) -> str | None:
    """Return a pattern of the most names that differ in numbers, and perhaps a word; None if all differ otherwise."""
    if any(sign in name for name in names for sign in "{}*"):
        return None
    alike: dict[str, list[str]] = {}
    for name in _without_word(without_identifiers(names)):
        alike.setdefault(re.sub("[0-9]+", "0", name), []).append(name)
    most = max(alike.values(), key=len)
    if len(most) == 1 or (pattern := guess_pattern(most)[0]):
        return None if len(most) == 1 else pattern
    columns = list(zip(*(re.split("([0-9]+)", name) for name in most), strict=True))
    varying = [number for number, column in enumerate(columns) if len(set(column)) > 1]
    axes = [axis_before(columns[number - 1][0]) for number in varying]
    free = [axis for axis in "tczs" if f"{{{axis}}}" not in most[0]]
    # An axis that two numbers claim belongs to none of them.
    said = {number: axis for number, axis in zip(varying, axes, strict=True) if axis in free and axes.count(axis) == 1}
    left = [axis for axis in free if axis not in said.values()]
    others = [number for number in varying if number not in said]
    if len(others) > len(left):
        return None
    said |= dict(zip(others, left, strict=False))
    return "".join(f"{{{said[number]}}}" if number in said else column[0] for number, column in enumerate(columns))


def _without_word(names: list[str]) -> list[str]:
    """Return the names with ``{c}`` or ``{well}`` for the one word that differs, as in img_0_DAPI and img_0_GFP."""
    parts = [re.split("([_.])", name) for name in names]
    if len({len(each) for each in parts}) > 1:
        return names
    columns = zip(*([re.sub("[0-9]+", "0", part) for part in each] for each in parts), strict=True)
    counts = [Counter(column) for column in columns]
    varying = [number for number, count in enumerate(counts) if len(count) > 1]
    if len(varying) != 1 or not varying[0] or len(set(counts[varying[0]].values())) > 1:
        return names
    (number,) = varying
    field = "well" if all(is_well(each[number]) for each in parts) else "c"
    return ["".join((*each[:number], f"{{{field}}}", *each[number + 1 :])) for each in parts]


def _find_by_pattern(path: str, pattern: str, options: ReadingOptions) -> PlaneGrid:
    pattern = pattern.replace("\\", "/").removeprefix("./")
    names = names_below(path, pattern.count("/"))
    places = match_names(names, pattern)
    if not places:
        raise UsageError(
            f"no file in the folder fits the pattern {pattern}",
            path=path,
            hint=f"Its files have names such as {', '.join(names[:3])}." if names else "The folder has no files.",
        )
    others = [name for name in names if name not in places]
    return _planes(path, places, pattern, others, options)


def _planes(
    path: str, places: dict[str, dict[str, str]], pattern: str, others: list[str], options: ReadingOptions
) -> PlaneGrid:
    is_filled = options.on_error == "fill"
    return make_grid(path, places, pattern=pattern, others=others, is_filled=is_filled)

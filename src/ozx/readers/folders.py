"""Folders that are imported as a whole: planes in one file each, data sets of Micro-Manager, plates with an index."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import replace

from ozx.errors import UsageError
from ozx.flow.sources.wrong_sources import check_is_image_file
from ozx.quoting import quote
from ozx.readers.images import Images, ReadingOptions
from ozx.readers.micro_manager import find_planes, has_metadata, position_folders
from ozx.readers.microscopes import MicroscopeReader
from ozx.readers.plane_names import TIFF, Planes, guess_pattern, make_grid, match_names, names_below
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
    if isinstance(found, Planes):
        return open_planes(found, options, open_folder)
    is_index = found.lower().endswith(_INDEXES)
    return replace(MicroscopeReader().open(found, options) if is_index else open_tiff(found, options), path=path)


def describe_folder(path: str, *, pattern: str | None, on_error: str) -> str | None:
    """Return what the files of a folder become, from their names and one of them; None if an index says it."""
    options = ReadingOptions(pattern=pattern, on_error="fill" if on_error == "fill" else "fail")
    found = _find(path, options)
    return describe_planes(found.grid, options) if isinstance(found, Planes) else None


def _find(path: str, options: ReadingOptions) -> Planes | str:
    """Return the planes in a folder; or the path of a file that says how its files belong together."""
    if options.pattern is not None:
        return _find_by_pattern(path, options.pattern, options)
    names = names_below(path)
    tiffs = [name for name in names if name.lower().endswith(TIFF)]
    if _NDTIFF in names and tiffs:
        return os.path.join(path, tiffs[0])
    indexes = [os.path.join(path, name) for name in names if name.lower().endswith(_INDEXES)]
    inside = os.path.join(path, "Images", "Index.idx.xml")  # Harmony
    if len(indexes) == 1 or (not indexes and os.path.isfile(inside)):
        return indexes[0] if indexes else inside
    if (tiffs and has_metadata(path)) or (not tiffs and position_folders(path)):
        return find_planes(path, is_filled=options.on_error == "fill")
    if len(tiffs) < 2:
        check_is_image_file(path)  # says what it is
    with suppress(Exception):  # opening the files reports it
        if count_files(os.path.join(path, tiffs[0])) >= len(tiffs):
            return os.path.join(path, tiffs[0])
    return _find_by_names(path, names, tiffs, options)


def _find_by_names(path: str, names: list[str], tiffs: list[str], options: ReadingOptions) -> Planes:
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
    """Return a pattern of the most names that differ in numbers only; None if all names differ otherwise."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(re.sub("[0-9]+", "0", name), []).append(name)
    most = max(alike.values(), key=len)
    if len(most) == 1 or any(sign in most[0] for sign in "{}*"):
        return None
    fields = iter("tczs")
    columns = zip(*(re.split("([0-9]+)", name) for name in most), strict=True)
    texts = (column[0] if len(set(column)) == 1 else f"{{{next(fields, 's')}}}" for column in columns)
    return guess_pattern(most)[0] or "".join(texts)


def _find_by_pattern(path: str, pattern: str, options: ReadingOptions) -> Planes:
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
) -> Planes:
    is_filled = options.on_error == "fill"
    return Planes(make_grid(path, places, pattern=pattern, others=others, is_filled=is_filled))

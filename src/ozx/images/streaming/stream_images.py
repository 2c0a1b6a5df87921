"""The images of a stream: one, a series of positions, or the fields of a plate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from ozx.errors import UsageError
from ozx.images.writing.new_image import NewHierarchy, NewImage, NewPlate, NewWell, plate_of, series_of

__all__ = ["plate_fields", "position_series"]

_LETTERS = re.compile("[A-Z]{1,2}")
_NUMBER = re.compile("[0-9]{1,3}")
_NAME = re.compile("[A-Za-z0-9]+")


def position_series(image: NewImage, positions: Sequence[str]) -> NewHierarchy:
    """Return a series with an image for each position, named after it.

    Raises
    ------
    UsageError
        Names are repeated.
    """
    if isinstance(positions, str) or len(set(positions)) < len(positions):
        raise UsageError(f"expected a list of different names of positions; got {positions!r}")
    return series_of([replace(image, name=name) for name in positions])


def plate_fields(image: NewImage, plate: Mapping[str, int], plate_shape: tuple[int, int] | None = None) -> NewHierarchy:
    """Return a plate with the name of `image` and an image for each field of a well, named after its path.

    OME-Zarr 0.5, "plate" metadata: each row and column of the physical plate is defined, also those without wells. If
    rows are letters and columns are numbers, those between the first and the last one used are added.

    Parameters
    ----------
    image
        An image.
    plate
        The number of fields by the path of the well, such as ``B/3``.
    plate_shape
        The number of rows and columns of the physical plate, whose rows are letters and whose columns are numbers.

    Raises
    ------
    UsageError
        A path is malformed, a well has no fields, or lies outside the plate.

    Examples
    --------
    >>> hierarchy = plate_fields(NewImage("p", (), ()), {"A/1": 2, "C/2": 1})
    >>> list(hierarchy.images)
    ['A/1/0', 'A/1/1', 'C/2/0']
    >>> [row["name"] for row in hierarchy.groups[""]["plate"]["rows"]]
    ['A', 'B', 'C']
    """
    if not isinstance(plate, Mapping) or not plate:
        raise UsageError(f'expected wells with their number of fields, as in {{"A/1": 2, "B/3": 4}}; got {plate!r}')
    places = []
    for path, count in plate.items():
        parts = path.split("/") if isinstance(path, str) else []
        if len(parts) != 2 or not all(_NAME.fullmatch(part) for part in parts):
            raise UsageError(f"expected a well as ROW/COLUMN, letters and digits, as in B/3; got {path!r}")
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError(f"expected a number of fields of at least 1 for the well {path}; got {count!r}")
        places.append((parts[0], parts[1], count))
    rows = _all_rows([row for row, _, _ in places], None if plate_shape is None else plate_shape[0])
    columns = _all_columns([column for _, column, _ in places], None if plate_shape is None else plate_shape[1])
    wells = [
        NewWell(
            rows.index(row),
            columns.index(column),
            tuple(replace(image, name=f"{row}/{column}/{number}") for number in range(count)),
        )
        for row, column, count in places
    ]
    return plate_of(NewPlate(image.name, rows, columns, tuple(wells)))


def _all_rows(used: Sequence[str], count: int | None) -> tuple[str, ...]:
    if not all(map(_LETTERS.fullmatch, used)):
        return _named(used, count, "rows of one or two capital letters")
    return _filled(used, [_row_name(number) for number in range(26 * 27)], count, "rows")


def _all_columns(used: Sequence[str], count: int | None) -> tuple[str, ...]:
    if not all(map(_NUMBER.fullmatch, used)):
        return _named(used, count, "numbered columns")
    # "01" is another name than "1".
    width = max((len(column) for column in used if column.startswith("0")), default=0)
    return _filled(used, [f"{number:0{width}}" for number in range(1, 1000)], count, "columns")


def _filled(used: Sequence[str], names: Sequence[str], count: int | None, what: str) -> tuple[str, ...]:
    """Return the names up to the last one in use, or so many; the used names alone if one is no usual name."""
    if not set(used) <= set(names):
        return _named(used, count, f"usual names of {what}")
    filled = [*takewhile(lambda name: name != max(used, key=names.index), names), max(used, key=names.index)]
    if count is None:
        return tuple(filled)
    if not len(filled) <= count <= len(names):
        raise UsageError(f"expected a plate of at least {len(filled)} {what}, as {filled[-1]} is in use; got {count}")
    return tuple(names[:count])


def _named(used: Sequence[str], count: int | None, expected: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(used))
    if count is not None:
        raise UsageError(f"expected {expected} for a plate of a given shape; got {', '.join(names)}")
    return names


def _row_name(number: int) -> str:
    """Return the name of a row: A to Z, then AA.

    Examples
    --------
    >>> _row_name(0), _row_name(25), _row_name(31)
    ('A', 'Z', 'AF')
    """
    first, second = divmod(number, 26)
    return ("" if first == 0 else chr(ord("A") + first - 1)) + chr(ord("A") + second)

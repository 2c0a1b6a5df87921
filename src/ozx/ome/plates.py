"""The wells of a plate, and the fields in them; `ozx.ome.model` parses the paths of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ozx.errors import UsageError
from ozx.ome.model import Plate
from ozx.ome.nodes import Node, ome_at
from ozx.zarr.keys import join_path


@dataclass(frozen=True, slots=True)
class Well:
    """A well of a plate, from the plate's metadata.

    Attributes
    ----------
    path
        Path of its group below the plate.
    fields
        Number of fields that the well lists; None if the list is missing.
    """

    path: str
    fields: int | None


def plate_wells(nodes: Mapping[str, Node]) -> tuple[Well, ...]:
    """Return the wells if the root is a plate, else an empty result."""
    plate = ome_at(nodes, "").plate
    wells = []
    for path in () if plate is None else plate.wells:
        fields = ome_at(nodes, join_path("", path)).fields
        wells.append(Well(path, None if fields is None else len(fields)))
    return tuple(wells)


def placed_wells(plate: Plate) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Yield the path of each well that a plate lists, with its row and column; None if the plate has no such place."""
    # Of a repeated name, the first index counts.
    rows, columns = (
        {name: number for number, name in reversed(list(enumerate(names)))} for names in (plate.rows, plate.columns)
    )
    for path in plate.wells:
        # OME-Zarr 0.4 and 0.5, "plate": a well's path is the name of its row, a slash, the name of its column.
        row, _, column = join_path("", path).partition("/")
        yield path, (rows[row], columns[column]) if row in rows and column in columns else None


def parse_field_counts(text: str) -> dict[str, int]:
    """Return the wells of a new plate, each with its number of fields, from a text such as ``A/1=2,B/3=4``."""
    from ozx.ome.subset.region import split_names  # noqa: PLC0415 (ozx info, which reads plates, does not need it)

    wells: dict[str, int] = {}
    for part in split_names(text):
        well, _, count = part.partition("=")
        if not count.strip().isdecimal() or well in wells:
            raise UsageError(f"--plate: expected wells with their number of fields, as in A/1=2,B/3=4; got {text!r}")
        wells[well] = int(count)
    return wells

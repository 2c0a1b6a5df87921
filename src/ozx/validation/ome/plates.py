"""Rules about plates, wells and fields (OME-Zarr 0.5.2, plate and well metadata)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ozx.validation.nodes.place import (
    MISSING,
    Check,
    JsonPlace,
    as_integer,
    expect_integer,
    expect_object,
    expect_objects,
    expect_text,
    repeated,
)
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.zarr.json_reading import as_list, as_object
from ozx.zarr.keys import join_path

_ALPHANUMERIC = re.compile("[A-Za-z0-9]+")
# 0.6: "The `path` MUST only use characters in the sets `a-z`, `A-Z`, `0-9`, `-`, `_`, `.`", "MUST NOT consist only of
# periods (like `.` or `..`) or start with the reserved prefix `__`".
_NODE_NAME = re.compile(r"(?!\.+$)(?!__)[A-Za-z0-9_.-]+")


def check_plate(value: Any, place: JsonPlace, *, has_version: bool = True) -> Iterator[Finding]:
    """Yield findings about a plate's rows, columns, wells and acquisitions, and (up to OME-Zarr 0.5) its version."""
    plate = yield from expect_object(value, place, "ome/plate")
    if plate is None:
        return
    # OME-Zarr 0.5.2, "plate": "The `plate` dictionary MUST contain a `rows` key whose value MUST be a list of JSON
    # objects defining the rows of the plate." Likewise `columns`.
    rows = yield from _check_lines(plate.get("rows", MISSING), place / "rows")
    columns = yield from _check_lines(plate.get("columns", MISSING), place / "columns")
    # "The `plate` dictionary MUST contain a `wells` key whose value MUST be a list of JSON objects defining the wells
    # of the plate."
    wells = yield from expect_objects(plate.get("wells", MISSING), place / "wells", "ome/plate", may_be_empty=True)
    if plate.get("wells") == []:
        yield (place / "wells").finding("ome/schema", "plate.schema expects at least one well; the list is empty")
    yield from _check_wells(wells, rows, columns, place / "wells")
    # "The `plate` dictionary MAY contain an `acquisitions` key whose value MUST be a list of JSON objects defining the
    # acquisitions for a given plate to which wells can refer to."
    if "acquisitions" in plate:
        yield from _check_acquisitions(plate["acquisitions"], place / "acquisitions")
    # "The `plate` dictionary SHOULD contain a `field_count` key whose value MUST be a positive integer", "SHOULD
    # contain a `name` key whose value MUST be a string".
    yield from expect_integer(plate, "field_count", place, "ome/plate", least=1, is_optional=True)
    yield from expect_text(plate, "name", place, "ome/plate", is_optional=True, may_be_empty=True)
    missing = [key for key in ("name", "field_count") if key not in plate]
    if missing:
        yield place.finding("ome/plate-description", f"plate: expected {' and '.join(missing)}; missing")
    # "The `plate` dictionary MUST contain a `version` key whose value MUST be a string". The schema does not require
    # it, the group has a version of its own, and 0.6 has no such key.
    if has_version and "version" not in plate:
        yield place.finding("ome/plate-version", "plate: expected a version; it is missing")


def _check_lines(value: Any, place: JsonPlace) -> Check[list[str | None]]:
    """Yield findings about the rows or columns of a plate; return the names of these rows or columns."""
    names = []
    for where, item in (yield from expect_objects(value, place, "ome/plate")):
        # "Each defined row MUST contain a `name` key whose value MUST be a string defining the row name."
        name = yield from expect_text(item, "name", where, "ome/plate")
        names.append(name)
        # "The `name` MUST contain only alphanumeric characters".
        if name is not None and not _ALPHANUMERIC.fullmatch(name):
            yield (where / "name").finding("ome/plate-names", f"expected letters and digits; found {shown(name)}")
    known = [name for name in names if name is not None]
    # "and MUST NOT be a duplicate of any other `name` in the `rows` list."
    if several := repeated(known):
        yield place.finding("ome/plate-names", f"expected each name once; found {listed(several)} more than once")
    # "Care SHOULD be taken to avoid collisions on case-insensitive filesystems".
    if alike := repeated(name.lower() for name in set(known)):
        message = f"expected names that differ by more than case; found several spellings of {listed(alike)}"
        yield place.finding("ome/plate-case", message)
    return names


def _check_wells(
    wells: Sequence[tuple[JsonPlace, dict[str, Any]]],
    rows: Sequence[str | None],
    columns: Sequence[str | None],
    place: JsonPlace,
) -> Iterator[Finding]:
    paths = []
    for where, well in wells:
        # "Each well object MUST contain a `path` key whose value MUST be a string", "both a `rowIndex` key whose value
        # MUST be an integer … and a `columnIndex` key". "`rowIndex` and `columnIndex` MUST be 0-based."
        path = yield from expect_text(well, "path", where, "ome/plate")
        row = yield from expect_integer(well, "rowIndex", where, "ome/plate", least=0)
        column = yield from expect_integer(well, "columnIndex", where, "ome/plate", least=0)
        if path is None:
            continue
        paths.append(path)
        # "The `path` MUST consist of a `name` in the `rows` list, a file separator (`/`), and a `name` from the
        # `columns` list, in that order. The `path` MUST NOT contain additional leading or trailing directories."
        row_name, _, column_name = path.partition("/")
        if row_name not in rows or column_name not in columns:
            message = f"expected the name of a row, a slash and the name of a column; found {shown(path)}"
            yield (where / "path").finding("ome/well-path", message)
        # "The `rowIndex`, `columnIndex`, and `path` MUST all refer to the same row/column pair."
        elif row is not None and column is not None:
            expected = f"{_name_at(rows, row)}/{_name_at(columns, column)}"
            if path != expected:
                message = f"{shown(path)}: rowIndex {row} and columnIndex {column} belong to {shown(expected)}"
                yield where.finding("ome/well-path", message)
    # plate.schema of 0.5.2: the wells are "uniqueItems".
    if several := repeated(paths):
        yield place.finding("ome/well-path", f"expected each well once; found {listed(several)} more than once")


def _name_at(names: Sequence[str | None], index: int) -> str | None:
    return names[index] if index < len(names) else "(no such)"


def _check_acquisitions(value: Any, place: JsonPlace) -> Iterator[Finding]:
    rule = "ome/acquisitions"
    identifiers = []
    for where, item in (yield from expect_objects(value, place, rule, may_be_empty=True)):
        # "Each acquisition object MUST contain an `id` key whose value MUST be an unique integer identifier greater
        # than or equal to 0 within the context of the plate".
        identifiers.append((yield from expect_integer(item, "id", where, rule, least=0)))
        # "SHOULD contain a `name` key whose value MUST be a string", "SHOULD contain a `maximumfieldcount` key whose
        # value MUST be a positive integer", "MAY contain a `description` key whose value MUST be a string", "MAY
        # contain a `starttime` and/or `endtime` key whose values MUST be integer epoch timestamps".
        for key in ("name", "description"):
            if item.get(key, MISSING) is not MISSING and not isinstance(item[key], str):
                yield (where / key).finding(rule, f"expected {key}, a string; found {shown(item[key])}")
        yield from expect_integer(item, "maximumfieldcount", where, rule, least=1, is_optional=True)
        for key in ("starttime", "endtime"):
            time = yield from expect_integer(item, key, where, rule, is_optional=True)
            if time is not None and time < 0:
                yield (where / key).finding("ome/schema", f"plate.schema expects no time before 1970; found {time}")
        missing = [key for key in ("name", "maximumfieldcount") if key not in item]
        if missing:
            message = f"acquisition: expected {' and '.join(missing)}; missing"
            yield where.finding("ome/plate-description", message)
    if several := repeated(number for number in identifiers if number is not None):
        yield place.finding(rule, f"expected each id once; found {listed(several)} more than once")


def check_well(value: Any, place: JsonPlace, *, has_free_paths: bool = False) -> Iterator[Finding]:
    """Yield findings about a well's list of fields; OME-Zarr 0.6 allows more characters in their paths."""
    well = yield from expect_object(value, place, "ome/well")
    if well is None:
        return
    # OME-Zarr 0.5.2, "well": "The `well` dictionary MUST contain an `images` key whose value MUST be a list of JSON
    # objects specifying all fields of views for a given well."
    paths = []
    for where, item in (yield from expect_objects(well.get("images", MISSING), place / "images", "ome/well")):
        # "Each image object MUST contain a `path` key whose value MUST be a string specifying the path to the field of
        # view."
        path = yield from expect_text(item, "path", where, "ome/well")
        if path is not None:
            paths.append(path)
            # "The `path` MUST contain only alphanumeric characters, MUST be case-sensitive".
            if not (_NODE_NAME if has_free_paths else _ALPHANUMERIC).fullmatch(path):
                expected = (
                    "letters, digits, -, _ and ., but no __ at the beginning"
                    if has_free_paths
                    else "letters and digits"
                )
                yield (where / "path").finding("ome/field-path", f"expected {expected}; found {shown(path)}")
        # "it MUST contain an `acquisition` key whose value MUST be an integer identifying the acquisition".
        yield from expect_integer(item, "acquisition", where, "ome/well", is_optional=True)
    # "and MUST NOT be a duplicate of any other `path` in the `images` list."
    if several := repeated(paths):
        message = f"expected each field once; found {listed(several)} more than once"
        yield (place / "images").finding("ome/field-path", message)


# Rules about plates, their wells and fields (OME-Zarr 0.5.2, "plate" and "well" metadata).


def check_plate_wells(plate: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about a plate and the groups of its wells."""
    if plate.ome.plate is None:
        return
    document = as_object(plate.ome.raw.get("plate"))
    place = plate.place / "plate"
    wells = [as_object(item).get("path") for item in as_list(document.get("wells"))]
    most = 0
    for number, name in enumerate(wells):
        if not isinstance(name, str):
            continue
        path = nodes.resolve(plate, name)
        if path is not None and nodes.is_unknown(path):
            continue
        well = None if path is None else nodes.group(path)
        # OME-Zarr 0.5.2, "High-content screening": "the group above the images defines the well and MUST implement the
        # well specification". "plate": "Each well object MUST contain a `path` key whose value MUST be a string
        # specifying the path to the well subgroup."
        if well is None or well.ome.fields is None:
            found = "it has no metadata of a well" if path is not None and nodes.is_group(path) else "there is none"
            message = f"expected the group of a well at {shown(name)}; {found}"
            yield (place / "wells" / number / "path").finding("ome/well-missing", message)
            continue
        most = max(most, len(well.ome.fields))
        yield from _check_acquisitions_of_well(well, document)
    # "a `field_count` key whose value MUST be a positive integer defining the maximum number of fields per view across
    # all wells."
    if plate.ome.plate.field_count is not None and most > plate.ome.plate.field_count:
        message = (
            f"expected field_count of at least {most:,}, because a well has {most:,} fields; "
            f"found {plate.ome.plate.field_count:,}"
        )
        yield (place / "field_count").finding("ome/field-count", message)
    yield from _check_unlisted(plate, [name for name in wells if isinstance(name, str)], nodes)


def _check_acquisitions_of_well(well: OmeGroup, plate: dict[str, Any]) -> Iterator[Finding]:
    known = [as_object(item).get("id") for item in as_list(plate.get("acquisitions"))]
    for number, image in enumerate(as_list(as_object(well.ome.raw.get("well")).get("images"))):
        acquisition = as_object(image).get("acquisition")
        where = well.place / "well" / "images" / number
        # OME-Zarr 0.5.2, "well": "If multiple acquisitions were performed in the plate, it MUST contain an
        # `acquisition` key whose value MUST be an integer identifying the acquisition which MUST match one of the
        # acquisition JSON objects defined in the plate metadata".
        if acquisition is None and len(known) > 1:
            message = f"expected an acquisition, because the plate has {len(known):,} acquisitions; it is missing"
            yield where.finding("ome/field-acquisition", message)
        elif as_integer(acquisition) is not None and acquisition not in known:
            message = f"expected an acquisition of the plate, which has {listed(known) or 'none'}; found {acquisition}"
            yield (where / "acquisition").finding("ome/field-acquisition", message)


def _check_unlisted(plate: OmeGroup, wells: list[str], nodes: OmeNodes) -> Iterator[Finding]:
    listed_wells = {nodes.resolve(plate, name) for name in wells}
    others = [path for path in nodes.below(plate.path) if path not in listed_wells]
    unlisted = [path for path in others if (group := nodes.group(path)) is not None and group.ome.fields is not None]
    # Viewers do not show unlisted wells; no clause forbids them.
    if unlisted:
        message = f"the plate does not list the wells {listed(unlisted)}: viewers do not show them"
        yield (plate.place / "plate" / "wells").finding("ome/unlisted", message)
    # OME-Zarr 0.5.2, "High-content screening": "A well row group SHOULD NOT be present if there are no images in the
    # well row."
    rows = plate.ome.plate.rows if plate.ome.plate is not None else ()
    paths = {row: join_path(plate.path, row) for row in rows}
    empty = [row for row, path in paths.items() if nodes.is_group(path) and not any(nodes.below(path))]
    if empty:
        message = f"expected no groups for rows without wells; found {listed(empty)}"
        yield (plate.place / "plate" / "rows").finding("ome/empty-row", message)


def check_well_fields(well: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about a well and the images of its fields."""
    if well.ome.fields is None:
        return
    images = as_list(as_object(well.ome.raw.get("well")).get("images"))
    found = set()
    for number, image in enumerate(images):
        name = as_object(image).get("path")
        if not isinstance(name, str):
            continue
        path = nodes.resolve(well, name)
        # OME-Zarr 0.5.2, "well": "Each image object MUST contain a `path` key whose value MUST be a string specifying
        # the path to the field of view."
        if path is None or not nodes.is_image(path):
            where = well.place / "well" / "images" / number / "path"
            yield where.finding("ome/field-missing", f"expected an image at {shown(name)}; found none")
        else:
            found.add(path)
    below = [path for path in nodes.below(well.path) if path.count("/") == well.path.count("/") + 1]
    unlisted = [path for path in below if path not in found and nodes.is_image(path)]
    if unlisted:
        message = f"the well does not list the fields {listed(unlisted)}: viewers do not show them"
        yield (well.place / "well" / "images").finding("ome/unlisted", message)

"""Rules about plates, their wells and fields (OME-Zarr 0.5.2, "plate" and "well" metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.values import as_list, as_object
from ozx.hierarchy.nodes import join_path
from ozx.validation.nodes.expecting import as_integer
from ozx.validation.ome.nodes import OmeGroup, OmeNodes
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown


def check_plate_wells(plate: OmeGroup, nodes: OmeNodes) -> Iterator[Finding]:
    """Yield findings about a plate and the groups of its wells."""
    if plate.ome.plate is None:
        return
    document = as_object(plate.raw("plate"))
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
        yield from _check_acquisitions(well, document)
    # "a `field_count` key whose value MUST be a positive integer defining the maximum number of fields per view across
    # all wells."
    if plate.ome.plate.field_count is not None and most > plate.ome.plate.field_count:
        message = (
            f"expected field_count of at least {most:,}, because a well has {most:,} fields; "
            f"found {plate.ome.plate.field_count:,}"
        )
        yield (place / "field_count").finding("ome/field-count", message)
    yield from _check_unlisted(plate, [name for name in wells if isinstance(name, str)], nodes)


def _check_acquisitions(well: OmeGroup, plate: dict[str, Any]) -> Iterator[Finding]:
    known = [as_object(item).get("id") for item in as_list(plate.get("acquisitions"))]
    for number, image in enumerate(as_list(as_object(well.raw("well")).get("images"))):
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
    images = as_list(as_object(well.raw("well")).get("images"))
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

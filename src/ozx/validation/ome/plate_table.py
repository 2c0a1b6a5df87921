"""The rules about plates and series: rows of the one table, see `ozx.validation.rules`."""

from __future__ import annotations

from functools import partial

from ozx.validation.rule import Rule

__all__ = ["PLATE_RULES"]

_OME = partial(Rule, document="OME-Zarr", revision="0.5.2 (2025-01-10)")
_OZX = partial(Rule, document="Decision of ozx", revision="2026-11")

PLATE_RULES: tuple[Rule, ...] = (
    _OME(
        id="ome/plate",
        severity="error",
        title="The plate is malformed",
        clause="`plate` must contain `rows` and `columns`, lists of objects with a `name`, and `wells`, a list of "
        "objects with `path`, `rowIndex` and `columnIndex`. `field_count` must be a positive integer, `name` a "
        "string.",
        meaning="Readers cannot lay out the plate.",
        repair="Write what is missing.",
    ),
    _OME(
        id="ome/plate-description",
        severity="warning",
        title="The plate is described incompletely",
        clause="`plate` should contain `name` and `field_count`, each acquisition `name` and `maximumfieldcount`.",
        meaning="Programs have nothing to call the plate, and must open all wells to learn how many fields there are.",
        repair="Write what is missing.",
    ),
    _OME(
        id="ome/plate-version",
        severity="note",
        title="The plate has no version of its own",
        clause="The text has it that `plate` must contain `version`; its schema does not, and the version of the "
        "group says the same. For ozx it may be absent.",
        meaning="Strict readers of the text may ask for it.",
        repair="Write the version of the group; `ozx repack` writes it when it converts 0.4.",
    ),
    _OME(
        id="ome/plate-names",
        severity="error",
        title="Names of rows or columns are not letters and digits, or not unique",
        clause="The `name` must contain only alphanumeric characters, and must not be a duplicate of any other name "
        "in the list.",
        meaning="Readers do not find the wells.",
        repair="Rename the row or column, and its folder.",
    ),
    _OME(
        id="ome/plate-case",
        severity="warning",
        title="Names of rows or columns differ by case only",
        clause="Care should be taken to avoid collisions on case-insensitive file systems, such as both `Aa` and `aA`.",
        meaning="On Windows and macOS two wells become one folder.",
        repair="Rename the row or column, and its folder.",
    ),
    _OME(
        id="ome/well-path",
        severity="error",
        title="The path of a well is not that of its row and column",
        clause="The `path` must consist of the name of a row, a slash and the name of a column; `rowIndex`, "
        "`columnIndex` and `path` must all refer to the same pair. Each well is listed once.",
        meaning="Readers show the well in another place, or not at all.",
        repair="Correct the path or the indexes, which count from 0.",
    ),
    _OME(
        id="ome/well-missing",
        severity="error",
        title="A well leads to no group of a well",
        clause="`path` is the path to the well's group; the group above the images must implement the well "
        "specification.",
        meaning="Readers stop, or show an empty well.",
        repair="Remove the well from the list, or copy the group that was left out.",
    ),
    _OME(
        id="ome/empty-row",
        severity="warning",
        title="There is a group for a row without wells",
        clause="The group of a row should not be present if there are no images in the row.",
        meaning="Readers look for wells in vain.",
        repair="Remove the group.",
    ),
    _OME(
        id="ome/field-count",
        severity="warning",
        title="A well has more fields than field_count says",
        clause="`field_count` is the maximum number of fields across all wells.",
        meaning="Readers that lay out the plate by it leave fields out.",
        repair="Write the largest number of fields of a well.",
    ),
    _OME(
        id="ome/acquisitions",
        severity="error",
        title="The acquisitions are malformed, or have the same id",
        clause="`acquisitions` must be a list of objects with an `id`, a unique integer of at least 0; `name` and "
        "`description` must be strings, `maximumfieldcount` a positive integer, `starttime` and `endtime` integers.",
        meaning="Readers cannot tell the acquisitions apart.",
        repair="Write what is missing.",
    ),
    _OME(
        id="ome/well",
        severity="error",
        title="The well does not list its fields",
        clause="`well` must contain `images`, a list of objects, each of which must contain `path`, a string; "
        "`acquisition` is an integer.",
        meaning="Readers do not find the fields.",
        repair="Write the list.",
    ),
    _OME(
        id="ome/field-path",
        severity="error",
        title="The path of a field is not letters and digits, or not unique",
        clause="The `path` of a field must contain only alphanumeric characters, and must not be a duplicate of any "
        "other in the list.",
        meaning="Readers show the same field twice, or refuse the well.",
        repair="Rename the field, and its folder.",
    ),
    _OME(
        id="ome/field-missing",
        severity="error",
        title="A field leads to no image",
        clause="Each image object must contain `path`, the path to the field of view.",
        meaning="Readers stop, or show an empty field.",
        repair="Remove the field from the list, or copy the image that was left out.",
    ),
    _OME(
        id="ome/field-acquisition",
        severity="error",
        title="A field belongs to no acquisition of the plate",
        clause="If multiple acquisitions were performed in the plate, a field must contain `acquisition`, which must "
        "match one of the acquisitions of the plate.",
        meaning="Readers that show one acquisition leave the field out.",
        repair="Write the id of the acquisition, or describe the acquisition in the plate.",
    ),
    _OZX(
        id="ome/unlisted",
        severity="note",
        title="There are wells or fields that no list names",
        clause="No clause forbids them. Readers go by the lists of `plate` and `well`.",
        meaning="Viewers do not show them.",
        repair="Add them to the list, or remove them.",
    ),
    _OME(
        id="ome/bioformats2raw",
        severity="error",
        title="bioformats2raw.layout is not 3",
        clause="Conforming groups must have the value 3 for the key `bioformats2raw.layout`.",
        meaning="Readers do not take the group for a collection of images.",
        repair="Write the number 3.",
    ),
    _OME(
        id="ome/series",
        severity="error",
        title="series is no list of paths",
        clause="`series` must be a list of strings, each of which is a path to an image group.",
        meaning="Readers do not find the images.",
        repair="Write the list, or remove the key where the images are numbered from 0.",
    ),
    _OME(
        id="ome/series-missing",
        severity="error",
        title="A series leads to no image",
        clause="`series` must be a list of strings, each of which is a path to an image group, from the root.",
        meaning="Readers stop, or show an empty image.",
        repair="Remove the path from the list, or copy the image that was left out.",
    ),
    _OME(
        id="ome/series-numbers",
        severity="error",
        title="The images of a collection are not numbered from 0",
        clause="If `series` does not exist and no plate is present, images must be stored in consecutively numbered "
        "groups starting from 0.",
        meaning="Readers stop at the first number that is missing.",
        repair="Write `series` into the group `OME`, or rename the groups.",
    ),
    _OME(
        id="ome/plate-series",
        severity="warning",
        title="A plate in a collection has no series",
        clause="If plate metadata are present, matching `series` metadata should be provided for tools that are "
        "unaware of the plate specification.",
        meaning="Such programs find no images.",
        repair="Write `series` with the paths of all fields into the group `OME`.",
    ),
    _OME(
        id="ome/ome-xml",
        severity="warning",
        title="A collection has no OME/METADATA.ome.xml",
        clause="Conforming groups should have OME metadata that represent the entire collection of images in a file "
        "named `OME/METADATA.ome.xml`.",
        meaning="What the acquisition software knew of the images is lost.",
        repair="Copy the file that was left out.",
    ),
)

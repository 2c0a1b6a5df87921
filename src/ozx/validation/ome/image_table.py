"""The rules about images: rows of the one table, see `ozx.validation.rules`."""

from __future__ import annotations

from functools import partial

from ozx.validation.rule import Rule

__all__ = ["IMAGE_RULES"]

_OME = partial(Rule, document="OME-Zarr", revision="0.5.2 (2025-01-10)")
_OZX = partial(Rule, document="Decision of ozx", revision="2026-11")

IMAGE_RULES: tuple[Rule, ...] = (
    _OME(
        id="ome/metadata",
        severity="error",
        title="attributes.ome is no object",
        clause="OME-Zarr metadata are stored under the key `ome` in `attributes`, as keys of an object.",
        meaning="No reader finds anything in this group.",
        repair="Write an object, or remove the key.",
    ),
    _OME(
        id="ome/namespace",
        severity="warning",
        title="OME-Zarr metadata stand in the place of another version",
        clause="In Zarr v3 the metadata stand under the key `ome` in `attributes`; in Zarr v2 (OME-Zarr 0.4) beside "
        "each other in `.zattrs`.",
        meaning="Readers look in the place of the Zarr version, and find nothing.",
        repair="Move the keys. `ozx repack` converts OME-Zarr 0.4 in Zarr v2 to 0.5.",
    ),
    _OME(
        id="ome/version",
        severity="warning",
        title="The version is missing, or no string",
        clause="The version of OME-Zarr metadata is a string in `version`, in the `ome` namespace. Below the root, "
        "where it says nothing new, it is a warning when it is missing, an error when it is no string; images of 0.4 "
        "should have one each.",
        meaning="Readers that open the group by itself do not know by which rules to read it; ome-zarr-models refuses "
        "it.",
        repair="Write the version that the root has.",
    ),
    _OME(
        id="ome/inner-version",
        severity="warning",
        title="A part of the metadata has another version than the group",
        clause="The version of OME-Zarr metadata must be consistent within a hierarchy. From 0.5 on it stands in "
        "`ome`; versions within `multiscales`, `omero`, `plate`, `well` and `image-label` are left over from 0.4.",
        meaning="Readers that go by it take the metadata for those of another version.",
        repair="Remove the inner version.",
    ),
    _OZX(
        id="ome/unknown-version",
        severity="note",
        title="The rules of this OME-Zarr version are not known",
        clause="0.4, 0.5 and 0.6 are checked. Of a later version only what has the form of these is, and nothing of "
        "it is called an error.",
        meaning="The metadata may break rules of their own version that nobody has looked for.",
        repair="Validate with a newer release of this program, or with a validator of that version.",
    ),
    _OME(
        id="ome/multiscales",
        severity="error",
        title="multiscales is no list of images",
        clause="`multiscales` contains a list of dictionaries where each entry describes a multiscale image.",
        meaning="The image cannot be opened.",
        repair="Write a list of at least one object.",
    ),
    _OME(
        id="ome/image-name",
        severity="warning",
        title="The image has no name",
        clause="Each `multiscales` dictionary should contain the field `name`.",
        meaning="Programs have nothing to call the image, and nothing to choose it by where there are several.",
        repair="Write a name; `ozx edit --name` does.",
    ),
    _OME(
        id="ome/downscaling",
        severity="note",
        title="It is not said how the smaller levels were made",
        clause="Each `multiscales` dictionary should contain the field `type`, which gives the type of downscaling "
        "method used to generate the pyramid, and `metadata`, a dictionary with more about it. An image of one level "
        "was not downscaled and needs neither. Where `type` is there, missing `metadata` are not reported. It is a "
        "note, as whoever was given the levels may not know it.",
        meaning="Nobody can tell means from samples in the smaller levels.",
        repair="Write `type` and `metadata` where the program that made the levels is known.",
    ),
    _OME(
        id="ome/axes",
        severity="error",
        title="The axes are missing or no list of named axes",
        clause="Each `multiscales` dictionary must contain the field `axes`, a list of dictionaries, each of which "
        "must contain the field `name`.",
        meaning="Readers cannot tell which dimension of the arrays is which.",
        repair="Write one object with a name for each dimension, in the order of the arrays.",
    ),
    _OME(
        id="ome/axis-names",
        severity="error",
        title="Two axes have the same name",
        clause="The values must be unique across all `name` fields.",
        meaning="Readers that find axes by name take one for the other.",
        repair="Give each axis a name of its own.",
    ),
    _OME(
        id="ome/axis-type",
        severity="warning",
        title="An axis has no type",
        clause="An axis should contain the field `type`, one of space, time or channel, or another string. What is no "
        "string is an error.",
        meaning="Readers have to guess from the name what the axis is.",
        repair="Write the type.",
    ),
    _OME(
        id="ome/axis-unit",
        severity="warning",
        title="An axis has no unit that OME-Zarr names",
        clause="An axis should contain the field `unit`; the value should be one of those listed for space and for "
        "time. Axes of other types need none. A unit that is missing is a note, as it may not be known.",
        meaning="Readers cannot tell micrometers from pixels.",
        repair="Write the unit where it is known, spelled in full, such as micrometer; `ozx edit --unit` does.",
    ),
    _OME(
        id="ome/axes-count",
        severity="error",
        title="Too many or too few axes, or axes of a type",
        clause="There must be 2 to 5 axes: 2 or 3 of type space, at most one of type time, at most one of type "
        "channel or of a null or custom type.",
        meaning="Readers refuse the image, or take axes for others.",
        repair="Write the types of the axes; store what has more dimensions as several images.",
    ),
    _OME(
        id="ome/axes-order",
        severity="error",
        title="The axes are not in the order time, channel, space",
        clause="The entries must be ordered by type: time first, then channel or custom, then space.",
        meaning="Readers that go by position show time for space.",
        repair="Transpose the arrays, and reorder the axes with them.",
    ),
    _OME(
        id="ome/axes-zyx",
        severity="warning",
        title="The axes of space are not in the order z, y, x",
        clause="Of three spatial axes where two are the image plane and images are stacked along the other, the order "
        "should be zyx.",
        meaning="Readers that go by position show another plane than the imaged one.",
        repair="Transpose the arrays, and reorder the axes with them.",
    ),
    _OME(
        id="ome/coordinate-systems",
        severity="error",
        title="The coordinate systems are missing, or no list with unique names",
        clause="From 0.6 on each `multiscales` dictionary must contain `coordinateSystems`, a list of objects, each of "
        "which must contain a non-empty `name` that is unique among them, and `axes`.",
        meaning="Transformations lead nowhere.",
        repair="Name each coordinate system once.",
    ),
    _OME(
        id="ome/scene",
        severity="error",
        title="The scene is malformed",
        clause="From 0.6 on a group may hold a `scene`, an object with a list `coordinateTransformations`, which say "
        "how images lie to each other.",
        meaning="Readers cannot put the images into one space.",
        repair="Write an object with the list.",
    ),
    _OME(
        id="ome/datasets",
        severity="error",
        title="The list of levels is missing or malformed",
        clause="Each `multiscales` dictionary must contain the field `datasets`, a list of dictionaries, each of "
        "which must contain the field `path`.",
        meaning="Readers do not find the arrays.",
        repair="List the arrays, the largest first.",
    ),
    _OME(
        id="ome/level-missing",
        severity="error",
        title="A level leads to no array",
        clause="`path` contains the path to the array for this resolution relative to the current group.",
        meaning="Opening the level fails; some readers refuse the whole image.",
        repair="Remove the level from the list, or copy the array that was left out.",
    ),
    _OME(
        id="ome/level-order",
        severity="error",
        title="The levels are not ordered from the largest to the smallest",
        clause="The paths must be ordered from largest (highest resolution) to smallest.",
        meaning="Readers take a small level for the full resolution.",
        repair="Reorder `datasets`.",
    ),
    _OZX(
        id="ome/level-shape",
        severity="warning",
        title="Shapes do not shrink as scales grow",
        clause="No clause says so: but a scale is the size of a pixel, so that a level of half as many pixels has "
        "pixels of twice the size. A pixel more or less, or a tenth, is not minded.",
        meaning="The levels do not lie upon each other: the image moves when one zooms.",
        repair="Correct the scales; `ozx edit --pixel-size` sets those of all levels.",
    ),
    _OZX(
        id="ome/level-type",
        severity="warning",
        title="The levels are of different data types",
        clause="No clause says so: but levels are the same image at several resolutions.",
        meaning="Contrast limits that fit one level do not fit another; some readers refuse the image.",
        repair="Make the smaller levels anew in the data type of the first.",
    ),
    _OME(
        id="ome/dimensions",
        severity="error",
        title="An array has not one dimension for each axis",
        clause="The length of `axes` must be equal to the number of dimensions of the arrays that contain the image "
        "data.",
        meaning="Readers refuse the image, or show another plane.",
        repair="Write one axis for each dimension.",
    ),
    _OME(
        id="ome/dimension-names",
        severity="error",
        title="dimension_names of an array are not the names of the axes",
        clause="The `dimension_names` attribute must be included in the `zarr.json` of the array of a multiscale "
        "level and must match the names in the `axes` metadata. The first text of 0.5 did not yet say that they must "
        "be included.",
        meaning="Readers that know Zarr, but not OME-Zarr, do not find the axes; ome-zarr-models refuses the image.",
        repair="Write the names of the axes into the array's `dimension_names`.",
    ),
    _OME(
        id="ome/transformations",
        severity="error",
        title="The transformations are missing, malformed or of another kind",
        clause="Each dictionary in `datasets` must contain the field `coordinateTransformations`, a list of "
        "dictionaries whose `type` must be scale or translation; in 0.6 one scale, identity, or sequence of both, "
        "from and to coordinate systems that there are.",
        meaning="Readers do not know where the pixels lie, nor how large they are.",
        repair="Write one scale, and a translation after it if need be; `ozx edit --pixel-size` sets scales.",
    ),
    _OME(
        id="ome/scale",
        severity="error",
        title="Not exactly one scale with a number for each axis",
        clause="The transformations must contain exactly one `scale`; its length must be the same as that of `axes`.",
        meaning="Readers do not know how large the pixels are.",
        repair="Write one scale with one number for each axis, 1 where nothing is known.",
    ),
    _OZX(
        id="ome/scale-value",
        severity="warning",
        title="A scale is zero or negative",
        clause="The text of 0.5 does not say so; 0.6 has it that values should be non-zero, its schema that they are "
        "greater than zero.",
        meaning="The pixels have no size: viewers show nothing, or divide by zero.",
        repair="Write the size of a pixel; `ozx edit --pixel-size` does.",
    ),
    _OME(
        id="ome/translation",
        severity="error",
        title="Several translations, one before the scale, or one of a wrong length",
        clause="The transformations may contain exactly one `translation`, which must be listed after `scale`; its "
        "length must be the same as that of `axes`.",
        meaning="Readers place the image differently.",
        repair="Write one translation after the scale, in physical units.",
    ),
    _OME(
        id="ome/transformation-path",
        severity="note",
        title="The numbers of a transformation are stored in an array",
        clause="A scale or translation is a list of numbers, or binary data at a location in this container (`path`).",
        meaning="It is allowed, but few programs read it, and this one does not check it.",
        repair="Write the numbers as a list.",
    ),
    _OME(
        id="ome/omero",
        severity="error",
        title="omero has no list of channels",
        clause="The `omero` metadata are optional, but if present they must contain the field `channels`, an array of "
        "dictionaries.",
        meaning="Viewers that look for channels stop.",
        repair="Write the channels, or remove `omero`.",
    ),
    _OME(
        id="ome/channel-color",
        severity="error",
        title="A channel has no color of six hexadecimal digits",
        clause="Each dictionary in `channels` must contain the field `color`, a string of 6 hexadecimal digits.",
        meaning="Viewers show the channel in another color, or stop.",
        repair="Write the color as RRGGBB; `ozx edit --colors` does.",
    ),
    _OME(
        id="ome/channel-window",
        severity="error",
        title="A channel has no window of four numbers",
        clause="Each dictionary in `channels` must contain the field `window`, which must contain `min`, `max`, "
        "`start` and `end`.",
        meaning="Viewers show the channel black or white, or stop.",
        repair="Write all four numbers.",
    ),
    _OZX(
        id="ome/channel-window-order",
        severity="note",
        title="A window ends before it begins",
        clause="`min` and `max` are the minimum and maximum values of the window, `start` and `end` its start and end "
        "values.",
        meaning="Viewers show the channel inverted or black.",
        repair="Exchange the numbers.",
    ),
    _OZX(
        id="ome/channel-display",
        severity="warning",
        title="A channel lacks active or label",
        clause="No clause asks for them. vizarr and others rely on both (tried in 2026).",
        meaning="Some viewers show a black picture, or stop.",
        repair="Write `active`, true or false, and `label`, a name; `ozx edit --channel-names` writes names.",
    ),
    _OME(
        id="ome/channel-count",
        severity="warning",
        title="omero has another number of channels than the array",
        clause="`channels` is an array matching the size of the channel axis.",
        meaning="Viewers give channels the colors of others, or stop.",
        repair="Describe each channel once.",
    ),
    _OZX(
        id="ome/default-plane",
        severity="warning",
        title="The plane or time point to show first is beyond the image",
        clause="`rdefs.defaultZ` and `rdefs.defaultT` are the first Z section and time point to show. vizarr shows "
        "black, or stops, beyond the image (tried in 2026).",
        meaning="Some viewers show a black picture, or stop.",
        repair="Write a number from 0 to the length of the axis less one.",
    ),
    _OZX(
        id="ome/second-opinion",
        severity="warning",
        title="ome-zarr-models refuses what these rules allow",
        clause="ome-zarr-models checks OME-Zarr metadata, too. Where it finds something that these rules do not, one "
        "of both is wrong.",
        meaning="Programs that build on ome-zarr-models refuse the group.",
        repair="Read the clause, and report the one that is wrong. `--no-second-opinion` leaves this out.",
    ),
)

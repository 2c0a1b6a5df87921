"""The rules about labels: rows of the one table, see `ozx.validation.rules`."""

from __future__ import annotations

from functools import partial

from ozx.validation.rule import Rule

__all__ = ["LABEL_RULES"]

_OME = partial(Rule, document="OME-Zarr", revision="0.5.2 (2025-01-10)")

LABEL_RULES: tuple[Rule, ...] = (
    _OME(
        id="ome/labels",
        severity="error",
        title="The labels group does not list its label images",
        clause="The metadata of the `labels` group must contain the key `labels`, a JSON array of paths to the labeled "
        "multiscale images.",
        meaning="Readers do not find the label images.",
        repair="Write the list.",
    ),
    _OME(
        id="ome/label-missing",
        severity="error",
        title="A label leads to no image",
        clause="`labels` is an array of paths to the labeled multiscale images; the group of a label image must "
        "implement the multiscales specification.",
        meaning="Opening the label fails; some readers refuse the whole image.",
        repair="Remove the path from the list, or copy the label image that was left out.",
    ),
    _OME(
        id="ome/label-unlisted",
        severity="warning",
        title="A label image is not listed",
        clause="All label images should be listed in the metadata of the `labels` group. In 0.4 they need not be.",
        meaning="Readers do not find it.",
        repair="Add its path to the list.",
    ),
    _OME(
        id="ome/label-type",
        severity="error",
        title="A label image is not of integers",
        clause="The pixels of the label images must be integer data types: uint8, int8, uint16, int16, uint32, int32, "
        "uint64 or int64.",
        meaning="Readers refuse the label image.",
        repair="Write the label image anew as integers.",
    ),
    _OME(
        id="ome/label-levels",
        severity="error",
        title="A label image has another number of levels than its image",
        clause="`datasets` of a label image must have the same number of entries as the original unlabeled image.",
        meaning="Readers find no labels for some levels of the image, or labels of another size.",
        repair="Make the missing levels, or remove those that are too many.",
    ),
    _OME(
        id="ome/label-shape",
        severity="warning",
        title="A label image is of another size than its image",
        clause="Each dimension of the label should be either the same as the corresponding dimension of the image, or "
        "1 if that dimension of the label is irrelevant.",
        meaning="The labels do not lie upon what they label.",
        repair="Write the label image anew in the size of the image.",
    ),
    _OME(
        id="ome/labels-between",
        severity="error",
        title="A group between labels and a label image has metadata",
        clause="Intermediate groups between `labels` and the images within it are allowed, but these must not contain "
        "metadata.",
        meaning="Readers take the group for an image.",
        repair="Remove `ome` from the group's attributes.",
    ),
    _OME(
        id="ome/image-label",
        severity="warning",
        title="A label image does not say what its values are",
        clause="The metadata of a label image should contain the key `image-label`, and that the key `colors`.",
        meaning="Readers cannot tell label images from others, and each shows other colors.",
        repair="Write `image-label` with `colors`.",
    ),
    _OME(
        id="ome/image-label-values",
        severity="error",
        title="Colors or properties of labels are malformed",
        clause="`colors` and `properties` must be arrays of objects, each of which must contain `label-value`, an "
        "integer; `rgba` must be an array of four integers between 0 and 255.",
        meaning="Readers show other colors, or refuse the label image.",
        repair="Write the values in the form of the clause.",
    ),
    _OME(
        id="ome/image-label-unique",
        severity="error",
        title="A label value has several colors",
        clause="`colors` contains one object for each unique label; 0.4 says that all label values must be unique.",
        meaning="It is left to the reader which color is shown.",
        repair="Keep one color for each value.",
    ),
    _OME(
        id="ome/image-label-source",
        severity="error",
        title="The source of a label image is malformed or leads to no image",
        clause="The value of `source` must be an object; its `image` must be a string, the relative path to an image "
        "group. A path that leads to none is a warning: labels may be kept apart from their image.",
        meaning="Readers cannot show the labels upon their image.",
        repair="Write the path from the label image to its image, mostly `../../`.",
    ),
)

"""The rows of the table for extensions of Zarr: core 3.1, ZEP 9 and ZEP 10."""

from __future__ import annotations

from ozx.validation.rule import Rule

__all__ = ["EXTENSION_RULES"]

_CORE, _CORE_REVISION = "Zarr core", "3.1 (2026-07-23)"
_ZEP10, _ZEP10_REVISION = "ZEP 10", "draft (2025-05-12)"

_MEND = "Repair the document in the hierarchy that was packed, and pack that anew."

EXTENSION_RULES = (
    Rule(
        id="zarr/extension-definition",
        severity="error",
        title="An extension is not written as it has to be",
        clause="An extension is a name, or an object with a `name`, a string, and perhaps a `configuration`, an "
        "object, and `must_understand`, true or false.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers cannot tell what they would have to understand, and refuse the node.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/extension-name",
        severity="error",
        title="An extension has a name that none may have",
        clause="A name begins with a lower-case letter, followed by lower-case letters, digits, `-`, `_` and `.`. "
        "Names of ZEP 9's looser form and URIs, which older texts asked for, are permitted in existing data: "
        "a note.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Readers know extensions by their names.",
        repair="Give the extension its registered name, where it has one.",
    ),
    Rule(
        id="zarr/extension-unregistered",
        severity="warning",
        title="An extension is not registered",
        clause="The name of an extension is one that has been registered before data are written with it. ozx looks "
        "into a list of its own, whose date stands in the finding. For ZEP 10's `extensions`, for which there "
        "is no registry, this is a note.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Only programs of whoever chose the name may be able to read the array. `ozx repack` transcodes chunks "
        "whose codec is not registered.",
        repair="`ozx repack` transcodes chunks into registered codecs.",
    ),
    Rule(
        id="zarr/must-understand",
        severity="error",
        title="must_understand is false where it may not be",
        clause='`"must_understand": false` is not supported for data type, chunk grid and chunk key encoding.',
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="Without them no reader can read the array.",
        repair="Leave it out.",
    ),
    Rule(
        id="zarr/storage-transformers",
        severity="error",
        title="The storage transformers are no array",
        clause="`storage_transformers` has to be an array of extensions, which may be empty.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The array cannot be opened.",
        repair=_MEND,
    ),
    Rule(
        id="zarr/extensions",
        severity="error",
        title="The extensions are no array, or an empty one",
        clause="`extensions` has to be an array of at least one extension; otherwise it has to be left out.",
        document=_ZEP10,
        revision=_ZEP10_REVISION,
        meaning="Readers that know the field refuse the node, as do those that do not.",
        repair="Leave the field out where there is no extension.",
    ),
    Rule(
        id="zarr/extension-not-understood",
        severity="error",
        title="An extension must be understood, and is not",
        clause='An extension that does not say `"must_understand": false` has to be understood by whoever opens the '
        "node. ozx understands those that a handler is installed for (`ozx.extensions`).",
        document=_ZEP10,
        revision=_ZEP10_REVISION,
        meaning="The node must not be opened. `ozx pack` and `ozx unpack` carry it unchanged; `ozx repack` keeps the "
        "chunks where they are.",
        repair="Install the package that has a handler for it, or have the program that wrote it take it out.",
    ),
    Rule(
        id="zarr/extension-configuration",
        severity="error",
        title="A handler finds the configuration of an extension wrong",
        clause="What the configuration of an extension has to be is defined by the extension; its handler, which is "
        "no part of ozx, checks it and says how grave a fault is.",
        document=_ZEP10,
        revision=_ZEP10_REVISION,
        meaning="What the extension stands for cannot be done.",
        repair="See the documentation of the extension.",
    ),
    Rule(
        id="zarr/extension-reference",
        severity="error",
        title="An extension refers to a node that is not there",
        clause="The metadata of an extension may stand in another node, to which a `reference` leads, such as "
        "`../..`. ozx asks that it stays inside the hierarchy and names a node.",
        document=_ZEP10,
        revision=_ZEP10_REVISION,
        meaning="What the extension stands for cannot be found.",
        repair="Repair the reference.",
    ),
)

"""The rows of the table for the metadata documents of Zarr."""

from __future__ import annotations

from ozx.validation.rule import Rule

__all__ = ["ZARR_RULES"]

_CORE = "Zarr core"
_CORE_REVISION = "3.1 (2026-07-23)"
_JSON = "RFC 8259 (JSON)"
_JSON_REVISION = "2017-12"

_MEND = "Mend the document in the hierarchy that was packed, and pack that anew."

ZARR_RULES = (
    Rule(
        id="zarr/json",
        severity="error",
        title="A metadata document cannot be read as a JSON object",
        clause="Metadata documents: the `zarr.json` of a node is a JSON object in UTF-8.",
        document=_CORE,
        revision=_CORE_REVISION,
        meaning="The node, and all below it, cannot be opened.",
        mend=_MEND,
    ),
    Rule(
        id="zarr/json-names",
        severity="error",
        title="A name stands twice in one object",
        clause="The names within an object should be unique; which value counts otherwise is left to the reader.",
        document=_JSON,
        revision=_JSON_REVISION,
        meaning="Most readers take the last value, some the first, some refuse the document: they differ.",
        mend=_MEND,
    ),
    Rule(
        id="zarr/json-numbers",
        severity="error",
        title="Numbers that JSON does not have",
        clause="NaN and infinities are not permitted as numbers. A number beyond the range of a double, which "
        "programs read differently, is a warning.",
        document=_JSON,
        revision=_JSON_REVISION,
        meaning="Python reads and writes NaN as a bare word; other readers refuse the whole document.",
        mend="Write NaN and infinities as strings, or leave them out.",
    ),
    Rule(
        id="zarr/json-text",
        severity="warning",
        title="A string holds half of a character",
        clause="Strings are Unicode; half of a surrogate pair is no character, and programs treat it differently.",
        document=_JSON,
        revision=_JSON_REVISION,
        meaning="The string cannot be written as UTF-8; programs replace it, drop it or fail.",
        mend=_MEND,
    ),
)

"""The rules about Zarr conventions: rows of the one table, see `ozx.validation.rules`."""

from __future__ import annotations

from functools import partial

from ozx.validation.rule import Rule

__all__ = ["CONVENTION_RULES"]

_V1 = partial(Rule, document="Zarr conventions", revision="v1 (2025-12-10)")
_SEED = partial(Rule, document="Zarr conventions", revision="0.1.0, superseded")
_OZX = partial(Rule, document="Decision of ozx", revision="2026-11")

CONVENTION_RULES: tuple[Rule, ...] = (
    _V1(
        id="conventions/array",
        severity="error",
        title="zarr_conventions is no list of objects",
        clause="The `zarr_conventions` attribute must be an array of Convention Metadata Objects.",
        meaning="Programs do not learn which conventions the node follows.",
        repair="Write a list of objects.",
    ),
    _V1(
        id="conventions/identity",
        severity="error",
        title="A convention has no identity",
        clause="Each Convention Metadata Object must contain at least one of `uuid`, `schema_url` and `spec_url`.",
        meaning="Nobody can tell which convention is meant: names are not unique.",
        repair="Write the `uuid` that the convention's own document gives.",
    ),
    _V1(
        id="conventions/fields",
        severity="error",
        title="A convention has unknown fields, or fields of the wrong type",
        clause="A Convention Metadata Object must not contain fields other than `uuid`, `schema_url`, `spec_url`, "
        "`name` and `description`. All are strings.",
        meaning="Strict readers refuse the declaration.",
        repair="Move what belongs to the convention into the attributes themselves.",
    ),
    _V1(
        id="conventions/uuid",
        severity="error",
        title="The uuid of a convention is none",
        clause="`uuid` is a UUID that permanently identifies the convention; it is compared as text, in lower case.",
        meaning="Programs that know the convention do not recognise it.",
        repair="Write the UUID in lower case, in five groups of hexadecimal digits.",
    ),
    _V1(
        id="conventions/url",
        severity="error",
        title="The schema_url or spec_url of a convention is no URL",
        clause="`schema_url` is a URL which resolves to a JSON schema document, `spec_url` one which resolves to a "
        "document that describes the convention.",
        meaning="Programs that know the convention by its URL do not recognise it.",
        repair="Write the whole URL.",
    ),
    _V1(
        id="conventions/description",
        severity="warning",
        title="A convention is declared without a name, or by its uuid alone",
        clause="A Convention Metadata Object should contain `name`; with a `uuid` it is recommended to also provide "
        "`schema_url` or `spec_url`.",
        meaning="People who have never matched of the convention find nothing to read about it.",
        repair="Write the name, and the URLs that the convention's own document gives.",
    ),
    _OZX(
        id="conventions/repeated",
        severity="note",
        title="A convention is declared twice",
        clause="Each object in the array describes one convention that applies to the node. No clause forbids two for "
        "one.",
        meaning="Programs may look at either.",
        repair="Remove one.",
    ),
    _SEED(
        id="conventions/superseded",
        severity="note",
        title="Conventions are declared in a form that was replaced",
        clause="`zarr_conventions_version` and `zarr_conventions_metadata` are of the draft 0.1.0. Since v1 "
        "(2025-12-10) conventions are declared in the array `zarr_conventions`, and their properties stand in the "
        "attributes.",
        meaning="Programs that know v1 do not see them.",
        repair="Write `zarr_conventions`, and move each `configuration` into the attributes.",
    ),
    _SEED(
        id="conventions/seed-version",
        severity="error",
        title="zarr_conventions_version is missing or no version",
        clause="Nodes must contain `zarr_conventions_version`, a semver-compatible string, and "
        "`zarr_conventions_metadata`, an object.",
        meaning="Readers do not know by which text to read the conventions.",
        repair="Write 0.1.0, or declare the conventions in the form of v1.",
    ),
    _SEED(
        id="conventions/seed-keys",
        severity="error",
        title="A convention has a key that is no UUID of version 4",
        clause="`zarr_conventions_metadata` must contain only UUIDs as keys; the creator of a convention must use the "
        "UUID4 function.",
        meaning="Nobody can tell which convention is meant.",
        repair="Write the UUID that the convention's own document gives.",
    ),
    _SEED(
        id="conventions/seed-object",
        severity="error",
        title="A convention of the old form lacks a field, or has unknown ones",
        clause="Each convention metadata object must contain `version`, a semver-compatible string, and "
        "`configuration`, an object; it may contain `name`, `schema`, `spec` and `description`, and must not contain "
        "additional fields.",
        meaning="Readers do not find what the convention says.",
        repair="Write what is missing, or declare the convention in the form of v1.",
    ),
    _SEED(
        id="conventions/seed-description",
        severity="warning",
        title="A convention of the old form has no name or schema",
        clause="A convention metadata object should contain `name` and `schema`.",
        meaning="People who have never matched of the convention find nothing to read about it.",
        repair="Write the name and the schema, or declare the convention in the form of v1.",
    ),
    _V1(
        id="conventions/schema",
        severity="error",
        title="The attributes are not as the convention's schema has them",
        clause="`schema_url` (`schema` in the draft 0.1.0) resolves to a JSON schema document which describes the "
        "convention's properties. Only schemas given by `--schema` are used; no URL is ever resolved.",
        meaning="Programs that know the convention refuse the attributes, or read them wrongly.",
        repair="Correct the attributes, or give the schema of the version that is meant.",
    ),
)

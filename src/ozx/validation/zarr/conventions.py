"""Rules about declarations of Zarr conventions: v1 (2025-12-10) and the earlier draft 0.1.0.

No URL is resolved. The attributes of a convention are checked only against schemas that the caller gives.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ozx.hierarchy.json.values import as_object
from ozx.validation.nodes.document import NodeDocument
from ozx.validation.nodes.expecting import MISSING, expect_list, expect_object, find
from ozx.validation.nodes.place import Place
from ozx.validation.report import Finding
from ozx.validation.wording import listed, shown
from ozx.validation.zarr.schemas import Schemas

#: The attribute that declares conventions since v1, and those of the draft before it.
CONVENTIONS = "zarr_conventions"
SEED_CONVENTIONS = "zarr_conventions_metadata"
SEED_VERSION = "zarr_conventions_version"

_IDENTITIES = ("uuid", "schema_url", "spec_url")
_FIELDS = (*_IDENTITIES, "name", "description")
_SEED_FIELDS = ("version", "configuration", "name", "schema", "spec", "description")

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID4 = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]+[^\s]*")
# semver.org, 2.0.0: three numbers without leading zeros, then perhaps a pre-release and a build.
_NUMBER = "(0|[1-9][0-9]*)"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)


def check_conventions(node: NodeDocument) -> Iterator[Finding]:
    """Yield findings about the conventions that a node declares."""
    attributes = as_object(node.attributes)
    place = Place(node.attributes_key, node.attributes_pointer)
    if CONVENTIONS in attributes:
        yield from _check_array(attributes[CONVENTIONS], place / CONVENTIONS)
    if SEED_CONVENTIONS in attributes or SEED_VERSION in attributes:
        yield from _check_seed(attributes, place)


def check_schemas(node: NodeDocument, schemas: Schemas) -> Iterator[Finding]:
    """Yield findings about attributes of a node that do not match a given schema of its conventions."""
    attributes = as_object(node.attributes)
    place = Place(node.attributes_key, node.attributes_pointer)
    declared = attributes.get(CONVENTIONS)
    for item in declared if isinstance(declared, list) else ():
        url = as_object(item).get("schema_url")
        # v1: `schema_url` "resolves to a JSON schema document which describes the Convention's properties". "Convention
        # properties exist at the root `attributes` level."
        for path, message in schemas.faults(url, attributes, node.document):
            yield place.below(*path).finding("conventions/schema", f"{shown(url)}: {message}")
    for key, item in as_object(attributes.get(SEED_CONVENTIONS)).items():
        # 0.1.0: `schema` "describes the convention's `configuration` object."
        url, configuration = as_object(item).get("schema"), as_object(as_object(item).get("configuration"))
        where = place / SEED_CONVENTIONS / key / "configuration"
        for path, message in schemas.faults(url, configuration):
            yield where.below(*path).finding("conventions/schema", f"{shown(url)}: {message}")


def _check_array(value: Any, place: Place) -> Iterator[Finding]:
    # By v1, "the `zarr_conventions` attribute MUST be an array of Convention Metadata Objects (CMO)."
    items = yield from expect_list(value, place, "conventions/array", "a list of objects")
    identities = []
    for number, item in enumerate(items or []):
        convention = yield from expect_object(item, place / number, "conventions/array")
        if convention is not None:
            yield from _check_convention(convention, place / number)
            identities.append(next((str(convention[key]) for key in _IDENTITIES if key in convention), None))
    repeated = [identity for identity, count in Counter(identities).items() if identity is not None and count > 1]
    if repeated:
        yield place.finding("conventions/repeated", f"declared more than once: {listed(repeated)}")


def _check_convention(convention: dict[str, Any], place: Place) -> Iterator[Finding]:
    # By v1, "at least one of `schema_url`, `spec_url`, or `uuid` MUST be present."
    if not any(key in convention for key in _IDENTITIES):
        message = f"expected uuid, schema_url or spec_url; found {listed(list(convention)) or 'nothing'}"
        yield place.finding("conventions/identity", message)
    # "The Convention Metadata Object MUST NOT contain additional fields beyond those specified above."
    unknown = [key for key in convention if key not in _FIELDS]
    if unknown:
        yield place.finding(
            "conventions/fields", f"expected no fields but {', '.join(_FIELDS)}; found {listed(unknown)}"
        )
    for key in _FIELDS:
        value = find(convention, key)
        if value is MISSING:
            continue
        where = place / key
        if not isinstance(value, str):
            yield where.finding("conventions/fields", f"expected {key}, a string; found {shown(value)}")
        # "`uuid` - a UUID (Universally Unique Identifier) that permanently identifies the Convention".
        elif key == "uuid" and not _UUID.fullmatch(value):
            yield where.finding("conventions/uuid", f"expected a UUID in lower case; found {shown(value)}")
        # "`schema_url` - a URL which resolves to a JSON schema document", "`spec_url` - a URL which resolves to a
        # document".
        elif key.endswith("_url") and not _URL.fullmatch(value):
            yield where.finding("conventions/url", f"expected a URL; found {shown(value)}")
    # "Additionally, a Convention Metadata Object SHOULD contain the following fields: `name` …; `schema_url` and
    # `spec_url` - when using `uuid` as the primary identifier, it is RECOMMENDED to also provide `schema_url` and/or
    # `spec_url`".
    missing = [] if "name" in convention else ["name"]
    if "uuid" in convention and "schema_url" not in convention and "spec_url" not in convention:
        missing.append("schema_url or spec_url")
    if missing:
        yield place.finding("conventions/description", f"expected {' and '.join(missing)}; missing")


def _check_seed(attributes: dict[str, Any], place: Place) -> Iterator[Finding]:
    found = " and ".join(key for key in (SEED_VERSION, SEED_CONVENTIONS) if key in attributes)
    yield place.finding("conventions/superseded", f"{found}: conventions are declared in the form of the draft 0.1.0")
    # 0.1.0: "Nodes which conform to this specification MUST contain the following fields within their `attributes`:
    # `zarr_conventions_version` - a semver-compatible string …, `zarr_conventions_metadata` - an object".
    version = find(attributes, SEED_VERSION)
    if not _is_semver(version):
        what = "it is missing" if version is MISSING else f"found {shown(version)}"
        yield place.finding("conventions/seed-version", f"expected {SEED_VERSION} of the form 0.1.0; {what}")
    where = place / SEED_CONVENTIONS
    conventions = yield from expect_object(find(attributes, SEED_CONVENTIONS), where, "conventions/seed-version")
    for key, item in (conventions or {}).items():
        # "The `zarr_conventions_metadata` object MUST contain only UUIDs as keys, encoded as strings." "the creator
        # MUST use the UUID4 function".
        if not _UUID4.fullmatch(key.lower()):
            yield (where / key).finding("conventions/seed-keys", f"expected a UUID of version 4; found {shown(key)}")
        convention = yield from expect_object(item, where / key, "conventions/seed-object")
        if convention is not None:
            yield from _check_seed_convention(convention, where / key)


def _check_seed_convention(convention: dict[str, Any], place: Place) -> Iterator[Finding]:
    rule = "conventions/seed-object"
    # 0.1.0: "Each convention metadata object MUST contain the following fields: `version` - a semver-compatible string
    # indicating the version of the convention."
    if not _is_semver(find(convention, "version")):
        found = "it is missing" if "version" not in convention else f"found {shown(convention['version'])}"
        yield place.finding(rule, f"expected a version of the form 0.1.0; {found}")
    # "`configuration` - an object containing the attributes described by the convention."
    yield from expect_object(find(convention, "configuration"), place / "configuration", rule)
    # "The conventions metadata object MUST NOT contain additional fields."
    unknown = [key for key in convention if key not in _SEED_FIELDS]
    if unknown:
        yield place.finding(rule, f"expected no fields but {', '.join(_SEED_FIELDS)}; found {listed(unknown)}")
    for key in ("name", "schema", "spec", "description"):
        value = find(convention, key)
        is_right = isinstance(value, str) and (key not in ("schema", "spec") or _URL.fullmatch(value))
        if value is not MISSING and not is_right:
            expected = "a URL" if key in ("schema", "spec") else "a string"
            yield (place / key).finding(rule, f"expected {key}, {expected}; found {shown(value)}")
    # "Additionally, a convention metadata object SHOULD contain the following fields: `name` …, `schema`".
    missing = [key for key in ("name", "schema") if key not in convention]
    if missing:
        yield place.finding("conventions/seed-description", f"expected {' and '.join(missing)}; missing")


def _is_semver(value: Any) -> bool:
    return isinstance(value, str) and _SEMVER.fullmatch(value) is not None

"""Rules about extensions (Zarr core 3.1, ZEP 9 and 10) and declared conventions (v1 and the draft 0.1.0)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ozx.extensions import ExtensionNode, find_handler
from ozx.ome.references import resolve_reference
from ozx.validation.nodes.facts import NodeFacts, ParsedNode
from ozx.validation.nodes.place import MISSING, JsonPlace, describe_found, expect_list, expect_object, repeated
from ozx.validation.report import Finding, Severity
from ozx.validation.wording import TENSORSTORE, ZARR_PYTHON, listed, shown
from ozx.validation.zarr.codecs import CODECS
from ozx.validation.zarr.schemas import Schemas
from ozx.zarr.extensions import (
    EXTENSIONS,
    Extension,
    array_extensions,
    is_listed,
    name_kind,
    parse_extensions,
    registry_date,
)
from ozx.zarr.json_reading import as_object

_BOTH = f"{ZARR_PYTHON} and {TENSORSTORE}"
# Core 3.1: "must_understand=False is not supported for the following extension points: data type, chunk grid, and chunk
# key encoding."
_ALWAYS_UNDERSTOOD = frozenset(("data_type", "chunk_grid", "chunk_key_encoding"))
_MEMBERS = frozenset(("name", "configuration", "must_understand"))


def check_extensions(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about the extensions of a node, at all six extension points."""
    if not node.is_v3 or node.node_type not in ("array", "group"):
        return
    for extension in _extensions_of(node):
        fault = _definition_fault(extension.value)
        if fault is not None:
            yield node.finding("zarr/extension-definition", f"{extension.what}: {fault}", extension.pointer)
        if extension.name:
            yield from _check_name(node, extension)
            yield from _check_form(node, extension)
            yield from _check_understood(node, extension)
    yield from _check_lists(node)


def check_references(nodes: Mapping[str, NodeFacts]) -> Iterator[Finding]:
    """Yield findings about extensions that refer to other nodes."""
    for path, node in nodes.items():
        for name, reference in node.references:
            # ZEP 10, "Application to sub-nodes": "A reference to the metadata as part of the extension itself".
            target = resolve_reference(path, reference)
            if target is None or target not in nodes:
                where = "which lies outside of the hierarchy" if target is None else "where there is no node"
                message = f"the extension {shown(name)} refers to {shown(reference)}, {where}"
                yield JsonPlace(node.key, "/extensions").finding("zarr/extension-reference", message)


def _extensions_of(node: ParsedNode) -> list[Extension]:
    found = array_extensions(node.document) if node.node_type == "array" else []
    found = [extension for extension in found if extension.pointer != "/storage_transformers"]
    if isinstance(node.document.get(EXTENSIONS), list):
        found += parse_extensions(node.document[EXTENSIONS])
    return found


def _called(extension: Extension) -> str:
    return f"the {extension.what} {shown(extension.name)}"


def _definition_fault(value: Any) -> str | None:
    # Core 3.1, "Extension definition": "the member name MUST be a plain string …. Optionally, the member configuration
    # MAY be present but if so MUST be an object." "Instead of extension objects, short-hand names MAY be used".
    if isinstance(value, str):
        return None if value else "expected a name; found an empty string"
    if not isinstance(value, dict):
        return f"expected a name, or an object with a name; found {shown(value)}"
    if not isinstance(value.get("name"), str) or not value["name"]:
        return f"expected an object with a name; found {shown(value)}"
    if not isinstance(value.get("configuration", {}), dict):
        return f"expected a configuration that is an object; found {shown(value['configuration'])}"
    if not isinstance(value.get("must_understand", True), bool):
        return f"expected must_understand to be true or false; found {shown(value['must_understand'])}"
    return None


def _check_name(node: ParsedNode, extension: Extension) -> Iterator[Finding]:
    # Core 3.1, "Extension naming": "Accepted regex: ^[a-z][a-z0-9-_.]+$".
    kind = name_kind(extension.name)
    if kind == "none":
        message = f"the name of {_called(extension)} is not allowed: use lower-case letters, digits, '-', '_' and '.'"
        yield node.finding("zarr/extension-name", message, extension.pointer)
    elif kind == "uri":
        message = f"the name of {_called(extension)} is a URI, as in ZEP 9 and older texts; ozx does not look it up"
        yield node.finding("zarr/extension-name", message, extension.pointer, severity="note")
    elif kind == "loose":
        message = f"only ZEP 9 allows the name of {_called(extension)}; core 3.1 demands at least two characters, "
        message += "of which the first is a letter"
        yield node.finding("zarr/extension-name", message, extension.pointer, severity="note")
    # "an identifier that has been registered prior to release in any implementation".
    elif not is_listed(extension.point, extension.name) and find_handler(extension.point, extension.name) is None:
        message = f"{_called(extension)} is not registered (registry as of {registry_date()})"
        # No released text has the extension point of ZEP 10, so no name can be registered for this point.
        severity: Severity | None = "note" if extension.point == EXTENSIONS else None
        yield node.finding("zarr/extension-unregistered", message, extension.pointer, severity=severity)


def _check_form(node: ParsedNode, extension: Extension) -> Iterator[Finding]:
    point, value = extension.point, extension.value
    if point in _ALWAYS_UNDERSTOOD and not extension.must_understand:
        message = f'{_called(extension)} says "must_understand": false, which is not allowed here'
        yield node.finding("zarr/must-understand", message, extension.pointer)
    if point == EXTENSIONS:
        return
    if isinstance(value, str) and point in ("codecs", "chunk_key_encoding"):
        message = f"{_BOTH} refuse short-hand names; write {_called(extension)} as an object"
        yield node.finding("zarr/reader-refuses", message, extension.pointer)
    if isinstance(value, dict) and point != "storage_transformers":
        if "must_understand" in value and extension.must_understand:
            message = f"{TENSORSTORE} refuses must_understand in {_called(extension)}; omit it: its default is true"
            yield node.finding("zarr/reader-refuses", message, extension.pointer)
        others = sorted(value.keys() - _MEMBERS)
        if others:
            message = f"{TENSORSTORE} refuses members it does not know; found {shown(others)} in {_called(extension)}"
            yield node.finding("zarr/reader-refuses", message, extension.pointer)


def _check_understood(node: ParsedNode, extension: Extension) -> Iterator[Finding]:
    handler = find_handler(extension.point, extension.name)
    if handler is not None:
        yield from _check_by(handler, node, extension)
    elif extension.point in (EXTENSIONS, "storage_transformers"):
        # ZEP 10, "Processing": "If an extension includes "must_understand": true (the default) and the implementation
        # does not support it, the node must not be loaded".
        if extension.must_understand:
            message = f"{_called(extension)} must be understood, but ozx has no handler for it"
            yield node.finding("zarr/extension-not-understood", message, extension.pointer)
        else:
            message = f"{_BOTH} refuse nodes with {_called(extension)}, though it may be ignored"
            yield node.finding("zarr/reader-refuses", message, extension.pointer)
    elif extension.point == "codecs" and not extension.must_understand:
        who = f"{TENSORSTORE} refuses" if extension.name in CODECS else f"{_BOTH} refuse"
        message = f'{who} {_called(extension)}, because it says "must_understand": false'
        yield node.finding("zarr/reader-refuses", message, extension.pointer)


def _check_by(handler: Any, node: ParsedNode, extension: Extension) -> Iterator[Finding]:
    check = getattr(handler, "check", None)
    if check is None:
        return
    what = _called(extension)
    where = extension.pointer + ("/configuration" if isinstance(extension.value, dict) else "")
    try:
        faults = list(check(extension.configuration, ExtensionNode(node.path, node.document)))
    except Exception as error:  # noqa: BLE001 (a handler is foreign code, and may raise any error)
        yield node.finding("zarr/extension-configuration", f"{what}: its handler raised {error!r}", where)
        return
    for fault in faults:
        message = f"{what}: {fault.message}"
        yield node.finding("zarr/extension-configuration", message, where + fault.pointer, severity=fault.severity)


def _check_lists(node: ParsedNode) -> Iterator[Finding]:
    document = node.document
    # ZEP 10: "If present, the extensions field MUST contain an array of extension definitions. The contained array MUST
    # either have one or more extensions or the object MUST be omitted entirely."
    extensions = document.get(EXTENSIONS, [None])
    if not isinstance(extensions, list) or not extensions:
        message = f"expected an array of extensions, at least one; found {shown(extensions)}"
        yield node.finding("zarr/extensions", message, "/extensions")
    # Core 3.1, "storage_transformers": "Specifies a list of storage transformers. … same for an empty list."
    transformers = document.get("storage_transformers", [])
    if node.node_type == "array" and not isinstance(transformers, list):
        message = f"expected an array of storage transformers; found {shown(transformers)}"
        yield node.finding("zarr/storage-transformers", message, "/storage_transformers")


# Rules about declarations of Zarr conventions: v1 (2025-12-10) and the earlier draft 0.1.0.
#
# No URL is resolved. The attributes of a convention are checked only against schemas that the caller gives.

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


def check_conventions(node: ParsedNode) -> Iterator[Finding]:
    """Yield findings about the conventions that a node declares."""
    attributes = as_object(node.attributes)
    place = JsonPlace(node.attributes_key, node.attributes_pointer)
    if CONVENTIONS in attributes:
        yield from _check_array(attributes[CONVENTIONS], place / CONVENTIONS)
    if SEED_CONVENTIONS in attributes or SEED_VERSION in attributes:
        yield from _check_seed(attributes, place)


def check_schemas(node: ParsedNode, schemas: Schemas) -> Iterator[Finding]:
    """Yield findings about attributes of a node that do not match a given schema of its conventions."""
    attributes = as_object(node.attributes)
    place = JsonPlace(node.attributes_key, node.attributes_pointer)
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


def _check_array(value: Any, place: JsonPlace) -> Iterator[Finding]:
    # By v1, "the `zarr_conventions` attribute MUST be an array of Convention Metadata Objects (CMO)."
    items = yield from expect_list(value, place, "conventions/array", "a list of objects")
    identities = []
    for number, item in enumerate(items or []):
        convention = yield from expect_object(item, place / number, "conventions/array")
        if convention is not None:
            yield from _check_convention(convention, place / number)
            identities += [str(convention[key]) for key in _IDENTITIES if key in convention][:1]
    if several := repeated(identities):
        yield place.finding("conventions/repeated", f"declared more than once: {listed(several)}")


def _check_convention(convention: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
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
        value = convention.get(key, MISSING)
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


def _check_seed(attributes: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    found = " and ".join(key for key in (SEED_VERSION, SEED_CONVENTIONS) if key in attributes)
    yield place.finding("conventions/superseded", f"{found}: conventions are declared in the form of the draft 0.1.0")
    # 0.1.0: "Nodes which conform to this specification MUST contain the following fields within their `attributes`:
    # `zarr_conventions_version` - a semver-compatible string …, `zarr_conventions_metadata` - an object".
    version = attributes.get(SEED_VERSION, MISSING)
    if not _is_semver(version):
        message = f"expected {SEED_VERSION} of the form 0.1.0; {describe_found(version)}"
        yield place.finding("conventions/seed-version", message)
    where = place / SEED_CONVENTIONS
    conventions = yield from expect_object(attributes.get(SEED_CONVENTIONS, MISSING), where, "conventions/seed-version")
    for key, item in (conventions or {}).items():
        # "The `zarr_conventions_metadata` object MUST contain only UUIDs as keys, encoded as strings." "the creator
        # MUST use the UUID4 function".
        if not _UUID4.fullmatch(key.lower()):
            yield (where / key).finding("conventions/seed-keys", f"expected a UUID of version 4; found {shown(key)}")
        convention = yield from expect_object(item, where / key, "conventions/seed-object")
        if convention is not None:
            yield from _check_seed_convention(convention, where / key)


def _check_seed_convention(convention: dict[str, Any], place: JsonPlace) -> Iterator[Finding]:
    rule = "conventions/seed-object"
    # 0.1.0: "Each convention metadata object MUST contain the following fields: `version` - a semver-compatible string
    # indicating the version of the convention."
    version = convention.get("version", MISSING)
    if not _is_semver(version):
        yield place.finding(rule, f"expected a version of the form 0.1.0; {describe_found(version)}")
    # "`configuration` - an object containing the attributes described by the convention."
    yield from expect_object(convention.get("configuration", MISSING), place / "configuration", rule)
    # "The conventions metadata object MUST NOT contain additional fields."
    unknown = [key for key in convention if key not in _SEED_FIELDS]
    if unknown:
        yield place.finding(rule, f"expected no fields but {', '.join(_SEED_FIELDS)}; found {listed(unknown)}")
    for key in ("name", "schema", "spec", "description"):
        value = convention.get(key, MISSING)
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

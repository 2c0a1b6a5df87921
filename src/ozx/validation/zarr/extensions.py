"""Rules about definitions, names and handlers of extensions (Zarr core 3.1, ZEP 9 and ZEP 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ozx.extensions import ExtensionNode, find_handler
from ozx.hierarchy.references import resolve_reference
from ozx.hierarchy.zarr.extension_names import is_listed, name_kind, registry_date
from ozx.hierarchy.zarr.extensions import EXTENSIONS, Extension, array_extensions, parse_extensions
from ozx.validation.nodes.document import NodeDocument
from ozx.validation.nodes.facts import Hierarchy
from ozx.validation.report import Finding, Severity
from ozx.validation.wording import TENSORSTORE, ZARR_PYTHON, shown
from ozx.validation.zarr.codec_settings import CODECS

_BOTH = f"{ZARR_PYTHON} and {TENSORSTORE}"
# Core 3.1: "must_understand=False is not supported for the following extension points: data type, chunk grid, and chunk
# key encoding."
_ALWAYS_UNDERSTOOD = frozenset(("data_type", "chunk_grid", "chunk_key_encoding"))
_MEMBERS = frozenset(("name", "configuration", "must_understand"))


def check_extensions(node: NodeDocument) -> Iterator[Finding]:
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


def check_references(hierarchy: Hierarchy) -> Iterator[Finding]:
    """Yield findings about extensions that refer to other nodes."""
    for path, node in hierarchy.nodes.items():
        for name, reference in node.references:
            # ZEP 10, "Application to sub-nodes": "A reference to the metadata as part of the extension itself".
            target = resolve_reference(path, reference)
            what = f"the extension {shown(name)} refers to {shown(reference)}"
            if target is None:
                yield node.finding(
                    "zarr/extension-reference", f"{what}, which lies outside of the hierarchy", "/extensions"
                )
            elif target not in hierarchy.nodes:
                yield node.finding("zarr/extension-reference", f"{what}, where there is no node", "/extensions")


def _extensions_of(node: NodeDocument) -> list[Extension]:
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


def _check_name(node: NodeDocument, extension: Extension) -> Iterator[Finding]:
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


def _check_form(node: NodeDocument, extension: Extension) -> Iterator[Finding]:
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


def _check_understood(node: NodeDocument, extension: Extension) -> Iterator[Finding]:
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


def _check_by(handler: Any, node: NodeDocument, extension: Extension) -> Iterator[Finding]:
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


def _check_lists(node: NodeDocument) -> Iterator[Finding]:
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

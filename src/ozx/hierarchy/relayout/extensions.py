"""Adaptation of extension metadata to a new chunk layout, by the handlers of the extensions."""

from __future__ import annotations

from typing import Any

from ozx.errors import UnsupportedError
from ozx.extensions import ExtensionNode, find_handler, has_method
from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.json.values import copy_json
from ozx.hierarchy.zarr.codecs import parse_named
from ozx.hierarchy.zarr.extensions import EXTENSIONS, Extension, array_extensions, parse_extensions
from ozx.hierarchy.zarr.must_understand import is_registered


def understands_relayout(point: str, value: Any) -> bool:
    """Return whether an extension allows ozx to move chunks: the extension is registered, or a handler adapts it.

    Examples
    --------
    >>> understands_relayout("codecs", {"name": "zstd"}), understands_relayout("extensions", "example.unheard-of")
    (True, False)
    """
    named = parse_named(value)
    return is_registered(point, value) or (named is not None and has_method(point, named.name, "relayout"))


def relaid_document(path: str, old: Document, new: Document) -> Document:
    """Return `new` with the extension configurations from the handlers; `new` itself if there are no handlers.

    Handlers of extensions that may be ignored are called, too.
    """
    handled = [found for found in _extensions_of(new) if has_method(found.point, found.name, "relayout")]
    if not handled:
        return new
    relaid: Document = copy_json(new)
    nodes = ExtensionNode(path, old), ExtensionNode(path, new)
    for extension in handled:
        configuration = _call_handler(extension, *nodes)
        if configuration != extension.configuration:
            _set_configuration(relaid, extension, configuration)
    return relaid


def check_group_extensions(group: str, document: Document, path: str, old: Document, new: Document) -> None:
    """Check that the handlers of a group's extensions accept the new chunk layout of one array in the group."""
    for extension in parse_extensions(document.get(EXTENSIONS, [])):
        if not has_method(extension.point, extension.name, "relayout"):
            continue
        if _call_handler(extension, ExtensionNode(path, old), ExtensionNode(path, new)) != extension.configuration:
            raise UnsupportedError(
                f"{group or 'the root'}: expected an unchanged configuration of the extension {extension.name!r}; "
                f"its handler returned another configuration for the new chunks of {path!r}"
            )


def _extensions_of(document: Document) -> list[Extension]:
    found = array_extensions(document)
    return found + list(parse_extensions(document.get(EXTENSIONS, [])))


def _call_handler(extension: Extension, old: ExtensionNode, new: ExtensionNode) -> Any:
    handler = find_handler(extension.point, extension.name)
    return handler.relayout(copy_json(extension.configuration), old, new)


def _set_configuration(document: Document, extension: Extension, configuration: Any) -> None:
    *steps, last = extension.pointer[1:].split("/")
    place: Any = document
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    key: Any = int(last) if isinstance(place, list) else last
    value = place[key] if isinstance(place[key], dict) else {"name": extension.name}
    place[key] = {**value, "configuration": configuration}

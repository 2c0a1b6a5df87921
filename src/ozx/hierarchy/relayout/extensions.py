"""Extensions of an array whose chunks are laid out anew: their handlers say what their configurations become."""

from __future__ import annotations

from typing import Any

from ozx.errors import UnsupportedError
from ozx.extensions import ExtensionNode, find_handler, has_method
from ozx.hierarchy.json.documents import Document
from ozx.hierarchy.json.values import copy_json
from ozx.hierarchy.zarr.codecs import parse_named
from ozx.hierarchy.zarr.extensions import EXTENSIONS, Extension, array_extensions, parse_extensions
from ozx.hierarchy.zarr.must_understand import is_registered

__all__ = ["check_group_extensions", "relaid_document", "understands_relayout"]


def understands_relayout(point: str, value: Any) -> bool:
    """Tell whether chunks may be moved though this extension is there: it is registered, or a handler adapts it.

    Examples
    --------
    >>> understands_relayout("codecs", {"name": "zstd"}), understands_relayout("extensions", "example.unmatched-of")
    (True, False)
    """
    named = parse_named(value)
    return is_registered(point, value) or (named is not None and has_method(point, named.name, "relayout"))


def relaid_document(path: str, old: Document, new: Document) -> Document:
    """Return `new` with the configurations that handlers give its extensions; `new` itself where there are none.

    Those of extensions that may be ignored are asked, too.

    Parameters
    ----------
    path
        Path of the array.
    old, new
        Its ``zarr.json`` before and after.

    Raises
    ------
    UnsupportedError
        A handler refuses.
    """
    asked = [extension for extension in _extensions_of(new) if has_method(extension.point, extension.name, "relayout")]
    if not asked:
        return new
    relaid: Document = copy_json(new)
    nodes = ExtensionNode(path, old), ExtensionNode(path, new)
    for extension in asked:
        configuration = _ask(extension, *nodes)
        if configuration != extension.configuration:
            _put(relaid, extension, configuration)
    return relaid


def check_group_extensions(group: str, document: Document, path: str, old: Document, new: Document) -> None:
    """Ask the handlers of a group's extensions about an array below it, whose chunks are laid out anew.

    Parameters
    ----------
    group, document
        Path and document of the group.
    path, old, new
        Path of the array, and its documents before and after.

    Raises
    ------
    UnsupportedError
        A handler refuses, or would have the group's own configuration changed for the array.
    """
    for extension in parse_extensions(document.get(EXTENSIONS, [])):
        if not has_method(extension.point, extension.name, "relayout"):
            continue
        if _ask(extension, ExtensionNode(path, old), ExtensionNode(path, new)) != extension.configuration:
            raise UnsupportedError(
                f"{group or 'the root'}: expected the extension {extension.name!r} to stay as it is; its handler wants "
                f"another configuration for the chunks of {path!r}"
            )


def _extensions_of(document: Document) -> list[Extension]:
    found = array_extensions(document)
    return found + list(parse_extensions(document.get(EXTENSIONS, [])))


def _ask(extension: Extension, old: ExtensionNode, new: ExtensionNode) -> Any:
    handler = find_handler(extension.point, extension.name)
    return handler.relayout(copy_json(extension.configuration), old, new)


def _put(document: Document, extension: Extension, configuration: Any) -> None:
    *steps, last = extension.pointer[1:].split("/")
    place: Any = document
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    key: Any = int(last) if isinstance(place, list) else last
    value = place[key] if isinstance(place[key], dict) else {"name": extension.name}
    place[key] = {**value, "configuration": configuration}

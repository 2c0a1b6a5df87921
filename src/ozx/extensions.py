"""Handlers that other packages add to ozx for Zarr extensions (Zarr core 3.1, ZEP 9, ZEP 10).

Packing keeps every extension unchanged. To open an array or change its chunk layout, ozx needs a handler that
understands the extension's metadata. A handler is a class without parameters, or an instance. `register` registers it,
or an entry point of the group ``ozx.extensions`` with the name ``POINT:NAME``:

    [project.entry-points."ozx.extensions"]
    "extensions:example.offset" = "example_package:Offset"

The extension points are ``data_type``, ``chunk_grid``, ``chunk_key_encoding``, ``codecs``, ``storage_transformers``
and ``extensions`` (ZEP 10). zarr-python decodes chunks: the first four must be registered there, too. A handler may
have these methods:

- ``check(configuration, node)`` yields a `Fault` for each error; `ozx validate` reports them.
- ``open(node, array)`` returns the array that `ozx.open` returns in place of `array`, or `array` itself;
  `ozx.thumbnail` calls it, too. Without this method, the array cannot be opened, unless the extension may be ignored.
- ``relayout(configuration, old, new)`` returns the right configuration after a change of an array's chunk layout;
  raises `ozx.UnsupportedError` if no configuration is right. An extension of a group is asked for every array below
  it, and must return the configuration unchanged. Without this method, ``ozx repack`` and ``ozx pack`` refuse another
  layout, unless the extension may be ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ozx.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The extension points of Zarr core 3.1 and of ZEP 10.
POINTS = ("data_type", "chunk_grid", "chunk_key_encoding", "codecs", "storage_transformers", "extensions")

_GROUP = "ozx.extensions"

_Handler = TypeVar("_Handler")


@dataclass(frozen=True, slots=True)
class ExtensionNode:
    """The metadata that a handler receives about a node with an extension.

    Attributes
    ----------
    path
        Path of the node; empty for the root.
    document
        The parsed ``zarr.json`` of the node. Do not change it.

    Examples
    --------
    >>> node = ExtensionNode("0", {"zarr_format": 3, "node_type": "array", "shape": [64, 64]})
    >>> node.path, node.document["shape"]
    ('0', [64, 64])
    """

    path: str
    document: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a handler finds in the configuration of an extension.

    Attributes
    ----------
    message
        What was expected and what was found.
    pointer
        The place of the fault: a JSON pointer (RFC 6901) into the configuration.
    severity
        ``error``, ``warning`` or ``note``.

    Examples
    --------
    >>> Fault("expected an offset of 0 or more; got -1", pointer="/offset").severity
    'error'
    """

    message: str
    pointer: str = ""
    severity: Literal["error", "warning", "note"] = "error"


def register(point: str, name: str) -> Callable[[_Handler], _Handler]:
    """Return a decorator that registers a class or an instance as the handler of an extension.

    Parameters
    ----------
    point
        The extension point, one of `POINTS`.
    name
        The name of the extension. A previous handler is replaced.

    Returns
    -------
    Callable
        Takes a class or an instance, and returns it unchanged. For a class, an instance of the class is registered.

    Raises
    ------
    UsageError
        `point` is not one of `POINTS`.

    Examples
    --------
    >>> @register("extensions", "example.note")
    ... class Note:
    ...     def check(self, configuration, node):
    ...         if "text" not in configuration:
    ...             yield Fault("expected a text; it is missing")
    >>> [fault.message for fault in find_handler("extensions", "example.note").check({}, None)]
    ['expected a text; it is missing']
    >>> unregister("extensions", "example.note")
    """
    _check_point(point)

    def remember(handler: _Handler) -> _Handler:
        _registered[point, name] = handler() if isinstance(handler, type) else handler
        return handler

    return remember


def unregister(point: str, name: str) -> None:
    """Remove the handler that `register` added for an extension.

    Parameters
    ----------
    point, name
        The extension point and the name of the extension. Nothing happens if no handler was registered for them.

    Examples
    --------
    >>> note = register("extensions", "example.note")(object())
    >>> unregister("extensions", "example.note")
    >>> find_handler("extensions", "example.note") is None
    True
    """
    _registered.pop((point, name), None)


def find_handler(point: str, name: str) -> Any:
    """Return the handler of an extension, or None; raise `UsageError` if the package with it cannot be loaded."""
    handler = _registered.get((point, name))
    return _load(f"{point}:{name}") if handler is None else handler


def has_method(point: str, name: str, method: str) -> bool:
    """Return whether the handler of an extension has this method: ``check``, ``open`` or ``relayout``."""
    return callable(getattr(find_handler(point, name), method, None))


_registered: dict[tuple[str, str], Any] = {}


def _check_point(point: str) -> None:
    if point not in POINTS:
        raise UsageError(f"expected one of the extension points {', '.join(POINTS)}; got {point!r}")


@functools.cache
def _load(name: str) -> Any:
    found = _entry_points().get(name)
    if found is None:
        return None
    try:
        handler = found.load()
        return handler() if isinstance(handler, type) else handler
    except Exception as error:
        message = f"cannot load the handler {found.value} of the extension {name}: {error!r}"
        raise UsageError(message, hint="Repair or remove the package that provides the handler.") from error


@functools.cache
def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 (slow to load, and only extensions need it)

    return {found.name: found for found in entry_points(group=_GROUP)}


def iter_registered() -> Iterator[tuple[str, str]]:
    """Yield the extension point and name of every registered handler.

    Examples
    --------
    >>> note = register("extensions", "example.note")(object())
    >>> ("extensions", "example.note") in iter_registered()
    True
    >>> unregister("extensions", "example.note")
    """
    yield from _registered
    for name in _entry_points():
        point, _, extension = name.partition(":")
        if (point, extension) not in _registered:
            yield point, extension

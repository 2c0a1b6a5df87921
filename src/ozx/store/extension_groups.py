"""Open groups whose arrays use ozx's codec pipeline and the registered extension handlers."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import zarr
from zarr.storage import StorePath

from ozx.codecs.codec_support import zarr_understands
from ozx.extensions import ExtensionNode, find_handler, has_method, iter_registered
from ozx.store.array import opened_array
from ozx.zarr.codecs import parse_named
from ozx.zarr.extensions import EXTENSIONS, array_extensions, parse_extensions
from ozx.zarr.json_reading import as_object, parse_document
from ozx.zarr.keys import METADATA, join_path
from ozx.zarr.normalisation import DECODING_POINTS

_Arguments = ParamSpec("_Arguments")
_Node = TypeVar("_Node")


def understands_opening(point: str, value: Any) -> bool:
    """Return whether a node with this extension can be opened: zarr-python supports the extension, or a handler does.

    Examples
    --------
    >>> understands_opening("codecs", "zstd"), understands_opening("extensions", "example.unheard-of")
    (True, False)
    """
    if zarr_understands(point, value):
        return True
    named = parse_named(value)
    # zarr-python finds and decodes chunks by its own registry.
    return point not in DECODING_POINTS and named is not None and has_method(point, named.name, "open")


def opened_group(group: zarr.Group) -> OpenedGroup:
    """Return a zarr group as an `OpenedGroup`."""
    return OpenedGroup(group._async_group)  # noqa: SLF001 (the only way)


def _opening(method: Callable[_Arguments, _Node]) -> Callable[_Arguments, _Node]:
    """Return a method of `zarr.Group` that opens the new node as `OpenedGroup.__getitem__` does."""

    @functools.wraps(method)
    def call(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Node:
        found: _Node = opened_node(method(*args, **options))
        return found

    return call


class OpenedGroup(zarr.Group):
    """A zarr group whose arrays use ozx's codec pipeline and the ``open`` methods of extension handlers.

    Its ``with`` block ends with `close`.
    """

    def close(self) -> None:
        """Close the file of the group, its sub-groups and its arrays.

        A later access opens a file that is read again. A file that is written is finished: see `ozx.OzxStore.close`.
        """
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.store.__exit__(kind, error, trace)  # after an exception, a file that is written gets no final name

    def __getitem__(self, path: str) -> Any:
        """Return the node at `path`."""
        found = None if self.metadata.consolidated_metadata else _node_in(self, path)
        return opened_node(super().__getitem__(path) if found is None else found)

    def get_array(self, path: str) -> Any:
        """Return the array at `path` (zarr-python 3.4 and later)."""
        inherited: Any = super()
        return opened_node(inherited.get_array(path))

    def members(self, *args: Any, **options: Any) -> Any:
        """Return the names and nodes in the group, as `zarr.Group.members` does."""
        return tuple((name, opened_node(node)) for name, node in super().members(*args, **options))

    def arrays(self) -> Generator[tuple[str, Any], None]:
        """Yield the names and arrays in the group."""
        for name, array in super().arrays():
            yield name, opened_node(array)

    def groups(self) -> Generator[tuple[str, zarr.Group], None]:
        """Yield the names and groups in the group."""
        for name, group in super().groups():
            yield name, opened_group(group)

    def create_hierarchy(self, nodes: dict[str, Any], *, overwrite: bool = False) -> Iterator[tuple[str, Any]]:
        """Create groups and arrays from their metadata, as `zarr.Group.create_hierarchy` does."""
        for name, node in super().create_hierarchy(nodes, overwrite=overwrite):
            yield name, opened_node(node)

    def require_groups(self, *names: str) -> tuple[zarr.Group, ...]:
        """Return the groups with these names, as `zarr.Group.require_groups` does."""
        return tuple(map(opened_group, super().require_groups(*names)))

    def require_dataset(self, name: str, **options: Any) -> Any:
        """Return the same array as `require_array`."""
        return self.require_array(name, **options)

    create_group = _opening(zarr.Group.create_group)
    require_group = _opening(zarr.Group.require_group)
    create = _opening(zarr.Group.create)
    create_array = _opening(zarr.Group.create_array)
    require_array = _opening(zarr.Group.require_array)
    empty = _opening(zarr.Group.empty)
    zeros = _opening(zarr.Group.zeros)
    ones = _opening(zarr.Group.ones)
    full = _opening(zarr.Group.full)
    empty_like = _opening(zarr.Group.empty_like)
    zeros_like = _opening(zarr.Group.zeros_like)
    ones_like = _opening(zarr.Group.ones_like)
    full_like = _opening(zarr.Group.full_like)
    if hasattr(zarr.Group, "create_dataset"):  # zarr-python 3.4 has these no more
        create_dataset = _opening(zarr.Group.create_dataset)
        array = _opening(zarr.Group.array)


def node_document(store: Any, path: str) -> Any:
    """Return the ``zarr.json`` of a node; None if there is none."""
    value = store.get_sync(join_path(path, METADATA))
    return None if value is None else json.loads(value.to_bytes())


def _node_in(group: zarr.Group, path: str) -> zarr.Array[Any] | zarr.Group | None:
    """Return a node of a group, which is read in the calling thread; None if it is neither array nor group.

    The event loop of zarr-python takes a millisecond to wake after a request.
    """
    place: StorePath = group.store_path / path
    document = node_document(place.store, place.path)
    if document is None:
        raise KeyError(path)
    kind = as_object(document).get("node_type")
    if kind == "array":
        return zarr.Array(zarr.AsyncArray.from_dict(place, document))
    return zarr.Group(zarr.AsyncGroup.from_dict(place, document)) if kind == "group" else None


def opened_node(node: Any) -> Any:
    """Return a zarr group or array as ozx opens it: with our classes, and with the handlers of its extensions."""
    if isinstance(node, zarr.Group):
        return opened_group(node)
    node = opened_array(node)
    if next(iter_registered(), None) is None:
        return node
    # The document that zarr sees has no extensions any more.
    store = getattr(node.store, "_store", node.store)
    key = join_path(node.path, METADATA)
    stored = store.get_sync(key)
    if stored is None:
        return node
    document = parse_document(stored.to_bytes(), key)
    place = ExtensionNode(node.path, document)
    opened = node
    for extension in (*array_extensions(document), *parse_extensions(document.get(EXTENSIONS, []))):
        if extension.name and has_method(extension.point, extension.name, "open"):
            opened = find_handler(extension.point, extension.name).open(place, opened)
    return opened

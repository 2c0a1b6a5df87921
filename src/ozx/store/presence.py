"""A quick look for keys in a store, without zarr's event loop: a plate may list thousands of missing wells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from zarr.abc.store import Store
from zarr.storage import WrapperStore

from ozx.hierarchy.keys import LEGACY_METADATA, METADATA

__all__ = ["lacks_node"]

_V2_NODES = tuple(name for name in LEGACY_METADATA if name in (".zgroup", ".zarray"))


def lacks_node(store: Store, path: str, zarr_format: Literal[2, 3]) -> bool:
    """Tell whether a store is known to have no node at a path; False also where only zarr can tell.

    Parameters
    ----------
    store
        Any zarr store.
    path
        Path of the node from the root of the store.
    zarr_format
        That of the hierarchy.

    Examples
    --------
    >>> from ozx import OzxStore
    >>> store = OzxStore("cells.ozx")
    >>> lacks_node(store, "0", 3), lacks_node(store, "7", 3)
    (False, True)
    """
    while isinstance(store, WrapperStore):
        store = store._store  # noqa: SLF001 (zarr's own way)
    has: Callable[[str], bool] | None = getattr(store, "_has_key", None)  # our own stores have it
    if has is None:
        return False
    return not any(has(f"{path}/{name}") for name in ((METADATA,) if zarr_format == 3 else _V2_NODES))

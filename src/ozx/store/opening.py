"""Open an .ozx file, a node in it, or a directory as a zarr group, to read or to write."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast, overload

from ozx.archive.reader import ArchiveReader
from ozx.calls import public_call
from ozx.codecs.zarr_errors import refused_by_zarr
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.sources.browsing import at_root, similar_nodes
from ozx.flow.sources.wrong_sources import describe_folder, refuse_images
from ozx.places.byte_source import OpenFileSource
from ozx.places.place import Place
from ozx.zarr.json_reading import check_document_length, parse_document
from ozx.zarr.keys import LEGACY_METADATA, ROOT_METADATA, is_metadata_key, join_path, node_of

if TYPE_CHECKING:
    import zarr
    from zarr.abc.store import Store

    from ozx.store.array import Array
    from ozx.store.extension_groups import OpenedGroup
    from ozx.store.live.group import LiveGroup
    from ozx.store.normalised import NormalisedStore

_Mode = Literal["r", "a", "w", "x"]


def open_store(
    place: Place, *, options: Mapping[str, Any] | None = None, live: bool = False
) -> tuple[NormalisedStore, str]:
    """Return the store that `open_group` reads from, and the path of the node in that store."""
    # Imported here: they load zarr, which takes half a second.
    from ozx.store.normalised import NormalisedStore  # noqa: PLC0415
    from ozx.store.ozx_store import OzxStore  # noqa: PLC0415

    if not live:
        place.modified()  # raises the system's error; zarr would take it for a missing key
    if not live and place.is_directory_url():
        from ozx.places.remote.folder import RemoteFolder  # noqa: PLC0415
        from ozx.store.current_objects import CurrentObjects  # noqa: PLC0415
        from ozx.store.read_only_stores import SourceStore  # noqa: PLC0415

        return NormalisedStore(SourceStore(CurrentObjects(RemoteFolder(place.path, options)))), place.node
    place = place if live else at_root(place)
    store = OzxStore(place.path, mode="r", options=options, live=live)
    store.brings_pipeline = False
    return NormalisedStore(store), place.node


@overload
def open_group(
    path: str | os.PathLike[str],
    mode: _Mode = "r",
    *,
    options: Mapping[str, Any] | None = None,
    live: Literal[False] = False,
    sync: bool = True,
) -> OpenedGroup: ...


@overload
def open_group(
    path: str | os.PathLike[str],
    mode: Literal["r"] = "r",
    *,
    options: Mapping[str, Any] | None = None,
    live: Literal[True],
    sync: bool = True,
) -> LiveGroup: ...


@public_call()
def open_group(
    path: str | os.PathLike[str],
    mode: _Mode = "r",
    *,
    options: Mapping[str, Any] | None = None,
    live: bool = False,
    sync: bool = True,
) -> OpenedGroup:
    """Return the hierarchy in an .ozx file, or one of its groups, as a zarr group that reads or writes.

    `close`, or the end of a ``with`` block, closes a file that is read, which Windows otherwise may not let others
    replace, and finishes a file that is written, as `OzxStore.close` does. After an exception in the ``with`` block,
    the old file is unchanged, and what was written stays in ``NAME.partial``.

    In mode ``r``, legal metadata that zarr-python refuses is read as well (`ozx.store.normalised`).

    The class of the group is a subclass of `zarr.Group`. For programs that accept only `zarr.Group` itself, such as
    anndata, open ``zarr.open_group(ozx.OzxStore(path), mode="r")``.

    Parameters
    ----------
    path
        A local .ozx file; the URL of an .ozx file or of an OME-Zarr directory (extra ``remote``); or a node in a file:
        ``cells.ozx/labels/cells``, ``cells.ozx|zip:labels/cells/``,
        ``https://example.org/cells.ozx|zip:labels/cells/``. To write: a file, or with ``w`` and ``x`` an ``s3://`` URL.
    mode
        ``r`` reads. ``w`` writes a new file with a root group, which replaces an existing file at `close`; ``x``
        refuses an existing file. ``a`` adds to an existing file, or writes a new one.
    options
        For URLs: settings of the object store, as keyword arguments of obstore.
    live
        Whether `path` may be a local file that `ozx.stream` is still writing, given as ``NAME`` or ``NAME.partial``.
        The group is then a `LiveGroup`. Without locks (Windows) only finished files can be read.
    sync
        Whether `close` waits until a written file is on the disk. `OzxStore` has more options for writing.

    Raises
    ------
    FormatError
        The file is not an archive, is damaged, or has no hierarchy at its root.
    UnsupportedError
        The hierarchy is Zarr v2, or ozx does not understand a required extension of the node.
    UsageError
        There is no such node, or it is an array; or the mode does not exist, does not fit `live` or `path`, or is ``x``
        and the file exists.
    ResourceError
        The file is missing or cannot be read; for a URL also: the extra ``remote`` is missing. With `live` also: no
        frame is complete yet.

    Examples
    --------
    >>> import ozx
    >>> with ozx.open("cells.ozx") as group:
    ...     group["0"].shape
    (2, 256, 256)
    >>> ozx.open("cells.ozx|zip:labels/cells/").path
    'labels/cells'
    >>> with ozx.open("new.ozx", "w") as group:
    ...     group.attrs["ome"] = {"version": "0.5"}
    ...     group.create_array("0", shape=(4, 4), dtype="uint8")[:] = 7
    """
    if not isinstance(mode, str) or mode != "r":
        return _open_to_write(path, mode, options, live=live, sync=sync)
    place = Place.parse(path)
    store, node = open_store(place, options=options, live=live)
    group = _open_node(store, node, place.name)
    if not live:
        return group
    from ozx.store.live.group import LiveGroup  # noqa: PLC0415 (see open_store)

    return LiveGroup(group._async_group)  # noqa: SLF001 (the only way)


@public_call()
def open_array(path: str | os.PathLike[str], node: str = "", *, options: Mapping[str, Any] | None = None) -> Array:
    """Return one array of the hierarchy in an .ozx file as a read-only zarr array.

    Type checkers infer that the result is an array; they cannot infer this for ``ozx.open(path)["0"]``.
    ``array.store.close()`` closes its file.

    Parameters
    ----------
    path, options
        As for `ozx.open`; a node in the path may be an array.
    node
        The path of the array, counted from the root of the file, or from the node in `path`. Empty if the root is an
        array.

    Raises
    ------
    UsageError
        There is no such node, or it is a group.
    FormatError, UnsupportedError, ResourceError
        As for `ozx.open`.

    Examples
    --------
    >>> import ozx
    >>> ozx.open_array("cells.ozx", "0").shape
    (2, 256, 256)
    >>> ozx.open_array("cells.ozx|zip:labels/cells/0").path
    'labels/cells/0'
    """
    import zarr  # noqa: PLC0415 (see open_store)

    from ozx.store.array import opened_array  # noqa: PLC0415
    from ozx.store.extension_groups import node_document  # noqa: PLC0415

    place = Place.parse(path)
    store, given_node = open_store(place, options=options)
    given, hint = place.name, "ozx info lists the arrays."
    if not isinstance(node, str):
        raise UsageError(
            f"expected the path of an array in the file as a text; got {node!r}",
            path=given,
            hint='Write the path in quotes, as in ozx.open_array(path, "0").',
        )
    names = join_path(given_node, node.strip("/"))
    folder, _, name = names.rpartition("/")
    if not name and (node_document(store, "") or {}).get("node_type") == "array":
        with refused_by_zarr("the root"):
            array: Array = opened_array(zarr.open_array(store, mode="r", zarr_format=3))
            return array
    group = _open_node(store, folder, given)
    if not name:
        hint += ' Give the path of one of them, as in ozx.open_array(path, "0").'
        raise UsageError("expected the path of an array in the file", path=given, hint=hint)
    try:
        with refused_by_zarr(names):
            found = group[name]
    except FormatError as error:
        if isinstance(error.__cause__, KeyError) and node_document(store, names) is None:
            raise UsageError(f"it has no node {names!r}", path=given, hint=hint) from None
        raise error.at(given) from error.__cause__
    if not isinstance(found, zarr.Array):
        raise UsageError(f"expected an array; {names} is a group", path=given, hint=hint)
    return cast("Array", found)  # the handler of an extension may give another zarr array


def _open_to_write(
    path: str | os.PathLike[str], mode: str, options: Mapping[str, Any] | None, *, live: bool, sync: bool
) -> OpenedGroup:
    """Return the root group of a file that is written; a new file gets one."""
    from ozx.store.extension_groups import opened_group  # noqa: PLC0415 (see open_store)
    from ozx.store.ozx_store import OzxStore, file_part  # noqa: PLC0415

    store = OzxStore(path, mode, options=options, live=live, sync=sync)
    store.brings_pipeline = False
    place = file_part(path)  # refuses a node
    if mode == "a" and os.path.lexists(store.path):
        return _open_node(store, "", place.name, "a")
    import zarr  # noqa: PLC0415 (see open_store)

    return opened_group(zarr.create_group(store, zarr_format=3))


def _open_node(store: Store, node: str, given: str, mode: Literal["r", "a"] = "r") -> OpenedGroup:
    """Return the group at a node of a store; errors name the path as the caller gave it."""
    import zarr  # noqa: PLC0415 (see open_store)
    from zarr.storage import StorePath  # noqa: PLC0415

    from ozx.store.extension_groups import node_document, opened_group  # noqa: PLC0415

    document = node_document(store, node)
    if document is None:
        raise _missing(store, node, given)
    if document.get("node_type") == "array":
        raise UsageError(
            f"expected a group; {node or 'the root'} is an array",
            path=given,
            hint=f"Open the group that contains it, then read group[{node.rpartition('/')[2]!r}]."
            if node
            else "The root of an OME-Zarr is a group. Open this array with ozx.open_array(path).",
        )
    with refused_by_zarr(node or "the root"):
        if mode == "a":  # copies of metadata would be out of date after the first change
            document.pop("consolidated_metadata", None)
        group = zarr.AsyncGroup.from_dict(StorePath(store, node), document)
        return opened_group(zarr.Group(group))


@contextmanager
def opened_hierarchy(place: Place) -> Iterator[zarr.Group]:
    """Yield the group from `open_hierarchy`; close its files at the block's end."""
    group = open_hierarchy(place)
    try:
        yield group
    finally:
        group.store.close()


def open_hierarchy(place: Place, *, options: Mapping[str, Any] | None = None) -> zarr.Group:
    """Return the group from `open_group`, or the root group of a Zarr directory."""
    if place.kind() == "a directory":
        return _open_directory(place.path)
    store, node = open_store(place, options=options)
    return _open_node(store, node, place.name)


def open_in_file(file: BinaryIO) -> zarr.Group:
    """Return the root group of the archive in an open file, which stays open."""
    if isinstance(file, io.TextIOBase) or not all(hasattr(file, name) for name in ("read", "seek", "tell")):
        is_data = isinstance(file, bytes | bytearray | memoryview)
        raise UsageError(
            f"expected a path, a URL or an open binary file; got {type(file).__name__ if is_data else repr(file):.200}",
            hint="Wrap it in io.BytesIO." if is_data else 'Open a file with open(path, "rb").',
        )
    from ozx.flow.sources.archive import ArchiveSource  # noqa: PLC0415 (see open_store)
    from ozx.store.normalised import NormalisedStore  # noqa: PLC0415
    from ozx.store.read_only_stores import SourceStore  # noqa: PLC0415

    source = OpenFileSource(file)
    reader = ArchiveReader(source)
    reader.check(allow_duplicates=True)
    return _open_node(NormalisedStore(SourceStore(ArchiveSource(reader))), "", source.name)


def _open_directory(path: str) -> zarr.Group:
    import zarr  # noqa: PLC0415 (see open_store)

    from ozx.store.extension_groups import opened_group  # noqa: PLC0415
    from ozx.store.normalised import NormalisedStore  # noqa: PLC0415
    from ozx.store.read_only_stores import DirectoryStore  # noqa: PLC0415

    root = os.path.join(path, ROOT_METADATA)
    store: Store = DirectoryStore(path, read_only=True)
    if os.path.isfile(root):
        check_document_length(os.path.getsize(root), ROOT_METADATA)
        with open(root, "rb") as file:
            document = parse_document(file.read(), ROOT_METADATA)
        if document.get("node_type") == "array":
            raise UsageError("expected a group; the directory contains an array", path=path)
        store = NormalisedStore(store)
    elif not os.path.isfile(os.path.join(path, ".zgroup")):
        what, hint = "the directory has neither zarr.json nor .zgroup", "Give a directory with one of these files."
        if (found := describe_folder(path, packs=False)) is not None:
            what, hint = f"it is {found[0]}", found[1]
        raise FormatError(f"expected an OME-Zarr hierarchy; {what}", path=path, rule="rfc9/root", hint=hint)
    is_v3 = os.path.isfile(root)
    with refused_by_zarr("the root"):
        # Copies of metadata may be out of date or broken; the originals are there.
        group = zarr.open_group(store, mode="r", zarr_format=3 if is_v3 else 2, use_consolidated=False)
    return opened_group(group) if is_v3 else group


def _missing(store: Store, node: str, path: str) -> FormatError | UnsupportedError | UsageError:
    """Return the error for a path without ``zarr.json``."""
    from zarr.core.sync import sync  # noqa: PLC0415 (see open_store)

    async def list_keys() -> list[str]:
        return [key async for key in store.list()]

    keys = sync(list_keys())
    nodes = {node_of(key) for key in keys if is_metadata_key(key)}
    if not nodes and any(key.rpartition("/")[2] in LEGACY_METADATA for key in keys):
        # RFC-9 (R2, 2026-04-20) builds on Zarr v3: the root zarr.json is a MUST.
        return UnsupportedError(
            "expected Zarr v3 (OME-Zarr 0.5); found Zarr v2 (OME-Zarr 0.4), which RFC-9 does not allow",
            path=path,
            rule="rfc9/root",
            hint="ozx repack converts it to OME-Zarr 0.5. To read it unchanged: "
            'zarr.open_group(ozx.OzxStore(path), mode="r", zarr_format=2).',
        )
    if node:
        return UsageError(f"it has no node {node!r}", path=path, hint=similar_nodes(node, nodes))
    if not nodes:
        refuse_images(keys, path, is_folder=False)
    return FormatError(
        f"expected a hierarchy; found no zarr.json at the root of the archive ({len(keys):,} entries)",
        path=path,
        rule="rfc9/root",
        hint=f"Found zarr.json in {min(nodes, key=len)}/: open {path}|zip:{min(nodes, key=len)}/." if nodes else None,
    )

"""Open any OME-Zarr hierarchy as a source; repair and report the faults that other programs caused.

ozx repairs what every tolerant reader understands alike: the place of the root, the spelling of names, the form and
order of entries. It refuses what is ambiguous or harmful: encryption, overlapping entries, contradicting headers, names
that lead out of the folder, archives in archives. See docs/decisions/0012-repair.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from ozx.archive.columns import Columns
from ozx.archive.names.decoding import check_order
from ozx.archive.other_formats import describe_names
from ozx.archive.reader import ArchiveReader
from ozx.archive.records import DEFLATE64, FLAG_DATA_DESCRIPTOR, LOCAL_SIGNATURE, STORED
from ozx.errors import FormatError, OzxError, UsageError
from ozx.flow.repair.names import Fault, RepairedKeys, repair_names
from ozx.flow.repair.source import Repair, RepairedSource
from ozx.flow.sources.archive import ArchiveSource
from ozx.flow.sources.archive_keys import ArchiveKeys, metadata_places
from ozx.flow.sources.browsing import similar_nodes
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.listing import is_left_out, list_directory
from ozx.flow.sources.source import Source
from ozx.flow.sources.wrong_sources import refuse_folder_of_images
from ozx.ome.comment import Comment, parse_comment, warn_of_unknown_keys
from ozx.ome.upgrade import group_document
from ozx.ome.versions import version_of
from ozx.places.byte_source import FileSource
from ozx.places.place import Place
from ozx.quoting import quote
from ozx.zarr.entry_order import order_fault
from ozx.zarr.json_reading import Document, dump_document, parse_document, without_special_numbers
from ozx.zarr.keys import (
    LEGACY_METADATA,
    METADATA,
    ROOT_METADATA,
    join_path,
    missing_groups,
    node_of,
    paths_above,
    top_nodes,
)
from ozx.zarr.normalisation import is_stale, without_copies

if TYPE_CHECKING:
    from ozx.places.remote.source import RemoteSource


# Repair metadata: add missing groups, remove leftover Zarr v2 documents and outdated consolidated metadata.


def repair_documents(
    source: Source, metadata: Sequence[str], legacy: Sequence[str]
) -> tuple[dict[str, bytes], list[Repair]]:
    """Return new and changed documents that repair a Zarr v3 hierarchy, by key, and the repairs.

    Read the root's ``zarr.json``, the documents above missing groups, and the documents that ``consolidated_metadata``
    copies. Drop copies that differ from the documents, or that a new group makes incomplete, because zarr-python
    reads the copies instead of the documents.

    `FormatError`: Nodes have metadata of Zarr v2 alone, or lie below an array (``rfc9/one-hierarchy``); a document
    cannot be read (``zarr/json``).
    """
    nodes = {node_of(key) for key in metadata}
    repairs = list(_drop_legacy(source.name, nodes, legacy))
    missing, written = missing_groups(nodes), dict[str, bytes]()

    def read(path: str) -> Document:
        key = join_path(path, METADATA)
        return parse_document(written[key] if key in written else source.read(key), key)

    repairs += _add_groups(source.name, nodes, missing, read, written)
    repairs += _drop_copies(nodes, missing, read, written)
    return written, repairs


def _repair_of_many(rule: str, what: str, count: int, done: str, first: str | None = None) -> Repair:
    """Return the repair of `count` faults of the same kind."""
    return rule, f"{what}: {count:,}{'' if first is None else f', the first {first!r}'}; {done}"


def _drop_legacy(name: str, nodes: Collection[str], legacy: Sequence[str]) -> Iterable[Repair]:
    alone = [key for key in legacy if node_of(key) not in nodes]
    if alone:
        raise FormatError(
            f"the hierarchy mixes two versions of Zarr: {len(alone):,} metadata files of Zarr v2 have no {METADATA} "
            f"beside them, the first is {alone[0]}",
            path=name,
            rule="rfc9/one-hierarchy",
            hint="Remove the files of one version, or convert the nodes.",
        )
    if legacy:
        what = f"metadata files of Zarr v2 beside the {METADATA} of the same node"
        yield _repair_of_many("rfc9/one-hierarchy", what, len(legacy), "dropped", legacy[0])


def _add_groups(
    name: str, nodes: set[str], missing: Sequence[str], read: Callable[[str], Document], written: dict[str, bytes]
) -> Iterable[Repair]:
    """Create the missing groups above nodes, because Zarr core 3.1 has no implicit groups."""
    for path in missing:
        above = next(_ancestors(path, nodes))
        if read(above).get("node_type") == "array":
            raise FormatError(
                f"expected no nodes inside an array; found some below {path!r}, inside the array {above!r}",
                path=name,
                rule="rfc9/one-hierarchy",
                hint="Move these nodes out of the array's folder.",
            )
    for path in missing:
        written[join_path(path, METADATA)] = dump_document(group_document({}))
    if missing:
        what = f"groups without {METADATA} above other nodes"
        yield _repair_of_many("rfc9/one-hierarchy", what, len(missing), "written", missing[0])


def _drop_copies(
    nodes: set[str], missing: Sequence[str], read: Callable[[str], Document], written: dict[str, bytes]
) -> Iterable[Repair]:
    """Remove consolidated metadata that differs from the documents."""
    stale = []
    for group in sorted({"", *(above for path in missing for above in _ancestors(path, nodes))}):
        document, prefix = read(group), f"{group}/" if group else ""
        below = {path[len(prefix) :] for path in (*nodes, *missing) if path != group and path.startswith(prefix)}
        if is_stale(document, below, lambda path, prefix=prefix: read(prefix + path)):  # type: ignore[misc]
            stale.append(group)
            written[join_path(group, METADATA)] = dump_document(without_special_numbers(without_copies(document)))
    if stale:
        where = f"{stale[0] or 'the root'}{f' and {len(stale) - 1:,} more groups' if len(stale) > 1 else ''}"
        message = f"consolidated_metadata was dropped from {where}: it differed from the metadata of the nodes"
        yield "repair/consolidated", message


def _ancestors(path: str, nodes: set[str]) -> Iterator[str]:
    """Yield the paths of the groups that contain `path` and have a document, from the nearest group to the root."""
    return (above for above in paths_above(path) if above in nodes)


# Find the root of a hierarchy: the given folder, or a folder inside it.

# Limits of the search for a root below the top.
_DEPTH = 4
_FOLDERS = 1_000
_SHOWN = 5
_ROOT_NAMES = (METADATA, *LEGACY_METADATA[:3])


def choose_root(nodes: Collection[str], path: str, *, asked: str = "", files: Sequence[str] = ()) -> str:
    """Return the path of the root: the node `asked`, or by default the node that contains all other nodes."""
    if asked:
        if asked not in nodes:
            raise UsageError(f"it has no node {asked!r}", path=path, hint=similar_nodes(asked, nodes))
        return asked
    found = top_nodes(nodes)
    if len(found) == 1:
        return found[0]
    if found:
        example = f"{path}|zip:{found[0]}/" if not os.path.isdir(path) else os.path.join(path, found[0])
        raise UsageError(
            f"expected one hierarchy; found {len(found):,} nodes without a common root: {_few(found)}",
            path=path,
            hint=f"If these are separate images, name one of them: {quote(example)}",
        )
    what = f"{len(files):,} other {'file' if len(files) == 1 else 'files'}: {_few(files)}" if files else "nothing"
    archives = [name for name in files if name.lower().endswith((".ozx", ".zip"))]
    hint = (
        f"Give the path of one file: {quote(os.path.join(path, archives[0]))}"
        if archives and os.path.isdir(path)
        else None
    )
    if not archives:
        what, hint = describe_names(files, path, is_folder=os.path.isdir(path)) or (what, None)
    raise FormatError(
        f"expected an OME-Zarr hierarchy, which has zarr.json or .zgroup; found {what}",
        path=path,
        rule="rfc9/root",
        hint=hint,
    )


def find_root_folder(path: str) -> tuple[list[str], list[str]]:
    """Return the topmost nodes in a directory, down to a few folder levels, and the files outside of these nodes."""
    nodes: list[str] = []
    files: list[str] = []
    level, seen = [""], 0
    for _ in range(_DEPTH):
        following: list[str] = []
        for prefix in level:
            seen += 1
            if seen > _FOLDERS:
                raise FormatError(
                    f"expected an OME-Zarr hierarchy; found none in the first {_FOLDERS:,} folders",
                    path=path,
                    rule="rfc9/root",
                    hint="Give the path of the root folder of the image, the plate or the series.",
                )
            names, folders = _names_in(os.path.join(path, prefix))
            if any(name in names for name in _ROOT_NAMES):
                nodes.append(prefix.removesuffix("/"))
                continue
            files += (prefix + name for name in names)
            following += (f"{prefix}{name}/" for name in folders)
        level = following
    return nodes, files + level


def _names_in(path: str) -> tuple[list[str], list[str]]:
    """Return the names of a folder's files and sub-folders, each sorted."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if not is_left_out(entry):
                (folders if entry.is_dir() else files).append(entry.name)
    return sorted(files), sorted(folders)


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")


# The number of other files that a message names.
_FEW = 5


def open_repaired(place: Place) -> RepairedSource:
    """Open a hierarchy as a source with repaired keys and metadata; write no file and read no chunk.

    `place`: a directory, an archive of any name, or the URL of one of both; Zarr v3 or v2. Also a node inside an
    archive that is the root of a hierarchy.
    """
    if place.kind() == "a directory":
        try:
            return _open_directory(place.path.rstrip("/") or "/")
        except OzxError as error:
            raise error.at(place.path) from None
    if place.is_directory_url():
        return _open_remote_directory(place.path)
    file = place.open()
    try:
        return _open_archive(file, place.node)
    except OzxError as error:
        file.close()
        raise error.at(file.name) from None
    except BaseException:
        file.close()
        raise


def _open_archive(file: FileSource | RemoteSource, node: str) -> RepairedSource:
    reader = ArchiveReader(file)
    warn_of_unknown_keys(parse_comment(reader.end.comment), file.name)
    reader.check_values()
    names = repair_names(reader.columns, file.name)
    root, repairs, left_out = _cut_to_root(names, file.name, node)
    keys = ArchiveKeys(names.names, names.rows)
    reader.prefetch_head()
    source = ArchiveSource(reader, keys)
    legacy = [key.removeprefix(root) for key in names.legacy if key.startswith(root)]
    repairs = [*name_repairs(names), *repairs, *key_repairs(keys, reader.columns, file.name)]
    legacy = list(dict.fromkeys(legacy))
    zarr_format, written, of_documents = _repair_metadata(source, keys.metadata, legacy)
    version = None
    if zarr_format == 3:
        version = version_of(parse_document(source.read(ROOT_METADATA), ROOT_METADATA))
    repairs += container_repairs(reader, keys, version, is_ome_zip=zarr_format == 3 and not node)
    repairs += of_documents
    left_out = [*names.litter, *left_out]
    return RepairedSource(source, zarr_format, keys.metadata, legacy, written, repairs, left_out, file)


def _cut_to_root(names: RepairedKeys, path: str, node: str) -> tuple[str, list[Repair], list[str]]:
    """Make names relative to the root; return the root's prefix, the repairs, and the names outside the root."""
    raw_metadata = names.names.raw_names(np.flatnonzero(metadata_places(names.names)))
    metadata = [raw.decode("utf-8") for raw in raw_metadata]
    nodes = set(map(node_of, [*metadata, *(key for key in names.legacy if not key.endswith(".zmetadata"))]))
    files = [] if nodes else [raw.decode("utf-8") for raw in names.names.iter_raw_names()]
    root = choose_root(nodes, path, asked=node, files=files)
    if not root:
        return "", [], []
    prefix = f"{root}/".encode()
    is_below = names.names.below(prefix)
    outside = [raw.decode("utf-8") for raw in names.names.raw_names(np.flatnonzero(~is_below))]
    names.names = names.names.take(np.flatnonzero(is_below)).without_prefix(len(prefix))
    names.rows = names.rows[is_below]
    return f"{root}/", _root_repairs(root, outside, asked=bool(node)), outside


def _open_directory(path: str) -> RepairedSource:
    nodes, outside = find_root_folder(path)
    root = choose_root(nodes, path, files=outside)
    listing = list_directory(os.path.join(path, root) if root else path)
    source = DirectorySource(listing)
    litter = [name for name in listing.left_out if not name.endswith("/")]
    repairs = [*litter_repairs(litter), *(_root_repairs(root, outside) if root else ())]
    metadata, legacy = listing.metadata, listing.legacy_keys
    zarr_format, written, of_documents = _repair_metadata(source, metadata, legacy)
    left_out = [*listing.left_out, *outside]
    return RepairedSource(source, zarr_format, metadata, legacy, written, [*repairs, *of_documents], left_out)


def _open_remote_directory(url: str) -> RepairedSource:
    from ozx.flow.sources.remote_directory import list_remote_directory  # noqa: PLC0415 (most runs do not need it)

    source = list_remote_directory(url)
    listing = source.listing
    refuse_folder_of_images(listing)
    if not listing.metadata and not listing.legacy_keys:
        choose_root((), source.name, files=list(islice(listing.iter_keys(), _FEW)))
    metadata, legacy, left_out = listing.metadata, listing.legacy_keys, listing.left_out
    zarr_format, written, repairs = _repair_metadata(source, metadata, legacy)
    repairs = [*litter_repairs(left_out), *repairs]
    return RepairedSource(source, zarr_format, metadata, legacy, written, repairs, left_out)


def _repair_metadata(
    source: Source, metadata: Sequence[str], legacy: Sequence[str]
) -> tuple[Literal[2, 3], dict[str, bytes], list[Repair]]:
    if not metadata:
        return 2, {}, []
    if ROOT_METADATA not in source:
        raise FormatError(
            f"expected one version of Zarr; the root is Zarr v2, {metadata[0]} is Zarr v3",
            path=source.name,
            rule="rfc9/one-hierarchy",
            hint="Move the nodes of one version into another directory.",
        )
    return 3, *repair_documents(source, metadata, legacy)


def _root_repairs(root: str, outside: Sequence[str], *, asked: bool = False) -> list[Repair]:
    repairs = []
    if not asked:
        repairs.append(("rfc9/root", f"the hierarchy was in the folder {root!r}, which is the root now"))
    if outside:
        what = f"files outside of {root!r}"
        repairs.append(_repair_of_many("repair/outside", what, len(outside), "left out", outside[0]))
    return repairs


def name_repairs(names: RepairedKeys) -> Iterator[Repair]:
    """Yield the repairs of entry names."""
    kinds: tuple[tuple[Fault, str, str, str], ...] = (
        ("backslash", "zip/name", "names with backslashes between components", "slashes now"),
        ("dot", "zip/name", "names with empty components or '.'", "removed"),
        ("unmarked", "zip/name-encoding", "names not declared as UTF-8", "declared now"),
        ("folder", "zip/directory-entry", "entries for folders", "dropped"),
    )
    for fault, rule, what, done in kinds:
        if fault in names.faults:
            first, count = names.faults[fault]
            yield _repair_of_many(rule, what, count, done, first)
    yield from litter_repairs(names.litter)


def litter_repairs(names: Sequence[str]) -> Iterator[Repair]:
    """Yield the repair that omits system files such as ``.DS_Store``."""
    if names:
        what = "files that desktops and editors leave behind"
        yield _repair_of_many("repair/litter", what, len(names), "left out", names[0])


def key_repairs(keys: ArchiveKeys, columns: Columns, path: str) -> Iterator[Repair]:
    """Yield a repair for duplicate keys.

    Check first that the central directory lists the entries of such a key in the order in which they are in the file.
    """
    if not keys.repeated:
        return
    same = 0
    for places in keys.repeated:
        rows = keys.rows[places]
        name = keys.names.raw_name(places[-1]).decode("utf-8", "replace")
        check_order(name, columns.header_offsets[rows].tolist(), path)
        alike = (columns.crc32s[rows] == columns.crc32s[rows[-1]]).all()
        same += bool(alike and (columns.uncompressed_sizes[rows] == columns.uncompressed_sizes[rows[-1]]).all())
    first = keys.names.raw_name(keys.repeated[0][-1]).decode("utf-8", "replace")
    done = "the last entry counts" + (f" (names whose entries have equal values: {same:,})" if same else "")
    yield _repair_of_many("zip/duplicate-name", "names of several entries", len(keys.repeated), done, first)


def container_repairs(
    reader: ArchiveReader, keys: ArchiveKeys, root_version: str | None, *, is_ome_zip: bool
) -> Iterator[Repair]:
    """Yield the repairs of the ZIP structure.

    `is_ome_zip`: whether the whole archive is one Zarr v3 hierarchy, so that RFC-9's rules of order and comment apply.
    """
    yield from _bytes_around(reader)
    yield from _entry_forms(reader.columns)
    if not reader.end.has_zip64_end:
        yield "rfc9/zip64", "the archive was not in ZIP64 form"
    if reader.end.is_wrapped or len(reader) != reader.end.entries:
        yield "zip/overflow", "counts, offsets or sizes were too large for their fields; ZIP64 holds them"
    if is_ome_zip:
        comment = parse_comment(reader.end.comment)
        yield from _order(keys, reader.columns, comment)
        yield from _comment(reader.end.comment, comment, root_version)


def _bytes_around(reader: ArchiveReader) -> Iterator[Repair]:
    end, offsets = reader.end, reader.columns.header_offsets
    leading = end.prepended or (int(offsets.min()) if len(offsets) else 0)
    # APPNOTE 4.1.9: bytes that begin with a local header are deleted entries.
    if end.prepended or (leading and reader.source.read_at(0, len(LOCAL_SIGNATURE)) != LOCAL_SIGNATURE):
        yield _repair_of_many("zip/prepended-bytes", "bytes before the archive", leading, "left out")
    if end.trailing:
        yield _repair_of_many("zip/trailing-bytes", "bytes after the archive", end.trailing, "left out")


def _entry_forms(columns: Columns) -> Iterator[Repair]:
    compressed = int((columns.methods != STORED).sum())
    if compressed:
        wide = int((columns.methods == DEFLATE64).sum())
        method = "deflate" if not wide else "Deflate64" if wide == compressed else "deflate and Deflate64"
        yield _repair_of_many("rfc9/stored", f"entries compressed by ZIP ({method})", compressed, "inflated")
    streamed = int(((columns.flags & FLAG_DATA_DESCRIPTOR) != 0).sum())
    if streamed:
        what = "entries with their sizes after the value (data descriptors)"
        yield _repair_of_many("repair/data-descriptor", what, streamed, "the sizes now come before the value")


def _order(keys: ArchiveKeys, columns: Columns, comment: Comment) -> Iterator[Repair]:
    rows = np.array(keys.find_all(keys.metadata), np.int64)
    rank = np.empty(len(columns), np.int64)
    rank[np.argsort(columns.header_offsets, kind="stable")] = np.arange(len(columns))
    values = np.cumsum(~columns.are_folders())[rows] - 1
    if comment.json_first and (values >= len(values)).any():
        message = f"the comment wrongly claimed that all {METADATA} come first (jsonFirst)"
        yield "rfc9/json-first", message
    if rows[0] or rank[rows[0]]:
        yield "rfc9/root-first", f"the root's {METADATA} was not the first entry"
    for positions in (rows, rank[rows]):
        fault = order_fault(keys.metadata, positions)
        if fault is not None:
            message = f"the {METADATA} entries did not precede the data in breadth-first order: {' '.join(fault)}"
            yield "rfc9/breadth-first", message
            return


def _comment(data: bytes, comment: Comment, root_version: str | None) -> Iterator[Repair]:
    if not data:
        yield "rfc9/comment", "there was no archive comment"
    elif comment.problem is not None:
        yield "rfc9/comment", f"the archive comment did not follow RFC-9: {comment.problem}"
    if comment.has_trailing_nul:
        yield "rfc9/comment-nul", "the archive comment ended in NUL"
    if comment.version is not None and root_version is not None and comment.version != root_version:
        message = f"the comment said OME-Zarr {comment.version}, the root {root_version}; the root's version is used"
        yield "rfc9/comment-version", message

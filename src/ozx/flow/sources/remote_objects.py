"""Find the objects below a URL: list them, or else request the keys that the metadata refer to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ozx.archive.names.decoding import name_fault
from ozx.errors import FormatError
from ozx.file_changes import Mark
from ozx.flow.sources.listing import DEEPEST, Listing, add_files, check_names, is_litter_key
from ozx.ome.images import LABELS, SERIES
from ozx.ome.model import parse_ome
from ozx.ome.partial_hierarchy import PartialHierarchy, parents_of, parse_metadata
from ozx.places.remote.errors import object_error
from ozx.places.remote.folder import REQUESTS, RemoteFolder
from ozx.threads import map_ahead
from ozx.zarr.entry_order import folder_order
from ozx.zarr.json_reading import LongDocuments, as_object
from ozx.zarr.keys import (
    LEGACY_METADATA,
    METADATA,
    ORIGINAL_METADATA,
    breadth_first,
    is_legacy_metadata_key,
    is_metadata_key,
    join_path,
    node_of,
    paths_above,
)

# Find the keys of a hierarchy on a server that cannot list them, from the references in the metadata.
#
# OME-Zarr names the levels of images, wells, fields, labels and series; chunk grids name the chunks. An object that the
# server does not have is a missing chunk, which zarr reads as the fill value.

# "bioformats2raw.layout" without a list: images are numbered from 0.
_SERIES_AT_A_TIME = REQUESTS
_MOST_CHUNKS = 10_000_000
# The maximal total length of the documents that are requested concurrently and kept.
_KEPT = 256 << 20


@dataclass
class RemoteObjects:
    """The objects below a URL, with their sizes and metadata."""

    folder: RemoteFolder  # the folder at the URL
    # The length and identity of each object by key; an error is raised if an object that is read has another mark.
    marks: dict[str, Mark]
    notes: list[str] = field(default_factory=list)  # sentences on what could not be found
    documents: dict[str, bytes] | None = None  # the metadata documents, once they are read
    _long: LongDocuments = field(default_factory=LongDocuments)

    def read_document(self, key: str) -> bytes:
        """Return a metadata document; the first call requests all documents concurrently."""
        self._long.check(self.marks[key].size, key)
        if self.documents is None:
            self.documents = {}
            wanted, room = [], _KEPT
            for other, mark in self.marks.items():
                if (is_metadata_key(other) or is_legacy_metadata_key(other)) and mark.size <= room:
                    wanted.append(other)
                    room -= mark.size
            read = map_ahead(self._read, wanted, REQUESTS, len(wanted))
            self.documents.update(zip(wanted, read, strict=True))
        return self.documents[key] if key in self.documents else self._read(key)

    def _read(self, key: str) -> bytes:
        mark = self.marks[key]
        return self.folder.read(key, 0, mark.size, mark)


def find_keys(folder: RemoteFolder, *, metadata_only: bool = False) -> RemoteObjects:
    """Find the objects of a hierarchy by requesting every key that its metadata refer to.

    `FormatError`: The root has no metadata (``rfc9/root``).
    """
    found, hierarchy = RemoteObjects(folder, {}), PartialHierarchy()
    _visit_nodes(found, hierarchy)
    if not metadata_only:
        _find_chunks(found, hierarchy)
    return found


def _visit_nodes(found: RemoteObjects, hierarchy: PartialHierarchy) -> None:
    """Read the metadata of all nodes: first the root, then the nodes to which the root refers, and so on."""
    folder, visited, is_v2 = found.folder, set[str](), False
    documents = found.documents = dict[str, bytes]()
    numbered: dict[str, int] = {}  # groups with numbered images, each with the number of images requested so far
    pending = [""]
    while pending:
        visited.update(pending)
        names = LEGACY_METADATA[:3] if is_v2 else (METADATA,)
        keys = [join_path(path, name) for path in pending for name in names]
        answers = map_ahead(partial(_fetch, folder), keys, REQUESTS, len(keys))
        implied: list[str] = []
        for key, mark, data in answers:
            if mark is not None:
                found.marks[key], documents[key] = mark, data
                implied += _add(hierarchy, numbered, key, data)
        if not hierarchy.nodes and not is_v2:
            is_v2 = True  # the root again, as Zarr v2
            continue
        if not hierarchy.nodes:
            raise FormatError(
                "this is not an OME-Zarr hierarchy: the server has neither zarr.json nor .zgroup at this URL",
                path=folder.name,
                rule="rfc9/root",
                hint="Give the URL of the folder that contains one of these files.",
            )
        wanted = dict.fromkeys([*implied, *_next_numbers(hierarchy, numbered), *sorted(hierarchy.listed())])
        above = (parent for path in wanted for parent in parents_of(path))
        pending = [path for path in dict.fromkeys([*wanted, *above]) if path not in visited]


def _find_chunks(found: RemoteObjects, hierarchy: PartialHierarchy) -> None:
    """Request each possible chunk of each array."""
    folder, grids = found.folder, {path: grid for path, grid in hierarchy.grids.items() if grid is not None}
    unknown = sorted(hierarchy.grids.keys() - grids.keys())
    if unknown:
        found.notes.append(
            f"{folder.name_of(unknown[0])} has a chunk grid that ozx does not support; its chunks cannot "
            "be found on a server that does not list files"
        )
    count = sum(grid.total for grid in grids.values())
    if count > _MOST_CHUNKS:
        raise FormatError(
            f"expected at most {_MOST_CHUNKS:,} chunks on a server that lists no files; the arrays have {count:,}",
            path=folder.name,
            hint="Give the URL of the bucket (s3://…), which can be listed.",
        )
    keys = (
        join_path(path, grid.keys.encode(place))
        for path, grid in grids.items()
        for place in itertools.product(*map(range, grid.counts))
    )
    others = [ORIGINAL_METADATA] if SERIES in hierarchy.nodes else []
    found.marks.update(folder.find_all(itertools.chain(others, keys)))
    found.notes.append("the server cannot list files: only the files that the metadata refer to were requested")


def _fetch(folder: RemoteFolder, key: str) -> tuple[str, Mark | None, bytes]:
    try:
        return key, *folder.fetch(key)
    except KeyError:
        return key, None, b""


def _add(hierarchy: PartialHierarchy, numbered: dict[str, int], key: str, data: bytes) -> Iterator[str]:
    """Add a document; yield the paths of child nodes that a node of this kind may have."""
    path, document = key.rpartition("/")[0], parse_metadata(key, data)
    if document is None:
        return  # checks of the hierarchy say what is wrong with it
    hierarchy.add(key, document)
    is_v3 = key.endswith(METADATA)
    ome = parse_ome(as_object(document.get("attributes")) if is_v3 else document, 3 if is_v3 else 2)
    if ome is None:
        return
    if ome.multiscales:
        yield join_path(path, LABELS)
    if ome.layout is not None:
        yield join_path(path, SERIES)
        if ome.plate is None:
            numbered.setdefault(path, 0)


def _next_numbers(hierarchy: PartialHierarchy, numbered: dict[str, int]) -> Iterator[str]:
    """Yield the next node paths of each numbered series; a series ends if its last requested node is missing."""
    for path, count in numbered.items():
        if count == 0 or join_path(path, str(count - 1)) in hierarchy.nodes:
            numbered[path] = count + _SERIES_AT_A_TIME
            yield from (join_path(path, str(number)) for number in range(count, count + _SERIES_AT_A_TIME))


def find_objects(url: str, *, metadata_only: bool = False) -> RemoteObjects:
    """Find the objects below a URL, by a listing if possible.

    `FormatError`: There is no object below the URL or, on a server that cannot list files, no hierarchy
    (``rfc9/root``).
    """
    folder = RemoteFolder(url)
    if not folder.can_list:
        return find_keys(folder, metadata_only=metadata_only)
    objects = folder.list_objects()
    if not objects:
        if folder.find("") is not None:
            raise object_error(folder.name)
        raise FormatError(
            "expected an OME-Zarr directory; the bucket has nothing below this URL",
            path=folder.name,
            rule="rfc9/root",
            hint="Check the URL; keys are case-sensitive.",
        )
    return RemoteObjects(folder, dict(_without_folders(objects)))


def _without_folders(objects: Sequence[tuple[str, Mark]]) -> Sequence[tuple[str, Mark]]:
    """Remove the empty objects with which some programs mark folders.

    obstore omits the slash at the end of their names.
    """
    if all(mark.size for _, mark in objects):
        return objects
    folders = {key[:end] for key, _ in objects for end in _slashes(key)}
    return [(key, mark) for key, mark in objects if mark.size or key not in folders]


def _slashes(key: str) -> Iterator[int]:
    return (place for place, letter in enumerate(key) if letter == "/")


# List the keys of a remote directory; the keys need not be valid file names.

_METADATA_NAMES = frozenset((METADATA, *LEGACY_METADATA))


def list_keys(name: str, keys: Iterable[str]) -> Listing:
    """Return a listing of `keys`, given in any order; omit folders and system files.

    `FormatError`: A key cannot become the name of an entry (``zip/name``), or names an archive (``rfc9/not-embedded``).
    """
    listing = Listing(name)
    folders: dict[str, list[str]] = {}
    for key in keys:
        folder, slash, last = key.rpartition("/")
        if last:  # an object called "0/" stands for the folder
            folders.setdefault(folder + slash, []).append(last)
    nodes = {node_of(prefix + METADATA) for prefix, names in folders.items() if not _METADATA_NAMES.isdisjoint(names)}
    nodes |= {above for node in nodes for above in paths_above(node)}
    for prefix in sorted(folders, key=folder_order):
        fault = name_fault(prefix + folders[prefix][0]) if prefix else None
        if fault is not None or prefix.count("/") > DEEPEST:
            fault = fault or f"it has more than {DEEPEST} folders"
            raise FormatError(f"the name {prefix[:80]!r} is refused: {fault}", path=name, rule="zip/name")
        kept = [each for each in folders[prefix] if not is_litter_key(prefix + each, nodes)]
        listing.left_out += sorted(prefix + each for each in set(folders[prefix]).difference(kept))
        check_names(listing, prefix, kept)
        add_files(listing, prefix, kept)
    listing.metadata.sort(key=breadth_first)
    return listing

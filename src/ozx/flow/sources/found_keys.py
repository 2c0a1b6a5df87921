"""Find the keys of a hierarchy on a server that cannot list them, from the references in the metadata.

OME-Zarr names the levels of images, wells, fields, labels and series; chunk grids name the chunks. An object that the
server does not have is a missing chunk, which zarr reads as the fill value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ozx.archive.remote.folder import REQUESTS, RemoteFolder, RemoteObject
from ozx.errors import FormatError
from ozx.hierarchy.json.values import as_object
from ozx.hierarchy.keys import LEGACY_METADATA, METADATA
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.ome.metadata import parse_ome
from ozx.hierarchy.partial_hierarchy import PartialHierarchy, parents_of, parse_metadata

# OME-Zarr 0.5: names whose existence follows from the kind of the group above.
_LABELS, _SERIES_GROUP, _SERIES_XML = "labels", "OME", "OME/METADATA.ome.xml"
# "bioformats2raw.layout" without a list: images are numbered from 0.
_SERIES_AT_A_TIME = REQUESTS
_MOST_CHUNKS = 10_000_000


@dataclass
class FoundKeys:
    """The objects that were found on a server."""

    objects: list[RemoteObject] = field(default_factory=list)  # the objects, in any order
    documents: dict[str, bytes] = field(default_factory=dict)  # the metadata documents by key
    notes: list[str] = field(default_factory=list)  # sentences on what cannot be found without a listing


def find_keys(folder: RemoteFolder, *, metadata_only: bool = False) -> FoundKeys:
    """Find the objects of a hierarchy by requesting every key that its metadata refer to.

    `FormatError`: The root has no metadata (``rfc9/root``).
    """
    search = _Search(folder)
    search.visit_nodes()
    if not metadata_only:
        search.find_chunks()
    return search.found


class _Search:
    def __init__(self, folder: RemoteFolder) -> None:
        self._folder = folder
        self._hierarchy = PartialHierarchy()
        self._visited: set[str] = set()
        # Groups with numbered images, each with the number of images requested so far.
        self._numbered: dict[str, int] = {}
        self.found = FoundKeys()

    def visit_nodes(self) -> None:
        """Read the metadata of all nodes: first the root, then the nodes to which the root refers, and so on."""
        with ThreadPoolExecutor(REQUESTS, "ozx-find") as threads:
            is_v2 = False
            pending = [""]
            while pending:
                self._visited.update(pending)
                names = LEGACY_METADATA[:3] if is_v2 else (METADATA,)
                keys = [join_path(path, name) for path in pending for name in names]
                implied = [path for answer in threads.map(self._read, keys) for path in self._add(*answer)]
                if not self._hierarchy.nodes and not is_v2:
                    is_v2 = True  # the root again, as Zarr v2
                    continue
                if not self._hierarchy.nodes:
                    raise FormatError(
                        "expected an OME-Zarr hierarchy; the server has neither zarr.json nor .zgroup at this URL",
                        path=self._folder.name,
                        rule="rfc9/root",
                        hint="Give the URL of the folder that contains one of these files.",
                    )
                wanted = dict.fromkeys([*implied, *self._next_numbers(), *sorted(self._hierarchy.listed())])
                above = (parent for path in wanted for parent in parents_of(path))
                pending = [path for path in dict.fromkeys([*wanted, *above]) if path not in self._visited]

    def find_chunks(self) -> None:
        """Request each possible chunk of each array."""
        grids = {path: grid for path, grid in self._hierarchy.grids.items() if grid is not None}
        unknown = sorted(self._hierarchy.grids.keys() - grids.keys())
        if unknown:
            self.found.notes.append(
                f"{self._folder.name_of(unknown[0])} has a chunk grid that ozx does not support; its chunks cannot "
                "be found on a server that does not list files"
            )
        count = sum(grid.total for grid in grids.values())
        if count > _MOST_CHUNKS:
            raise FormatError(
                f"expected at most {_MOST_CHUNKS:,} chunks on a server that lists no files; the arrays have {count:,}",
                path=self._folder.name,
                hint="Give the URL of the bucket (s3://…), which can be listed.",
            )
        keys = (
            join_path(path, grid.keys.encode(place))
            for path, grid in grids.items()
            for place in itertools.product(*map(range, grid.counts))
        )
        self.found.objects += self._folder.find_all(itertools.chain(self._other_files(), keys))
        self.found.notes.append(
            "the server cannot list files: only the files that the metadata refer to were requested"
        )

    def _other_files(self) -> Iterator[str]:
        if _SERIES_GROUP in self._hierarchy.nodes:
            yield _SERIES_XML

    def _read(self, key: str) -> tuple[str, RemoteObject | None, bytes]:
        try:
            return key, *self._folder.fetch(key)
        except KeyError:
            return key, None, b""

    def _add(self, key: str, found: RemoteObject | None, data: bytes) -> Iterable[str]:
        """Add a document; return the paths of child nodes that a node of this kind may have."""
        path = key.rpartition("/")[0]
        if found is None:
            return
        self.found.objects.append(found)
        self.found.documents[key] = data
        document = parse_metadata(key, data)
        if document is None:
            return  # checks of the hierarchy say what is wrong with it
        self._hierarchy.add(key, document)
        is_v3 = key.endswith(METADATA)
        ome = parse_ome(as_object(document.get("attributes")) if is_v3 else document, 3 if is_v3 else 2)
        if ome is None:
            return
        if ome.multiscales:
            yield join_path(path, _LABELS)
        if ome.layout is not None:
            yield join_path(path, _SERIES_GROUP)
            if ome.plate is None:
                self._numbered.setdefault(path, 0)

    def _next_numbers(self) -> Iterator[str]:
        """Yield the next node paths of each numbered series; a series ends if its last requested node is missing."""
        for path, count in self._numbered.items():
            if count == 0 or join_path(path, str(count - 1)) in self._hierarchy.nodes:
                self._numbered[path] = count + _SERIES_AT_A_TIME
                yield from (join_path(path, str(number)) for number in range(count, count + _SERIES_AT_A_TIME))

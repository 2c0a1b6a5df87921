"""Repair metadata: add missing groups, remove leftover Zarr v2 documents and outdated consolidated metadata."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ozx.errors import FormatError
from ozx.flow.repair.source import Changes, Repair
from ozx.flow.sources.source import Source
from ozx.hierarchy.json.documents import Document, dump_document, parse_document
from ozx.hierarchy.json.values import without_special_numbers
from ozx.hierarchy.keys import METADATA, missing_groups, node_of
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.zarr.consolidation import is_stale, without_copies
from ozx.hierarchy.zarr_v2.groups import group_document


def repair_documents(source: Source, metadata: Sequence[str], legacy: Sequence[str]) -> tuple[Changes, list[Repair]]:
    """Return the metadata changes that repair a Zarr v3 hierarchy.

    Read the root's ``zarr.json``, the documents above missing groups, and the documents that ``consolidated_metadata``
    copies. Drop copies that differ from the documents, or that a new group makes incomplete, because zarr-python
    reads the copies instead of the documents.

    `FormatError`: Nodes have metadata of Zarr v2 alone, or lie below an array (``rfc9/one-hierarchy``); a document
    cannot be read (``zarr/json``).
    """
    nodes = {node_of(key) for key in metadata}
    repairs = list(_drop_legacy(source.name, nodes, legacy))
    documents = _Documents(source, nodes)
    repairs += documents.add_groups()
    repairs += documents.drop_copies()
    return Changes(metadata, documents.written, frozenset(legacy)), repairs


def _drop_legacy(name: str, nodes: Collection[str], legacy: Sequence[str]) -> Iterable[Repair]:
    alone = [key for key in legacy if node_of(key) not in nodes]
    if alone:
        raise FormatError(
            f"expected one version of Zarr; {len(alone):,} metadata files of Zarr v2 have no {METADATA} beside them, "
            f"the first is {alone[0]}",
            path=name,
            rule="rfc9/one-hierarchy",
            hint="Remove the files of one version, or convert the nodes.",
        )
    if legacy:
        what = f"metadata files of Zarr v2 beside the {METADATA} of the same node"
        yield Repair.of_many("rfc9/one-hierarchy", what, len(legacy), "dropped", legacy[0])


class _Documents:
    """The metadata of a hierarchy with the repairs made so far."""

    def __init__(self, source: Source, nodes: set[str]) -> None:
        self._source = source
        self._nodes = nodes
        self._missing = missing_groups(nodes)
        self.written: dict[str, bytes] = {}

    def add_groups(self) -> Iterable[Repair]:
        """Create the missing groups above nodes, because Zarr core 3.1 has no implicit groups."""
        for path in self._missing:
            above = self._nearest(path)
            if self._read(above).get("node_type") == "array":
                raise FormatError(
                    f"expected no nodes inside an array; found some below {path!r}, inside the array {above!r}",
                    path=self._source.name,
                    rule="rfc9/one-hierarchy",
                    hint="Move these nodes out of the array's folder.",
                )
        for path in self._missing:
            self.written[join_path(path, METADATA)] = dump_document(group_document({}))
        if self._missing:
            what = f"groups without {METADATA} above other nodes"
            yield Repair.of_many("rfc9/one-hierarchy", what, len(self._missing), "written", self._missing[0])

    def drop_copies(self) -> Iterable[Repair]:
        """Remove consolidated metadata that differs from the documents."""
        stale = []
        for group in sorted({"", *(above for path in self._missing for above in self._ancestors(path))}):
            document, prefix = self._read(group), f"{group}/" if group else ""
            below = {path[len(prefix) :] for path in self._all_nodes() if path != group and path.startswith(prefix)}
            if is_stale(document, below, lambda path, prefix=prefix: self._read(prefix + path)):  # type: ignore[misc]
                stale.append(group)
                self.written[join_path(group, METADATA)] = dump_document(
                    without_special_numbers(without_copies(document))
                )
        if stale:
            where = f"{stale[0] or 'the root'}{f' and {len(stale) - 1:,} more groups' if len(stale) > 1 else ''}"
            message = f"consolidated_metadata was dropped from {where}: it differed from the metadata of the nodes"
            yield Repair("repair/consolidated", message)

    def _all_nodes(self) -> Iterable[str]:
        return (*self._nodes, *self._missing)

    def _ancestors(self, path: str) -> Iterable[str]:
        """Yield the paths of the groups that contain `path` and have a document, from the nearest group to the root."""
        while path:
            path = path.rpartition("/")[0]
            if path in self._nodes:
                yield path

    def _nearest(self, path: str) -> str:
        return next(iter(self._ancestors(path)))

    def _read(self, path: str) -> Document:
        key = join_path(path, METADATA)
        return parse_document(self.written[key] if key in self.written else self._source.read(key), key)

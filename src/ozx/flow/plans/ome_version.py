"""Plan the conversion of metadata to another OME-Zarr version; data entries are copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from ozx.errors import UnsupportedError, UsageError
from ozx.flow.plan import Plan
from ozx.flow.sources.source import StoredValues
from ozx.ome.conversion_05_06 import checked_version, convert_group
from ozx.ome.nodes import NoteCollector
from ozx.zarr.json_reading import Document, dump_document, parse_document
from ozx.zarr.keys import METADATA, join_path, node_of
from ozx.zarr.normalisation import CONSOLIDATED, renew_copies

_P = TypeVar("_P", bound=Plan)


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """The OME-Zarr version to write: 0.5 or 0.6, or None to keep the version of the source.

    `drop` leaves out metadata that 0.5 cannot express.
    """

    version: str | None = None
    drop: bool = False

    def __post_init__(self) -> None:
        if self.version is not None:
            checked_version(self.version)
        if self.drop and self.version != "0.5":
            raise UsageError(
                "drop_transformations=True applies only to OME-Zarr 0.5",
                hint="Give ome_version='0.5', too.",
            )


def in_version(plan: _P, choice: VersionChoice) -> _P:
    """Return the plan with its metadata converted to the chosen version, and notes about the changes."""
    if choice.version is None or choice.version == (found := plan.version):
        return plan
    converted = _Conversion(plan.metadata, choice)
    metadata = converted.metadata()
    notes = [*plan.notes, f"OME-Zarr {found} became {choice.version}", *converted.notes.sentences()]
    plan.notes[:] = notes  # the entries of the plan add to this very list
    return replace(plan, metadata=metadata)


class _Conversion:
    """A version conversion of the documents of a hierarchy."""

    def __init__(self, metadata: Mapping[str, bytes], choice: VersionChoice) -> None:
        self.notes = NoteCollector()
        self._metadata = metadata
        self._changed: dict[str, Document] = {}
        self._arrays: dict[str, Document] = {}
        self._copies: dict[str, Document] = {}
        names: dict[str, tuple[str, ...]] = {}
        for key, value in metadata.items():
            document = parse_document(value, key)
            if document.get("node_type") == "array":
                self._arrays[node_of(key)] = document
                continue
            if document.get(CONSOLIDATED) is not None:
                self._copies[key] = document
            names |= self._convert(key, document, choice)
        for path, wanted in names.items():
            self._name(path, wanted)

    def _convert(self, key: str, document: Document, choice: VersionChoice) -> dict[str, tuple[str, ...]]:
        """Convert a group; return the dimension names of its levels."""
        path = node_of(key)
        group = convert_group(document, choice.version or "", path or "the root", drop=choice.drop)
        if group.document is not document:
            self._changed[key] = group.document
        for dropped in group.notes:
            self.notes.add(path, f"left out {dropped}, which OME-Zarr 0.5 cannot express")
        return {join_path(path, level): names for level, names in group.dimension_names}

    def _name(self, path: str, names: tuple[str, ...]) -> None:
        """Name the dimensions of a level after the axes."""
        array = self._arrays.get(path)
        if array is None or array.get("dimension_names") == list(names):
            return
        key = join_path(path, METADATA)
        if key in self._changed:
            raise UnsupportedError(
                f"{path}: two images give its dimensions different names; one gives {names!r}",
                hint="OME-Zarr 0.5 stores the names in the array: give each image its own array.",
            )
        self._changed[key] = {**array, "dimension_names": list(names)}
        self.notes.add(path, "added the names of the axes as dimension_names, which OME-Zarr 0.5 requires")

    def _find(self, path: str) -> Document | None:
        key = join_path(path, METADATA)
        if key in self._changed or key not in self._metadata:
            return self._changed.get(key)
        return parse_document(self._metadata[key], key)

    def metadata(self) -> Mapping[str, bytes]:
        """Return all documents in their order, converted or unchanged."""
        for key, document in self._copies.items():
            self._changed[key] = renew_copies(self._changed.get(key, document), node_of(key), self._find)
        changed = {key: dump_document(document) for key, document in self._changed.items()}
        stored = self._metadata
        return StoredValues(list(stored), lambda key: changed[key] if key in changed else stored[key])

"""Plan the conversion of metadata to another OME-Zarr version; data entries are copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from ozx.errors import UnsupportedError, UsageError
from ozx.flow.plan import Plan
from ozx.flow.sources.source import StoredDocuments
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
    found = plan.version
    if choice.version is None or choice.version == found:
        return plan
    notes, stored = NoteCollector(), plan.metadata
    changed = _convert(stored, choice.version, notes, drop=choice.drop)
    # In place: the entries of the plan add to this very list.
    plan.notes += [f"OME-Zarr {found} became {choice.version}", *notes.sentences()]
    values = {key: dump_document(document) for key, document in changed.items()}
    metadata = StoredDocuments(list(stored), lambda key: values[key] if key in values else stored[key])
    return replace(plan, metadata=metadata)


def _convert(metadata: Mapping[str, bytes], version: str, notes: NoteCollector, *, drop: bool) -> dict[str, Document]:
    """Return the changed documents of a hierarchy by key, and collect notes about the changes."""
    changed: dict[str, Document] = {}
    arrays: dict[str, Document] = {}
    copies: dict[str, Document] = {}
    names: dict[str, tuple[str, ...]] = {}  # the dimension names of levels
    for key, value in metadata.items():
        document, path = parse_document(value, key), node_of(key)
        if document.get("node_type") == "array":
            arrays[path] = document
            continue
        if document.get(CONSOLIDATED) is not None:
            copies[key] = document
        group = convert_group(document, version, path or "the root", drop=drop)
        if group.document is not document:
            changed[key] = group.document
        for dropped in group.notes:
            notes.add(path, f"left out {dropped}, which OME-Zarr 0.5 cannot express")
        for level, found in group.dimension_names:
            at = join_path(path, level)
            if names.setdefault(at, found) != found:
                raise UnsupportedError(
                    f"{at}: two images give its dimensions different names; one gives {names[at]!r}",
                    hint="OME-Zarr 0.5 stores the names in the array: give each image its own array.",
                )
    for path, wanted in names.items():
        array = arrays.get(path)
        if array is not None and array.get("dimension_names") != list(wanted):
            changed[join_path(path, METADATA)] = {**array, "dimension_names": list(wanted)}
            notes.add(path, "added the names of the axes as dimension_names, which OME-Zarr 0.5 requires")
    _renew_copies(metadata, changed, copies)
    return changed


def _renew_copies(metadata: Mapping[str, bytes], changed: dict[str, Document], copies: Mapping[str, Document]) -> None:
    """Write consolidated metadata anew in the documents `copies`, in place."""

    def find(path: str) -> Document | None:
        key = join_path(path, METADATA)
        if key in changed or key not in metadata:
            return changed.get(key)
        return parse_document(metadata[key], key)

    for key, document in copies.items():
        changed[key] = renew_copies(changed.get(key, document), node_of(key), find)

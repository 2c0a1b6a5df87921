"""Open any OME-Zarr hierarchy as a source; repair and report the faults that other programs caused.

ozx repairs what every tolerant reader understands alike: the place of the root, the spelling of names, the form and
order of entries. It refuses what is ambiguous or harmful: encryption, overlapping entries, contradicting headers, names
that lead out of the folder, archives in archives. See docs/decisions/0012-repair.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from ozx.archive.byte_source import FileSource
from ozx.archive.reader import ArchiveReader
from ozx.archive.remote.opening import open_remote
from ozx.errors import FormatError, OzxError
from ozx.flow.repair.container import container_repairs, key_repairs, litter_repairs, name_repairs
from ozx.flow.repair.documents import repair_documents
from ozx.flow.repair.names import RepairedNames, repair_names
from ozx.flow.repair.source import Changes, Repair, RepairedSource
from ozx.flow.sources.archive import ArchiveSource
from ozx.flow.sources.archive_keys import ArchiveKeys, metadata_places
from ozx.flow.sources.directory import DirectorySource
from ozx.flow.sources.hierarchy_root import choose_root, find_root_folder
from ozx.flow.sources.listing import list_directory
from ozx.flow.sources.location import parse_location
from ozx.flow.sources.source import Source
from ozx.flow.sources.wrong_sources import refuse_folder_of_images
from ozx.hierarchy.comment import parse_comment, warn_of_unknown_keys
from ozx.hierarchy.json.documents import parse_document
from ozx.hierarchy.json.values import as_object, as_text
from ozx.hierarchy.keys import ROOT_METADATA, node_of

if TYPE_CHECKING:
    from ozx.archive.remote.source import RemoteSource

__all__ = ["Repair", "RepairedSource", "open_repaired"]

# The number of other files that a message names.
_FEW = 5


def open_repaired(path_or_url: str | os.PathLike[str], *, allow_bombs: bool = False) -> RepairedSource:
    """Open a hierarchy as a source with repaired keys and metadata; write no file and read no chunk.

    `path_or_url`: a directory, an archive of any name, or the URL of one of both; Zarr v3 or v2. Also a node inside an
    archive (`ozx.flow.sources.location.parse_location`) that is the root of a hierarchy.

    Examples
    --------
    >>> with open_repaired("cells.ozx") as source:
    ...     source.zarr_format, source.repaired
    (3, ())
    """
    location = parse_location(path_or_url)
    if not location.is_remote and os.path.isdir(location.path):
        try:
            return _open_directory(location.path.rstrip("/") or "/")
        except OzxError as error:
            raise error.at(location.path) from None
    if location.is_directory_url():
        return _open_remote_directory(location.path)
    file = open_remote(location.path) if location.is_remote else FileSource(location.path)
    try:
        return _open_archive(file, location.node, allow_bombs=allow_bombs)
    except OzxError as error:
        file.close()
        raise error.at(file.name) from None
    except BaseException:
        file.close()
        raise


def _open_archive(file: FileSource | RemoteSource, node: str, *, allow_bombs: bool) -> RepairedSource:
    reader = ArchiveReader(file)
    warn_of_unknown_keys(parse_comment(reader.end.comment), file.name)
    reader.check_values(allow_bombs=allow_bombs)
    names = repair_names(reader.columns, file.name)
    root, repairs, left_out = _cut_to_root(names, file.name, node)
    keys = ArchiveKeys(names.names, names.rows)
    reader.prefetch_head()
    source = ArchiveSource(reader, keys)
    legacy = [key.removeprefix(root) for key in names.legacy if key.startswith(root)]
    repairs = [*name_repairs(names), *repairs, *key_repairs(keys, reader.columns, file.name)]
    zarr_format, changes, of_documents = _repair_metadata(source, keys.metadata, list(dict.fromkeys(legacy)))
    version = _root_version(source) if zarr_format == 3 else None
    repairs += container_repairs(reader, keys, version, is_ome_zip=zarr_format == 3 and not node)
    return RepairedSource(source, zarr_format, changes, [*repairs, *of_documents], [*names.litter, *left_out], file)


def _cut_to_root(names: RepairedNames, path: str, node: str) -> tuple[str, list[Repair], list[str]]:
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
    found = find_root_folder(path)
    root = choose_root(found.folders, path, files=found.files)
    listing = list_directory(os.path.join(path, root) if root else path)
    source = DirectorySource(listing)
    litter = [name for name in listing.left_out if not name.endswith("/")]
    repairs = [*litter_repairs(litter), *(_root_repairs(root, found.files) if root else ())]
    zarr_format, changes, of_documents = _repair_metadata(source, listing.metadata, listing.legacy_keys)
    left_out = [*listing.left_out, *found.files]
    return RepairedSource(source, zarr_format, changes, [*repairs, *of_documents], left_out)


def _open_remote_directory(url: str) -> RepairedSource:
    from ozx.flow.sources.remote_directory import list_remote_directory  # noqa: PLC0415 (most runs do not need it)

    source = list_remote_directory(url)
    listing = source.listing
    refuse_folder_of_images(listing)
    if not listing.metadata and not listing.legacy_keys:
        choose_root((), source.name, files=list(islice(listing.iter_keys(), _FEW)))
    zarr_format, changes, repairs = _repair_metadata(source, listing.metadata, listing.legacy_keys)
    return RepairedSource(source, zarr_format, changes, [*litter_repairs(listing.left_out), *repairs], listing.left_out)


def _repair_metadata(
    source: Source, metadata: Sequence[str], legacy: Sequence[str]
) -> tuple[Literal[2, 3], Changes, list[Repair]]:
    if not metadata:
        return 2, Changes(), []
    if ROOT_METADATA not in source:
        raise FormatError(
            f"expected one version of Zarr; the root is Zarr v2, {metadata[0]} is Zarr v3",
            path=source.name,
            rule="rfc9/one-hierarchy",
            hint="Move the nodes of one version into another directory.",
        )
    changes, repairs = repair_documents(source, metadata, legacy)
    return 3, changes, repairs


def _root_repairs(root: str, outside: Sequence[str], *, asked: bool = False) -> list[Repair]:
    repairs = []
    if not asked:
        repairs.append(Repair("rfc9/root", f"the hierarchy was in the folder {root!r}, which is the root now"))
    if outside:
        what = f"files outside of {root!r}"
        repairs.append(Repair.of_many("repair/outside", what, len(outside), "left out", outside[0]))
    return repairs


def _root_version(source: Source) -> str | None:
    attributes = as_object(parse_document(source.read(ROOT_METADATA), ROOT_METADATA).get("attributes"))
    return as_text(as_object(attributes.get("ome")).get("version"))

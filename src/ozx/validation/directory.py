"""Validation of a directory: the hierarchy in it, and archives among its files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ozx.archive.records import LOCAL_SIGNATURE
from ozx.errors import FormatError, raise_error
from ozx.flow.entry import FileSpan
from ozx.flow.sources.directory import DirectorySource, check_not_embedded
from ozx.flow.sources.listing import DEEPEST, Listing, list_directory
from ozx.flow.sources.source import StoredDocuments
from ozx.places.positional_reading import open_for_reading
from ozx.quoting import quote, quote_pattern
from ozx.validation.container.one_hierarchy import check_nodes, check_read_faults, check_sharding
from ozx.validation.container.rfc9 import check_surroundings
from ozx.validation.hierarchy import NodeChecker, Options
from ozx.validation.nodes.facts import read_legacy_nodes, read_nodes
from ozx.validation.report import Finding
from ozx.validation.rules.findings import each, finding_from_error, make_finding
from ozx.zarr.entry_order import component_order
from ozx.zarr.keys import breadth_first, is_legacy_metadata_key, is_metadata_key

if TYPE_CHECKING:
    from ozx.flow.sources.remote_directory import RemoteDirectorySource

_ARCHIVE_ENDINGS = (".ozx", ".zip")


def check_directory(path: str, options: Options) -> Iterator[Finding]:
    """Yield findings about the hierarchy in a directory, and about files that `pack` refuses."""
    yield from check_surroundings(path, is_directory=True)
    refusal = None
    try:
        listing = list_directory(path)
    except FormatError as error:
        # This listing stops at the first file that cannot be an entry; another one finds the other files to check.
        refusal, listing = error, _list_everything(path)
    archives = [key for key in listing.iter_keys() if key.lower().endswith(_ARCHIVE_ENDINGS)]
    if archives and not (listing.metadata or listing.legacy_keys):
        yield _folder_of_archives(path, archives)
        return
    if refusal is not None and not (archives and refusal.rule == "rfc9/not-embedded"):
        yield finding_from_error(refusal)
    yield from _report_archives(archives)
    yield from _check_contents(listing, set(archives))
    yield from _check_nodes(DirectorySource(listing), options)


def _folder_of_archives(path: str, archives: Sequence[str]) -> Finding:
    """Return a finding about a folder that contains archives, but no hierarchy."""
    patterns = sorted({quote_pattern(path, f"*{os.path.splitext(key)[1]}") for key in archives if "/" not in key})
    first = quote(os.path.join(path, min(archives)))
    return make_finding(
        "rfc9/root",
        f"expected an OME-Zarr hierarchy; found {len(archives):,} archives, such as {min(archives)}",
        hint=f"To check the archives: ozx validate {' '.join(patterns) or first}",
    )


def check_remote_directory(url: str, options: Options) -> Iterator[Finding]:
    """Yield findings about a hierarchy in a directory at a URL; chunks are requested only at level ``data``."""
    from ozx.flow.sources.remote_directory import RemoteDirectorySource  # noqa: PLC0415
    from ozx.flow.sources.remote_objects import find_objects, list_keys  # noqa: PLC0415

    objects = find_objects(url, metadata_only=options.level != "data")
    archives = [key for key in objects.marks if key.lower().endswith(_ARCHIVE_ENDINGS)]
    yield from _report_archives(archives)
    try:
        listing = list_keys(objects.folder.name, objects.marks.keys() - set(archives))
    except FormatError as error:
        yield finding_from_error(error)
        return
    yield from _check_nodes(RemoteDirectorySource(objects, listing), options)


def _report_archives(keys: Sequence[str]) -> Iterator[Finding]:
    rule = "rfc9/not-embedded"
    yield from each(rule, keys, lambda key: make_finding(rule, f"{key} is an archive according to its name", entry=key))


def _check_nodes(source: DirectorySource | RemoteDirectorySource, options: Options) -> Iterator[Finding]:
    listing = source.listing
    checker = None if options.level == "archive" else NodeChecker(options)
    look = None if checker is None else checker.look
    nodes, faults = read_nodes(StoredDocuments(listing.metadata, source.read), look=look)
    yield from check_read_faults(faults)
    legacy = StoredDocuments(listing.legacy_keys, source.read)
    yield from check_nodes(nodes, listing.legacy_keys, listing.iter_keys(), legacy, folder=listing.root)
    yield from check_sharding(nodes, listing.iter_keys())
    if checker is None:
        return
    if not nodes and listing.legacy_keys:
        nodes, faults = read_legacy_nodes(StoredDocuments(listing.legacy_keys, source.read), (), checker.look)
        yield from check_read_faults(faults)
    yield from checker.findings(nodes, source.exists)
    if options.level == "data":
        from ozx.validation.zarr.chunks import check_data  # noqa: PLC0415 (loads zarr, half a second)

        yield from check_data(source, has_checksums=False, jobs=options.jobs, progress=options.progress)


def _list_everything(path: str) -> Listing:
    """Return the regular files of a directory; links are not followed, and other items are ignored."""
    listing = Listing(path)
    for folder, folders, names in os.walk(path, onerror=raise_error):
        below = os.path.relpath(folder, path).replace(os.sep, "/")
        prefix = "" if below == "." else f"{below}/"
        if prefix.count("/") >= DEEPEST:
            folders.clear()  # deeper folders are not listed
        files = []
        for name in names:
            if name.startswith("._") or not os.path.isfile(os.path.join(folder, name)):
                continue
            if is_metadata_key(name):
                listing.metadata.append(prefix + name)
            else:
                files.append(name)
                listing.legacy_keys += [prefix + name] if is_legacy_metadata_key(name) else []
        listing.folders[prefix] = sorted(files, key=component_order)
    listing.metadata.sort(key=breadth_first)
    return listing


def _check_contents(listing: Listing, known: set[str]) -> Iterator[Finding]:
    """Yield a finding for each file of the directory whose content is an archive."""
    for key in listing.iter_keys():
        if key in known:
            continue
        path = listing.path(key)
        descriptor = open_for_reading(path)
        try:
            if os.read(descriptor, len(LOCAL_SIGNATURE)) == LOCAL_SIGNATURE:
                check_not_embedded(FileSpan.of_file(path))
        except FormatError as error:
            yield finding_from_error(error, entry=key)
        finally:
            os.close(descriptor)

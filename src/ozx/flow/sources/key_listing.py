"""List the keys of a remote directory; the keys need not be valid file names."""

from __future__ import annotations

from collections.abc import Iterable

from ozx.archive.names.decoding import name_fault
from ozx.errors import FormatError
from ozx.flow.sources.listing import DEEPEST, Listing, add_files, check_names, is_litter_key
from ozx.hierarchy.entry_order import breadth_first, component_order
from ozx.hierarchy.keys import LEGACY_METADATA, METADATA, node_of, paths_above

_METADATA_NAMES = frozenset((METADATA, *LEGACY_METADATA))


def list_keys(name: str, keys: Iterable[str]) -> Listing:
    """Return a listing of `keys`, given in any order; omit folders and system files.

    `FormatError`: A key cannot become the name of an entry (``zip/name``), or names an archive (``rfc9/not-embedded``).

    Examples
    --------
    >>> listing = list_keys("s3://bucket/cells.zarr", ["0/c/10", "0/c/9", "0/zarr.json", "zarr.json", ".DS_Store"])
    >>> list(listing.iter_keys()), listing.left_out
    (['zarr.json', '0/zarr.json', '0/c/9', '0/c/10'], ['.DS_Store'])
    """
    listing = Listing(name)
    folders: dict[str, list[str]] = {}
    for key in keys:
        folder, slash, last = key.rpartition("/")
        if last:  # an object called "0/" stands for the folder
            folders.setdefault(folder + slash, []).append(last)
    nodes = {node_of(prefix + METADATA) for prefix, names in folders.items() if not _METADATA_NAMES.isdisjoint(names)}
    nodes |= {above for node in nodes for above in paths_above(node)}
    for prefix in sorted(folders, key=_folder_order):
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


def _folder_order(prefix: str) -> list[object]:
    """Return a sort key that puts each folder before its sub-folders, which are sorted by name."""
    return [component_order(name) for name in prefix.split("/")[:-1]]

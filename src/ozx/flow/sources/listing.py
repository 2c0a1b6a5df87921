"""List the keys of the hierarchy in a directory, sorted into archive order.

One pass of `os.scandir` finds them, without a `stat` per file; memory holds one short string per file.
"""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ozx.archive.names.decoding import name_fault
from ozx.archive.other_formats import describe_names
from ozx.errors import FormatError, raise_error
from ozx.quoting import quote
from ozx.zarr.entry_order import component_order
from ozx.zarr.keys import METADATA, breadth_first, is_legacy_metadata_key

# Files of desktops, editors, network file systems and interrupted writers, to be left out. A folder that holds a node
# is no litter: cells~, ._x and #x# are legal names of nodes.
_LITTER = re.compile(
    r"\.DS_Store|\._.*|__MACOSX|Thumbs\.db|desktop\.ini|\.directory"  # macOS, Windows, KDE
    r"|.*~|\.#.*|#.*#|\..*\.sw[a-p]|\.~lock\..*#"  # Emacs, vim, LibreOffice
    r"|\.nfs[0-9a-f]{8,}|\.fuse_hidden[0-9a-f]+"  # files deleted while open
    r"|\..*\.ozx-(?:tmp|aside)|\.ozx-removing",  # our own
    re.IGNORECASE,
)
# An incomplete hierarchy: litter although it holds nodes.
_OWN_ENDING = ".ozx-tmp"
# Cheap test: all litter begins or ends like this, in either case.
_LITTER_STARTS, _LITTER_ENDS = (".", "_", "T", "t", "D", "d", "#"), "~"

_NODE_METADATA = frozenset((METADATA, ".zarray", ".zgroup"))
_ARCHIVE_ENDINGS = (".ozx", ".zip")

#: Maximal depth of folders. Python before 3.13 can neither remove nor list a tree a thousand deep.
DEEPEST = 256


@dataclass
class Listing:
    """The keys of a hierarchy in a directory."""

    root: str  # the directory
    # The keys of all ``zarr.json``, root first, then breadth-first (RFC-9).
    metadata: list[str] = field(default_factory=list)
    # All other files in hierarchy order: the names in each folder, by the prefix of their keys.
    folders: dict[str, list[str]] = field(default_factory=dict)
    legacy_keys: list[str] = field(default_factory=list)  # the keys in `folders` that are metadata of Zarr v2
    # Paths outside of the hierarchy, relative to the root; empty directories end in a slash.
    left_out: list[str] = field(default_factory=list)

    def path(self, key: str) -> str:
        """Return the path of the file with this key."""
        return f"{self.root}/{key}"

    def has(self, key: str) -> bool:
        """Return whether `key` exists."""
        folder, slash, name = key.rpartition("/")
        if name == METADATA:
            return key in self._documents
        names = self.folders.get(folder + slash)
        if names is None:
            return False
        place = bisect_left(names, component_order(name), key=component_order)
        return place < len(names) and names[place] == name

    @cached_property
    def _documents(self) -> frozenset[str]:
        return frozenset(self.metadata)

    def drop(self, key: str) -> None:
        """Remove a key from the listing, unless it is metadata or missing."""
        folder, slash, name = key.rpartition("/")
        if name in self.folders.get(folder + slash, ()):
            self.folders[folder + slash].remove(name)

    def iter_keys(self) -> Iterator[str]:
        """Yield all keys in archive order."""
        yield from self.metadata
        for prefix, names in self.folders.items():
            for name in names:
                yield prefix + name

    def count_bytes(self) -> int:
        """Return the total size of the files in bytes, with one `stat` call per file."""
        return sum(os.stat(self.path(key)).st_size for key in self.iter_keys())


def is_litter(name: str) -> bool:
    """Return whether desktops or editors create files of this name; a node's folder may have such a name, too."""
    return _LITTER.fullmatch(name) is not None


def is_left_out(entry: os.DirEntry[str]) -> bool:
    """Return whether a file or folder is omitted: it has the name of a system file, and contains no node.

    Unfinished hierarchies of ozx (``.ozx-tmp``) are omitted, too, although they contain nodes.
    """
    if not is_litter(entry.name):
        return False
    return entry.name.endswith(_OWN_ENDING) or not (entry.is_dir() and _holds_node(entry.path))


def is_litter_key(key: str, nodes: Collection[str]) -> bool:
    """Return whether an entry of an archive is a system file, or in a folder of system files."""
    parts = key.split("/")
    for place, part in enumerate(parts, 1):
        if is_litter(part) and (part.endswith(_OWN_ENDING) or "/".join(parts[:place]) not in nodes):
            return True
    return False


def _holds_node(path: str) -> bool:
    return any(not _NODE_METADATA.isdisjoint(names) for _, _, names in os.walk(path, onerror=raise_error))


def list_directory(root: str) -> Listing:
    """Return the listing of the hierarchy in the directory `root`.

    `FormatError`: The directory holds something that cannot become an entry: an archive (``rfc9/not-embedded``), a
    refused name (``zip/name``), a socket, device or pipe, a link out of the directory or in circles
    (``zip/special-file``).
    """
    listing = Listing(root)
    _visit(listing, "", os.path.realpath(root), ())
    listing.metadata.sort(key=breadth_first)
    return listing


def _visit(listing: Listing, prefix: str, real_root: str, links: tuple[str, ...]) -> bool:
    """Add the files in the folder `prefix` and its sub-folders; return whether any file was added."""
    if prefix.count("/") > DEEPEST:
        raise FormatError(
            f"expected at most {DEEPEST} nested folders; found more, in {prefix[:80]}…",
            path=listing.root,
            rule="zip/name",
            hint="No hierarchy is so deep; check which program made these folders.",
        )
    files, folders = [], []
    with os.scandir(f"{listing.root}/{prefix}") as entries:
        for entry in entries:
            name = entry.name
            if (name.startswith(_LITTER_STARTS) or name.endswith(_LITTER_ENDS)) and is_left_out(entry):
                listing.left_out.append(prefix + name)
            elif entry.is_file(follow_symlinks=False):
                files.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append((name, links))
            else:
                real = _follow(listing, prefix + name, real_root, links)
                if os.path.isdir(real):
                    folders.append((name, (*links, real)))
                else:
                    files.append(name)
    check_names(listing, prefix, [*files, *(name for name, _ in folders)])
    is_empty = not files
    add_files(listing, prefix, files)
    for name, followed in sorted(folders, key=lambda folder: component_order(folder[0])):
        if _visit(listing, f"{prefix}{name}/", real_root, followed):
            is_empty = False
        else:
            listing.left_out.append(f"{prefix}{name}/")
    return not is_empty


def add_files(listing: Listing, prefix: str, names: list[str]) -> None:
    """Add the files of one folder to the listing; `names` is sorted.

    `FormatError`: A file has the ending of an archive (``rfc9/not-embedded``).
    """
    if METADATA in names:
        names.remove(METADATA)
        listing.metadata.append(prefix + METADATA)
    if not names:
        return
    names.sort()
    if all(map(str.isdecimal, names)) and "".join(names).isascii():
        names.sort(key=len)  # equals `component_order`, but faster
    else:
        names.sort(key=component_order)
        for name in names:
            if name.startswith(".z") and is_legacy_metadata_key(name):
                listing.legacy_keys.append(prefix + name)
            elif name.lower().endswith(_ARCHIVE_ENDINGS):
                if not (prefix or listing.metadata or listing.legacy_keys):
                    raise _no_hierarchy(listing.root, names)
                raise FormatError(
                    f"{prefix}{name} is an archive inside the hierarchy, which RFC-9 forbids",
                    path=listing.root,
                    rule="rfc9/not-embedded",
                    hint="Move it out of the directory, then pack again.",
                )
    listing.folders[prefix] = names


def _no_hierarchy(root: str, names: list[str]) -> FormatError:
    """Return the error for a folder that contains archives and perhaps images, but no metadata."""
    archives = [name for name in names if name.lower().endswith(_ARCHIVE_ENDINGS)]
    images = describe_names([name for name in names if name not in archives], root, is_folder=True)
    found, hint = images or (
        f"{len(archives):,} archives, such as {archives[0]}",
        f"Files such as {quote(os.path.join(root, archives[0]))} are packed already; name an OME-Zarr directory.",
    )
    message = f"expected an OME-Zarr hierarchy, which has a zarr.json; found {found}"
    return FormatError(message, path=root, rule="rfc9/root", hint=hint)


def check_names(listing: Listing, prefix: str, names: list[str]) -> None:
    """Check the file names in one folder, but not the folder's own name, which was checked before."""
    joined = "".join(names)
    if joined.isascii() and not ("\\" in joined or ":" in joined) and len(prefix) < 60_000:
        return  # the name of an existing file is not empty, not '..', and has neither '/' nor NUL
    for name in names:
        fault = name_fault(prefix + name)
        if fault is not None:
            raise FormatError(
                f"the name {prefix + name!r} is refused: {fault}",
                path=listing.root,
                rule="zip/name",
                hint="Rename it, then pack again.",
            )


def _follow(listing: Listing, key: str, real_root: str, links: tuple[str, ...]) -> str:
    """Return the target of a link to a file or folder in the hierarchy; raise `FormatError` for any other path."""
    path = listing.path(key)
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode):
        kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
        raise _special(listing, key, kinds.get(stat.S_IFMT(mode), "a device"))
    try:
        real = os.path.realpath(path, strict=True)
    except OSError as error:
        in_circles = error.errno is not None and "symbolic links" in os.strerror(error.errno)
        what = (
            "a link that is part of a cycle of links"
            if in_circles
            else f"a link to a missing file ({os.readlink(path)})"
        )
        raise _special(listing, key, what) from None
    if os.path.commonpath([real, real_root]) != real_root:
        raise _special(listing, key, f"a link out of the directory, to {real}")
    folder = os.path.realpath(os.path.dirname(path))
    if os.path.isdir(real) and (real in links or os.path.commonpath([folder, real]) == real):
        raise _special(listing, key, "a link that is part of a cycle of links")
    if not (os.path.isdir(real) or os.path.isfile(real)):
        raise _special(listing, key, "a link to a device, pipe or socket")
    return real


def _special(listing: Listing, key: str, what: str) -> FormatError:
    return FormatError(
        f"expected files and folders; {key} is {what}",
        path=listing.root,
        rule="zip/special-file",
        hint="Remove it, or replace it by the file itself, then pack again.",
    )

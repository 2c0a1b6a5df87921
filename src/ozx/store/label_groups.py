"""Add label images to an image in an archive or a directory, and remove them; the image itself is not read.

An archive is written anew, and replaced when the new one is complete. In a directory, a label image appears when it is
complete; then the list of label images names it.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from ozx.archive.reader import ArchiveReader
from ozx.archive.writer import ArchiveWriter
from ozx.atomic.locks import has_locks, lock_file, unlock_file
from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import replacing_file
from ozx.atomic.temporary import create_directory
from ozx.atomic.windows import joined, rename
from ozx.errors import ResourceError, resource_errors
from ozx.flow.entry import BytesPart, Entry
from ozx.flow.sinks.archive import write_entries as write_to_archive
from ozx.flow.sinks.directory import check_keys, folders_of, make_folders, write_entries
from ozx.flow.sinks.output import Output
from ozx.ome.comment import make_comment
from ozx.ome.images import LABELS
from ozx.ome.versions import version_of
from ozx.places.byte_source import FileSource
from ozx.places.place import Place
from ozx.progress import NO_PROGRESS
from ozx.store.finishing import contents_of, in_archive_order, iter_runs, move_run, padding_before, run_length
from ozx.store.growing_file import document_room
from ozx.zarr.json_changes import dump_like
from ozx.zarr.json_reading import Document, as_list, copy_json, dump_document, parse_document
from ozx.zarr.keys import METADATA, ROOT_METADATA, is_metadata_key, join_path, paths_above
from ozx.zarr.normalisation import CONSOLIDATED, without_copies

#: A change of the names in a list of label images.
_Change = Callable[[list[str]], list[str]]


@resource_errors()
def add_label(
    place: Place, name: str, entries: Sequence[Entry], *, version: str, replace: bool = False, sync: bool = True
) -> list[str]:
    """Add a label image to the image at `place`; return what was removed beside the file, as `replacing_file` does.

    The keys of `entries` are relative to the label image. `version` is the OME-Zarr version of a new list of label
    images; `replace` allows replacing a label image.
    """

    def listed(names: list[str]) -> list[str]:
        return names if name in names else [*names, name]

    group = join_path(place.node, LABELS)
    if os.path.isdir(place.path):
        with _alone(joined(place.path, place.node)):
            changed = _changed(_file_reader(place.path), group, listed, version)
            _add_to_directory(place, name, entries, changed, replace=replace, sync=sync)
        return []
    with closing(FileSource(place.path)) as source:
        reader = ArchiveReader(source)
        documents, kept = _others(reader, f"{group}/{name}/")
        documents |= _changed(documents.get, group, listed, version)
        moved = [_renamed(entry, f"{group}/{name}/{entry.key}") for entry in entries]
        added = {entry.key: b"".join(entry.iter_blocks()) for entry in moved if is_metadata_key(entry.key)}
        rest = (entry for entry in moved if entry.key not in added)
        return _write_anew(source, reader, documents | added, kept, rest, sync=sync)


@resource_errors()
def remove_label(place: Place, name: str, *, sync: bool = True) -> list[str]:
    """Remove a label image of the image at `place`; with the last one, the group of label images goes, too.

    Return what was removed beside the file, as `replacing_file` does.
    """

    def others(names: list[str]) -> list[str]:
        return [other for other in names if other != name]

    group = join_path(place.node, LABELS)
    if os.path.isdir(place.path):
        with _alone(joined(place.path, place.node)):
            _remove_from_directory(place, name, _changed(_file_reader(place.path), group, others), sync=sync)
        return []
    with closing(FileSource(place.path)) as source:
        reader = ArchiveReader(source)
        documents, kept = _others(reader, f"{group}/{name}/")
        changed, listed = _changed(documents.get, group, others), join_path(group, METADATA)
        documents.pop(listed, None)
        if not any(key.startswith(f"{group}/") for key in (*documents, *kept)):
            del changed[listed]
        return _write_anew(source, reader, documents | changed, kept, (), sync=sync)


# The changed documents: the list of label images, and groups whose copies of metadata would no longer be right.


def _changed(
    read: Callable[[str], bytes | None], group: str, change: _Change, version: str | None = None
) -> dict[str, bytes]:
    """Return the changed documents, by key, of the groups above the label images, the list of them first."""
    changed = {}
    for path in (group, *paths_above(group)):
        key = join_path(path, METADATA)
        stored = read(key)
        old = _new_group(version) if stored is None else parse_document(stored, key)
        new = without_copies(old)
        if path == group:
            new = copy_json(new)
            ome = new.setdefault("attributes", {}).setdefault("ome", {"version": version})
            ome["labels"] = change([name for name in as_list(ome.get("labels")) if isinstance(name, str)])
        elif CONSOLIDATED not in old:
            continue
        changed[key] = dump_document(new) if stored is None else dump_like(new, old, stored)
    return changed


def _new_group(version: str | None) -> Document:
    return {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": version}}}


# Directories.

_ONE_THREAD = threading.Lock()
_LONGEST_WAIT, _PAUSE = 60.0, 0.02  # seconds


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Wait until no other thread or process changes the list of label images of the image in `folder`.

    Windows has no such locks (`ozx.atomic.locks`): there, only threads wait for each other.
    """
    with _ONE_THREAD:
        if not has_locks():
            yield
            return
        descriptor, began = os.open(folder, os.O_RDONLY), time.monotonic()
        try:
            while lock_file(descriptor) is False:
                if time.monotonic() - began > _LONGEST_WAIT:
                    raise ResourceError(
                        "another program changes the labels of this image", path=folder, hint="Try again."
                    )
                time.sleep(_PAUSE)
            yield
        finally:
            unlock_file(descriptor)
            os.close(descriptor)


def _file_reader(root: str) -> Callable[[str], bytes | None]:
    def read(key: str) -> bytes | None:
        try:
            with open(joined(root, key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    return read


def _add_to_directory(
    place: Place, name: str, entries: Sequence[Entry], changed: Mapping[str, bytes], *, replace: bool, sync: bool
) -> None:
    group = join_path(place.node, LABELS)
    folder = joined(place.path, group)
    if os.path.isdir(folder):
        with replacing_directory(os.path.join(folder, name), force=replace, sync=sync) as new:
            _fill(new.path, entries)
    else:
        listed = Entry(METADATA, (BytesPart(changed[join_path(group, METADATA)]),))
        with replacing_directory(folder, sync=sync) as new:
            _fill(new.path, [listed, *(_renamed(entry, f"{name}/{entry.key}") for entry in entries)])
    _write_documents(place.path, changed, sync=sync)


def _fill(target: str, entries: Sequence[Entry]) -> None:
    keys = [entry.key for entry in entries]
    folders = folders_of(keys)
    check_keys(keys, folders, target)
    make_folders(target, folders)
    write_entries(target, entries, NO_PROGRESS)


def _write_documents(root: str, changed: Mapping[str, bytes], *, sync: bool) -> None:
    for key, document in changed.items():
        Output(Place(joined(root, key)), force=True, sync=sync).write_small(document)


def _remove_from_directory(place: Place, name: str, changed: Mapping[str, bytes], *, sync: bool) -> None:
    """Remove the name from the list, then the label image, each in one step."""
    folder = joined(place.path, join_path(place.node, LABELS))
    _write_documents(place.path, changed, sync=sync)
    is_last = set(os.listdir(folder)) <= {METADATA, name}
    _remove_folder(folder if is_last else os.path.join(folder, name))


def _remove_folder(path: str) -> None:
    """Move a folder to a temporary name, which the next run removes after a kill, then remove it."""
    if not os.path.isdir(path):
        return
    temporary, lock = create_directory(path)
    try:
        rename(path, os.path.join(temporary, os.path.basename(path)))
        shutil.rmtree(temporary)
    finally:
        if lock is not None:
            os.close(lock)


def _renamed(entry: Entry, key: str) -> Entry:
    return Entry(key, entry.parts)


# Archives.


def _others(reader: ArchiveReader, prefix: str) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the contents of an archive without the entries whose keys begin with `prefix`."""
    documents, kept = contents_of(reader)
    return (
        {key: document for key, document in documents.items() if not key.startswith(prefix)},
        {key: index for key, index in kept.items() if not key.startswith(prefix)},
    )


def _write_anew(
    source: FileSource,
    reader: ArchiveReader,
    metadata: Mapping[str, bytes],
    kept: Mapping[str, int],
    entries: Iterable[Entry],
    *,
    sync: bool,
) -> list[str]:
    """Replace an archive by one with `metadata`, the entries `kept` from it, and `entries`; return what was removed."""
    target = os.path.realpath(source.name)  # a link stays a link
    with replacing_file(target, force=True, sync=sync, check_old=source.check_before_replacing) as new:
        writer = ArchiveWriter(new.descriptor)
        runs = sorted(iter_runs(reader, kept.values()), key=run_length, reverse=True)
        documents = in_archive_order(metadata)
        head = sum(document_room(*document) for document in documents)
        white = padding_before(runs[0], head) if runs else 0
        for number, (key, document) in enumerate(documents, 1):
            writer.add(key, document + b" " * (white if number == len(documents) else 0))
        for run in runs:
            move_run(run, reader, writer)
        source.check_unchanged()
        write_to_archive(writer, entries, NO_PROGRESS)
        root, comment = metadata.get(ROOT_METADATA), reader.end.comment
        version = None if root is None else version_of(parse_document(root, ROOT_METADATA))
        writer.finish(comment if version is None else make_comment(version, json_first=True, old=comment))
    return new.swept

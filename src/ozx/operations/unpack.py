"""unpack: convert an .ozx file to a directory."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ozx.archive.columns import Columns
from ozx.archive.reader import ArchiveReader
from ozx.calls import JsonResult, public_call
from ozx.errors import FormatError, OzxError, UnsupportedError, UsageError
from ozx.flow.entry import Entry
from ozx.flow.read_ahead import read_ahead
from ozx.flow.sinks import bag, fast_unpacking
from ozx.flow.sinks.directory import check_keys, folders_of, lift_folder, make_folders, write_directory, write_entries
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import check_name, swept_notes
from ozx.flow.sources.archive import iter_entries
from ozx.flow.sources.browsing import at_root, is_any_metadata_key, open_view
from ozx.flow.sources.wrong_sources import folder_error, refuse_images
from ozx.ome.comment import parse_comment, warn_of_unknown_keys
from ozx.places.place import Place, StrPath
from ozx.progress import NO_PROGRESS, Progress, begin_phase
from ozx.threads import working
from ozx.zarr.keys import ROOT_METADATA


@dataclass(frozen=True, slots=True)
class UnpackResult(JsonResult):
    """The result of unpacking one file.

    Attributes
    ----------
    source, path
        The archive or node URI, as given, and the written directory.
    entries, bytes
        Number of files written, and of bytes in them.
    notes
        Remarks, one sentence each.
    """

    source: str
    path: str
    entries: int
    bytes: int
    notes: tuple[str, ...] = ()


@public_call()
def unpack(
    path: StrPath,
    out: StrPath | None = None,
    *,
    node: str = "",
    force: bool = False,
    replace_folder: bool = False,
    allow_bombs: bool = False,
    ome_version: str | None = None,
    to: str | None = None,
    sync: bool = True,
    progress: Progress | None = None,
) -> UnpackResult:
    """Write every value of an archive, or of one of its nodes, to a file in a directory; verify each CRC-32.

    Parameters
    ----------
    path
        An .ozx file, or any ZIP file; the URL of one, or of a directory, which is copied; or a node such as
        ``cells.ozx/labels/cells``: that node becomes the root of the directory.
    out
        The directory to write, or the URL of one in an object store; by default ``cells.ozx`` becomes
        ``cells.ome.zarr`` beside it, and a node is named after the last part of its path: ``labels/nuclei`` becomes
        ``nuclei.ome.zarr``.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.
    force
        Whether an existing directory that is empty or has Zarr metadata at its root may be replaced. The old one stays
        until the new one is complete. The new root gets the old mode and, where allowed, the old owner.
    replace_folder
        Whether any existing directory may be replaced, with everything in it.
    allow_bombs
        Unpack the archive even if it looks like a decompression bomb.
    ome_version
        ``"0.4"`` writes a Zarr v2 hierarchy for programs that read only OME-Zarr 0.4. Shards become single chunks; no
        chunk is decoded. By default the files are the values of the archive.
    to
        ``"bagit"`` makes a BagIt bag (RFC 8493) of `out`: the directory becomes ``data/cells.ome.zarr`` in it, beside
        the SHA-256 of every file. By default ``cells.ozx`` becomes ``cells.bag``.
    sync
        Whether to wait until the files are on the disk.
    progress
        Receives the number of bytes written.

    Returns
    -------
    UnpackResult
        The written directory, and the number of its files.

    Raises
    ------
    FormatError
        The archive is damaged, contradicts itself, or has names that cannot be files here; `rule` names the broken
        rule.
    UnsupportedError
        It is split, encrypted, or compressed by an unknown method; or OME-Zarr 0.4 cannot express it.
    UsageError
        `path` is a directory on this computer; `out` exists and may not be replaced, or is a URL that ozx only reads;
        or there is no such node.
    ResourceError
        Reading or writing failed. After any error, a local `out` is as it was before; below a URL, the objects written
        so far are removed, and replaced objects are lost.

    Examples
    --------
    >>> unpack("cells.ozx", force=True).path
    'cells.ome.zarr'
    """
    progress = progress or NO_PROGRESS
    wanted = None if out is None else Place.output(out, remote=True).path
    if wanted is not None:
        check_name(wanted, "a directory")
    place = at_root(Place.parse(path, node))
    prefix = f"{place.node}/" if place.node else ""
    target = (_default_target(place, to) if wanted is None else wanted).rstrip(f"/{os.sep}") or "/"
    output = Output(Place(target), force, replace_folder, sync)
    if os.path.isdir(place.path):
        hint = "A directory is unpacked already; ozx pack makes an .ozx file of it."
        raise folder_error(Place(place.path).name, "unpack", hint)
    _check_form(place, output, to, ome_version)
    if ome_version is not None:
        return _unpack_as_04(place, output, ome_version, progress)
    if place.is_directory_url():
        return _copy_directory(place, output, progress)
    if place.node:
        open_view(place)  # if there is no such node, the error names the existing nodes
    source = place.open()
    reader = ArchiveReader(source)
    source.size()
    output.check_folder(place)
    warn_of_unknown_keys(parse_comment(reader.end.comment), source.name)
    reader.check(allow_bombs=allow_bombs)
    columns = reader.columns
    _check_kind(columns, source.name)
    # An entry with a name that ends in a slash stands for a folder and has no value.
    values = np.flatnonzero(~reader.columns.are_folders())
    indices = _indices_below(reader, values, prefix) if prefix else values
    size = int(columns.uncompressed_sizes[indices].sum())
    progress = begin_phase(progress, os.path.basename(output.path), size)
    try:
        if output.place.kind() == "a URL":
            notes = _upload_values(reader, indices, prefix, output, progress)
        else:
            with output.folder() as new:
                folder = (
                    new.path if to is None else bag.make_payload(new.path, os.path.basename(_default_target(place)))
                )
                _write_values(reader, indices, place.node, folder, progress)
                if to is not None:
                    bag.write_tag_files(new.path)
                source.check_unchanged()
                notes = [*swept_notes(new.swept)]
    except (FormatError, UnsupportedError) as error:
        raise error.at(source.name) from None
    finally:
        source.close()
    progress.stop()
    skipped = len(columns) - len(values)
    if skipped and not place.node:
        notes.append(f"left out {skipped:,} entries for folders, because such entries have no value")
    return UnpackResult(place.name, output.place.name, len(indices), size, tuple(notes))


def _copy_directory(place: Place, output: Output, progress: Progress) -> UnpackResult:
    """Write every object below a URL, unchanged, to a file in a directory."""
    from ozx.flow.sources.remote_directory import ObjectPart  # noqa: PLC0415 (few directories are remote)
    from ozx.flow.sources.remote_objects import find_objects  # noqa: PLC0415

    _check_local(output, "the source is a remote directory")
    output.check_folder(place)
    objects = find_objects(place.path)
    marks, size = objects.marks, sum(mark.size for mark in objects.marks.values())
    progress = begin_phase(progress, os.path.basename(output.path), size)
    parts = ((key, ObjectPart(objects.folder, key, mark, 0, mark.size)) for key, mark in marks.items())
    entries = read_ahead(Entry(key, (part,)) for key, part in parts)
    with output.folder() as new:
        folders = folders_of(marks)
        check_keys(list(marks), folders, new.path)
        make_folders(new.path, folders)
        write_entries(new.path, entries, progress)
    progress.stop()
    return UnpackResult(place.name, output.path, len(marks), size, (*objects.notes, *swept_notes(new.swept)))


def _check_form(place: Place, output: Output, to: str | None, ome_version: str | None) -> None:
    """Raise an error for what cannot become a bag, if one is requested."""
    if to is None:
        return
    if to != "bagit":
        raise UsageError(f"expected to='bagit'; got {to!r}")
    if ome_version is not None or place.is_directory_url():
        what = "a remote directory" if ome_version is None else "OME-Zarr 0.4"
        raise UsageError(f"expected an archive whose values become a bag as they are; got {what}", path=place.name)
    _check_local(output, "it becomes a bag")


def _check_local(output: Output, reason: str) -> None:
    if output.place.kind() == "a URL":
        raise UsageError(
            f"expected an output directory on this computer, because {reason}; found a URL",
            path=output.place.name,
            hint="Unpack to a directory on this computer, or copy the directory with a program for object stores.",
        )


def _unpack_as_04(place: Place, output: Output, version: str, progress: Progress) -> UnpackResult:
    """Write a hierarchy as OME-Zarr 0.4 (Zarr v2) to a directory."""
    from ozx.flow.plans.zarr_v2 import plan_as_04  # noqa: PLC0415 (few files are converted)
    from ozx.flow.repair.hierarchy import open_repaired  # noqa: PLC0415

    if version != "0.4":
        raise UsageError(
            f"expected the OME-Zarr version 0.4; got {version!r}", hint="ozx repack writes the other versions."
        )
    _check_local(output, "it gets OME-Zarr 0.4")
    output.check_folder(place)
    with open_repaired(place) as source, working() as workers:
        try:
            plan = plan_as_04(source)
            progress = begin_phase(progress, os.path.basename(output.path), plan.count_bytes())
            with output.folder() as new:
                files, size = write_directory(plan, new.path, workers, progress)
                source.check_unchanged()
        except OzxError as error:
            raise error.at(source.name) from None
    progress.stop()
    notes = (*source.repaired, *plan.all_notes(), *swept_notes(new.swept))
    return UnpackResult(place.name, output.place.name, files, size, notes)


def default_directory(path: str) -> str:
    """Return the default name of the directory for the archive at `path`.

    Examples
    --------
    >>> default_directory("scans/cells.ozx"), default_directory("cells.ome.zarr.zip")
    ('scans/cells.ome.zarr', 'cells.ome.zarr')
    """
    stem = path
    for ending in (".ozx", ".zip"):
        if path.lower().endswith(ending):
            stem = path[: -len(ending)]
    for ending in (".ome.zarr", ".zarr"):
        if stem.lower().endswith(ending):
            stem = stem[: -len(ending)]
            break
    return stem + ".ome.zarr"


def _default_target(place: Place, to: str | None = None) -> str:
    """Return the default output directory; for an archive at a URL, it is in the working directory."""
    if to is not None:
        return f"{_default_target(place).removesuffix('.ome.zarr')}.bag"
    path = place.local_name()
    if place.is_directory_url():
        return path
    if not place.node:
        return default_directory(path)
    name = default_directory(place.node.rpartition("/")[2])
    return os.path.join(os.path.dirname(path), Place.output(name).path)  # on Windows `a:b` would leave the folder


def _write_values(
    reader: ArchiveReader, indices: NDArray[np.int64], node: str, folder: str, progress: Progress
) -> None:
    """Write the entries `indices`, which are all entries below `node`, into the empty directory `folder`."""
    prefix = f"{node}/" if node else ""
    names = reader.columns.names()
    folders = folders_of([name for name in names if name.startswith(prefix)] if prefix else names)
    check_keys(names if len(indices) == len(names) else [names[index] for index in indices.tolist()], folders, folder)
    del names
    make_folders(folder, folders)
    if fast_unpacking.is_available(reader):
        fast_unpacking.write_files(reader, indices, folder, progress)
    else:
        write_entries(folder, read_ahead(iter_entries(reader, indices.tolist())), progress)
    if node:
        lift_folder(folder, node)


def _check_kind(columns: Columns, path: str) -> None:
    """Raise an error for a ZIP file of TIFF or similar files, because the new directory would be named ``.zarr``."""
    if len(columns) and columns.name(0) != ROOT_METADATA:  # costs nothing for most hierarchies
        names = columns.names()
        if not any(map(is_any_metadata_key, names)):
            refuse_images(names, path, is_folder=False)


def _upload_values(
    reader: ArchiveReader, indices: NDArray[np.int64], prefix: str, output: Output, progress: Progress
) -> list[str]:
    """Write the values of the entries `indices` as objects below the URL of an output; return notes."""
    from ozx.flow.sinks.prefix import write_prefix  # noqa: PLC0415 (few outputs are remote)

    names = reader.columns.names()
    keys = [names[index].removeprefix(prefix) for index in indices.tolist()]
    entries = read_ahead(iter_entries(reader, indices.tolist()))
    renamed = (replace(entry, key=entry.key.removeprefix(prefix)) for entry in entries)
    return write_prefix(
        output.path,
        renamed,
        keys,
        force=output.force,
        replace_folder=output.replace_folder,
        check=reader.source.check_unchanged,
        progress=progress,
    )


def _indices_below(reader: ArchiveReader, indices: NDArray[np.int64], prefix: str) -> NDArray[np.int64]:
    names = reader.columns.names()
    return np.array([index for index in indices.tolist() if names[index].startswith(prefix)], np.int64)

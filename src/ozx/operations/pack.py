"""pack: convert OME-Zarr directories to .ozx files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

from ozx.calls import public_call
from ozx.errors import OzxError
from ozx.flow.batch import describe_failure_of, run_batch
from ozx.flow.batch_checks import check_distinct, check_room
from ozx.flow.plans.ome_version import VersionChoice
from ozx.flow.sinks.target import BIOIMAGE_ENDING, check_name, default_output
from ozx.ome.ro_crate import Credits
from ozx.operations.pack_one import LAYOUTS, PackManyResult, PackOptions, PackResult, pack_one
from ozx.places.place import Place, StrPath, check_is_list
from ozx.progress import NO_PROGRESS, Progress


@public_call()
def pack(  # noqa: PLR0913 (one argument for each option of the command)
    source: StrPath,
    out: StrPath | None = None,
    *,
    force: bool = False,
    verify: bool = False,
    remove_source: bool = False,
    drop_attributes: bool = False,
    checksum: str | None = None,
    resume: bool = False,
    shards: str | Mapping[str, int] = "keep",
    chunks: str | Mapping[str, int] | None = None,
    codec: str | None = None,
    chunk_checksums: str | None = None,
    ome_version: str | None = None,
    drop_transformations: bool = False,
    thumbnail: bool = False,
    manifest: bool = False,
    layout: str = "ozx",
    author: str | Iterable[str] = (),
    license: str | None = None,  # noqa: A002 (the word of RO-Crate)
    sync: bool = True,
    progress: Progress | None = None,
) -> PackResult:
    """Pack the OME-Zarr hierarchy in a directory into one .ozx file, with all values unchanged.

    OME-Zarr 0.4 is upgraded to 0.5, with a note. Its chunks are moved without decoding if Zarr v3 has their codec.

    Parameters
    ----------
    source
        The directory with the root ``zarr.json``.
    out
        The file to write; by default ``cells.ome.zarr`` becomes ``cells.ozx`` beside it.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    verify
        Read the synced file back and compare every value with the source before the file gets its name.
    remove_source
        Delete the source after the verification, file by file; implies `verify`. Files that change or appear during the
        removal stay, and a note names them; then `source_removed` is False.
    drop_attributes
        Remove a source although it has access control lists, extended attributes or hard links, which are then lost.
    checksum
        ``"sha256"`` writes ``OUT.sha256`` beside the file, in the format of `sha256sum`.
    resume
        Do not write `out` again if it exists and is complete: the archive can be opened, and its keys and sizes are
        those of the source; with `verify`, or if the source is newer, its values, too. Such a file is synced. If
        requested, a missing checksum or manifest is written, and an existing checksum is compared. A file that another
        run makes meanwhile is accepted, too.
    shards, chunks, codec, chunk_checksums, ome_version, drop_transformations
        Another layout or OME-Zarr version, as for `ozx.repack`; chunks are moved without decoding unless `chunks` or
        `codec` is given. Without any of these options every value stays unchanged.
    thumbnail
        Put a small picture into the file, ``Thumbnails/thumbnail.png``, right after the metadata. If none can be made,
        a note gives the reason.
    manifest
        Write ``OUT.manifest.json`` beside the file: the SHA-256, size and modification time of every source file,
        hashed from the bytes that are packed. If the layout changes, the manifest lists the values of the written file
        instead, without times.
    layout
        ``"ozx"`` (RFC-9), or ``"bioimage-archive"``: the file is ``NAME.ome.zarr.zip``, and the hierarchy is in its
        folder ``NAME.ome.zarr``.
    author, license
        With a license, an SPDX identifier such as ``"CC-BY-4.0"`` or a URL, the file gets ``ro-crate-metadata.json``
        (RO-Crate 1.1) with the name of the file, those of the authors, and the date of packing.
    sync
        Whether to wait until the file is on the disk.
    progress
        Receives the number of bytes processed; with `verify`, each byte counts twice.

    Returns
    -------
    PackResult
        The file, written or found complete.

    Raises
    ------
    FormatError
        The source is no OME-Zarr hierarchy, or has content forbidden in an .ozx file; `rule` names the broken rule.
    UnsupportedError
        The source is OME-Zarr 0.4 with a feature that Zarr v3 lacks, or an unknown extension forbids another layout.
    UsageError
        `out` exists, is a URL that ozx only reads, or lies inside the source; options contradict each other; the
        source to be removed holds files that are not packed, or attributes that would be lost.
    ResourceError
        Reading or writing failed; then `out` is as it was before. Only an error of `checksum`, `manifest` or
        `remove_source` may occur after `out` is complete. If the source changed meanwhile, nothing is removed.

    Examples
    --------
    >>> result = pack("cells.ome.zarr", force=True)
    >>> result.path, result.entries
    ('cells.ozx', 71)
    """
    progress = progress or NO_PROGRESS
    options = PackOptions(
        force=force,
        verify=verify or remove_source,
        remove_source=remove_source,
        drop_attributes=drop_attributes,
        checksum=checksum,
        resume=resume,
        thumbnail=thumbnail,
        manifest=manifest,
        sync=sync,
        shards=shards,
        chunks=chunks,
        codec=codec,
        chunk_checksums=chunk_checksums,
        version=VersionChoice(ome_version, drop_transformations),
        layout=layout,
        credits=Credits([author] if isinstance(author, str) else [*author], license),
    )
    target = None if out is None else Place.output(out, remote=True)
    check_name("" if target is None else target.path, "an .ozx file")
    root = _root(source)
    return pack_one(options, root, target or Place.output(_default_output(root, layout)), progress)


@public_call()
def pack_many(  # noqa: PLR0913 (one argument for each option of the command)
    sources: Iterable[StrPath | tuple[StrPath, StrPath]],
    *,
    out_dir: StrPath | None = None,
    jobs: int = 1,
    force: bool = False,
    verify: bool = False,
    remove_source: bool = False,
    drop_attributes: bool = False,
    checksum: str | None = None,
    resume: bool = False,
    shards: str | Mapping[str, int] = "keep",
    chunks: str | Mapping[str, int] | None = None,
    codec: str | None = None,
    chunk_checksums: str | None = None,
    ome_version: str | None = None,
    drop_transformations: bool = False,
    thumbnail: bool = False,
    manifest: bool = False,
    layout: str = "ozx",
    author: str | Iterable[str] = (),
    license: str | None = None,  # noqa: A002 (the word of RO-Crate)
    sync: bool = True,
    progress: Progress | None = None,
    on_result: Callable[[PackResult], object] | None = None,
    executor: Executor | None = None,
) -> PackManyResult:
    """Pack several directories, `jobs` at a time; an error in one directory does not stop the work on the others.

    Parameters
    ----------
    sources
        The directories; or pairs of a directory and the file to write.
    out_dir
        The folder for the files, created if it is missing; by default each file goes beside its source. A pair
        itself names its file.
    jobs
        Number of sources packed at the same time, each by a thread.
    force, verify, remove_source, drop_attributes, checksum, resume, thumbnail, manifest, layout, sync, progress
        As for `pack`.
    author, license, shards, chunks, codec, chunk_checksums, ome_version, drop_transformations
        As for `pack`.
    on_result
        Called with each result as soon as the result exists, in the calling thread.
    executor
        Executor that runs tasks for groups of files, instead of `jobs` threads, such as that of a Dask cluster.
        Its workers need to see the files under the same absolute paths, else the files fail; results have absolute
        paths. `progress` then gets no bytes, only regular calls of ``advance(0)``, in which it can cancel the batch;
        tasks that have begun continue after the call.

    Returns
    -------
    PackManyResult
        The result for each source; a failed one has the status ``failed``, and the error.

    Raises
    ------
    UsageError
        Two sources would become the same file, `out_dir` is a URL that ozx only reads, or options contradict each
        other; then nothing is packed.
    ResourceError
        `out_dir` cannot be made, or the file system has less room than the files need; then nothing is packed.

    Examples
    --------
    >>> many = pack_many(["cells.ome.zarr", "missing.ome.zarr"], out_dir="packed")
    >>> [(result.status, result.path) for result in many.results]
    [('packed', 'packed/cells.ozx'), ('failed', 'packed/missing.ozx')]
    >>> pack_many([("cells.ome.zarr", "first.ozx"), ("cells.ome.zarr/labels", "second.ozx")]).results[0].path
    'first.ozx'
    """
    progress = progress or NO_PROGRESS
    options = PackOptions(
        force=force,
        verify=verify or remove_source,
        remove_source=remove_source,
        drop_attributes=drop_attributes,
        checksum=checksum,
        resume=resume,
        thumbnail=thumbnail,
        manifest=manifest,
        sync=sync,
        shards=shards,
        chunks=chunks,
        codec=codec,
        chunk_checksums=chunk_checksums,
        version=VersionChoice(ome_version, drop_transformations),
        layout=layout,
        credits=Credits([author] if isinstance(author, str) else [*author], license),
    )
    check_is_list(sources, "ozx.pack")
    folder = None if out_dir is None else Place.output(out_dir, remote=True)
    roots, targets = [], []
    for given in sources:
        source, out = given if isinstance(given, tuple) else (given, None)
        root = _root(source)
        roots.append(root.path)
        targets.append(Place.output(_default_output(root, layout, folder) if out is None else out, remote=True).path)
    check_distinct(roots, targets, verb="Pack")
    if folder is not None:
        folder.make_folder()

    pairs = list(zip(roots, targets, strict=True))
    if not remove_source:  # otherwise, each removed source makes room for the next file
        check_room(pairs)
    is_told: dict[str, Any] = {"what": "sources", "progress": progress, "on_result": on_result}
    is_told |= {"executor": executor, "again": partial(_pack_again, options)}
    return PackManyResult(run_batch(partial(_pack_pair, options), _failure, pairs, jobs=jobs, **is_told))


def _failure(root: str, target: str, error: OzxError) -> PackResult:
    source = Place(root).name
    return PackResult(source, target, "failed", error=describe_failure_of(source, target, error, can_resume=True))


def _pack_pair(options: PackOptions, root: str, target: str, progress: Progress) -> PackResult:
    return pack_one(options, Place(root), Place(target), progress)


def _pack_again(options: PackOptions, root: str, target: str, progress: Progress) -> PackResult:
    """Pack a source as a task of a cluster; if the cluster repeats the task, accept the output of its first run."""
    return replace(_pack_pair(replace(options, resume=True), root, target, progress), status="packed")


def _default_output(root: Place, layout: str, folder: Place | None = None) -> str:
    """Return the default output path of a source; for a source at a URL, it is in the working directory."""
    ending = ".ozx" if layout == LAYOUTS[0] else BIOIMAGE_ENDING
    return default_output(root.local_name(), None if folder is None else folder.path, ending)


def _root(source: StrPath) -> Place:
    place = Place.parse(source)
    if place.kind() != "a URL" or place.node:
        place = Place.local(source)
    return Place(place.path.rstrip("/") or "/")

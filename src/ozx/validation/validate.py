"""Validation of one file or directory, or of many at the same time."""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

from ozx.archive.audit.facts import ArchiveFacts
from ozx.archive.entry_reading import ReadAheadSource, iter_value
from ozx.archive.reader import ArchiveReader
from ozx.calls import public_call
from ozx.errors import FormatError, OzxError, UnsupportedError, UsageError
from ozx.flow.sources.archive import ArchiveSource
from ozx.flow.sources.archive_keys import ArchiveKeys
from ozx.flow.sources.browsing import at_root, open_view
from ozx.flow.sources.source import StoredDocuments
from ozx.flow.tasks import Groups, attempt, groups_elsewhere
from ozx.ome.comment import parse_comment
from ozx.places.byte_source import read_in_runs
from ozx.places.place import Place
from ozx.progress import NO_PROGRESS, Progress
from ozx.threads import checked_jobs, processors
from ozx.validation.container.one_hierarchy import check_nodes, check_read_faults, check_sharding
from ozx.validation.container.rfc9 import (
    Entries,
    check_comment,
    check_container,
    check_file_name,
    check_order,
    check_surroundings,
    find_metadata,
)
from ozx.validation.container.zip import check_zip
from ozx.validation.directory import check_directory, check_remote_directory
from ozx.validation.hierarchy import DEFAULTS, NodeChecker, Options
from ozx.validation.nodes.facts import read_legacy_nodes, read_nodes
from ozx.validation.report import LEVELS, REVISIONS, Finding, Level, Report
from ozx.validation.rules.findings import by_revision, finding_from_error, make_finding
from ozx.validation.zarr.schemas import Schemas
from ozx.zarr.json_reading import LongDocuments

#: ``strict`` also forbids ZIP compression, comments other than RFC-9's, and extra fields other than those of ZIP64,
#: times and owners.
PROFILES = ("rfc9", "strict")

_MAKE_OZX = "No action is needed; `ozx repack FILE OUT.ozx` makes an .ozx file."
_REWRITES = re.compile(r"ozx (edit|extract|pack|recover|repack|unpack)\b")


@public_call()
def validate(
    path: str | os.PathLike[str],
    *,
    node: str = "",
    level: Level = "hierarchy",
    profile: str = "rfc9",
    revision: str = "all",
    second_opinion: bool = True,
    schemas: Mapping[str, str | os.PathLike[str]] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Return a report with all findings about an OME-Zarr zip file or an OME-Zarr directory.

    Every format error becomes a finding instead of being raised.

    Parameters
    ----------
    path
        A file, the URL of a file (needs the extra ``remote``), or a directory, to which only some rules apply. For a
        node such as ``cells.ozx/labels/cells`` the whole file is checked; findings about entries
        outside the node are left out, findings about the whole file stay.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.
    level
        Depth of the checks: ``archive``, the container and RFC-9; ``hierarchy``, also every metadata document;
        ``data``, also every chunk.
    profile
        ``rfc9``, or ``strict``, which also forbids ZIP compression, comments other than RFC-9's, and extra fields other
        than those of ZIP64, times and owners.
    revision
        The text of RFC-9 that decides: ``r2`` (2026-04-20); ``draft``, its revision by the authors (autumn 2026, not
        merged); ``all``, which is R2 with warnings about forms that only the revision forbids.
    second_opinion
        Whether ome-zarr-models checks the OME-Zarr metadata, too.
    schemas
        JSON schemas of conventions: URL in the documents to local file. No URL is resolved.
    jobs
        Number of chunks decoded at a time; by default the number of processors.
    progress
        Receives the progress of level ``data``.

    Raises
    ------
    ResourceError
        The file or a schema does not exist or cannot be read.
    UsageError
        The level, profile or node does not exist; a schema is invalid, or refers to a schema that is not given; or
        `jobs` is less than 1.

    Examples
    --------
    >>> validate("cells.ozx").valid
    True
    """
    if not isinstance(profile, str) or profile not in PROFILES:
        raise UsageError(f"expected the profile {' or '.join(PROFILES)}; got {profile!r}")
    if not isinstance(revision, str) or revision not in REVISIONS:
        raise UsageError(f"expected one of the revisions {', '.join(REVISIONS)}; got {revision!r}")
    if not isinstance(level, str) or level not in LEVELS:
        raise UsageError(f"expected one of the levels {', '.join(LEVELS)}; got {level!r}")
    jobs = None if jobs is None else checked_jobs(jobs)
    options = Options(
        level=level,
        plain_only=profile == "strict",
        second_opinion=second_opinion,
        schemas=Schemas.read(schemas or {}),
        jobs=jobs,
        progress=progress or NO_PROGRESS,
    )
    place = Place.parse(path, node)
    kind, where = place.kind(), place.path
    if kind == "a directory":
        return Report.of(place.name, level, check_directory(where, options), "directory")
    if place.is_directory_url():
        return Report.of(place.name, level, check_remote_directory(where, options), "directory")
    if place.node:
        with suppress(FormatError, UnsupportedError):  # for a broken archive, the findings give the reason
            open_view(place)
    source = place.open()
    if level == "data":
        read_in_runs(source)
    try:
        findings = [] if kind == "a URL" else [*check_surroundings(where)]
        folder = "" if place.node else at_root(place).node
        findings += by_revision(_keep_comment(list(check_archive(ArchiveReader(source), options, folder))), revision)
        # The name matters only for a ZIP file in the layout of RFC-9.
        if not folder and all(finding.id != "zip/not-a-zip" for finding in findings):
            findings[:0] = check_file_name(source.name)
    finally:
        source.close()
    return Report.of(place.name, level, [finding for finding in findings if _concerns(finding, place.node)])


def check_archive(reader: ArchiveReader, options: Options = DEFAULTS, folder: str = "") -> Iterator[Finding]:
    """Yield all findings about an archive, except about its file name and the folder in which it lies.

    `folder`: the only folder of the archive, which is the root in the layout of the BioImage Archive.
    """
    prefix = f"{folder}/" if folder else ""
    with suppress(FormatError, UnsupportedError):  # the audit reports all of them
        reader.prefetch_head()
    try:
        facts = ArchiveFacts(reader)
    except (FormatError, UnsupportedError) as error:
        # Without a central directory, no entries are known.
        yield finding_from_error(error)
        if options.level == "data":
            yield make_finding(
                "zarr/not-decoded",
                "no chunk was checked: the archive cannot be opened",
                hint="Repair the errors above first.",
            )
    else:
        yield from check_zip(facts, plain_only=options.plain_only)
        yield from check_container(facts, plain_only=options.plain_only)
        if folder:
            message = f"this is the layout of the BioImage Archive, not an .ozx file: the root is the folder {folder!r}"
            yield make_finding("rfc9/root", message, severity="note", hint=_MAKE_OZX)
        yield from _check_hierarchy(reader, facts, options, prefix)
        if options.level == "data":
            yield from _check_data(reader, options, prefix)
    try:
        reader.source.check_unchanged()
    except FormatError as error:
        yield finding_from_error(error)


def _keep_comment(findings: list[Finding]) -> list[Finding]:
    """Replace hints that name a command which drops unknown keys of the archive comment, if there are such keys."""
    if all(finding.id != "rfc9/comment-keys" for finding in findings):
        return findings
    hint = "First find out what the unknown keys in the archive comment mean: files that ozx writes do not have them."
    return [replace(one, hint=hint) if _REWRITES.search(one.hint) else one for one in findings]


def _concerns(finding: Finding, node: str) -> bool:
    entry = finding.where.entry
    return not node or entry is None or entry.startswith(f"{node}/")


def _check_hierarchy(reader: ArchiveReader, facts: ArchiveFacts, options: Options, prefix: str) -> Iterator[Finding]:
    found, comment = find_metadata(facts), parse_comment(facts.end.comment)
    current, old = ([(name.removeprefix(prefix), row) for name, row in entries] for entries in found)
    keys = partial(_iter_data_keys, facts, prefix)
    yield from check_order(facts, current, comment)
    checker = None if options.level == "archive" else NodeChecker(options)
    look = None if checker is None else checker.look
    nodes, faults = read_nodes(_documents(reader, facts, current), _damaged(facts, current), look)
    yield from check_read_faults(faults)
    legacy = _documents(reader, facts, old)
    legacy_keys = [name for name, _ in old]
    yield from check_nodes(nodes, legacy_keys, keys(), legacy, path=reader.source.name)
    yield from check_sharding(nodes, keys())
    root = nodes.get("")
    version = root.version if root is not None and isinstance(root.version, str) else None
    if facts.end.comment or not prefix:  # RFC-9's comment is for .ozx files
        yield from check_comment(facts.end.comment, comment, version, plain_only=options.plain_only)
    if checker is None:
        return
    if not nodes and legacy:
        nodes, faults = read_legacy_nodes(legacy, _damaged(facts, old), checker.look)
        yield from check_read_faults(faults)
    yield from checker.findings(nodes, _finder(facts, prefix))


def _check_data(reader: ArchiveReader, options: Options, prefix: str) -> Iterator[Finding]:
    from ozx.validation.zarr.chunks import check_data  # noqa: PLC0415 (loads zarr, half a second)

    try:
        reader.check(allow_duplicates=True)
    except (FormatError, UnsupportedError) as error:
        # Another finding already reports the error.
        yield make_finding("zarr/not-decoded", f"no chunk was checked: {error.message}")
        return
    source = ArchiveSource(reader, ArchiveKeys.of_files(reader.columns, prefix) if prefix else None)
    yield from check_data(source, has_checksums=True, jobs=options.jobs, progress=options.progress)


def _finder(facts: ArchiveFacts, prefix: str) -> Callable[[str], bool]:
    """Return a function that tells whether an entry exists, even in a damaged archive."""

    @cache
    def names() -> frozenset[str]:
        return frozenset(facts.columns.iter_names())

    return lambda key: prefix + key in names()


def _iter_data_keys(facts: ArchiveFacts, prefix: str) -> Iterator[str]:
    return (name.removeprefix(prefix) for name in facts.columns.iter_names() if not name.endswith("/"))


def _documents(reader: ArchiveReader, facts: ArchiveFacts, entries: Entries) -> StoredDocuments:
    """Return metadata documents of an archive, read on demand; the last entry of a repeated name is used."""
    indices, long = dict(entries), LongDocuments()
    source = ReadAheadSource(reader.source)  # metadata are mostly stored in the order in which they are read

    def read(key: str) -> bytes:
        header = facts.columns.header(indices[key])
        long.check(header.uncompressed_size, key)
        return b"".join(iter_value(source, header, reader.end.directory_offset))

    return StoredDocuments(indices, read)


def _damaged(facts: ArchiveFacts, entries: Entries) -> set[str]:
    """Return the keys of entries that already have findings; these entries are not read."""
    groups = (
        facts.out_of_bounds,
        facts.encrypted,
        facts.unreadable_methods,
        facts.layout.into_directory,
        [entry for entry, *_ in facts.local.faults],
    )
    damaged = {int(index) for group in groups for index in group}
    return {key for key, index in dict(entries).items() if index in damaged}


# Validation of many files or directories, several at the same time.

#: A report, or the error that prevents it: the file cannot be read, or ozx has a fault.
Outcome = Report | OzxError


def validate_many(
    paths: Sequence[str],
    *,
    jobs: int = 1,
    node: str = "",
    level: Level = "hierarchy",
    profile: str = "rfc9",
    revision: str = "all",
    second_opinion: bool = True,
    schemas: Mapping[str, str | os.PathLike[str]] | None = None,
    progress: Progress = NO_PROGRESS,
    executor: Executor | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Yield the index of each file in `paths` and its report or error, in the order of completion.

    If `executor` is given, it checks the files, with absolute paths. Otherwise `jobs` files are checked at a time, each
    in a process of its own, because Python parses documents in only one thread at a time. If `jobs` is 1, or `paths`
    has one file, one thread for each processor decodes the chunks of a file (level ``data``), and `progress` is shown.
    """
    check = partial(
        _check,
        node=node,
        level=level,
        profile=profile,
        revision=revision,
        second_opinion=second_opinion,
        schemas=schemas,
    )
    pairs = [(path, "") for path in paths]
    if executor is None and (jobs <= 1 or len(paths) <= 1):
        yield from enumerate(_raised(attempt(check, _fail, pair, progress)) for pair in pairs)
        return
    # Forking is unsafe, because the process may have threads, of a caller or of zarr.
    context = multiprocessing.get_context("spawn")
    workers = min(jobs, len(paths), processors())
    with nullcontext(executor) if executor is not None else ProcessPoolExecutor(workers, context) as pool:
        groups: Groups[Outcome]
        if executor is not None:
            check = partial(check, schemas={url: os.path.abspath(path) for url, path in (schemas or {}).items()})
            groups = groups_elsewhere(partial(check, jobs=1), _fail, pairs, executor)
        else:
            step = partial(attempt, partial(check, jobs=1), _fail, progress=NO_PROGRESS)
            groups = Groups(step, _fail, pairs, pool)
        try:
            yield from ((number, _raised(answer)) for number, answer in groups)
        finally:
            groups.stop()


def _raised(answer: Outcome) -> Outcome:
    """Return the outcome for a file; raise an error of the call, which all files have."""
    if isinstance(answer, UsageError):
        raise answer
    return answer


def _fail(path: str, _: str, error: OzxError) -> Outcome:
    return error if isinstance(error, UsageError) else error.at(Place(os.fspath(path)).name)


def _check(path: str, _: str, progress: Progress, **options: Any) -> Outcome:
    return validate(path, progress=progress, **options)

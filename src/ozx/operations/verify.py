"""verify: compare .ozx files with what was recorded when they were packed: manifests, checksums, and logs of runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ozx.archive.reader import ArchiveReader
from ozx.atomic.renaming import CHECKSUM_ENDING, MANIFEST_ENDING, SIDE_ENDINGS
from ozx.calls import public_call
from ozx.errors import FormatError, UsageError, raise_error
from ozx.flow.batch import FileResult, run_each
from ozx.flow.run_log import LogLine, read_log, written_lines
from ozx.flow.sinks.manifest import MANIFEST_KEY, Listed, check_checksum_file, parse_manifest, sha256_of
from ozx.flow.sinks.verification import hash_values
from ozx.flow.sources.wrong_sources import folder_error
from ozx.places.place import Place, StrPath
from ozx.progress import NO_PROGRESS, Progress, begin_phase

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of a successful verification: every value is the one that was packed."""

    path: str  # the file
    manifest: str | None  # the manifest with which the file was compared, or None
    entries: int  # number and total length of the compared values; 0 without a manifest
    bytes: int
    sha256: str | None  # the digest of the whole file, if ``FILE.sha256`` exists and agrees

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output of ``ozx verify --json`` as a dictionary."""
        names = ("path", "manifest", "entries", "bytes", "sha256")
        return {"schema": 1, **{name: getattr(self, name) for name in names}}


@public_call()
def verify(file: StrPath, *, manifest: StrPath | None = None, progress: Progress | None = None) -> VerifyResult:
    """Compare a file with its manifest, and with its checksum file if it exists.

    `manifest`: path or URL of the manifest that `ozx.pack` wrote for the file; by default ``FILE.manifest.json`` if it
    exists, else the manifest inside the file.
    """
    progress = progress or NO_PROGRESS
    place = Place.file(file)
    if os.path.isdir(place.path):
        raise folder_error(place.path, "verify", "Verify the .ozx file that was packed from it.")
    beside = place.beside(MANIFEST_ENDING) if manifest is None else Place.file(manifest)
    has_checksum = place.beside(CHECKSUM_ENDING).exists()
    has_manifest = manifest is not None or beside.exists()
    inside = None if has_manifest else _manifest_inside(place)
    shown, name = Place(place.path).name, Place(beside.path).name
    if inside is not None:
        name, has_manifest = f"{shown}/{MANIFEST_KEY}", True
    if not has_manifest and not has_checksum:
        raise UsageError(
            f"expected a manifest ({MANIFEST_ENDING}) or a checksum ({CHECKSUM_ENDING}) beside the file; found neither",
            path=shown,
            hint="ozx validate --level data checks a file without a manifest. ozx pack --manifest writes a manifest.",
        )
    entries = size = 0
    if has_manifest:
        expected = parse_manifest(beside.read_small() if inside is None else inside, name)
        entries, size = _compare(place, expected, name, progress)
    digest = check_checksum_file(place) if has_checksum else None
    return VerifyResult(shown, name if has_manifest else None, entries, size, digest)


def _manifest_inside(place: Place) -> bytes | None:
    """Return the manifest that an archive contains, or None."""
    with closing(place.open()) as source:
        reader = ArchiveReader(source)
        index = reader.find(MANIFEST_KEY)
        return None if index is None else reader.read(index)


def _compare(place: Place, expected: dict[str, Listed], manifest: str, progress: Progress) -> tuple[int, int]:
    wrong: list[str] = []
    total = 0
    size_in_manifest = sum(size for size, *_ in expected.values())
    progress = begin_phase(progress, os.path.basename(Place(place.path).name), size_in_manifest)
    count = len(expected)
    for key, size, digest in hash_values(place):
        value = expected.pop(key, None)
        if value is None and key == MANIFEST_KEY:
            continue  # the manifest does not list itself
        if value is None:
            wrong.append(f"the manifest does not list {key!r}")
        elif value[:2] != (size, digest):
            wrong.append(f"the value of {key!r} differs")
        total += size
        progress.advance(size)
    wrong += [f"{key!r} is missing" for key in expected]
    progress.stop()
    if wrong:
        more = f", and {len(wrong) - _MOST_NAMED:,} more" if len(wrong) > _MOST_NAMED else ""
        raise FormatError(
            f"its values differ from {os.path.basename(manifest)}: {'; '.join(wrong[:_MOST_NAMED])}{more}",
            path=Place(place.path).name,
            hint="Take another copy of the file, or pack the source again.",
        )
    return count, total


@dataclass(frozen=True, slots=True)
class FixityResult:
    """The state of recorded files."""

    path: str  # the folder or the log
    verified: int  # the number of files that equal their records
    # The files that differ from their records or cannot be read, each with the reason.
    changed: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()  # recorded files that no longer exist
    new: tuple[str, ...] = ()  # archives beside them that have no record

    def __bool__(self) -> bool:
        return not (self.changed or self.lost)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output of ``ozx verify --json`` as a dictionary."""
        changed = [{"path": path, "message": message} for path, message in self.changed.items()]
        lists = {"changed": changed, "lost": list(self.lost), "new": list(self.new)}
        return {"schema": 1, "path": self.path, "verified": self.verified, **lists}


def verify_folder(folder: str, *, jobs: int = 1, progress: Progress = NO_PROGRESS) -> FixityResult:
    """Compare all archives of a folder, and of the folders in it, with the manifests and checksums beside them."""
    found = {os.path.join(place, name) for place, _, names in os.walk(folder, onerror=raise_error) for name in names}
    recorded = {path.removesuffix(ending) for path in found for ending in SIDE_ENDINGS if path.endswith(ending)}
    recorded = {path for path in recorded if path in found or _is_archive(path)}
    new = sorted(path for path in found - recorded if _is_archive(path))
    if not (recorded or new):
        raise folder_error(folder, "verify", "Verify the .ozx file that was packed from it.")
    work = {path: partial(verify, path) for path in sorted(recorded & found)}
    return _run(folder, work, sorted(recorded - found), new, jobs, progress)


def verify_log(log: str, *, jobs: int = 1, progress: Progress = NO_PROGRESS) -> FixityResult:
    """Compare the files that the runs of a log have written with the lengths and digests in the log."""
    lines = {line.output: line for line in written_lines(read_log(log)) if line.output is not None}
    local = {path for path in lines if Place(path).kind() != "a URL"}
    lost = sorted(path for path in local if not os.path.lexists(path))
    folders = {os.path.dirname(path) for path in local if _is_archive(path)}
    beside = {os.path.join(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)}
    new = sorted(path for path in beside - local if _is_archive(path))
    work = {path: partial(_compare_output, Place(path), lines[path]) for path in sorted(lines.keys() - lost)}
    return _run(log, work, lost, new, jobs, progress)


def _is_archive(path: str) -> bool:
    return path.lower().endswith((".ozx", ".zip"))


def _compare_output(place: Place, line: LogLine, *, progress: Progress) -> None:
    """Compare an output with its line in the log, and with the manifest and the checksum beside it."""
    kind = place.kind()
    if kind == "a directory":
        return  # the log has no digest of a directory
    if kind == "a file" and line.bytes is not None and os.path.getsize(place.path) != line.bytes:
        size = os.path.getsize(place.path)
        raise FormatError(f"expected {line.bytes:,} bytes, as in the log; it has {size:,}", path=place.path)
    manifest = place.beside(MANIFEST_ENDING)
    for file, expected in ((place, line.sha256), (manifest, line.manifest_sha256)):
        if expected is not None and sha256_of(file) != expected:
            raise FormatError("its SHA-256 is not the one in the log", path=file.path)
    if any(place.beside(ending).exists() for ending in SIDE_ENDINGS):
        verify(place.path, progress=progress)


def _run(
    path: str,
    work: Mapping[str, Callable[..., object]],
    lost: Iterable[str],
    new: Iterable[str],
    jobs: int,
    progress: Progress,
) -> FixityResult:
    changed: dict[str, str] = {}

    def compare(source: str, target: str, progress: Progress) -> None:
        del target  # nothing is written
        work[source](progress=progress)

    def collect(result: FileResult) -> None:
        if result.error is not None:
            changed[result.source] = result.error["message"] or ""

    pairs = [(source, source) for source in work]
    run_each(compare, pairs, done="verified", jobs=jobs, progress=progress, on_result=collect)
    return FixityResult(path, len(work) - len(changed), dict(sorted(changed.items())), tuple(lost), tuple(new))

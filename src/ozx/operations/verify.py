"""verify: compare an .ozx file with the manifest and the checksum that were written when it was packed."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import Any

from ozx.archive.reader import ArchiveReader
from ozx.archive.remote.opening import open_remote
from ozx.archive.remote.urls import split_url
from ozx.atomic.renaming import CHECKSUM_ENDING, MANIFEST_ENDING
from ozx.errors import FormatError, ResourceError, UsageError, resource_errors
from ozx.flow.sinks.checksum import check_checksum_file
from ozx.flow.sinks.manifest import MANIFEST_KEY, ManifestValue, parse_manifest
from ozx.flow.sinks.output import open_output
from ozx.flow.sinks.verification import hash_values
from ozx.flow.sources.location import Location, StrPath, parse_location, printable_location
from ozx.flow.sources.wrong_sources import folder_error
from ozx.progress import NO_PROGRESS, Progress, begin_phase

__all__ = ["VerifyResult", "verify"]

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of a successful verification: every value is the one that was packed.

    Attributes
    ----------
    path
        The file.
    manifest
        The manifest with which the file was compared, or None.
    entries, bytes
        Number and total length of the compared values; 0 without a manifest.
    sha256
        The digest of the whole file, if ``FILE.sha256`` exists and agrees.
    """

    path: str
    manifest: str | None
    entries: int
    bytes: int
    sha256: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output of ``ozx verify --json`` as a dictionary."""
        names = ("path", "manifest", "entries", "bytes", "sha256")
        return {"schema": 1, **{name: getattr(self, name) for name in names}}


@resource_errors()
def verify(file: StrPath, *, manifest: StrPath | None = None, progress: Progress = NO_PROGRESS) -> VerifyResult:
    """Compare a file with its manifest, and with its checksum file if it exists.

    Parameters
    ----------
    file
        The ``.ozx`` file, or its URL.
    manifest
        Path or URL of the manifest that `ozx.pack` wrote for the file; by default ``FILE.manifest.json`` if it exists,
        else the manifest inside the file.
    progress
        Receives the number of bytes of values read.

    Returns
    -------
    VerifyResult
        The number of compared values, all of which equal the packed values.

    Raises
    ------
    FormatError
        A value differs, is missing or superfluous, or is damaged.
    UsageError
        There is neither a manifest nor a checksum; or `manifest` is no manifest.
    ResourceError
        A file cannot be read, or the digest of the whole file differs.

    Examples
    --------
    >>> import ozx
    >>> _ = ozx.pack("cells.ome.zarr", "proven.ozx", manifest=True)
    >>> verify("proven.ozx").entries
    71
    """
    path = _checked(file)
    if os.path.isdir(path):
        raise folder_error(path, "verify", "Verify the .ozx file that was packed from it.")
    place = _beside(path, MANIFEST_ENDING) if manifest is None else _checked(manifest)
    checksum = _beside(path, CHECKSUM_ENDING)
    has_checksum = _exists(checksum)
    has_manifest = manifest is not None or _exists(place)
    inside = None if has_manifest else _manifest_inside(path)
    shown = printable_location(path)
    if inside is not None:
        place, has_manifest = f"{shown}/{MANIFEST_KEY}", True
    if not has_manifest and not has_checksum:
        raise UsageError(
            f"expected a manifest ({MANIFEST_ENDING}) or a checksum ({CHECKSUM_ENDING}) beside the file; found neither",
            path=shown,
            hint="ozx validate --level data checks a file without a manifest. ozx pack --manifest writes a manifest.",
        )
    entries = size = 0
    if has_manifest:
        expected = parse_manifest(_read(place) if inside is None else inside, printable_location(place))
        entries, size = _compare(path, expected, printable_location(place), progress)
    digest = check_checksum_file(path, checksum) if has_checksum else None
    return VerifyResult(shown, printable_location(place) if has_manifest else None, entries, size, digest)


def _checked(path: StrPath) -> str:
    """Return a path or URL; raise an error if it names a node inside a file."""
    location = parse_location(path)
    if location.node:
        raise UsageError("expected a file; found the URI of a node in a file", path=printable_location(location.path))
    return location.path


def _beside(path: str, ending: str) -> str:
    """Return `path` with `ending` appended; the query of a URL, such as a signature, stays at the end."""
    if not Location(path).is_remote:
        return path + ending
    parts = split_url(path)
    return parts._replace(path=parts.path + ending).geturl()


def _exists(path: str) -> bool:
    if not Location(path).is_remote:
        return os.path.exists(path)
    source = open_remote(path)
    try:
        source.size()
    except ResourceError as error:
        if error.errno != errno.ENOENT:
            raise
        return False
    finally:
        source.close()
    return True


def _read(path: str) -> bytes:
    source = open_output(path)
    try:
        return source.read_at(0, source.size())
    finally:
        source.close()


def _manifest_inside(path: str) -> bytes | None:
    """Return the manifest that an archive contains, or None."""
    source = open_output(path)
    try:
        reader = ArchiveReader(source)
        index = reader.find(MANIFEST_KEY)
        return None if index is None else reader.read(index)
    finally:
        source.close()


def _compare(path: str, expected: dict[str, ManifestValue], manifest: str, progress: Progress) -> tuple[int, int]:
    wrong: list[str] = []
    total = 0
    size_in_manifest = sum(value.bytes for value in expected.values())
    progress = begin_phase(progress, os.path.basename(printable_location(path)), size_in_manifest)
    count = len(expected)
    for key, size, digest in hash_values(path):
        value = expected.pop(key, None)
        if value is None and key == MANIFEST_KEY:
            continue  # the manifest does not list itself
        if value is None:
            wrong.append(f"the manifest does not list {key!r}")
        elif (value.bytes, value.sha256) != (size, digest):
            wrong.append(f"the value of {key!r} differs")
        total += size
        progress.advance(size)
    wrong += [f"{key!r} is missing" for key in expected]
    progress.stop()
    if wrong:
        more = f", and {len(wrong) - _MOST_NAMED:,} more" if len(wrong) > _MOST_NAMED else ""
        raise FormatError(
            f"its values differ from {os.path.basename(manifest)}: {'; '.join(wrong[:_MOST_NAMED])}{more}",
            path=printable_location(path),
            hint="Take another copy of the file, or pack the source again.",
        )
    return count, total

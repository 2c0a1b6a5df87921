"""verify: compare an .ozx file with the manifest and the checksum that were written when it was packed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ozx.archive.byte_source import FileSource
from ozx.archive.reader import ArchiveReader
from ozx.atomic.renaming import CHECKSUM_ENDING, MANIFEST_ENDING
from ozx.errors import FormatError, UsageError, resource_errors
from ozx.flow.sinks.checksum import check_checksum_file
from ozx.flow.sinks.manifest import MANIFEST_KEY, ManifestValue, parse_manifest, read_manifest
from ozx.flow.sinks.verification import hash_values
from ozx.flow.sources.location import StrPath, given_source
from ozx.flow.sources.wrong_sources import folder_error
from ozx.progress import NO_PROGRESS, Progress

__all__ = ["VerifyResult", "verify"]

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of verifying a file that equals the packed one.

    Attributes
    ----------
    path
        The file.
    manifest
        The manifest it was compared with, or None.
    entries, bytes
        Number of values that were compared, and their length together; 0 without a manifest.
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
    """Compare a file with its manifest, and with its checksum file if there is one.

    Parameters
    ----------
    file
        The ``.ozx`` file.
    manifest
        What `ozx.pack` wrote for it; by default ``FILE.manifest.json`` if it exists, else the one inside the file.
    progress
        Receives the number of bytes of values read.

    Returns
    -------
    VerifyResult
        The number of values that are what was packed: all of them.

    Raises
    ------
    FormatError
        A value differs, is missing or superfluous, or is damaged.
    UsageError
        There is neither manifest nor checksum; or the manifest is none.
    ResourceError
        A file cannot be read, or the digest of the whole file differs.

    Examples
    --------
    >>> import ozx
    >>> _ = ozx.pack("cells.ome.zarr", "proven.ozx", manifest=True)
    >>> verify("proven.ozx").entries
    71
    """
    path = given_source(file)
    if os.path.isdir(path):
        raise folder_error(path, "verify", "ozx validate --level data checks a directory; ozx pack makes a file of it.")
    place = path + MANIFEST_ENDING if manifest is None else given_source(manifest)
    has_checksum = os.path.exists(path + CHECKSUM_ENDING)
    has_manifest = manifest is not None or os.path.exists(place)
    inside = None if has_manifest else _manifest_inside(path)
    if inside is not None:
        place, has_manifest = f"{path}/{MANIFEST_KEY}", True
    if not has_manifest and not has_checksum:
        raise UsageError(
            f"there is neither {MANIFEST_ENDING} nor {CHECKSUM_ENDING} beside it",
            path=path,
            hint="ozx validate --level data checks a file by itself. ozx pack --manifest writes a manifest for later.",
        )
    entries = size = 0
    if has_manifest:
        expected = read_manifest(place) if inside is None else parse_manifest(inside, place)
        entries, size = _compare(path, expected, place, progress)
    digest = check_checksum_file(path) if has_checksum else None
    return VerifyResult(path, place if has_manifest else None, entries, size, digest)


def _manifest_inside(path: str) -> bytes | None:
    """Return the manifest stored in an archive; None if the archive has none."""
    source = FileSource(path)
    try:
        reader = ArchiveReader(source)
        index = reader.find(MANIFEST_KEY)
        return None if index is None else reader.read(index)
    finally:
        source.close()


def _compare(path: str, expected: dict[str, ManifestValue], manifest: str, progress: Progress) -> tuple[int, int]:
    wrong: list[str] = []
    total = 0
    progress.start(os.path.basename(path), sum(value.bytes for value in expected.values()))
    count = len(expected)
    for key, size, digest in hash_values(path):
        value = expected.pop(key, None)
        if value is None and key == MANIFEST_KEY:
            continue  # it describes the others
        if value is None:
            wrong.append(f"{key!r} is superfluous")
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
            path=path,
            hint="Use another copy of the file, or pack the source again.",
        )
    return count, total

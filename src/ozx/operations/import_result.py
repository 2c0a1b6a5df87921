"""Results of `ozx import`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ozx.flow.sinks.verification import measure_archive
from ozx.hierarchy.edit.request import Edits
from ozx.images.tiff.imported import other_metadata

# The most damaged parts that a result names.
_MOST_DAMAGE = 20
_NOT_COMPARED = (
    "the pixels were not read again; if parts of the file were filled with zeros, the output of the run that "
    "wrote the file lists them"
)


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result for one TIFF file; true unless it failed.

    Attributes
    ----------
    source, path
        The TIFF file, and the written file.
    status
        ``imported``; ``skipped`` when `resume` found the file complete, or for a part of another source; ``failed``.
    images
        Number of images in the file; 0 for a failure.
    entries, bytes
        Number of entries, and length of the file in bytes; 0 for a failure.
    notes
        Remarks, one sentence each.
    damage
        The first parts of the source that could not be read and became zeros in the file (`on_error`), one sentence
        each.
    part_of
        The source whose image this file is a part of, if that source is in the same batch; else None.
    error
        For a failure ``{"code", "message", "rule", "hint"}``, else None.
    """

    source: str
    path: str
    status: Literal["imported", "skipped", "failed"]
    images: int = 0
    entries: int = 0
    bytes: int = 0
    notes: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    part_of: str | None = None
    error: dict[str, str | None] | None = None

    def __bool__(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``results`` in ``ozx import --json``."""
        return {**asdict(self), "notes": list(self.notes), "damage": list(self.damage)}


@dataclass(frozen=True, slots=True)
class ImportManyResult:
    """The results for several TIFF files; true unless one failed.

    Attributes
    ----------
    results
        One for each source, in their order.
    """

    results: tuple[ImportResult, ...]

    def __bool__(self) -> bool:
        return all(self.results)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON output of ``ozx import --json`` as a dictionary."""
        return {"schema": 2, "results": [result.to_dict() for result in self.results]}


def first_sentences(sentences: list[str]) -> tuple[str, ...]:
    """Return the first sentences, and a last sentence with the number of omitted sentences."""
    more = len(sentences) - _MOST_DAMAGE
    return (*sentences[:_MOST_DAMAGE], *([f"and {more:,} more"] if more > 0 else ()))


def skipped(result: ImportResult, damage: Iterable[str], *, fills: bool, edits: Edits | None) -> ImportResult:
    """Return the result for a file that was found complete; its pixels were not compared with the source."""
    entries, size = measure_archive(result.path)
    notes = (*result.notes, *([_NOT_COMPARED] if fills else []), *other_metadata(result.path, edits))
    return replace(
        result, status="skipped", entries=entries, bytes=size, notes=notes, damage=first_sentences(list(damage))
    )

"""One TIFF file becomes one .ozx file, under its name when it is complete."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ozx.archive.byte_source import FileSource
from ozx.atomic.new_file import replacing_file
from ozx.atomic.targets import check_target
from ozx.errors import FormatError, OzxError, UsageError
from ozx.flow.entry import Entry
from ozx.flow.sinks.target import check_place, name_notes, swept_notes
from ozx.flow.sinks.verification import measure_archive
from ozx.flow.sources.browsing import ArchiveView
from ozx.hierarchy.json.documents import parse_document
from ozx.hierarchy.keys import METADATA
from ozx.hierarchy.nodes import join_path
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.tiff.hierarchy import HierarchyOptions, plan_tiff, stem_of
from ozx.images.tiff.opening import TiffImages, TiffOptions, open_tiff
from ozx.images.writing.hierarchy_writing import count_bytes, write_hierarchy
from ozx.images.writing.new_image import NewHierarchy
from ozx.progress import Progress

__all__ = ["Claims", "ImportOptions", "ImportResult", "default_output", "import_file"]

_MOST_DAMAGE = 20


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of one TIFF file.

    Attributes
    ----------
    source, path
        The TIFF file, and the file made of it.
    status
        ``imported``; ``skipped`` when `resume` found the file complete; ``failed``.
    images
        How many images are in the file; 0 for a failure.
    entries, bytes
        Number of entries, and length of the file in bytes; 0 for a failure.
    notes
        Things worth knowing, as sentences.
    damage
        What of the source could not be read, and is zeros in the file (`on_error`): the first sentences.
    error
        For a failure ``{"message", "rule", "hint"}``, else None.
    """

    source: str
    path: str
    status: Literal["imported", "skipped", "failed"]
    images: int = 0
    entries: int = 0
    bytes: int = 0
    notes: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    error: dict[str, str | None] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``results`` in ``ozx import --json``."""
        return {**asdict(self), "notes": list(self.notes), "damage": list(self.damage)}


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is asked for, checked as far as it can be without a file.

    Attributes
    ----------
    tiff
        What somebody says of the file.
    options
        What is to become of its images.
    layout
        Chunks, shards and codec.
    thumbnail, force, resume, sync
        As for `ozx.import_tiff`.
    executor, jobs
        Who makes the blocks, and how many it is given ahead; None for threads of one's own.
    """

    tiff: TiffOptions
    options: HierarchyOptions
    layout: LayoutChoice
    thumbnail: bool = False
    force: bool = False
    resume: bool = False
    sync: bool = True
    executor: Executor | None = None
    jobs: int | None = None


class Claims:
    """Which source is the first of those that are one image in several files."""

    def __init__(self) -> None:
        self._sources: dict[frozenset[str], str] = {}
        self._lock = threading.Lock()

    def first(self, found: TiffImages) -> str:
        """Return the source that the files of an image were opened by first."""
        files = frozenset(map(os.path.realpath, found.files))
        with self._lock:
            return found.path if len(files) == 1 else self._sources.setdefault(files, found.path)


def default_output(source: str, out_dir: str | None = None) -> str:
    """Return the file that `source` becomes when none is named.

    Examples
    --------
    >>> default_output("scans/cells.ome.tif"), default_output("slide.svs", "imported")
    ('scans/cells.ozx', 'imported/slide.ozx')
    """
    folder = os.path.dirname(source) if out_dir is None else out_dir
    return os.path.join(folder, f"{stem_of(source)}.ozx")


def import_file(source: str, target: str, order: ImportOptions, progress: Progress, claims: Claims) -> ImportResult:
    """Make one .ozx file of a TIFF file.

    Parameters
    ----------
    source, target
        The TIFF file, and the file to make.
    order
        What is asked for.
    progress
        Told the bytes of pixels that were read.
    claims
        Shared by the files of a batch.

    Raises
    ------
    OzxError, OSError
        As for `ozx.import_tiff`.
    """
    check_place(source, target)
    with open_tiff(source, order.tiff) as found:
        result = ImportResult(source, target, "imported", found.count)
        first = claims.first(found)
        if first != source:
            note = f"it is a part of the image that {first} was imported with"
            return replace(result, status="skipped", path=default_output(first, os.path.dirname(target)), notes=(note,))
        if any(os.path.exists(target) and os.path.samefile(target, path) for path in (source, *found.files)):
            raise UsageError(f"{target} is the file that is to be imported", hint="Name another output.")
        try:
            hierarchy, notes = plan_tiff(found, order.options)
        except OzxError as error:
            raise error.at(source) from None
        result = replace(result, images=len(hierarchy.images), notes=(*found.notes, *notes))
        if order.resume and os.path.exists(target):
            if _is_in(target, hierarchy):
                entries, size = measure_archive(target)
                return replace(result, status="skipped", entries=entries, bytes=size)
            if not order.force:
                raise UsageError(
                    f"{target} exists, but does not have the images of {source}",
                    hint="Give --force (force=True) to replace it.",
                )
        check_target(target, force=order.force)
        return _write(result, found, hierarchy, order, progress)


def _write(
    result: ImportResult, found: TiffImages, hierarchy: NewHierarchy, order: ImportOptions, progress: Progress
) -> ImportResult:
    said: list[str] = []
    damage = dict.fromkeys(_known_damage(found))
    progress.start(os.path.basename(result.path), count_bytes(hierarchy))
    with replacing_file(result.path, force=order.force, sync=order.sync) as new:

        def picture() -> Iterable[Entry]:
            from ozx.images.pictures.thumbnail import try_thumbnail  # noqa: PLC0415 (zarr and Pillow, slow to import)
            from ozx.store.opening import opened_hierarchy  # noqa: PLC0415

            pictures, notes = try_thumbnail(lambda: opened_hierarchy(new.path))
            said.extend(notes)
            return pictures

        try:
            entries, size = write_hierarchy(
                new.descriptor,
                hierarchy,
                order.layout,
                executor=order.executor,
                jobs=order.jobs,
                progress=progress,
                late=picture if order.thumbnail else None,
                tell_damage=lambda sentences: damage.update(dict.fromkeys(sentences)),
            )
            found.files.check_unchanged()
        except OzxError as error:
            raise error.at(result.source) from None
    progress.stop()
    return replace(
        result,
        entries=entries,
        bytes=size,
        notes=(*result.notes, *name_notes(result.path), *said, *swept_notes(new.swept)),
        damage=_first(list(damage)),
    )


def _known_damage(found: TiffImages) -> list[str]:
    """Return what is known to be missing before any pixel is read."""
    sources = [source for image in found.images.values() for source in (image.source, *image.levels)]
    return [sentence for source in sources for sentence in source.damage]


def _first(sentences: list[str]) -> tuple[str, ...]:
    """Return the first sentences; how many more there are stands at their end."""
    more = [f"and {len(sentences) - _MOST_DAMAGE:,} more"] if len(sentences) > _MOST_DAMAGE else []
    return (*sentences[:_MOST_DAMAGE], *more)


def _is_in(target: str, hierarchy: NewHierarchy) -> bool:
    """Tell whether an archive has the images of a hierarchy, as far as paths, shapes and types tell."""
    source = FileSource(target)
    try:
        view = ArchiveView(source)
        for path, image in hierarchy.images.items():
            item = view.find(f"{join_path(path, '0')}/{METADATA}")
            if item is None:
                return False
            document = parse_document(view.read_document(item), item.key)
            pixels = image.levels[0].source
            if (document.get("shape"), document.get("data_type")) != (list(pixels.shape), pixels.dtype.name):
                return False
    except FormatError:
        return False
    finally:
        source.close()
    return True

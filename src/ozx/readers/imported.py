"""Facts known before an import: images already imported, and images of another source."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress

from ozx.errors import FormatError, OzxError
from ozx.flow.plans.edit import plan_edit
from ozx.flow.sources.browsing import ArchiveView
from ozx.images.writing.new_image import NewHierarchy, NewImage
from ozx.ome.colors import parse_shown_channels
from ozx.ome.edit.request import EditRequest
from ozx.ome.model import parse_ome
from ozx.places.place import Place
from ozx.quoting import quote
from ozx.readers.images import Images, ReadingOptions
from ozx.readers.registry import open_images
from ozx.zarr.json_reading import as_object, parse_document
from ozx.zarr.keys import METADATA, join_path

# Where a JPEG image has become this many times as large, and larger than this, people ask why.
_MUCH_LARGER, _LARGE = 5, 1 << 20


def first_source(sources: Sequence[str] = (), options: ReadingOptions | None = None) -> Callable[[Images], str]:
    """Return a function that finds the first of the sources that opens the same files as an image of several files."""
    known: dict[frozenset[str], str] = {}
    lock = threading.Lock()

    @functools.cache  # needed only for images of several files
    def numbers() -> dict[str, int]:
        return {os.path.realpath(source): number for number, source in reversed([*enumerate(sources)])}

    def iter_earlier(files: frozenset[str], path: str) -> Iterator[str]:
        """Yield the sources before `path` that open the same files."""
        folders = {os.path.dirname(file) for file in files}
        near = {numbers()[file] for file in files if file in numbers()}
        near |= {
            number
            for source, number in numbers().items()
            if source.endswith(".companion.ome") and os.path.dirname(source) in folders
        }
        for number in sorted(number for number in near if number < numbers().get(os.path.realpath(path), 0)):
            # If this source cannot be read, its own import reports the error.
            with suppress(OzxError, OSError), open_images(sources[number], options) as other:
                if _files_of(other) == files:
                    yield sources[number]

    def first(found: Images) -> str:
        files = _files_of(found)
        if len(files) == 1:
            return found.path
        with lock:
            if files not in known:
                known[files] = next(iter_earlier(files, found.path), found.path)
            return known[files]

    return first


def _files_of(found: Images) -> frozenset[str]:
    return frozenset(map(os.path.realpath, found.files))


def has_images(archive: Place, hierarchy: NewHierarchy, *, is_part: bool = False) -> bool:
    """Return whether an archive contains the images of a hierarchy, compared by path, shape and pixel type.

    Parts of one image may have equal shapes: they are also compared by their place and the names of channels.
    """
    source = archive.open()
    try:
        view = ArchiveView(source)
        for path, image in hierarchy.images.items():
            item = view.find(f"{join_path(path, '0')}/{METADATA}")
            if item is None:
                return False
            document = parse_document(view.read_document(item), item.key)
            pixels = image.sources[0]
            if (document.get("shape"), document.get("data_type")) != (list(pixels.shape), pixels.dtype.name):
                return False
            if is_part and not _is_same_part(view, path, image):
                return False
    except FormatError:
        return False
    finally:
        source.close()
    return True


def _is_same_part(view: ArchiveView, path: str, image: NewImage) -> bool:
    item = view.find(join_path(path, METADATA))
    attributes = {} if item is None else as_object(parse_document(view.read_document(item), item.key).get("attributes"))
    ome = parse_ome(attributes, 3)
    if ome is None or not ome.multiscales or not ome.multiscales[0].datasets:
        return False
    names = zip(parse_shown_channels(ome.raw), image.channels, strict=False)
    is_there = ome.multiscales[0].datasets[0].translation == image.levels[0].translation
    return is_there and all(new.label in (None, old.label) for old, new in names)


def other_metadata(archive: Place, edits: EditRequest | None) -> list[str]:
    """Return a note if `edits` would change the metadata of an existing archive that the import keeps."""
    if edits is None:
        return []
    with suppress(OzxError, OSError), closing(archive.open()) as source:
        plan, _ = plan_edit(ArchiveView(source), edits)
        if plan.differences:
            what = ", ".join(dict.fromkeys(difference.what for difference in plan.differences))
            kept = f"the file was already complete and keeps its metadata, which differs from the options ({what})"
            return [f"{kept}; to change it, give these options to ozx edit {quote(archive.name)}"]
    return []


def growth_notes(found: Images, size: int) -> tuple[str, ...]:
    """Return a note if a new file of `size` bytes is many times as large as its source, because that is JPEG."""
    if not any(getattr(image.sources[0], "is_color_jpeg", False) for image in found.images.values()):
        return ()
    before = sum(found.files[path].size() for path in found.files)
    if size < max(_MUCH_LARGER * before, _LARGE):
        return ()
    note = (
        f"the file is {size / before:.0f} times as large as its source, which is JPEG and lacks details: every pixel "
        "is kept as it was decoded. No codec that other readers have makes it much smaller without loss (--codec "
        "zstd:19 saves some percent); to send a small copy, run ozx export --compression jpeg"
    )
    return (note,)

"""Facts known before an import: images already imported, images of another source, and damage of the source."""

from __future__ import annotations

import os
import threading

from ozx.archive.byte_source import FileSource
from ozx.errors import FormatError
from ozx.flow.sources.browsing import ArchiveView
from ozx.hierarchy.json.documents import parse_document
from ozx.hierarchy.keys import METADATA
from ozx.hierarchy.nodes import join_path
from ozx.images.tiff.opening import TiffImages
from ozx.images.writing.new_image import NewHierarchy

__all__ = ["Claims", "has_images", "known_damage"]


class Claims:
    """Record of the images that consist of several files, each with the source that opened these files first."""

    def __init__(self) -> None:
        self._sources: dict[frozenset[str], str] = {}
        self._lock = threading.Lock()

    def first(self, found: TiffImages) -> str:
        """Return the source that was the first to open the files of an image."""
        files = frozenset(map(os.path.realpath, found.files))
        with self._lock:
            return found.path if len(files) == 1 else self._sources.setdefault(files, found.path)


def has_images(target: str, hierarchy: NewHierarchy) -> bool:
    """Return whether an archive contains the images of a hierarchy, compared by path, shape and pixel type."""
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


def known_damage(found: TiffImages) -> dict[str, None]:
    """Return descriptions of the damage that is known before any pixel is read."""
    sources = (source for image in found.images.values() for source in (image.source, *image.levels))
    return dict.fromkeys((*found.damage, *(sentence for source in sources for sentence in source.damage)))

"""OME-Zarr images as single .ozx files (RFC-9): pack, unpack, inspect, validate, open.

`import ozx` is fast: each public name is loaded at its first use, and zarr and numpy only with the names that use them.

Examples
--------
>>> import ozx
>>> ozx.is_ozx(b"not an archive")
False
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ozx.errors import (
        BufferFull,
        FormatError,
        NotOmeZarrWarning,
        OzxError,
        OzxWarning,
        PartialFileWarning,
        ResourceError,
        RewrittenWarning,
        UnsupportedError,
        UsageError,
    )
    from ozx.images.image import Image
    from ozx.images.opening import open_image, read
    from ozx.operations.detect import is_ozx
    from ozx.operations.edit import EditResult, edit
    from ozx.operations.export import ExportResult, export
    from ozx.operations.extract import ExtractResult, extract
    from ozx.operations.import_image import ImportManyResult, ImportResult, import_image, import_images
    from ozx.operations.info import Inspection, inspect
    from ozx.operations.labels import LabelsResult, add_labels, remove_labels
    from ozx.operations.list_entries import EntryListing, ListedEntry, list_entries
    from ozx.operations.pack import PackManyResult, PackResult, pack, pack_many
    from ozx.operations.read_value import read_value
    from ozx.operations.recover import RecoverResult, recover
    from ozx.operations.repack import RepackResult, repack
    from ozx.operations.stream import stream
    from ozx.operations.thumbnail import ThumbnailResult, thumbnail
    from ozx.operations.unpack import UnpackResult, unpack
    from ozx.operations.write_image import WriteImageResult, write_image
    from ozx.places.remote.access import storage_options
    from ozx.progress import Cancelled, Progress
    from ozx.store.array import Array
    from ozx.store.live.group import LiveGroup
    from ozx.store.opening import open_array
    from ozx.store.opening import open_group as open  # noqa: A004 (ozx.open reads like gzip.open)
    from ozx.store.ozx_store import OzxStore
    from ozx.store.pixels.configured import use_pipeline
    from ozx.streaming.frame_stream import FrameStream, StreamResult
    from ozx.streaming.stream_images import Camera
    from ozx.validation.report import Finding, Report, Where
    from ozx.validation.validate import validate

__version__ = "0.1.0"

__all__ = [
    "Array",
    "BufferFull",
    "Camera",
    "Cancelled",
    "EditResult",
    "EntryListing",
    "ExportResult",
    "ExtractResult",
    "Finding",
    "FormatError",
    "FrameStream",
    "Image",
    "ImportManyResult",
    "ImportResult",
    "Inspection",
    "LabelsResult",
    "ListedEntry",
    "LiveGroup",
    "NotOmeZarrWarning",
    "OzxError",
    "OzxStore",
    "OzxWarning",
    "PackManyResult",
    "PackResult",
    "PartialFileWarning",
    "Progress",
    "RecoverResult",
    "RepackResult",
    "Report",
    "ResourceError",
    "RewrittenWarning",
    "StreamResult",
    "ThumbnailResult",
    "UnpackResult",
    "UnsupportedError",
    "UsageError",
    "Where",
    "WriteImageResult",
    "add_labels",
    "edit",
    "export",
    "extract",
    "import_image",
    "import_images",
    "inspect",
    "is_ozx",
    "list_entries",
    "open",
    "open_array",
    "open_image",
    "pack",
    "pack_many",
    "read",
    "read_value",
    "recover",
    "remove_labels",
    "repack",
    "storage_options",
    "stream",
    "thumbnail",
    "unpack",
    "use_pipeline",
    "validate",
    "write_image",
]

# The modules of the public names that are neither errors nor operations with a module of the same name.
_HOMES = {
    "PackResult": "ozx.operations.pack",
    "PackManyResult": "ozx.operations.pack",
    "UnpackResult": "ozx.operations.unpack",
    "RepackResult": "ozx.operations.repack",
    "ExtractResult": "ozx.operations.extract",
    "EditResult": "ozx.operations.edit",
    "RecoverResult": "ozx.operations.recover",
    "ImportResult": "ozx.operations.import_image",
    "ImportManyResult": "ozx.operations.import_image",
    "WriteImageResult": "ozx.operations.write_image",
    "Camera": "ozx.streaming.stream_images",
    "FrameStream": "ozx.streaming.frame_stream",
    "StreamResult": "ozx.streaming.frame_stream",
    "ExportResult": "ozx.operations.export",
    "ThumbnailResult": "ozx.operations.thumbnail",
    "Report": "ozx.validation.report",
    "Finding": "ozx.validation.report",
    "Where": "ozx.validation.report",
    "Array": "ozx.store.array",
    "Image": "ozx.images.image",
    "LiveGroup": "ozx.store.live.group",
    "LabelsResult": "ozx.operations.labels",
    "add_labels": "ozx.operations.labels",
    "remove_labels": "ozx.operations.labels",
    "Inspection": "ozx.operations.info",
    "EntryListing": "ozx.operations.list_entries",
    "ListedEntry": "ozx.operations.list_entries",
    "OzxStore": "ozx.store.ozx_store",
    "Cancelled": "ozx.progress",
    "Progress": "ozx.progress",
    "import_images": "ozx.operations.import_image",
    "inspect": "ozx.operations.info",
    "is_ozx": "ozx.operations.detect",
    "open": "ozx.store.opening",
    "open_array": "ozx.store.opening",
    "open_image": "ozx.images.opening",
    "read": "ozx.images.opening",
    "pack_many": "ozx.operations.pack",
    "storage_options": "ozx.places.remote.access",
    "use_pipeline": "ozx.store.pixels.configured",
    "validate": "ozx.validation.validate",
}

# Former names, which work with a warning.
_RENAMED = {"import_tiff": "import_image", "import_tiffs": "import_images"}


# Type checkers read the names above. If they saw this __getattr__, they would accept any other name, too.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "torch":
            return importlib.import_module("ozx.torch")
        if name in _RENAMED:
            former, name = name, _RENAMED[name]
            warnings.warn(f"ozx.{former} is now called ozx.{name}", __getattr__("OzxWarning"), stacklevel=2)
        if name not in __all__:
            raise AttributeError(f"module 'ozx' has no attribute {name!r}")
        default = "ozx.errors" if name[0].isupper() else f"ozx.operations.{name}"
        module = importlib.import_module(_HOMES.get(name, default))
        value = getattr(module, "open_group" if name == "open" else name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""OME-Zarr images as single .ozx files (RFC-9): pack, unpack, inspect, validate, open.

`import ozx` is cheap: each public name is loaded at its first use, and zarr and numpy only with those that need them.

Examples
--------
>>> import ozx
>>> ozx.is_ozx(b"not an archive")
False
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ozx.errors import (
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
    from ozx.operations.detect import is_ozx
    from ozx.operations.edit import edit
    from ozx.operations.export import export
    from ozx.operations.extract import extract
    from ozx.operations.import_tiff import import_tiff, import_tiffs
    from ozx.operations.inspect import inspect
    from ozx.operations.list_entries import list_entries
    from ozx.operations.pack import pack, pack_many
    from ozx.operations.read_value import read_value
    from ozx.operations.recover import recover
    from ozx.operations.repack import repack
    from ozx.operations.thumbnail import thumbnail
    from ozx.operations.unpack import unpack
    from ozx.operations.write_image import write_image
    from ozx.progress import Progress
    from ozx.store.opening import open_group as open  # noqa: A004 (ozx.open reads like gzip.open)
    from ozx.store.ozx_store import OzxStore
    from ozx.validation.validate import validate

__version__ = "0.1.0"

__all__ = [
    "FormatError",
    "NotOmeZarrWarning",
    "OzxError",
    "OzxStore",
    "OzxWarning",
    "PartialFileWarning",
    "Progress",
    "ResourceError",
    "RewrittenWarning",
    "UnsupportedError",
    "UsageError",
    "edit",
    "export",
    "extract",
    "import_tiff",
    "import_tiffs",
    "inspect",
    "is_ozx",
    "list_entries",
    "open",
    "pack",
    "pack_many",
    "read_value",
    "recover",
    "repack",
    "thumbnail",
    "unpack",
    "validate",
    "write_image",
]

# Where each public name lives, and what it is called there.
_HOMES = {
    "FormatError": "ozx.errors:FormatError",
    "NotOmeZarrWarning": "ozx.errors:NotOmeZarrWarning",
    "OzxError": "ozx.errors:OzxError",
    "OzxStore": "ozx.store.ozx_store:OzxStore",
    "OzxWarning": "ozx.errors:OzxWarning",
    "PartialFileWarning": "ozx.errors:PartialFileWarning",
    "Progress": "ozx.progress:Progress",
    "ResourceError": "ozx.errors:ResourceError",
    "RewrittenWarning": "ozx.errors:RewrittenWarning",
    "UnsupportedError": "ozx.errors:UnsupportedError",
    "UsageError": "ozx.errors:UsageError",
    "edit": "ozx.operations.edit:edit",
    "export": "ozx.operations.export:export",
    "extract": "ozx.operations.extract:extract",
    "import_tiff": "ozx.operations.import_tiff:import_tiff",
    "import_tiffs": "ozx.operations.import_tiff:import_tiffs",
    "inspect": "ozx.operations.inspect:inspect",
    "is_ozx": "ozx.operations.detect:is_ozx",
    "list_entries": "ozx.operations.list_entries:list_entries",
    "open": "ozx.store.opening:open_group",
    "pack": "ozx.operations.pack:pack",
    "pack_many": "ozx.operations.pack:pack_many",
    "read_value": "ozx.operations.read_value:read_value",
    "repack": "ozx.operations.repack:repack",
    "recover": "ozx.operations.recover:recover",
    "thumbnail": "ozx.operations.thumbnail:thumbnail",
    "unpack": "ozx.operations.unpack:unpack",
    "validate": "ozx.validation.validate:validate",
    "write_image": "ozx.operations.write_image:write_image",
}


# Type checkers know the names above; of a module with a __getattr__ they would believe any other name, too.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'ozx' has no attribute {name!r}")
        module, _, attribute = home.partition(":")
        value = getattr(importlib.import_module(module), attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""Format the text of ``ozx --version``."""

from __future__ import annotations

import importlib.metadata
import platform

import ozx
from ozx.archive import crc32
from ozx.archive.inflate import deflate64_decoder


def version_text(*, verbose: bool) -> str:
    """Return the version of ozx; if `verbose`, add Python, libraries, and the modules used for CRC-32 and Deflate64."""
    lines = [f"ozx {ozx.__version__}"]
    if verbose:
        lines.append(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
        lines.append(f"crc-32 by {crc32.crc32.__module__}")
        lines.append(f"deflate64 by {deflate64_decoder()}")
        lines += [_version_of(name) for name in ("numpy", "zarr", "ome-zarr-models", "click")]
    return "\n".join(lines)


def _version_of(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} is not installed"

"""A file in napari's window, opened by the napari plugin of this package."""

from __future__ import annotations

import os

from ozx.errors import ResourceError, UsageError
from ozx.flow.sources.location import parse_location, printable_location

__all__ = ["show_in_napari"]


def show_in_napari(path: str | os.PathLike[str]) -> None:
    """Show `path` in napari, and return when its window is closed.

    Raises
    ------
    ResourceError
        napari, or a Qt binding for it, is not installed.
    UsageError
        It is a URL or a node, which napari's viewer does not take, or a directory, which our reader leaves to others.
    """
    location = parse_location(path)
    if location.is_remote or location.node:
        raise UsageError(
            "expected a file on the disk, as napari asks for; got a URL or a node in a file",
            path=printable_location(path),
            hint="docs/napari.md says how a node is shown; ozx view without --with shows both.",
        )
    if os.path.isdir(location.path):
        raise UsageError(
            "expected an .ozx file, as our reader for napari does; found a directory",
            path=location.path,
            hint="Pack it, or show it by ozx view without --with.",
        )
    try:
        import napari  # noqa: PLC0415 (an extra)

        viewer = napari.Viewer()
    except ImportError as error:
        raise ResourceError(
            f"expected napari; it cannot be loaded: {error}",
            hint="Install it with: pip install 'ozx-toolkit[napari]' 'napari[all]'",
        ) from error
    viewer.open(location.path, plugin="ozx-toolkit")
    napari.run()

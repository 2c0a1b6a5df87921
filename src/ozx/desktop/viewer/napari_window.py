"""Show a file in napari with the napari plugin of this package."""

from __future__ import annotations

import os

from ozx.errors import ResourceError, UsageError
from ozx.extras import install_hint
from ozx.flow.sources.location import parse_location, printable_location

__all__ = ["show_in_napari"]


def show_in_napari(path: str | os.PathLike[str]) -> None:
    """Show `path`, a local .ozx file, in napari; return when the window is closed.

    Raises
    ------
    ResourceError
        napari, or a Qt binding for it, is not installed.
    UsageError
        `path` is a URL or a node, which napari's viewer does not take, or a directory, which our plugin does not read.
    """
    location = parse_location(path)
    if location.is_remote or location.node:
        raise UsageError(
            "napari needs a local file; got a URL or a node in a file",
            path=printable_location(path),
            hint="See docs/napari.md for nodes; ozx view without --with shows URLs and nodes.",
        )
    if os.path.isdir(location.path):
        raise UsageError(
            "expected an .ozx file; found a directory",
            path=location.path,
            hint="Pack it, or use ozx view without --with.",
        )
    try:
        import napari  # noqa: PLC0415 (an extra)

        viewer = napari.Viewer()
        viewer.open(location.path, plugin="ozx-toolkit")
        napari.run()
    except ImportError as error:
        what = "napari is not installed"
        if getattr(error, "name", None) != "napari":  # a Qt binding is missing: napari says so in several lines
            what = f"napari cannot be loaded: {next(iter(str(error).strip().splitlines()), repr(error))}"
        raise ResourceError(what, hint=install_hint("napari")) from error

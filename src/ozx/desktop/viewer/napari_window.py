"""Show a file in napari with the napari plugin of this package."""

from __future__ import annotations

import os
import traceback

from ozx.desktop.viewer.browser import has_screen
from ozx.errors import OzxError, ResourceError, UsageError
from ozx.extras import install_hint
from ozx.faults import show_traceback
from ozx.flow.sources.location import Place
from ozx.flow.sources.wrong_sources import folder_error
from ozx.store.opening import opened_hierarchy

_WITHOUT_NAPARI = "To see the image in a browser, use ozx view without --with."


def show_in_napari(path: str | os.PathLike[str]) -> None:
    """Show `path`, a local .ozx file, in napari; return when the window is closed."""
    place = Place.parse(path)
    kind = place.kind()
    if kind in ("a URL", "a node"):
        raise UsageError(
            "napari needs a local file; got a URL or a node in a file",
            path=place.name,
            hint="Use ozx view without --with, which shows URLs and nodes. docs/howto/napari.md has a way for a node.",
        )
    if kind == "a directory":
        raise folder_error(place.path, "show", "Pack the directory (ozx pack), or use ozx view without --with.")
    with opened_hierarchy(place):  # its errors name the right command for other files
        pass
    try:
        import napari  # noqa: PLC0415 (an extra)

        _check_screen()
        viewer = napari.Viewer()
        viewer.open(place.path, plugin="ozx-toolkit")
        napari.run()
    except ImportError as error:
        what = "napari is not installed"
        if getattr(error, "name", None) != "napari":  # a Qt binding is missing: napari says so in several lines
            what = f"napari cannot be loaded: {next(iter(str(error).strip().splitlines()), repr(error))}"
        raise ResourceError(what, hint=install_hint("napari")) from error
    except Exception as error:
        if isinstance(error, OzxError) or _passed_through_ozx(error):
            raise
        show_traceback(error)
        raise ResourceError(  # without OpenGL, errors of any type come from the libraries that draw
            f"napari cannot show the image: {type(error).__name__}: {error}",
            hint=f"napari needs OpenGL; napari --info shows what napari found. {_WITHOUT_NAPARI}",
        ) from error


def _check_screen() -> None:
    # Without a screen Qt ends the process by a signal. QT_QPA_PLATFORM can choose a form of Qt that needs no screen.
    if not has_screen() and not os.environ.get("QT_QPA_PLATFORM"):
        raise ResourceError("napari needs a screen; found none", hint=_WITHOUT_NAPARI)


def _passed_through_ozx(error: BaseException) -> bool:
    """Return whether the exception passed through a function of ozx before it came to `show_in_napari`."""
    frames = list(traceback.walk_tb(error.__traceback__))[1:]
    return any(frame.f_globals.get("__name__", "").startswith("ozx.") for frame, _ in frames)

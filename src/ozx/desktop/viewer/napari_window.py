"""Show a file in napari with the napari plugin of this package."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from ozx.desktop.viewer.browser import has_screen
from ozx.errors import OzxError, ResourceError, UsageError
from ozx.extras import install_hint
from ozx.faults import show_traceback
from ozx.flow.sources.wrong_sources import folder_error
from ozx.places.place import Place
from ozx.quoting import quote
from ozx.store.opening import opened_hierarchy
from ozx.zarr.keys import join_path

_WITHOUT_NAPARI = "To see the image in a browser, use ozx view without --with."


def show_in_napari(path: str | os.PathLike[str], view: str = "") -> None:
    """Show `path`, an .ozx file or a node in it, in napari; return when the window is closed.

    `view` is the part of a link of the page after ``#``: napari begins at this place, with these channels and labels.
    """
    place, terms = Place.parse(path), dict(parse_qsl(view.removeprefix("#")))
    _check_place(place)
    place = replace(place, node=join_path(place.node, terms.get("image", "")))
    with opened_hierarchy(place):  # its errors name the right command for other files
        pass
    try:
        import napari  # noqa: PLC0415 (an extra)
        import npe2  # noqa: PLC0415 (napari brings it; unlike napari's own function, it reads nodes)

        _check_screen()
        viewer = napari.Viewer()
        source = place.uri if place.node else place.path
        layers: dict[str, list[Any]] = {"image": [], "labels": []}
        for data, settings, kind in npe2.read([source], stack=False, plugin_name="ozx-toolkit"):
            layers[kind].append(getattr(viewer, f"add_{kind}")(data, **settings))
        if view:
            try:
                _show_view(viewer, layers, terms, napari.qt.get_qapp().devicePixelRatio())
            except (KeyError, ValueError):
                raise UsageError(
                    f"expected the part of a link of ozx view after #; got {view[:200]!r}",
                    hint="For example --at 'at=350,600,1&plane.z=2', with quotes: x, y, zoom, and the plane of z.",
                ) from None
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


def start_napari(place: Place, view: str) -> str:
    """Start a program that shows a view in napari, and return its command line."""
    _check_place(place)
    path = place.uri if place.node else place.full_path()
    arguments = ["view", path, "--with", "napari", "--at", view]
    command = " ".join(["ozx", *map(quote, arguments)])
    if importlib.util.find_spec("napari") is None:
        hint = f"{install_hint('napari')}\nThen, or where napari is installed, run: {command}"
        raise ResourceError("napari is not installed", hint=hint)
    _check_screen()
    # A session of its own: an interrupt that ends `ozx view` does not end napari.
    process = subprocess.Popen(  # noqa: S603 (ourselves)
        [sys.executable, "-m", "ozx", *arguments], stdin=subprocess.DEVNULL, start_new_session=True
    )
    threading.Thread(target=process.wait, daemon=True).start()
    return command


def _show_view(viewer: Any, layers: Mapping[str, Sequence[Any]], terms: Mapping[str, str], ratio: float) -> None:
    """Give channels, labels and camera the settings of a view; `ratio`: device pixels for each pixel of napari."""
    for number, layer in enumerate(layers["image"], 1):
        if setting := terms.get(f"channel.{number}"):
            active, color, start, end, gamma = setting.split(",")
            layer.visible, layer.colormap, layer.gamma = active == "1", f"#{color}", float(gamma)
            layer.contrast_limits = float(start), float(end)
        elif any(name.startswith("channel.") for name in terms):
            layer.visible = False  # links leave out hidden channels
    for number, layer in enumerate(layers["labels"], 1):
        if setting := terms.get(f"labels.{number}"):
            visible, opacity, *outlines = setting.split(",")
            layer.visible, layer.opacity, layer.contour = visible == "1", float(opacity), len(outlines)
    layer = (layers["image"] or layers["labels"])[0]
    x, y, zoom = map(float, terms["at"].split(","))
    planes = [float(terms.get(f"plane.{name}", 1)) - 1 for name in layer.axis_labels[:-2]]
    # The page counts from the edge of the first pixel, napari from its centre.
    place, beside = (layer.data_to_world((*planes, y - 0.5, x - 0.5 + step)) for step in (0, 1))
    viewer.dims.set_point(range(viewer.dims.ndim - layer.ndim, viewer.dims.ndim), place)
    viewer.camera.center = tuple(place[-2:])
    viewer.camera.zoom = zoom / ratio / abs(beside[-1] - place[-1])


def _check_place(place: Place) -> None:
    if place.kind() == "a directory":
        raise folder_error(place.path, "show", "Pack the directory (ozx pack), or use ozx view without --with.")


def _check_screen() -> None:
    # Without a screen Qt ends the process by a signal. QT_QPA_PLATFORM can choose a form of Qt that needs no screen.
    if not has_screen() and not os.environ.get("QT_QPA_PLATFORM"):
        raise ResourceError("napari needs a screen; found none", hint=_WITHOUT_NAPARI)


def _passed_through_ozx(error: BaseException) -> bool:
    """Return whether the exception passed through a function of ozx before it came to `show_in_napari`."""
    frames = list(traceback.walk_tb(error.__traceback__))[1:]
    return any(frame.f_globals.get("__name__", "").startswith("ozx.") for frame, _ in frames)

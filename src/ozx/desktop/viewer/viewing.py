"""Show a file in a window until the window is closed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from ozx.desktop.viewer.browser import Check, open_window
from ozx.desktop.viewer.keeping import file_identity
from ozx.desktop.viewer.loopback import LoopbackServer, serving
from ozx.desktop.viewer.page_access import wait_for_ever
from ozx.desktop.viewer.page_server import PageServer
from ozx.errors import FormatError, OzxError, ResourceError
from ozx.places.place import Place
from ozx.store.live.followed_file import NothingYetError
from ozx.store.live.group import LiveGroup
from ozx.store.opening import open_group, opened_hierarchy

# Chromium takes some seconds to start, on a busy machine a minute.
_PATIENCE = 120.0
# A page that reloads disappears for a moment.
_GRACE = 3.0
# Seconds between two looks for the first frames of a stream.
_PERIOD = 0.5


@contextmanager
def page_serving(
    path: str | os.PathLike[str],
    *,
    port: int = 0,
    live: bool = False,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[tuple[LoopbackServer, PageServer]]:
    """Serve a page that shows `path` (file, directory, URL or node location); yield the server and its page.

    The page is served until the end of the ``with`` block. Port 0 stands for any free port. With `live` the page
    follows a file that `ozx.stream` is writing; `waiting` is called once if there is no frame yet.
    """
    if live:
        with _grown_page(path, waiting) as growing, serving(LoopbackServer(growing.respond, port)) as server:
            yield server, growing
        return
    place = Place.parse(path)
    identity = file_identity(place)
    with opened_hierarchy(place) as group, closing(PageServer(group, place.name, identity, place)) as page:
        try:
            page.check()
        except OzxError as error:
            raise error.at(place.name) from None
        with serving(LoopbackServer(page.respond, port, takes_posts=True)) as server:
            yield server, page


def show_page(
    path: str | os.PathLike[str],
    *,
    port: int = 0,
    browser: Callable[[str], Check | None] | None = open_window,
    announce: Callable[[str], None],
    live: bool = False,
    waiting: Callable[[], None] = lambda: None,
    view: str = "",
) -> None:
    """Show `path` in a window, and return when the window is closed; for the arguments see `page_serving`.

    `browser` opens a window at a URL; it returns the check of the window, or None if no window opened. Without a
    window, or if `browser` is None, the page is served until an interrupt, and `announce` gets the URL of the page. The
    page begins with `view`, the part of a link after ``#``.
    """
    with page_serving(path, port=port, live=live, waiting=waiting) as (server, page):
        part = view and f"#{view.removeprefix('#')}"
        window = None if browser is None else browser(server.origin + page.access.start_path + part)
        if window is None:
            announce(server.origin + page.access.page_path + part)
            wait_for_ever()
        elif not page.access.wait_until_gone(grace=_GRACE, patience=_PATIENCE, check=window):
            raise ResourceError(
                f"the browser did not show the page within {_PATIENCE:.0f} seconds",
                path=Place(os.fspath(path)).name,
                hint="Use ozx view --no-browser and open the printed address by hand.",
            )


@contextmanager
def _grown_page(path: str | os.PathLike[str], waiting: Callable[[], None]) -> Iterator[PageServer]:
    """Wait until a file, which may be growing, has an image to show; then yield the page of the file."""
    is_told = False
    while (found := _page_with_images(path)) is None:
        if not is_told:
            waiting()
            is_told = True
        time.sleep(_PERIOD)
    group, page = found
    try:
        yield page
    finally:
        group.store.close()


def _page_with_images(path: str | os.PathLike[str]) -> tuple[LiveGroup, PageServer] | None:
    """Return an open file and its page; None if the file contains no image yet."""
    try:
        group = open_group(path, live=True)
    except NothingYetError:
        return None
    name = Place(os.fspath(path)).name
    page = PageServer(group, name, identity="")
    try:
        page.check()
    except FormatError as error:
        is_growing = group.state == "growing"  # the images of a series come one by one
        group.store.close()
        if is_growing:
            return None
        raise error.at(name) from None
    return group, page

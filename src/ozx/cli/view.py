"""Command ``ozx view``."""

from __future__ import annotations

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.options import node_option, store_options
from ozx.cli.output import say
from ozx.errors import UsageError
from ozx.places.place import Place


@click.command("view")
@click.argument("path", metavar="FILE|DIR|URL", type=click.Path(), callback=expand_argument)
@node_option
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Port of the page; by default a free one."
)
@click.option("--no-browser", is_flag=True, help="Print the page's URL and serve it until an interrupt (Ctrl-C).")
@click.option(
    "--with",
    "viewer",
    type=click.Choice(["page", "napari"]),
    default="page",
    show_default=True,
    help="The viewer: ozx's own page, or napari.",
)
@click.option("--live", is_flag=True, help="Follow a file that ozx stream or ozx.stream is writing.")
@click.option(
    "--at", "view", metavar="VIEW", default="", help="Begin with a view: the end of a link of the page, after #."
)
@store_options
def command(*, path: str, node: str, port: int, no_browser: bool, viewer: str, live: bool, view: str) -> None:
    """Show an .ozx file or an OME-Zarr directory in a window.

    The page is served on this computer only, at a secret address, and can read nothing but FILE. Only its
    button "Keep these colours in the file" changes FILE. Other buttons save the region in view, and open the same
    place in napari. Chromium, and browsers based on it, show the page in a
    separate window. The command ends when the window is closed.

    With --live the page shows the finished frames of a file that is being written, and follows the last frame. FILE is
    the final name of the file; ozx also finds FILE.partial.

    FILE may be a URL (extra remote), and may name a node: plate.ozx/B/2/0.

    \b
    Examples:
      ozx view cells.ozx
      ozx view https://example.org/cells.ozx
      ozx view cells.ozx --no-browser --port 8000
      ozx view plate.ozx --with napari
      ozx view cells.ozx --with napari --at "at=350,600,1&plane.z=2"
      ozx view run7.ozx --live
    """
    path = Place.parse(path, node).given
    # Each loads zarr, which takes half a second; a mistyped command line fails before.
    if viewer == "napari":
        from ozx.desktop.viewer.napari_window import show_in_napari  # noqa: PLC0415

        if no_browser or port or live:
            raise UsageError("--with napari opens its own window: leave out --port, --no-browser and --live")
        show_in_napari(path, view)
        return
    from ozx.desktop.viewer.browser import open_window  # noqa: PLC0415
    from ozx.desktop.viewer.viewing import show_page  # noqa: PLC0415

    try:
        announce = _announce if no_browser else _announce_unopened
        show_page(
            path,
            port=port,
            browser=None if no_browser else open_window,
            announce=announce,
            live=live,
            waiting=lambda: say("waiting for the first frames"),
            view=view,
        )
    except KeyboardInterrupt:
        say("closed")


def _announce(url: str) -> None:
    click.echo(url)  # click flushes it for waiting programs
    say("Open this address in a browser on this computer; Ctrl-C ends the command.")


def _announce_unopened(url: str) -> None:
    say("There is no screen, or no browser could be started.")
    _announce(url)

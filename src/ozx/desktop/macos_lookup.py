"""Which application would open an .ozx file on macOS now, as far as a file of the user's says it."""

from __future__ import annotations

import os
import plistlib
import posixpath
from xml.parsers.expat import ExpatError

from ozx.desktop.macos import APPLICATION, TYPE, applet_path
from ozx.desktop.media_type import EXTENSION
from ozx.desktop.status import Opener

__all__ = ["chosen_application", "find_opener"]

_CHOICES = "Library/Preferences/com.apple.LaunchServices/com.apple.launchservices.secure.plist"


def find_opener(home: str) -> Opener | None:
    """Return the application the user has chosen, else our applet; None where there is neither."""
    try:
        with open(posixpath.join(home, _CHOICES), "rb") as file:
            chosen = chosen_application(file.read())
    except OSError:
        chosen = None
    applet = applet_path(home)
    exists = os.path.isdir(applet)
    if chosen is not None and chosen != APPLICATION:
        return Opener(chosen, None, exists=True, is_ours=False)
    if chosen is None and not exists:
        return None
    return Opener(APPLICATION, applet, exists=exists, is_ours=True)


def chosen_application(choices: bytes) -> str | None:
    """Return the bundle that the user's choices (Launch Services' property list) name for .ozx files.

    Examples
    --------
    >>> handlers = [{"LSHandlerContentType": "ozx-toolkit.ozx", "LSHandlerRoleAll": "org.napari.napari"}]
    >>> chosen_application(plistlib.dumps({"LSHandlers": handlers}))
    'org.napari.napari'
    """
    try:
        handlers = plistlib.loads(choices).get("LSHandlers", [])
    except (plistlib.InvalidFileException, ExpatError, ValueError, AttributeError):
        return None
    for handler in handlers:
        tag = handler.get("LSHandlerContentTag"), handler.get("LSHandlerContentTagClass")
        if handler.get("LSHandlerContentType") == TYPE or tag == (EXTENSION[1:], "public.filename-extension"):
            chosen = handler.get("LSHandlerRoleViewer") or handler.get("LSHandlerRoleAll")
            if isinstance(chosen, str):
                return chosen
    return None

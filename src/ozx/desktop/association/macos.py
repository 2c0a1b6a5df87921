"""macOS: which steps make .ozx known (an applet that declares the type, and is told what to open), what opens it now.

Written from Apple's documentation and not tried on a Mac.
"""

from __future__ import annotations

import os
import plistlib
import posixpath
import shlex
from typing import Any
from xml.parsers.expat import ExpatError

from ozx.desktop import icons
from ozx.desktop.association.media_type import COMMENT, EXTENSION, MEDIA_TYPE, NAME
from ozx.desktop.association.status import Opener, Status, opener_notes
from ozx.desktop.association.steps import MergePlist, RunProgram, Step, WriteFile

__all__ = [
    "APPLICATION",
    "TYPE",
    "applet_path",
    "applet_source",
    "chosen_application",
    "find_opener",
    "info_entries",
    "plan",
    "read_status",
    "record_path",
]

#: A name of our own, as the format has no uniform type identifier.
TYPE = f"{NAME}.ozx"
#: The identifier of the applet's bundle.
APPLICATION = f"{NAME}.viewer"

_LSREGISTER = "/System/Library/Frameworks/CoreServices.framework/Frameworks/LaunchServices.framework/Support/lsregister"
# What the user has chosen in "Open with", below the home directory.
_CHOICES = "Library/Preferences/com.apple.LaunchServices/com.apple.launchservices.secure.plist"
_DEVELOPER_TOOLS = "It belongs to macOS; xcode-select --install brings what is missing."


def record_path(home: str) -> str:
    """Return the file that says what was done."""
    return posixpath.join(home, "Library/Application Support", NAME, "association.json")


def applet_path(home: str) -> str:
    """Return where the applet stands."""
    return posixpath.join(home, "Applications/OZX Viewer.app")


def plan(home: str, viewer: tuple[str, ...]) -> tuple[Step, ...]:
    """Return the steps after which a double-click runs `viewer` with the file."""
    applet = applet_path(home)
    lines = [word for line in applet_source(viewer).splitlines() for word in ("-e", line)]
    return (
        RunProgram(("osacompile", "-o", applet, *lines), _DEVELOPER_TOOLS, folder=applet),
        WriteFile(posixpath.join(applet, "Contents/Resources/ozx.icns"), icons.icns()),
        MergePlist(posixpath.join(applet, "Contents/Info.plist"), info_entries()),
        # Its contents have changed, so that osacompile's signature does not hold any more.
        RunProgram(("codesign", "--force", "--sign", "-", applet), _DEVELOPER_TOOLS),
        RunProgram((_LSREGISTER, "-f", applet), _DEVELOPER_TOOLS, undo=(_LSREGISTER, "-u", applet)),
    )


def applet_source(viewer: tuple[str, ...]) -> str:
    r"""Return the AppleScript that runs `viewer` in the background for each file it is told to open.

    Examples
    --------
    >>> print(applet_source(("/opt/my tools/napari",)).splitlines()[2])
    do shell script "'/opt/my tools/napari' " & quoted form of POSIX path of theFile & " > /dev/null 2>&1 &"
    """
    command = shlex.join(viewer).replace("\\", "\\\\").replace('"', '\\"')
    return (
        "on open theFiles\n"
        "repeat with theFile in theFiles\n"
        f'do shell script "{command} " & quoted form of POSIX path of theFile & " > /dev/null 2>&1 &"\n'
        "end repeat\n"
        "end open\n"
        "on run\n"
        f'display dialog "Double-click an {EXTENSION} file to open it." buttons {{"OK"}} default button 1\n'
        "end run\n"
    )


def info_entries() -> dict[str, Any]:
    """Return what the applet's Info.plist has to say: who it is, which type it opens, what that type is."""
    return {
        "CFBundleIdentifier": APPLICATION,
        "CFBundleName": "OZX Viewer",
        "CFBundleIconFile": "ozx",
        # It would win over CFBundleIconFile.
        "CFBundleIconName": None,
        # No place in the Dock: the applet is gone once the viewer runs.
        "LSUIElement": True,
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": COMMENT,
                "CFBundleTypeRole": "Viewer",
                "CFBundleTypeIconFile": "ozx",
                "LSHandlerRank": "Default",
                "LSItemContentTypes": [TYPE],
            }
        ],
        # Imported, not exported: others may come to own the type. A zip would be unpacked by Archive Utility, an
        # image be opened by Preview: it conforms to neither.
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": TYPE,
                "UTTypeDescription": COMMENT,
                "UTTypeConformsTo": ["public.data"],
                "UTTypeIconFile": "ozx",
                "UTTypeTagSpecification": {
                    "public.filename-extension": [EXTENSION.removeprefix(".")],
                    "public.mime-type": [MEDIA_TYPE],
                },
            }
        ],
    }


def read_status(home: str) -> Status:
    """Return what would open an .ozx file now, as far as a file of the user's says it."""
    record = record_path(home)
    is_associated = os.path.exists(record)
    opener = find_opener(home)
    notes = opener_notes(opener, associated=is_associated)
    return Status("macos", TYPE if is_associated else None, opener, is_associated, record, tuple(notes))


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

"""Which steps make .ozx known to macOS: an applet that is told which file to open, and declares the type.

Written from Apple's documentation and not tried on a Mac.
"""

from __future__ import annotations

import posixpath
import shlex
from typing import Any

from ozx.desktop import icons
from ozx.desktop.media_type import COMMENT, EXTENSION, MEDIA_TYPE, NAME
from ozx.desktop.steps import MergePlist, RunProgram, Step, WriteFile

__all__ = ["APPLICATION", "TYPE", "applet_path", "applet_source", "info_entries", "plan", "record_path"]

#: A name of our own, as the format has no uniform type identifier.
TYPE = f"{NAME}.ozx"
#: The identifier of the applet's bundle.
APPLICATION = f"{NAME}.viewer"

_LSREGISTER = "/System/Library/Frameworks/CoreServices.framework/Frameworks/LaunchServices.framework/Support/lsregister"
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

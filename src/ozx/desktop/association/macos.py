"""macOS: what registers .ozx with an applet, and the program that currently opens .ozx files.

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
from ozx.desktop.association.changes import COMMENT, EXTENSION, MEDIA_TYPE, NAME, Command, Desktop, DesktopChanges
from ozx.desktop.association.status import Opener, Status, converter_notes, opener_notes

#: Our own name, because the format has no uniform type identifier.
TYPE = f"{NAME}.ozx"
#: The identifier of the applet's bundle.
APPLICATION = f"{NAME}.viewer"
#: The identifier of the converter's bundle.
CONVERTER = f"{NAME}.converter"

_LSREGISTER = "/System/Library/Frameworks/CoreServices.framework/Frameworks/LaunchServices.framework/Support/lsregister"
# The user's choices in "Open with", below the home directory.
_CHOICES = "Library/Preferences/com.apple.LaunchServices/com.apple.launchservices.secure.plist"
_DEVELOPER_TOOLS = "This program is normally part of macOS. If it is missing, run xcode-select --install."


def applet_path(home: str) -> str:
    """Return the path of the applet."""
    return posixpath.join(home, "Applications/OZX Viewer.app")


def converter_path(home: str) -> str:
    """Return the path of the converter applet."""
    return posixpath.join(home, "Applications/Convert to OZX.app")


def register(changes: DesktopChanges, home: str, viewer: Command, converter: Command) -> None:
    """Let a double-click run `viewer` with the file, and let "Open With" run `converter`."""
    _make_applet(changes, applet_path(home), applet_source(viewer), info_entries())
    _make_applet(changes, converter_path(home), converter_source(converter), converter_entries())


def desktop(home: str) -> Desktop:
    """Return how to register, and what is ours in this home directory: the two applets."""
    return Desktop(
        "macos",
        lambda changes, viewer, _ozx, converter, _name: register(changes, home, viewer, converter),
        lambda: read_status(home),
        folders={applet: (_LSREGISTER, "-u", applet) for applet in (applet_path(home), converter_path(home))},
        old=(posixpath.join(home, "Library/Application Support", NAME, "association.json"),),
    )


def _make_applet(changes: DesktopChanges, applet: str, source: str, entries: dict[str, Any]) -> None:
    # A signature without a certificate is that of these very bytes: after a change of the viewer, macOS would ask again
    # for access to each folder. With this requirement, the identifier alone counts.
    requirement = f'=designated => identifier "{entries["CFBundleIdentifier"]}"'
    lines = [word for line in source.splitlines() for word in ("-e", line)]
    changes.run(("osacompile", "-o", applet, *lines), _DEVELOPER_TOOLS, makes=applet)
    changes.write(posixpath.join(applet, "Contents/Resources/ozx.icns"), icons.icns())
    changes.merge(posixpath.join(applet, "Contents/Info.plist"), entries)
    # The changed contents have made osacompile's signature invalid.
    changes.run(("codesign", "--force", "--sign", "-", "--requirements", requirement, applet), _DEVELOPER_TOOLS)
    changes.run((_LSREGISTER, "-f", applet), _DEVELOPER_TOOLS)


def applet_source(viewer: Command) -> str:
    """Return the AppleScript that runs `viewer` in the background for each opened file."""
    return (
        "on open theFiles\n"
        "repeat with theFile in theFiles\n"
        f"{_running(viewer, 'quoted form of POSIX path of theFile')}\n"
        "end repeat\n"
        "end open\n"
        "on run\n"
        f'display dialog "Double-click an {EXTENSION} file to open it." buttons {{"OK"}} default button 1\n'
        "end run\n"
    )


def converter_source(converter: Command) -> str:
    """Return the AppleScript that runs `converter` in the background for all opened files together."""
    return (
        "on open theFiles\n"
        'set theNames to ""\n'
        "repeat with theFile in theFiles\n"
        'set theNames to theNames & " " & quoted form of POSIX path of theFile\n'
        "end repeat\n"
        f"{_running(converter, 'theNames')}\n"
        "end open\n"
        "on run\n"
        'display dialog "Drop TIFF files or OME-Zarr folders on this icon." buttons {"OK"} default button 1\n'
        "end run\n"
    )


def _running(command: Command, names: str) -> str:
    """Return the line of AppleScript that runs a command in the background; a window shows what it writes if it fails.

    Also what the shell writes if the program is not there any more.
    """
    alert = ("on run said", 'display alert "ozx" message (item 1 of said) as critical', "end run")
    window = shlex.join(["osascript", *(word for line in alert for word in ("-e", line))])
    before = f"(said=$({shlex.join(command)} "
    after = f' 2>&1 > /dev/null) || [ -z "$said" ] || {window} "$(printf %s "$said" | tail -n 12)") > /dev/null 2>&1 &'
    return f'do shell script "{_escaped(before)}" & {names} & "{_escaped(after)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def converter_entries() -> dict[str, Any]:
    """Return the Info.plist entries of the converter, which is never the default program for its file types."""
    return {
        "CFBundleIdentifier": CONVERTER,
        "CFBundleName": "Convert to OZX",
        "CFBundleIconFile": "ozx",
        "CFBundleIconName": None,
        "LSUIElement": True,
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "TIFF image or OME-Zarr folder",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Alternate",
                "LSItemContentTypes": ["public.tiff", "public.folder"],
            }
        ],
    }


def info_entries() -> dict[str, Any]:
    """Return the entries of the applet's Info.plist: its identity, and the file type that it declares and opens."""
    return {
        "CFBundleIdentifier": APPLICATION,
        "CFBundleName": "OZX Viewer",
        "CFBundleIconFile": "ozx",
        # This entry would take precedence over CFBundleIconFile.
        "CFBundleIconName": None,
        # No icon in the Dock: the applet ends once the viewer runs.
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
        # Imported, not exported: another program may own the type later. It conforms neither to zip, which Archive
        # Utility would unpack, nor to image, which Preview would open.
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
    """Return the program that currently opens .ozx files, according to the user's settings."""
    is_associated = os.path.isdir(applet_path(home))
    opener = find_opener(home)
    place = converter_path(home)
    converter = Opener(CONVERTER, place, exists=True, is_ours=True) if os.path.isdir(place) else None
    notes = opener_notes(opener, associated=is_associated) + converter_notes(converter, associated=is_associated)
    return Status("macos", TYPE if is_associated else None, opener, converter, is_associated, tuple(notes))


def find_opener(home: str) -> Opener | None:
    """Return the application that the user has chosen, else the applet of ozx; None if neither exists."""
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
    """Return the bundle identifier that the user's Launch Services settings assign to .ozx files."""
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

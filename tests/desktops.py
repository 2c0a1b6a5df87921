"""A home directory, programs and a registry that tests of the desktop can change."""

import os
import sys

import pytest

from ozx.desktop.association import open_with

#: A substitute for the program of shared-mime-info, which makes files from all packages.
UPDATE_MIME_DATABASE = """#!/bin/sh
set -e
cd "$1"
cat packages/*.xml > mime.cache 2>/dev/null || true
: > globs2
rm -rf application
if [ -e packages/ozx-toolkit.xml ]; then
  echo '50:application/vnd.ome.zarr+zip:*.ozx' > globs2
  mkdir application
  cp packages/ozx-toolkit.xml application/vnd.ome.zarr+zip.xml
fi
"""
#: A substitute for xdg-mime, which here notes its arguments, and writes a new list.
XDG_MIME = """#!/bin/sh
echo "$@" >> "${0%/*}/xdg-mime.log"
mkdir -p "$HOME/.config"
printf '[Default Applications]\\n%s=%s\\n' "$3" "$2" > "$HOME/.config/mimeapps.list"
"""
OSACOMPILE = """#!/bin/sh
set -e
mkdir -p "$2/Contents/MacOS" "$2/Contents/Resources"
echo "$@" > "$2/Contents/MacOS/applet"
cat > "$2/Contents/Info.plist" <<END
<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict><key>CFBundleExecutable</key><string>applet</string>
<key>CFBundleIconName</key><string>applet</string></dict></plist>
END
"""
CODESIGN = """#!/bin/sh
mkdir -p "$6/Contents/_CodeSignature"; cksum < "$6/Contents/Info.plist" > "$6/Contents/_CodeSignature/CodeResources"
"""


class MemoryRegistry:
    """A registry like that of Windows, in memory: setting a value makes its key, and the key stays without values."""

    def __init__(self):
        self.keys = {"Software": {}, "Software\\Classes": {}}
        self.told = 0

    def get(self, key, name):
        return self.keys.get(key, {}).get(name)

    def set(self, key, name, value):
        parts = key.split("\\")
        for count in range(1, len(parts) + 1):
            self.keys.setdefault("\\".join(parts[:count]), {})
        self.keys[key][name] = value

    def delete(self, key, name):
        self.keys.get(key, {}).pop(name, None)

    def has_key(self, key):
        return any(known == key or known.startswith(key + "\\") for known in self.keys)

    def delete_key(self, key):
        for known in [known for known in self.keys if known == key or known.startswith(key + "\\")]:
            del self.keys[known]

    def delete_if_empty(self, key):
        if self.keys.get(key) or any(known.startswith(key + "\\") for known in self.keys):
            return False
        self.keys.pop(key, None)
        return True

    def notify_shell(self):
        self.told += 1


@pytest.fixture
def registry():
    return MemoryRegistry()


def make_program(path, text="#!/bin/sh\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def program():
    return make_program


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder on the path with programs of a desktop and ozx, in addition to those of a bare system."""
    folder = tmp_path / "programs"
    make_program(folder / "update-mime-database", UPDATE_MIME_DATABASE)
    make_program(folder / "xdg-mime", XDG_MIME)
    make_program(folder / "osacompile", OSACOMPILE)
    make_program(folder / "codesign", CODESIGN)
    make_program(folder / "lsregister", '#!/bin/sh\necho "$@" >> "${0%/*}/lsregister.log"\n')
    make_program(folder / "ozx")
    make_program(folder / "ozx-open")
    make_program(folder / "ozx-convert")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(open_with, "find_program", lambda name: (str(folder / name),))
    monkeypatch.setattr("ozx.desktop.association.macos._LSREGISTER", str(folder / "lsregister"))
    return folder


@pytest.fixture
def home(tmp_path, monkeypatch, programs):
    """An empty home directory, on Linux."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith("XDG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_DIRS", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "nothing"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # these calls would take most of the time of the tests
    return folder

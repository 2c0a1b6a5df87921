"""The Windows registry, played in memory: values set, changed by others, removed."""

import copy
import sys
from dataclasses import replace

import pytest

from ozx.desktop.association import windows
from ozx.desktop.association.associate import associate, association_status, dissociate
from ozx.desktop.association.changes import DesktopChanges
from ozx.errors import ResourceError

pytestmark = pytest.mark.posix("plays Windows")

VIEWER = (r"C:\venv\Scripts\ozx-open.exe",)
CONVERTER = (r"C:\venv\Scripts\ozx-convert.exe",)
CHOICE = r"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\.ozx\UserChoice"
EXTENSION = r"Software\Classes\.ozx"


class RegistryChanges(DesktopChanges):
    """The changes without the file of the icon."""

    def write(self, path, content, *, is_executable=False):
        pass


def set_values(registry, viewer=VIEWER):
    windows.register(RegistryChanges(registry), r"C:\Local", viewer, CONVERTER)


def remove_values(registry):
    DesktopChanges(registry).remove(replace(windows.desktop(r"C:\Local", registry), files=()))


@pytest.mark.parametrize("existing", [None, "Napari.ozx"])
def test_values_are_set_replaced_and_removed(registry, existing):
    before = copy.deepcopy(registry.keys)
    if existing:
        registry.set(EXTENSION, "", existing)
        registry.set(rf"{EXTENSION}\OpenWithProgids", existing, "")
    set_values(registry)
    assert registry.told == 1
    assert registry.get(EXTENSION, "") == windows.PROG_ID
    opener = windows.find_opener(registry)
    assert (opener.identifier, opener.command, opener.is_ours) == (windows.PROG_ID, f'"{VIEWER[0]}" "%1"', True)
    set_values(registry, (r"C:\napari.exe",))
    assert windows.find_opener(registry).command == r'"C:\napari.exe" "%1"'
    remove_values(registry)
    assert registry.told == 3
    theirs = {EXTENSION: {}, rf"{EXTENSION}\OpenWithProgids": {existing: ""}} if existing else {}
    assert registry.keys == before | theirs


def test_a_value_that_others_set_since_stays(registry):
    set_values(registry)
    registry.set(EXTENSION, "", "Napari.ozx")
    remove_values(registry)
    assert registry.keys[EXTENSION] == {"": "Napari.ozx"}
    assert r"Software\Classes\OzxToolkit.ozx.1" not in registry.keys


def test_the_choice_of_the_user_comes_first(registry):
    assert windows.find_opener(registry) is None
    registry.set(EXTENSION, "", windows.PROG_ID)
    registry.set(CHOICE, "ProgId", r"Applications\napari.exe")
    opener = windows.find_opener(registry)
    assert (opener.identifier, opener.is_ours, opener.command) == (r"Applications\napari.exe", False, None)


def test_the_whole_of_it(tmp_path, home, registry, programs, monkeypatch):
    """On a system that takes itself for Windows, so that a backslash is part of a file's name."""
    before = copy.deepcopy(registry.keys)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(home / "Local"))
    monkeypatch.setattr("ozx.desktop.association.associate.user_registry", lambda: registry)
    assert association_status().to_dict()["opens_with"] is None
    assert associate().notes == ()
    status = association_status()
    assert (status.system, status.type, status.opens_with.exists) == ("windows", windows.PROG_ID, True)
    assert status.opens_with.command == f'"{programs / "ozx-open"}" "%1"'
    assert (status.converts_with.command, status.converts_with.exists) == (f'"{programs / "ozx-convert"}" "%1"', True)
    for kind in (r"SystemFileAssociations\.tif", r"SystemFileAssociations\.tiff", "Directory"):
        assert registry.get(rf"Software\Classes\{kind}\shell\OzxToolkit.Convert", "") == "Convert to .ozx"
    assert not associate().written
    registry.set(CHOICE, "ProgId", "Other.1")
    assert association_status().notes[0].startswith("Other.1 is the default now")
    registry.delete(CHOICE, "ProgId")
    dissociate()
    assert {
        key: values for key, values in registry.keys.items() if not CHOICE.startswith(key) or key in before
    } == before
    assert list(home.iterdir()) == []


def test_a_dry_run_lists_values(registry):
    before = copy.deepcopy(registry.keys)
    changes = DesktopChanges(registry, is_dry=True)
    windows.register(changes, r"C:\Local", VIEWER, CONVERTER)
    assert registry.keys == before
    assert ("set", f"{EXTENSION}\\") in [(change.what, change.target) for change in changes.actions]


def test_without_a_registry_there_is_an_error():
    with pytest.raises(ResourceError, match="this system has no registry"):
        DesktopChanges(None).set(EXTENSION, "", windows.PROG_ID)

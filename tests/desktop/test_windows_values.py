"""The Windows registry, played in memory: values set, changed by others, taken back."""

import copy
import sys

import pytest

from ozx.desktop.association import windows
from ozx.desktop.association.apply import apply, is_in_place
from ozx.desktop.association.associate import associate, association_status, dissociate
from ozx.desktop.association.record import Record
from ozx.desktop.association.revert import revert
from ozx.desktop.association.steps import WriteFile
from ozx.desktop.association.transaction import Transaction
from ozx.errors import ResourceError

pytestmark = pytest.mark.posix("plays Windows")

VIEWER = (r"C:\venv\Scripts\ozx-open.exe",)
CONVERTER = (r"C:\venv\Scripts\ozx-convert.exe",)
CHOICE = r"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\.ozx\UserChoice"
EXTENSION = r"Software\Classes\.ozx"


def steps(viewer=VIEWER):
    return tuple(step for step in windows.plan(r"C:\Local", viewer, CONVERTER) if not isinstance(step, WriteFile))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "record" / "association.json")


def carried_out(path, registry, viewer=VIEWER, old=None):
    with Transaction(registry) as transaction:
        apply(steps(viewer), viewer, old or Record(), path, transaction)
    with open(path, "rb") as file:
        return Record.from_bytes(file.read(), path)


@pytest.mark.parametrize("existing", [None, "Napari.ozx"])
def test_values_are_set_and_taken_back(path, registry, existing):
    if existing:
        registry.set(EXTENSION, "", existing)
        registry.set(rf"{EXTENSION}\OpenWithProgids", existing, "")
    before = copy.deepcopy(registry.keys)
    record = carried_out(path, registry)
    assert registry.told == 1
    assert registry.get(EXTENSION, "") == windows.PROG_ID
    assert is_in_place(steps(), VIEWER, record, Transaction(registry))
    opener = windows.find_opener(registry)
    assert (opener.identifier, opener.command, opener.is_ours) == (windows.PROG_ID, f'"{VIEWER[0]}" "%1"', True)
    with Transaction(registry) as transaction:
        revert(record, path, transaction)
    assert registry.keys == before
    assert registry.told == 2


def test_another_viewer_keeps_what_stood_there_first(path, registry):
    registry.set(EXTENSION, "", "Napari.ozx")
    before = copy.deepcopy(registry.keys)
    first = carried_out(path, registry)
    second = carried_out(path, registry, (r"C:\napari.exe",), first)
    assert not is_in_place(steps(), VIEWER, second, Transaction(registry))
    assert windows.find_opener(registry).command == r'"C:\napari.exe" "%1"'
    with Transaction(registry) as transaction:
        revert(second, path, transaction)
    assert registry.keys == before


def test_a_value_that_others_set_since_stays(path, registry):
    record = carried_out(path, registry)
    registry.set(EXTENSION, "", "Napari.ozx")
    with Transaction(registry) as transaction:
        revert(record, path, transaction)
    assert [action.target for action in transaction.actions if action.what == "keep"] == [f"{EXTENSION}\\"]
    assert registry.keys[EXTENSION] == {"": "Napari.ozx"}
    assert r"Software\Classes\OzxToolkit.ozx.1" not in registry.keys


def test_the_choice_of_the_user_comes_first(registry):
    assert windows.find_opener(registry) is None
    registry.set(EXTENSION, "", windows.PROG_ID)
    registry.set(CHOICE, "ProgId", r"Applications\napari.exe")
    opener = windows.find_opener(registry)
    assert (opener.identifier, opener.is_ours, opener.command) == (r"Applications\napari.exe", False, None)


def test_nothing_is_left_after_an_error(path, registry):
    before = copy.deepcopy(registry.keys)

    def fail():
        raise OSError("the shell does not answer")

    registry.notify_shell = fail
    with pytest.raises(OSError, match="does not answer"):
        carried_out(path, registry)
    assert registry.keys == before


def test_the_whole_of_it(tmp_path, home, registry, programs, monkeypatch):
    """On a system that takes itself for Windows, so that a backslash is part of a file's name."""
    before = copy.deepcopy(registry.keys)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(home / "Local"))
    for module in ("associate", "systems"):
        monkeypatch.setattr(f"ozx.desktop.association.{module}.user_registry", lambda: registry)
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


def test_a_dry_run_shows_values(path, registry):
    registry.set(EXTENSION, "", "Napari.ozx")
    before = copy.deepcopy(registry.keys)
    transaction = Transaction(registry, is_dry=True)
    apply(steps(), VIEWER, Record(), path, transaction)
    assert registry.keys == before
    shown = {action.target: action.detail for action in transaction.actions}
    assert shown[f"{EXTENSION}\\"] == ("- Napari.ozx", "+ OzxToolkit.ozx.1")


def test_without_a_registry_there_is_an_error(path):
    with pytest.raises(ResourceError, match="this system has no registry"), Transaction(None) as transaction:
        apply(steps(), VIEWER, Record(), path, transaction)

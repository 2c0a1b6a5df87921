"""An association in a home directory of its own: made, made again, removed; files of others stay."""

import os
import plistlib
import shutil
import sys

import hierarchies
import pytest
from links import make_link

import ozx
from ozx.desktop.association.associate import associate, association_status, dissociate

pytestmark = pytest.mark.posix("plays Linux and macOS")

LIST = "[Default Applications]\ntext/plain=vim.desktop\n"


#: Files that programs of the desktop write.
WRITTEN_BY_PROGRAMS = ("mime.cache", "globs2", "mimeapps.list")


def tree(folder):
    """Return the files below a folder, without those that programs of the desktop write."""
    files = hierarchies.tree(folder).items()
    return {path: data for path, data in files if path.rpartition("/")[2] not in WRITTEN_BY_PROGRAMS}


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.fixture(params=["linux", "darwin"])
def system(request, monkeypatch, home):
    monkeypatch.setattr(sys, "platform", request.param)
    return request.param


def fill_nothing(home):
    del home


def fill_some(home):
    put(home / ".config" / "mimeapps.list", LIST).chmod(0o600)
    put(home / ".local" / "share" / "applications" / "other.desktop", "[Desktop Entry]\n")
    put(home / "Applications" / "Other.app" / "Contents" / "Info.plist", "<plist/>")


def fill_database(home):
    put(home / ".local" / "share" / "mime" / "packages" / "other.xml", "<other/>\n")
    put(home / ".local" / "share" / "mime" / "mime.cache", "<other/>\n")
    put(home / ".local" / "share" / "mime" / "globs2", "")


FILLINGS = [fill_nothing, fill_some, fill_database]


@pytest.mark.parametrize("fill", FILLINGS)
def test_remove_leaves_the_files_of_others(system, home, fill):
    fill(home)
    before = tree(home)
    assert associate().written
    assert tree(home).items() > before.items()
    assert dissociate().written
    assert tree(home) == before
    assert not dissociate().written


def test_another_viewer_replaces_the_first(system, home, programs, program):
    associate()
    once = tree(home)
    napari = program(programs / "my tools" / "napari")
    assert associate(viewer=f"'{napari}' --fast").command == (str(napari), "--fast")
    assert tree(home) != once
    assert associate().command[0].startswith(str(programs / "ozx"))
    assert once.items() <= tree(home).items()
    dissociate()
    assert tree(home) == {}


def test_a_dry_run_shows_all_and_does_nothing(system, home):
    fill_some(home)
    before = tree(home)
    dry = associate(dry_run=True)
    assert not dry.written
    assert tree(home) == before
    done = associate()
    assert {action.target for action in dry.actions} == {action.target for action in done.actions}
    there = tree(home)
    dry = dissociate(dry_run=True)
    assert tree(home) == there
    done = dissociate()
    assert {action.target for action in dry.actions} == {action.target for action in done.actions}


def test_what_is_set_on_linux_once(home, programs):
    status = association_status()
    assert (status.type, status.opens_with, status.associated, status.notes) == (None, None, False, ())
    result = associate()
    once, second = tree(home), associate()
    assert (second.written, second.actions, tree(home)) == (False, (), once)
    share = home / ".local" / "share"
    assert not any("image/tiff" in entry.read_text() for entry in (share / "applications").glob("*.desktop"))
    assert result.to_dict()["command"] == [str(programs / "ozx-open")]
    assert (share / "applications" / "ozx-toolkit.desktop").read_text().count("\n") == 11
    assert (programs / "xdg-mime.log").read_text() == "default ozx-toolkit.desktop application/vnd.ome.zarr+zip\n"
    status, ours = association_status(), {"exists": True, "is_ours": True}
    assert status.to_dict() == {
        "schema": 3,
        "system": "linux",
        "type": "application/vnd.ome.zarr+zip",
        "opens_with": {"identifier": "ozx-toolkit.desktop", "command": f"{programs}/ozx-open %f"} | ours,
        "converts_with": {"identifier": "ozx-toolkit-convert.desktop", "command": f"{programs}/ozx-convert %F"} | ours,
        "associated": True,
        "notes": [],
    }


def test_what_is_set_on_a_mac(monkeypatch, home, programs):
    monkeypatch.setattr(sys, "platform", "darwin")
    associate()
    contents = home / "Applications" / "OZX Viewer.app" / "Contents"
    entries = plistlib.loads((contents / "Info.plist").read_bytes())
    assert entries["CFBundleExecutable"] == "applet"
    assert "CFBundleIconName" not in entries
    assert (contents / "Resources" / "ozx.icns").read_bytes()[:4] == b"icns"
    assert (contents / "_CodeSignature").is_dir()
    assert str(programs / "ozx-open") in (contents / "MacOS" / "applet").read_text()
    status = association_status()
    assert (status.type, status.opens_with.is_ours, status.notes) == ("ozx-toolkit.ozx", True, ())
    converter = home / "Applications" / "Convert to OZX.app"
    assert status.converts_with.command == str(converter)
    assert str(programs / "ozx-convert") in (converter / "Contents/MacOS/applet").read_text()
    (declared,) = plistlib.loads((converter / "Contents/Info.plist").read_bytes())["CFBundleDocumentTypes"]
    assert (declared["LSHandlerRank"], declared["LSItemContentTypes"]) == (
        "Alternate",
        ["public.tiff", "public.folder"],
    )
    choice = {"LSHandlers": [{"LSHandlerContentTag": "ozx", "LSHandlerContentTagClass": "public.filename-extension",
                              "LSHandlerRoleAll": "org.napari.napari"}]}  # fmt: skip
    folder = home / "Library" / "Preferences" / "com.apple.LaunchServices"
    folder.mkdir(parents=True)
    (folder / "com.apple.launchservices.secure.plist").write_bytes(plistlib.dumps(choice))
    status = association_status()
    assert (status.opens_with.identifier, status.opens_with.is_ours) == ("org.napari.napari", False)
    dissociate()
    assert (programs / "lsregister.log").read_text().splitlines()[-1].startswith("-u ")
    assert association_status().opens_with.identifier == "org.napari.napari"


def test_a_default_that_somebody_chose_since_is_told(home):
    associate()
    put(home / ".config" / "mimeapps.list", "[Default Applications]\napplication/vnd.ome.zarr+zip=napari.desktop;\n")
    put(home / ".local/share/applications/napari.desktop", "[Desktop Entry]\nExec=sh -c true\n")
    status = association_status()
    assert (status.opens_with.identifier, status.opens_with.exists) == ("napari.desktop", True)
    assert status.notes[0].startswith("napari.desktop is the default now")
    assert associate().written


def test_a_list_of_another_desktop_comes_first(home, monkeypatch):
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "XFCE")
    put(home / ".config" / "xfce-mimeapps.list", "[Default Applications]\napplication/vnd.ome.zarr+zip=feh.desktop\n")
    put(home / ".local/share/applications/feh.desktop", "[Desktop Entry]\nExec=feh\n")
    notes = associate().notes
    assert "the program of feh.desktop no longer exists: run ozx associate again" in notes


@pytest.mark.parametrize(("name", "package"), [("update-mime-database", "shared-mime-info"), ("xdg-mime", "xdg-utils")])
def test_a_missing_program_is_named_with_its_package_and_nothing_is_written(home, programs, monkeypatch, name, package):
    (programs / name).unlink()
    monkeypatch.setenv("PATH", str(programs))
    for other in ("touch", "sh"):
        make_link(programs / other, shutil.which(other, path="/usr/bin:/bin"))
    with pytest.raises(ozx.ResourceError, match=f"the program {name} is not installed") as caught:
        associate()
    assert f"apt install {package}" in caught.value.hint
    assert tree(home) == {}
    assert associate(dry_run=True).actions


def test_remove_does_not_need_the_programs(home, monkeypatch):
    associate()
    monkeypatch.setenv("PATH", "/nothing")
    dissociate()
    assert list(tree(home)) == [".local/share/mime/application/vnd.ome.zarr+zip.xml"]  # only the program knows


def test_remove_ends_an_association_that_failed_half_way(system, home, programs, program):
    name = "update-mime-database" if system == "linux" else "codesign"
    whole = (programs / name).read_text()
    program(programs / name, "#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(ozx.ResourceError, match="failed: broken"):
        associate()
    assert tree(home)
    program(programs / name, whole)
    dissociate()
    assert tree(home) == {}


@pytest.mark.parametrize("change", [associate, dissociate])
def test_the_record_of_an_earlier_version_goes_without_a_word(home, change):
    record = put(home / ".local/share/ozx-toolkit/association.json", "{}")
    assert not any("association.json" in action.target for action in change().actions)
    assert not record.exists()


def test_a_file_in_place_of_a_folder_is_an_error(home):
    put(home / ".local", "a file where a folder has to be")
    with pytest.raises(OSError, match=r"\.local"):
        associate()


def test_a_program_that_has_moved_is_told_and_put_right(home, programs, program, monkeypatch):
    associate()
    (programs / "ozx-open").rename(programs / "moved")
    (programs / "ozx-convert").unlink()
    status = association_status()
    assert (status.opens_with.exists, status.converts_with.exists) == (False, False)
    gone = "the program of {} no longer exists: run ozx associate again"
    assert status.notes == (gone.format("ozx-toolkit.desktop"), gone.format('"Convert to .ozx"'))
    new = program(programs / "new" / "ozx-open")
    monkeypatch.setattr("ozx.desktop.association.open_with.find_program", lambda name: (str(new),))
    assert associate().notes == ()
    assert association_status().opens_with.command == f"{new} %f"


def test_sudo_is_refused_in_the_home_of_somebody_else(home, monkeypatch):
    if os.geteuid() == 0:
        os.chown(home, 12345, 12345)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for function in (associate, dissociate):
        with pytest.raises(ozx.UsageError, match="belongs to another user"):
            function()
    assert tree(home) == {}


def test_an_applet_that_cannot_be_completed(home, programs, program, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    text = (programs / "osacompile").read_text()
    program(programs / "osacompile", text.replace("<plist version", "<nonsense version"))
    with pytest.raises(ozx.FormatError, match="expected a property list"):
        associate()
    dissociate()
    assert tree(home) == {}


@pytest.mark.parametrize(
    ("lost", "note"),
    [
        ("share/mime", "the MIME database does not have application/vnd.ome.zarr+zip for .ozx files: run ozx"),
        ("share/Thunar/sendto/ozx-toolkit-convert.desktop", "is not in the menus"),  # as after an earlier version
    ],
)
def test_what_is_lost_is_told_and_made_anew(home, lost, note):
    associate()
    path = home / ".local" / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    (told,) = association_status().notes
    assert note in told
    assert associate().written
    assert association_status().notes == ()
    dissociate()
    assert tree(home) == {}

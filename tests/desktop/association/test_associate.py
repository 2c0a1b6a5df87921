"""An association in a home directory of its own: made, made again, changed by others, taken back without a trace."""

import json
import os
import plistlib
import shutil
import sys

import pytest
from links import make_link

import ozx
from ozx.desktop.association import transaction as actions
from ozx.desktop.association.associate import associate, association_status, dissociate

pytestmark = pytest.mark.posix("plays Linux and macOS")

LIST = "[Default Applications]\ntext/plain=vim.desktop\n"


def tree(folder):
    """Return all below a folder: content and mode of files, and the folders."""
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.stat().st_mode)
        for path in sorted(folder.rglob("*"))
    }


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


def fill_same_names(home):
    """Give files of other programs the names of ours."""
    put(home / ".local" / "share" / "applications" / "ozx-toolkit.desktop", "[Desktop Entry]\nName=Mine\n")
    put(home / ".config" / "mimeapps.list", "[Default Applications]\napplication/vnd.ome.zarr+zip=napari.desktop\n")


FILLINGS = [fill_nothing, fill_some, fill_database, fill_same_names]


@pytest.mark.parametrize("fill", FILLINGS)
def test_the_home_directory_is_as_it_was(system, home, fill):
    fill(home)
    before = tree(home)
    assert associate().written
    assert tree(home) != before
    result = dissociate()
    assert result.written
    assert not [action for action in result.actions if action.what == "keep"]
    assert tree(home) == before
    assert not dissociate().written


@pytest.mark.parametrize("fill", FILLINGS)
def test_twice_is_once(system, home, fill):
    fill(home)
    before = tree(home)
    associate()
    once = tree(home)
    second = associate()
    assert (second.written, second.actions) == (False, ())
    assert tree(home) == once
    dissociate()
    assert tree(home) == before


@pytest.mark.parametrize("fill", FILLINGS)
def test_another_viewer_replaces_the_first(system, home, fill, programs, program):
    fill(home)
    before = tree(home)
    associate()
    once = tree(home)
    napari = program(programs / "my tools" / "napari")
    assert associate(viewer=f"'{napari}' --fast").command == (str(napari), "--fast")
    assert tree(home) != once
    assert associate().command[0].startswith(str(programs / "ozx"))
    assert {name: entry for name, entry in tree(home).items() if "association.json" not in name} == {
        name: entry for name, entry in once.items() if "association.json" not in name
    }
    dissociate()
    assert tree(home) == before


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


def test_what_is_set_on_linux(home, programs):
    result = associate()
    share = home / ".local" / "share"
    assert result.to_dict()["command"] == [str(programs / "ozx-open")]
    assert (share / "applications" / "ozx-toolkit.desktop").read_text().count("\n") == 11
    assert (home / ".config" / "mimeapps.list").read_text() == (
        "[Default Applications]\napplication/vnd.ome.zarr+zip=ozx-toolkit.desktop;\n"
        "[Added Associations]\napplication/vnd.ome.zarr+zip=ozx-toolkit.desktop;\n"
    )
    status = association_status()
    assert status.to_dict() == {
        "schema": 2,
        "system": "linux",
        "type": "application/vnd.ome.zarr+zip",
        "opens_with": {
            "identifier": "ozx-toolkit.desktop",
            "command": f"{programs / 'ozx-open'} %f",
            "exists": True,
            "is_ours": True,
        },
        "converts_with": {
            "identifier": "ozx-toolkit-convert.desktop",
            "command": f"{programs / 'ozx-convert'} %F",
            "exists": True,
            "is_ours": True,
        },
        "associated": True,
        "record": str(share / "ozx-toolkit" / "association.json"),
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


def test_files_that_others_changed_are_kept_and_named(home):
    associate()
    entry = home / ".local" / "share" / "applications" / "ozx-toolkit.desktop"
    entry.write_text("[Desktop Entry]\nName=Mine now\n")
    kept = [action for action in dissociate().actions if action.what == "keep"]
    assert [action.target for action in kept] == [str(entry)]
    assert list(tree(home)) == [".local", ".local/share", ".local/share/applications",
                                ".local/share/applications/ozx-toolkit.desktop"]  # fmt: skip


def test_files_and_folders_that_others_added_stay(home):
    associate()
    other = put(home / ".local" / "share" / "mime" / "packages" / "other.xml", "<other/>\n")
    dissociate()
    assert other.exists()
    assert (home / ".local" / "share" / "mime" / "mime.cache").read_text() == "<other/>\n"
    assert not (home / ".local" / "share" / "mime" / "application").exists()
    assert not (home / ".config").exists()


@pytest.mark.parametrize("before", [None, "", LIST, LIST.replace("\n", "\r\n"), "[Added Associations]\nodd\n=\n"])
def test_defaults_that_others_added_stay(home, before):
    path = home / ".config" / "mimeapps.list"
    if before is not None:
        put(path, before)
    associate()
    with path.open("a", newline="") as file:
        file.write("image/png=gimp.desktop;\n")
    now = path.read_bytes()
    associate()
    assert path.read_bytes() == now
    dissociate()
    left = path.read_text(encoding="utf-8")
    assert "ozx" not in left
    assert left.endswith("image/png=gimp.desktop;\n")
    assert (before or "").splitlines() == left.splitlines()[: len((before or "").splitlines())]


def test_a_default_that_somebody_chose_since_is_told_and_stays(home):
    associate()
    path = home / ".config" / "mimeapps.list"
    path.write_text(path.read_text().replace("ozx-toolkit.desktop", "napari.desktop", 1))
    put(home / ".local/share/applications/napari.desktop", "[Desktop Entry]\nExec=sh -c true\n")
    status = association_status()
    assert (status.opens_with.identifier, status.opens_with.exists) == ("napari.desktop", True)
    assert status.notes[0].startswith("napari.desktop is the default now")
    dissociate()
    assert path.read_text().endswith("zip=napari.desktop;\n")


def test_the_list_may_be_a_link_and_is_one_afterwards(home, tmp_path):
    real = put(tmp_path / "dotfiles" / "list", LIST)
    (home / ".config").mkdir()
    link = home / ".config" / "mimeapps.list"
    make_link(link, real)
    associate()
    assert link.is_symlink()
    assert "ozx-toolkit" in real.read_text()
    dissociate()
    assert link.is_symlink()
    assert real.read_text() == LIST


def test_a_list_of_another_desktop_comes_first(home, monkeypatch):
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "XFCE")
    put(home / ".config" / "xfce-mimeapps.list", "[Default Applications]\napplication/vnd.ome.zarr+zip=feh.desktop\n")
    put(home / ".local/share/applications/feh.desktop", "[Desktop Entry]\nExec=feh\n")
    notes = associate().notes
    assert "the program of feh.desktop no longer exists: run ozx associate again" in notes


@pytest.mark.parametrize("change", [associate, dissociate])
def test_the_database_of_others_is_brought_up_to_date_after_an_error(home, monkeypatch, change):
    fill_database(home)
    if change is dissociate:
        associate()
    before = tree(home)

    # The record is written, and removed, after the program has run.
    name = "write" if change is associate else "delete"
    work = getattr(actions.Transaction, name)

    def fail(self, path, *rest, **options):
        if path.endswith("association.json"):
            raise OSError(28, "No space left on device", path)
        work(self, path, *rest, **options)

    monkeypatch.setattr(actions.Transaction, name, fail)
    with pytest.raises(OSError, match="No space left"):
        change()
    assert tree(home) == before


def test_others_that_cannot_be_listed_are_not_taken_for_none(home, monkeypatch):
    associate()
    put(home / ".local" / "share" / "mime" / "packages" / "other.xml", "<other/>\n")
    before = tree(home)

    def fail(path):
        raise OSError(5, "the disk is gone", path)

    monkeypatch.setattr(os, "listdir", fail)
    with pytest.raises(OSError, match="the disk is gone"):
        dissociate()
    monkeypatch.undo()
    assert tree(home) == before


def test_nothing_is_left_after_an_error(system, home, programs, program, monkeypatch):
    fill_some(home)
    before = tree(home)
    name = "update-mime-database" if system == "linux" else "codesign"
    whole = (programs / name).read_text()
    broken = "#!/bin/sh\n" + ('touch "$1/half"' if system == "linux" else "") + "\necho broken >&2\nexit 3\n"
    program(programs / name, broken)
    with pytest.raises(ozx.ResourceError, match="failed: broken"):
        associate()
    assert tree(home) == before
    program(programs / name, whole)
    associate()
    there = tree(home)
    program(programs / name, broken)
    with pytest.raises(ozx.ResourceError, match="failed: broken"):
        associate(viewer="sh")
    assert tree(home) == there


def test_what_is_missing_is_named_with_its_package(home, programs, monkeypatch):
    (programs / "update-mime-database").unlink()
    monkeypatch.setenv("PATH", str(programs))
    for name in ("touch", "sh"):
        make_link(programs / name, shutil.which(name, path="/usr/bin:/bin"))
    with pytest.raises(ozx.ResourceError, match="the program update-mime-database is not installed") as caught:
        associate()
    assert "apt install shared-mime-info" in caught.value.hint
    assert tree(home) == {}
    assert associate(dry_run=True).actions


def test_taking_back_does_not_need_the_program(home, programs, monkeypatch):
    associate()
    monkeypatch.setenv("PATH", "/nothing")
    dissociate()
    assert tree(home) == {}


@pytest.mark.parametrize("number", range(1, 18))
def test_a_full_disk_leaves_all_as_it_was(home, monkeypatch, number):
    fill_some(home)
    before = tree(home)
    real, calls = actions._put, []

    def failing(path, content, *, is_executable):
        calls.append(path)
        if len(calls) == number:
            raise OSError(28, "No space left on device", path)
        real(path, content, is_executable=is_executable)

    monkeypatch.setattr(actions, "_put", failing)
    if number <= 16:
        with pytest.raises(OSError, match="No space left"):
            associate()
        assert tree(home) == before
    else:
        associate()


def test_a_home_that_cannot_be_written_to(home):
    if os.geteuid() == 0:
        put(home / ".local", "a file where a folder has to be")
        kind = NotADirectoryError
    else:
        home.chmod(0o500)
        kind = PermissionError
    before = tree(home)
    with pytest.raises(kind):
        associate()
    assert tree(home) == before
    home.chmod(0o700)


def test_what_an_interrupted_run_left_is_not_taken_for_somebody_elses(home):
    associate()
    (home / ".local/share/ozx-toolkit/association.json").unlink()
    associate()
    dissociate()
    left = {name for name, (content, _) in tree(home).items() if content is not None}
    assert left <= {".local/share/mime/globs2", ".local/share/mime/mime.cache"}


def test_files_of_an_older_version_that_are_not_made_any_more_go(home):
    associate()
    path = home / ".local/share/ozx-toolkit/association.json"
    record = json.loads(path.read_text())
    for name, before in (("old.desktop", None), ("theirs.desktop", "dGhlaXJz"), ("touched.desktop", None)):
        put(home / ".local/share/applications" / name, "old")
        sha = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"
        record["files"].append(
            {"path": str(home / ".local/share/applications" / name), "sha256": sha, "before": before}
        )
    put(home / ".local/share/applications/touched.desktop", "touched")
    record["something"] = "a member of that version"
    path.write_text(json.dumps(record))
    assert associate(viewer="sh").written
    found = {path.name: path.read_text() for path in (home / ".local/share/applications").iterdir()}
    assert found.pop("ozx-toolkit.desktop").count("Exec=")
    del found["ozx-toolkit-convert.desktop"], found["mimeapps.list"]
    assert found == {"theirs.desktop": "theirs", "touched.desktop": "touched"}


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", ozx.FormatError, "the record of ozx associate cannot be read"),
        ("[]", ozx.FormatError, "the record of ozx associate"),
        ('{"version": 1}', ozx.FormatError, "KeyError"),
        ('{"version": 1, "command": [3], "files": [], "folders": []}', ozx.FormatError, "expected a string; found 3"),
        ('{"version": 99}', ozx.UnsupportedError, "version 99, written by a later ozx"),
    ],
)
def test_a_record_that_cannot_be_read(home, text, error, message):
    path = put(home / ".local/share/ozx-toolkit/association.json", text)
    for function in (associate, dissociate):
        with pytest.raises(error, match=message) as caught:
            function()
        assert str(caught.value).startswith(f"{path}: ")
        assert caught.value.hint
    assert list(tree(home)) == [".local", ".local/share", ".local/share/ozx-toolkit",
                                ".local/share/ozx-toolkit/association.json"]  # fmt: skip


def test_a_program_that_has_moved_is_told_and_put_right(home, programs, program, monkeypatch):
    associate()
    (programs / "ozx-open").rename(programs / "moved")
    status = association_status()
    assert not status.opens_with.exists
    assert status.notes == ("the program of ozx-toolkit.desktop no longer exists: run ozx associate again",)
    new = program(programs / "new" / "ozx-open")
    monkeypatch.setattr("ozx.desktop.association.launching.find_program", lambda name: (str(new),))
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
    assert tree(home) == {}


def test_before_anything_is_done_nothing_is_known(home):
    status = association_status()
    assert (status.type, status.opens_with, status.associated, status.notes) == (None, None, False, ())


def test_what_happens_after_the_database_was_lost(home):
    associate()
    shutil.rmtree(home / ".local/share/mime")
    assert association_status().notes == (
        "the MIME database does not have application/vnd.ome.zarr+zip for .ozx files: run ozx associate again",
    )
    assert associate().notes == ()
    dissociate()
    assert tree(home) == {}


# Convert to .ozx


TIFF_VIEWER = "[Desktop Entry]\nType=Application\nName=V\nExec=sh %f\nMimeType=image/tiff;\n"


def test_the_menus_of_file_managers_have_the_converter(home, programs):
    associate()
    share, config = home / ".local/share", home / ".config"
    command = str(programs / "ozx-convert")
    for path in (
        share / "applications/ozx-toolkit-convert.desktop",
        share / "kio/servicemenus/ozx-toolkit-convert.desktop",
        share / "file-manager/actions/ozx-toolkit-convert.desktop",
        share / "nemo/actions/ozx-toolkit-convert.nemo_action",
    ):
        assert f"Exec={command} %F\n" in path.read_text()
    for path in (share / "nautilus/scripts/Convert to .ozx", config / "caja/scripts/Convert to .ozx"):
        assert path.read_text().endswith(f'exec {command} "$@"\n')
        assert os.access(path, os.X_OK)
    assert os.access(share / "kio/servicemenus/ozx-toolkit-convert.desktop", os.X_OK)
    assert f"<command>{command} %F</command>" in (config / "Thunar/uca.xml").read_text()


def test_a_double_click_on_a_tiff_file_still_opens_its_viewer(home, tmp_path):
    applications = tmp_path / "nothing/applications"
    put(applications / "viewer.desktop", TIFF_VIEWER)
    put(applications / "mimeinfo.cache", "[MIME Cache]\nimage/tiff=gone.desktop;viewer.desktop;\n")
    associate()
    lists = home / ".local/share/applications/mimeapps.list"
    assert lists.read_text() == "[Added Associations]\nimage/tiff=viewer.desktop;ozx-toolkit-convert.desktop;\n"
    assert not associate().written
    assert "image/tiff" not in (home / ".config/mimeapps.list").read_text()


def test_the_order_that_the_user_chose_stays(home):
    lists = put(home / ".local/share/applications/mimeapps.list", "[Added Associations]\nimage/tiff=gimp.desktop;\n")
    before = lists.read_text()
    associate()
    assert lists.read_text() == "[Added Associations]\nimage/tiff=gimp.desktop;ozx-toolkit-convert.desktop;\n"
    dissociate()
    assert lists.read_text() == before


SYSTEM_ACTIONS = (
    "<actions>\n<action>\n\t<name>Open Terminal Here</name>\n\t<unique-id>1</unique-id>\n</action>\n</actions>\n"
)


def test_thunar_keeps_the_actions_of_the_system(home, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "etc"))
    put(tmp_path / "etc/Thunar/uca.xml", SYSTEM_ACTIONS)
    associate()
    own = home / ".config/Thunar/uca.xml"
    text = own.read_text()
    assert "Open Terminal Here" in text
    assert text.count("<unique-id>ozx-toolkit-convert</unique-id>") == 1
    own.write_text(text.replace("Open Terminal Here", "Terminal"))
    assert not [action for action in dissociate().actions if action.what == "keep"]
    assert own.read_text() == SYSTEM_ACTIONS.replace("Open Terminal Here", "Terminal")


def test_a_moved_converter_is_told_and_replaced(home, programs, monkeypatch):
    associate()
    (programs / "ozx-convert").unlink()
    status = association_status()
    assert not status.converts_with.exists
    assert 'the program of "Convert to .ozx" no longer exists: run ozx associate again' in status.notes


def test_an_association_of_an_earlier_version_gets_the_converter(home):
    associate()
    (home / ".local/share/applications/ozx-toolkit-convert.desktop").unlink()
    assert any("is not in the menus" in note for note in association_status().notes)
    assert associate().written
    assert association_status().notes == ()

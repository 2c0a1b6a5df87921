"""The changes on each system, word for word: golden files, written again with OZX_WRITE_GOLDEN=1."""

import configparser
import hashlib
import json
import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ozx.desktop.association import linux, macos, windows
from ozx.desktop.association.macos import chosen_application

GOLDEN = Path(__file__).parent / "golden"

OZX = ("/home/me/.venv/bin/ozx",)
CONVERTER = ("/home/me/.venv/bin/ozx-convert",)
ODD_CONVERTER = ("/home/me/my venv (é)/bin/python", "-m", "ozx.desktop.conversion.convert")
SCRIPTS = r"C:\Users\Zoë M\venv\Scripts"
PLACES = linux.find_places({}, "/home/me")
SPACES = linux.find_places({"XDG_DATA_HOME": "/media/my disk/data", "XDG_CONFIG_HOME": "/etc/mine"}, "/home/me")
ODD = ("/home/me/my venv (é)/bin/na'pari", "--title", '100 % "sure" $HOME')
MAC, WIN = "/Users/me", r"C:\Users\Zoë M\AppData\Local"
WINDOWS_ODD = (r"C:\Program Files\napari\napari.exe", "--title", 'all "in" one 5%')


class Plan:
    """Takes the place of the changes, and keeps what they would make."""

    def __init__(self, register, *arguments):
        self.lines, self.files, self.folders, self.values = [], {}, [], []
        register(self, *arguments)

    def write(self, path, content, *, is_executable=False):
        self.files[path] = content
        try:
            text = content.decode().rstrip("\n")
        except UnicodeDecodeError:
            text = f"{len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"
        self.lines.append(f"write {path}{' (executable)' if is_executable else ''}\n{text}")

    def merge(self, path, entries):
        self.files[path] = entries
        self.lines.append(f"merge {path}\n{entries!r}")

    def run(self, command, hint="", makes=None):
        self.folders += [] if makes is None else [makes]
        is_call = command == ("SHChangeNotify",)
        self.lines.append("NotifyShell" if is_call else f"run {command!r}\nmakes {makes}")

    def set(self, *value):
        self.values.append(value)
        self.lines.append("set {} {!r}\n{}".format(*value))

    def written(self, suffix):
        return next(content for path, content in self.files.items() if path.endswith(suffix))


PLANS = {
    "linux": Plan(linux.register, PLACES, (*OZX, "view"), OZX, CONVERTER, "OME-Zarr viewer"),
    "linux-odd-viewer": Plan(linux.register, PLACES, ODD, ("/home/me/my venv/bin/ozx",), ODD_CONVERTER, "na'pari"),
    "linux-odd-places": Plan(linux.register, SPACES, ODD, OZX, CONVERTER, "na'pari"),
    "macos": Plan(macos.register, MAC, ("/Users/me/venv/bin/ozx-open",), ("/Users/me/venv/bin/ozx-convert",)),
    "macos-odd-viewer": Plan(
        macos.register,
        MAC,
        ("/Users/me/my venv/bin/na'pari", "--title", 'a "b" \\c'),
        ("/Users/me/my venv/bin/ozx-convert",),
    ),
    "windows": Plan(windows.register, WIN, (rf"{SCRIPTS}\ozx-open.exe",), (rf"{SCRIPTS}\ozx-convert.exe",)),
    "windows-odd-viewer": Plan(
        windows.register, WIN, WINDOWS_ODD, (rf"{SCRIPTS}\pythonw.exe", "-m", "ozx.desktop.conversion.convert")
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_the_golden_one(name):
    text = "\n\n".join(PLANS[name].lines) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("OZX_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def read_entry(content):
    parser = configparser.RawConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(content.decode())
    return parser


@pytest.mark.parametrize("name", ["linux", "linux-odd-viewer"])
def test_xdg_open_needs_an_exec_without_quotes(name):
    entry = read_entry(PLANS[name].written(".desktop"))["Desktop Entry"]
    program, *rest = entry["Exec"].split()
    assert program.startswith("/home/me/")
    assert rest[-1] == "%f"
    assert not set("\"'\\$%") & set(program)


def test_where_no_place_is_without_quotes_the_user_is_told():
    assert not any(path.endswith("/open") for path in PLANS["linux-odd-places"].files)
    (note,) = linux.notes(ODD, OZX, SPACES, has_sandbox=False)
    assert "xdg-open 1.1.3 does not" in note
    assert linux.notes(ODD, OZX, PLACES, has_sandbox=False) == []


def test_gnomes_sandbox_is_told_of_where_it_hides_ozx():
    (note,) = linux.notes(OZX, OZX, PLACES, has_sandbox=True)
    assert "ozx thumbnail FILE --cache" in note
    assert linux.notes(OZX, ("/usr/local/bin/ozx",), PLACES, has_sandbox=True) == []


def test_a_name_that_is_no_utf_8_stays_out_of_the_desktop_entry():
    viewer = (os.fsdecode(b"/home/me/\xff/napari"),)
    plan = Plan(linux.register, PLACES, viewer, OZX, CONVERTER, viewer[0])
    assert plan.written("ozx-toolkit/open").endswith(b"exec '/home/me/\xff/napari' \"$@\"\n")
    assert "TryExec=/home/me/.local/share/ozx-toolkit/open" in plan.written(".desktop").decode()


@pytest.mark.parametrize(
    ("plan", "own"),
    [
        ("linux", linux.desktop(PLACES)),
        ("linux-odd-viewer", linux.desktop(PLACES)),
        ("linux-odd-places", linux.desktop(SPACES)),
        ("macos", macos.desktop(MAC)),
        ("windows", windows.desktop(WIN, None)),
    ],
)
def test_remove_knows_everything_that_a_plan_makes(plan, own):
    plan = PLANS[plan]
    for path in plan.files:
        assert path in own.files or path.startswith(tuple(own.folders))
    assert set(plan.folders) <= set(own.folders)
    for value in plan.values:
        assert value in own.values or f"{value[0]}\\".startswith(tuple(f"{each}\\" for each in own.keys))


def test_places_are_those_of_the_specification():
    relative = {"XDG_DATA_HOME": "data", "XDG_DATA_DIRS": "relative:/a/b/:", "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"}
    places = linux.find_places(relative, "/home/me")
    assert places == linux.Places(
        "/home/me/.local/share", "/home/me/.config", ("/a/b",), ("/etc/xdg",), ("ubuntu", "gnome")
    )
    assert linux.find_places({"XDG_DATA_DIRS": ""}, "/root").data_dirs == ("/usr/local/share", "/usr/share")


def test_the_mac_type_is_imported_and_neither_zip_nor_image():
    entries = macos.info_entries()
    (declared,) = entries["UTImportedTypeDeclarations"]
    assert declared["UTTypeConformsTo"] == ["public.data"]
    assert "UTExportedTypeDeclarations" not in entries
    assert entries["CFBundleDocumentTypes"][0]["LSItemContentTypes"] == [declared["UTTypeIdentifier"]]
    plistlib.dumps({name: value for name, value in entries.items() if value is not None})


def shell_of(source, names):
    """Return what AppleScript gives to the shell in place of the line `do shell script`."""
    line = source.splitlines()[2].removeprefix("do shell script ")
    first, _, last = line.split(" & ", 1)[0], *line.split(" & ", 1)[1].split(" & ", 1)
    before, after = (json.loads(text) for text in (first, last))
    return before + names + after


@pytest.mark.posix("what a Mac gives to sh")
@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("sys.exit('no \"image\"')", 'no "image"'),
        ("print('opened'); print('a warning', file=sys.stderr)", None),
        ("sys.exit(4)", None),  # it has shown a window of its own
        (None, "not found"),
    ],
)
def test_what_an_applets_program_says_on_failure_is_shown_in_a_window(tmp_path, program, monkeypatch, code, shown):
    log = tmp_path / "shown"
    program(tmp_path / "osascript", f"#!{sys.executable}\nimport sys\nopen({str(log)!r}, 'w').write(sys.argv[-1])\n")
    viewer = tmp_path / "my viewer's"
    if code is not None:
        program(viewer, f"#!{sys.executable}\nimport sys\nassert sys.argv[1:] == ['-x', 'a b.ozx']\n{code}\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    line = shell_of(macos.applet_source((str(viewer), "-x")), "'a b.ozx'")
    assert line.endswith(" &")
    done = subprocess.run(["sh", "-c", line.removesuffix("&")], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert log.exists() == (shown is not None)
    assert shown is None or shown in log.read_text()


@pytest.mark.parametrize(
    "choices",
    [b"", b"<plist>", b"bplist00", plistlib.dumps([]), plistlib.dumps({}), plistlib.dumps({"LSHandlers": [{}]})],
)
def test_choices_on_a_mac_that_say_nothing(choices):
    assert chosen_application(choices) is None


@pytest.mark.skipif(shutil.which("sh") is None or sys.platform != "linux", reason="what Linux runs for thumbnails")
def test_the_thumbnailer_has_limits(tmp_path):
    limits = "[r.getrlimit(limit)[0] for limit in (r.RLIMIT_AS, r.RLIMIT_CPU)]"
    written = f"import resource as r, sys; open(sys.argv[1], 'w').write(str({limits}))"
    out = tmp_path / "thumbnail"
    subprocess.run(["sh", "-c", linux._DRAW, str(out), sys.executable, "-c", written], check=True)
    assert out.read_text() == f"[{4 << 30}, 30]"

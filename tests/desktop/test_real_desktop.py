"""Real desktop programs, on a screen nobody sees: what type a file has, what opens it, how it looks.

Each test has a home directory, a message bus and, where it needs one, a screen of its own. The viewer is a script that
writes down its arguments.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from hierarchies import FIXTURES, tree
from packed import pack_tree
from PIL import Image
from private_desktop import press, private_screen, private_session, reload, started, wait_for

import ozx as toolkit
from ozx.desktop.association import open_with
from ozx.desktop.association.associate import associate, association_status, dissociate

pytestmark = pytest.mark.desktop

PROGRAMS = [
    *("dbus-daemon", "desktop-file-validate", "gdbus", "gio", "mimetype", "pcmanfm"),
    *("thunar", "update-mime-database", "xdg-mime", "xdotool", "Xvfb"),
]
TYPE = "application/vnd.ome.zarr+zip"
MAGENTA = (255, 0, 200)
#: The blue of the icon.
ICON = (0x3A, 0x7B, 0xFF)
MANAGERS = [["pcmanfm", "--no-desktop"], ["thunar"]]
TUMBLER = "org.freedesktop.thumbnails.Thumbnailer1"
#: The bus starts tumbler, which is on no path.
SERVICE = Path("/usr/share/dbus-1/services/org.xfce.Tumbler.Thumbnailer1.service")

FILES_OF_OTHERS = {
    ".config/mimeapps.list": "[Default Applications]\napplication/zip=archiver.desktop;\n# mine\n",
    ".local/share/mime/packages/mine.xml": """<?xml version="1.0"?>
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="text/x-mine"><comment>Mine</comment><glob pattern="*.mine"/></mime-type>
</mime-info>
""",
}

KEY_FILES = [
    b"[Default Applications]\r\na/b=x.desktop\r\n",
    b"[Default Applications]\n a/b c = \xff\n  # comment\n  \n[Other] \nx[y]=3",
    b"[Default Applications]\nno value\n",
    b"[Default Applications]\n=no key\n",
    b"outside=1\n[Default Applications]\n",
    b"[Default Applications\n",
    b"\xef\xbb\xbf[Default Applications]\na/b=x.desktop\n",
    b"[A]\nx[y=3\n",
    b"[A\x01B]\n",
    b"[]\n",
    b"[A[B]\n",
]

OZX = """#!/bin/sh
here=$(dirname "$0")
for argument; do printf '%s\\n' "$argument"; done > "$here/.log.$$"
if [ "$1" = thumbnail ]; then
  for argument; do out=$argument; done
  case "$out" in *.png) ;; *) exit 2;; esac
  [ ! -e "$out" ] || exit 2
  cp "$here/thumbnail.png" "$out"
  mv "$here/.log.$$" "$here/thumbnail.log"
else
  mv "$here/.log.$$" "$here/view.log"
fi
"""


def centre_of(color, pixels, least):
    """Return the row and column around which a colour is; None where it has fewer than `least` pixels."""
    found = np.argwhere((pixels == color).all(axis=2))
    return found.mean(axis=0).astype(int).tolist() if len(found) >= least else None


@pytest.fixture(autouse=True)
def _programs():
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    missing += [] if SERVICE.exists() else ["tumbler"]
    if missing and os.environ.get("OZX_REQUIRE_JUDGES") == "1":
        pytest.fail(f"missing: {', '.join(missing)} (OZX_REQUIRE_JUDGES is 1)", pytrace=False)
    if missing:
        pytest.skip(f"missing: {', '.join(missing)}")


@pytest.fixture
def session(tmp_path):
    with private_session(tmp_path) as home:
        yield home


@pytest.fixture
def screen(session):
    with private_screen() as pixels:
        yield pixels


@pytest.fixture(params=["tools", "my tools"])
def ozx(request, tmp_path, monkeypatch):
    """A stand-in for ozx, in a folder without and with a space."""
    folder = tmp_path / request.param
    folder.mkdir()
    for name in ("ozx", "ozx-open", "ozx-convert"):
        (folder / name).write_text(OZX)
        (folder / name).chmod(0o755)
    Image.new("RGB", (128, 128), MAGENTA).save(folder / "thumbnail.png")
    monkeypatch.setattr(open_with, "find_program", lambda name: (str(folder / name),))
    return folder


@pytest.fixture
def cells(session):
    folder = session / "Ünder é #1 (100 %)"
    folder.mkdir()
    return pack_tree(FIXTURES / "image.ome.zarr", folder / "my cells #2 é.ozx")


def opened(ozx):
    """Return the arguments the viewer was started with."""
    return wait_for(lambda: (ozx / "view.log").exists() and (ozx / "view.log").read_text().splitlines())


def say(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def showing(manager, folder):
    return started(*manager, str(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def double_click(place):
    y, x = place
    press("mousemove", x, y, "click", "--repeat", 2, "--delay", 60, 1)


def type_by_gio(path):
    return say("gio", "info", "-a", "standard::content-type", str(path)).rpartition(" ")[2]


def test_the_type_is_known_by_name_and_by_content(session, ozx, cells, tmp_path, monkeypatch):
    assert type_by_gio(cells) == "application/zip"
    associate()
    assert type_by_gio(cells) == TYPE
    named_otherwise = shutil.copy(cells, tmp_path / "no suffix")
    assert type_by_gio(named_otherwise) == TYPE
    (tmp_path / "other.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    assert type_by_gio(tmp_path / "other.zip") == "application/zip"
    shutil.copy(tmp_path / "other.zip", tmp_path / "odd.ozx")
    assert type_by_gio(tmp_path / "odd.ozx") == TYPE
    assert say("xdg-mime", "query", "filetype", str(cells)) == TYPE
    monkeypatch.setenv("XDG_CURRENT_DESKTOP", "GNOME")
    assert say("xdg-mime", "query", "filetype", str(cells)) == TYPE
    dissociate()
    assert type_by_gio(cells) == "application/zip"


def test_the_default_is_known(session, ozx, cells):
    assert say("xdg-mime", "query", "default", TYPE) == ""
    assert association_status().opens_with is None
    assert associate().notes == ()
    assert say("xdg-mime", "query", "default", TYPE) == "ozx-toolkit.desktop"
    assert "ozx-toolkit.desktop" in say("gio", "mime", TYPE).splitlines()[0]
    assert association_status().opens_with.is_ours
    dissociate()
    assert say("xdg-mime", "query", "default", TYPE) == ""


@pytest.mark.parametrize("text", KEY_FILES)
def test_the_default_counts_where_glib_reads_the_rest_of_the_file(session, text):
    lists = session / ".config/mimeapps.list"
    lists.parent.mkdir()
    lists.write_bytes(text)
    associate()
    is_read = say("gio", "mime", TYPE).startswith("Default")
    status = association_status()
    assert (status.opens_with is not None) == is_read
    assert any("is faulty" in note for note in status.notes) != is_read
    dissociate()
    assert association_status().opens_with is None


def test_what_gio_chooses_for_the_user_is_seen(session, ozx):
    associate()
    applications = session / ".local/share/applications"
    (applications / "other.desktop").write_text("[Desktop Entry]\nType=Application\nName=O\nExec=true %f\n")
    say("gio", "mime", TYPE, "other.desktop")
    assert association_status().opens_with.identifier == "other.desktop"
    associate()
    assert association_status().opens_with.is_ours


@pytest.mark.parametrize("entry", ["applications/ozx-toolkit.desktop", "Thunar/sendto/ozx-toolkit-convert.desktop"])
def test_the_entries_are_valid(session, ozx, entry):
    associate()
    assert say("desktop-file-validate", str(session / ".local/share" / entry)) == ""


def test_remove_leaves_the_files_of_others(session, ozx):
    for path, text in FILES_OF_OTHERS.items():
        (session / path).parent.mkdir(parents=True, exist_ok=True)
        (session / path).write_text(text)
    say("update-mime-database", str(session / ".local/share/mime"))
    before = tree(session)
    associate()
    assert len(tree(session)) > len(before) + 8
    dissociate()
    after = tree(session)
    kept, expected = (found.pop(".config/mimeapps.list").decode().splitlines() for found in (after, before))
    assert after == before
    assert [line for line in kept if TYPE not in line] == expected


@pytest.mark.parametrize("opener", [["gio", "open"], ["xdg-open"]])
def test_opening_runs_the_viewer_with_the_file(session, screen, ozx, cells, opener):
    associate()
    subprocess.run([*opener, str(cells)], check=True, timeout=60, stderr=subprocess.DEVNULL)
    assert opened(ozx) == [str(cells)]


@pytest.mark.parametrize("manager", MANAGERS)
def test_a_double_click_opens_and_the_thumbnail_shows(session, ozx, cells, screen, manager):
    associate()
    with showing(manager, cells.parent):
        double_click(wait_for(lambda: centre_of(MAGENTA, screen(), 500), nudge=reload))
        assert opened(ozx) == [str(cells)]
    words = (ozx / "thumbnail.log").read_text().splitlines()
    assert words[:2] == ["thumbnail", "--size"]
    assert words[3] == str(cells)


@pytest.mark.parametrize("manager", MANAGERS)
def test_without_a_thumbnail_the_icon_shows(session, ozx, cells, screen, manager):
    (ozx / "thumbnail.png").unlink()
    associate()
    with showing(manager, cells.parent):
        double_click(wait_for(lambda: centre_of(ICON, screen(), 20)))
        assert opened(ozx) == [str(cells)]


def test_tumbler_keeps_what_ozx_thumbnail_draws(session, cells, tmp_path):
    associate()
    in_large = toolkit.thumbnail(cells, cache=True).path
    uri = Image.open(in_large).text["Thumb::URI"]
    say(
        *("gdbus", "call", "--session", "--dest", TUMBLER, "--object-path", f"/{TUMBLER.replace('.', '/')}"),
        *("--method", f"{TUMBLER}.Queue", f"['{uri}']", f"['{TYPE}']", "normal", "default", "0"),
    )
    in_normal = session / ".cache/thumbnails/normal" / os.path.basename(in_large)
    wait_for(in_normal.exists)
    drawn = tmp_path / "drawn.png"
    toolkit.thumbnail(cells, drawn, size=128)
    with Image.open(in_normal) as kept, Image.open(drawn) as expected:
        assert kept.text["Thumb::URI"] == uri
        np.testing.assert_array_equal(np.asarray(kept.convert("RGB")), np.asarray(expected.convert("RGB")))


def test_a_thumbnailer_needs_no_home_and_no_path(session, ozx, cells, tmp_path):
    associate()
    text = (session / ".local/share/thumbnailers/ozx-toolkit.thumbnailer").read_text()
    command = next(line for line in text.splitlines() if line.startswith("Exec=")).removeprefix("Exec=")
    out = tmp_path / ".gnome_desktop_thumbnail.A1B2C3"
    out.touch()
    for code, value in (("%s", "256"), ("%i", f"'{cells}'"), ("%o", str(out))):
        command = command.replace(code, value)
    subprocess.run(["sh", "-c", command], check=True, env={"PATH": "/usr/bin:/bin"}, cwd="/")
    assert out.read_bytes() == (ozx / "thumbnail.png").read_bytes()


@pytest.fixture
def stack(session):
    """A TIFF file in a folder with an odd name."""
    folder = session / "Ünder é #1 (100 %)"
    folder.mkdir(exist_ok=True)
    pixels = np.random.default_rng(1).integers(0, 4000, (2, 300, 400), dtype="uint16")
    tifffile.imwrite(folder / "my stack #2 é.ome.tif", pixels, metadata={"axes": "CYX"})
    return folder / "my stack #2 é.ome.tif"


@pytest.fixture
def converter(tmp_path, monkeypatch):
    """The real converter, as it is without its script, on a desktop whose screen stays empty."""
    monkeypatch.setattr(open_with, "find_program", lambda _: None)
    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    return tmp_path


def converted(source):
    return source.with_name(source.name.partition(".")[0] + ".ozx")


def test_the_exec_line_converts(session, converter, stack):
    associate()
    entry = session / ".local/share/Thunar/sendto/ozx-toolkit-convert.desktop"
    say("gio", "launch", str(entry), str(stack))
    wait_for(converted(stack).exists, 60)
    assert (toolkit.open(converted(stack))["0"][:] == tifffile.imread(stack)).all()


def test_a_cancel_in_the_window_leaves_nothing(session, converter, stack, program, monkeypatch):
    program(converter / "bin/zenity", '#!/bin/sh\nread line; echo "$line" > "$0.log"; exit 1\n')
    monkeypatch.setenv("PATH", f"{converter / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":9")  # only the stand-in of zenity would need it
    before = sorted(stack.parent.iterdir())
    command = [*open_with.find_converter(), str(stack)]
    assert subprocess.run(command, timeout=60, check=False).returncode == 130
    assert (converter / "bin/zenity.log").read_text() == f"# {stack.name}\n"
    assert sorted(stack.parent.iterdir()) == before


@pytest.mark.parametrize("menu", [".local/share/nautilus/scripts", ".config/caja/scripts"])
def test_the_scripts_of_file_managers_convert_folders(session, converter, cells, menu):
    associate()
    folder = shutil.copytree(FIXTURES / "image.ome.zarr", cells.parent / "a b.ome.zarr")
    script = session / menu / "Convert to .ozx"
    subprocess.run([str(script), folder.name], check=True, timeout=60, cwd=folder.parent)
    assert toolkit.is_ozx(converted(folder))


def test_a_right_click_in_thunar_converts_what_is_selected(session, ozx, stack, screen):
    associate()

    def convert():
        press("key", "--delay", 300, "ctrl+a", "shift+F10", "s", "Down", "Return")  # below "Desktop" in "Send To"

    with showing(["thunar"], stack.parent):
        press("mousemove", 400, 300)
        assert wait_for(lambda: (ozx / "view.log").exists() and (ozx / "view.log").read_text(), 30, convert)
    assert (ozx / "view.log").read_text().splitlines() == [str(stack)]

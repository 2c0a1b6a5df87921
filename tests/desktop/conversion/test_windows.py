"""The choice of the window of a conversion; the window of zenity, played by a script that writes down what it reads."""

import sys
from contextlib import closing

import pytest
from private_desktop import wait_for

from ozx.desktop.conversion import convert
from ozx.desktop.conversion.convert import ProgressWindow, _PageWindow, _ZenityWindow, open_progress_window

pytestmark = pytest.mark.posix("programs here are shell scripts")


@pytest.fixture(autouse=True)
def _bare(monkeypatch, tmp_path):
    """No programs of a desktop, on a screen."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")


def test_zenity_is_first(tmp_path, program):
    program(tmp_path / "bin/zenity", "#!/bin/sh\nexit 0\n")
    with open_progress_window() as window:
        assert isinstance(window, _ZenityWindow)


def test_a_browser_is_next(monkeypatch):
    opened = []
    monkeypatch.setattr(convert, "open_window", lambda url: opened.append(url) or True)
    with open_progress_window() as window:
        assert isinstance(window, _PageWindow)
    assert opened[0].startswith("http://127.0.0.1:")


def test_without_a_screen_there_is_no_window(monkeypatch, tmp_path, program):
    program(tmp_path / "bin/zenity", "#!/bin/sh\nexit 1\n")
    monkeypatch.delenv("DISPLAY")
    with open_progress_window() as window:
        assert type(window) is ProgressWindow
        window.show("a", 0.5)
        assert not window.is_cancelled
        assert not window.ask("Replace it?", "Replace")


def test_without_a_window_errors_are_shown_as_messages(monkeypatch):
    said = []
    monkeypatch.setattr(convert, "show_message", said.append)
    ProgressWindow().finish("complete", is_error=False)
    ProgressWindow().finish("wrong", is_error=True)
    assert said == ["wrong"]


@pytest.fixture
def zenity(tmp_path, monkeypatch, program):
    """A function that installs a script as zenity, and returns the path of its notes without their ending."""

    def install(text):
        program(tmp_path / "bin/zenity", f"#!/bin/sh\n{text}\n")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        return tmp_path / "bin/zenity"

    return install


# Two windows may be open at once, so each kind has notes of its own.
READS = 'if [ "$1" = --progress ]; then cat > "$0.lines"; else printf "%s\\n" "$@" > "$0.arguments"; fi'


def test_texts_and_percentages_are_lines(zenity):
    notes = zenity(READS)
    with closing(_ZenityWindow()) as window:
        window.show("a\\b.tif\nbelow", None)
        window.show("cells.tif (1 of 2)", 0.256)
        window.show("cells.tif (1 of 2)", 1.0)
        assert not window.is_cancelled
        window._process.stdin.close()
        window._process.wait()
    assert notes.with_suffix(".lines").read_text().splitlines() == [
        *("# a\\\\b.tif\\nbelow", "25", "# cells.tif (1 of 2)", "99", "# cells.tif (1 of 2)")
    ]


def test_the_button_cancels(zenity):
    zenity("read line; exit 1")
    with closing(_ZenityWindow()) as window:
        window.show("cells.tif", None)
        wait_for(lambda: window.is_cancelled)
        window.show("cells.tif", 0.5)  # the window is gone


def test_a_window_that_breaks_cancels_nothing(zenity):
    zenity("exit 255")
    with closing(_ZenityWindow()) as window:
        window._process.wait()
        assert not window.is_cancelled
        window.finish("cells.ozx is complete.", is_error=False)


def test_the_result_stays_until_the_user_closes_it(zenity):
    notes = zenity('while read line; do echo "$line" >> "$0.lines"; [ "$line" = "# complete" ] && exit 0; done')
    with closing(_ZenityWindow()) as window:
        window.finish("complete", is_error=False)
    assert notes.with_suffix(".lines").read_text().splitlines() == ["100", "# complete"]


def test_an_error_gets_a_window_of_its_own(zenity, capsys):
    notes = zenity(READS)
    with closing(_ZenityWindow()) as window:
        window.finish("text.tif is no image", is_error=True)
    assert "--error" in notes.with_suffix(".arguments").read_text().splitlines()
    assert "--text=text.tif is no image" in notes.with_suffix(".arguments").read_text().splitlines()


@pytest.mark.parametrize(("code", "expected"), [(0, True), (1, False)])
def test_a_question_has_a_window_of_its_own(zenity, code, expected):
    notes = zenity(f"{READS}; exit {code}")
    with closing(_ZenityWindow()) as window:
        assert window.ask("Replace it?", "Replace") is expected
        assert "--ok-label=Replace" in notes.with_suffix(".arguments").read_text()

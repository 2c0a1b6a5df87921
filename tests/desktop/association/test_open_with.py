"""The program behind a double-click: it runs ``ozx view`` and shows what goes wrong."""

import sys

import pytest

from ozx.desktop.association import open_with


@pytest.fixture
def python(tmp_path, monkeypatch, program):
    """In place of Python, a script that writes down what it is given."""
    monkeypatch.setattr(
        sys, "executable", str(program(tmp_path / "python", '#!/bin/sh\nprintf "%s\\n" "$@" >> "$0.log"\nexit 0\n'))
    )
    return tmp_path / "python"


def test_each_file_is_opened(python, monkeypatch):
    names = ["/a b/#é.ozx", "-v.ozx"]
    monkeypatch.setattr(sys, "argv", ["ozx-open", *names])
    with pytest.raises(SystemExit) as caught:
        open_with.main()
    assert caught.value.code == 0
    log = python.with_name("python.log").read_text("utf-8").splitlines()
    assert log == ["-m", "ozx", "view", "--", names[0], "-m", "ozx", "view", "--", names[1]]


@pytest.fixture(autouse=True)
def _bare(monkeypatch, tmp_path):
    """No programs of a desktop."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.mark.parametrize("name", ["zenity", "kdialog", "xmessage", "notify-send"])
def test_on_linux_an_error_is_shown_in_a_window(python, tmp_path, program, name):
    program(python, "#!/bin/sh\necho 'error: a<b>.ozx: it is a TIFF image' >&2\nexit 1\n")
    program(tmp_path / "bin" / name, '#!/bin/sh\nprintf "%s\\n" "$@" > "$0.log"\n')
    if name == "zenity":  # the first that is there
        program(tmp_path / "bin" / "xmessage", '#!/bin/sh\nprintf "%s\\n" "$@" > "$0.log"\n')
    assert open_with.open_file("x.ozx") == 1
    (log,) = (tmp_path / "bin").glob("*.log")
    assert log.stem == name
    shown = "a&lt;b&gt;.ozx" if name in ("kdialog", "notify-send") else "a<b>.ozx"
    assert f"{shown}: it is a TIFF image" in log.read_text()


def test_an_error_is_shown(python, capsys, program):
    program(python, "#!/bin/sh\necho 'error: é is no archive' >&2\nexit 1\n")
    assert open_with.open_file("x.ozx") == 1
    assert capsys.readouterr().err == "error: é is no archive\n"
    program(python, "#!/bin/sh\nexit 4\n")
    assert open_with.open_file("x.ozx") == 4
    assert capsys.readouterr().err == "ozx view ended with exit code 4\n"


def test_on_a_mac_it_is_shown_in_a_window(python, monkeypatch, tmp_path, program):
    program(python, "#!/bin/sh\necho 'no \"x\"' >&2\nexit 1\n")
    program(tmp_path / "bin" / "osascript", '#!/bin/sh\nprintf "%s\\n" "$@" > "$0.log"\n')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert open_with.open_file("x.ozx") == 1
    shown = (tmp_path / "bin" / "osascript.log").read_text().splitlines()
    assert shown == ["-e", 'display alert "ozx" message "no \\"x\\"" as critical']

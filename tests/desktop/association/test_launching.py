"""Commands as they are found and split."""

import sys
import sysconfig

import pytest

from ozx.desktop.association.open_with import find_background_viewer, find_ozx, find_program, parse_viewer
from ozx.errors import UsageError

pytestmark = pytest.mark.posix("programs here are shell scripts")


@pytest.fixture
def python(tmp_path, monkeypatch, program):
    """A Python whose scripts stand beside it, in a folder with spaces."""
    python = program(tmp_path / "my venv" / "bin" / "python")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path / "elsewhere"))
    return python


def test_the_script_beside_python_is_found_first(python, tmp_path, program):
    assert find_program("ozx") is None
    assert find_ozx() == (str(python), "-m", "ozx")
    assert find_background_viewer() == (str(python), "-m", "ozx.desktop.association.open_with")
    elsewhere = program(tmp_path / "elsewhere" / "ozx")
    assert find_ozx() == (str(elsewhere),)
    beside = program(python.parent / "ozx")
    assert find_ozx() == (str(beside),)
    opener = program(python.parent / "ozx-open")
    assert find_background_viewer() == (str(opener),)


def test_a_viewer_is_split_as_a_shell_does(tmp_path, monkeypatch, program):
    viewer = program(tmp_path / "my tools" / "napari")
    assert parse_viewer(f"'{viewer}' -v 'two words'") == (str(viewer), "-v", "two words")
    monkeypatch.setenv("PATH", str(viewer.parent))
    assert parse_viewer("napari") == (str(viewer),)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_viewer("'~/my tools/napari'") == (str(viewer),)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "got none"),
        ("  ", "got none"),
        ("napari 'open", "No closing quotation"),
        ("no-such-program-anywhere %f", "found no 'no-such-program-anywhere'"),
        ("/etc", "found no '/etc'"),
        ("sh -c 'a\nb'", "expected a command on one line"),
    ],
)
def test_a_viewer_that_cannot_be_meant(command, message):
    with pytest.raises(UsageError, match=message):
        parse_viewer(command)

"""Questions in windows; messages are in association/test_open_with.py."""

import pytest

from ozx.desktop.dialogs import ask


@pytest.fixture(autouse=True)
def _bare(monkeypatch, tmp_path):
    """No programs of a desktop."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.mark.parametrize("name", ["zenity", "kdialog", "xmessage"])
@pytest.mark.parametrize(("code", "expected"), [(0, True), (1, False), (255, False)])
def test_the_exit_code_is_the_answer(tmp_path, program, name, code, expected):
    program(tmp_path / "bin" / name, f'#!/bin/sh\nprintf "%s\\n" "$@" > "$0.log"\nexit {code}\n')
    assert ask("a<b>.ozx exists. Replace it?", "Replace") is expected
    log = (tmp_path / "bin" / f"{name}.log").read_text()
    assert "Replace" in log
    assert ("a&lt;b&gt;.ozx" if name == "kdialog" else "a<b>.ozx") in log


def test_without_a_program_the_answer_is_no():
    assert ask("Replace it?", "Replace") is False

"""Folders of the user, by the variables of the XDG base directories."""

import os

import pytest

from ozx.archive.remote.user_folders import user_folder


@pytest.mark.posix("Windows has one place for all kinds")
def test_a_variable_wins(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_folder("XDG_CACHE_HOME", "~/.cache", "~/Library/Caches") == str(tmp_path / "ozx")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert user_folder("XDG_CACHE_HOME", "~/.cache", "~/Library/Caches") == os.path.expanduser("~/.cache/ozx")
    monkeypatch.setattr("sys.platform", "darwin")
    assert user_folder("XDG_CACHE_HOME", "~/.cache", "~/Library/Caches").endswith("Library/Caches/ozx")

"""Files as on Windows: an open file can neither be renamed, replaced nor removed, and there are no locks."""

import os

import pytest

from ozx.atomic import locks, renaming

_FOLDER = "/proc/self/fd"


def _open_paths():
    """Yield the paths of all files and folders that this process has open."""
    for descriptor in os.listdir(_FOLDER):
        try:
            yield os.readlink(f"{_FOLDER}/{descriptor}")
        except OSError:  # the descriptor of the listing itself
            continue


def _check_closed(path):
    real = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
    for opened in _open_paths():
        if opened == real or opened.startswith(f"{real}/"):
            raise PermissionError(13, "the process cannot access the file because it is being used", os.fspath(path))


@pytest.fixture
def closed_files_only(monkeypatch):
    """Let renaming and removing fail for open files, and for folders with open files."""
    if not os.path.isdir(_FOLDER):
        pytest.skip("this system does not list open files")
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(renaming, "renameat2", lambda *_: False)

    def guard(name):
        original = getattr(os, name)

        def guarded(*paths, **options):
            if not options:  # relative to an open folder: not on Windows
                for path in paths:
                    _check_closed(path)
            return original(*paths, **options)

        monkeypatch.setattr(os, name, guarded)

    for name in ("rename", "replace", "unlink", "remove"):
        guard(name)

"""Files as on Windows: an open file can neither be renamed, replaced nor removed, and there are no locks."""

import contextlib
import os

import pytest

from ozx.atomic import locks, renaming

_FOLDER = "/proc/self/fd"


def _check_closed(path):
    """Raise an error if this process has a file open, or any in a folder."""
    real = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.basename(path))
    for descriptor in os.listdir(_FOLDER):
        with contextlib.suppress(FileNotFoundError):  # the descriptor of the listing itself
            opened = os.readlink(f"{_FOLDER}/{descriptor}")
            if opened == real or opened.startswith(f"{real}/"):
                raise PermissionError(13, "the process cannot access the file because it is being used", str(path))


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

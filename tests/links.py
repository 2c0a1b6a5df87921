"""The one place where tests make symbolic links: a test is skipped where the system or its user makes none."""

import os
from pathlib import Path

import pytest


def make_link(path, target):
    """Make `path` a symbolic link to `target`, or skip the test."""
    path = Path(path)
    try:
        path.symlink_to(target, target_is_directory=os.path.isdir(path.parent / target))
    except OSError as error:
        pytest.skip(f"this user may not make links: {error}")
    if not path.is_symlink():  # Wine reports success and makes none
        pytest.skip("this system makes no links")

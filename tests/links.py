"""The one place where tests make symbolic links: a test is skipped where the system or its user makes none."""

import os
from pathlib import Path

import pytest

MAKES_NONE = "this system or user makes no links"


def make_link(path, target):
    """Make `path` a symbolic link to `target`, or skip the test."""
    path = Path(path)
    try:
        path.symlink_to(target, target_is_directory=os.path.isdir(path.parent / target))
    except OSError as error:
        pytest.skip(f"{MAKES_NONE}: {error}")
    if not path.is_symlink():  # Wine reports success
        pytest.skip(MAKES_NONE)

"""Links and special files for tests: a test is skipped where the system or its user makes none."""

import os
import socket
import stat
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


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def make_device(path):
    """Make `path` a device as /dev/null is, or skip the test."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except (PermissionError, AttributeError):
        pytest.skip("no devices can be made")

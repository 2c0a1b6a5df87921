"""Atomic writing of files and directories, for tests."""

import os
from pathlib import Path

from ozx.atomic.new_directory import replacing_directory
from ozx.atomic.new_file import replacing_file


def write(path, data, **options):
    with replacing_file(str(path), **options) as new:
        os.write(new.descriptor, data)
        assert not os.path.exists(path) or path.read_bytes() != data
    return new


def fill(path, **options):
    with replacing_directory(str(path), **options) as new:
        Path(new.path, "new").write_text("new", encoding="ascii")
    return new


def names(folder):
    return sorted(os.listdir(folder))

"""A home directory that no desktop uses, for what `ozx associate` and `ozx thumbnail --cache` write."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from ozx.atomic.host import this_host
from ozx.desktop.association import open_with
from ozx.desktop.association.associate import associate, dissociate


@contextlib.contextmanager
def environment(home: Path) -> Iterator[None]:
    """Make `home` the home directory of the user, on Linux, with all programs that ozx needs there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    with (
        mock.patch.dict(os.environ, kept | {"HOME": str(home), "XDG_DATA_DIRS": f"{home}/nothing"}, clear=True),
        mock.patch.object(sys, "platform", "linux"),
        mock.patch.object(open_with, "find_program", lambda name: (f"/usr/bin/{name}",)),
        mock.patch.object(shutil, "which", lambda name: f"/usr/bin/{name}"),
        mock.patch.object(subprocess, "run", _run),
    ):
        yield


def _run(arguments: tuple[str, ...], **options: object) -> subprocess.CompletedProcess[str]:
    """Replace the program of shared-mime-info: make one file from all packages, in one step."""
    del options
    program, folder = arguments[0], arguments[-1]
    if program in ("touch", "xdg-mime"):
        return subprocess.CompletedProcess(arguments, 0, "", "")
    assert program == "update-mime-database"
    # Not `glob`, which treats a folder that cannot be listed as empty in Python 3.12.
    names = sorted(name for name in os.listdir(f"{folder}/packages") if name.endswith(".xml"))
    packages = [Path(folder, "packages", name) for name in names]
    new = Path(os.path.dirname(folder), f".mime.cache.{os.getpid()}.{this_host()}.ozx-tmp")  # removed later, if killed
    try:
        new.write_bytes(b"".join(path.read_bytes() for path in packages))
        os.replace(new, f"{folder}/mime.cache")
    except OSError as error:
        new.unlink(missing_ok=True)
        return subprocess.CompletedProcess(arguments, 1, "", str(error))
    return subprocess.CompletedProcess(arguments, 0, "", "")


def make_home(home: Path, *, old: bool) -> None:
    home.mkdir()
    files = {
        ".config/mimeapps.list": "[Default Applications]\ntext/plain=vim.desktop\n",
        ".local/share/mime/packages/other.xml": "<other/>\n",
        ".local/share/mime/mime.cache": "<other/>\n",
    }
    for name, text in files.items() if old else ():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def make_associated_home(home: Path, *, old: bool) -> None:
    make_home(home, old=old)
    with mock.patch.object(os, "fsync", return_value=None):
        associate_in(home)


def associate_in(home: Path) -> None:
    with environment(home):
        assert associate().written


def dissociate_in(home: Path) -> None:
    with environment(home):
        assert dissociate().written

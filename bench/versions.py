"""The machine of a measurement, and the versions of the measured programs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from measuring import HERE

#: Programs that are not Python packages, with the command that prints their version.
PROGRAMS = {
    "cp": ["cp", "--version"],
    "unzip": ["unzip", "-v"],
    "zip": ["zip", "-v"],
    "7z": ["7z"],
    "chromium": ["chromium", "--version"],
}
_NUMBER = re.compile(r"\d+(\.\d+)+")


def measured_on(peers: Iterable[str]) -> dict[str, Any]:
    """Return the machine, the version and commit of ozx, and the versions of the installed peers."""
    import ozx

    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown CPU")
    return {
        "cores": os.cpu_count(),
        "cpu": cpu,
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "ozx": ozx.__version__,
        "commit": commit(),
        "peers": {name: found for name in peers if (found := version_of(name)) is not None},
    }


def commit() -> str:
    """Return the commit of this working tree."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE).stdout.strip() or "no commit"


def in_words(measured: dict[str, Any]) -> str:
    """Return the result of `measured_on` as one line."""
    peers = "".join(f", {name} {found}" for name, found in measured["peers"].items())
    return f"{machine_in_words(measured)}, ozx {measured['ozx']} at {measured['commit']}{peers}"


def machine_in_words(measured: dict[str, Any]) -> str:
    """Return the machine, the system and the version of Python as text."""
    machine = f"{measured['cores']} cores ({measured['cpu']}, {measured['memory'] / (1 << 30):.0f} GiB)"
    return f"{machine}, {measured['system']}, Python {measured['python']}"


def version_of(name: str) -> str | None:
    """Return the version of a program or a package, or None if it is not installed."""
    if name in PROGRAMS:
        if shutil.which(name) is None:
            return None
        said = subprocess.run(PROGRAMS[name], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        found = _NUMBER.search(said)
        return found.group() if found else "of unknown version"
    try:
        return version(name)
    except PackageNotFoundError:
        return _version_elsewhere(name)


def find_program(name: str) -> str | None:
    """Return the path of a program in the folder of this Python or on the search path, or None."""
    return shutil.which(name, path=os.path.dirname(sys.executable)) or shutil.which(name)


def _version_elsewhere(name: str) -> str | None:
    """Return the version of a package in the environment of its program, or None; the program must be a script."""
    program = find_program(_PROGRAM_OF.get(name, name))
    if program is None:
        return None
    with open(program, "rb") as file:
        first = file.readline().decode(errors="replace")
    if not first.startswith("#!"):
        return None
    ask = f"import importlib.metadata; print(importlib.metadata.version({name!r}))"
    said = subprocess.run([first[2:].strip(), "-c", ask], capture_output=True, text=True)
    return said.stdout.strip() or None


_PROGRAM_OF = {"bioio-conversion": "bioio-convert"}

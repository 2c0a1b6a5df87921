"""The program behind a double-click, ``ozx view`` with errors shown in a window, and the command lines that start it.

``ozx-open FILE…``, installed as a program without a console, or ``python -m ozx.desktop.association.open_with FILE…``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from typing import NoReturn

from ozx.desktop.dialogs import show_message
from ozx.errors import UsageError

# This program has no console. Without this flag, Windows would open one for the viewer.
_NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)


def main() -> NoReturn:
    """Open the files given as arguments; exit with the exit code of the first failure."""
    sys.exit(next(filter(None, [open_file(path) for path in sys.argv[1:]]), 0))


def open_file(path: str) -> int:
    """Run ``ozx view`` until it ends and return its exit code; show its error message if it fails."""
    done = subprocess.run(  # noqa: S603 (ourselves)
        [sys.executable, "-m", "ozx", "view", "--", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        creationflags=_NO_WINDOW,
        check=False,
    )
    if done.returncode:
        show_message(done.stderr.strip() or f"ozx view ended with exit code {done.returncode}")
    return done.returncode


# Desktop Entry Specification 1.5, "The Exec key": other characters are reserved, or some readers treat them so.
_PLAIN = frozenset("_@+=:,./-")


def find_ozx() -> tuple[str, ...]:
    """Return the command that runs this ozx: its script, else Python with ``-m ozx``."""
    return find_program("ozx") or (_python(), "-m", "ozx")


def find_background_viewer() -> tuple[str, ...]:
    """Return the command that shows files and errors without a console: ``ozx-open``, or ``python -m``."""
    return find_program("ozx-open") or _without_console("ozx.desktop.association.open_with")


def find_converter() -> tuple[str, ...]:
    """Return the command that converts files and shows the progress in a window: ``ozx-convert``, or ``python -m``."""
    return find_program("ozx-convert") or _without_console("ozx.desktop.conversion.convert")


def find_program(name: str) -> tuple[str, ...] | None:
    """Return the command that starts a script installed with this ozx: its absolute path; None if it is missing."""
    folders = [os.path.dirname(_python()), sysconfig.get_path("scripts")]
    user = sysconfig.get_preferred_scheme("user")
    if user in sysconfig.get_scheme_names():
        folders.append(sysconfig.get_path("scripts", user))
    for folder in folders:
        path = shutil.which(name, path=folder)
        if path is not None:
            return (os.path.abspath(path),)
    return None


def parse_viewer(command: str) -> tuple[str, ...]:
    """Split a viewer's command line into words; replace the program by its absolute path."""
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise UsageError(f"expected a command line; got {command!r}: {error}", hint="Close the quotes.") from None
    words = [word.strip('"') for word in words] if os.name == "nt" else words
    if not words:
        raise UsageError("expected a command that opens .ozx files; got none", hint="For example: --viewer napari.")
    if any(character in word for word in words for character in "\n\r\0"):
        raise UsageError(f"expected a command on one line; got {command!r}")
    program = shutil.which(os.path.expanduser(words[0]))
    if program is None:
        raise UsageError(
            f"expected an installed program; found no {words[0]!r}", hint="Give its full path, or install it first."
        )
    return (os.path.abspath(program), *words[1:])


def needs_no_quotes(command: tuple[str, ...]) -> bool:
    """Return whether a command needs no quotes in a desktop entry; xdg-open 1.1.3 does not support quotes."""
    return all(word and all(letter.isalnum() or letter in _PLAIN for letter in word) for word in command)


def quoted(command: tuple[str, ...]) -> str:
    """Return a command, quoted for an ``Exec`` key."""
    return " ".join(word if needs_no_quotes((word,)) else _quote(word) for word in command)


def _quote(word: str) -> str:
    # Within quotes ", `, $ and \ are escaped; then the general rule for strings doubles each backslash.
    escaped = "".join(f"\\{letter}" if letter in '"`$\\' else letter for letter in word)
    return f'"{escaped}"'.replace("\\", "\\\\").replace("%", "%%")


def _without_console(module: str) -> tuple[str, ...]:
    windowless = shutil.which("pythonw", path=os.path.dirname(_python())) if os.name == "nt" else None
    return (windowless or _python(), "-m", module)


def _python() -> str:
    return os.path.abspath(sys.executable)


if __name__ == "__main__":
    main()

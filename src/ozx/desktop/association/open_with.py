"""The program behind a double-click: ``ozx view``, with errors shown in a window.

``ozx-open FILE…``, installed as a program without a console, or ``python -m ozx.desktop.association.open_with FILE…``.
"""

from __future__ import annotations

import subprocess
import sys
from typing import NoReturn

from ozx.desktop.dialogs import show_message

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


if __name__ == "__main__":
    main()

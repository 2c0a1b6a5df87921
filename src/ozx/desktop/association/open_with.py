"""The program behind a double-click: ``ozx view``, with errors shown in a window.

``ozx-open FILE…``, installed as a program without a console, or ``python -m ozx.desktop.association.open_with FILE…``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import NoReturn

__all__ = ["main", "message_command", "open_file", "window_commands"]

# Without a console of its own, the viewer must not flash one up.
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
        _show(done.stderr.strip() or f"ozx view ended with exit code {done.returncode}")
    return done.returncode


def message_command(text: str) -> list[str]:
    r"""Return the command that shows a message window on macOS.

    Examples
    --------
    >>> message_command('no "image"')[-1]
    'display alert "ozx" message "no \\"image\\"" as critical'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return ["osascript", "-e", f'display alert "ozx" message "{escaped}" as critical']


def window_commands(text: str) -> list[list[str]]:
    """Return the commands that show a message in a window on Linux; the first that is installed is run.

    Examples
    --------
    >>> [command[0] for command in window_commands("no image")]
    ['zenity', 'kdialog', 'xmessage', 'notify-send']
    """
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return [
        ["zenity", "--error", "--title=ozx", "--no-markup", "--width=480", f"--text={text}"],
        ["kdialog", "--title", "ozx", "--error", escaped],
        ["xmessage", "-center", "-buttons", "OK", text],
        ["notify-send", "--app-name=ozx", "--urgency=critical", "ozx", escaped],
    ]


def _show(text: str) -> None:
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 (its windll is there on Windows only)

        error_icon = 0x10
        ctypes.windll.user32.MessageBoxW(None, text, "ozx", error_icon)
    elif sys.platform == "darwin":
        subprocess.run(message_command(text), check=False)  # noqa: S603 (a program of macOS)
    else:
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
        for command in window_commands(text):
            if shutil.which(command[0]) is not None:
                subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # noqa: S603
                return


if __name__ == "__main__":
    main()

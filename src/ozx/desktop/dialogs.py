"""Messages and questions in windows, shown by programs that the desktop has."""

from __future__ import annotations

import shutil
import subprocess
import sys


def show_message(text: str) -> None:
    """Show an error message in a window until it is closed; on Linux also on stderr, which is the desktop's log."""
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 (its windll is there on Windows only)

        error_icon = 0x10
        ctypes.windll.user32.MessageBoxW(None, text, "ozx", error_icon)
    elif sys.platform == "darwin":
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        script = f'display alert "ozx" message "{escaped}" as critical'
        subprocess.run(["osascript", "-e", script], check=False)  # noqa: S603, S607 (a program of macOS)
    else:
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
        _run_first(
            ["zenity", "--error", "--title=ozx", "--no-markup", "--width=480", f"--text={text}"],
            ["kdialog", "--title", "ozx", "--error", _escaped(text)],
            ["xmessage", "-center", "-buttons", "OK", text],
            ["notify-send", "--app-name=ozx", "--urgency=critical", "ozx", _escaped(text)],
        )


def ask(question: str, yes: str) -> bool:
    """Ask a question in a window on Linux; return True only if a window can be shown and the user presses `yes`."""
    return _run_first(
        [
            *("zenity", "--question", "--title=ozx", "--no-markup", "--width=480", "--default-cancel"),
            *(f"--ok-label={yes}", "--cancel-label=Cancel", f"--text={question}"),
        ],
        ["kdialog", "--title", "ozx", "--yes-label", yes, "--no-label", "Cancel", "--yesno", _escaped(question)],
        ["xmessage", "-center", "-buttons", f"{yes}:0,Cancel:1", "-default", "Cancel", question],
    )


def _run_first(*commands: list[str]) -> bool:
    """Run the first of these commands that is installed; return whether it ended with 0."""
    for command in commands:
        if shutil.which(command[0]) is not None:
            done = subprocess.run(  # noqa: S603 (a program of the desktop)
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
            )
            return done.returncode == 0
    return False


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

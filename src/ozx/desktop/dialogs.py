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
        subprocess.run(message_command(text), check=False)  # noqa: S603 (a program of macOS)
    else:
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
        for command in window_commands(text):
            if shutil.which(command[0]) is not None:
                subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # noqa: S603
                return


def ask(question: str, yes: str) -> bool:
    """Ask a question in a window on Linux; return True only if a window can be shown and the user presses `yes`."""
    for command in question_commands(question, yes):
        if shutil.which(command[0]) is not None:
            done = subprocess.run(  # noqa: S603 (a program of the desktop)
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
            )
            return done.returncode == 0
    return False


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
    """Return the commands that show a message in a window on Linux; the first installed command is run.

    Examples
    --------
    >>> [command[0] for command in window_commands("no image")]
    ['zenity', 'kdialog', 'xmessage', 'notify-send']
    """
    escaped = _escaped(text)
    return [
        ["zenity", "--error", "--title=ozx", "--no-markup", "--width=480", f"--text={text}"],
        ["kdialog", "--title", "ozx", "--error", escaped],
        ["xmessage", "-center", "-buttons", "OK", text],
        ["notify-send", "--app-name=ozx", "--urgency=critical", "ozx", escaped],
    ]


def question_commands(question: str, yes: str) -> list[list[str]]:
    """Return the commands that ask a question on Linux. The first installed command is run; exit code 0 means `yes`.

    Examples
    --------
    >>> [command[0] for command in question_commands("Replace it?", "Replace")]
    ['zenity', 'kdialog', 'xmessage']
    """
    return [
        [
            *("zenity", "--question", "--title=ozx", "--no-markup", "--width=480", "--default-cancel"),
            *(f"--ok-label={yes}", "--cancel-label=Cancel", f"--text={question}"),
        ],
        ["kdialog", "--title", "ozx", "--yes-label", yes, "--no-label", "Cancel", "--yesno", _escaped(question)],
        ["xmessage", "-center", "-buttons", f"{yes}:0,Cancel:1", "-default", "Cancel", question],
    ]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

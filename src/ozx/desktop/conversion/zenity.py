"""A progress window of zenity, the dialog program of GNOME and Xfce."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from ozx.desktop.dialogs import ask, show_message

# Zenity's exit code of a pressed button "Cancel", and of a closed window.
_CANCELLED = 1


class ZenityWindow:
    """A window of ``zenity --progress``, which reads percentages and texts line by line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            ["zenity", "--progress", "--title=Convert to .ozx", "--text=", "--width=480"],  # noqa: S607 (on the path)
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    @property
    def is_cancelled(self) -> bool:
        """Whether the user has pressed the button or closed the window."""
        return self._process.poll() == _CANCELLED

    def show(self, text: str, fraction: float | None) -> None:
        """Show a text and the completed fraction (from 0 to 1; None if it is unknown)."""
        # At 100, zenity would offer to close the window.
        self._write([] if fraction is None else [str(min(99, int(100 * fraction)))], text)

    def ask(self, question: str, yes: str) -> bool:
        """Ask a question in a second window; return whether the user presses the button labelled `yes`."""
        return ask(question, yes)

    def finish(self, text: str, *, is_error: bool) -> None:
        """Show the result until the user closes the window."""
        if is_error:
            self._close()
            show_message(text)
        else:
            self._write(["100"], text)
            self._process.wait()

    def _write(self, lines: list[str], text: str) -> None:
        # Zenity reads backslashes as in C.
        plain = text.replace("\\", "\\\\").replace("\n", "\\n")
        data = "".join(f"{line}\n" for line in (*lines, f"# {plain}")).encode("utf-8", "replace")
        stream = self._process.stdin
        with self._lock, suppress(OSError, ValueError):  # it is closed
            if stream is not None:
                stream.write(data)
                stream.flush()

    def _close(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()

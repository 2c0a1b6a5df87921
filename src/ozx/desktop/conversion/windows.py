"""Choose the window that shows the progress of a conversion: zenity's, a page in the browser, or none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ozx.desktop.conversion.browser_page import open_page
from ozx.desktop.conversion.zenity import ZenityWindow
from ozx.desktop.dialogs import ask, show_message
from ozx.desktop.viewer.browser import has_screen


class Window(Protocol):
    """A window with a text, a bar and a button to cancel; its methods may be called from any thread."""

    @property
    def is_cancelled(self) -> bool:
        """Whether the user has pressed the button or closed the window."""

    def show(self, text: str, fraction: float | None) -> None:
        """Show a text and the completed fraction (from 0 to 1; None if it is unknown)."""

    def ask(self, question: str, yes: str) -> bool:
        """Ask a question; return whether the user presses the button labelled `yes`."""

    def finish(self, text: str, *, is_error: bool) -> None:
        """Show the result until the user closes the window."""


class NoWindow:
    """Replacement for a progress window that cannot be shown: it shows only messages and questions, if possible."""

    is_cancelled = False

    def show(self, text: str, fraction: float | None) -> None:
        """Show nothing."""

    def ask(self, question: str, yes: str) -> bool:
        """Ask a question in a separate window; return False if no window can be shown."""
        return ask(question, yes)

    def finish(self, text: str, *, is_error: bool) -> None:
        """Show an error."""
        if is_error:
            show_message(text)


@contextmanager
def open_progress_window() -> Iterator[Window]:
    """Yield a new progress window, or a `NoWindow`; close the window at the end of the ``with`` block."""
    if sys.platform not in ("win32", "darwin") and has_screen(sys.platform) and shutil.which("zenity") is not None:
        with ZenityWindow() as window:
            yield window
        return
    with open_page() as page:
        yield page or NoWindow()

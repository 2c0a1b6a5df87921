"""The program behind *Convert to .ozx* in file managers: it writes ``NAME.ozx`` beside each file, and shows progress.

``ozx-convert FILE|DIR…``, installed as a program without a console, or ``python -m ozx.desktop.conversion.convert``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from typing import Any, NoReturn

from ozx.desktop.dialogs import ask, show_message
from ozx.desktop.viewer.browser import has_screen, open_window
from ozx.desktop.viewer.loopback import LoopbackServer, Request, Response, json_answer, refusal, serving
from ozx.desktop.viewer.page_access import PageAccess, page_file
from ozx.errors import UsageError
from ozx.faults import as_error
from ozx.progress import Cancelled

# The window that shows the progress of a conversion: zenity's, a page in the browser, or none.

# Zenity's exit code of a pressed button "Cancel", and of a closed window.
_ZENITY_CANCELLED = 1
# A browser takes some seconds to start, on a busy machine a minute.
_PATIENCE = 120.0
# A page that reloads disappears for a moment.
_GRACE = 3.0


class ProgressWindow:
    """A window with a text, a bar and a button to cancel; its methods may be called from any thread.

    This one stands in for a window that cannot be shown: it shows only messages and questions, if possible.
    """

    @property
    def is_cancelled(self) -> bool:
        """Whether the user has pressed the button or closed the window."""
        return False

    def show(self, text: str, fraction: float | None) -> None:
        """Show a text and the completed fraction (from 0 to 1; None if it is unknown)."""

    def ask(self, question: str, yes: str) -> bool:
        """Ask a question, by default in a window of its own; return whether the user presses the button `yes`."""
        return ask(question, yes)

    def finish(self, text: str, *, is_error: bool) -> None:
        """Show the result until the user closes the window."""
        if is_error:
            show_message(text)


class _ZenityWindow(ProgressWindow):
    """A window of ``zenity --progress``, the dialog program of GNOME and Xfce, which reads percentages and texts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            ["zenity", "--progress", "--title=Convert to .ozx", "--text=", "--width=480"],  # noqa: S607 (on the path)
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def is_cancelled(self) -> bool:
        return self._process.poll() == _ZENITY_CANCELLED

    def show(self, text: str, fraction: float | None) -> None:
        # At 100, zenity would offer to close the window.
        self._write([] if fraction is None else [str(min(99, int(100 * fraction)))], text)

    def finish(self, text: str, *, is_error: bool) -> None:
        if is_error:
            self.close()
            show_message(text)
        else:
            self._write(["100"], text)
            self._process.wait()

    def close(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._process.poll() is None:
            self._process.terminate()
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


class _PageWindow(ProgressWindow):
    """A page in the browser, at a secret address that only this computer can reach."""

    def __init__(self) -> None:
        self.access = PageAccess()
        self._changed = threading.Condition()
        self._state: dict[str, Any] = {"text": "", "fraction": None, "question": None, "yes": "", "ended": False}
        self._answer: bool | None = None
        self._is_cancelled = False
        self._is_gone = threading.Event()
        self._came = False

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def show(self, text: str, fraction: float | None) -> None:
        self._change(text=text, fraction=fraction)

    def ask(self, question: str, yes: str) -> bool:
        self._answer = None
        self._change(question=question, yes=yes)
        with self._changed:
            self._changed.wait_for(lambda: self._answer is not None or self._is_cancelled or self._is_gone.is_set())
        self._change(question=None)
        return bool(self._answer)

    def finish(self, text: str, *, is_error: bool) -> None:
        self._change(text=text, fraction=None if is_error else 1.0, ended=True)
        self._is_gone.wait()
        if is_error and not self._came:
            show_message(text)

    def respond(self, request: Request) -> Response:
        return self.access.answer(request, self._respond)

    def _respond(self, name: str, request: Request) -> Response:
        if name == "alive":
            return self.access.answer_alive(request)
        if name == "state":
            return json_answer(self._state, headers={"Cache-Control": "no-store"})
        if name not in ("cancel", "answer"):
            return page_file(__package__, name)
        if request.method != "POST":
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "this address accepts only POST requests")
        with self._changed:
            if name == "cancel":
                self._is_cancelled = True
            else:
                self._answer = request.query.get("yes") == "1"
            self._changed.notify_all()
        return json_answer({})

    def watch(self) -> None:
        """Wait until the user closes the page, which cancels the conversion."""
        self._came = self.access.wait_until_gone(grace=_GRACE, patience=_PATIENCE)
        with self._changed:
            self._is_cancelled = self._is_cancelled or (self._came and not self._state["ended"])
            self._is_gone.set()
            self._changed.notify_all()

    def _change(self, **values: Any) -> None:
        with self._changed:
            self._state = {**self._state, **values}


@contextmanager
def open_progress_window() -> Iterator[ProgressWindow]:
    """Yield a new progress window, and close it at the end of the ``with`` block."""
    if sys.platform not in ("win32", "darwin") and has_screen() and shutil.which("zenity") is not None:
        with closing(_ZenityWindow()) as window:
            yield window
        return
    page = _PageWindow()
    with serving(LoopbackServer(page.respond, takes_posts=True)) as server:
        if open_window(server.origin + page.access.start_path):
            threading.Thread(target=page.watch, daemon=True).start()
            yield page
            return
    yield ProgressWindow()


#: The exit code after a cancel.
CANCELLED = 130
# The pause between two changes of a window, in seconds.
_PAUSE = 0.1
_MOST_NOTES = 10


def main() -> NoReturn:
    """Convert the files and directories given as arguments; exit with 0, 1 (error), 2 (no files) or 130 (cancelled)."""
    sys.exit(convert(sys.argv[1:]))


def convert(paths: Sequence[str]) -> int:
    """Convert TIFF files and OME-Zarr directories, one after the other, and return an exit code.

    After a failed conversion, the next one begins. An existing file is replaced only if the user agrees. If the user
    cancels, the incomplete file is removed, and complete files stay.
    """
    if not paths:
        show_message("Select TIFF files or OME-Zarr folders in a file manager, then choose Convert to .ozx there.")
        return 2
    made: list[str] = []
    failed: list[str] = []
    with open_progress_window() as window:
        try:
            for number, path in enumerate(paths):
                try:
                    made += _convert_one(path, window, number, len(paths))
                except Exception as error:  # noqa: BLE001 (the window shows it; the other files come next)
                    failed.append(_explain(error, path))
        except (Cancelled, KeyboardInterrupt):
            return CANCELLED
        if not made and not failed:
            return 0
        window.finish("\n".join((*made, *failed)), is_error=bool(failed))
    return 1 if failed else 0


def output_of(path: str) -> str:
    """Return the output path for a TIFF file or a directory."""
    from ozx.flow.sinks.target import default_output  # noqa: PLC0415 (the window comes first)

    if os.path.isdir(path) or path.lower().endswith(".zarr"):
        return default_output(path)
    from ozx.readers.hierarchy import stem_of  # noqa: PLC0415

    return os.path.join(os.path.dirname(path), f"{stem_of(path)}.ozx")


class WindowProgress:
    """The progress of one of several conversions, shown in a window that can cancel the conversion."""

    def __init__(self, window: ProgressWindow, name: str, number: int, count: int) -> None:
        self._window = window
        self._text = f"{name} ({number + 1} of {count})" if count > 1 else name
        self._number, self._count = number, count
        self._lock = threading.Lock()
        self._total: int | None = None
        self._done = 0
        self._next = 0.0

    def start(self, description: str, total: int | None) -> None:
        """Begin the conversion, or its next phase."""
        del description
        self._total, self._done = total, 0
        self.advance(0)

    def advance(self, amount: int) -> None:
        """Add to the number of bytes processed."""
        with self._lock:
            self._done += amount
            now = time.monotonic()
            is_due = now >= self._next
            if is_due:
                self._next = now + _PAUSE
        if is_due:
            self._window.show(self._text, self._fraction())
        if self._window.is_cancelled:
            raise Cancelled

    def stop(self) -> None:
        """End a phase."""

    def _fraction(self) -> float | None:
        if not self._total:
            return None
        return (self._number + min(1.0, self._done / self._total)) / self._count


def _convert_one(path: str, window: ProgressWindow, number: int, count: int) -> list[str]:
    """Convert a source; return lines about the result, or no lines if the user keeps an existing file."""
    progress = WindowProgress(window, os.path.basename(os.path.abspath(path)), number, count)
    progress.advance(0)
    # Slow to import: so the window appears first.
    from ozx.operations.import_image import import_image  # noqa: PLC0415
    from ozx.operations.pack import pack  # noqa: PLC0415

    if path.lower().endswith(".ozx"):
        raise UsageError(f"{path} is an .ozx file already", hint="Open it with a double-click.")
    out = output_of(path)
    force = os.path.lexists(out)
    if force and not window.ask(f"{os.path.basename(out)} exists. Replace it?", "Replace"):
        if window.is_cancelled:
            raise Cancelled
        return []
    if os.path.isdir(path):
        packed = pack(path, out, force=force, progress=progress)
        return _describe(packed.path, packed.notes)
    imported = import_image(path, out, force=force, progress=progress)
    return _describe(imported.path, (*imported.notes, *imported.damage))


def _describe(path: str, notes: Sequence[str]) -> list[str]:
    more = len(notes) - _MOST_NOTES
    rest = [f"and {more} more notes"] if more > 0 else []
    return [f"{os.path.basename(path)} is complete.", *notes[:_MOST_NOTES], *rest]


def _explain(error: Exception, path: str) -> str:
    known = as_error(error)
    text = str(known) if os.path.basename(path) in str(known) else f"{path}: {known}"
    return f"{text}\n{known.hint}" if known.hint else text


if __name__ == "__main__":
    main()

"""The program behind "Convert to .ozx": what it makes, asks and says, with a window that writes it down."""

import contextlib
import os
import shutil

import numpy as np
import pytest
import tifffile
from hierarchies import FIXTURES

import ozx
from ozx.desktop.conversion import convert as program
from ozx.desktop.conversion.convert import CANCELLED, WindowProgress, convert, output_of

IMAGE = FIXTURES / "image.ome.zarr"
PIXELS = np.random.default_rng(3).integers(0, 4000, (2, 600, 700), dtype="uint16")


class RecordedWindow:
    """A window that answers questions with `answer`, and is cancelled at a text or after some looks."""

    def __init__(self, *, answer=False, looks=None, cancelled_at=None):
        self.answer, self.looks, self.cancelled_at = answer, looks, cancelled_at
        self.shown, self.asked, self.said = [], [], None

    @property
    def is_cancelled(self):
        if self.cancelled_at is not None:
            return any(self.cancelled_at in text for text, _ in self.shown)
        if self.looks is not None:
            self.looks -= 1
        return self.looks is not None and self.looks < 0

    def show(self, text, fraction):
        self.shown.append((text, fraction))

    def ask(self, question, yes):
        self.asked.append((question, yes))
        return self.answer

    def finish(self, text, *, is_error):
        self.said = text, is_error


@pytest.fixture
def shown_in(monkeypatch):
    """A function that gives conversions a window."""

    def give(window):
        monkeypatch.setattr(program, "open_progress_window", lambda: contextlib.nullcontext(window))
        monkeypatch.setattr(program, "_PAUSE", 0.0)
        return window

    return give


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a TIFF file and an OME-Zarr directory."""
    folder = tmp_path / "my images (é)"
    folder.mkdir()
    tifffile.imwrite(folder / "stack.ome.tif", PIXELS, metadata={"axes": "CYX"}, tile=(256, 256))
    shutil.copytree(IMAGE, folder / "cells.ome.zarr")
    monkeypatch.chdir(folder)
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_tiff_files_and_directories_become_files_beside_them_and_the_window_shows_how_far(folder, shown_in):
    window = shown_in(RecordedWindow())
    before = names(folder)
    assert convert([str(folder / "stack.ome.tif"), "cells.ome.zarr"]) == 0
    assert names(folder) == sorted([*before, "cells.ozx", "stack.ozx"])
    assert (ozx.open(folder / "stack.ozx")["0"][:] == PIXELS).all()
    ozx.pack(IMAGE, folder / "expected.ozx")
    assert (folder / "cells.ozx").read_bytes() == (folder / "expected.ozx").read_bytes()
    text, is_error = window.said
    assert text.splitlines()[0] == "stack.ozx is complete."
    assert "cells.ozx is complete." in text.splitlines()
    assert not is_error
    assert window.asked == []
    texts = [text for text, _ in window.shown]
    assert list(dict.fromkeys(texts)) == ["stack.ome.tif (1 of 2)", "cells.ome.zarr (2 of 2)"]
    fractions = [fraction for _, fraction in window.shown if fraction is not None]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] < 0.5 < fractions[-1] <= 1


@pytest.mark.parametrize("source", ["stack.ome.tif", "cells.ome.zarr"])
def test_an_existing_file_is_replaced_only_with_consent(folder, shown_in, source):
    out = folder / output_of(source)
    out.write_bytes(b"mine")
    window = shown_in(RecordedWindow(answer=False))
    assert convert([str(folder / source)]) == 0
    assert window.asked == [(f"{out.name} exists. Replace it?", "Replace")]
    assert out.read_bytes() == b"mine"
    assert window.said is None
    shown_in(RecordedWindow(answer=True))
    assert convert([source]) == 0
    assert ozx.is_ozx(out)


@pytest.mark.parametrize("source", ["stack.ome.tif", "cells.ome.zarr"])
@pytest.mark.parametrize("looks", [0, 1, 2, 3])
def test_a_cancel_leaves_nothing(folder, shown_in, source, looks):
    before = names(folder)
    window = shown_in(RecordedWindow(looks=looks))
    assert convert([source]) == CANCELLED
    assert names(folder) == before
    assert window.said is None


def test_a_cancel_keeps_complete_files_and_replaces_none(folder, shown_in):
    (folder / "stack.ozx").write_bytes(b"mine")
    shown_in(RecordedWindow(answer=True, cancelled_at="stack.ome.tif (2 of 2)"))
    assert convert(["cells.ome.zarr", "stack.ome.tif"]) == CANCELLED
    assert (folder / "stack.ozx").read_bytes() == b"mine"
    assert ozx.is_ozx(folder / "cells.ozx")


def test_a_window_that_is_closed_at_a_question_cancels(folder, shown_in):
    (folder / "stack.ozx").write_bytes(b"mine")
    window = RecordedWindow()
    window.ask = lambda *_: setattr(window, "looks", 0) or False
    shown_in(window)
    assert convert(["stack.ome.tif", "cells.ome.zarr"]) == CANCELLED
    assert not (folder / "cells.ozx").exists()


def test_failures_are_shown_and_stop_no_other_file(folder, shown_in):
    (folder / "text.tif").write_text("no TIFF")
    (folder / "empty").mkdir()
    shutil.copy(folder / "text.tif", folder / "already.ozx")
    window = shown_in(RecordedWindow())
    assert convert(["text.tif", "empty", "missing.tif", "already.ozx", "cells.ome.zarr"]) == 1
    text, is_error = window.said
    assert is_error
    for name in ("text.tif", "empty", "missing.tif", "already.ozx is an .ozx file already"):
        assert name in text
    assert "cells.ozx is complete." in text
    assert names(folder) == ["already.ozx", "cells.ome.zarr", "cells.ozx", "empty", "stack.ome.tif", "text.tif"]


def test_what_is_no_error_of_ozx_is_shown_too(folder, shown_in, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("ozx.operations.import_image.import_image", broken)
    window = shown_in(RecordedWindow())
    assert convert(["stack.ome.tif"]) == 1
    assert "stack.ome.tif" in window.said[0]


def test_without_files_it_says_what_to_do(monkeypatch):
    said = []
    monkeypatch.setattr(program, "show_message", said.append)
    assert convert([]) == 2
    assert "file manager" in said[0]


@pytest.mark.parametrize("name", ["cells.tif", "cells.ome.tiff", "cells.ome.zarr", "cells.zarr"])
def test_the_name_of_the_file(name):
    assert output_of(os.path.join("a", name)) == os.path.join("a", "cells.ozx")


def test_progress_without_a_total_has_no_fraction():
    window = RecordedWindow()
    progress = WindowProgress(window, "a", 0, 1)
    progress.start("a", None)
    progress.stop()
    assert window.shown == [("a", None)]


def test_notes_come_with_the_result_and_are_few():
    lines = program._describe("/a/b.ozx", [f"note {number}" for number in range(12)])
    assert (lines[0], lines[10], lines[-1]) == ("b.ozx is complete.", "note 9", "and 2 more notes")

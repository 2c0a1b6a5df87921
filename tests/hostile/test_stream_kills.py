"""SIGKILL and Ctrl-C at any moment of a stream, and a full disk: what was finished or flushed comes back, whole."""

import os
import shutil
import signal

import numpy as np
import pytest
from children import in_child, shortest_duration, wait
from ending import full_disks, needs_fork, random_endings
from streams import assert_valid

import ozx
from ozx.errors import FormatError
from ozx.streaming import open_chunks

pytestmark = [pytest.mark.ci, needs_fork]

PIXELS = np.random.default_rng(0).integers(1, 4000, (24, 2, 300, 400)).astype("uint16")
#: A disk is full after each of so many percent of the file; 1 by hand.
FULL_AT = int(os.environ.get("OZX_FULL_AT", "9"))
#: The least memory of a stream of such frames.
LEAST = 16 * PIXELS[0, 0].nbytes
LAYOUTS = [
    {"shards": {"t": 4, "y": 512, "x": 512}, "chunks": {"t": 1, "y": 256, "x": 256}},
    {"shards": {"t": 8, "y": 512, "x": 512}, "chunks": {"t": 2, "y": 256, "x": 256}, "sync_every": 5},
    # Most chunks wait in the file, which is written again and again.
    {"shards": {"t": 6, "y": 512, "x": 512}, "chunks": {"t": 2, "y": 256, "x": 256}, "sync_every": 3, "memory": LEAST},
]


@pytest.fixture(autouse=True)
def _the_file_of_chunks_stays_small(monkeypatch):
    monkeypatch.setattr(open_chunks, "_MOST_UNUSED", 1 << 20)


def work(out, told=None, **words):
    with ozx.stream(out, axes="tcyx", shape=(None, 2, 300, 400), dtype="uint16", codec="zstd:1", **words) as frames:
        for number, frame in enumerate(PIXELS.reshape(-1, 300, 400)):
            frames.append(frame, record={"number": number})
            if told is not None:
                told.write_text(str(frames.durable))


def check_what_is_left(out, durable):
    """Recover what a kill left; it holds the durable frames, and otherwise only frames that came."""
    if out.exists():
        np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)
        return
    again = out.with_name("again.ozx")
    if not os.path.exists(f"{out}.partial"):
        assert not durable
        return
    if not os.path.getsize(f"{out}.partial"):
        assert not durable
        with pytest.raises(FormatError, match="an empty file"):
            ozx.recover(f"{out}.partial", again)
        return
    ozx.recover(f"{out}.partial", again, force=True, sync=False)
    assert_valid(again)
    levels = [ozx.open(again)[name] for name in ("0", "1")]
    pixels = levels[0][...]
    assert levels[1].shape[0] == len(pixels) >= durable // 2
    np.testing.assert_array_equal(pixels.reshape(-1, 300, 400)[:durable], PIXELS.reshape(-1, 300, 400)[:durable])
    if durable:
        numbers = ozx.open(again)["frames/number"][...].reshape(-1)
        np.testing.assert_array_equal(numbers[:durable], np.arange(durable))
    for found, frame in zip(pixels.reshape(-1, 300, 400), PIXELS.reshape(-1, 300, 400), strict=False):
        wrong = found != frame
        assert not found[wrong].any()  # not yet written


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_ended_at_random_moments(tmp_path, layout, kind):
    folder, told = tmp_path / "f", tmp_path / "told"
    out = folder / "a.ozx"
    folder.mkdir()
    usual = shortest_duration(lambda: work(out, force=True, **layout))

    def restore_folder(number):
        shutil.rmtree(folder)
        folder.mkdir()
        told.write_text("0")

    def child_work():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        work(out, told, **layout)

    for _ in random_endings(child_work, usual, restore_folder, seed=22, kind=kind):
        check_what_is_left(out, int(told.read_text() or 0))
    restore_folder(0)
    work(out, **layout)
    assert os.listdir(folder) == [out.name]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_full_disk_keeps_what_was_written(tmp_path, layout):
    out = tmp_path / "a.ozx"
    work(out, **layout)
    whole = out.stat().st_size
    out.unlink()
    for _ in full_disks(lambda: work(out, **layout), [whole * percent // 100 for percent in range(0, 100, FULL_AT)]):
        assert not out.exists()
        check_what_is_left(out, 0)
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)


class TornWrites:
    """Writes to the head of a file, one of which stops at the end of a page as the process is killed."""

    def __init__(self, path, deadly, pages):
        self.path, self.left, self.pages = path, deadly, pages
        self.pwrite = os.pwrite
        self.is_begun = False

    def write(self, descriptor, data, offset):
        return self.write_parts(descriptor, [data], offset)

    def write_parts(self, descriptor, parts, offset):
        data = b"".join(parts)
        kept = self.pages * PAGE - offset % PAGE
        if data and offset < HEAD and os.path.sameopenfile(descriptor, os.open(self.path, os.O_RDONLY)):
            if self.is_begun and len(data) > kept:
                if self.left == 0:
                    self.pwrite(descriptor, data[:kept], offset)
                    os.kill(os.getpid(), signal.SIGKILL)
                self.left -= 1
            self.is_begun = True
        return self.pwrite(descriptor, data, offset)


PAGE = 4096
HEAD = 2 * 3 * PAGE  # two places of documents, of three pages each at least


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pages", [1, 3])
def test_killed_inside_a_write_of_metadata(tmp_path, layout, pages):
    """The system ends a write at the end of a page if the process is killed meanwhile."""
    for deadly in range(100):
        out, told = tmp_path / f"{deadly}" / "a.ozx", tmp_path / f"{deadly}" / "told"
        out.parent.mkdir()
        told.write_text("0")
        torn = TornWrites(f"{out}.partial", deadly, pages)

        def child_work(out=out, told=told, torn=torn):
            os.pwrite, os.pwritev = torn.write, torn.write_parts
            work(out, told, **layout, name=2 * PAGE * "-")

        if wait(in_child(child_work)) == 0:
            break
        check_what_is_left(out, int(told.read_text() or 0))
    assert deadly >= 1

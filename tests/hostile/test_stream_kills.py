"""SIGKILL and Ctrl-C at any moment of a stream, and a full disk: what was finished or flushed comes back, whole.

Other processes that read the stream meanwhile see right pixels only, until its end or the kill.
"""

import os
import shutil
import signal
import time

import numpy as np
import pytest
from children import in_child, shortest_duration, wait
from ending import KILLS, full_disks, needs_fork, random_endings
from streams import assert_valid

import ozx
from ozx.errors import FormatError, PartialFileWarning, ResourceError
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
#: How streams that are read meanwhile are laid out.
LIVE = [
    *LAYOUTS[:2],
    {"shards": "none", "chunks": {"t": 1, "y": 256, "x": 256}},
    {"shards": "none", "downsample": ["t", "y", "x"], "shape": (24, 2, 300, 400)},
]


@pytest.fixture(autouse=True)
def _the_file_of_chunks_stays_small(monkeypatch):
    monkeypatch.setattr(open_chunks, "_MOST_UNUSED", 1 << 20)


def work(out, told=None, pause=0.0, **words):
    words = {"shape": (None, 2, 300, 400), "codec": "zstd:1", **words}
    with ozx.stream(out, axes="tcyx", dtype="uint16", **words) as frames:
        for number, frame in enumerate(PIXELS.reshape(-1, 300, 400)):
            frames.append(frame, record={"number": number})
            if told is not None:
                told.write_text(str(frames.durable))
            time.sleep(pause)


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


def follow(out, whole, seconds=100):
    """Read all that appears until the stream ends; return its last state and the lengths that were seen."""
    group, lengths = None, []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if group is None:
            try:
                group = ozx.open(out, live=True)
            except ResourceError:
                if not os.path.exists(out.parent / "begun"):
                    return None, lengths
                continue
        elif not group.refresh():
            time.sleep(0.001)
            continue
        length = group["0"].shape[0]
        for level, expected in enumerate(whole):
            found = group[str(level)][...]
            np.testing.assert_array_equal(found, expected[: len(found)])
            assert len(found) == len(expected[:length]) or level
        assert not lengths or length >= lengths[-1]
        lengths.append(length)
        if group.state != "growing":
            return group.state, lengths
    raise AssertionError("the stream does not end")


def whole_levels(path, layout):
    """Return the pixels of all levels of the finished stream."""
    work(path, **layout)
    group = ozx.open(path)
    return [group[level][...] for level in sorted(group) if level.isdigit()]


@pytest.mark.parametrize("layout", LIVE)
def test_a_reader_follows_a_writer(tmp_path, layout):
    whole = whole_levels(tmp_path / "whole.ozx", layout)
    np.testing.assert_array_equal(whole[0], PIXELS)
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "begun").write_text("")
    out = folder / "a.ozx"
    child = in_child(lambda: work(out, pause=0.01, **layout))
    try:
        state, lengths = follow(out, whole)
    finally:
        assert wait(child) == 0
    assert state == "finished"
    assert lengths[-1] == len(PIXELS)
    assert len(lengths) > 1
    assert sorted(os.listdir(folder)) == ["a.ozx", "begun"]


@pytest.mark.filterwarnings("ignore::ozx.PartialFileWarning")
@pytest.mark.parametrize("layout", LIVE[:3])
def test_a_writer_that_is_killed(tmp_path, layout):
    """Readers of the file see right pixels, and that the stream ended; so does one that opens it afterwards."""
    whole = whole_levels(tmp_path / "whole.ozx", layout)
    folder = tmp_path / "f"
    out, begun = folder / "a.ozx", folder / "begun"
    readers = []

    def start_anew(number):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        begun.write_text("")
        readers.append(in_child(lambda: follow(out, whole)))

    for _ in random_endings(lambda: work(out, pause=0.01, **layout), 1.0, start_anew, seed=8, times=KILLS // 7):
        begun.unlink()
        assert wait(readers.pop()) == 0
        if out.exists() or not os.path.exists(f"{out}.partial"):
            continue
        try:
            group = ozx.open(out, live=True)
        except ResourceError:
            continue
        assert group.state == "unfinished"
        length = group["0"].shape[0]
        for level, expected in enumerate(whole):
            np.testing.assert_array_equal(group[str(level)][...], expected[:length])
        ozx.recover(f"{out}.partial", folder / "again.ozx", sync=False)
        again = ozx.open(folder / "again.ozx")["0"]
        np.testing.assert_array_equal(again[:length], PIXELS[:length])
    start_anew(0)
    work(out, **layout)
    assert wait(readers.pop()) == 0
    assert sorted(os.listdir(folder)) == ["a.ozx", "begun"]


def test_a_reader_says_that_the_writer_is_gone(tmp_path):
    out = tmp_path / "a.ozx"
    (tmp_path / "begun").write_text("")
    child = in_child(lambda: work(out, pause=0.04, **LAYOUTS[0]))
    group = None
    while group is None:
        try:
            group = ozx.open(out, live=True)
        except ResourceError:
            time.sleep(0.01)
    assert (group.state, group.is_finished) == ("growing", False)
    os.kill(child, signal.SIGKILL)
    assert wait(child) == -signal.SIGKILL
    with pytest.warns(PartialFileWarning, match=r"ended unfinished.* ozx recover .*a\.ozx\.partial OUT\.ozx"):
        while group.state == "growing":
            group.refresh()
    assert group.state == "unfinished"
    pixels = group["0"][...]
    np.testing.assert_array_equal(pixels, PIXELS[: len(pixels)])

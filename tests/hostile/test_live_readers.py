"""Another process reads a stream while it is written: every pixel is right, until the end or until a kill."""

import os
import shutil
import signal
import time

import numpy as np
import pytest
from children import in_child, wait
from ending import KILLS, needs_fork, random_endings

import ozx
from ozx.errors import PartialFileWarning, ResourceError

pytestmark = [pytest.mark.ci, needs_fork]

PIXELS = np.random.default_rng(0).integers(1, 4000, (48, 2, 300, 400)).astype("uint16")
LAYOUTS = [
    {"shards": {"t": 4, "y": 512, "x": 512}, "chunks": {"t": 1, "y": 256, "x": 256}},
    {"shards": {"t": 4, "y": 512, "x": 512}, "chunks": {"t": 2, "y": 256, "x": 256}, "sync_every": 5},
    {"shards": "none", "chunks": {"t": 1, "y": 256, "x": 256}},
    {"shards": "none", "downsample": ["t", "y", "x"], "shape": (48, 2, 300, 400)},
]


def work(out, pause=0.0, **words):
    words = {"shape": (None, 2, 300, 400), "codec": "zstd:1", **words}
    with ozx.stream(out, axes="tcyx", dtype="uint16", **words) as frames:
        for frame in PIXELS.reshape(-1, 300, 400):
            frames.append(frame)
            time.sleep(pause)


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
    return [group[level][...] for level in sorted(group)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_reader_follows_a_writer(tmp_path, layout):
    whole = whole_levels(tmp_path / "whole.ozx", layout)
    np.testing.assert_array_equal(whole[0], PIXELS)
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "begun").write_text("")
    out = folder / "a.ozx"
    child = in_child(lambda: work(out, 0.005, **layout))
    try:
        state, lengths = follow(out, whole)
    finally:
        assert wait(child) == 0
    assert state == "finished"
    assert lengths[-1] == 48
    assert len(lengths) > 1
    assert sorted(os.listdir(folder)) == ["a.ozx", "begun"]


@pytest.mark.filterwarnings("ignore::ozx.PartialFileWarning")
@pytest.mark.parametrize("layout", LAYOUTS[:3])
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

    for _ in random_endings(lambda: work(out, 0.005, **layout), 1.0, start_anew, seed=8, times=KILLS // 7):
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
    child = in_child(lambda: work(out, 0.02, **LAYOUTS[0]))
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

"""What `recover` makes of streams that did not end: by a kill, a power cut, a full disk."""

import os
import shutil
import signal
import time

import numpy as np
import pytest
from children import in_child, wait
from ending import needs_fork
from streams import assert_valid, wait_until_encoded

import ozx
from ozx.errors import FormatError, ResourceError
from ozx.streaming import frame_records, open_chunks
from ozx.streaming.stream_file import StreamFile

PIXELS = np.random.default_rng(0).integers(1, 4000, (9, 2, 300, 400)).astype("uint16")
WORDS = {"axes": "tcyx", "shape": (None, 2, 300, 400), "dtype": "uint16", "codec": "zstd:1", "sync": False}
# Chunks of one frame, chunks of several frames, chunks that are no shards.
LAYOUTS = [
    {"shards": {"t": 4, "y": 512, "x": 512}, "chunks": {"t": 1, "y": 256, "x": 256}},
    {"shards": {"t": 8, "y": 512, "x": 512}, "chunks": {"t": 4, "y": 256, "x": 256}},
    {"shards": "none", "chunks": {"t": 4, "y": 256, "x": 256}},
]
FRAMES = PIXELS.reshape(-1, 300, 400)


def expected_of(count):
    """Return the image of so many frames."""
    length = -(-count // 2)
    pixels = PIXELS[:length].copy()
    pixels.reshape(-1, 300, 400)[count:] = 0
    return pixels


def recovered(out):
    result = ozx.recover(f"{out}.partial", out, force=True, sync=False)
    assert_valid(out)
    levels = [array[...] for _, array in sorted(ozx.open(out).arrays())]
    return result, levels


def killed(work):
    """Do `work` in a process that kills itself then."""

    def child():
        work()
        os.kill(os.getpid(), signal.SIGKILL)

    assert wait(in_child(child)) != 0


@pytest.mark.ci
@needs_fork
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [1, 5, 8, 13])
@pytest.mark.parametrize("memory", [None, 16 * 240_000])
def test_all_that_was_flushed_survives_a_kill(tmp_path, layout, count, memory):
    out = tmp_path / "a.ozx"

    def work():
        frames = ozx.stream(out, memory=memory, **WORDS, **layout)
        for number, frame in enumerate(FRAMES[:count], 1):
            frames.append(frame)
            if number in (3, count):
                assert frames.flush() == number == frames.durable

    killed(work)
    result, levels = recovered(out)
    expected = expected_of(count)
    np.testing.assert_array_equal(levels[0], expected)
    whole = tmp_path / "whole.ozx"
    ozx.write_image(whole, expected, axes="tcyx", codec="zstd:1", sync=False)
    np.testing.assert_array_equal(levels[1], ozx.open(whole)["1"][...])
    assert count % 2 or not [loss for loss in result.arrays if loss.missing]
    taken = [note for note in result.notes if "chunks of unfinished shards were taken from" in note]
    assert len(taken) == (count != 8 or layout is LAYOUTS[1])  # of eight frames these shards are finished


@needs_fork
def test_finished_shards_survive_a_kill_without_a_flush(tmp_path):
    out = tmp_path / "a.ozx"

    def work():
        frames = ozx.stream(out, **WORDS, **LAYOUTS[0])
        for frame in FRAMES[:17]:
            frames.append(frame)
        wait_until_encoded(frames)

    killed(work)
    assert not os.path.exists(f"{out}.partial.chunks")
    result, levels = recovered(out)
    np.testing.assert_array_equal(levels[0], PIXELS[:8])
    assert not result.lost
    hints = {finding.id: finding.hint for finding in ozx.validate(f"{out}.partial").findings}
    assert "Do not rename" in hints["rfc9/file-name"]


@needs_fork
@pytest.mark.parametrize("key", ["1/c/0/0/0/0", "1/c/1/0/0/0"])
def test_the_frames_of_a_finished_shard_survive_a_kill_before_the_next_value(tmp_path, monkeypatch, key):
    """The length of the image is in the file before the shards of coarser levels are."""
    out = tmp_path / "a.ozx"
    write = StreamFile.write

    def write_or_end(self, entry):
        if entry.key == key:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, entry)

    def work():
        with ozx.stream(out, jobs=1, **WORDS, **LAYOUTS[0]) as frames:
            for frame in FRAMES[:17]:
                frames.append(frame)

    monkeypatch.setattr(StreamFile, "write", write_or_end)
    killed(work)
    monkeypatch.undo()
    _, levels = recovered(out)
    length = 4 * (1 + int(key[4]))
    assert levels[0].shape[0] == length
    np.testing.assert_array_equal(levels[0][:, 0], PIXELS[:length, 0])


@needs_fork
def test_nothing_was_finished(tmp_path):
    out = tmp_path / "a.ozx"
    killed(lambda: ozx.stream(out, **WORDS).append(FRAMES[0]))
    with pytest.raises(FormatError, match="an empty file, because its writer was killed") as caught:
        ozx.recover(f"{out}.partial", out)
    assert "sync_every" in caught.value.hint
    with pytest.raises(FormatError) as caught:
        ozx.inspect(f"{out}.partial")
    assert "ozx recover" in caught.value.hint


def test_only_what_was_synced_survives_a_power_cut(tmp_path):
    out = tmp_path / "a.ozx"
    with ozx.stream(out, sync_every=6, **WORDS, **LAYOUTS[0]) as frames:
        for number, frame in enumerate(FRAMES[:15], 1):
            frames.append(frame)
            if number == 13:
                frames.flush()
                for name in (f"{out}.partial", f"{out}.partial.chunks"):
                    shutil.copy(name, name.replace("a.ozx", "b.ozx"))
        assert frames.durable >= 13
    assert set(os.listdir(tmp_path)) == {"a.ozx", "b.ozx.partial", "b.ozx.partial.chunks"}
    _, levels = recovered(tmp_path / "b.ozx")
    np.testing.assert_array_equal(levels[0], expected_of(13))


@needs_fork
@pytest.mark.parametrize("block", [1024, 4])
def test_flushed_records_survive_a_kill(tmp_path, monkeypatch, block):
    monkeypatch.setattr(frame_records, "_MOST_TOGETHER", block)
    out = tmp_path / "a.ozx"

    def work():
        frames = ozx.stream(out, **WORDS, **LAYOUTS[0])
        for number, frame in enumerate(FRAMES[:13]):
            frames.append(frame, record={"number": number, "text": str(number)})
            if number in (2, 6, 12):
                frames.flush()

    killed(work)
    result, levels = recovered(out)
    assert not result.lost
    np.testing.assert_array_equal(levels[0], expected_of(13))
    records = ozx.open(out)["frames"]
    np.testing.assert_array_equal(records["number"][...].reshape(-1), [*range(13), np.nan])
    assert records["text"][...].reshape(-1).tolist() == [*map(str, range(13)), ""]


@needs_fork
@pytest.mark.parametrize(("is_early", "repeats"), [(False, 300), (True, 300), (False, 5000)])
def test_late_metadata_survives_a_kill(tmp_path, is_early, repeats):
    out = tmp_path / "a.ozx"
    names = ["DAPI" * repeats, "GFP" * repeats]  # longer than the room for the metadata, or for late drafts

    def work():
        frames = ozx.stream(out, **WORDS, **LAYOUTS[0])
        if is_early:
            frames.set_metadata(channel_names=names)
        for number, frame in enumerate(FRAMES[:13]):
            frames.append(frame)
            if number == 4:
                frames.flush()
                frames.set_metadata(channel_names=names)
        frames.flush()

    killed(work)
    _, levels = recovered(out)
    np.testing.assert_array_equal(levels[0], expected_of(13))
    assert [channel.label for channel in ozx.inspect(out).images[0].channels] == names


def test_drafts_of_records_do_not_stay(tmp_path):
    out = tmp_path / "a.ozx"
    with ozx.stream(out, **WORDS) as frames:
        for number, frame in enumerate(FRAMES):
            frames.append(frame, record={"number": number})
            frames.flush()
    np.testing.assert_array_equal(ozx.open(out)["frames/number"][...].reshape(-1), np.arange(18))
    report = ozx.validate(out, level="data")
    assert {finding.id for finding in report.findings} <= {"ome/axis-unit"}
    assert out.read_bytes().count(b"frames/number/zarr.json") == 2
    assert os.listdir(tmp_path) == ["a.ozx"]


def test_sync_every_flushes_while_frames_come(tmp_path):
    frames = ozx.stream(tmp_path / "a.ozx", sync_every=4, **WORDS, **LAYOUTS[0])
    for frame in FRAMES[:8]:
        frames.append(frame)
    while not frames.durable:
        time.sleep(0.001)
    assert frames.durable in (4, 5, 6, 7, 8)
    frames.abort()
    assert os.listdir(tmp_path) == []


def test_little_memory_and_many_positions(tmp_path, monkeypatch):
    monkeypatch.setattr(open_chunks, "_MOST_UNUSED", 1 << 20)
    out = tmp_path / "a.ozx"
    positions = [f"p{number}" for number in range(4)]
    with ozx.stream(out, positions=positions, memory=16 * 240_000, **WORDS, shards={"t": 8}) as frames:
        for number, frame in enumerate(FRAMES):
            for position in positions:
                frames.append(frame, position=position)
            assert frames._store.in_memory <= 12 * 240_000
            if number % 3 == 2:
                frames.flush()
    assert os.listdir(tmp_path) == ["a.ozx"]
    for number in range(4):
        np.testing.assert_array_equal(ozx.open(out)[f"{number}/0"][...], PIXELS)
    assert_valid(out)


def test_a_full_disk_while_flushing(tmp_path, monkeypatch):
    out = tmp_path / "a.ozx"
    frames = ozx.stream(out, **WORDS, **LAYOUTS[0])
    for frame in FRAMES[:9]:
        frames.append(frame)
    frames.flush()
    frames.append(FRAMES[9])

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(open_chunks, "write_parts_at", full)
    with pytest.raises(ResourceError, match="No space left on device"):
        frames.flush()
    with pytest.raises(ResourceError, match="No space left on device"):
        frames.append(FRAMES[10])
    with pytest.raises(ResourceError):
        frames.close()
    monkeypatch.undo()
    _, levels = recovered(out)
    np.testing.assert_array_equal(levels[0], expected_of(9))

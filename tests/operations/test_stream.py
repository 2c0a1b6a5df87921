"""A stream of frames: the file is that of `write_image`, whatever the order, and nothing is lost unsaid."""

import os
import threading

import numpy as np
import pytest
from stores import join_all, start_all
from streams import assert_same_images, assert_valid, wait_until_encoded

import ozx
from ozx.errors import BufferFull, PartialFileWarning, ResourceError, UnsupportedError, UsageError
from ozx.ome.images import Records
from ozx.operations.stream import stream
from ozx.streaming.encoding_threads import EncodingThreads
from ozx.streaming.open_chunks import OpenChunks
from ozx.streaming.streamed_image import StreamedImage

PIXELS = np.random.default_rng(0).integers(1, 4000, (5, 2, 300, 400)).astype("uint16")
WORDS = {"axes": "tcyx", "dtype": "uint16", "sync": False}
SAID = {
    "pixel_size": {"y": 0.5, "x": 0.25, "t": 2}, "unit": {"y": "micrometer", "x": "micrometer", "t": "second"},
    "channel_names": ["DAPI", {"label": "GFP", "color": "00ff00", "window": (3, 99), "emission": 509.0}],
    "name": "My cells",
}  # fmt: skip


# What more is refused, and in which words, test_write_image.py tells.
WRONG_WORDS = [
    ({"pixel_size": {"y": -1}}, "pixel size greater than 0; got -1"),
    ({"pixel_size": {"z": 1}}, "expected axes of the array, t, c, y, x; got 'z'"),
    ({"unit": ["um"]}, r"a unit, or units by axis; got \['um'\]"),
    ({"channel_names": {"label": "a"}}, "a list of channels; got {'label': 'a'}"),
    ({"channel_names": list("abc")}, "at most 2 channels"),
    ({"name": 3}, "expected a text as the name of the image; got 3"),
]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "taken.ome.ozx"


def take_all(frames, pixels=PIXELS):
    for frame in pixels.reshape(-1, *pixels.shape[-2:]):
        frames.append(frame)


def test_the_file_is_that_of_write_image(out, tmp_path):
    with stream(out, shape=PIXELS.shape, **WORDS, **SAID) as frames:
        take_all(frames)
    ozx.write_image(tmp_path / "b.ozx", PIXELS, axes="tcyx", **SAID)
    assert_same_images(out, tmp_path / "b.ozx")
    assert not ozx.validate(out, level="data").findings
    assert ozx.inspect(out).images[0].levels == ozx.inspect(tmp_path / "b.ozx").images[0].levels
    assert set(os.listdir(tmp_path)) == {"taken.ome.ozx", "b.ozx"}
    result, entries = frames.result, len(list(ozx.list_entries(out)))
    assert result.to_dict() == {
        "schema": 2, "path": str(out), "entries": entries, "bytes": out.stat().st_size, "frames": 10,
        "frame_bytes": 240_000, "missing_count": 0, "missing": [], "seconds": result.seconds, "rate": result.rate,
        "waits": result.waits, "waited": result.waited, "longest_append": result.longest_append,
        "append_p999": result.append_p999, "fullest": result.fullest, "buffer": 192, "notes": [],
        "uploaded": None,
    }  # fmt: skip
    assert 0 < result.append_p999 <= result.longest_append < result.seconds
    assert result.rate == pytest.approx(2_400_000 / result.seconds)


@pytest.mark.parametrize("version", ["0.5", "0.6"])
def test_a_plate(out, version):
    plate = {"B/3": 2, "A/1": 1}
    words = {**WORDS, "shape": (None, 2, 300, 400), "ome_version": version, "plate_shape": (8, 12)}
    with stream(out, plate=plate, **words, **SAID) as frames:
        for number, frame in enumerate(PIXELS.reshape(-1, 300, 400)):
            frames.append(frame, position="B/3/0")
            frames.append(frame[::-1], position=1)
            if number < 4:
                frames.write(frame[:, ::-1], (number // 2, number % 2), position="A/1/0")
    found = ozx.inspect(out)
    assert (found.kind, found.plate.name, found.plate.rows[-1], found.plate.columns[-1]) == (
        "plate", "My cells", "H", "12",
    )  # fmt: skip
    assert [(well.path, well.fields) for well in found.plate.wells] == [("B/3", 2), ("A/1", 1)]
    group = ozx.open(out)
    np.testing.assert_array_equal(group["B/3/0/0"][...], PIXELS)
    np.testing.assert_array_equal(group["B/3/1/0"][...], PIXELS[:, :, ::-1])
    np.testing.assert_array_equal(group["A/1/0/0"][...], PIXELS[:2, :, :, ::-1])
    assert not ozx.validate(out, level="data").findings


def test_records_of_frames(out):
    with stream(out, shape=(None, 2, 300, 400), **WORDS, **SAID) as frames:
        for number, frame in enumerate(PIXELS.reshape(-1, 300, 400)):
            time = np.float32(number / 4)
            frames.append(frame, record={"time": time, "state": f"é{number}", "late": 3 if number == 7 else None})
        with pytest.raises(UsageError, match="a text for the field state, as in earlier records; got 5"):
            frames.append(frame, record={"state": 5})
    assert not ozx.validate(out, level="data").findings
    assert ozx.inspect(out).images[0].records == Records(("late", "state", "time"), 10)
    records = ozx.open(out)["frames"]
    np.testing.assert_array_equal(records["time"][...], np.arange(10).reshape(5, 2) / 4)
    assert records["time"].metadata.dimension_names == ("t", "c")
    assert records["state"][3, 1] == "é7"
    assert [records["late"][3, 1], np.isnan(records["late"][...]).sum()] == [3, 9]


def test_records_of_fields_of_a_plate_and_of_early_stops(out):
    with stream(out, shape=PIXELS.shape, plate={"A/1": 1, "A/2": 1}, **WORDS) as frames:
        frames.write(PIXELS[2, 1], (2, 1), position="A/2/0", record={"x": 1.5})
        frames.append(PIXELS[0, 0])
    group = ozx.open(out)
    assert sorted(group["A/1/0"]) == ["0", "1"]
    np.testing.assert_array_equal(group["A/2/0/frames/x"][...], [[np.nan] * 2, [np.nan] * 2, [np.nan, 1.5]])
    assert_valid(out)


def test_metadata_that_comes_late(out, tmp_path):
    first = {"pixel_size": [3, 1, 0.25, 0.25], "channel_names": [{"label": "?", "window": (3, 99)}]}
    with stream(out, shape=PIXELS.shape, **WORDS, **first) as frames:
        take_all(frames, PIXELS[:3])
        frames.flush()
        frames.set_metadata(
            channel_names=["DAPI", {"label": "GFP" * 300, "color": "00ff00", "window": (1, 9)}], name="My cells"
        )
        frames.set_metadata(pixel_size={"y": 0.5, "t": 2}, unit={"y": "micrometer", "x": "micrometer", "t": "second"})
        take_all(frames, PIXELS[3:])
        for wrong, message in WRONG_WORDS:
            with pytest.raises(UsageError, match=message):
                frames.set_metadata(**wrong)
    channels = [{"label": "DAPI", "window": (3, 99)}, {"label": "GFP" * 300, "color": "00ff00", "window": (1, 9)}]
    words = {**SAID, "channel_names": channels}
    ozx.write_image(tmp_path / "b.ozx", PIXELS, axes="tcyx", **words)
    assert_same_images(out, tmp_path / "b.ozx")
    assert ozx.inspect(out).name == "My cells"
    assert ozx.inspect(out).images[0].levels == ozx.inspect(tmp_path / "b.ozx").images[0].levels
    assert not ozx.validate(out, level="data").findings
    with pytest.raises(UsageError, match="the stream is closed"):
        frames.set_metadata(name="too late")


def test_late_metadata_of_one_position(out):
    with stream(out, shape=(1, 300, 400), axes="tyx", dtype="uint16", positions=["a", "b"], sync=False) as frames:
        frames.set_metadata(pixel_size=[1, 0.5, 0.5])
        frames.set_metadata(name="right", channel_names=["GFP"], position="b")
        frames.append(PIXELS[0, 0])
        frames.append(PIXELS[0, 1], position=1)
        with pytest.raises(UsageError, match="expected one position for the name 'x'; found 2"):
            frames.set_metadata(name="x")
    images = ozx.inspect(out).images
    assert [(image.name, image.channels[0].label) for image in images] == [("a", "Channel 0"), ("right", "GFP")]
    assert [image.levels[0].scale for image in images] == [(1, 0.5, 0.5)] * 2


def test_frames_are_copied_and_several_threads_write(out):
    def take(channel):
        frame = np.empty((300, 400), "uint16")
        for t in range(5):
            frame[...] = PIXELS[t, channel]
            frames.write(frame, (t, channel))

    with stream(out, shape=PIXELS.shape, **WORDS) as frames:
        join_all(start_all(take, range(2)))
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)


def slow(monkeypatch, gate):
    work = EncodingThreads._work
    monkeypatch.setattr(EncodingThreads, "_work", lambda *given: gate.wait() and work(*given))


def test_a_full_memory_raises_or_waits(out, monkeypatch):
    gate = threading.Event()
    slow(monkeypatch, gate)
    least = 16 * 240_000
    with stream(out, shape=(None, 2, 300, 400), memory=least, when_full="raise", **WORDS) as frames:
        assert frames.buffer == 4
        assert [frames.append(frame) for frame in PIXELS[:2].reshape(4, 300, 400)] == [1, 2, 3, 4]
        with pytest.raises(BufferFull, match="the memory is full with 4 frames"):
            frames.append(PIXELS[2, 0])
        assert (frames.buffered, frames.frames) == (4, 4)
        gate.set()
    assert frames.result.missing_count == 0
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS[:2])
    with stream(out, shape=PIXELS.shape, memory=least, force=True, **WORDS) as frames:
        take_all(frames)
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)
    assert frames.result.fullest <= 4


def test_a_frame_whose_append_was_interrupted_is_kept(out, monkeypatch):
    wake = EncodingThreads._wake

    def interrupted(*given):
        monkeypatch.setattr(EncodingThreads, "_wake", wake)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), stream(out, shape=(None, 2, 300, 400), **WORDS) as frames:
        frames.append(PIXELS[0, 0])
        wait_until_encoded(frames)
        monkeypatch.setattr(EncodingThreads, "_wake", interrupted)
        frames.append(PIXELS[0, 1])
    ozx.recover(f"{out}.partial", f"{out}.again.ozx")
    np.testing.assert_array_equal(ozx.open(f"{out}.again.ozx")["0"][...], PIXELS[:1])


def test_an_error_in_a_thread_reaches_the_caller(out, monkeypatch):
    def fail(*given):
        raise OSError(5, "Input/output error")

    frames = stream(out, shape=(None, 2, 300, 400), shards="none", **WORDS)
    frames.append(PIXELS[0, 0])
    wait_until_encoded(frames)
    monkeypatch.setattr("ozx.store.growing_file.write_parts_at", fail)
    frames.append(PIXELS[0, 1])
    wait_until_encoded(frames)
    with pytest.raises(ResourceError, match="Input/output error"):
        frames.append(PIXELS[1, 0])
    with pytest.raises(ResourceError, match="Input/output error") as caught:
        frames.close()
    assert "ozx recover" in caught.value.__notes__[-1]
    assert os.listdir(out.parent) == ["taken.ome.ozx.partial"]
    with pytest.raises(UsageError, match="the stream is closed"):
        frames.append(PIXELS[1, 0])


def test_a_flush_ends_before_the_file_is_left(out, monkeypatch):
    entered, gate = threading.Event(), threading.Event()
    save = OpenChunks.save

    def slow_save(*given):
        entered.set()
        gate.wait()
        save(*given)

    monkeypatch.setattr(OpenChunks, "save", slow_save)
    frames = stream(out, shape=(None, 2, 300, 400), sync_every=3, **WORDS)
    for frame in PIXELS.reshape(-1, 300, 400)[:3]:
        frames.append(frame)
    entered.wait()
    # Ctrl-C while close waits for the thread: Python takes it for ended.
    monkeypatch.setattr(frames._threads._syncing, "join", lambda: None)
    monkeypatch.setattr(frames._threads, "wait", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    threading.Timer(0.1, gate.set).start()
    with pytest.raises(KeyboardInterrupt):
        frames.close()
    assert frames.durable == 3
    ozx.recover(f"{out}.partial", out)
    np.testing.assert_array_equal(ozx.open(out)["0"][...].reshape(-1, 300, 400)[:3], PIXELS.reshape(-1, 300, 400)[:3])


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return two folders, of which the first is the current one."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "first")
    return tmp_path / "first", tmp_path / "second"


def test_what_came_is_kept_in_the_directory_where_the_stream_began(folders):
    first, second = folders
    with pytest.raises(ZeroDivisionError) as caught, stream("a.ozx", shape=PIXELS.shape, **WORDS) as frames:
        take_all(frames)
        os.chdir(second)
        frames.flush()
        1 / 0  # noqa: B018
    partial = first / "a.ozx.partial"
    assert caught.value.__notes__ == [f"The written data is kept: ozx recover {partial} OUT.ozx"]
    ozx.recover(partial, "a.ozx")
    np.testing.assert_array_equal(ozx.open("a.ozx")["0"][...], PIXELS)


def test_a_file_that_appears_while_the_stream_writes_is_kept(tmp_path):
    out, partial = tmp_path / "my cells.ozx", tmp_path / "my cells.ozx.partial"
    frames = stream(out, shape=PIXELS.shape, **WORDS)
    take_all(frames)
    out.write_bytes(b"other")
    with pytest.raises(UsageError, match="the file exists already") as caught:
        frames.close()
    assert caught.value.hint == (
        "Another program created the file during the stream. To save the frames under another name: "
        f"ozx recover '{partial}' OUT.ozx"
    )
    assert caught.value.__notes__ == [f"The written data is kept: ozx recover '{partial}' OUT.ozx"]
    assert (out.read_bytes(), sorted(os.listdir(tmp_path))) == (b"other", [out.name, partial.name])
    assert ozx.recover(partial, tmp_path / "b.ozx").complete
    np.testing.assert_array_equal(ozx.open(tmp_path / "b.ozx")["0"][...], PIXELS)


def test_a_gap_in_the_numbers_costs_neither_time_nor_memory(out):
    with stream(out, axes="tyx", shape=(None, 300, 400), dtype="uint16", sync=False) as frames:
        frames.append(PIXELS[0, 0], record={"time": 1})
        with pytest.raises(UsageError, match=r"an index of at most 100,000,000 along t, .*; got 4,294,967,295"):
            frames.write(PIXELS[0, 0], 2**32 - 1)
        frames.write(PIXELS[0, 1], 99_999_999, record={"time": 2})
        frames.append(PIXELS[1, 0])
    assert (frames.result.missing_count, frames.result.missing[0]) == (99_999_998, ("", (1,)))
    image = ozx.open(out)
    assert (image["0"].shape, image["frames/time"][99_999_999]) == ((100_000_001, 300, 400), 2)
    np.testing.assert_array_equal(image["0"][99_999_998:], [np.zeros_like(PIXELS[0, 0]), PIXELS[0, 1], PIXELS[1, 0]])


def test_errors_name_the_file_as_it_was_given(folders):
    first, second = folders
    with stream("a.ozx", shape=PIXELS.shape, **WORDS) as frames:
        take_all(frames)
        with pytest.raises(ResourceError, match=r"^a\.ozx: another program is writing this file"):
            stream("a.ozx", shape=PIXELS.shape, **WORDS)
        os.chdir(second)
    os.chdir(first)
    with pytest.raises(UsageError, match=r"^a\.ozx: the file exists already"):
        stream("a.ozx", shape=PIXELS.shape, **WORDS)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_an_exception_keeps_what_came(out, tmp_path, kind):
    with pytest.raises(kind) as caught, stream(out, shape=(None, 2, 300, 400), **WORDS) as frames:
        for number, frame in enumerate(PIXELS.reshape(-1, 300, 400)[:5]):
            frames.append(frame, record={"number": number})
        raise kind
    assert os.listdir(tmp_path) == ["taken.ome.ozx.partial"]
    assert caught.value.__notes__ == [f"The written data is kept: ozx recover {out}.partial OUT.ozx"]
    ozx.recover(f"{out}.partial", out)
    expected = PIXELS[:3].copy()
    expected[2, 1] = 0
    np.testing.assert_array_equal(ozx.open(out)["0"][...], expected)
    np.testing.assert_array_equal(ozx.open(out)["frames/number"][...].reshape(-1), [0, 1, 2, 3, 4, np.nan])
    assert_valid(out)


def test_abort_removes_everything(out, tmp_path):
    out.write_bytes(b"old")
    frames = stream(out, shape=PIXELS.shape, force=True, shards="none", **WORDS)
    take_all(frames)
    frames.abort()
    frames.abort()
    assert (out.read_bytes(), os.listdir(tmp_path)) == (b"old", [out.name])
    with pytest.raises(UsageError, match="the stream is closed"):
        frames.close()


def test_close_twice_and_a_stream_without_frames(out, tmp_path):
    with stream(out, shape=PIXELS.shape, **WORDS) as frames:
        take_all(frames)
        assert frames.close() is frames.close()
    with pytest.raises(UsageError, match="received none"), stream(tmp_path / "none.ozx", shape=PIXELS.shape, **WORDS):
        pass
    assert os.listdir(tmp_path) == [out.name]


def test_abort_in_the_block_ends_it_without_an_error(out):
    with stream(out, shape=PIXELS.shape, **WORDS) as frames:
        frames.abort()
    with pytest.raises(UsageError, match="not finished"):
        _ = frames.result
    assert os.listdir(out.parent) == []
    with pytest.raises(UsageError, match="closed"):
        frames.close()


def test_a_stream_that_is_never_closed(out):
    frames = stream(out, shape=PIXELS.shape, **WORDS)
    assert repr(frames) == f"<ozx stream of 0 frames to {str(out)!r}, open>"
    with pytest.raises(ozx.FormatError, match="it is empty") as caught:
        ozx.inspect(f"{out}.partial")
    assert caught.value.hint.startswith("Its writer has not completed any value.")
    with pytest.warns(PartialFileWarning, match="never closed"):
        del frames


def test_an_earlier_writer_that_did_not_finish(out):
    left = out.with_name(out.name + ".partial")
    left.write_bytes(b"what was left")
    with (
        pytest.warns(PartialFileWarning, match="an earlier writer did not finish"),
        stream(out, shape=PIXELS.shape, **WORDS) as frames,
    ):
        take_all(frames)
    assert left.with_name(left.name + ".1").read_bytes() == b"what was left"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"axes": "tyxc"}, "expected axes that end in y, x"),
        ({"axes": "tyx"}, "a length for each of the axes t, y, x; got 4"),
        ({"shape": (5, None, 300, 400)}, "only the first axis may have an unknown length"),
        ({"axes": "ctyx", "shape": (None, 2, 300, 400)}, "only if it is not c, y or x"),
        ({"shape": (0, 2, 300, 400)}, "lengths above 0"),
        ({"axes": "qcyx"}, "one of t, c, z, y, x"),
        ({"when_full": "drop"}, "expected wait or raise for when_full; got 'drop'"),
        ({"memory": 1000}, "memory of at least 3,840,000 bytes, for 4 frames"),
        ({"jobs": 1.5}, "expected a whole number of jobs; got 1.5"),
        ({"positions": "left"}, "a list of distinct names"),
        ({"positions": ["a", "a"]}, "a list of distinct names"),
        ({"positions": ["a"], "plate": {"A/1": 1}}, "only one of positions, plate and cameras"),
        ({"cameras": {}}, "expected cameras by name"),
        ({"cameras": [ozx.Camera()]}, "expected cameras by name"),
        ({"cameras": {"a": ozx.Camera(shape=(3, 300, 400))}}, "a length for each of the axes t, c, y, x; got 3"),
        ({"axes": None}, "expected axes, shape and dtype"),
        ({"plate_shape": (8, 12)}, "plate_shape together with plate"),
        ({"plate": {"A1": 1}}, "expected a well as ROW/COLUMN"),
        ({"downsample": "t,y,x"}, "axis 't' has an unknown length and cannot be downsampled"),
        ({"ome_version": "0.4"}, "OME-Zarr version 0.5 or 0.6"),
    ],
)
def test_wrong_words(out, tmp_path, words, message):
    with pytest.raises(UsageError, match=message):
        stream(out, **{"shape": (None, 2, 300, 400), **WORDS, **words})
    assert os.listdir(tmp_path) == []


def test_types_and_targets_that_cannot_be_written(out, tmp_path):
    with pytest.raises(UnsupportedError, match="at most 64 bits"):
        stream(out, shape=(1, 1, 8, 8), axes="tcyx", dtype="U5")
    with pytest.raises(UsageError, match="on this computer"):
        stream("s3://bucket/a.ozx", shape=PIXELS.shape, **WORDS)
    out.write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        stream(out, shape=PIXELS.shape, **WORDS)
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.parametrize("frame", [PIXELS[0], PIXELS[0, 0].astype("int16"), PIXELS[0, 0, :4], [[1, 2]]])
def test_a_wrong_frame_is_refused_and_the_stream_goes_on(out, frame):
    with stream(out, shape=PIXELS.shape, **WORDS) as frames:
        with pytest.raises(UsageError, match=r"expected a frame of the shape \(300, 400\) and the type uint16; got"):
            frames.append(frame)
        with pytest.raises(UsageError, match="expected one of the 1 positions; got 3"):
            frames.append(PIXELS[0, 0], position=3)
        with pytest.raises(UsageError, match="expected one of the 1 positions; got None"):
            frames.write(PIXELS[0, 0], (0, 0), position=None)
        take_all(frames)
        with pytest.raises(UsageError, match="expected 10 frames"):
            frames.append(PIXELS[0, 0])
    np.testing.assert_array_equal(ozx.open(out)["0"][...], PIXELS)


def test_a_frame_that_comes_while_the_stream_closes_is_refused_or_stored(out, monkeypatch):
    frames = stream(out, shape=(None, 2, 300, 400), **WORDS)
    frames.append(PIXELS[0, 0])
    copying, go_on, errors = threading.Event(), threading.Event(), []
    check = StreamedImage.check_frame

    def slow_check(*given):
        copying.set()
        go_on.wait()
        check(*given)

    def append():
        try:
            frames.append(PIXELS[0, 1])
        except UsageError as error:
            errors.append(error.message)

    monkeypatch.setattr(StreamedImage, "check_frame", slow_check)
    thread = threading.Thread(target=append)
    thread.start()
    copying.wait()
    frames.close()
    go_on.set()
    thread.join()
    assert errors == ["the stream is closed"]
    assert frames.frames == frames.result.frames == 1

"""`ozx stream` as a program in another language meets it: frames by a pipe."""

import io
import json
import re
import sys

import jsonschema
import numpy as np
import pytest
from commands import command, schema_of

import ozx

call = command("stream")
FRAMES = np.random.default_rng(0).integers(0, 9, (6, 30, 40)).astype("uint16")
WORDS = ["--stdin", "--axes", "tcyx", "--shape", "n,2,30,40", "--dtype", "uint16", "--no-sync"]


class Pipe(io.RawIOBase):
    """Bytes that come a few at a time."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._data.readinto(memoryview(buffer)[:777])


@pytest.fixture
def send(monkeypatch):
    def send(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(data), 1000)))

    return send


def with_headers(headers):
    """Return the first frames, each after its header."""
    pairs = zip(headers, FRAMES, strict=False)
    return b"".join(json.dumps(header).encode() + b"\n" + frame.tobytes() for header, frame in pairs)


def test_raw_frames(here, send, capsys):
    send(FRAMES.tobytes())
    code, answer, story = call(capsys, "a.ozx", *WORDS, "--pixel-size", "y=0.5,x=0.5", "--channel-names", "DAPI,GFP")
    assert (code, story) == (0, "")
    assert re.fullmatch(r"a\.ozx  6 frames, [0-9.]+ KiB, [0-9.]+ [KMG]iB/s, longest append [0-9.]+ ms\n", answer)
    np.testing.assert_array_equal(ozx.open("a.ozx")["0"][...], FRAMES.reshape(3, 2, 30, 40))
    image = ozx.inspect("a.ozx").images[0]
    assert [channel.label for channel in image.channels] == ["DAPI", "GFP"]
    assert image.levels[0].scale == (1.0, 1.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("size", "scale", "unit"),
    [("0.325um", 0.325, "micrometer"), ("y=325nm,x=325nm", 325, "nanometer"), ("0.5", 0.5, None)],
)
def test_a_pixel_size_is_given_as_to_edit(here, send, capsys, size, scale, unit):
    send(FRAMES[0].tobytes())
    words = ["--stdin", "--axes", "tyx", "--shape", "n,30,40", "--dtype", "uint16", "--no-sync", "--pixel-size", size]
    assert call(capsys, "a.ozx", *words)[0] == 0
    image = ozx.inspect("a.ozx").images[0]
    assert image.levels[0].scale == (1.0, scale, scale)
    assert [axis.unit for axis in image.axes] == [None, unit, unit]


def test_headers_positions_and_json(here, send, capsys):
    headers = [{"position": "left"}, {"position": 1, "index": [1, 0]}, {"index": [0, 1], "record": {"time": 3.5}}]
    send(with_headers(headers))
    code, answer, _ = call(capsys, "a.ozx", *WORDS, "--headers", "--positions", "left,right", "--json")
    result = json.loads(answer)
    jsonschema.validate(result, schema_of("stream"))
    assert (code, result["frames"], result["missing_count"]) == (3, 3, 3)
    assert result["missing"][0] == {"position": "right", "index": [0, 0]}
    np.testing.assert_array_equal(ozx.open("a.ozx")["1/0"][1, 0], FRAMES[1])
    assert ozx.open("a.ozx")["0/frames/time"][0, 1] == 3.5


def test_a_plate(here, send, capsys):
    send(with_headers([{"position": "B/3/1"}, {"position": "A/1/0"}]))
    words = [*WORDS[:2], "yx", "--shape", "30,40", *WORDS[5:], "--headers", "--plate", "A/1=1,B/3=2"]
    code, _, story = call(capsys, "a.ozx", *words)
    assert (code, story) == (0, "note: 1 positions have no frames; their pixels are zero\n")
    np.testing.assert_array_equal(ozx.open("a.ozx")["B/3/1/0"][...], FRAMES[0])
    np.testing.assert_array_equal(ozx.open("a.ozx")["A/1/0/0"][...], FRAMES[1])


def test_the_input_ends_inside_a_frame(here, send, capsys):
    send(FRAMES.tobytes()[:-10])
    code, _, story = call(capsys, "a.ozx", *WORDS)
    assert code == 3
    assert "note: 1 frames were not received; their pixels are zero\n" in story
    assert "the input ended inside a frame: expected 2,400 bytes, got 2,390" in story
    np.testing.assert_array_equal(ozx.open("a.ozx")["0"][...].reshape(-1, 30, 40)[:5], FRAMES[:5])


def test_the_input_ends_after_a_header(here, send, capsys):
    send(b"{}\n" + FRAMES[0].tobytes() + b"{}\n")
    words = ["--stdin", "--axes", "tyx", "--shape", "n,30,40", "--dtype", "uint16", "--no-sync", "--headers"]
    code, _, story = call(capsys, "a.ozx", *words)
    assert code == 3
    assert "the input ended inside a frame: expected 2,400 bytes, got 0" in story
    np.testing.assert_array_equal(ozx.open("a.ozx")["0"][...], FRAMES[:1])


@pytest.mark.filterwarnings("ignore::ozx.PartialFileWarning")
def test_a_blank_line_does_not_end_the_frames_silently(here, send, capsys):
    frame = b"{}\n" + FRAMES[0].tobytes()
    send(frame + b"\n" + frame + frame)
    code, answer, story = call(capsys, "a.ozx", *WORDS, "--headers")
    assert (code, answer) == (2, "")
    assert "the header of frame 1 is a blank line" in story
    assert (here / "a.ozx.partial").exists()


@pytest.mark.parametrize(
    ("words", "data", "message"),
    [
        (WORDS[1:], b"", "expected --stdin"),
        ([*WORDS[:3], "--shape", "?,2", *WORDS[5:]], b"", "--shape: expected lengths, as in n,2,1024,1024; got '?,2'"),
        ([*WORDS, "--dtype", "pixels"], b"", "--dtype: expected a pixel type, as in uint16; got 'pixels'"),
        ([*WORDS, "--plate", "A/1"], b"", "--plate: expected wells with their number of fields, as in A/1=2,B/3=4"),
        (WORDS, b"", "expected at least one frame; received none"),
        ([*WORDS, "--headers"], b"pixels\n", "expected a line of JSON before each frame"),
        ([*WORDS, "--headers"], b'{"index": "3"}\n' + bytes(2400), "expected index to be a list of numbers"),
        ([*WORDS, "--headers"], b'{"position": []}\n' + bytes(2400), "and position to be a name or number"),
        ([*WORDS, "--headers"], b'{"record": 3}\n' + bytes(2400), "expected a JSON object as the value of 'record'"),
    ],
)
def test_wrong_words_and_input(here, send, capsys, words, data, message):
    send(data)
    code, answer, story = call(capsys, "a.ozx", *words)
    assert (code, answer) == (2, "")
    assert message in story
    assert not (here / "a.ozx").exists()

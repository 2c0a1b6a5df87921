"""Frames of a pipe, and the line of JSON before each frame."""

import io

import numpy as np
import pytest

from ozx.errors import UsageError
from ozx.images.streaming.frames import FrameInput

PIXELS = bytes([1, 2, 3, 4])
FRAME = b"{}\n" + PIXELS


def read(data, *, has_headers=True):
    """Return the input, and its frames."""
    source = FrameInput(io.BytesIO(data), (2, 2), np.dtype("uint8"), has_headers)
    return source, list(source)


def test_headers_and_frames_take_turns():
    source, frames = read(b'{"index": [3], "position": "left", "record": {"time": 2}}\n' + PIXELS + FRAME)
    assert [frame[1:] for frame in frames] == [((3,), "left", {"time": 2}), (None, None, None)]
    assert all(frame.pixels.tolist() == [[1, 2], [3, 4]] for frame in frames)
    assert source.fault is None


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \n"])
def test_a_blank_line_between_frames_is_refused(blank):
    with pytest.raises(UsageError, match=r"a line of JSON before each frame; the header of frame 1 is a blank line"):
        read(FRAME + blank + FRAME)
    source, frames = read(FRAME + blank)
    assert (source.fault, len(frames)) == (None, 1)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"{}\n", "ended inside a frame: expected 4 bytes, got 0"),
        (b"{}\n" + PIXELS[:3], "ended inside a frame: expected 4 bytes, got 3"),
        (b"{}", "ended inside the header of frame 1: expected a line feed after b'{}'"),
        (b'{"ind', """ended inside the header of frame 1: expected a line feed after b'{"ind'"""),
        (b"\r", "ended inside the header of frame 1"),
    ],
)
def test_the_input_ends_inside_a_frame_or_its_header(data, fault):
    source, frames = read(FRAME + data)
    assert len(frames) == 1
    assert fault in source.fault


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", None),
        (PIXELS, None),
        (PIXELS + b"\1", "the input ended inside a frame: expected 4 bytes, got 1"),
    ],
)
def test_frames_without_headers(data, fault):
    source, frames = read(data, has_headers=False)
    assert (len(frames), source.fault) == (len(data) // 4, fault)


@pytest.mark.parametrize("data", [PIXELS, b"{}" + PIXELS, b"[]\n" + PIXELS, b"{" + b" " * (64 << 10), b'{"ind'])
def test_other_headers_are_refused(data):
    with pytest.raises(UsageError, match=r"the header of frame 0: expected"):
        read(data)


@pytest.mark.parametrize("position", ["true", "-1", "1.5", '""'])
def test_other_positions_are_refused(position):
    """Python would take true as position 1, and -1 as the last position."""
    with pytest.raises(UsageError, match="position to be a name or number"):
        read(b'{"position": %s}\n' % position.encode() + PIXELS)

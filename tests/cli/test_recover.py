"""`ozx recover` as a user meets it."""

import pytest
from commands import command

from ozx.archive.reader import ArchiveReader

call = command("recover")


@pytest.fixture
def cut(cells):
    path = cells.with_name("cut.ozx")
    path.write_bytes(cells.read_bytes()[:150_000])
    return path


def test_a_whole_file_ends_with_0(cells, tmp_path, capsys):
    out = tmp_path / "out.ozx"
    assert call(capsys, cells, out) == (0, f"{out}  71 entries, 208.6 KiB; nothing is lost\n", "")
    assert out.read_bytes() == cells.read_bytes()
    assert call(capsys, cells, out)[0] == 2
    assert call(capsys, cells, out, "--force", "--no-sync", "-q") == (0, "", "")


def test_what_is_lost_is_shown_and_ends_with_3(cut, tmp_path, capsys):
    out = tmp_path / "out.ozx"
    code, shown, told = call(capsys, cut, out)
    assert code == 3
    assert shown.splitlines() == [
        f"{out}  39 entries, 148.0 KiB; something is lost",
        "lost: 1 entry",
        "  0/c/1/3/2: it is cut off by the end of the file",
        "array 0: 30 of 32 chunks; 2 missing, within [1:2, 192:256, 128:256]",
        "array 1: 0 of 8 chunks; 8 missing, within [0:2, 0:128, 0:128]",
        "array 2: 0 of 2 chunks; 2 missing, within [0:2, 0:64, 0:64]",
        "array labels/cells/0: 0 of 16 chunks; 16 missing, within [0:256, 0:256]",
        "array labels/cells/1: 0 of 4 chunks; 4 missing, within [0:128, 0:128]",
        "array labels/cells/2: 0 of 1 chunks; 1 missing, within [0:64, 0:64]",
    ]
    assert told.splitlines() == [
        "note: the central directory is damaged or missing; the file may have had more entries",
        (
            "note: 39 keys are in only one of the two headers of their entries, and no checksum covers keys; "
            "these keys fit the hierarchy"
        ),
    ]


def test_many_losses_are_summed_up(cells, tmp_path, capsys):
    reader, data = ArchiveReader(str(cells)), bytearray(cells.read_bytes())
    for index in range(9, 49):
        data[reader.data_offset(index)] ^= 1
    data[reader.data_offset(3)] ^= 1
    cells.write_bytes(data)
    code, shown, _ = call(capsys, cells, tmp_path / "out.ozx")
    assert code == 3
    lines = shown.splitlines()
    assert lines[1] == "lost: 41 entries"
    assert "  and 21 more (--json lists 41)" in lines
    assert lines[-3:] == [
        "array 0: 0 of 32 chunks; 32 missing, within [0:2, 0:256, 0:256]",
        "array 1: 0 of 8 chunks; 8 missing, within [0:2, 0:128, 0:128]",
        "array 2: the array is lost with its metadata; 2 chunks left out",
    ]

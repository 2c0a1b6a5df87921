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
        f"{out}  39 entries, 150.1 KiB; something is lost",
        "2 of 32 chunks of level 0 are missing or were empty, within c=1:2, y=192:256, x=128:256",
        "8 of 8 chunks of level 1 are missing or were empty, within c=0:2, y=0:128, x=0:128",
        "2 of 2 chunks of level 2 are missing or were empty, within c=0:2, y=0:64, x=0:64",
        "16 of 16 chunks of level 0 of labels/cells are missing or were empty, within y=0:256, x=0:256",
        "4 of 4 chunks of level 1 of labels/cells are missing or were empty, within y=0:128, x=0:128",
        "1 of 1 chunks of level 2 of labels/cells is missing or was empty, within y=0:64, x=0:64",
        "lost: 1 entry",
        "  0/c/1/3/2: it is cut off by the end of the file",
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
    assert lines[1:5] == [
        "32 of 32 chunks of level 0 are missing, within c=0:2, y=0:256, x=0:256",
        "8 of 8 chunks of level 1 are missing, within c=0:2, y=0:128, x=0:128",
        "level 2 is missing, with its metadata; 2 chunks are left out",
        "lost: 41 entries",
    ]
    assert lines[-1] == "  and 21 more (--json lists 41)"

"""Values of entries out of a block of the file, against the same values read one by one."""

import zipfile

import numpy as np
import pytest

from ozx.archive.entry_blocks import entry_ranges, value_in_range
from ozx.archive.reader import ArchiveReader

NAMES = [f"0/c/{number}" for number in range(9)]


@pytest.fixture(params=["plain", "zip64", "extra", "streamed"])
def archive(request, tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number, name in enumerate(NAMES):
            info = zipfile.ZipInfo(name)
            if request.param == "extra":
                info.extra = b"\xfe\xca" + (200).to_bytes(2, "little") + bytes(200)
            if request.param == "streamed":
                info.flag_bits |= 8
            with file.open(info, "w", force_zip64=request.param == "zip64") as entry:
                entry.write(bytes([number]) * (100 + number))
    return path


def read_all(path):
    reader = ArchiveReader(str(path))
    places = entry_ranges(reader, np.arange(len(NAMES)))
    block = memoryview(reader.source.read_at(0, places[-1].stop))
    return [bytes(value_in_range(reader, place, block[place.start : place.stop])) for place in places]


def test_values_are_those_read_one_by_one(archive):
    reader = ArchiveReader(str(archive))
    assert read_all(archive) == [reader.read(index) for index in range(len(NAMES))]

"""Of entries of one name, the last one in the directory has to be the last one in the file."""

import pytest
from cases.archive_builder import ArchiveBuilder, Member, array, forge, group

import ozx
from ozx.archive.names.decoding import check_order
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.flow.sources.opening import open_view
from ozx.places.byte_source import MemorySource
from ozx.places.place import Place


def swapped():
    """Exchange the directory's headers of two entries of one name."""
    data = forge([Member(b"a", b"old!"), Member(b"a", b"new!")])
    start, end = data.index(b"PK\1\2"), data.rindex(b"PK\5\6")
    middle = data.index(b"PK\1\2", start + 4)
    return data[:start] + data[middle:end] + data[start:middle] + data[end:]


def test_the_last_one_counts():
    reader = ArchiveReader(MemorySource(forge([Member(b"a", b"old!"), Member(b"a", b"new!")])))
    reader.check(allow_duplicates=True)
    assert reader.read(reader.find("a")) == b"new!"
    check_order("a", [7, 7], "cells.ozx")


def test_what_is_listed_last_and_stands_first_is_refused(tmp_path):
    with pytest.raises(FormatError, match="orders in the central directory and in the file differ") as caught:
        ArchiveReader(MemorySource(swapped())).check(allow_duplicates=True)
    assert caught.value.rule == "zip/duplicate-name"
    path = tmp_path / "a.ozx"
    path.write_bytes(swapped())
    view = open_view(Place.parse(path))
    with pytest.raises(FormatError, match="orders in the central directory and in the file differ"):
        view.find("a")


def test_repack_refuses_it(tmp_path):
    builder = ArchiveBuilder.of({"zarr.json": group(), "0/zarr.json": array([1], [1]), "0/c/0": b"old!"})
    data = builder.duplicate("0/c/0", b"new!").classic().build()
    headers, end = [at for at in range(len(data)) if data.startswith(b"PK\1\2", at)], data.rindex(b"PK\5\6")
    path = tmp_path / "a.ozx"
    path.write_bytes(data[: headers[-2]] + data[headers[-1] : end] + data[headers[-2] : headers[-1]] + data[end:])
    with pytest.raises(FormatError, match="orders in the central directory and in the file differ"):
        ozx.repack(path, tmp_path / "out.ozx")

"""Other values in an archive, its data where they are: read back by `zipfile`."""

import io
import zipfile

import pytest
from cases.archive_builder import Member, extra_field, forge, zip64_extra
from hypothesis import given, settings
from hypothesis import strategies as st
from packed import PROMISE, write_archive, zip_bytes

from ozx.archive.columns import parse_columns
from ozx.archive.reader import ArchiveReader
from ozx.archive.splicing import splice
from ozx.archive.writer import ArchiveWriter, local_header
from ozx.errors import UnsupportedError
from ozx.places.byte_source import MemorySource

EDGE = 0xFFFFFFFF


def join(old: bytes, runs) -> bytes:
    return b"".join(old[run.offset : run.offset + run.length] if run.data is None else run.data for run in runs)


def replaced(old: bytes, values: dict[str, bytes]) -> bytes:
    reader = ArchiveReader(MemorySource(old))
    return join(old, splice(reader, {reader.find(name): value for name, value in values.items()}))


def contents(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        assert file.testzip() is None
        return {info.filename: file.read(info) for info in file.infolist()}


@pytest.mark.ci
@given(
    st.lists(st.binary(max_size=40), min_size=1, max_size=6),
    st.dictionaries(st.integers(0, 5), st.binary(max_size=40), min_size=1),
    st.sampled_from(["ozx", "stored", "deflated"]),
)
@settings(max_examples=150)
def test_all_values_are_the_old_or_the_new_ones(tmp_path_factory, values, others, writer):
    old = {f"{number}/zarr.json": value for number, value in enumerate(values)}
    new = {f"{number}/zarr.json": value for number, value in others.items() if number < len(values)}
    if writer == "ozx":
        archive = write_archive(tmp_path_factory.mktemp("a") / "a.ozx", old).read_bytes()
    else:
        archive = zip_bytes(old, zipfile.ZIP_DEFLATED if writer == "deflated" else zipfile.ZIP_STORED)
    result = replaced(archive, new)
    assert list(contents(result).items()) == list((old | new).items())
    if writer == "ozx":
        assert ArchiveReader(MemorySource(result)).end.comment == PROMISE


def test_equal_values_give_equal_bytes(tmp_path):
    values = {"zarr.json": b"{}", "c/0": b"pixels", "a/zarr.json": b"{}"}
    archive = write_archive(tmp_path / "a.ozx", values).read_bytes()
    assert replaced(archive, {"zarr.json": b"{}", "a/zarr.json": b"{}"}) == archive


@pytest.mark.parametrize("what", ["prepended", "trailing"])
def test_other_bytes_around_an_archive(what):
    archive = forge([Member(b"a", b"{}")], prefix=b"#!/bin/sh\n" if what == "prepended" else b"")
    with pytest.raises(UnsupportedError, match="bytes before or after the archive"):
        replaced(archive + (b"\0" if what == "trailing" else b""), {"a": b"{ }"})


class TestLargeOffsets:
    @pytest.fixture
    def sparse(self, tmp_path):
        """An archive of which the third entry begins 3 bytes before 4 GiB, the fourth behind it."""
        path = tmp_path / "a.ozx"
        with open(path, "wb") as file:
            writer = ArchiveWriter(file.fileno())
            writer.add("zarr.json", b"{}")
            start = writer.flush()
            size = EDGE - 3 - start - len(local_header(b"c/0", 0, 0, 0))
            writer.directory.add(b"c/0", 0, 0, size, start)
            file.seek(start)
            file.write(local_header(b"c/0", 0, 0, size))
            file.flush()
            writer.skip_to(EDGE - 3)
            writer.add("c/1", b"across")
            writer.add("c/2", b"behind")
            writer.finish()
        return ArchiveReader(str(path))

    @pytest.mark.parametrize("value", [b"{}", b"{ }", bytes(1000)])
    def test_offsets(self, sparse, value):
        runs = splice(sparse, {0: value})
        tail = runs[-1].data
        columns = parse_columns(tail[: tail.index(b"PK\x06\x06")], 4)
        old = sparse.columns.header_offsets
        assert columns.header_offsets.tolist() == [0, *(int(offset) + len(value) - 2 for offset in old[1:])]
        assert columns.uncompressed_sizes.tolist() == [len(value), *sparse.columns.uncompressed_sizes[1:].tolist()]

    def test_a_zip64_field_behind_another(self):
        fields = extra_field(0x5455, b"\x01abcd") + zip64_extra(50)
        member = Member(b"c/0", b"x", central={"offset": EDGE}, central_extra=fields)
        old = forge([Member(b"zarr.json", b"{}" * 5), member])
        offset = ArchiveReader(MemorySource(forge([Member(b"zarr.json", b"{}" * 5), Member(b"c/0", b"x")]))).columns
        member.central_extra = extra_field(0x5455, b"\x01abcd") + zip64_extra(int(offset.header_offsets[1]))
        old = forge([Member(b"zarr.json", b"{}" * 5), member])
        assert contents(replaced(old, {"zarr.json": b"{}"}))["c/0"] == b"x"

"""Entries that are empty by their headers: what follows has to agree, at every door."""

import pytest
from agreement import check_agreement, errors_of
from cases.archive_builder import ArchiveBuilder, array, group

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.places.byte_source import MemorySource

ZEROED = dict.fromkeys(("crc32", "compressed", "uncompressed"), 0)
VALUES = {"zarr.json": group(), "0/zarr.json": array([2], [1]), "0/c/0": b"\1234", "0/c/1": b"5678", "x": b"last"}


def build(name="0/c/0", value=None):
    builder = ArchiveBuilder()
    for key, old in VALUES.items():
        builder.add(key, old if key != name or value is None else value)
    return builder.classic()


def check_refused(path, data, name):
    reader = ArchiveReader(MemorySource(data))
    with pytest.raises(FormatError, match="it is empty according to the central directory") as caught:
        reader.read(reader.find(name))
    assert caught.value.rule == "zip/local-header"
    path.write_bytes(data)
    assert "zip/local-header" in errors_of(path)
    assert check_agreement(data) == []


@pytest.mark.parametrize("name", ["0/c/0", "x"])
@pytest.mark.parametrize("signature", [True, False])
@pytest.mark.parametrize("value", [b"abcd", bytes(24), bytes(16), bytes(12), bytes(100)])
def test_a_streamed_value_is_not_empty_by_the_directory_alone(tmp_path, name, signature, value):
    # Zeros look like the descriptor of an empty value; the one that follows them tells.
    data = build(name, value).stream(name, signature=signature).set(name, central=ZEROED).build()
    check_refused(tmp_path / "a.ozx", data, name)


@pytest.mark.parametrize("name", ["0/c/0", "x"])
def test_nor_by_both_headers(tmp_path, name):
    check_refused(tmp_path / "a.ozx", build(name).set(name, central=ZEROED, local=ZEROED).build(), name)


def test_nor_where_a_zip64_field_still_has_its_size(tmp_path):
    """A value that is an archive begins with a local header, as a deleted entry behind an empty one does."""
    inner = ArchiveBuilder().add("a", b"inner").classic().build()
    builder = ArchiveBuilder.of(VALUES | {"x": inner, "y": b"y"})
    data = bytearray(builder.build())
    local = data.rindex(b"PK\3\4", 0, data.index(inner))
    central = data.index(b"PK\1\2", data.index(b"y", local))
    while data[central + 46 : central + 47] != b"x":
        central = data.index(b"PK\1\2", central + 4)
    data[local + 14 : local + 26] = bytes(12)
    data[central + 16 : central + 28] = bytes(12)
    reader = ArchiveReader(MemorySource(bytes(data)))
    with pytest.raises(FormatError, match="a ZIP64 field with a size"):
        reader.read(reader.find("x"))
    (tmp_path / "a.ozx").write_bytes(data)
    assert errors_of(tmp_path / "a.ozx")
    assert check_agreement(bytes(data)) == []
    result = ozx.recover(tmp_path / "a.ozx", tmp_path / "b.ozx")
    assert not result.complete

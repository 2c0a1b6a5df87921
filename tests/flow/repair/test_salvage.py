"""Which keys are believed: those that are confirmed, and those that fit the hierarchy and nothing speaks against."""

import pytest
from cases.archive_builder import array, group
from packed import sort_values, write_archive

from ozx.archive.reader import ArchiveReader
from ozx.archive.recovery.directory import merge_directory
from ozx.archive.recovery.scan import scan_archive
from ozx.flow.repair.salvage import count_losses, salvage
from ozx.places.byte_source import MemorySource

MULTISCALES = [{"axes": [], "datasets": [{"path": "0"}, {"path": "1"}]}]
VALUES = {
    "zarr.json": group(attributes={"ome": {"version": "0.5", "multiscales": MULTISCALES}}),
    "0/zarr.json": array([80, 60], [20, 20]),
    "1/zarr.json": array([40, 20], [20, 20]),
    "OME/METADATA.ome.xml": b"<OME/>",
} | {
    f"{level}/c/{y}/{x}": f"{level}{y}{x}".encode()
    for level, ny, nx in ((0, 4, 3), (1, 2, 1))
    for y in range(ny)
    for x in range(nx)
}


@pytest.fixture
def data(tmp_path):
    return write_archive(tmp_path / "a.ozx", sort_values(VALUES)).read_bytes()


def save(data):
    source = MemorySource(data)
    found = salvage(source, merge_directory(source, scan_archive(source)))
    keys = [found.key(index) for index in found.indices]
    assert len(set(keys)) == len(keys)
    return found, {
        key: data[entry.data_offset : entry.end]
        for key, entry in zip(keys, map(found.entry, found.indices), strict=True)
    }


def rename(data, old, new, *, local=True, central=False):
    """Replace a name in its local header, in the directory, or in both."""
    directory = data.rindex(b"PK\1\2\x2d\3", 0, data.index(b"PK\1\2") + 10) if b"PK\1\2" in data else len(data)
    result = bytearray(data)
    places = [place for place in range(len(data)) if data.startswith(old.encode(), place)]
    for place in places:
        is_name = data[place - 30 : place - 28] == b"PK" or data[place - 46 : place - 44] == b"PK"
        if is_name and (local if place < directory else central):
            result[place : place + len(old)] = new.encode()
    assert result != data
    return bytes(result)


def without_directory(data):
    return data[: ArchiveReader(MemorySource(data)).end.directory_offset]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0/c/1/1", "0/c/1/2"),  # another one's
        ("0/c/1/1", "0/c/1/9"),  # outside the grid
        ("0/c/1/1", "0/b/1/1"),
        ("0/c/1/1", "0xc/1/1"),
        ("0/c/1/1", "0/c/1\\1"),
        ("0/zarr.json", "1/zarr.json"),
        ("0/zarr.json", "7/zarr.json"),
        ("0/zarr.json", "0/zarr.jsom"),
        ("zarr.json", "zarr.jsom"),
        ("1/c/0/0", "0/c/0/0"),
    ],
)
@pytest.mark.parametrize("place", ["local", "central"])
def test_of_two_names_the_one_that_fits_counts(data, old, new, place):
    damaged = rename(data, old, new, local=place == "local", central=place == "central")
    found, values = save(damaged)
    assert values == VALUES
    assert found.is_complete


def sparse(tmp_path, *missing):
    values = {key: value for key, value in VALUES.items() if key not in missing}
    return values, write_archive(tmp_path / "sparse.ozx", sort_values(values)).read_bytes()


def test_of_two_names_that_fit_the_one_in_order_counts(tmp_path):
    values, data = sparse(tmp_path, "0/c/3/1")
    for local in (True, False):
        assert save(rename(data, "0/c/2/1", "0/c/3/1", local=local, central=not local))[1] == values
    values, data = sparse(tmp_path, "0/c/2/2")
    found, saved = save(rename(data, "0/c/2/1", "0/c/2/2"))
    assert saved == {key: value for key, value in values.items() if key != "0/c/2/1"}
    assert found.lost[0].reason == "its name is damaged: its two headers give it the names '0/c/2/2' and '0/c/2/1'"
    assert not found.is_complete


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("0/c/1/1", "0/c/3/1", "0/c/3/1"),  # there twice
        ("0/c/1/1", "0/c/1/9", "0/c/1/9"),
        ("0/c/1/1", "0/b/1/1", "0/b/1/1"),
        ("0/c/1/1", "0xc/1/1", "0xc/1/1"),
        ("0/c/1/1", "\x01/c/1/1", None),
        ("0/c/1/1", "7/c/1/1", None),  # of an array without metadata
        ("0/zarr.json", "1/zarr.json", None),
        ("0/zarr.json", "7/zarr.json", "7/zarr.json"),
        ("0/zarr.json", "0/zarr.jsom", "0/zarr.jsom"),
        ("OME/METADATA.ome.xml", "OME/METADATA.ome.xmk", "OME/METADATA.ome.xmk"),
    ],
)
def test_a_name_that_a_local_header_alone_gives_has_to_fit(data, old, new, lost):
    damaged = rename(without_directory(data), old, new)
    found, values = save(damaged)
    gone = {old} | ({key for key in VALUES if key.startswith("0/")} if "zarr.js" in old else set())
    assert values == {key: value for key, value in VALUES.items() if key not in gone}
    assert lost is None or lost in {entry.name for entry in found.lost}
    assert count_losses(found) or old.startswith("OME")


def test_a_name_out_of_order_where_one_like_it_is_missing_is_lost(tmp_path):
    values, data = sparse(tmp_path, "0/c/3/1")
    found, saved = save(rename(without_directory(data), "0/c/1/1", "0/c/3/1"))
    assert saved == {key: value for key, value in values.items() if key != "0/c/1/1"}
    assert (
        found.lost[0].reason
        == "its name is likely damaged: it is out of order, and a similar, expected name is missing"
    )


def test_arrays_that_the_metadata_names_and_that_are_gone_are_told(data):
    damaged = bytearray(data)
    damaged[data.index(b'"node_type": "array"', data.index(b"1/zarr.json"))] ^= 1
    found, _ = save(bytes(damaged))
    assert [(loss.path, loss.is_lost, loss.found) for loss in count_losses(found)] == [("1", True, 2)]


def test_regions_of_what_is_lost(data):
    damaged = bytearray(data)
    for chunk in (b"010", b"021"):
        damaged[data.index(b"\0" + chunk) + 1] ^= 1
    (loss,) = count_losses(save(bytes(damaged))[0])
    assert loss.to_dict() == {
        "path": "0",
        "chunks": 12,
        "found": 10,
        "missing": 2,
        "region": [[20, 60], [0, 40]],
        "is_lost": False,
        "sentence": "2 of 12 chunks of level 0 are missing, within axis 0=20:60, axis 1=0:40",
    }

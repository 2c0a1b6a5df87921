"""is_ozx: right about good files, silent about bad ones, two reads at the most."""

import sys

import pytest
from hierarchies import FIXTURES, tree
from hypothesis import given
from hypothesis import strategies as st
from packed import PROMISE, pack_tree, sort_values, write_archive, zip_bytes, zip_values

from ozx.errors import UsageError
from ozx.ome.comment import make_comment
from ozx.operations import detect
from ozx.operations.detect import is_ozx
from ozx.places.byte_source import FileSource

IMAGE = tree(FIXTURES / "image.ome.zarr")
GROUP = b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'
OME = b'{"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": "0.5"}}}'


@pytest.mark.parametrize("path", ["", "d\0.ozx"])
def test_what_cannot_be_a_path_is_refused(path):
    with pytest.raises(UsageError, match="expected a path"):
        is_ozx(path)


@pytest.fixture
def reads(monkeypatch):
    """The reads of files that `is_ozx` makes."""
    found = []

    class Counting(FileSource):
        def read_at(self, offset, length):
            found.append((offset, length))
            return super().read_at(offset, length)

    monkeypatch.setattr(detect, "FileSource", Counting)
    return found


def answers(path, reads):
    """Return the answer about a file, which takes two reads at the most, and about its bytes."""
    reads.clear()
    by_path = is_ozx(path)
    assert len(reads) <= 2
    assert is_ozx(str(path)) == by_path
    return by_path, is_ozx(path.read_bytes())


MANY = {f"0/c/{number}": b"x" * 10 for number in range(9_000)}


def test_packed_fixtures_are(tmp_path, hierarchy, reads):
    assert answers(pack_tree(hierarchy, tmp_path / "a.ozx"), reads) == (True, True)


@pytest.mark.parametrize("comment", [PROMISE, make_comment("0.5", json_first=False), b"", b"not JSON"])
@pytest.mark.parametrize("is_backwards", [False, True])
def test_with_any_comment_and_order(tmp_path, comment, is_backwards, reads):
    values = dict(reversed(IMAGE.items())) if is_backwards else sort_values(IMAGE)
    assert answers(write_archive(tmp_path / "a.ozx", values, comment), reads) == (True, True)


@pytest.mark.parametrize("deflated", [False, True])
@pytest.mark.parametrize("before", [b"", b"#!/bin/sh\n"])
def test_of_other_writers(tmp_path, deflated, before, reads):
    path = zip_values(tmp_path / "a.zip", IMAGE, deflated=deflated)
    path.write_bytes(before + path.read_bytes())
    assert answers(path, reads) == (True, True)


@pytest.mark.ci
@pytest.mark.parametrize("write", [write_archive, zip_values])
@pytest.mark.parametrize("comment", [PROMISE, b""])
def test_of_many_entries(tmp_path, write, comment, reads):
    assert answers(write(tmp_path / "a.ozx", {"zarr.json": OME, **MANY}, comment), reads) == (True, True)


def test_a_root_far_from_the_end(tmp_path, reads):
    values = {"chunk": b"before", "zarr.json": OME, "0/c/0": bytes(2_000_000)}
    assert answers(write_archive(tmp_path / "a.ozx", values, b""), reads) == (True, True)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"a.txt": b"text"},
        {"zarr.json": GROUP},
        {"zarr.json": b"{"},
        {"zarr.json": b"[]"},
        {"foozarr.json": OME},
        {"cells/zarr.json": OME},
        tree(FIXTURES / "legacy.ome.zarr"),
        {"zarr.json": GROUP, **MANY},
        MANY,
    ],
    ids=["empty", "text", "no ome", "broken", "list", "foozarr", "too deep", "0.4", "many, no ome", "many, no root"],
)
def test_other_zip_files_are_not(tmp_path, values, reads):
    assert answers(zip_values(tmp_path / "a.ozx", values), reads) == (False, False)


def test_a_comment_alone_is_not_enough(tmp_path, reads):
    assert answers(zip_values(tmp_path / "a.ozx", {"a.txt": b"text"}, PROMISE), reads) == (False, False)


@pytest.mark.parametrize("data", [b"", b"PK", b"II*\0" * 100, b"PK\3\4" + bytes(100), b"PK\5\6" + bytes(18)])
def test_no_archive(tmp_path, data, reads):
    (tmp_path / "a.ozx").write_bytes(data)
    assert answers(tmp_path / "a.ozx", reads) == (False, False)


def test_a_truncated_file_is_not_but_its_first_bytes_look_like_one(tmp_path, reads):
    path = pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "a.ozx")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert answers(path, reads) == (False, True)
    assert [is_ozx(data[:length]) for length in (0, 4, 30, 38)] == [False] * 4
    assert all(is_ozx(data[:length]) for length in (64, 100, 4096, 30_000))
    assert is_ozx(bytearray(data))
    assert is_ozx(memoryview(data)[:512])


def test_first_bytes_of_something_else(tmp_path):
    for values in ({"zarr.json": GROUP, "0/c/0": bytes(5000)}, {"a.txt": bytes(5000)}):
        data = zip_values(tmp_path / "a.zip", values).read_bytes()
        assert not is_ozx(data[:4096])


def test_directories_and_devices_are_not(tmp_path):
    assert not is_ozx(tmp_path)
    assert not is_ozx(FIXTURES / "image.ome.zarr")
    if sys.platform != "win32":
        assert not is_ozx("/dev/null")


@given(st.data())
def test_damage_never_raises(data):
    archive = bytearray(zip_bytes({"zarr.json": OME}))
    for _ in range(data.draw(st.integers(1, 6))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(archive)))
    assert is_ozx(bytes(archive)) in (True, False)
    assert is_ozx(bytes(archive[cut:])) in (True, False)
    assert is_ozx(bytes(archive[:cut])) in (True, False)

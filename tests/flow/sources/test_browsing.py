"""Looking into archives and directories."""

import zipfile

import pytest
from hierarchies import FIXTURES, tree
from links import make_link
from packed import PROMISE, pack_tree, sort_values, write_archive, zip_values
from range_server import serving

from ozx.archive.byte_source import FileSource, MemorySource
from ozx.errors import FormatError, UsageError
from ozx.flow.sources import browsing
from ozx.flow.sources.browsing import ArchiveView, DirectoryView
from ozx.flow.sources.opening import open_view
from ozx.hierarchy.comment import make_comment
from ozx.hierarchy.json import reading as document_limits
from ozx.hierarchy.keys import is_metadata_key


class CountingSource(MemorySource):
    def __init__(self, data):
        super().__init__(data)
        self.reads = self.bytes = 0

    def read_at(self, offset, length):
        data = super().read_at(offset, length)
        self.reads, self.bytes = self.reads + 1, self.bytes + len(data)
        return data


def image_with_chunks(tmp_path, chunks, comment=PROMISE):
    values = {key: value for key, value in tree(FIXTURES / "image.ome.zarr").items() if is_metadata_key(key)}
    values |= {f"0/c/{number}": b"x" * 40 for number in range(chunks)}
    return write_archive(tmp_path / f"{chunks}.ozx", sort_values(values), comment)


def read_all_metadata(path):
    source = CountingSource(path.read_bytes())
    view = ArchiveView(source)
    documents = {item.key: view.read_document(item) for item in view.iter_items(metadata_only=True)}
    return documents, source


def test_with_the_promise_reads_do_not_depend_on_the_number_of_entries(tmp_path):
    few, small = read_all_metadata(image_with_chunks(tmp_path, 10))
    many, big = read_all_metadata(image_with_chunks(tmp_path, 60_000))
    assert (
        few == many == {key: value for key, value in tree(FIXTURES / "image.ome.zarr").items() if is_metadata_key(key)}
    )
    assert big.reads == 3  # the end records, the beginning of the directory, the values
    assert small.reads <= big.reads
    assert big.bytes < 300_000  # of an archive of 9 MB


@pytest.mark.parametrize("comment", [b"", make_comment("0.5", json_first=False), b"{broken"])
def test_without_the_promise_the_whole_directory_is_read(tmp_path, comment):
    values = sort_values(tree(FIXTURES / "image.ome.zarr"))
    backwards = dict(reversed(values.items()))
    view = ArchiveView(FileSource(str(write_archive(tmp_path / "a.ozx", backwards, comment))))
    assert not view.is_metadata_first
    assert {item.key for item in view.iter_items(metadata_only=True)} == {key for key in values if is_metadata_key(key)}


def test_a_promise_that_is_broken_at_once_is_not_believed(tmp_path):
    backwards = dict(reversed(sort_values(tree(FIXTURES / "image.ome.zarr")).items()))
    view = ArchiveView(FileSource(str(write_archive(tmp_path / "a.ozx", backwards, PROMISE))))
    assert not view.is_metadata_first
    assert view.find("zarr.json") is not None


@pytest.mark.parametrize("many", [0, 1 << 30])
@pytest.mark.parametrize("deflated", [False, True])
def test_both_ways_of_reading_the_directory_agree_with_zipfile(tmp_path, monkeypatch, many, deflated):
    monkeypatch.setattr(browsing, "MANY_ENTRIES", many)
    values = {**tree(FIXTURES / "series.ome.zarr"), "µ.xml": b"name", "empty": b""}
    path = zip_values(tmp_path / "a.zip", values, deflated=deflated)
    path.write_bytes(b"prepended" + path.read_bytes())
    view = open_view(str(path))
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        found = list(view.iter_items())
        assert [(item.key, item.size, item.header.crc32) for item in found] == [
            (info.filename, info.file_size, info.CRC) for info in infos
        ]
        assert all(item.header.header_offset == info.header_offset for item, info in zip(found, infos, strict=True))
    assert {item.key: b"".join(view.iter_value(item)) for item in found} == values


def test_names_in_old_code_pages(tmp_path, monkeypatch):
    data = bytearray(zip_values(tmp_path / "a.zip", {"caf.": b"1"}).read_bytes())
    data = bytes(data).replace(b"caf.", b"caf\x82")
    for many in (0, 10):
        monkeypatch.setattr(browsing, "MANY_ENTRIES", many)
        view = ArchiveView(MemorySource(data))
        assert [item.key for item in view.iter_items()] == ["café"]
        assert b"".join(view.iter_value(view.find("café"))) == b"1"


def test_of_entries_of_one_name_the_last_counts(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("key", b"old")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("key", b"new")
    view = open_view(str(tmp_path / "a.zip"))
    assert b"".join(view.iter_value(view.find("key"))) == b"new"


def test_a_directory_is_listed_folder_by_folder(tmp_path):
    for key in ("b/2", "b/10", "b/x/1", "a", "zarr.json", "10/c", "9/c"):
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(key.encode())
    view = DirectoryView(str(tmp_path))
    assert [item.key for item in view.iter_items()] == ["a", "zarr.json", "9/c", "10/c", "b/2", "b/10", "b/x/1"]
    assert [item.key for item in view.iter_items(metadata_only=True)] == ["zarr.json"]
    assert all(b"".join(view.iter_value(item)) == item.key.encode() for item in view.iter_items())


def test_the_fixtures_as_directories(hierarchy):
    view = open_view(str(hierarchy))
    assert {item.key: b"".join(view.iter_value(item)) for item in view.iter_items()} == tree(hierarchy)
    assert view.find("nothing") is None
    assert view.find("0") is None  # a folder


def test_links_are_followed_but_not_in_circles(tmp_path):
    (tmp_path / "h" / "a").mkdir(parents=True)
    (tmp_path / "h" / "a" / "file").write_bytes(b"1")
    make_link(tmp_path / "h" / "again", "a")
    make_link(tmp_path / "h" / "a" / "up", "..")
    make_link(tmp_path / "h" / "nowhere", "gone")
    items = {item.key: item.size for item in DirectoryView(str(tmp_path / "h")).iter_items()}
    assert items == {"a/file": 1, "again/file": 1, "nowhere": 0}


def test_metadata_of_absurd_length_is_not_read(tmp_path, monkeypatch):
    length = document_limits.LONGEST_DOCUMENT + 1
    path = write_archive(tmp_path / "a.ozx", {"zarr.json": bytes(length)})
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "zarr.json").write_bytes(bytes(length))
    for view in (open_view(str(path)), open_view(str(tmp_path / "h"))):
        with pytest.raises(FormatError, match="at most 33,554,432 bytes; found 33,554,433"):
            view.read_document(view.find("zarr.json"))


def test_nothing_is_an_operating_system_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_view(str(tmp_path / "nothing"))


def test_a_packed_fixture_keeps_its_promise(tmp_path, hierarchy):
    view = open_view(str(pack_tree(hierarchy, tmp_path / "a.ozx")))
    assert view.is_metadata_first
    assert {item.key for item in view.leading} == {key for key in tree(hierarchy) if is_metadata_key(key)}


def test_a_view_from_a_node_shows_what_is_below_it(tmp_path, image):
    path = pack_tree(image, tmp_path / "a.ozx")
    below = tree(image / "labels" / "cells")
    view = open_view(f"{path}|zip:labels/cells/")
    assert view.node == "labels/cells"
    assert {item.key: b"".join(view.iter_value(item)) for item in view.iter_items()} == below
    metadata = {key: value for key, value in below.items() if is_metadata_key(key)}
    assert {item.key: view.read_document(item) for item in view.iter_items(metadata_only=True)} == metadata
    assert [item.key for item in view.leading] == [item.key for item in view.iter_items(metadata_only=True)]
    for key in ("zarr.json", "0/zarr.json", next(key for key in below if "/c/" in key)):
        assert b"".join(view.iter_value(view.find(key))) == below[key]
        data = path.read_bytes()
        offset = view.data_offset(view.find(key))
        assert data[offset : offset + len(below[key])] == below[key]
    assert view.find("labels/cells/zarr.json") is view.find("0") is None


def test_a_view_from_a_node_does_not_show_what_is_only_called_alike(tmp_path):
    group = b'{"zarr_format": 3, "node_type": "group"}'
    values = {"zarr.json": group, "0/zarr.json": group, "00/zarr.json": group, "0/c": b"1", "0.txt": b"2"}
    view = open_view(f"{zip_values(tmp_path / 'a.zip', values)}|zip:0")
    assert [item.key for item in view.iter_items()] == ["zarr.json", "c"]


@pytest.mark.parametrize(
    ("node", "hint"),
    [("labels/cell", "labels/cells"), ("label", "labels"), ("LABELS", "0 and 1"), ("0/c", "among others")],
)
@pytest.mark.parametrize("json_first", [True, False])
def test_a_node_that_does_not_exist(tmp_path, image, node, hint, json_first):
    path = pack_tree(image, tmp_path / "a.ozx", PROMISE if json_first else b"")
    with pytest.raises(UsageError, match=f"has no node '{node}'") as caught:
        open_view(f"{path}|zip:{node}")
    assert hint in caught.value.hint
    assert caught.value.path == str(path)


def test_nodes_of_zarr_v2(tmp_path):
    legacy = FIXTURES / "legacy.ome.zarr"
    view = open_view(f"{zip_values(tmp_path / 'a.zip', tree(legacy))}|zip:0/")
    assert {item.key for item in view.iter_items()} == tree(legacy / "0").keys()


@pytest.mark.parametrize(("node", "folder"), [("", "."), ("|zip:labels/", "labels")])
def test_a_view_of_an_archive_behind_a_url(tmp_path, image, node, folder):
    pytest.importorskip("obstore", reason="the extra remote is not installed")
    with serving(pack_tree(image, tmp_path / "a.ozx").read_bytes()) as server:
        view = open_view(server.url + node)
        assert {item.key: view.read_document(item) for item in view.leading} == {
            key: value for key, value in tree(image / folder).items() if is_metadata_key(key)
        }
        assert len(server.take_requests()) == 1  # its last MiB is the whole of it

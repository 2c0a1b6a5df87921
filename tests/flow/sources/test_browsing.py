"""Looking into archives and directories."""

import pytest
from counting_source import CountingSource
from hierarchies import FIXTURES, tree
from links import make_link
from packed import PROMISE, sort_values, write_archive, zip_values

from ozx.errors import FormatError
from ozx.flow.sources import browsing
from ozx.flow.sources.browsing import ArchiveView, DirectoryView, open_view
from ozx.places.byte_source import MemorySource
from ozx.places.place import Place
from ozx.zarr import json_reading as document_limits
from ozx.zarr.keys import is_metadata_key


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
    assert len(big.reads) == 3  # the end records, the beginning of the directory, the values
    assert len(small.reads) <= 3
    assert sum(length for _, length in big.reads) < 300_000  # of an archive of 9 MB


def test_names_in_old_code_pages(tmp_path, monkeypatch):
    data = bytearray(zip_values(tmp_path / "a.zip", {"caf.": b"1"}).read_bytes())
    data = bytes(data).replace(b"caf.", b"caf\x82")
    for many in (0, 10):
        monkeypatch.setattr(browsing, "MANY_ENTRIES", many)
        view = ArchiveView(MemorySource(data))
        assert [item.key for item in view.iter_items()] == ["café"]
        assert b"".join(view.iter_value(view.find("café"))) == b"1"


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
    for view in (open_view(Place.parse(str(path))), open_view(Place.parse(str(tmp_path / "h")))):
        with pytest.raises(FormatError, match="at most 33,554,432 bytes; found 33,554,433"):
            view.read_document(view.find("zarr.json"))

"""Files by range, and as virtual directories."""

import http.client
import json
import os
import zipfile
from contextlib import closing

import pytest
import zarr
from hierarchies import FIXTURES, HIERARCHIES, tree
from packed import pack_tree, zip_values

import ozx
from ozx.desktop.viewer.file_server import FileServer
from ozx.desktop.viewer.loopback import LoopbackServer, Request, serving
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.places.byte_source import FileSource
from ozx.places.place import Place

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture
def ask(path):
    """Ask a server for a path, by a real connection; returns status, headers and body."""
    files = FileServer([path], cors="https://viewer.example")
    with serving(LoopbackServer(files.respond)) as server:

        def send(path, method="GET", **headers):
            given = {key.replace("_", "-"): text for key, text in headers.items()}
            with closing(http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)) as connection:
                connection.request(method, path, headers=given)
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read()

        send.server = server
        yield send


def test_every_value_is_there_by_its_key(ask):
    for key, value in tree(IMAGE).items():
        assert ask(f"/cells.ozx/{key}")[::2] == (200, value)


KEYS = ["", "nothing", "0", "0/", "../cells.ozx", "zarr.json/"]


@pytest.mark.parametrize("place", ["/", "/other.ozx", *(f"/cells.ozx/{key}" for key in KEYS)])
def test_what_is_no_key_is_not_there(ask, place):
    assert ask(place)[0] == 404


def test_the_file_itself_and_its_size_alone(ask, path):
    for method, data in (("GET", path.read_bytes()), ("HEAD", b"")):
        status, headers, body = ask("/cells.ozx", method)
        assert (status, headers["Accept-Ranges"], headers["Content-Length"]) == (200, "bytes", str(path.stat().st_size))
        assert body == data


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=2-4", slice(2, 5)),
        ("bytes=0-0", slice(0, 1)),
        ("bytes=100-", slice(100, None)),
        ("bytes=-22", slice(-22, None)),
        ("bytes=-99999999", slice(None)),
        ("bytes=5-99999999", slice(5, None)),
    ],
)
@pytest.mark.parametrize("key", ["", "/0/c/0/0/0"])
def test_ranges(ask, path, wanted, part, key):
    data = tree(IMAGE)[key[1:]] if key else path.read_bytes()
    status, headers, body = ask(f"/cells.ozx{key}", Range=wanted)
    assert (status, body) == (206, data[part])
    start, stop, _ = part.indices(len(data))
    assert headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(data)}"


@pytest.mark.parametrize("wanted", ["bytes=5-2", "bytes=-", "bytes=a-b", "items=1-2", "bytes=1-2,4-5"])
def test_ranges_that_make_no_sense_are_ignored(ask, path, wanted):
    assert ask("/cells.ozx", Range=wanted)[0] == 200


@pytest.mark.parametrize("wanted", ["bytes=99999999-", "bytes=-0"])
def test_ranges_beyond_the_end_cannot_be_had(ask, path, wanted):
    status, headers, body = ask("/cells.ozx", Range=wanted)
    assert (status, body) == (416, b"")
    assert headers["Content-Range"] == f"bytes */{path.stat().st_size}"


def test_what_a_client_has_already_is_not_sent_again(ask):
    tag = ask("/cells.ozx/zarr.json")[1]["ETag"]
    assert ask("/cells.ozx/zarr.json", If_None_Match=tag)[0] == 304
    assert ask("/cells.ozx", If_Range='"other"', Range="bytes=0-1")[0] == 200


def test_only_pages_of_the_origin_that_was_named_may_read(ask):
    _, headers, _ = ask("/cells.ozx/zarr.json", Origin="https://viewer.example")
    assert headers["Access-Control-Allow-Origin"] == "https://viewer.example"
    assert "Content-Range" in headers["Access-Control-Expose-Headers"]
    status, headers, _ = ask("/cells.ozx", "OPTIONS", Origin="https://viewer.example")
    assert (status, headers["Access-Control-Allow-Private-Network"]) == (204, "true")
    assert "Range" in headers["Access-Control-Allow-Headers"]

    for method in ("GET", "OPTIONS"):
        _, headers, _ = ask("/cells.ozx/zarr.json", method, Origin="https://evil.example")
        assert headers["Access-Control-Allow-Origin"] is None


@pytest.mark.ci  # with aiohttp
def test_a_library_for_urls_reads_it(ask):
    group = zarr.open_group(f"http://127.0.0.1:{ask.server.server_port}/cells.ozx/", mode="r", zarr_format=3)
    assert group["0"][1, 40, 30] == zarr.open_group(IMAGE, mode="r")["0"][1, 40, 30]


def test_our_own_reader_reads_it_by_ranges(ask):
    pytest.importorskip("obstore")
    group = ozx.open(f"http://127.0.0.1:{ask.server.server_port}/cells.ozx")
    assert group["0"].shape == (2, 256, 256)


def test_files_of_one_name_get_different_urls(tmp_path):
    paths = []
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        paths.append(pack_tree(IMAGE, tmp_path / folder / "my cells.ozx"))
    found = [place.path for place in FileServer(paths).locations]
    assert found == ["my%20cells.ozx", "my%20cells-2.ozx", "my%20cells-3.ozx"]


def test_a_node_is_a_place_in_its_file(path):
    assert FileServer([f"{path}|zip:labels/cells/"]).locations == [Place("cells.ozx", "labels/cells")]
    with pytest.raises(UsageError, match="no node 'labels/cell'"):
        FileServer([f"{path}|zip:labels/cell/"])


def test_values_that_the_archive_compresses_are_inflated(tmp_path):
    path = zip_values(tmp_path / "a.zip", {"zarr.json": b'{"a": 1}', "0/c/0": b"x" * 999 + b"y"}, deflated=True)
    files = FileServer([path])
    whole = files.respond(Request("GET", "/a.zip/0/c/0"))
    part = files.respond(Request("GET", "/a.zip/0/c/0", headers={"range": "bytes=-2"}))
    assert (b"".join(whole.body), b"".join(part.body)) == (b"x" * 999 + b"y", b"xy")


def test_directories_urls_and_other_files_are_refused(tmp_path):
    with pytest.raises(UsageError, match="found a directory"):
        FileServer([IMAGE])
    with pytest.raises(UsageError, match="this is a URL"):
        FileServer(["https://example.org/a.ozx"])
    (tmp_path / "a.ozx").write_text(json.dumps({}))
    with pytest.raises(FormatError):
        FileServer([tmp_path / "a.ozx"])


def test_a_file_that_changes_in_the_middle_of_an_answer_breaks_it_off(path):
    answer = FileServer([path]).respond(Request("GET", "/cells.ozx"))
    append_in_place(path)
    with pytest.raises(FormatError, match="changed"):
        b"".join(answer.body)


def append_in_place(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more", b"x")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("change", [lambda path: ozx.edit(path, name="other"), append_in_place], ids=["new", "same"])
def test_a_file_that_was_changed_is_opened_anew(path, change, method):
    told = []
    files = FileServer([path], warn=told.append)
    old = files.respond(Request(method, "/cells.ozx"))
    change(path)
    new = files.respond(Request(method, "/cells.ozx"))
    assert new.status == 200
    assert new.headers["ETag"] != old.headers["ETag"]
    assert new.length == path.stat().st_size
    root = files.respond(Request("GET", "/cells.ozx/zarr.json", headers={"range": "bytes=0-9"}))
    assert b"".join(root.body) == zipfile.ZipFile(path).read("zarr.json")[:10]
    assert told == [f"{path}: it changed; the new file is served from now on"]


@pytest.mark.parametrize(
    "change",
    [lambda path: os.truncate(path, 100), lambda path: path.write_text("no archive"), os.unlink],
    ids=["cut", "text", "removed"],
)
def test_a_file_that_is_an_archive_no_longer_is_a_conflict(path, change):
    told = []
    files = FileServer([path], warn=told.append)
    change(path)
    for key in ("/cells.ozx", "/cells.ozx/zarr.json"):
        answer = files.respond(Request("GET", key))
        assert answer.status == 409
        assert b"cannot be served any more" in answer.body
    assert len(told) == 2
    pack_tree(IMAGE, path.with_name("new.ozx")).replace(path)
    assert files.respond(Request("GET", "/cells.ozx")).status == 200


def answer(files, path, method="GET", **headers):
    found = files.respond(Request(method, path, headers=headers))
    return found.status, b"".join([found.body] if isinstance(found.body, bytes) else found.body)


def test_a_directory_has_the_name_of_one(path):
    files = FileServer([path], form="directory")
    assert [place.path for place in files.locations] == ["cells.ome.zarr"]
    assert answer(files, "/cells.ome.zarr/0/c/0/0/0") == (200, tree(IMAGE)["0/c/0/0/0"])
    assert answer(files, "/cells.ome.zarr")[0] == answer(files, "/cells.ozx")[0] == 404


@pytest.mark.parametrize("name", HIERARCHIES)
def test_04_is_what_unpack_writes(tmp_path, name):
    packed = pack_tree(FIXTURES / f"{name}.ome.zarr", tmp_path / "a.ozx")
    ozx.unpack(packed, tmp_path / "new.ome.zarr", ome_version="0.4", sync=False)
    files, values = FileServer([packed], form="0.4"), tree(tmp_path / "new.ome.zarr")
    assert {key: answer(files, f"/a.ome.zarr/{key}") for key in values} == {key: (200, values[key]) for key in values}
    documents = json.loads(answer(files, "/a.ome.zarr/.zmetadata")[1])["metadata"]
    assert documents == {key: json.loads(values[key]) for key in values if key.rpartition("/")[2].startswith(".z")}


@pytest.fixture
def sharded(tmp_path):
    ozx.repack(FIXTURES / "sharded.ome.zarr", tmp_path / "a.ozx", shards="auto", chunk_checksums="add", sync=False)
    return tmp_path / "a.ozx"


CHUNK = "/a.ome.zarr/0/0/1/0/1/2"


def test_04_of_a_shard_answers_ranges_and_heads_of_its_chunks(sharded):
    files = FileServer([sharded], form="0.4", cors="*")
    whole = answer(files, CHUNK)[1]
    assert answer(files, CHUNK, range="bytes=2-9") == (206, whole[2:10])
    head = files.respond(Request("HEAD", CHUNK, headers={"origin": "https://viewer.example"}))
    assert (head.status, head.length, head.headers["Access-Control-Allow-Origin"]) == (200, len(whole), "*")


@pytest.mark.parametrize("key", ["zarr.json", "0/zarr.json", "0/c/0/0/0/0/0", "0/2/1/0/0/0", "0/9/0/0/0/0", "0/0", "0"])
def test_04_lacks_keys_of_v3_missing_chunks_and_chunks_beyond_the_grid(sharded, key):
    assert answer(FileServer([sharded], form="0.4"), f"/a.ome.zarr/{key}")[0] == 404


def test_04_of_a_shard_reads_the_index_and_the_chunk_only(sharded, monkeypatch):
    files = FileServer([sharded], form="0.4")
    read = []
    for name in ("read_at", "read_vectors_at"):
        real = getattr(FileSource, name)
        monkeypatch.setattr(FileSource, name, counting(real, read))
    chunk = len(answer(files, CHUNK)[1])
    shard_chunks = 512  # more than a shard of this image has
    assert sum(read) <= chunk + 4 + 16 * shard_chunks + 100 < sharded.stat().st_size
    del read[:]
    assert len(answer(files, CHUNK)[1]) + 4 == sum(read)  # its checksum is read with it


def counting(real, read):
    def call(self, *arguments):
        found = real(self, *arguments)
        read.append(found if isinstance(found, int) else len(found))
        return found

    return call


def test_04_sends_no_chunk_whose_checksum_differs(sharded):
    chunk = answer(FileServer([sharded], form="0.4"), CHUNK)[1]
    data = bytearray(sharded.read_bytes())
    data[data.index(chunk) + 5] ^= 1
    sharded.write_bytes(data)
    status, body = answer(FileServer([sharded], form="0.4"), CHUNK)
    assert (status, b"the checksum differs" in body) == (422, True)


def test_04_refuses_by_name_what_it_cannot_say(tmp_path):
    values = tree(IMAGE)
    document = json.loads(values["0/zarr.json"]) | {"data_type": "string", "codecs": ["vlen-utf8"]}
    path = zip_values(tmp_path / "a.ozx", values | {"0/zarr.json": json.dumps(document).encode()})
    with pytest.raises(UnsupportedError, match="0: Zarr v2 cannot express the data type 'string'"):
        FileServer([path], form="0.4")


def test_04_of_a_file_that_is_04_is_as_stored(tmp_path):
    values = tree(FIXTURES / "legacy.ome.zarr")
    files = FileServer([zip_values(tmp_path / "a.zip", values)], form="0.4")
    assert {key: answer(files, f"/a.ome.zarr/{key}")[1] for key in values} == values

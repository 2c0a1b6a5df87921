"""Bytes of objects are compared with ETags that are an MD5; other ETags are recognised."""

import hashlib

import pytest
from hierarchies import FIXTURES, tree
from servers import serving_folder

import ozx
from ozx.errors import ResourceError
from ozx.file_changes import Mark
from ozx.places.remote.folder import RemoteFolder

IMAGE = FIXTURES / "image.ome.zarr"
CHUNK = "/0/c/0/0/0"
HEADERS, ENCRYPTED = {"Content-Length": "1"}, {"x-amz-server-side-encryption": "AES256"}
DAMAGED = "do not have the MD5"


def md5(data):
    return hashlib.md5(data).digest()


class Reading(RemoteFolder):
    """Objects that are compared one after the other; a server would answer with these headers."""

    def __init__(self, headers=HEADERS):
        super().__init__("http://localhost/a.zarr")
        self.headers = lambda _key: headers
        self.left = []

    def _store(self):
        return self

    def _fetch(self, key, offset, length, expected):
        data = self.left.pop(0)
        return Mark(len(data), self.tag), data

    def check(self, tag, *reads):
        """Compare an object; `reads` are the bytes that arrive."""
        self.tag, self.left = tag, list(reads)
        self.read("key")


@pytest.mark.parametrize(
    ("headers", "right", "damaged"),
    [
        pytest.param(HEADERS, None, (b"a", b"x", b"y"), id="two different reads"),
        pytest.param(HEADERS, (b"a", b"a"), (b"b", b"x", b"x"), id="the same wrong bytes twice after an agreement"),
        pytest.param(HEADERS, (b"b", b"x", b"x"), (b"a", b"a"), id="the same wrong bytes twice before an agreement"),
        pytest.param(ENCRYPTED, (b"a", b"a"), (b"b", b"x", b"x"), id="keys of S3, which keep the MD5"),
    ],
)
def test_what_is_damaged(headers, right, damaged):
    reading = Reading(headers)
    if right is not None:
        reading.check(md5(right[0]).hex(), *right[1:])
    with pytest.raises(ResourceError, match=DAMAGED):
        reading.check(md5(damaged[0]).hex(), *damaged[1:])


@pytest.fixture
def server(tmp_path):
    pytest.importorskip("obstore", reason="the extra remote is not installed")
    with serving_folder(FIXTURES) as server:
        server.makes_md5 = True
        yield server


def path_of(key):
    return f"/{IMAGE.name}{key}"


class TestVerbs:
    @pytest.mark.parametrize("key", ["/zarr.json", CHUNK])
    def test_one_flipped_bit_is_read_again(self, server, tmp_path, key):
        server.flips[path_of(key)] = 1
        ozx.unpack(f"{server.url}{path_of('/')}", tmp_path / "a.ome.zarr")
        assert tree(tmp_path / "a.ome.zarr") == tree(IMAGE)
        assert server.flips[path_of(key)] == 0

    @pytest.mark.parametrize("verb", ["pack", "unpack", "repack"])
    def test_bits_that_are_always_flipped(self, server, tmp_path, verb):
        server.flips[path_of(CHUNK)] = 99
        with pytest.raises(ResourceError, match=DAMAGED) as caught:
            getattr(ozx, verb)(f"{server.url}{path_of('/')}", tmp_path / ("a.zarr" if verb == "unpack" else "a.ozx"))
        assert CHUNK in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    def test_an_object_with_other_encryption(self, server, tmp_path):
        server.flips[path_of(CHUNK)] = 99
        server.headers = {"x-amz-server-side-encryption": "aws:kms"}  # like an ETag that is no MD5
        assert ozx.pack(f"{server.url}{path_of('/')}", tmp_path / "a.ozx").entries

    def test_a_bit_of_a_long_object(self, server, tmp_path, monkeypatch):
        from ozx.flow import read_ahead  # noqa: PLC0415
        from ozx.flow.sources import remote_directory  # noqa: PLC0415

        monkeypatch.setattr(remote_directory, "REQUEST", 1000)
        monkeypatch.setattr(read_ahead, "_LONGEST", 1000)
        server.flips[path_of(CHUNK)] = 1
        with pytest.raises(ResourceError, match=DAMAGED):
            ozx.pack(f"{server.url}{path_of('/')}", tmp_path / "a.ozx")
        ozx.pack(f"{server.url}{path_of('/')}", tmp_path / "a.ozx")

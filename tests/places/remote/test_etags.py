"""Bytes of objects are compared with ETags that are an MD5; other ETags are recognised."""

import hashlib

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from hierarchies import FIXTURES, tree
from servers import serving_folder

import ozx
from ozx.errors import ResourceError
from ozx.places.remote.object_store import ETags, md5_of

IMAGE = FIXTURES / "image.ome.zarr"
CHUNK = "/0/c/0/0/0"
HEADERS = {"Content-Length": "1"}
DAMAGED = "do not have the MD5"


def md5(data):
    return hashlib.md5(data).digest()


class Reading:
    """Objects that are compared one after the other."""

    def __init__(self, headers=HEADERS):
        self.etags = ETags(lambda _key: headers)
        self.second_reads = 0

    def check(self, tag, *reads):
        """Compare an object; `reads` are the bytes that arrive."""
        left = list(reads)

        def again():
            self.second_reads += 1
            return md5_of([left.pop(0)])

        if self.etags.covers(tag):
            self.etags.check(tag, "key", "name", md5_of([left.pop(0)]), again)


class TestDecisions:
    def test_two_different_reads(self):
        with pytest.raises(ResourceError, match=DAMAGED):
            Reading().check(md5(b"a").hex(), b"x", b"y")

    def test_the_same_wrong_bytes_twice_after_an_agreement(self):
        reading = Reading()
        reading.check(md5(b"a").hex(), b"a")
        with pytest.raises(ResourceError, match=DAMAGED):
            reading.check(md5(b"b").hex(), b"x", b"x")

    def test_the_same_wrong_bytes_twice_before_an_agreement(self):
        reading = Reading()
        reading.check(md5(b"b").hex(), b"x", b"x")
        with pytest.raises(ResourceError, match=DAMAGED):
            reading.check(md5(b"a").hex(), b"a")

    def test_encryption_with_keys_of_s3_keeps_the_md5(self):
        reading = Reading({"x-amz-server-side-encryption": "AES256"})
        reading.check(md5(b"a").hex(), b"a")
        with pytest.raises(ResourceError, match=DAMAGED):
            reading.check(md5(b"b").hex(), b"x", b"x")


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

    def test_a_bit_of_a_long_object(self, server, tmp_path, monkeypatch):
        from ozx.flow import read_ahead  # noqa: PLC0415
        from ozx.flow.sources import remote_directory  # noqa: PLC0415

        monkeypatch.setattr(remote_directory, "REQUEST", 1000)
        monkeypatch.setattr(read_ahead, "_LONGEST", 1000)
        server.flips[path_of(CHUNK)] = 1
        with pytest.raises(ResourceError, match=DAMAGED):
            ozx.pack(f"{server.url}{path_of('/')}", tmp_path / "a.ozx")
        ozx.pack(f"{server.url}{path_of('/')}", tmp_path / "a.ozx")


@pytest.fixture
def flips(bucket, monkeypatch):  # noqa: F811
    """In how many answers of the bucket the last bit of the chunk is flipped, and whether it gets a KMS header."""
    from moto import server  # noqa: PLC0415 - may be absent

    for key, value in tree(IMAGE).items():
        bucket.put(f"a.zarr/{key}", value)
    faults, answer = {"flips": 0, "kms": False}, server.DomainDispatcherApplication.__call__

    def flip(self, environ, start_response):
        if environ["REQUEST_METHOD"] != "GET" or not environ["PATH_INFO"].endswith(CHUNK):
            return answer(self, environ, start_response)
        kms = [("x-amz-server-side-encryption", "aws:kms")] * faults["kms"]
        body = b"".join(answer(self, environ, lambda status, headers, *_: start_response(status, [*headers, *kms])))
        if not body or not faults["flips"]:
            return [body]
        faults["flips"] -= 1
        return [body[:-1] + bytes([body[-1] ^ 1])]

    monkeypatch.setattr(server.DomainDispatcherApplication, "__call__", flip)
    return faults


@pytest.mark.ci  # changes answers of moto's server
class TestBucket:
    def test_one_flipped_bit_is_read_again(self, bucket, flips, tmp_path):  # noqa: F811
        flips["flips"] = 1
        ozx.pack(f"{bucket.url}/a.zarr/", tmp_path / "a.ozx")
        assert flips["flips"] == 0
        ozx.unpack(tmp_path / "a.ozx", tmp_path / "a.zarr")
        assert tree(tmp_path / "a.zarr") == tree(IMAGE)

    def test_bits_that_are_always_flipped(self, bucket, flips, tmp_path):  # noqa: F811
        flips["flips"] = 99
        with pytest.raises(ResourceError, match=DAMAGED):
            ozx.pack(f"{bucket.url}/a.zarr/", tmp_path / "a.ozx")

    def test_an_object_with_other_encryption(self, bucket, flips, tmp_path):  # noqa: F811
        flips.update(flips=99, kms=True)  # like an ETag that is no MD5
        assert ozx.pack(f"{bucket.url}/a.zarr/", tmp_path / "a.ozx").entries

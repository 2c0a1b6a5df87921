"""Verbs that read a whole archive at a URL make at most one request for 8 MB, and five more."""

import json

import numpy as np
import pytest
import zarr
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from cases.archive_builder import array_document, write_tree
from hierarchies import group, multiscales
from servers import serving

import ozx
from ozx.operations.verify import verify
from ozx.places.remote import source

pytest.importorskip("obstore", reason="the extra remote is not installed")

# Numbers of chunks, and their lengths: many small entries, and few large ones.
SHAPES = {"small": (1200, 1 << 10), "middle": (300, 40 << 10), "large": (5, 5 << 20), "long": (2, 20 << 20)}


def write_image(folder, chunks, length):
    array = array_document([chunks, length], [1, length], dimension_names=["y", "x"])
    write_tree(
        folder,
        {
            "zarr.json": group(version="0.5", multiscales=multiscales("yx", "0", unit="micrometer")),
            "0/zarr.json": json.dumps(array).encode(),
            **{f"0/c/{number}/0": bytes([number % 251, 7]) * (length // 2) for number in range(chunks)},
        },
    )


@pytest.fixture(
    scope="module",
    params=["small", "large", *(pytest.param(name, marks=pytest.mark.ci) for name in ("middle", "long"))],
)
def image(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param) / "image.ome.zarr"
    write_image(folder, *SHAPES[request.param])
    return folder


@pytest.fixture(scope="module")
def archive(image):
    ozx.pack(image, image.parent / "image.ozx", sync=False)
    return image.parent / "image.ozx"


VERBS = {
    "validate": lambda url, out: ozx.validate(url, level="data").valid or pytest.fail("not valid"),
    "unpack": lambda url, out: ozx.unpack(url, out / "a.ome.zarr", sync=False),
    "repack": lambda url, out: ozx.repack(url, out / "a.ozx", sync=False),
    "repack and verify": lambda url, out: ozx.repack(url, out / "a.ozx", verify=True, sync=False),
    "other shards": lambda url, out: ozx.repack(url, out / "a.ozx", shards="auto", verify=True, sync=False),
    "other codec": lambda url, out: ozx.repack(url, out / "a.ozx", codec="zstd", sync=False),
    "extract": lambda url, out: ozx.extract(url, out / "a.ozx", sync=False),
    "recover": lambda url, out: ozx.recover(url, out / "a.ozx", sync=False),
    "export": lambda url, out: ozx.export(url, out / "a.ome.tif", sync=False),
}


@pytest.mark.parametrize("verb", VERBS)
def test_requests_of_a_verb(archive, verb, tmp_path):
    data = archive.read_bytes()
    with serving(data) as server:
        VERBS[verb](server.url, tmp_path)
        assert len(server.requests) <= len(data) // 8_000_000 + 5


def test_headers_alone_take_few_requests(archive):
    data = archive.read_bytes()
    with serving(data) as server:
        assert ozx.validate(server.url).valid
        assert len(server.requests) <= 13
        assert server.sent <= 20 << 20


@pytest.fixture
def gets(bucket, monkeypatch):  # noqa: F811
    """The requests for bytes that the bucket got."""
    from moto import server  # noqa: PLC0415 - may be absent

    found, answer = [], server.DomainDispatcherApplication.__call__

    def count(self, environ, start_response):
        if environ["REQUEST_METHOD"] == "GET":
            found.append(environ["PATH_INFO"])
        return answer(self, environ, start_response)

    monkeypatch.setattr(server.DomainDispatcherApplication, "__call__", count)
    return found


@pytest.mark.ci  # counts requests to moto's server
def test_reading_back_from_a_bucket(bucket, image, gets):  # noqa: F811
    most = sum(file.stat().st_size for file in image.rglob("*") if file.is_file()) // 8_000_000 + 5
    assert ozx.pack(image, f"{bucket.url}/a.ozx", verify=True).verified
    assert len(gets) <= most
    ozx.pack(image, f"{bucket.url}/a.ozx", manifest=True, force=True)
    gets.clear()
    assert verify(f"{bucket.url}/a.ozx").entries
    assert len(gets) <= most + 4  # manifest and checksum beside the file


def test_shards_across_the_rows_of_chunks(tmp_path):
    """Each new shard needs chunks from many places of the file, but blocks are read once."""
    folder = tmp_path / "image.ome.zarr"
    write_image(folder, 1, 2)
    pixels = np.random.default_rng(0).integers(0, 255, (1200, 1200), np.uint8)
    array = zarr.create_array(
        folder / "0", shape=pixels.shape, chunks=(40, 40), dtype="u1", compressors=None, overwrite=True,
        dimension_names=["y", "x"],
    )  # fmt: skip
    array[:] = pixels
    ozx.pack(folder, tmp_path / "image.ozx", sync=False)
    with serving((tmp_path / "image.ozx").read_bytes()) as server:
        ozx.repack(server.url, tmp_path / "a.ozx", shards="y=400,x=400", sync=False)
        assert len(server.requests) <= 5
    assert (ozx.open_array(tmp_path / "a.ozx", "0")[:] == pixels).all()


def test_more_blocks_than_are_held(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(source.RemoteSource, "block", 1 << 18)
    monkeypatch.setattr(source, "_LONG", 1 << 16)
    data = archive.read_bytes()
    with serving(data) as server:
        assert ozx.validate(server.url, level="data").valid
        assert server.sent < 5 * len(data)

"""A part of an archive behind a URL: only what is needed is read, and told before."""

import numpy as np
import pytest
from cases.archive_builder import ArchiveBuilder, array
from fault_proxy import proxying
from hierarchies import group, multiscales
from packed import sort_values
from servers import serving

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.places.byte_source import MemorySource

pytest.importorskip("obstore", reason="the extra remote is not installed")


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Two archives of some megabytes that do not compress: chunks by themselves, and in shards."""
    folder = tmp_path_factory.mktemp("images")
    pixels = np.random.default_rng(5).integers(0, 65536, (4, 1024, 1024), "uint16")
    for name, shards in (("chunks", "none"), ("shards", "auto")):
        ozx.write_image(
            folder / f"{name}.ozx", pixels, axes="cyx", chunks="c=1,y=128,x=128", shards=shards, codec="none"
        )
    return folder


CASES = {
    "levels": {"levels": "1:"},
    "region": {"region": "y=0:200,x=0:200", "levels": "0:1", "whole_chunks": True},
    "channel": {"region": "c=2"},
    "channels with gaps": {"channels": "0,2"},
    "size": {"max_size": "1MB"},
    "everything": {},
}


@pytest.mark.parametrize("name", ["chunks", "shards"])
@pytest.mark.parametrize("case", sorted(CASES))
def test_a_dry_run_tells_requests_and_bytes(images, tmp_path, name, case):
    data = (images / f"{name}.ozx").read_bytes()
    with serving(data) as server:
        told = ozx.extract(server.url, tmp_path / "a.ozx", dry_run=True, **CASES[case])
        assert list(tmp_path.iterdir()) == []
    with serving(data) as server:
        made = ozx.extract(server.url, tmp_path / "a.ozx", **CASES[case])
    requests, sent = len(server.requests), server.sent
    assert (made.requests, made.bytes_read) == (requests, sent)
    assert (told.requests, told.bytes_read) == (requests, sent)
    assert (told.entries, told.bytes) == (made.entries, made.bytes)
    assert (told.dry_run, made.dry_run) == (True, False)
    ozx.extract(images / f"{name}.ozx", tmp_path / "local.ozx", **CASES[case])
    assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "local.ozx").read_bytes()
    # The first request takes the last MiB, whatever is needed of it.
    assert sent <= 1.05 * made.bytes + (1 << 20) + 100_000


@pytest.fixture(scope="module")
def plate(tmp_path_factory):
    """A plate of 24 wells of 1 MiB; the directory takes more than the first request brings."""
    content, version = np.random.default_rng(8), {"version": "0.5"}
    names = [(row, column) for row in "ABCD" for column in "123456"]
    wells = [{"path": f"{r}/{c}", "rowIndex": "ABCD".index(r), "columnIndex": int(c) - 1} for r, c in names]
    rows, columns = ([{"name": name} for name in each] for each in ("ABCD", "123456"))
    plate = {"rows": rows, "columns": columns, "wells": wells, "field_count": 1}
    values = {"zarr.json": group(**version, plate=plate)} | {f"{row}/zarr.json": group() for row in "ABCD"}
    for well in (well["path"] for well in wells):
        values[f"{well}/zarr.json"] = group(**version, well={"images": [{"path": "0"}]})
        values[f"{well}/0/zarr.json"] = group(**version, multiscales=multiscales("yx", "0"))
        values[f"{well}/0/0/zarr.json"] = array([1024, 1024], [32, 32])
        values |= {f"{well}/0/0/c/{y}/{x}": content.bytes(1024) for y in range(32) for x in range(32)}
    return ArchiveBuilder.of(sort_values(values)).build()


@pytest.mark.ci
def test_one_well_of_a_plate(plate, tmp_path):
    directory = ArchiveReader(MemorySource(plate)).end.directory_size
    assert directory > 1 << 20
    with serving(plate) as server, proxying(server.url) as proxy:
        url = f"{proxy.url}/plate.ozx"
        told = ozx.extract(url, tmp_path / "a.ozx", node="B/3", dry_run=True)
        proxy.requests.clear()
        made = ozx.extract(url, tmp_path / "a.ozx", node="B/3")
        assert told.requests == made.requests == len(proxy.requests)
        assert told.bytes_read == made.bytes_read
    assert made.entries == 1024 + 3
    # The tail, the directory, the documents, and all chunks of the well together.
    assert made.requests == 4
    head = plate.index(b"c/0/0")
    assert made.bytes_read <= 1.05 * made.bytes + directory + head
    (tmp_path / "plate.ozx").write_bytes(plate)
    ozx.extract(tmp_path / "plate.ozx", tmp_path / "local.ozx", node="B/3")
    assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "local.ozx").read_bytes()


@pytest.mark.ci
def test_scattered_chunks_are_requested_64_at_a_time(tmp_path):
    pixels = np.random.default_rng(5).integers(0, 65536, (64 * 100, 256), "uint16")
    ozx.write_image(tmp_path / "a.ozx", pixels, axes="yx", chunks="y=64,x=64", shards="none", codec="none")
    data = (tmp_path / "a.ozx").read_bytes()
    wanted = {"region": "x=0:64", "levels": "0:1"}
    with serving(data) as server, proxying(server.url) as proxy:
        url = f"{proxy.url}/a.ozx"
        told = ozx.extract(url, tmp_path / "b.ozx", dry_run=True, **wanted)
        proxy.delay, proxy.most = 0.3, 0
        proxy.requests.clear()
        made = ozx.extract(url, tmp_path / "b.ozx", **wanted)
    assert told.requests == made.requests == len(proxy.requests)
    assert 70 < made.requests < 110  # one for each chunk that the first request did not bring
    assert 48 <= proxy.most <= 64
    assert made.bytes_read <= 1.05 * made.bytes + (1 << 20)

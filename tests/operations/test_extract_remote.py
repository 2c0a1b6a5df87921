"""A part of an archive behind a URL: only what is needed is read, and told before."""

import numpy as np
import pytest
from range_server import serving

import ozx
from ozx.cli.app import run

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
    "region": {"region": "y=0:200,x=0:200", "levels": "0:1"},
    "channel": {"region": "c=2"},
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


def test_a_dry_run_here(images, tmp_path, capsys):
    told = ozx.extract(images / "chunks.ozx", tmp_path / "a.ozx", levels="2:", dry_run=True)
    made = ozx.extract(images / "chunks.ozx", tmp_path / "a.ozx", levels="2:")
    assert (told.entries, told.bytes, told.requests) == (made.entries, made.bytes, None)
    assert 0 < told.bytes_read < told.bytes
    assert run(["extract", str(images / "chunks.ozx"), str(tmp_path / "a.ozx"), "--dry-run"]) == 0
    assert "a.ozx  would have " in capsys.readouterr().out

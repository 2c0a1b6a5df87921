"""Verbs that read all of a remote file or directory: recover, verify, unpack and view; serve says why not."""

import os

import numpy as np
import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from fault_proxy import Fault, proxying
from hierarchies import FIXTURES
from servers import serving, serving_folder

import ozx
from ozx.cli.app import run
from ozx.errors import FormatError, ResourceError, UsageError
from ozx.operations.verify import verify

pytest.importorskip("obstore", reason="the extra remote is not installed")

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture
def served(tmp_path):
    """A server of the files that `ozx.pack` writes."""
    folder = tmp_path / "served"
    folder.mkdir()
    ozx.pack(IMAGE, folder / "cells.ozx", manifest=True, checksum="sha256")
    with serving_folder(folder) as server:
        yield server


class TestRecover:
    def test_a_cut_file(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        ozx.pack(IMAGE, tmp_path / "cells.ozx")
        cut = (tmp_path / "cells.ozx").read_bytes()[:60_000]
        (tmp_path / "cut.ozx").write_bytes(cut)
        expected = ozx.recover(tmp_path / "cut.ozx", tmp_path / "local.ozx")
        with serving(cut) as server:
            result = ozx.recover(f"{server.url}?sig=secret", tmp_path / "a.ozx")
            assert result.source == server.url
        assert (tmp_path / "a.ozx").read_bytes() == (tmp_path / "local.ozx").read_bytes()
        assert (result.entries, result.complete, result.arrays) == (expected.entries, False, expected.arrays)
        assert not [name for name in os.listdir(tmp_path) if name.startswith("ozx-copy")]

    def test_nothing_to_recover(self, tmp_path):
        with serving(b"no archive" * 100) as server:
            with pytest.raises(FormatError, match="no local file header") as caught:
                ozx.recover(server.url, tmp_path / "a.ozx")
            assert caught.value.path == server.url
            with pytest.raises(UsageError, match="found the node 0 in a file"):
                ozx.recover(f"{server.url}|zip:0/", tmp_path / "a.ozx")

    def test_a_file_that_changes(self, tmp_path):
        with serving(bytes(20 << 20)) as server, proxying(server.url) as proxy:
            proxy.choose = lambda method, path, number: Fault.change(ETag='"other"') if number == 3 else None
            with pytest.raises(FormatError, match="changed while it was read"):
                ozx.recover(f"{proxy.url}/cells.ozx", tmp_path / "a.ozx")
        assert not (tmp_path / "a.ozx").exists()


class TestVerify:
    def test_beside_it(self, served):
        result = verify(f"{served.url}/cells.ozx?sig=secret")
        assert result.entries == 71
        assert result.manifest == f"{served.url}/cells.ozx.manifest.json"
        assert len(result.sha256) == 64
        assert run(["verify", f"{served.url}/cells.ozx", "-q"]) == 0

    def test_a_local_manifest(self, served):
        os.rename(served.root / "cells.ozx.manifest.json", served.root / "other.json")
        os.unlink(served.root / "cells.ozx.sha256")
        url = f"{served.url}/cells.ozx"
        assert verify(url, manifest=served.root / "other.json").entries == 71
        assert verify(url, manifest=f"{served.url}/other.json").entries == 71
        with pytest.raises(UsageError, match="neither"):
            verify(url)


class TestUnpack:
    def test_names_that_lead_out(self, bucket):  # noqa: F811
        for key in ("zarr.json", "a/../../b"):
            bucket.client.put_object(Bucket=bucket.name, Key=f"x.zarr/{key}", Body=b"{}")
        with pytest.raises((FormatError, ResourceError)):
            ozx.unpack(f"{bucket.url}/x.zarr")
        assert os.listdir() == []


class TestOthers:
    def test_offsets_without_a_request_for_each(self, tmp_path):
        pixels = np.random.default_rng(5).integers(0, 65536, (2048, 512), "uint16")
        ozx.write_image(tmp_path / "a.ozx", pixels, chunks="y=64,x=64", shards="none", codec="none")
        local = ozx.list_entries(tmp_path / "a.ozx").to_dict()["entries"]
        with serving((tmp_path / "a.ozx").read_bytes()) as server:
            assert ozx.list_entries(server.url).to_dict()["entries"] == local
            # The first request, and the header of the last metadata document, which is followed by free space.
            assert len(server.requests) <= 3

    def test_serve_says_why(self, served, capsys):
        assert run(["serve", f"{served.url}/cells.ozx?sig=secret"]) == 2
        printed = capsys.readouterr().err
        assert "programs that support URLs can read it themselves" in printed
        assert "secret" not in printed

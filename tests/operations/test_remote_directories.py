"""Directories behind URLs, on a server that cannot list them: the verbs that read them."""

import os
import shutil

import pytest
from hierarchies import FIXTURES, make_image
from servers import serving_folder

import ozx
from ozx.errors import ResourceError, UsageError

pytest.importorskip("obstore", reason="the extra remote is not installed")


@pytest.fixture
def server():
    with serving_folder(FIXTURES) as server:
        yield server


@pytest.fixture
def changing(here):
    """A server of an image that a test may change."""
    make_image(here / "served" / "cells.ome.zarr")
    with serving_folder(here / "served") as server:
        yield server


class TestPack:
    def test_options(self, here, server):
        url = f"{server.url}/image.ome.zarr?signature=SECRET"
        result = ozx.pack(url, "a.ozx", verify=True, manifest=True, checksum="sha256", thumbnail=True, shards="auto")
        assert result.verified
        assert result.source == f"{server.url}/image.ome.zarr"
        assert any("thumbnail" in entry.key for entry in ozx.list_entries("a.ozx"))
        assert "SECRET" not in (here / "a.ozx.manifest.json").read_text()
        assert ozx.pack(url, "a.ozx", resume=True, thumbnail=True, shards="auto").status == "skipped"

    def test_a_refused_object_leaves_no_file(self, here, changing):
        changing.statuses["/cells.ome.zarr/0/c/0/0"] = 403
        with pytest.raises(ResourceError, match=r"0/c/0/0: reading is not allowed.* 403"):
            ozx.pack(f"{changing.url}/cells.ome.zarr", "a.ozx")
        assert os.listdir(here) == ["served"]

    def test_the_source_is_never_removed(self, here, server):
        with pytest.raises(UsageError, match="never removed"):
            ozx.pack(f"{server.url}/image.ome.zarr", remove_source=True)
        assert os.listdir(here) == []


class TestReading:
    def test_info_ls_and_cat(self, here, server, capsys):
        root = FIXTURES / "plate.ome.zarr"
        remote, local = ozx.inspect(f"{server.url}/plate.ome.zarr?sig=SECRET"), ozx.inspect(root)
        assert remote.path == f"{server.url}/plate.ome.zarr"
        assert (remote.images, remote.plate, remote.container) == (local.images, local.plate, local.container)
        assert [entry.key for entry in ozx.list_entries(f"{server.url}/plate.ome.zarr", nodes=True)] == [
            entry.key for entry in ozx.list_entries(root, nodes=True)
        ]
        chunk = b"".join(ozx.read_value(f"{server.url}/plate.ome.zarr", "A/1/0/0/c/0/0/0"))
        assert chunk == (root / "A/1/0/0/c/0/0/0").read_bytes()
        with pytest.raises(UsageError, match="has no key"):
            ozx.read_value(f"{server.url}/plate.ome.zarr", "A/1/0/zarr.jso")

    def test_validate_finds_what_is_wrong(self, here, changing):
        path = here / "served" / "cells.ome.zarr" / "0" / "zarr.json"
        path.write_text(path.read_text().replace("64", "-64"))
        assert not ozx.validate(f"{changing.url}/cells.ome.zarr").valid

    def test_a_url_without_ending(self, here, changing):
        shutil.move(here / "served" / "cells.ome.zarr", here / "served" / "cells")
        assert ozx.inspect(f"{changing.url}/cells").kind == "image"
        with pytest.raises(ResourceError, match="no such file"):
            ozx.inspect(f"{changing.url}/none")

"""Stores that write to a URL: a local file until they are closed, then an object."""

import os
import warnings

import numpy as np
import pytest
import zarr
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from object_stores import azure_endpoint, container, gcs_bucket, gcs_endpoint  # noqa: F401 (fixtures)

from ozx.archive.remote.outputs.s3 import S3Object
from ozx.errors import PartialFileWarning, ResourceError, UsageError
from ozx.store.ozx_store import OzxStore


@pytest.fixture(params=["bucket", "container", "gcs_bucket"])
def store(request, tmp_path, monkeypatch):
    """A bucket or container of each kind of store, and an empty folder for temporary files."""
    found = request.getfixturevalue(request.param)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return found


def temporary(tmp_path):
    return [os.path.join(folder, name) for folder, _, names in os.walk(tmp_path / "temporary") for name in names]


def write(url, mode="w"):
    with OzxStore(url, mode) as target:
        group = zarr.create_group(target, attributes={"ome": {"version": "0.5"}})
        group.create_array("0", shape=(64, 64), dtype="uint16", chunks=(32, 32))[:] = np.arange(4096).reshape(64, 64)


def test_a_store_is_uploaded_when_it_is_closed(store, tmp_path):
    url = f"{store.url}/a/b%20c.ozx"
    write(url)
    assert store.keys() == ["a/b c.ozx"]
    assert int(zarr.open_group(OzxStore(url), mode="r")["0"][63, 63]) == 4095
    assert os.listdir(tmp_path / "temporary") == []
    write(url)
    with pytest.raises(UsageError, match="exists already"):
        write(url, "x")
    write(f"{store.url}/x.ozx", "x")
    assert store.get("x.ozx") == store.get("a/b c.ozx")
    assert os.listdir(tmp_path / "temporary") == []


def test_an_exception_uploads_nothing(store, tmp_path):
    with (
        pytest.warns(PartialFileWarning, match=r"not uploaded; the written data stays in .*a\.ozx\.partial"),
        pytest.raises(KeyError),
        OzxStore(f"{store.url}/a.ozx", "w") as target,
    ):
        zarr.create_group(target)
        raise KeyError
    assert store.keys() == []
    assert [os.path.basename(path) for path in temporary(tmp_path)] == ["a.ozx.partial"]
    with pytest.raises(KeyError), OzxStore(f"{store.url}/b.ozx", "w", keep_partial=False) as target:
        zarr.create_group(target)
        raise KeyError
    assert len(temporary(tmp_path)) == 1


def test_a_failed_upload_keeps_the_file(bucket, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fail(*_, **__):
        raise ResourceError("cannot write: the server answered 503", hint="Try again later.")

    with pytest.raises(ResourceError, match="503") as caught, monkeypatch.context() as failing:
        failing.setattr(S3Object, "put", fail)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write(f"{bucket.url}/a.ozx")
    assert caught.value.hint.startswith("Try again later. The complete file is ")
    path = caught.value.hint.rpartition(" is ")[2].rstrip(".")
    assert zarr.open_group(OzxStore(path), mode="r")["0"].shape == (64, 64)
    assert bucket.keys() == []


def test_nothing_is_made_by_an_unused_store(store, tmp_path):
    with OzxStore(f"{store.url}/a.ozx", "w") as target:
        assert repr(target) == f"OzxStore('{store.url}/a.ozx', mode='w')"
    assert store.keys() == os.listdir(tmp_path / "temporary") == []


@pytest.mark.parametrize(("url", "mode"), [("s3://b/a.ozx", "a"), ("https://h/a.ozx", "w"), ("s3://b/a/", "w")])
def test_refusals(url, mode):
    with pytest.raises(UsageError, match=r"found a URL|expected the URL of an object"):
        OzxStore(url, mode)

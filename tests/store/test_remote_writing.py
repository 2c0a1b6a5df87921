"""Stores that write to a URL: a local file until they are closed, then an object."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import zarr
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from children import run_in_child

from ozx.errors import PartialFileWarning, ResourceError, UsageError
from ozx.store import writing
from ozx.store.ozx_store import OzxStore


@pytest.fixture
def store(bucket, tmp_path, monkeypatch):  # noqa: F811
    """A bucket, and an empty folder for temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return bucket


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


@pytest.fixture
def waiting(tmp_path, monkeypatch):
    """A store whose upload waits until `go_on` is set; `paths` lists the uploads, whose error is `error`."""
    found = SimpleNamespace(paths=[], begun=threading.Event(), go_on=threading.Event(), error=None)

    def upload(path, *_, **__):
        found.paths.append(path)
        found.begun.set()
        assert found.go_on.wait(30)
        if found.error is not None:
            raise found.error

    monkeypatch.setattr(writing, "upload_file", upload)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found.store = OzxStore("s3://bucket/a.ozx", "w")
    zarr.create_group(found.store, attributes={"ome": {"version": "0.5"}})
    return found


def test_two_threads_close_a_store(waiting):
    with ThreadPoolExecutor(2) as threads:
        closing = [threads.submit(waiting.store.close) for _ in range(2)]
        assert waiting.begun.wait(30)
        time.sleep(0.1)  # the second call reaches the lock meanwhile; without the lock, it uploads again
        waiting.go_on.set()
        assert [each.result(30) for each in closing] == [None, None]
    assert len(waiting.paths) == 1


@pytest.mark.posix("needs fork")
def test_a_forked_process_uploads_nothing(waiting):
    def close_in_child():
        waiting.store.close()
        assert len(waiting.paths) == 1

    with ThreadPoolExecutor(1) as threads:
        closing = threads.submit(waiting.store.close)
        assert waiting.begun.wait(30)
        exit_code = run_in_child(close_in_child)
        waiting.go_on.set()
        assert closing.result(30) is None
    assert exit_code == 0


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "/state"), KeyboardInterrupt()])
def test_after_any_error_the_complete_file_is_named(waiting, error):
    waiting.error = error
    waiting.go_on.set()
    expected = ResourceError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        waiting.store.close()
    told = [getattr(raised.value, "hint", ""), *getattr(raised.value, "__notes__", [])]
    assert f"The complete file is {waiting.paths[0]}." in "".join(told)
    waiting.error = None
    waiting.store.close()
    assert len(waiting.paths) == 2

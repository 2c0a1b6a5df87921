"""unpack to a URL: objects, zarr.json at the root last, and nothing left after an error."""

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from hierarchies import FIXTURES, tree

import ozx
from ozx.errors import UsageError
from ozx.flow.sinks.prefix import NewObjects

IMAGE = FIXTURES / "image.ome.zarr"

pytestmark = pytest.mark.ci


def objects(store, prefix):
    return {key.removeprefix(prefix): store.get(key) for key in store.keys() if key.startswith(prefix)}  # noqa: SIM118


def test_an_archive_becomes_objects(bucket, monkeypatch):  # noqa: F811
    ozx.pack(IMAGE, "a.ozx")
    written = []
    add = NewObjects.add

    def note(self, key, size, blocks):
        written.append(key)
        add(self, key, size, blocks)

    monkeypatch.setattr(NewObjects, "add", note)
    url = f"{bucket.url}/a/b.ome.zarr"
    result = ozx.unpack("a.ozx", url + "/")
    ozx.unpack("a.ozx", "local")
    assert (result.path, result.entries, result.notes) == (url, 71, ())
    assert objects(bucket, "a/b.ome.zarr/") == tree("local")
    assert written[-1] == "zarr.json"
    assert ozx.validate(url, level="data").valid
    with pytest.raises(UsageError, match="expected no objects below the URL; found 71"):
        ozx.unpack("a.ozx", url)
    ozx.pack(FIXTURES / "plate.ome.zarr", "plate.ozx")
    assert ozx.unpack("plate.ozx", url, force=True).notes == (f"71 objects were replaced or removed below {url}",)
    ozx.unpack("plate.ozx", "plate")
    assert objects(bucket, "a/b.ome.zarr/") == tree("plate")
    ozx.unpack("a.ozx|zip:labels/cells/", f"{bucket.url}/cells.ome.zarr")
    ozx.unpack("a.ozx|zip:labels/cells/", "cells")
    assert objects(bucket, "cells.ome.zarr/") == tree("cells")


def test_what_a_killed_run_left_is_replaced_on_demand(bucket):  # noqa: F811
    ozx.pack(IMAGE, "a.ozx")
    bucket.put("a/0/zarr.json", b"left")
    with pytest.raises(UsageError, match="found 1"):
        ozx.unpack("a.ozx", f"{bucket.url}/a")
    bucket.put("a/notes.txt", b"other")
    with pytest.raises(UsageError, match=r"are 2 objects, but no Zarr hierarchy to replace"):
        ozx.unpack("a.ozx", f"{bucket.url}/a", force=True)
    assert bucket.keys() == ["a/0/zarr.json", "a/notes.txt"]
    ozx.unpack("a.ozx", f"{bucket.url}/a", replace_folder=True)
    ozx.unpack("a.ozx", "local")
    assert objects(bucket, "a/") == tree("local")


def test_an_object_that_another_program_makes_meanwhile_stays(bucket):  # noqa: F811
    new = NewObjects(f"{bucket.url}/a", replace=False)
    bucket.put("a/0", b"theirs")
    new.add("1", 1, [b"x"])
    with pytest.raises(UsageError, match="the object exists already"):
        new.add("0", 4, [b"ours"])
        new.wait()
    assert new.abort() == 0
    assert bucket.keys() == ["a/0"]
    new.wait()
    new.close()
    assert objects(bucket, "a/") == {"0": b"theirs"}

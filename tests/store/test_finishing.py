"""Closing: each way from the room at the head and the free places to a finished file."""

import os
import warnings

import pytest
from cases.archive_builder import group
from stores import SEED, assert_finished, put

from ozx import FormatError, OzxStore
from ozx.errors import RewrittenWarning
from ozx.store import finishing
from ozx.store.growing_file import document_room

HEAD = sum(document_room(key, document) for key, document in SEED.items())


def is_rewritten(path, values, *, also=lambda store: None):
    """Write `values`; tell whether the file under the final name is another one than what was written to."""
    store = OzxStore(path, mode="w", sync=False)
    for key, value in values.items():
        put(store, key, value)
    also(store)
    written = os.fstat(store._write._growing.partial.descriptor).st_ino
    store.close()
    return os.stat(path).st_ino != written


@pytest.fixture
def out(tmp_path):
    yield tmp_path / "a.ozx"
    assert [name for name in os.listdir(tmp_path) if not name.endswith(".ozx")] == []


@pytest.fixture
def room(monkeypatch):
    """Set how many bytes more than the metadata needs are kept at the head; all of the file may be unused."""

    def set_spare(spare):
        monkeypatch.setattr("ozx.store.growing_file.metadata_reserve", lambda documents: HEAD + spare)
        monkeypatch.setattr(finishing, "MOST_UNUSED", 1.0)

    return set_spare


@pytest.mark.parametrize(("size", "told"), [(1_000_000, False), (1_100_000, True)])
def test_metadata_that_outgrows_its_room_has_the_file_rewritten_which_is_said(out, room, size, told):
    room(100)
    values = SEED | {"0/c/0/0": bytes(size)}
    longer = {"zarr.json": group(attributes={"ome": {"version": "0.5"}, "notes": "x" * 3_000})}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert is_rewritten(out, values, also=lambda store: put(store, "zarr.json", longer["zarr.json"]))
    assert [warning.category for warning in said] == [RewrittenWarning] * told
    if told:
        assert "exceeds the space" in str(said[0].message)
        assert f"{HEAD + 100:,} bytes" in str(said[0].message)
    assert_finished(out, values | longer)


NO_OME = {"no root zarr.json": None, "no attributes.ome.version": group(None), "zarr.json": b"{"}


@pytest.mark.parametrize("problem", NO_OME)
@pytest.mark.parametrize("keep", [True, False])
def test_what_has_to_be_ome_zarr_is_refused_and_kept_as_partial_file(tmp_path, problem, keep):
    out = tmp_path / "a.ozx"
    out.write_bytes(b"old")
    store = OzxStore(out, mode="w", sync=False, require_ome=True, keep_partial=keep)
    put(store, "0/c/0/0", b"data")
    if NO_OME[problem] is not None:
        put(store, "zarr.json", NO_OME[problem])
    with pytest.raises(FormatError, match=problem) as caught:
        store.close()
    assert caught.value.rule == "rfc9/one-hierarchy"
    assert out.read_bytes() == b"old"
    partial = tmp_path / "a.ozx.partial"
    assert partial.exists() == keep
    if keep:
        assert b"data" in partial.read_bytes()
    else:
        assert ".partial" not in caught.value.hint

"""Keys of an archive: in the order ozx writes, whatever the archive's; found by name, the last one of several."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zip_forge import Member

from ozx.archive.columns import parse_columns
from ozx.flow.sources import archive_keys
from ozx.flow.sources.archive_keys import ArchiveKeys
from ozx.hierarchy.entry_order import breadth_first, hierarchy_order
from ozx.hierarchy.keys import is_metadata_key


def keys_of(names):
    members = [Member(name) for name in names]
    return ArchiveKeys.of_files(parse_columns(b"".join(m.central_record(0) for m in members), len(members)))


names = st.lists(st.sampled_from(["zarr.json", "0", "10", "9", "c", "é", "xzarr.json"]), min_size=1, max_size=3)


@settings(deadline=None)
@given(st.lists(names.map("/".join), max_size=12), st.sampled_from([1, 3, 1 << 14]))
def test_order_and_look_up(keys, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive_keys, "_BLOCK", block)
        found = keys_of([key.encode() for key in keys])
        metadata = sorted({key for key in keys if is_metadata_key(key)}, key=breadth_first)
        data = sorted({key for key in keys if not is_metadata_key(key)}, key=hierarchy_order)
        assert list(found) == metadata + data
    assert found.metadata == metadata
    assert len(found) == len(set(keys))
    last = {key: row for row, key in enumerate(keys)}
    assert {key: found.find(key) for key in keys} == last
    assert found.find_all(list(last)) == list(last.values())
    assert sorted(len(places) for places in found.repeated) == sorted(n for n in map(keys.count, last) if n > 1)


def test_folders_are_passed_over_and_encodings_read():
    keys = keys_of([b"0/", b"caf\x82", "é".encode(), b"zarr.json"])
    assert list(keys) == ["zarr.json", "café", "é"]
    assert (keys.find("café"), keys.find("é"), keys.find("0/"), keys.find("0")) == (1, 2, None, None)
    with pytest.raises(KeyError, match="none"):
        keys.find_all(["café", "none"])
    assert keys.find_all([]) == []


def test_nothing():
    assert list(ArchiveKeys.of_files(parse_columns(b"", 0))) == []
    assert np.array_equal(ArchiveKeys.of_files(parse_columns(b"", 0)).rows, [])

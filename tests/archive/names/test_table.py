"""Names as spans of a buffer: taken, renamed, and cut without copying them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from zip_forge import Member

from ozx.archive.columns import parse_columns


def columns_of(names):
    return parse_columns(b"".join(Member(name).central_record(0) for name in names), len(names))


@given(st.lists(st.tuples(st.binary(max_size=8), st.booleans(), st.none() | st.binary(max_size=12)), max_size=12))
def test_taken_and_renamed(cases):
    rows = np.array([row for row, (_, is_kept, _) in enumerate(cases) if is_kept], np.int64)
    renamed = {row: new for row, (_, is_kept, new) in enumerate(cases) if is_kept and new is not None}
    table = columns_of([name for name, _, _ in cases]).take(rows, renamed)
    assert list(table.iter_raw_names()) == [new if new is not None else name for name, is_kept, new in cases if is_kept]
    assert [table.raw_name(index) for index in range(len(table))] == list(table.iter_raw_names())


def test_prefixes():
    columns = columns_of([b"a/zarr.json", b"a/0", b"b/0", b"a", b""])
    below = columns.below(b"a/")
    assert below.tolist() == [True, True, False, False, False]
    cut = columns.take(np.flatnonzero(below)).without_prefix(2)
    assert list(cut.iter_raw_names()) == [b"zarr.json", b"0"]
    assert list(columns.take(np.array([0])).without_prefix(2).take(np.array([0])).iter_raw_names()) == [b"zarr.json"]

"""Free places: nothing is taken twice, nothing is lost; and the room kept at the head."""

from cases.archive_builder import group
from hypothesis import given, settings
from hypothesis import strategies as st

from ozx.store.growing_file import Space, metadata_reserve

steps = st.lists(st.one_of(st.integers(1, 60), st.tuples(st.integers(0, 1 << 20))), max_size=80)


@settings(deadline=None, max_examples=150)
@given(steps, st.sampled_from([0, 17]), st.sampled_from([None, 40, 300]))
def test_every_byte_is_taken_once_or_free(steps, start, limit):
    """A number takes a piece of that length, a tuple gives one back."""
    space = Space(start, None if limit is None else start + limit)
    taken = {}
    for step in steps:
        if isinstance(step, tuple):
            if taken:
                offset = sorted(taken)[step[0] % len(taken)]
                space.give_back(offset, taken.pop(offset))
        else:
            offset = space.take(step)
            if offset is None:
                assert limit is not None
                assert space.end + step > start + limit
                assert not [length for _, length in space.holes if length >= step]
            else:
                taken[offset] = step
        pieces = sorted([*taken.items(), *space.holes])
        position = start
        for offset, length in pieces:
            assert offset == position
            position += length
        assert position == space.end
        assert limit is None or space.end <= start + limit
        holes = {offset for offset, _ in space.holes}
        assert not [
            offset for offset, length in space.holes if offset + length in holes or offset + length == space.end
        ]


def test_an_absurd_plate_does_not_get_absurd_room():
    wells = [{"path": f"A/{n}", "rowIndex": 0, "columnIndex": n} for n in range(2)]
    ome = {"version": "0.5", "plate": {"wells": wells, "rows": [], "columns": [], "field_count": 10**12}}
    assert metadata_reserve({"zarr.json": group(attributes={"ome": ome})}) <= 64 << 20

"""Which nodes stand above all others, and which are missing between."""

from hypothesis import given
from hypothesis import strategies as st

from ozx.hierarchy.keys import missing_groups, top_nodes

paths = st.sets(st.lists(st.sampled_from("abc"), max_size=4).map("/".join), max_size=8)


def is_above(first, second):
    return first != second and (not first or second.startswith(f"{first}/"))


@given(paths)
def test_tops_stand_above_all_and_no_one_above_them(nodes):
    tops = top_nodes(nodes)
    assert set(tops) == {path for path in nodes if not any(is_above(other, path) for other in nodes)}


@given(paths)
def test_with_the_missing_groups_every_node_is_reached(nodes):
    missing = missing_groups(nodes)
    assert nodes.isdisjoint(missing)
    whole = nodes | set(missing)
    assert all(path.rpartition("/")[0] in whole for path in whole if path)
    assert all(any(is_above(path, node) for node in nodes) for path in missing)

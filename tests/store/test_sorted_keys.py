"""Sorted keys against the plain way of looking at all of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ozx.store.sorted_keys import SortedKeys

components = st.sampled_from(["a", "a-b", "a.b", "a0", "A", "b", "0", "10", "9", "é", "\U00010000", "~"])
keys = st.lists(components, min_size=1, max_size=4).map("/".join)


def children_of(keys, folder):
    prefix = folder + "/" if folder else ""
    return {key[len(prefix) :].split("/")[0] for key in keys if key.startswith(prefix)}


@settings(deadline=None, max_examples=200)
@given(st.lists(keys, max_size=40), keys, st.lists(keys, max_size=5))
def test_answers_are_those_of_a_plain_list(names, asked, changed):
    found = SortedKeys(names)
    expected = set(names)
    for key in changed:
        if key in expected:
            found.remove(key)
            expected.remove(key)
        else:
            found.add(key)
            expected.add(key)
    assert len(found) == len(expected)
    assert (asked in found) == (asked in expected)
    for prefix in ("", asked, asked + "/", asked[:-1], asked + "0"):
        assert found.below(prefix) == sorted(key for key in expected if key.startswith(prefix))
    for folder in ("", asked, asked.rpartition("/")[0]):
        children = list(found.children(folder))
        assert len(children) == len(set(children))
        assert set(children) == children_of(expected, folder)
        assert list(found.children(folder + "/")) == children

"""Orders of many keys at once are those of one key after the other."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ozx.flow.sources.archive_keys import are_in_hierarchy_order, sorted_by_hierarchy
from ozx.hierarchy.keys import hierarchy_order

components = st.one_of(
    st.integers(0, 120).map(str), st.text("09a.-é٣", min_size=1, max_size=4), st.sampled_from(["c", "x" * 300])
)
keys = st.lists(components, min_size=1, max_size=4).map("/".join)


@pytest.mark.ci
@settings(deadline=None, max_examples=400)
@example(["0", "0/0"])
@example(["0/0", "0"])
@example(["٣", "10"])
@given(st.lists(keys, max_size=8))
def test_the_proof_says_what_comparing_says(names):
    expected = names == sorted(names, key=hierarchy_order)
    assert are_in_hierarchy_order([name.encode() for name in names]) is expected
    ordered = [names[position] for position in sorted_by_hierarchy(names)]
    assert ordered == sorted(names, key=hierarchy_order)
    assert are_in_hierarchy_order([name.encode() for name in ordered])

"""Many sources: which of them would become the same file."""

import pytest

from ozx.errors import UsageError
from ozx.flow.batch import check_distinct


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (["a", "b", "a"], ["a.ozx", "b.ozx", "a.ozx"], "^a is given twice$"),
        (["x/a", "y/a"], ["d/a.ozx", "d/a.ozx"], "^x/a and y/a would both become d/a.ozx$"),
        (["x/a", "y/a"], ["d/a.ozx", "d/../d/a.ozx"], "would both become"),
    ],
)
def test_two_sources_for_one_file(sources, targets, message):
    with pytest.raises(UsageError, match=message):
        check_distinct(sources, targets, verb="Pack")


def test_each_has_its_own():
    check_distinct(["a", "b"], ["a.ozx", "b.ozx"], verb="Pack")

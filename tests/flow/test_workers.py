"""The number of threads of a run."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from ozx.errors import UsageError
from ozx.flow.workers import checked_jobs, working


@pytest.mark.parametrize(
    ("jobs", "message"),
    [(0, "at least 1 job; got 0"), (-2, "got -2"), (1.5, "a whole number of jobs; got 1.5"), ("2", "got '2'")],
)
def test_other_numbers_are_refused(jobs, message):
    with pytest.raises(UsageError, match=message):
        checked_jobs(jobs)
    with pytest.raises(UsageError, match=message), working(jobs):
        pass
    with pytest.raises(UsageError, match=message), ThreadPoolExecutor(1) as pool, working(jobs, pool):
        pass

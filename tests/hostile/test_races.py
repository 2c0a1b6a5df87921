"""Writers at work beside every verb that removes or replaces what it read; `bench/soak.py` does the same for longer."""

import pytest
from ending import needs_fork
from races import RACES, run_many

pytestmark = [needs_fork, pytest.mark.ci]


@pytest.mark.parametrize("race", RACES, ids=[race.name for race in RACES])
def test_what_was_closed_under_the_sources_name_is_in_the_archive_or_still_there(tmp_path, race):
    counts, findings = run_many(race, tmp_path, range(12))
    assert findings == []
    assert sum(counts.values()) == 12

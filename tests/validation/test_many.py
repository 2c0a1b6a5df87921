"""Many files at once: their order, and those that cannot be read."""

import pytest
from hierarchies import FIXTURES

from ozx.errors import UsageError
from ozx.validation.cases.archive_builder import ArchiveBuilder
from ozx.validation.findings import Report
from ozx.validation.many import validate_many


@pytest.fixture
def paths(tmp_path):
    wrong = ArchiveBuilder.valid().add("../x").write(tmp_path / "wrong.ozx")
    return [str(path) for path in (wrong, tmp_path / "missing.ozx", FIXTURES / "sharded.ome.zarr")]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.ci)])
def test_answers_come_in_the_order_of_the_files(paths, jobs):
    wrong, missing, valid = validate_many(paths, jobs=jobs)
    assert isinstance(wrong, Report)
    assert not wrong.valid
    assert isinstance(missing, FileNotFoundError)
    assert isinstance(valid, Report)
    assert (valid.path, valid.findings) == (paths[2], ())


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.ci)])
def test_a_wrong_call_is_raised(paths, jobs):
    with pytest.raises(UsageError, match="expected a profile"):
        list(validate_many(paths, jobs=jobs, profile="loose"))


def test_nothing():
    assert list(validate_many([])) == []

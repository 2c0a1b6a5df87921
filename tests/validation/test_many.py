"""Many files at once: their order, and those that cannot be read."""

from operator import itemgetter

import pytest
from cases.archive_builder import ArchiveBuilder
from hierarchies import FIXTURES

import ozx.validation.validate
from ozx.errors import UsageError
from ozx.faults import FaultError
from ozx.validation.report import Report
from ozx.validation.validate import validate_many


@pytest.fixture
def paths(tmp_path):
    wrong = ArchiveBuilder.valid().add("../x").write(tmp_path / "wrong.ozx")
    return [str(path) for path in (wrong, tmp_path / "missing.ozx", FIXTURES / "sharded.ome.zarr")]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.ci)])
def test_every_answer_has_the_number_of_its_file(paths, jobs):
    wrong, missing, valid = (answer for _, answer in sorted(validate_many(paths, jobs=jobs), key=itemgetter(0)))
    assert isinstance(wrong, Report)
    assert not wrong.valid
    assert isinstance(missing, FileNotFoundError)
    assert isinstance(valid, Report)
    assert (valid.path, valid.findings) == (paths[2], ())


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.ci)])
def test_a_wrong_call_is_raised(paths, jobs):
    with pytest.raises(UsageError, match="expected the profile"):
        list(validate_many(paths, jobs=jobs, profile="loose"))


def test_nothing():
    assert list(validate_many([])) == []


def test_a_fault_of_ozx_with_one_file_does_not_stop_the_others(paths, monkeypatch):
    validate = ozx.validation.validate.validate

    def stumble(path, **options):
        return 1 + "" if path == paths[0] else validate(path, **options)

    monkeypatch.setattr(ozx.validation.validate, "validate", stumble)
    (_, fault), (_, missing), (_, valid) = validate_many(paths)
    assert isinstance(fault, FaultError)
    assert fault.path == paths[0]
    assert isinstance(missing, FileNotFoundError)
    assert isinstance(valid, Report)

"""Level data: the cases of the rules about stored values in a directory, and what no case shows."""

from __future__ import annotations

import json

import pytest
from cases.archive_builder import ArchiveBuilder, array, group, write_tree
from cases.case import cases_by_rule
from cases.data_cases import DATA_CASES
from counting_progress import CountingProgress

from ozx.validation.validate import validate


def found(report):
    return {finding.id: finding for finding in report.findings if finding.id in (*DATA_CASES, "zip/crc")}


@pytest.mark.parametrize("case", cases_by_rule(DATA_CASES), ids=lambda case: f"{case.rule}: {case.name}")
def test_case_in_a_directory(case, tmp_path):
    # test_rule_cases.py has the same in archives.
    values = {entry.name.decode(): entry.value for entry in case.make().entries}
    findings = found(validate(write_tree(tmp_path / "cells.zarr", values), level="data"))
    expected = {rule: severity for rule, severity in case.severities().items() if rule in DATA_CASES}
    assert {rule: finding.severity for rule, finding in findings.items()} == expected
    assert {finding.where.entry for finding in findings.values()} <= values.keys()


@pytest.mark.parametrize("name", ["0/c/0", "notes"])
def test_checksums_of_all_entries_are_compared(tmp_path, name):
    builder = ArchiveBuilder.valid().add("notes", b"1234")
    assert found(validate(builder.write(tmp_path / "cells.ozx"), level="data")) == {}
    builder.set(name, data=b"?bcd")
    report = validate(builder.write(tmp_path / "cells.ozx"), level="data")
    assert found(report)["zip/crc"].where.entry == name


def test_an_archive_that_nobody_reads_as_a_whole_is_not_looked_into(tmp_path):
    builder = ArchiveBuilder.valid().set("0/c/0", flags=1)
    report = validate(builder.write(tmp_path / "cells.ozx"), level="data")
    assert found(report)["zarr/not-decoded"].message.startswith("no chunk was checked: ")


def test_zarr_v2_is_decoded_too(tmp_path):
    document = {"zarr_format": 2, "shape": [8], "chunks": [4], "dtype": "|u1", "compressor": {"id": "zlib", "level": 1}}
    document |= {"fill_value": 0, "order": "C", "filters": None}
    values = {
        ".zgroup": b'{"zarr_format": 2}',
        "0/.zarray": json.dumps(document).encode(),
        "0/0": b"no zlib",
        "0/7": b"",
    }
    findings = found(validate(write_tree(tmp_path / "cells.zarr", values), level="data"))
    assert {rule: finding.where.entry for rule, finding in findings.items()} == {
        "zarr/chunk-data": "0/0",
        "zarr/chunk-key": "0/7",
    }


@pytest.mark.parametrize("jobs", [1, 4])
def test_of_many_only_the_first_are_named_and_progress_is_told(tmp_path, jobs):
    values = {"zarr.json": group(), "0/zarr.json": array([400], [1])}
    values |= {f"0/c/{number}": b"ab" for number in range(400)}
    progress = CountingProgress()
    report = validate(write_tree(tmp_path / "cells.zarr", values), level="data", jobs=jobs, progress=progress)
    messages = [finding.message for finding in report.findings if finding.id == "zarr/chunk-data"]
    assert len(messages) == 21
    assert messages[-1] == "and 380 more of the same"
    ((_, total),) = progress.phases
    assert progress.done == total
    assert progress.stopped == 1

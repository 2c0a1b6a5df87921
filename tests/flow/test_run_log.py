"""The log of runs: lines, torn lines, failures, outputs."""

import json

import pytest

from ozx.errors import ResourceError, UsageError
from ozx.flow.run_log import LogLine, failed_lines, open_log, read_log


def line(source, status="packed", **values):
    facts = {"run": "1", "host": "here", "user": "ada", "version": "0.1.0", "verb": "pack", "options": {}}
    return LogLine(
        **{"time": "2026-01-01T00:00:00+00:00", "source": source, "output": f"{source}.ozx"} | facts | values,
        status=status,
    )


def failure(source, code="format", **values):
    error = {"code": code, "message": "", "rule": None, "hint": None}
    return line(source, "failed", **{"exit": 1, "error": error} | values)


def test_a_torn_line_costs_no_other_line(tmp_path):
    path = tmp_path / "run.jsonl"
    with open_log(str(path)) as append:
        append(line("a"))
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "time": "20')
    with open_log(str(path)) as append:
        append(line("b"))
    assert list(read_log(str(path))) == [line("a"), None, line("b")]


def test_other_lines_are_no_lines(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n[]\n3\n{}\n\xff\n" + json.dumps({"schema": 1, "source": "a"}).encode() + b"\n")
    assert list(read_log(str(path))) == [None] * 5


def test_a_newer_log_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    with open_log(str(path)) as append:
        append(line("a"))
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(UsageError, match="expected a log of schema 1; found 2"):
        list(read_log(str(path)))


@pytest.mark.parametrize("name", ["missing/run.jsonl", ""])
def test_a_log_that_cannot_be_written(tmp_path, name):
    with pytest.raises(ResourceError), open_log(str(tmp_path / name)):
        pass


def test_a_source_that_one_run_removed_did_not_fail_in_another():
    lines = [line("a", source_removed=True), failure("a", "missing")]
    assert failed_lines(lines, "pack") == []
    assert [each.source for each in failed_lines([*lines, failure("a")], "pack")] == ["a"]
    assert [each.source for each in failed_lines([failure("b", "missing")], "pack")] == ["b"]

"""The log of runs: lines, torn lines, failures, outputs."""

import json
import os

import pytest

from ozx.errors import ResourceError, UsageError
from ozx.flow.run_log import LogLine, RunLog, failed_lines, read_log, written_lines


def line(source, status="packed", **values):
    facts = {"run": "1", "host": "here", "user": "ada", "version": "0.1.0", "verb": "pack", "options": {}}
    return LogLine(
        **{"time": "2026-01-01T00:00:00+00:00", "source": source, "output": f"{source}.ozx"} | facts | values,
        status=status,
    )


def failure(source, code="format", **values):
    error = {"code": code, "message": "", "rule": None, "hint": None}
    return line(source, "failed", **{"exit": 1, "error": error} | values)


def test_lines_come_back(tmp_path):
    path = str(tmp_path / "run.jsonl")
    name = b"/raw/\xff\n\xe2\x80\xa8.zarr".decode("utf-8", "surrogateescape")
    for source in ("/raw/a", name):
        with RunLog(path) as log:
            log.append(line(source, options={"shards": "auto"}))
    assert list(read_log(path)) == [line("/raw/a", options={"shards": "auto"}), line(name, options={"shards": "auto"})]


def test_each_line_is_synced_before_the_next(tmp_path, monkeypatch):
    sizes = []
    path = tmp_path / "run.jsonl"
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    with RunLog(str(path)) as log:
        log.append(line("a"))
        log.append(line("b"))
    ends = [number + 1 for number, byte in enumerate(path.read_bytes()) if byte == ord("\n")]
    assert sizes == ends


def test_a_torn_line_costs_no_other_line(tmp_path):
    path = tmp_path / "run.jsonl"
    with RunLog(str(path)) as log:
        log.append(line("a"))
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "time": "20')
    with RunLog(str(path)) as log:
        log.append(line("b"))
    assert list(read_log(str(path))) == [line("a"), None, line("b")]


def test_other_lines_are_no_lines(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n[]\n3\n{}\n\xff\n" + json.dumps({"schema": 1, "source": "a"}).encode() + b"\n")
    assert list(read_log(str(path))) == [None] * 5


def test_a_newer_log_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    with RunLog(str(path)) as log:
        log.append(line("a"))
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(UsageError, match="expected a log of schema 1; found 2"):
        list(read_log(str(path)))


@pytest.mark.parametrize("name", ["missing/run.jsonl", ""])
def test_a_log_that_cannot_be_written(tmp_path, name):
    with pytest.raises(ResourceError):
        RunLog(str(tmp_path / name))


def test_the_last_line_of_a_source_decides():
    lines = [failure("a"), failure("b"), line("c"), line("a"), failure("c", "full-disk"), None]
    assert [each.source for each in failed_lines(lines, "pack")] == ["b", "c"]
    assert failed_lines(lines, "import") == []


def test_the_later_line_by_time_wins_in_joined_logs():
    early = {"time": "2025-01-01T00:00:00+00:00"}
    lines = [line("a"), line("b"), failure("a", **early), failure("b", time="2026-01-01T00:00:01+00:00")]
    assert [each.source for each in failed_lines(lines, "pack")] == ["b"]
    assert [each.source for each in failed_lines(reversed(lines), "pack")] == ["b"]


def test_the_last_line_that_wrote_an_output_tells_of_it():
    made = line("a", bytes=10)
    lines = [made, line("a", "skipped", bytes=10), failure("b"), line("c", "skipped")]
    assert written_lines(lines) == [made]


def test_a_source_that_one_run_removed_did_not_fail_in_another():
    lines = [line("a", source_removed=True), failure("a", "missing")]
    assert failed_lines(lines, "pack") == []
    assert [each.source for each in failed_lines([*lines, failure("a")], "pack")] == ["a"]
    assert [each.source for each in failed_lines([failure("b", "missing")], "pack")] == ["b"]

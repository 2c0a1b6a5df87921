"""Log runs over many files: one JSON line per file, synced to disk; later runs append to the log."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ozx.atomic.syncing import flush
from ozx.errors import UsageError, resource_errors

_SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of the log: the result of one file in one run."""

    time: str  # the time in UTC at which the run had finished the file, in the format of RFC 3339
    run: str  # identifier of the run, the same in all of its lines
    host: str  # the computer, the user's name, and the version of ozx
    user: str
    version: str
    verb: str  # the command, and its options that differ from their defaults
    options: Mapping[str, Any]
    source: str  # absolute paths, or URLs; no output if the command writes none
    output: str | None
    status: str  # the result in one word: ``packed``, ``skipped``, ``valid``, ``failed``, …
    bytes: int | None = None  # length of the output in bytes, if it is known
    sha256: str | None = None  # the output's digest in hexadecimal digits, if it was requested
    manifest_sha256: str | None = None  # the digest of the output's manifest, if one was requested
    verified: bool = False  # whether the output was read back and compared; whether the whole source was deleted
    source_removed: bool = False
    exit: int = 0  # the exit code for this file alone
    error: Mapping[str, str | None] | None = None  # for a failure ``{"code", "message", "rule", "hint"}``, else None


@contextmanager
def open_log(path: str) -> Iterator[Callable[[LogLine], None]]:
    """Open a log file, and yield a function that appends a line to it; the line is on disk when the function returns.

    A line is written by one call, so that several processes of one computer can share a log. Opening the log adds a
    line break to an incomplete last line, such as after a power cut; `read_log` yields None for such a line.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    with resource_errors():
        descriptor = os.open(path, flags, 0o666)

    @resource_errors()
    def append(line: LogLine) -> None:
        # ASCII: names that are not valid text keep their escapes, and all programs agree on where a line ends.
        data = json.dumps({"schema": _SCHEMA} | asdict(line)).encode("ascii") + b"\n"
        while data:
            data = data[os.write(descriptor, data) :]
        flush(descriptor)

    try:
        with resource_errors():
            if not _ends_with_line(descriptor):
                os.write(descriptor, b"\n")
        yield append
    finally:
        os.close(descriptor)


def _ends_with_line(descriptor: int) -> bool:
    size = os.lseek(descriptor, 0, os.SEEK_END)
    if size == 0:
        return True
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"


def read_log(path: str) -> Iterator[LogLine | None]:
    """Yield the lines of a log, and None for each line that cannot be parsed, such as an incomplete line."""
    names = LogLine.__dataclass_fields__.keys()
    with resource_errors(), open(path, "rb") as file:
        for text in file:
            if not text.strip():
                continue
            try:
                content = json.loads(text)
                schema = content.pop("schema")
                line = LogLine(**{name: value for name, value in content.items() if name in names})
            except (ValueError, TypeError, AttributeError, KeyError):
                yield None
                continue
            if schema != _SCHEMA:
                raise UsageError(
                    f"expected a log of schema {_SCHEMA}; found {schema!r}", path=path, hint="Use a newer ozx."
                )
            yield line


def _histories(lines: Iterable[LogLine | None]) -> dict[tuple[str, str], tuple[LogLine, LogLine | None, bool]]:
    """Return for each source and command the last line, the last line of a run that wrote the output, if it is removed.

    The order is that of the last lines.
    """
    histories: dict[tuple[str, str], tuple[LogLine, LogLine | None, bool]] = {}
    # By time: logs of several runs may be joined in any order. Lines with the same time stay in their order.
    for line in sorted((line for line in lines if line is not None), key=lambda line: line.time):
        last, made, removed = histories.pop((line.verb, line.source), (line, None, False))
        # Unless a later run found that the source was already removed.
        if not removed or (line.error or {}).get("code") != "missing":
            last = line
            if line.error is None and line.status != "skipped":
                made, removed = line, False
            removed = removed or line.source_removed
        histories[line.verb, line.source] = last, made, removed
    return histories


def failed_lines(lines: Iterable[LogLine | None], verb: str) -> list[LogLine]:
    """Return the last log line of each source for which the last run of `verb` failed.

    The last line is the one with the latest time. If a run removed the source, a later run that finds no source is
    ignored.
    """
    return [line for line, _, _ in _histories(lines).values() if line.verb == verb and line.exit != 0]


def written_lines(lines: Iterable[LogLine | None]) -> list[LogLine]:
    """Return the last line about each output, in the order of their times."""
    made = (line for _, line, _ in _histories(lines).values())
    last = {line.output: line for line in sorted(filter(None, made), key=lambda line: line.time)}
    return [line for output, line in last.items() if output is not None]

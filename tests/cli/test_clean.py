"""`ozx clean` as a user meets it: the list, the question, exit codes."""

import json
import os
import time

import jsonschema
import pytest
from commands import command, schema_of

ozx = command("clean")
NAME = ".a.ozx.1.node8-12345678.ozx-tmp"


@pytest.fixture
def left(here):
    """A leftover of another computer, nine days old."""
    (here / NAME).write_bytes(b"123")
    os.utime(here / NAME, (time.time() - 9 * 86_400,) * 2)
    return here / NAME


def test_it_asks(capsys, left, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("ozx.cli.clean.click.confirm", lambda question, err: question != "Remove 1?")
    code, out, err = ozx(capsys, ".")
    assert (code, out) == (3, "0 of 1 removed, 0 B\n")
    assert err == f".{os.sep}{NAME}  3 B, 9d old, of node8\n"
    monkeypatch.setattr("ozx.cli.clean.click.confirm", lambda question, err: True)
    assert ozx(capsys, ".")[:2] == (0, "1 of 1 removed, 3 B\n")
    assert not left.exists()
    assert ozx(capsys, ".") == (0, "0 of 0 removed, 0 B\n", "")


def test_without_a_terminal(capsys, left, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    code, _, err = ozx(capsys, ".")
    assert code == 2
    assert "hint: Give --yes" in err
    assert ozx(capsys, ".", "--dry-run")[:2] == (0, "0 of 1 removed, 0 B\n")
    assert left.exists()
    code, out, _ = ozx(capsys, ".", "--yes", "--json")
    answer = json.loads(out)
    jsonschema.validate(answer, schema_of("clean"))
    assert (code, [each["removed"] for each in answer["leftovers"]]) == (0, [True])


def test_what_is_too_young_is_counted(capsys, left):
    (left.parent / NAME.replace("a", "b")).write_bytes(b"")
    assert ozx(capsys, ".", "--dry-run")[:2] == (0, "0 of 1 removed, 0 B; 1 younger than 7d\n")
    assert ozx(capsys, ".", "--older-than", "10d")[:2] == (0, "0 of 0 removed, 0 B; 2 younger than 10d\n")
    assert json.loads(ozx(capsys, ".", "--dry-run", "--json")[1])["younger"] == 1


@pytest.mark.parametrize("age", ["7", "d", "-1d", "1w", ""])
def test_an_age_that_is_none(capsys, left, age):
    code, _, err = ozx(capsys, ".", "--older-than", age)
    assert code == 2
    assert "expected a number and d, h or m" in err
    assert left.exists()

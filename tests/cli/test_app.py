"""Errors of any command, and unusual standard streams."""

import errno
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from terminals import run_in_terminal

import ozx.cli.app
from ozx.cli.app import COMMANDS, run
from ozx.cli.output import say_error
from ozx.errors import FormatError
from ozx.validation.rules.table import RULES

FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_an_error_without_a_way_out_leads_to_its_rule(capsys, tmp_path):
    path = tmp_path / "a.ozx"
    path.write_bytes(b"# words")
    assert run(["info", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.endswith("[zip/not-a-zip]\nhint: See ozx rules zip/not-a-zip.\n")
    assert run(["rules", "zip/not-a-zip"]) == 0


def test_a_way_out_comes_before_its_rule(capsys):
    say_error("a.ozx: cut off", "zip/truncated", "Copy it again.")
    say_error("nothing is known")
    assert capsys.readouterr().err == (
        "error: a.ozx: cut off [zip/truncated]\nhint: Copy it again.\nerror: nothing is known\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_examples(capsys, name):
    assert run([name, "--help"]) == 0
    told = capsys.readouterr().out
    assert f"ozx {name}" in told.partition("Examples:")[2]
    assert run([name, "-h"]) == 0
    assert capsys.readouterr().out == told


def test_every_rule_that_errors_name_can_be_explained():
    source = Path(__file__).parents[2] / "src"
    named = {rule for path in source.rglob("*.py") for rule in re.findall(r'rule="([^"]+)"', path.read_text("utf-8"))}
    assert "zip/not-a-zip" in named
    assert named <= set(RULES)


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "ascii"])
def test_text_for_files_and_pipes_is_utf_8(tmp_path, encoding):
    """Whatever the code page: another program does not know it."""
    path = str(tmp_path / "Zelle-ä-細胞-5 µm.ozx")

    def told(*arguments):
        command = [sys.executable, "-m", "ozx", *arguments]
        return subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding}, check=True)

    packed = told("pack", str(FIXTURES / "image.ome.zarr"), path, "--no-sync", "--json")
    assert json.loads(packed.stdout.decode("utf-8"))["results"][0]["path"] == path
    edited = told("edit", path, "--name", "→ 細胞", "--yes")
    assert "→ 細胞" in edited.stdout.decode("utf-8") + edited.stderr.decode("utf-8")


@pytest.mark.posix("the console of Windows takes every character")
def test_a_terminal_gets_a_question_mark_for_what_it_lacks(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    shown = run_in_terminal("info", "missing 細.ozx")
    assert "missing ?.ozx" in shown.last[0]


def raising(monkeypatch, error):
    def fail(**_):
        raise error

    monkeypatch.setattr(ozx.cli.app, "load_command", lambda name: click.Command(name, callback=fail))


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (TypeError("unsupported operand"), 70, "error: this is a fault of ozx, not of your files: TypeError: unsupp"),
        (RecursionError("too deep"), 70, "error: this is a fault of ozx, not of your files: RecursionError: too deep"),
        (MemoryError("Unable to allocate 8 EiB"), 4, "error: this computer ran out of memory: Unable to allocate"),
        (FileNotFoundError(2, "No such file", "a.ozx"), 4, "error: a.ozx: No such file"),
        (FormatError("broken", path="a.ozx"), 1, "error: a.ozx: broken"),
        (KeyboardInterrupt(), 130, "interrupted; no incomplete file was left"),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
    ],
)
def test_every_exception_becomes_a_message_and_a_code(monkeypatch, capfd, error, code, told):
    raising(monkeypatch, error)
    stdout = os.dup(number := sys.stdout.fileno())  # a broken pipe has it replaced
    try:
        assert run(["info"]) == code
    finally:
        os.dup2(stdout, number)
        os.close(stdout)
    err = capfd.readouterr().err.lstrip()
    assert err.startswith(told)
    assert "Traceback" not in err
    assert err.count("\n") <= 3


def test_an_exit_that_a_signal_asks_for_passes(monkeypatch):
    raising(monkeypatch, SystemExit(143))
    with pytest.raises(SystemExit):
        run(["info"])


def test_messages_are_not_longer_than_a_screen(capsys):
    say_error("x" * 1_000_000, "zip/truncated", "h" * 1_000_000)
    assert all(len(line) < 2_100 for line in capsys.readouterr().err.splitlines())


@pytest.mark.ci
def test_a_group_of_options_is_told_once(capsys):
    assert run(["pack", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "see ozx help network" in shown
    assert "--dask, --log, --retry-failed" in shown
    assert "Open URLs without credentials" not in shown
    assert run(["help", "network"]) == 0
    assert "--anonymous                 Open URLs without credentials" in capsys.readouterr().out


@pytest.mark.parametrize("topic", [[], ["pack"], ["labels"]])
def test_help_of_a_topic_is_its_help(capsys, topic):
    assert run(["help", *topic]) == 0
    shown = capsys.readouterr().out
    assert run([*topic, "--help"]) == 0
    assert capsys.readouterr().out == shown


def test_help_of_what_is_not_there_names_the_groups(capsys):
    assert run(["help", "pakc"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: there is no command or group 'pakc'. Did you mean pack or unpack or repack?"
    assert hint == "hint: Groups: batch, network."


@pytest.mark.parametrize("arguments", ["rules --json", "--help", "info --json {}", "cat {} zarr.json"])
def test_a_closed_stdout_and_one_that_is_read_no_more_are_no_errors(cells, arguments):
    call = f"{shlex.quote(sys.executable)} -m ozx {arguments.format(shlex.quote(str(cells)))}"
    script = f"{call} >&-; echo $?; {call} 2>&1 >/dev/null | cat; ({call}; echo $? >&2) | head -c 0"
    told = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("0\n", "0\n")


@pytest.mark.parametrize("arguments", [["rules", "--json"], ["info", str(FIXTURES / "plate.ome.zarr")]])
def test_a_reader_that_ends_is_no_error(arguments):
    command = [sys.executable, "-m", "ozx", *arguments]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    with child:
        assert (child.stderr.read(), child.wait()) == (b"", 0)


def test_a_file_that_cannot_be_written_is_no_closed_pipe(monkeypatch, tmp_path, capsys):
    """On Windows, both are EINVAL."""

    class Lost(io.TextIOWrapper):
        def write(self, text):
            raise OSError(errno.EINVAL, "Invalid argument")

    with open(tmp_path / "out.txt", "wb") as file:
        monkeypatch.setattr(sys, "stdout", Lost(file, "utf-8"))
        monkeypatch.setattr(ozx.cli.app, "_is_of_click", lambda _: True)  # it raises in `write` here
        assert run(["rules", "--json"]) == 4
    assert "standard output cannot be written" in capsys.readouterr().err


@pytest.mark.posix("no device that is always full", on="linux")
@pytest.mark.parametrize(
    "arguments", ["rules --json", "rules", "--help", "--version", "info --json {}", "cat {} zarr.json", "ls {}"]
)
def test_a_full_disk_behind_stdout_is_named(cells, arguments):
    command = [sys.executable, "-m", "ozx", *(word.format(cells) for word in arguments.split())]
    with open("/dev/full", "wb") as full:
        told = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert told.returncode == 4
    assert told.stderr == (
        "error: standard output cannot be written: No space left on device\n"
        "hint: Redirect the output elsewhere. Output files with their final names are complete.\n"
    )


@pytest.mark.ci
@pytest.mark.posix("no device that is always full", on="linux")
def test_a_story_that_cannot_be_told_stops_no_work(cells, tmp_path):
    for arguments, code in (
        (["pack", "missing.ome.zarr"], 4),
        (["unpack", cells, tmp_path / "out"], 0),
        (["nothing"], 2),
    ):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-m", "ozx", *map(os.fspath, arguments)]
            told = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full, check=False)
        assert told.returncode == code
    assert (tmp_path / "out" / "zarr.json").is_file()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_nul_character_is_a_wrong_argument(capsys, name):
    assert run([name, "cells\0.ozx"]) == 2
    assert capsys.readouterr().err == "error: expected arguments without NUL characters\n"


def complete(**variables):
    command = [sys.executable, "-c", "from ozx.cli.app import main; main()"]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False).stdout


@pytest.mark.ci
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell):
    script = complete(_OZX_COMPLETE=f"{shell}_source")
    if shell != "bash":  # which asks for its own version first, and may be old
        assert "_OZX_COMPLETE" in script
    words = {"COMP_WORDS": "ozx ext", "COMP_CWORD": "1" if shell != "fish" else "ext"}
    assert "extract" in complete(_OZX_COMPLETE=f"{shell}_complete", **words)
    words = {"COMP_WORDS": "ozx extract --chan", "COMP_CWORD": "2" if shell != "fish" else "--chan"}
    assert "--channels" in complete(_OZX_COMPLETE=f"{shell}_complete", **words)


def test_powershell_completes_commands_options_and_values():
    """Its script sets three variables, passes each line of JSON on, and leaves names of files to PowerShell."""
    script = complete(_OZX_COMPLETE="powershell_source")
    for name in ("_OZX_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        assert f"$env:{name} = " in script
        assert f'"Env:{name}"' in script

    def values(*words, word):
        text = complete(_OZX_COMPLETE="powershell_complete", COMP_WORDS="\n".join(words), COMP_CWORD=word)
        assert text.isascii()  # PowerShell decodes it by the code page
        return [json.loads(line)["value"] for line in text.splitlines() if line]

    assert values("ozx", word="ext") == ["extract"]
    assert "--channels" in values("ozx", "extract", r"C:\my data\a.ozx", word="--chan")
    assert values("ozx", "view", "--with", word="na") == ["napari"]
    assert values("ozx", "info", word="ce") == []
    assert "pack" in complete(_OZX_COMPLETE="powershell_complete", COMP_WORDS="ozx")

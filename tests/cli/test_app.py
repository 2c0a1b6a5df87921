"""What every command has in common: how a wrong command line, and an error, are told."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ozx.cli.app import COMMANDS, run
from ozx.cli.output import report_error, say_error
from ozx.errors import FormatError
from ozx.validation.rules import RULES


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["pakc", "x"],
            "There is no command 'pakc'. Did you mean pack or unpack or repack?",
            "ozx [OPTIONS] COMMAND [ARGS]...",
        ),
        (["nonsense"], "There is no command 'nonsense'.", "ozx [OPTIONS] COMMAND [ARGS]..."),
        (["cat", "x.ozx"], "Missing argument 'KEY'.", "ozx cat [OPTIONS] FILE|DIR KEY"),
        (["info"], "Missing argument 'FILE|DIR'.", "ozx info [OPTIONS] FILE|DIR"),
    ],
)
def test_a_wrong_command_line_is_told_as_every_error(capsys, arguments, message, hint):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    command = f"ozx {arguments[0]}" if arguments[0] in COMMANDS else "ozx"
    assert out == ""
    err = err.replace("[COMMAND]", "COMMAND")  # as newer releases of click have it
    assert err == f"error: {message}\nhint: {hint}; {command} --help explains it.\n"


def test_an_error_without_a_way_out_leads_to_its_rule(capsys, tmp_path):
    path = tmp_path / "a.ozx"
    path.write_bytes(b"# words")
    assert run(["info", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.endswith("[zip/not-a-zip]\nhint: ozx rules zip/not-a-zip explains it.\n")
    assert run(["rules", "zip/not-a-zip"]) == 0


def test_a_way_out_comes_before_its_rule(capsys):
    report_error(FormatError("cut off", path="a.ozx", rule="zip/truncated", hint="Copy it again."))
    say_error("nothing is known")
    assert capsys.readouterr().err == (
        "error: a.ozx: cut off [zip/truncated]\nhint: Copy it again.\nerror: nothing is known\n"
    )


@pytest.mark.parametrize("command", ["info", "ls", "cat"])
def test_help_says_which_commands_read_urls(capsys, command):
    assert run([command, "--help"]) == 0
    assert "FILE may be a URL" in " ".join(capsys.readouterr().out.split())


def test_every_rule_that_errors_name_can_be_explained():
    source = Path(__file__).parents[2] / "src"
    named = {rule for path in source.rglob("*.py") for rule in re.findall(r'rule="([^"]+)"', path.read_text("utf-8"))}
    assert "zip/not-a-zip" in named
    assert named <= set(RULES)


@pytest.mark.parametrize("encoding", ["latin-1", "cp932", "utf-8"])
def test_json_is_json_whatever_stdout_can_write(tmp_path, encoding):
    """What an encoding lacks is escaped as JSON has it, not as Python has it (\\xe4)."""
    hierarchy = Path(__file__).parents[2] / "fixtures" / "image.ome.zarr"
    path = str(tmp_path / "Zelle-ä-細胞-😀.ozx")
    command = [sys.executable, "-m", "ozx", "pack", str(hierarchy), path, "--no-sync", "--json"]
    told = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding}, check=True)
    assert json.loads(told.stdout.decode(encoding))["results"][0]["path"] == path

"""What every command has in common: how a wrong command line, and an error, are told."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ozx.cli.app
from ozx.cli.app import COMMANDS, batch_code, run
from ozx.cli.output import report_error, say_error
from ozx.errors import FormatError
from ozx.validation.rules.table import RULES


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["pakc", "x"],
            "There is no command 'pakc'. Did you mean pack or unpack or repack?",
            "ozx [OPTIONS] COMMAND [ARGS]...",
        ),
        (["nonsense"], "There is no command 'nonsense'.", "ozx [OPTIONS] COMMAND [ARGS]..."),
        (
            ["convert", "x.tif"],
            "There is no command 'convert'. Did you mean import or export?",
            "ozx [OPTIONS] COMMAND [ARGS]...",
        ),
        (["cat", "x.ozx"], "Missing argument 'KEY'.", "ozx cat [OPTIONS] FILE|DIR KEY"),
        (["info"], "Missing argument 'FILE|DIR...'.", "ozx info [OPTIONS] FILE|DIR..."),
    ],
)
def test_a_wrong_command_line_is_told_as_every_error(capsys, arguments, message, hint):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    command = f"ozx {arguments[0]}" if arguments[0] in COMMANDS else "ozx"
    assert out == ""
    err = err.replace("[COMMAND]", "COMMAND")  # as newer releases of click have it
    assert err == f"error: {message}\nhint: {hint}; see {command} --help.\n"


@pytest.mark.parametrize("option", ["--json", "-q", "--force"])
def test_an_option_before_the_command_is_told_its_place(capsys, option):
    assert run([option, "info", "cells.ozx"]) == 2
    err = capsys.readouterr().err
    assert f"got the option {option} before it" in err
    assert f"hint: Write it after the command: ozx info {option} …" in err


@pytest.mark.parametrize(
    ("arguments", "suggestion", "owners"),
    [
        (["export", "a.ozx", "--channels", "0"], "", " --channels is an option of ozx extract."),
        (["pack", "a", "--pixel-size", "2"], "", " --pixel-size is an option of ozx import, ozx stream, ozx edit."),
        (["info", "a.ozx", "--force"], "", ""),  # many commands have it
        (["validate", "a.ozx", "--levle", "data"], " Did you mean --level?", ""),
        (["edit", "a.ozx", "--scale", "2"], "", ""),  # --name is not similar enough
    ],
)
def test_an_option_of_another_command_names_this_command(capsys, arguments, suggestion, owners):
    assert run(arguments) == 2
    message, hint = capsys.readouterr().err.splitlines()
    option = next(argument for argument in arguments if argument.startswith("--"))
    assert message == f"error: There is no option {option!r}.{suggestion}"
    assert hint.endswith(f"see ozx {arguments[0]} --help.{owners}")


def test_a_flag_with_a_value_is_explained(capsys):
    assert run(["pack", "a", "--force=1"]) == 2
    assert "hint: --force: " in capsys.readouterr().err


def test_an_option_without_its_value_is_explained(capsys):
    assert run(["edit", "a.ozx", "--pixel-size"]) == 2
    message, hint = capsys.readouterr().err.splitlines()
    assert message.startswith("error: Option '--pixel-size' requires an argument")
    assert hint.startswith("hint: --pixel-size N[U]|A=N,...: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["import", "a.tif", "--channel-names", "--pixel-size", "1um"],
            "'--channel-names' requires an argument; found",
        ),
        (["import", "a.tif", "--out-dir", "--resume"], "'--out-dir' requires an argument; found the option '--resume'"),
        (["edit", "a.ozx", "--pixel-size", "0.65", "um"], "expected a pixel size without a blank; got 0.65 um"),
    ],
)
def test_the_next_word_is_no_value(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert message in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["edit", "a.ozx", "--pixel-size", "z=2um", "--pixel-size", "y=1um"],
        ["import", "a.tif", "--channel-names=A", "--channel-names", "B"],
        ["edit", "a.ozx", "--unit", "x=um", "--unit", "t=s"],
    ],
)
def test_an_option_that_is_given_twice_is_refused(capsys, arguments):
    assert run(arguments) == 2
    message, hint = capsys.readouterr().err.splitlines()
    assert message == f"error: option {arguments[-2]} is given twice"
    assert hint.startswith("hint: Give it once, and join the values with commas. ")


def test_an_option_for_several_values_may_be_repeated(capsys):
    assert run(["extract", "absent.ozx", "b.ozx", "--region", "y=0:9", "--region", "x=0:9"]) == 4


def test_the_hint_at_a_forgotten_value_says_how_to_give_a_value_with_a_dash(capsys):
    assert run(["edit", "a.ozx", "--name", "-q"]) == 2
    assert (
        "hint: --name N: Name of the image or plate. If -q is the value, write --name=-q.\n" in capsys.readouterr().err
    )


def test_a_value_may_look_like_an_option(capsys):
    assert run(["edit", "absent.ozx", "--name=--unit"]) == 4


def test_a_file_instead_of_a_command(capsys, tmp_path):
    (tmp_path / "my cells.ozx").touch()
    assert run([str(tmp_path / "my cells.ozx")]) == 2
    assert f"name a command before it, such as ozx info '{tmp_path / 'my cells.ozx'}'" in capsys.readouterr().err


def test_an_error_without_a_way_out_leads_to_its_rule(capsys, tmp_path):
    path = tmp_path / "a.ozx"
    path.write_bytes(b"# words")
    assert run(["info", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.endswith("[zip/not-a-zip]\nhint: See ozx rules zip/not-a-zip.\n")
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


def raising(monkeypatch, error):
    """Have every command raise `error`."""

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


def test_a_batch_with_a_fault_says_so_by_its_code():
    failure = {"message": "", "rule": None, "hint": None}
    assert batch_code([None, None]) == 0
    assert batch_code([None, failure]) == 3
    assert batch_code([failure, failure | {"fault": "TypeError"}, None]) == 70


def test_messages_are_not_longer_than_a_screen(capsys):
    report_error(FormatError("x" * 1_000_000, path="p" * 10_000, hint="h" * 1_000_000))
    assert all(len(line) < 2_100 for line in capsys.readouterr().err.splitlines())


@pytest.mark.ci
@pytest.mark.parametrize("arguments", ["rules --json", "--help", "info --json {}", "cat {} zarr.json"])
def test_a_closed_stdout_and_one_that_is_read_no_more_are_no_errors(cells, arguments):
    call = f"{shlex.quote(sys.executable)} -m ozx {arguments.format(shlex.quote(str(cells)))}"
    script = f"{call} >&-; echo $?; {call} 2>&1 >/dev/null | cat; ({call}; echo $? >&2) | head -c 0"
    told = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("0\n", "0\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        "rules --json",
        "rules",
        "--help",
        "info --help",
        "--version",
        "info --json {}",
        "info {}",
        "cat {} zarr.json",
        "ls {}",
    ],
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
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
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


@pytest.mark.ci
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell):
    def ask(**variables):
        environment = {**os.environ, **variables}
        command = [sys.executable, "-c", "from ozx.cli.app import main; main()"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    script = ask(_OZX_COMPLETE=f"{shell}_source")
    if shell != "bash":  # which asks for its own version first, and may be old
        assert "_OZX_COMPLETE" in script.stdout
    found = ask(_OZX_COMPLETE=f"{shell}_complete", COMP_WORDS="ozx ext", COMP_CWORD="1" if shell != "fish" else "ext")
    assert "extract" in found.stdout
    words = {"COMP_WORDS": "ozx extract --chan", "COMP_CWORD": "2" if shell != "fish" else "--chan"}
    assert "--channels" in ask(_OZX_COMPLETE=f"{shell}_complete", **words).stdout

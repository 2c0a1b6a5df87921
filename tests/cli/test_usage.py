"""Messages and hints for wrong command lines."""

import os

import numpy as np
import pytest
import tifffile

import ozx
from ozx.cli.app import COMMANDS, GONE, run
from ozx.cli.output import print_notes, say_error
from ozx.quoting import quote


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


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("Give force=True.", "Give --force."),
        ("levels='1:' or region=…", "--levels 1: or --region"),
        ("node='labels/my cells' exports it", "--path 'labels/my cells' exports it"),
        ("give ozx.storage_options(anonymous=True).", "give --anonymous."),
        ("in ozx.storage_options(endpoint='URL')", "in --storage-option endpoint=URL"),
        ("ozx.open(…, live=True)", "ozx.open(…, live=True)"),
    ],
)
def test_arguments_of_python_are_options_in_hints_and_notes(capsys, text, typed):
    say_error("no", hint=text)
    print_notes([text])
    typed = typed.replace("'labels/my cells'", quote("labels/my cells"))
    assert capsys.readouterr().err == f"error: no\nhint: {typed}\nnote: {typed}\n"


def test_hints_name_options_on_the_command_line_and_arguments_in_python(tmp_path, capsys):
    out, image = tmp_path / "a.ozx", tmp_path / "a.tif"
    ozx.write_image(out, np.zeros((8, 8), "uint8"))
    tifffile.imwrite(image, np.arange(64 * 64, dtype="uint16").reshape(64, 64), compression="zlib", rowsperstrip=8)
    for target, argument, option in (
        (out, "give force=True to", "give --force to"),
        (tmp_path / "b.ozx", "on_error='fill' replaces", "--on-error fill replaces"),
    ):
        with pytest.raises(ozx.OzxError) as caught:
            ozx.import_image(image, target)
        assert argument in caught.value.hint
        assert "--" not in caught.value.hint
        assert run(["import", str(image), str(target)]) in (1, 2)
        assert option in capsys.readouterr().err
        with tifffile.TiffFile(image) as file:
            offset = file.pages[0].dataoffsets[3]
        with image.open("r+b") as file:
            file.seek(offset)
            file.write(bytes(8))


@pytest.mark.parametrize("words", GONE)
def test_what_is_gone_names_what_to_do_instead(capsys, words):
    assert run(words.split()) == 2
    assert capsys.readouterr().err == f"error: ozx {words} is gone: {GONE[words]}\n"


@pytest.mark.parametrize("option", ["--json", "-q", "--force"])
def test_an_option_before_the_command_is_told_its_place(capsys, option):
    assert run([option, "info", "cells.ozx"]) == 2
    err = capsys.readouterr().err
    assert f"got the option {option} before it" in err
    assert f"hint: Write it after the command: ozx info {option} …" in err


@pytest.mark.parametrize(
    ("arguments", "suggestion", "owners"),
    [
        (["export", "a.ozx", "--max-size", "5"], "", " --max-size is an option of ozx extract."),
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
    path = quote(str(tmp_path / "my cells.ozx"))
    assert f"name a command before it, such as ozx info {path}" in capsys.readouterr().err

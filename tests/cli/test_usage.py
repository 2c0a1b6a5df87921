"""Messages and hints for wrong command lines."""

import os

import numpy as np
import pytest
import tifffile

import ozx
from ozx.cli.app import GONE, run
from ozx.cli.output import print_notes, say_error
from ozx.quoting import quote

ANY_COMMAND = "\nhint: ozx [OPTIONS] COMMAND [ARGS]...; see ozx --help.\n"


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("pakc x", "There is no command 'pakc'. Did you mean pack or unpack or repack?", ANY_COMMAND),
        ("nonsense", "There is no command 'nonsense'.", ANY_COMMAND),
        ("convert x.tif", "There is no command 'convert'. Did you mean import or export?", ANY_COMMAND),
        ("cat x.ozx", "Missing argument 'KEY'.", "\nhint: ozx cat [OPTIONS] FILE|DIR KEY; see ozx cat --help.\n"),
        ("info", "Missing argument 'FILE|DIR...'.", "\nhint: ozx info [OPTIONS] FILE|DIR...; see ozx info --help.\n"),
        ("--json info a", "got the option --json before it", "hint: Write it after the command: ozx info --json …"),
        ("-q info a", "got the option -q before it", "hint: Write it after the command: ozx info -q …"),
        ("--force info a", "got the option --force before it", "hint: Write it after the command: ozx info --force …"),
        # An option of another command.
        ("export a --max-size 5", "no option '--max-size'.\n", "--help. --max-size is an option of ozx extract.\n"),
        ("pack a --pixel-size 2", "no option '--pixel-size'.\n", "option of ozx import, ozx stream, ozx edit.\n"),
        ("info a.ozx --force", "no option '--force'.\n", "see ozx info --help.\n"),  # many commands have it
        ("validate a --levle data", "no option '--levle'. Did you mean --level?\n", "see ozx validate --help.\n"),
        ("edit a.ozx --scale 2", "no option '--scale'.\n", "see ozx edit --help.\n"),  # --name is not similar enough
        # Values that are too many, missing, or look like an option.
        ("pack a --force=1", "'--force' does not take a value", "hint: --force: "),
        ("edit a --pixel-size", "Option '--pixel-size' requires an argument", "hint: --pixel-size N[U]|A=N,...: "),
        ("import a --channel-names --pixel-size 1um", "'--channel-names' requires an argument; found", "hint: "),
        ("import a --out-dir --resume", "'--out-dir' requires an argument; found the option '--resume'", "hint: "),
        ("edit a --pixel-size 0.65 um", "expected a pixel size without a blank; got 0.65 um", "hint: "),
        ("edit a --name -q", "", "hint: --name N: Name of the image or plate. If -q is the value, write --name=-q.\n"),
        ("edit a --pixel-size z=2um --pixel-size y=1um", "--pixel-size is given twice\n", "hint: Give it once, "),
        ("import a --channel-names=A --channel-names B", "option --channel-names is given twice\n", "join the values"),
        ("edit a --unit x=um --unit t=s", "option --unit is given twice\n", "join the values with commas. "),
    ],
)
def test_a_wrong_command_line_has_a_message_and_a_hint(capsys, here, line, message, hint):
    assert run(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert hint in err.replace("[COMMAND]", "COMMAND")  # as newer releases of click have it
    assert err.count("\n") == 2
    assert os.listdir(here) == []


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


@pytest.mark.parametrize("line", ["extract a.ozx b.ozx --region y=0:9 --region x=0:9", "edit a.ozx --name=--unit"])
def test_a_value_may_look_like_an_option_and_some_options_may_be_repeated(line):
    assert run(line.split()) == 4


def test_a_file_instead_of_a_command(capsys, tmp_path):
    (tmp_path / "my cells.ozx").touch()
    assert run([str(tmp_path / "my cells.ozx")]) == 2
    path = quote(str(tmp_path / "my cells.ozx"))
    assert f"name a command before it, such as ozx info {path}" in capsys.readouterr().err

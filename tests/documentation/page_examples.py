"""Run the examples of a documentation page as a reader would run them.

A page is Markdown. Blocks of the kinds ``console`` and ``python`` run in order, in one folder, with a copy of
``fixtures/`` if the page names ``fixtures/``:

``console``
    Lines ``$ command``, each followed by the expected output; after a backslash, a command continues on the next line.
    In the output, ``…`` stands for any text within a line, and a line of only ``…`` for any number of lines. A command
    without output below it may print anything. Every command must end with 0, unless ``$ echo $?`` comes next. One
    shell runs all commands of a block; at the end of the block, it stops its background processes.
``python``
    A script, or a session with ``>>>`` whose answers are compared in the same way. All blocks of a page share one
    namespace.

``<!-- not run: REASON -->`` before a block leaves it out; ``<!-- run: COMMAND -->`` runs a command that readers need
not see.
"""

import difflib
import doctest
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from hierarchies import FIXTURES

KINDS = ("console", "python")
#: Encloses the exit code after each command; no command prints this character.
_MARK = "\x1e"
_SECONDS = 120
#: A comment for this module, or a block with its fence, its kind and its text.
_COMMENT_OR_BLOCK = r"^ *(?:<!-- (not run|run): ([^\n]+) -->|(```+) *(\S*)[^\n]*\n(.*?)^ *\3) *$"
#: Stop the background processes of a block at its end.
_END_OF_BLOCK = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n"


@dataclass(frozen=True)
class Block:
    """One example: its kind, the line of the page on which its text begins, and the text.

    `not_run` is the reason why it is left out, or None.
    """

    kind: str
    line: int
    text: str
    not_run: str | None = None


@dataclass(frozen=True)
class Command:
    """One command of a block, its line number on the page, and the lines that it should print."""

    line: int
    text: str
    expected: list[str]


class ExampleError(AssertionError):
    """The result of an example differs from the page."""


def read_blocks(page: str) -> list[Block]:
    """Return the examples of a page, in their order."""
    blocks, reason, end = [], None, 0
    for found in re.finditer(_COMMENT_OR_BLOCK, page, re.MULTILINE | re.DOTALL):
        comment, words, _, kind, text = found.groups()
        line = page.count("\n", 0, found.start()) + 1
        if reason is not None and (comment or kind not in KINDS or page[end : found.start()].strip()):
            raise ExampleError(f"line {line}: expected a block that is run, right after its “not run”")
        if comment == "run":
            blocks.append(Block("console", line, f"$ {words}\n"))
        elif kind in KINDS:
            blocks.append(Block(kind, line + 1, dedent(text), reason))
        reason, end = words if comment == "not run" else None, found.end()
    return blocks


def read_commands(block: Block) -> list[Command]:
    """Return the commands of a block with what they should print."""
    if not block.text.startswith("$ "):
        raise ExampleError(
            f"line {block.line}: expected a command behind “$ ”, found {block.text.partition(chr(10))[0]!r}"
        )
    found = re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
    return [
        Command(block.line + block.text.count("\n", 0, each.start()), each[1], each[2].splitlines()) for each in found
    ]


def read_shown_commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each line that begins with `ozx`, in shell blocks, run or not, up to a pipe or similar.

    Examples
    --------
    >>> list(read_shown_commands("```sh\\nozx ls 'a b.ozx' | sort\\n```\\n"))
    [['ozx', 'ls', 'a b.ozx']]
    """
    for kind, block in re.findall(r"^ *```(sh|console|powershell)$(.*?)^ *```$", page, re.MULTILINE | re.DOTALL):
        prompt = "$ " if kind == "console" else ""
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip().startswith(f"{prompt}ozx "):
                words = shlex.shlex(line.strip().removeprefix(prompt), posix=True, punctuation_chars="|&;<>")
                words.whitespace_split = True
                yield list(itertools.takewhile(lambda word: word[0] not in "|&;<>", words))


def is_as_expected(expected: list[str], found: list[str]) -> bool:
    """Return whether lines match those of a page, where ``…`` stands for text that differs from run to run."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
        for line in _without_blank_end(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in _without_blank_end(found))) is not None


def run_page(page: Path, folder: Path) -> None:
    """Run the examples of a page in `folder`, the empty current folder; raise the first failure."""
    text = page.read_text(encoding="utf-8")
    if "fixtures" in text:
        shutil.copytree(FIXTURES, folder / "fixtures")
    environment = make_environment(folder.with_name(f"{folder.name}.home"))
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in read_blocks(text):
        if block.not_run is None and block.kind == "console":
            _run_console(block, page.name, folder, environment)
        elif block.not_run is None:
            _run_python(block, page, namespace)


def make_environment(home: Path) -> dict[str, str]:
    """Return environment variables for commands: with the `ozx` and `python` under test, and without a desktop."""
    programs = home / "bin"
    programs.mkdir(parents=True)
    for name, module in (("ozx", " -m ozx"), ("python", ""), ("python3", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "DISPLAY", "WAYLAND"))}
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "120",
        "PYTHONUNBUFFERED": "1",  # stdout and stderr come in the order of a terminal
    }


def _run_console(block: Block, page: str, folder: Path, environment: dict[str, str]) -> None:
    commands = read_commands(block)
    script = _END_OF_BLOCK + "".join(
        f"{command.text}\nozx_code=$?; printf '{_MARK}%d{_MARK}' $ozx_code; (exit $ozx_code)\n" for command in commands
    )
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=_SECONDS,
    )
    printed = result.stdout.decode("utf-8", "backslashreplace").split(_MARK)
    outcomes = dict(zip(range(len(commands)), zip(printed[::2], map(int, printed[1::2]), strict=False), strict=False))
    for number, command in enumerate(commands):
        where = f"{page}, line {command.line}: $ {command.text}"
        if number not in outcomes:
            raise ExampleError(f"{where}\nthe shell ended before it, with\n{printed[-1]}")
        text, code = outcomes[number]
        if command.expected and not is_as_expected(command.expected, text.splitlines()):
            raise ExampleError(f"{where}\n{_difference(command.expected, text.splitlines())}")
        is_asked = number + 1 < len(commands) and commands[number + 1].text == "echo $?"
        if code and not is_asked:
            raise ExampleError(f"{where}\nexpected to end with 0, but it ended with {code}, and printed\n{text}")


def _run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    if ">>> " not in block.text:
        # Empty lines before the script, so that a traceback shows the line of the page.
        source = "\n" * (block.line - 1) + block.text
        exec(compile(source, str(page), "exec"), namespace)
        return
    session = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line - 1)
    session.globs = namespace
    report: list[str] = []
    doctest.DocTestRunner(_Checker(), verbose=False).run(session, out=report.append, clear_globs=False)
    if report:
        raise ExampleError("".join(report))


class _Checker(doctest.OutputChecker):
    """Compare the answers of a session in the same way as those of a shell."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        del optionflags
        return is_as_expected(want.splitlines(), got.splitlines())


def _without_blank_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _difference(expected: list[str], found: list[str]) -> str:
    return "\n".join(line for line in difflib.ndiff(expected, found) if not line.startswith("?"))

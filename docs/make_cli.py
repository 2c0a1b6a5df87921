"""Write docs/reference/cli.md from the help texts of the commands: ``python -m docs.make_cli``."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from ozx.cli.commands import COMMANDS, load_command

HEAD = """# Command line

This page lists the help texts of all commands (`ozx COMMAND --help` or `-h`). `docs/make_cli.py` makes this page. The
[interface](../interface.md) explains exit codes and the answers of `--json`. `ozx --version` shows the version, `ozx
--version -v` also the versions of libraries.

## Options of several commands

The help texts of these options are the same in several commands. In the section of each command, the line *Also* lists
the options from this table that the command accepts.
"""
#: An option that has the same help in at least this number of commands is explained only once.
_SEVERAL = 3


def cli_markdown() -> str:
    """Return ``docs/reference/cli.md``."""
    records = {name: _options(name) for name in COMMANDS}
    counts = Counter(record for found in records.values() for record in found)
    most = {names: text for (names, text), count in reversed(counts.most_common()) if count >= _SEVERAL}
    common = [(names, text) for names, text in counts if most.get(names) == text]
    lines = [HEAD, *_table(common)]
    for name, found in records.items():
        own = [record for record in found if record not in common]
        lines += ["", *_command_lines(name)]
        lines += ["", *_table(own)] if own else []
        shared = ", ".join(f"`{_first(names)}`" for names, text in found if (names, text) in common)
        lines += ["", f"Also: {shared}."] if shared else []
    return "\n".join(lines) + "\n"


def _first(names: str) -> str:
    """Return the long name of an option: ``-q, --quiet`` gives ``--quiet``, ``--log LOG`` gives ``--log``."""
    return next(word for word in names.replace(",", " ").split() if word.startswith("--"))


def _options(name: str) -> list[tuple[str, str]]:
    """Return the options of a command: names and help."""
    command = load_command(name)
    context = click.Context(command, info_name=f"ozx {name}")
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return [option.get_help_record(context) or ("", "") for option in options]


def _table(options: list[tuple[str, str]]) -> list[str]:
    rows = [f"| `{_in_table(names)}` | {_in_table(_escaped(text))} |" for names, text in options]
    return ["| option | |", "|---|---|", *rows]


def _command_lines(name: str) -> Iterator[str]:
    command = load_command(name)
    context = click.Context(command, info_name=f"ozx {name}")
    summary, *paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    yield from (f"## ozx {name}", "", summary, "")
    yield from ("```text", f"ozx {name} {' '.join(command.collect_usage_pieces(context))}", "```")
    for paragraph in paragraphs:
        yield ""
        yield from _paragraph_lines(paragraph)


def _paragraph_lines(paragraph: str) -> Iterator[str]:
    """Yield a paragraph of a help text as Markdown; a paragraph that click must not wrap has a title and commands."""
    if not paragraph.startswith("\b"):
        yield _escaped(paragraph)
        return
    title, *commands = paragraph.splitlines()[1:]
    yield from (title, "", "```sh", *inspect.cleandoc("\n" + "\n".join(commands)).splitlines(), "```")


def _escaped(text: str) -> str:
    for character in "\\*_<[`":
        text = text.replace(character, f"\\{character}")
    return text


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    page = Path(__file__).parent / "reference" / "cli.md"
    page.write_text(cli_markdown(), encoding="utf-8", newline="\n")

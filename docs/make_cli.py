"""Write docs/reference/cli.md from the commands themselves: ``python docs/make_cli.py``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from ozx.cli.app import COMMANDS, load_command

HEAD = """# Command line

The help of every command (`ozx COMMAND --help`, `-h`), made by `docs/make_cli.py`; a test compares. Exit codes and the
answers of `--json`: [Interface](../interface.md). `ozx --version` shows the version, `ozx --version -v` also the
libraries that do the work."""


def cli_markdown() -> str:
    """Return ``docs/reference/cli.md``."""
    lines = [HEAD]
    for name in COMMANDS:
        lines += ["", *_command_lines(name)]
    return "\n".join(lines) + "\n"


def _command_lines(name: str) -> Iterator[str]:
    command = load_command(name)
    context = click.Context(command, info_name=f"ozx {name}")
    summary, *paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    yield from (f"## ozx {name}", "", summary, "")
    yield from ("```text", f"ozx {name} {' '.join(command.collect_usage_pieces(context))}", "```")
    for paragraph in paragraphs:
        yield ""
        yield from _paragraph_lines(paragraph)
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    if options:
        yield from ("", "| option | |", "|---|---|")
    for option in options:
        names, text = option.get_help_record(context) or ("", "")
        yield f"| `{_in_table(names)}` | {_in_table(_escaped(text))} |"


def _paragraph_lines(paragraph: str) -> Iterator[str]:
    """Return a paragraph of a help text as Markdown; one that click must not wrap is a title above commands."""
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

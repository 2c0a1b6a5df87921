"""Hooks of mkdocs.yml: append what the code says to the pages of commands and rules, and adapt Markdown to the site."""

import inspect
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import click

from ozx.cli.app import COMMANDS, load_command
from ozx.cli.options import SharedOption
from ozx.validation.rules.table import RULES, Rule

#: An option that has the same help in at least this number of commands is explained only once.
_SEVERAL = 3
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+\.md)(#[^)]*)?\)")
_GROUPS = {
    "zip": "The container",
    "rfc9": "The archive of an OME-Zarr",
    "zarr": "Metadata and chunks of Zarr",
    "conventions": "Zarr conventions",
    "ome": "OME-Zarr",
    "ozx": "Remarks of ozx",
}


def on_page_markdown(markdown: str, page: Any = None, files: Any = None, **_: object) -> str:
    r"""Return the page with its made part, and without the backslashes that code hosts need before ``|`` in a table.

    Links to pages that are in the repository only become the paths of these pages.

    Examples
    --------
    >>> print(on_page_markdown(r"| `--shards auto\|none` | so \| so |"))
    | `--shards auto|none` | so \| so |
    """
    name = page.file.src_uri if page else ""
    made = {"reference/cli.md": _commands, "rules.md": _rules}.get(name, lambda: ())
    markdown = _LINK.sub(partial(_without_excluded, name, files), "\n".join([markdown, *made()]))
    return re.sub(r"^\|.*", _without_backslashes_in_code, markdown, flags=re.MULTILINE)


def _without_backslashes_in_code(row: re.Match[str]) -> str:
    return re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), row[0])


def _without_excluded(name: str, files: Any, link: re.Match[str]) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link[2]))
    file = files and files.get_file_from_path(target)
    return f"{link[1]} (`docs/{target}`)" if file and file.inclusion.is_excluded() else link[0]


def _commands() -> Iterator[str]:
    """Yield the help of each command; before it, the options that many commands explain in the same words."""
    options = {name: _options(name) for name in COMMANDS}
    counts = Counter(option for found in options.values() for option in found)
    common = [option for option, count in counts.items() if count >= _SEVERAL]
    yield from ("", "## Options of several commands", "", *_table(common))
    for name, found in options.items():
        yield from ("", *_help(name), "", *_table([option for option in found if option not in common]))
        if shared := [f"`{re.findall('--[a-z-]+', option[0])[0]}`" for option in found if option in common]:
            yield from ("", f"Also: {', '.join(shared)}.")


def _options(name: str) -> list[tuple[str, str]]:
    """Return the names and the help of each option of a command, or of all commands of a group."""
    command = load_command(name)
    context = click.Context(command, info_name=f"ozx {name}", help_option_names=["-h", "--help"])
    commands = command.commands.values() if isinstance(command, click.Group) else [command]
    options = [parameter for each in commands for parameter in each.params if isinstance(parameter, click.Option)]
    records = (
        each.explain(context) if isinstance(each, SharedOption) else each.get_help_record(context) for each in options
    )
    return list(dict.fromkeys(record or ("", "") for record in records))


def _table(options: list[tuple[str, str]]) -> list[str]:
    rows = [[cell.replace("|", "\\|") for cell in (f"`{names}`", _escaped(text))] for names, text in options]
    return ["| option | |", "|---|---|", *(f"| {' | '.join(row)} |" for row in rows)] if rows else []


def _help(name: str) -> Iterator[str]:
    command = load_command(name)
    summary, *paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    usage = command.collect_usage_pieces(click.Context(command, help_option_names=["-h", "--help"]))
    yield from (f"## ozx {name}", "", summary, "", "```text", f"ozx {name} {' '.join(usage)}", "```")
    for paragraph in paragraphs:
        if paragraph.startswith("\b"):  # click does not wrap it: a title and commands
            title, *commands = paragraph.splitlines()[1:]
            yield from ("", title, "", "```sh", *inspect.cleandoc("\n" + "\n".join(commands)).splitlines(), "```")
        else:
            yield from ("", _escaped(paragraph))


def _rules() -> Iterator[str]:
    """Yield each rule as ``ozx rules ID`` explains it."""
    group = ""
    for rule in RULES.values():
        if (name := rule.id.partition("/")[0]) != group:
            group = name
            yield from ("", f"## {_GROUPS[group]}: `{group}/`")
        yield from _rule(rule)


def _rule(rule: Rule) -> Iterator[str]:
    yield from ("", f"### `{rule.id}`", "", f"**{_escaped(rule.title)}** ({rule.severity})", "")
    yield f"- Demand ({rule.document}, {rule.revision}): {_escaped(rule.clause)}"
    yield from (f"- Meaning: {_escaped(rule.meaning)}", f"- Repair: {_escaped(rule.repair)}")


def _escaped(text: str) -> str:
    r"""Return a text whose characters mean themselves in Markdown, except code in backquotes.

    Examples
    --------
    >>> print(_escaped("`a_b` is a*b"))
    `a_b` is a\*b
    """
    return re.sub(r"`[^`]*`|[\\*_<\[]", lambda found: found[0] if found[0][0] == "`" else f"\\{found[0]}", text)

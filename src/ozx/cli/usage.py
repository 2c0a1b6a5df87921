"""Checks of command lines, and hints at the right command, option or value."""

from __future__ import annotations

import difflib
import itertools
import os
import re
from collections.abc import Mapping, Sequence

import click

from ozx.cli.commands import COMMANDS, load_command
from ozx.cli.output import say_error
from ozx.errors import UsageError
from ozx.quoting import quote

# The least similarity, from 0 to 1, of an option that is suggested.
_ALIKE = 0.75
_NUMBER = re.compile(r"[0-9.]+")
# Options whose values users write with blanks.
_WITHOUT_BLANKS = {"--region", "--channels", "--max-size"}
# Words that other programs use for these commands.
_OTHER_WORDS = {
    "convert": ("import", "export"),
    "zip": ("pack",),
    "compress": ("pack",),
    "unzip": ("unpack",),
    "open": ("view",),
    "show": ("view",),
    "crop": ("extract",),
    "cut": ("extract",),
    "subset": ("extract",),
    "check": ("validate",),
    "fix": ("repack", "recover"),
    "repair": ("repack", "recover"),
    "upgrade": ("repack",),
    "describe": ("info",),
    "inspect": ("info",),
    "list": ("ls",),
    "set": ("edit",),
    "rename": ("edit",),
    "picture": ("thumbnail",),
    "help": ("--help",),
}
# What ozx no longer has, and what to do instead.
GONE = {
    "clean": "find DIR -name '.*.ozx-tmp' -mtime +7 lists what killed runs left; then remove it.",
    "log": "each line of a log is JSON, so jq or a similar program counts the results.",
    "uploads": "an upload ends or is aborted; a lifecycle rule of the bucket removes what a kill leaves.",
    "pack --manifest-inside": "--manifest writes OUT.manifest.json beside the file.",
    "rules --cases": "in the repository, python -m tests.cases.export DIR writes the cases.",
    "validate --format": "--json prints the findings, --report HTML writes a page.",
    "view --with neuroglancer": "ozx serve prints the address that neuroglancer takes.",
}


def report_usage(error: click.ClickException, arguments: Sequence[str]) -> None:
    """Report an invalid command line in the same form as other errors."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    message, hint = error.format_message(), None
    if context is not None:
        usage = context.command.collect_usage_pieces(context)
        hint = f"{' '.join([context.command_path, *usage])}; see {context.command_path} --help."
        if "unexpected extra argument" in error.message and _WITHOUT_BLANKS.intersection(arguments):
            hint += " Write lists and sizes without blanks, as in y=0:512,x=0:512 or 20MB."
        if isinstance(error, click.NoSuchOption):
            # The message is the same with every release of click.
            near = difflib.get_close_matches(error.option_name, _options(context.command) - {"--help"}, cutoff=_ALIKE)
            message = f"There is no option {error.option_name!r}.{_did_you_mean(near)}"
            hint += _hint_at_commands(error.option_name)
    elif isinstance(error, click.BadOptionUsage):  # an option without its value
        hint = _hint_at_value(error.option_name, arguments)
    if gone := _find_gone(arguments):
        message, hint = gone, None
    say_error(message, hint=hint)


def _find_gone(arguments: Sequence[str]) -> str | None:
    """Return the sentence about a word of the command line that is gone; None if there is none."""
    words = [part for word in arguments for part in word.split("=", 1)]
    for gone, instead in GONE.items():
        command, *options = gone.split()
        if words[:1] == [command] and set(options) <= set(words):
            return f"ozx {gone} is gone: {instead}"
    return None


def _options(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}


def _hint_at_value(option: str, arguments: Sequence[str]) -> str | None:
    """Return the help of an option of the command in `arguments`; None if there is no such option."""
    name = next((word for word in arguments if word in COMMANDS), None)
    for found in [] if name is None else load_command(name).params:
        if isinstance(found, click.Option) and option in found.opts:
            return _usage(found, option)
    return None


def _usage(option: click.Option, name: str) -> str:
    value = "" if option.is_flag else f" {option.metavar or 'VALUE'}"
    return f"{name}{value}: {option.help}"


def _hint_at_commands(option: str) -> str:
    """Return the sentence that names the commands with this option; empty if many commands or none have it."""
    having = [f"ozx {name}" for name in COMMANDS if option in _options(load_command(name))]
    # An option of many commands does not show what the user wants.
    return f" {option} is an option of {', '.join(having)}." if 1 <= len(having) <= 3 else ""


def check_values(command: click.Command, words: Sequence[str]) -> None:
    """Raise an error if an option's value is forgotten, or is a size and a unit with a blank between them."""
    known = {name: option for option in command.params if isinstance(option, click.Option) for name in option.opts}
    _check_repeated(known, words)
    for number, word in enumerate(words[:-1]):
        option, value, after = known.get(word), words[number + 1], words[number + 2 : number + 3]
        if word == "--":
            return
        if option is None or option.is_flag:
            continue
        if value in known:
            raise UsageError(
                f"Option {word!r} requires an argument; found the option {value!r}.",
                hint=f"{_usage(option, word)} If {value} is the value, write {word}={value}.",
            )
        if word == "--pixel-size" and after and _NUMBER.fullmatch(value) and _is_unit(after[0]):
            raise UsageError(
                f"expected a pixel size without a blank; got {value} {after[0]}",
                hint=f"Write --pixel-size {value}{after[0]}.",
            )


def _check_repeated(known: Mapping[str, click.Option], words: Sequence[str]) -> None:
    """Raise an error if an option that takes a comma-separated list is given twice.

    click would ignore the first of the two lists.
    """
    seen: set[str] = set()
    for word in itertools.takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        option = known.get(name)
        if option is None or option.multiple or "," not in (option.metavar or ""):
            continue
        if name in seen:
            raise UsageError(
                f"option {name} is given twice",
                hint=f"Give it once, and join the values with commas. {_usage(option, name)}",
            )
        seen.add(name)


def _is_unit(word: str) -> bool:
    """Return whether a word is a unit, and not the name of a file."""
    from ozx.hierarchy.ome.units import check_unit  # noqa: PLC0415 (seldom needed)

    try:
        return bool(check_unit(word)) and not os.path.lexists(word)
    except UsageError:
        return False


def suggest_command(name: str) -> str:
    """Return the sentence that follows the message about an unknown command; empty if nothing is similar."""
    if os.path.lexists(name):
        return f" {name} is a file or folder: name a command before it, such as ozx info {quote(name)}."
    return _did_you_mean(_OTHER_WORDS.get(name.lower()) or difflib.get_close_matches(name, COMMANDS))


def _did_you_mean(near: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(near)}?" if near else ""

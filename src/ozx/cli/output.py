"""Write output of the command line: results to stdout, messages to stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import click

from ozx.errors import shortened
from ozx.quoting import quote

# Not those of a call, as in ozx.open(…, live=True).
_ARGUMENT = re.compile(r"\b([a-z]+(?:_[a-z]+)*)=(True|False|N\b|…|'[^']*')(?!\))")
_STORAGE = re.compile(r"ozx\.storage_options\(([a-z_]+)=(True|…|'[^']*')\)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_KINDS = ("warning", "repaired", "left out")


def print_json(answer: dict[str, Any]) -> None:
    """Write one JSON document to stdout."""
    click.echo(to_json(answer, indent=2))


def print_result(result: Any, summary: Callable[[Any], str], *, quiet: bool = False, as_json: bool) -> None:
    """Write the notes of a result to stderr, and the result (as JSON or summary) to stdout."""
    print_notes(result.notes, quiet=quiet)
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        click.echo(printable(summary(result)))


def print_notes(notes: Iterable[str], *, quiet: bool = False, name: str | None = None) -> None:
    """Write notes to stderr; each begins with its kind (``note:`` by default), then the file name, if given."""
    for note in notes:
        kind = next((kind for kind in _KINDS if note.startswith(f"{kind}: ")), "note")
        text = note.removeprefix(f"{kind}: ")
        if name is not None:
            own = next((path for path in (name, os.path.abspath(name)) if text.startswith(f"{path}: ")), None)
            text = f"{one_line(name)}: {text if own is None else text.removeprefix(f'{own}: ')}"
        say(f"{kind}: {_as_options(text)}", quiet=quiet)


def to_json(answer: object, indent: int | None = None) -> str:
    """Return `answer` as JSON text, in pure ASCII if the encoding of stdout lacks a character."""
    text = json.dumps(answer, indent=indent, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")  # None: there is no stdout
    except UnicodeEncodeError:
        return json.dumps(answer, indent=indent)
    return text


def say(text: str, *, quiet: bool = False) -> None:
    """Write a message to stderr, whose errors are ignored; omit the middle of one that is longer than a screen."""
    if not quiet:
        with suppress(OSError):
            click.echo(shortened(printable(text)), err=True)


def say_error(message: str, rule: str | None = None, hint: str | None = None) -> None:
    """Write an error to stderr with its hint; without a hint, name the command that explains the rule."""
    say(f"error: {_STORAGE.sub(_as_option, message)}{f' [{rule}]' if rule else ''}")
    if hint or rule:
        say(f"hint: {_as_options(hint) if hint else f'See ozx rules {rule}.'}")


def _as_options(text: str) -> str:
    """Return a hint or note with arguments of Python as options: ``--force`` for ``force=True``."""
    return _ARGUMENT.sub(_as_option, _STORAGE.sub(_as_option, text))


def _as_option(argument: re.Match[str]) -> str:
    name, value = argument[1].replace("_", "-"), argument[2]
    if argument.re is _STORAGE and value.startswith("'"):
        return f"--storage-option {name}={value.strip(chr(39))}"
    name = {"node": "path"}.get(name, name)
    words = {"True": f"--{name}", "False": f"--no-{name}", "…": f"--{name}", "N": f"--{name} N"}
    return words.get(value) or f"--{name} {quote(value.strip(chr(39)))}"


def printable(text: str) -> str:
    """Return `text` with control characters escaped, so that names in files cannot control the terminal."""
    return _CONTROL.sub(
        lambda match: match[0] if match[0] in "\n\t" else match[0].encode("unicode_escape").decode(), text
    )


def one_line(text: str) -> str:
    """Return `text` with every control character escaped, including line ends."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def format_bytes(count: int) -> str:
    """Return a size as text, such as ``1.5 MiB``.

    Examples
    --------
    >>> format_bytes(812), format_bytes(204_764), format_bytes(5 << 30)
    ('812 B', '200.0 KiB', '5.0 GiB')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def drop_stdout() -> None:
    """Discard the remaining output, so that Python reports no further errors of stdout at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Run commands in a pseudo-terminal, and read its screen; pyte emulates the terminal."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

import pyte

_COLUMNS, _LINES = 120, 60


@dataclass
class Shown:
    """The output of a command in a terminal."""

    code: int  # the exit code
    last: list[str]  # the lines of the screen at the end, without empty lines
    screens: list[list[str]] = field(repr=False)  # the lines after each piece of output
    stdout: str  # the output that did not go to the terminal


def run_in_terminal(*arguments: object, is_piped: bool = False) -> Shown:
    """Run ozx in a pseudo-terminal; with `is_piped`, its stdout goes elsewhere."""
    import pty  # noqa: PLC0415 (no Windows)

    screen = pyte.Screen(_COLUMNS, _LINES)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(_COLUMNS), "LINES": str(_LINES)}
    command = [sys.executable, "-m", "ozx", *map(str, arguments)]
    out = subprocess.PIPE if is_piped else theirs
    child = subprocess.Popen(command, stdin=theirs, stdout=out, stderr=theirs, env=environment)
    os.close(theirs)
    screens = []
    while piece := _read(ours):
        stream.feed(piece)
        screens.append(_text(screen))
    os.close(ours)
    stdout = child.stdout.read().decode() if child.stdout is not None else ""
    if child.stdout is not None:
        child.stdout.close()
    return Shown(child.wait(), _text(screen), screens, stdout)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux reports the end of the other side as EIO
        return b""


def _text(screen: pyte.Screen) -> list[str]:
    return [line.rstrip() for line in screen.display if line.strip()]

"""Words of command lines in hints, quoted for the shells of the user's system."""

from __future__ import annotations

import os
import re
import shlex

_PLAIN = re.compile(r"[A-Za-z0-9_.:=+/\\*?][A-Za-z0-9_.:=+/\\*?-]*")
# PowerShell replaces variables within double quotes, and takes curly quotes for quotes.
_SPECIAL_IN_POWERSHELL = re.compile(r"[`“”„]|\$(?=[\w{(:$^?])")


def quote(word: str, system: str = os.name) -> str:
    r"""Return `word` as shells take it: those of POSIX, or both cmd.exe and PowerShell.

    Where the two disagree, the word is right in PowerShell, and cmd.exe finds no file of this name.
    """
    if system != "nt":
        return shlex.quote(word)
    if _PLAIN.fullmatch(word):
        return word
    # Programs take backslashes before a double quote for half as many.
    word = re.sub(r'(\\+)(?="|$)', r"\1\1", word).replace('"', '""')
    return f'"{_SPECIAL_IN_POWERSHELL.sub(lambda found: f"`{found[0]}", word)}"'


def quote_pattern(folder: str, pattern: str, system: str = os.name) -> str:
    """Return the pattern of files in a folder: a shell of POSIX expands it outside of quotes; on Windows, ozx does."""
    if system != "nt":
        return f"{shlex.quote(folder)}/{pattern}" if folder else pattern
    return quote(os.path.join(folder, pattern), system)

"""Units that OME-Zarr allows for axes of space and time, and their common abbreviations."""

from __future__ import annotations

import difflib

from ozx.errors import UsageError

__all__ = ["SPACE_UNITS", "TIME_UNITS", "axis_type_of", "check_unit"]

_PREFIXES = (
    *("yocto", "zepto", "atto", "femto", "pico", "nano", "micro", "milli", "centi", "deci"),
    *("hecto", "kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta"),
)
# OME-Zarr 0.5, "axes" metadata: units of "space" and "time" axes SHOULD be one of these, which are those of UDUNITS-2.
SPACE_UNITS = frozenset(
    ["angstrom", "foot", "inch", "meter", "mile", "parsec", "yard", *(f"{prefix}meter" for prefix in _PREFIXES)]
)
TIME_UNITS = frozenset(["day", "hour", "minute", "second", *(f"{prefix}second" for prefix in _PREFIXES)])

# Unicode has the letter mu twice.
_LETTERS = {"p": "pico", "n": "nano", "u": "micro", "\u00b5": "micro", "\u03bc": "micro", "m": "milli", "": ""}
# First compared without a change of case, since Mm and mm differ.
_SYMBOLS = {
    **{f"{letter}m": f"{prefix}meter" for letter, prefix in {**_LETTERS, "c": "centi", "k": "kilo"}.items()},
    **{f"{letter}s": f"{prefix}second" for letter, prefix in _LETTERS.items()},
    **dict.fromkeys(["Å", "A"], "angstrom"),
    **dict.fromkeys(["micron", "\u00b5", "\u03bc"], "micrometer"),
    **dict.fromkeys(["h", "hr"], "hour"),
    "sec": "second",
    "min": "minute",
    "d": "day",
    "in": "inch",
    "ft": "foot",
}


def axis_type_of(unit: str) -> str:
    """Return the type of axis for which OME-Zarr allows `unit`: ``space`` or ``time``."""
    return "time" if unit in TIME_UNITS else "space"


def check_unit(unit: str) -> str:
    """Return `unit` if OME-Zarr allows it, else raise an error.

    Raises
    ------
    UsageError
        It is not allowed; the hint suggests a unit if one is similar.
    """
    if unit in SPACE_UNITS or unit in TIME_UNITS:
        return unit
    guess = _guess(unit.strip())
    raise UsageError(
        f"expected a unit of space or time as OME-Zarr spells it, such as micrometer or second; got {unit!r}",
        hint=f"Did you mean {guess}?" if guess else f"The units of space are {', '.join(sorted(SPACE_UNITS))}.",
    )


def _guess(unit: str) -> str | None:
    word = unit.lower()
    for symbol in (unit, word, word.removesuffix("s")):
        if symbol in _SYMBOLS:
            return _SYMBOLS[symbol]
    for ending, american in (("metres", "meter"), ("metre", "meter")):
        word = word[: -len(ending)] + american if word.endswith(ending) else word
    known = [*sorted(SPACE_UNITS), *sorted(TIME_UNITS)]
    close = difflib.get_close_matches(word.removesuffix("s"), known, 1, cutoff=0.8)
    return close[0] if close else None

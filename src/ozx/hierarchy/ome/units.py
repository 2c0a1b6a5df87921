"""Units that OME-Zarr allows for axes of space and time, and their common abbreviations."""

from __future__ import annotations

import difflib
import re

from ozx.errors import UsageError

_PREFIXES = (
    *("yocto", "zepto", "atto", "femto", "pico", "nano", "micro", "milli", "centi", "deci"),
    *("hecto", "kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta"),
)
# OME-Zarr 0.5, "axes" metadata: units of "space" and "time" axes SHOULD be one of these, which are those of UDUNITS-2.
SPACE_UNITS = frozenset(
    ["angstrom", "foot", "inch", "meter", "mile", "parsec", "yard", *(f"{prefix}meter" for prefix in _PREFIXES)]
)
TIME_UNITS = frozenset(["day", "hour", "minute", "second", *(f"{prefix}second" for prefix in _PREFIXES)])
#: The units by the type of axis that may have them, and all units.
UNITS_OF = {"space": SPACE_UNITS, "time": TIME_UNITS}
ALL_UNITS = SPACE_UNITS | TIME_UNITS

# Unicode has the letter mu twice.
_LETTERS = {"p": "pico", "n": "nano", "u": "micro", "\u00b5": "micro", "\u03bc": "micro", "m": "milli", "": ""}
# The first comparison keeps the case, because Mm and mm differ.
_SYMBOLS = {
    **{f"{letter}m": f"{prefix}meter" for letter, prefix in {**_LETTERS, "c": "centi", "k": "kilo"}.items()},
    **{f"{letter}s": f"{prefix}second" for letter, prefix in _LETTERS.items()},
    **dict.fromkeys(["Å", "A"], "angstrom"),
    **dict.fromkeys(["micron", "\u00b5", "\u03bc"], "micrometer"),
    **dict.fromkeys(["h", "hr"], "hour"),
    "sec": "second",
    "min": "minute",
    "d": "day",
    **dict.fromkeys(["in", "inches"], "inch"),
    **dict.fromkeys(["ft", "feet"], "foot"),
}


def axis_type_of(unit: str) -> str:
    """Return the type of axis for which OME-Zarr allows `unit`: ``space`` or ``time``."""
    return "time" if unit in TIME_UNITS else "space"


def check_unit(unit: str) -> str:
    """Return the unit as OME-Zarr spells it; symbols and other spellings are understood."""
    word = str(unit).strip()
    symbol = next(
        (_SYMBOLS[each] for each in (word, word.lower(), word.lower().removesuffix("s")) if each in _SYMBOLS), None
    )
    spelled = re.sub("metre$", "meter", word.lower().removesuffix("s"))
    found = word if word in ALL_UNITS else symbol or spelled
    if found in ALL_UNITS:
        return found
    close = difflib.get_close_matches(spelled, sorted(ALL_UNITS), 1, cutoff=0.8) if len(spelled) > len("foot") else []
    raise UsageError(
        f"expected a unit of space or time, such as micrometer, um or second; got {unit!r}",
        hint=f"Did you mean {close[0]}?"
        if close
        else "Usual units are nanometer, micrometer, millimeter, millisecond, second.",
    )

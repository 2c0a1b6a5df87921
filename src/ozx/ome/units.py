"""Units that OME-Zarr allows for axes of space and time, their abbreviations, and those of OME-XML."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from fractions import Fraction

from ozx.errors import UsageError

# The prefixes of units by symbol; Unicode has the letter mu twice, and OME-XML uses the first.
_PREFIXES = {
    "Y": "yotta",
    "Z": "zetta",
    "E": "exa",
    "P": "peta",
    "T": "tera",
    "G": "giga",
    "M": "mega",
    "k": "kilo",
    "h": "hecto",
    "d": "deci",
    "c": "centi",
    "m": "milli",
    "\u00b5": "micro",
    "\u03bc": "micro",
    "u": "micro",
    "n": "nano",
    "p": "pico",
    "f": "femto",
    "a": "atto",
    "z": "zepto",
    "y": "yocto",
    "": "",
}
# OME-Zarr 0.5, "axes" metadata: units of "space" and "time" axes SHOULD be one of these, which are those of UDUNITS-2.
SPACE_UNITS = frozenset(
    ["angstrom", "foot", "inch", "mile", "parsec", "yard", *(f"{prefix}meter" for prefix in _PREFIXES.values())]
)
TIME_UNITS = frozenset(["day", "hour", "minute", *(f"{prefix}second" for prefix in _PREFIXES.values())])
#: The units by the type of axis that may have them, and all units.
UNITS_OF = {"space": SPACE_UNITS, "time": TIME_UNITS}
ALL_UNITS = SPACE_UNITS | TIME_UNITS

_LETTERS = {symbol: _PREFIXES[symbol] for symbol in ("p", "n", "u", "\u00b5", "\u03bc", "m", "")}
# What people write; the first comparison keeps the case, because Mm and mm differ.
_SPELLINGS = {
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
        (_SPELLINGS[each] for each in (word, word.lower(), word.lower().removesuffix("s")) if each in _SPELLINGS), None
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


# Sizes of pixels, and their units as OME-XML writes them.


@dataclass(frozen=True, slots=True)
class PixelSize:
    """Distance between neighbouring pixels along an axis."""

    value: float  # the distance in units
    unit: str | None = None  # the unit as OME-Zarr spells it; None if the file has none that OME-Zarr allows
    unknown: str | None = field(default=None, repr=False)  # the unit in the file, if it is not understood


# OME-XML 2016-06, "UnitsLength" and "UnitsTime".
_LENGTHS = {
    **{f"{symbol}m": f"{prefix}meter" for symbol, prefix in _PREFIXES.items()},
    **dict.fromkeys(["\u00c5", "\u212b"], "angstrom"),
    "in": "inch",
    "ft": "foot",
    "yd": "yard",
    "mi": "mile",
    "pc": "parsec",
}
_TIMES = {
    **{f"{symbol}s": f"{prefix}second" for symbol, prefix in _PREFIXES.items()},
    "min": "minute",
    "h": "hour",
    "d": "day",
}
# Units that OME-Zarr lacks, as multiples of OME-Zarr units.
_CONVERTED = {
    "dam": (10.0, "meter"),
    "thou": (25.4, "micrometer"),
    "li": (25.4 / 12, "millimeter"),
    "pt": (25.4 / 72, "millimeter"),
    "ua": (149_597_870.7, "kilometer"),
    "ly": (9.4607304725808, "petameter"),
    "das": (10.0, "second"),
}

# Lengths without a relation to a unit of physics.
_RELATIVE = ("", "pixel", "pixels", "px", "reference frame")

# The first of two symbols: OME-XML uses the micro sign, not the Greek letter.
_SYMBOLS = {unit: symbol for symbols in (_LENGTHS, _TIMES) for symbol, unit in reversed(symbols.items())}
# The units that are multiples of the meter or the second by a power of ten, and the others.
_POWERS = (24, 21, 18, 15, 12, 9, 6, 3, 2, -1, -2, -3, -6, -9, -12, -15, -18, -21, -24, 0)  # as in _PREFIXES
_POWER_OF = dict(zip(dict.fromkeys(_PREFIXES.values()), _POWERS, strict=True))
_SIZES = {
    **{f"{prefix}{base}": Fraction(10) ** n for prefix, n in _POWER_OF.items() for base in ("meter", "second")},
    "angstrom": Fraction(1, 10**10),
    "inch": Fraction("0.0254"),
    "foot": Fraction("0.3048"),
    "yard": Fraction("0.9144"),
    "mile": Fraction("1609.344"),
    "parsec": Fraction("3.0856775814913673e16"),
    "minute": Fraction(60),
    "hour": Fraction(3600),
    "day": Fraction(86400),
}


def unit_factor(unit: str, other: str) -> float:
    """Return how many of `other` make one `unit`; both are spelled as OME-Zarr does.

    Examples
    --------
    >>> unit_factor("micrometer", "nanometer"), unit_factor("second", "minute")
    (1000.0, 0.016666666666666666)
    >>> unit_factor("micrometer", "second")
    Traceback (most recent call last):
    ozx.errors.UsageError: micrometer cannot be converted to second
    """
    ratio = unit_ratio(unit, other)
    if ratio is None:
        raise UsageError(f"{unit} cannot be converted to {other}", hint="One is a length, the other a time.")
    return float(ratio)


def convert_length(value: float, symbol: str) -> PixelSize:
    """Convert a length with the unit of OME-XML, or with a unit that `check_unit` knows, to an OME-Zarr unit.

    The units ``pixel`` and ``reference frame`` become None. Other unknown units also become None, and stay in
    `PixelSize.unknown`.
    """
    return _convert(value, symbol, _LENGTHS, SPACE_UNITS)


def convert_time(value: float, symbol: str) -> PixelSize:
    """Convert a time with the unit of OME-XML, or with a unit that `check_unit` knows, to an OME-Zarr unit."""
    return _convert(value, symbol, _TIMES, TIME_UNITS)


def unit_symbol(unit: str) -> str | None:
    """Return the OME-XML symbol of an OME-Zarr unit, or None if it has no symbol."""
    return _SYMBOLS.get(unit)


def in_micrometers(size: PixelSize) -> float | None:
    """Return a length in micrometers; None if the unit is unknown, or is not a unit of physical length.

    Examples
    --------
    >>> in_micrometers(PixelSize(650.0, "nanometer")), in_micrometers(PixelSize(1.0))
    (0.65, None)
    """
    return None if size.unit not in SPACE_UNITS else round(size.value * unit_factor(size.unit, "micrometer"), 15)


def unit_ratio(unit: str, other: str) -> Fraction | None:
    """Return how many of `other` are one `unit`; None if one is a length and one a time, or ozx knows no ratio.

    Examples
    --------
    >>> unit_ratio("micrometer", "nanometer"), unit_ratio("hour", "meter")
    (Fraction(1000, 1), None)
    """
    if unit == other:
        return Fraction(1)
    if unit not in _SIZES or other not in _SIZES or axis_type_of(unit) != axis_type_of(other):
        return None
    return _SIZES[unit] / _SIZES[other]


def _convert(value: float, symbol: str, symbols: dict[str, str], allowed: frozenset[str]) -> PixelSize:
    # UTF-8 that was read as Latin-1: the micro sign, and the Greek letter.
    name = symbol.strip().removeprefix("\u00c2").replace("\u00ce\u00bc", "\u03bc")
    if name in _CONVERTED:
        factor, unit = _CONVERTED[name]
        return PixelSize(value * factor, unit)
    if name in symbols or name in _RELATIVE:
        return PixelSize(value, symbols.get(name))
    try:
        found = check_unit(name)
    except UsageError:
        found = ""
    return PixelSize(value, found) if found in allowed else PixelSize(value, None, name)

"""Conversion of OME-XML lengths and times to units of OME-Zarr."""

from __future__ import annotations

from ozx.errors import UsageError
from ozx.hierarchy.ome.units import SPACE_UNITS, TIME_UNITS, check_unit
from ozx.images.description import PixelSize

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
_RELATIVE = ("", "pixel", "reference frame")

# The first of two symbols: OME-XML uses the micro sign, not the Greek letter.
_SYMBOLS = {unit: symbol for symbols in (_LENGTHS, _TIMES) for symbol, unit in reversed(symbols.items())}
_METERS = {
    **{
        f"{prefix}meter": 10.0**power
        for prefix, power in zip(
            ("femto", "pico", "nano", "micro", "milli", "centi", "deci", "", "kilo"),
            (-15, -12, -9, -6, -3, -2, -1, 0, 3),
            strict=True,
        )
    },
    "angstrom": 1e-10,
    "inch": 0.0254,
}


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
    meters = _METERS.get(size.unit or "")
    return None if meters is None else round(size.value * meters * 1e6, 15)


def _convert(value: float, symbol: str, symbols: dict[str, str], allowed: frozenset[str]) -> PixelSize:
    name = symbol.strip()
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

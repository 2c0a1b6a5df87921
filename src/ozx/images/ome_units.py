"""Lengths and times as OME-XML writes them, in the units that OME-Zarr names."""

from __future__ import annotations

from ozx.images.description import PixelSize

__all__ = ["convert_length", "convert_time"]

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
# Units that OME-Zarr does not name, in one that it does.
_CONVERTED = {
    "dam": (10.0, "meter"),
    "thou": (25.4, "micrometer"),
    "li": (25.4 / 12, "millimeter"),
    "pt": (25.4 / 72, "millimeter"),
    "ua": (149_597_870.7, "kilometer"),
    "ly": (9.4607304725808, "petameter"),
    "das": (10.0, "second"),
}


def convert_length(value: float, symbol: str) -> PixelSize:
    """Return a length; ``pixel`` and ``reference frame`` are no units.

    Examples
    --------
    >>> convert_length(2.0, "thou"), convert_length(1.5, "reference frame")
    (PixelSize(value=50.8, unit='micrometer'), PixelSize(value=1.5, unit=None))
    """
    return _convert(value, symbol, _LENGTHS)


def convert_time(value: float, symbol: str) -> PixelSize:
    """Return a time.

    Examples
    --------
    >>> convert_time(500.0, "ms")
    PixelSize(value=500.0, unit='millisecond')
    """
    return _convert(value, symbol, _TIMES)


def _convert(value: float, symbol: str, units: dict[str, str]) -> PixelSize:
    name = symbol.strip()
    if name in _CONVERTED:
        factor, unit = _CONVERTED[name]
        return PixelSize(value * factor, unit)
    return PixelSize(value, units.get(name))

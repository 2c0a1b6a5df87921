"""Colours of channels by dye and by emission wavelength.

The colour of a dye is that of its emission maximum as FPbase (https://www.fpbase.org) lists it, in the ranges of
`_RANGES`. The exceptions are yellow for YFP and its relatives (527 to 529 nm), to tell them from GFP, and gray for
transmitted light. The ranges are wider than those in which the eye sees a colour, for two reasons: programs store the
middle of the emission filter, which may be 20 nm from the maximum; and a display has no far red.
"""

from __future__ import annotations

import re

_BLUE, _CYAN, _GREEN, _YELLOW, _RED, _MAGENTA, _ORANGE = (
    *("0000FF", "00FFFF", "00FF00", "FFFF00"),
    *("FF0000", "FF00FF", "FF8000"),
)
_GRAY = "FFFFFF"

_Ranges = tuple[tuple[int, str | None], ...]

#: The upper end of each range of emission wavelengths in nanometers, and its colour. The colour from 720 on is that of
#: Cy7, and marks no other range.
_RANGES: _Ranges = (
    (380, None),
    (470, _BLUE),
    (500, _CYAN),
    (540, _GREEN),
    (560, _YELLOW),
    (640, _RED),
    (720, _MAGENTA),
    (1000, _ORANGE),
)

#: Dyes in lower case, without spaces, hyphens and underscores; a name may go on with digits (Hoechst 33342).
_DYES = {
    _BLUE: "dapi hoechst bfp ebfp tagbfp pacificblue cascadeblue amca dylight350 calceinblue",
    _CYAN: "cfp ecfp cerulean mcerulean turquoise mturquoise teal mteal",
    _GREEN: "gfp egfp sfgfp avgfp fitc fluorescein fam cy2 bodipyfl calcein gcamp gcamp6f gcamp6s gcamp6m jgcamp8m "
    "fluo3 fluo4 sytoxgreen sybrgreen "
    "oregongreen neongreen mneongreen clover mclover emerald mitotrackergreen phalloidin488 picogreen",
    _YELLOW: "yfp eyfp venus mvenus citrine mcitrine ypet lucifer",
    _RED: "rfp mrfp tagrfp mcherry cherry dsred tdtomato tomato mscarlet mkate mkate2 mruby mapple mstrawberry tritc "
    "rhodamine texasred cy3 cy3.5 pi propidiumiodide ethidium tamra rox mitotrackerred mitosox lysotrackerred jrgeco",
    _MAGENTA: "cy5 cy5.5 draq5 sir sirdna irfp mirfp farred topro3 apc mitotrackerdeepred allophycocyanin",
    _ORANGE: "cy7 icg",
    _GRAY: "brightfield bf dic phase phasecontrast ph transmission transmitted transmittedlight trans tl widefieldtl "
    "white gray grey",
}
_COLORS = {name: color for color, names in _DYES.items() for name in names.split()} | {
    "blue": _BLUE,
    "cyan": _CYAN,
    "green": _GREEN,
    "yellow": _YELLOW,
    "red": _RED,
    "magenta": _MAGENTA,
    "orange": _ORANGE,
}

#: Like `_RANGES`, for excitation wavelengths, after which some families of dyes are named (Alexa 488, ATTO 647N).
_EXCITED: _Ranges = (
    (340, None),
    (430, _BLUE),
    (470, _CYAN),
    (510, _GREEN),
    (540, _YELLOW),
    (620, _RED),
    (690, _MAGENTA),
    (1000, _ORANGE),
)
_FAMILY = re.compile(
    r"(?:alexafluor|alexa|af|atto|dylight|cf|janeliafluor|jf|dyomics|star|abberior|a)?([3-8]\d\d)n?(?:nm)?"
)
_MOST_WORDS = 3
_WORD = re.compile(r"[a-z0-9.]+")


def dye_color(label: str | None, emission: float | None = None) -> str | None:
    """Return the colour of a channel by the dye in its name, else by its emission wavelength in nanometers.

    Examples
    --------
    >>> [dye_color(label) for label in ("DAPI", "Alexa Fluor 488", "H2B-mCherry", "Cy5", "Channel 1")]
    ['0000FF', '00FF00', 'FF0000', 'FF00FF', None]
    >>> dye_color(None, 610.0)
    'FF0000'
    """
    color = _by_name(label or "")
    return _in_ranges(emission, _RANGES) if color is None and emission is not None else color


def _by_name(label: str) -> str | None:
    words = [word.strip(".") for word in _WORD.findall(label.lower())]
    for start in range(len(words)):
        for end in range(min(len(words), start + _MOST_WORDS), start, -1):  # long names first
            name = "".join(words[start:end])
            color = _COLORS.get(name) or _COLORS.get(name.rstrip("0123456789"))
            if color is not None:
                return color
            match = _FAMILY.fullmatch(name)
            if match and not (name.isdecimal() and len(words) > 1):  # "488" alone, but not as part of a longer name
                return _in_ranges(float(match[1]), _EXCITED)
    return None


def _in_ranges(wavelength: float, ranges: _Ranges) -> str | None:
    return next((color for end, color in ranges if wavelength < end), None)

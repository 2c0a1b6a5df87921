"""Colours and contrast of channels and labels: given, by dye, by wavelength, or from the metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ozx.errors import UsageError
from ozx.zarr.json_reading import as_list, as_numbers, as_object, as_text

_BLUE, _CYAN, _GREEN, _YELLOW, _RED, _MAGENTA, _ORANGE = (
    *("0000FF", "00FFFF", "00FF00", "FFFF00"),
    *("FF0000", "FF00FF", "FF8000"),
)
WHITE = "FFFFFF"
#: The samples of pixels with colours; the fourth is transparency.
RGBA = (("Red", _RED), ("Green", _GREEN), ("Blue", _BLUE), ("Alpha", WHITE))

#: Colours that may be given by name; all others are given as RRGGBB.
_COLORS = {
    "red": _RED,
    "green": _GREEN,
    "blue": _BLUE,
    "cyan": _CYAN,
    "magenta": _MAGENTA,
    "yellow": _YELLOW,
    "white": WHITE,
    "gray": WHITE,
    "grey": WHITE,
}
_HEXADECIMAL = re.compile(r"#?([0-9A-Fa-f]{6})")


def parse_color(color: str) -> str:
    """Return a colour as six hexadecimal digits in upper case."""
    match = _HEXADECIMAL.fullmatch(str(color).strip())
    if match is not None:
        return match[1].upper()
    try:
        return _COLORS[str(color).strip().lower()]
    except KeyError:
        raise UsageError(
            f"expected a colour as RRGGBB, six hexadecimal digits; got {color!r}",
            hint=f"Allowed colour names: {', '.join(_COLORS)}.",
        ) from None


# Colours of channels by dye and by emission wavelength.
#
# The colour of a dye is that of its emission maximum as FPbase (https://www.fpbase.org) lists it, in the ranges of
# `_RANGES`. The exceptions are yellow for YFP and its relatives (527 to 529 nm), to tell them from GFP, and gray for
# transmitted light. The ranges are wider than those in which the eye sees a colour, for two reasons: programs store the
# middle of the emission filter, which may be 20 nm from the maximum; and a display has no far red.

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
    WHITE: "brightfield bf dic phase phasecontrast ph transmission transmitted transmittedlight trans tl widefieldtl",
}
_COLORS_OF_DYES = {name: color for color, names in _DYES.items() for name in names.split()}
_COLORS_OF_DYES |= _COLORS | {"orange": _ORANGE}

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
    """Return the colour of a channel by the dye in its name, else by its emission wavelength in nanometers."""
    color = _by_name(label or "")
    return _in_ranges(emission, _RANGES) if color is None and emission is not None else color


def _by_name(label: str) -> str | None:
    words = [word.strip(".") for word in _WORD.findall(label.lower())]
    for start in range(len(words)):
        for end in range(min(len(words), start + _MOST_WORDS), start, -1):  # long names first
            name = "".join(words[start:end])
            color = _COLORS_OF_DYES.get(name) or _COLORS_OF_DYES.get(name.rstrip("0123456789"))
            if color is not None:
                return color
            match = _FAMILY.fullmatch(name)
            if match and not (name.isdecimal() and len(words) > 1):  # "488" alone, but not as part of a longer name
                return _in_ranges(float(match[1]), _EXCITED)
    return None


def _in_ranges(wavelength: float, ranges: _Ranges) -> str | None:
    return next((color for end, color in ranges if wavelength < end), None)


# Display settings of channels in OME-Zarr metadata: colours, contrast, and the plane to show first.
#
# "omero" has the same form in 0.4 and 0.5. Parsing never fails: missing or malformed settings are
# None or left out, because no picture depends on them.

# OME-Zarr 0.5, "omero": six hexadecimal digits. Some writers add "#" in front, or an alpha value at the end.
_COLOR = re.compile(r"#?([0-9A-Fa-f]{6})(?:[0-9A-Fa-f]{2})?")
_DEFAULTS = ("defaultZ", "defaultT")
# For channels without a colour, in order: everyone can tell these apart.
_PALETTE = (_CYAN, _MAGENTA, _YELLOW, _RED, _GREEN, _BLUE)


@dataclass(frozen=True, slots=True)
class Window:
    """The contrast of a channel: values from `start` to `end` are shown; `min` and `max` limit the user's choice."""

    start: float
    end: float
    min: float | None
    max: float | None

    @property
    def contrast(self) -> tuple[float, float]:
        """The values that are shown as black and as full colour."""
        return self.start, self.end


@dataclass(frozen=True, slots=True)
class ShownChannel:
    """Name and display settings of one channel, of an image that is read or to be written."""

    label: str | None = None
    color: str | None = None  # six hexadecimal digits in upper case, RRGGBB
    active: bool = True  # whether it is shown at first
    window: Window | None = None  # its contrast
    emission: float | None = None  # emission wavelength, in nanometers

    @property
    def name(self) -> str | None:
        """Its name; OME-Zarr calls it ``label``, which here is also an image of objects."""
        return self.label

    @property
    def contrast(self) -> tuple[float, float] | None:
        """The pixel values that are shown as black and as full colour, or None."""
        return None if self.window is None else self.window.contrast


@dataclass(frozen=True, slots=True)
class ShownPlane:
    """The plane that viewers show first when they open the image."""

    # Its indices at full resolution, or None; they may be out of range.
    z: int | None = None
    t: int | None = None
    # Whether one channel is shown in shades of gray, instead of all active ones in their colours.
    is_gray: bool = False


def parse_shown_channels(ome: dict[str, Any]) -> tuple[ShownChannel, ...]:
    """Return the display settings of each channel from ``omero``; empty if ``omero`` is missing."""
    channels = as_list(as_object(ome.get("omero")).get("channels"))
    return tuple(_parse_channel(as_object(channel)) for channel in channels)


def parse_shown_plane(ome: dict[str, Any]) -> ShownPlane:
    """Return the plane that viewers show first, from ``rdefs`` of ``omero``."""
    defaults = as_object(as_object(ome.get("omero")).get("rdefs"))
    z, t = (value if type(value) is int and value >= 0 else None for value in map(defaults.get, _DEFAULTS))
    return ShownPlane(z, t, defaults.get("model") == "greyscale")


def default_color(number: int, count: int, label: str | None = None, emission: float | None = None) -> str:
    """Return the default colour of channel `number` of `count` channels, for channels without a colour in metadata.

    The dye in the channel's name decides, else the channel's emission wavelength in nanometers. Otherwise a single
    channel is white, and several channels are cyan, magenta, yellow, red, green and blue in turn.
    """
    return dye_color(label, emission) or (WHITE if count == 1 else _PALETTE[number % len(_PALETTE)])


def _parse_channel(channel: dict[str, Any]) -> ShownChannel:
    match = _COLOR.fullmatch(as_text(channel.get("color")) or "")
    active = channel.get("active")
    emission = as_numbers([channel.get("emissionWave")])  # a key of OMERO's own JSON; OME-Zarr has none
    return ShownChannel(
        label=as_text(channel.get("label")),
        color=None if match is None else match[1].upper(),
        active=active if isinstance(active, bool) else True,
        window=parse_window(as_object(channel.get("window"))),
        emission=emission[0] if emission is not None and emission[0] > 0 else None,
    )


def parse_window(window: dict[str, Any]) -> Window | None:
    """Return a channel's contrast from its ``window``; None if it has no two values in order."""
    shown = as_numbers([window.get("start"), window.get("end")])
    if shown is None or not shown[0] < shown[1]:
        return None
    least, most = (as_numbers([window.get(key)]) for key in ("min", "max"))
    return Window(shown[0], shown[1], None if least is None else least[0], None if most is None else most[0])


# Colours and properties of label values in OME-Zarr metadata.
#
# "image-label" has the same form in 0.4 and 0.5. Parsing never fails: malformed items are left out, because no picture
# depends on them.


#: Red, green, blue and alpha, each from 0 to 255.
Rgba = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class LabelDisplay:
    """Display settings of a label image."""

    colors: dict[int, Rgba]  # by label value
    # The properties of each label value, as a mapping from property names.
    properties: dict[int, dict[str, Any]]


def parse_label_display(ome: dict[str, Any]) -> LabelDisplay:
    """Return the colours and properties of label values, from ``image-label``."""
    label = as_object(ome.get("image-label"))
    colors: dict[int, Rgba] = {}
    for value, item in _by_label(label.get("colors")):
        rgba = as_list(item.get("rgba"))
        if len(rgba) == 4 and all(type(part) is int and 0 <= part <= 255 for part in rgba):
            colors[value] = (rgba[0], rgba[1], rgba[2], rgba[3])
    properties = {
        value: {name: known for name, known in item.items() if name != "label-value"}
        for value, item in _by_label(label.get("properties"))
    }
    return LabelDisplay(colors, properties)


def parse_label_colors(colors: str | Mapping[int, str] | None) -> Rgba | dict[int, Rgba] | None:
    """Return one colour for all labels, or colours by label value, as red, green, blue and alpha."""
    if colors is None or isinstance(colors, str):
        return None if colors is None else _opaque(colors)
    if not isinstance(colors, Mapping) or not all(isinstance(value, Integral) for value in colors):
        raise UsageError(
            f"expected a colour, or colours by label value; got {colors!r:.200}",
            hint='Write them as in colors={1: "FF0000", 2: "green"}.',
        )
    return {int(value): _opaque(color) for value, color in colors.items()}


def _opaque(color: str) -> Rgba:
    red, green, blue = bytes.fromhex(parse_color(color))
    return red, green, blue, 255


def _by_label(value: Any) -> list[tuple[int, dict[str, Any]]]:
    items = [as_object(item) for item in as_list(value)]
    return [(item["label-value"], item) for item in items if type(item.get("label-value")) is int]

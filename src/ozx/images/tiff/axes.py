"""The axes of a TIFF series, and the position of each page along them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ozx.errors import UnsupportedError, UsageError

#: The axes of an image, in the order of OME-Zarr 0.5 ("axes" metadata): time, channel, space.
AXES = ("t", "c", "z", "y", "x")

# tifffile's codes; S are the samples of a pixel. Spectra (E, lambda) become channels.
_KNOWN = {"T": "t", "C": "c", "S": "c", "E": "c", "Z": "z", "Y": "y", "X": "x"}
# The axes for dimensions of unknown meaning, the fastest first.
_GUESSES = ("z", "t", "c")

Lengths = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a TIFF series."""

    axis: str  # the axis of the image along which the dimension runs
    length: int  # its length
    step: int = 1  # positions along the axis from one index to the next: 1, or the number of samples of each channel
    is_guessed: bool = False  # whether the file does not name the dimension


def parse_axes(text: str) -> tuple[str, ...]:
    """Parse axis names such as ``tczyx`` or ``t,c,z,y,x``."""
    letters = text.lower().replace(",", "").replace(" ", "")
    unknown = sorted(set(letters) - {*AXES, "s"})
    is_twice = any(letters.count(letter) > 1 for letter in letters)
    if unknown or is_twice or not {"y", "x"} <= set(letters):
        raise UsageError(
            f"--axes: expected y and x, and perhaps some of t, c, z and s, each once; got {text!r}",
            hint="Give one letter for each dimension, in the order of the file; s means the samples of a pixel.",
        )
    return tuple(letters)


def name_dimensions(codes: str, shape: Sequence[int], asked: Sequence[str] | None = None) -> tuple[Dimension, ...]:
    """Return the named dimensions of a series, in the order of the file.

    A dimension of unknown meaning becomes z, else t, else c. A dimension of length 1 takes any free axis.

    Examples
    --------
    >>> [(part.axis, part.length, part.step) for part in name_dimensions("TCYXS", (4, 2, 64, 64, 3))]
    [('t', 4, 1), ('c', 2, 3), ('y', 64, 1), ('x', 64, 1), ('c', 3, 1)]
    >>> [part.axis for part in name_dimensions("QQYX", (3, 5, 64, 64))]
    ['t', 'z', 'y', 'x']
    >>> [part.axis for part in name_dimensions("IYX", (5, 64, 64), ("t", "y", "x"))]
    ['t', 'y', 'x']
    """
    names = _asked(codes, shape, asked) if asked is not None else [_KNOWN.get(code) for code in codes]
    unknown = [name is None and length > 1 for name, length in zip(names, shape, strict=True)]
    named = {name for name, length in zip(names, shape, strict=True) if name is not None and length > 1}
    for place in reversed(range(len(names))):
        if names[place] is None:
            free = [name for name in _GUESSES if name not in named]
            if shape[place] > 1 and not free:
                raise UnsupportedError(
                    f"expected at most the axes t, c, z, y and x; the image has {codes} ({'×'.join(map(str, shape))})",
                    hint="Save it as several images of five dimensions or fewer.",
                )
            names[place] = free[0] if free else "z"
            named |= {free[0]} if shape[place] > 1 else set()
    dimensions = _with_steps(codes, [name or "z" for name in names], shape)
    return tuple(replace(part, is_guessed=guess) for part, guess in zip(dimensions, unknown, strict=True))


def _asked(codes: str, shape: Sequence[int], asked: Sequence[str]) -> list[str | None]:
    counted = [place for place, code in enumerate(codes) if shape[place] > 1 or code in "YX"]
    if len(counted) != len(asked):
        found = "×".join(str(shape[place]) for place in counted)
        raise UsageError(
            f"--axes: expected {len(counted)} axes for an image of {found}; got {len(asked)}, {''.join(asked)}",
            hint=f"In the file, the axes are named {_known_names(codes[place] for place in counted)}.",
        )
    given = dict(zip(counted, asked, strict=True))
    names: list[str | None] = [None if shape[place] > 1 else _KNOWN.get(code) for place, code in enumerate(codes)]
    for place, name in given.items():
        names[place] = "c" if name == "s" else name
    return names


def _known_names(codes: Iterable[str]) -> str:
    """Return the file's names of some dimensions, in the form of ``--axes``; ``?`` is a dimension without a name."""
    names = "".join("s" if code == "S" else _KNOWN.get(code, "?") for code in codes)
    return f"{names}; each ? is an axis without a name: write t, z or c instead" if "?" in names else names


def _with_steps(codes: str, names: Sequence[str], shape: Sequence[int]) -> list[Dimension]:
    """Return the dimensions of a series, each with its `Dimension.step`.

    The step of a dimension is the number of samples if the samples of a pixel run along the same axis; else it is 1.
    """
    parts = []
    for place, (name, length) in enumerate(zip(names, shape, strict=True)):
        others = [n for n, other in enumerate(names) if other == name and n != place and shape[n] > 1]
        step = 1
        if length > 1 and others:
            samples = [n for n in others if codes[n] == "S"]
            if codes[place] != "S" and samples:
                step = shape[samples[0]]
            elif codes[place] != "S" or len(others) > 1:
                raise UnsupportedError(
                    f"expected one dimension along {name}; found several: {codes} of {'×'.join(map(str, shape))}",
                    hint="Name its dimensions with --axes.",
                )
        parts.append(Dimension(name, length, step))
    return parts

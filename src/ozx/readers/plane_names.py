"""The planes of images that come as many files: where each file stands along t, c and z, among positions and wells.

tifffile's own ``parse_filenames`` refuses folders with other files, names no missing file, and takes steps for gaps.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from math import prod

from ozx.errors import FormatError, UsageError
from ozx.images.description import ImageDescription, PlateDescription
from ozx.images.ome_xml import MOST_PLANES, plate_names

#: The endings of the files that are planes.
TIFF = (".tif", ".tiff")
#: What a pattern may name, and the text of each in a file's name.
FIELDS = {"well": "[A-Za-z]{1,2}[0-9]{1,2}", "s": "[^/]+?", "t": "[0-9]+", "c": "[^/]+?", "z": "[0-9]+"}
_PLANES = ("t", "c", "z")
# Letters before a number in the names that microscopes give.
_LETTERS = {
    **dict.fromkeys(("t", "time"), "t"),
    **dict.fromkeys(("c", "ch", "channel", "w"), "c"),
    **dict.fromkeys(("z", "slice"), "z"),
    **dict.fromkeys(("s", "p", "pos", "position", "site", "series", "xy", "f", "field"), "s"),
}
_WELL = re.compile("[A-P][0-9]{1,2}")
# A number with the letters before it; MetaMorph writes the name of a channel behind its number, as in _w1DAPI_s1.
_NUMBERED = re.compile(
    rf"(?<![A-Za-z])(?:([Ww])([0-9]+(?!(?:{'|'.join(_LETTERS)})[0-9])[A-Za-z][^_.]*)(?=[_.])|([A-Za-z]+)([0-9]+))"
)
# MetaXpress writes an identifier of each file behind the number of the channel, and small copies of the planes.
_IDENTIFIER = re.compile("(?<=[0-9])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_THUMBNAIL = re.compile(r"_thumb[^_/]*\.tiff?$", re.IGNORECASE)
_SLOT = "\0"
_COPY = "Copy the missing files into the folder; on_error='fill' fills them with zeros."
#: The most files that a message names.
MOST_NAMED = 3

#: The numbers and texts of a text, so that Pos9 stands before Pos10; equal for 1 and 01.
Key = tuple[tuple[int, int, str], ...]


#: The place of a file: the key of its well, position, time, channel and z.
Cell = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class PlaneGrid:
    """Files by their place; each holds a plane or a stack."""

    folder: str
    axes: tuple[str, ...]  # those of t, c and z that are named
    files: Mapping[Cell, str]  # the path of each file in the folder
    texts: Mapping[str, Mapping[Key, str]]  # of each field, the texts in the names, in order
    pattern: str | None  # of the names
    others: tuple[str, ...]  # files that belong to no place
    described: Mapping[Key, ImageDescription]  # what else is known of each position

    def images(self) -> list[tuple[Key, Key]]:
        """Return the well and the position of each image."""
        return sorted({(well, position) for well, position, *_ in self.files})

    def lengths(self) -> dict[str, int]:
        """Return the number of files along each named axis."""
        return {axis: len(self.texts[axis]) for axis in self.axes}

    def iter_planes(self, image: tuple[Key, Key]) -> Iterable[tuple[str, str | None]]:
        """Yield the name and the file of each place of an image, the last axis first; None for a missing file."""
        for place in product(*(self.texts[axis] for axis in _PLANES)):
            cell = (*image, *place)
            yield self._name(cell), self.files.get(cell)

    def missing(self) -> list[str]:
        """Return the names of the files that are missing."""
        count = prod(map(len, (self.texts[axis] for axis in _PLANES))) * len(self.images())
        if count == len(self.files):
            return []
        names = (name for image in self.images() for name, file in self.iter_planes(image) if file is None)
        return list(islice(names, MOST_NAMED))

    def _name(self, cell: Cell) -> str:
        texts = {field: self.texts[field][key] for field, key in zip(FIELDS, cell, strict=True)}
        where = ", ".join(f"{field} {text}" for field, text in texts.items() if text)
        if self.pattern is None or "*" in self.pattern:
            return where
        return f"{self.pattern.format(**texts)} ({where})"

    def channel_names(self) -> list[str | None]:
        """Return the names of the channels, as far as the names of the files have them: DAPI, or 1DAPI."""
        return [re.sub("^[0-9]+", "", text).strip(" -_") or None for text in self.texts["c"].values()]

    def plate(self) -> PlateDescription | None:
        """Return the plate of the images, if their names have wells."""
        if "" in self.texts["well"].values():
            return None
        wells: dict[tuple[int, int], list[tuple[int, None]]] = defaultdict(list)
        for number, (well, _) in enumerate(self.images()):
            wells[_row_and_column(self.texts["well"][well], self.folder)].append((number, None))
        rows, columns = (max(place[side] for place in wells) + 1 for side in (0, 1))
        names = plate_names(rows, "letter"), plate_names(columns, "number")
        return PlateDescription(None, *names, dict(sorted(wells.items())))


def _row_and_column(well: str, folder: str) -> tuple[int, int]:
    letters, column = re.fullmatch("([A-Z]+)([0-9]+)", well.upper()).groups()  # type: ignore[union-attr]
    row = 0
    for letter in letters:
        row = row * 26 + ord(letter) - ord("A") + 1
    if int(column) == 0:
        raise FormatError(
            f"expected wells such as A01; the columns of a plate begin at 1, not as in {well}", path=folder
        )
    return row - 1, int(column) - 1


def key_of(text: str) -> Key:
    """Return the key of a text."""
    parts = re.findall("[0-9]+|[^0-9]+", text)
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts)


def make_grid(
    folder: str,
    places: Mapping[str, Mapping[str, str]],
    *,
    pattern: str | None = None,
    others: Sequence[str] = (),
    is_filled: bool = False,
) -> PlaneGrid:
    """Return files by their place; raise `FormatError` for two files at one place, or for missing ones.

    With `is_filled`, files may be missing.
    """
    files: dict[Cell, str] = {}
    texts: dict[str, dict[Key, str]] = {field: {} for field in FIELDS}
    for file, place in places.items():
        cell = tuple(
            key_of(place.get(field, "").upper() if field == "well" else place.get(field, "")) for field in FIELDS
        )
        if cell in files:
            raise FormatError(
                f"{files[cell]} and {file} have the same place: {_words(place)}",
                path=folder,
                hint="Remove one of them, or name more axes by a pattern.",
            )
        files[cell] = file
        for field, key in zip(FIELDS, cell, strict=True):
            texts[field].setdefault(key, place.get(field, ""))
    for axis in ("t", "z"):
        _check_steps(axis, texts[axis], folder, is_filled=is_filled)
    axes = tuple(axis for axis in _PLANES if any(axis in place for place in places.values()))
    ordered = {field: dict(sorted(found.items())) for field, found in texts.items()}
    grid = PlaneGrid(folder, axes, files, ordered, pattern, tuple(others), {})
    count = prod(len(ordered[axis]) for axis in _PLANES) * len(grid.images())
    if count > max(MOST_PLANES, len(files)):
        raise FormatError(f"expected at most {MOST_PLANES:,} files; the names have {count:,} places", path=folder)
    if not is_filled and (missing := grid.missing()):
        less = count - len(files)
        more = f" and {less - len(missing):,} more" if less > len(missing) else ""
        raise FormatError(
            f"{less:,} of the {count:,} files of the image {'is' if less == 1 else 'are'} missing: "
            f"{'; '.join(missing)}{more}",
            path=folder,
            hint=_COPY,
        )
    return grid


def _words(place: Mapping[str, str]) -> str:
    return ", ".join(f"{field} {text}" for field, text in place.items())


def _check_steps(axis: str, texts: dict[Key, str], folder: str, *, is_filled: bool) -> None:
    """Check that the numbers along an axis have equal steps; with `is_filled`, add those that are missing."""
    numbers = sorted(key[0][1] for key in texts if key)
    step = min((after - before for before, after in pairwise(numbers)), default=1)
    for before, after in pairwise(numbers):
        if after == before + step:
            continue
        width = len(next(iter(texts.values())))
        if not is_filled or (numbers[-1] - numbers[0]) // step > MOST_PLANES:
            around = " and ".join(texts[((0, number, ""),)] for number in (before, after))
            raise FormatError(
                f"no file has {axis} {before + step:0{width}}: it stands between {axis} {around}",
                path=folder,
                hint=_COPY,
            )
        texts |= {((0, number, ""),): f"{number:0{width}}" for number in range(before + step, after, step)}


def is_thumbnail(name: str) -> bool:
    """Return whether a file is the small copy of a plane, as in A01_s1_w1_thumb.TIF."""
    return _THUMBNAIL.search(name) is not None


def is_well(text: str) -> bool:
    """Return whether a text is the name of a well."""
    return _WELL.fullmatch(text) is not None


def without_identifiers(names: Sequence[str]) -> list[str]:
    """Return the names with ``*`` in place of the identifier that each of them has for itself."""
    return [_IDENTIFIER.sub("*", name) for name in names]


def axis_before(text: str) -> str | None:
    """Return the axis of a number behind a text that ends with the letters of an axis, as in ``exp_Position``."""
    letters = re.search("([A-Za-z]+)[ _-]*$", text)
    return None if letters is None else _LETTERS.get(letters[1].lower())


def match_names(names: Sequence[str], pattern: str) -> dict[str, dict[str, str]]:
    """Return the place of each name that fits a pattern such as ``img_t{t}_c{c}.tif``."""
    expression = _compiled(pattern.replace("\\", "/"))
    found = ((name, expression.fullmatch(name)) for name in names if is_thumbnail(pattern) or not is_thumbnail(name))
    return {name: match.groupdict() for name, match in found if match is not None}


def _compiled(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern; ``*`` stands for any text."""
    parts, seen = [], set()
    for part in re.split(r"(\{[^{}]*\}|\*)", pattern):
        field = part[1:-1] if part.startswith("{") and part.endswith("}") else None
        if part == "*":
            parts.append("[^/]*?")
        elif field in seen:
            parts.append(f"(?P={field})")
        elif field is not None and field in FIELDS:
            seen.add(field)
            parts.append(f"(?P<{field}>{FIELDS[field]})")
        elif field is not None or "{" in part or "}" in part:
            raise UsageError(
                f"pattern: expected {{t}}, {{c}}, {{z}}, {{s}} (positions) and {{well}}; got {part!r} in {pattern!r}",
                hint="Write what varies in the names, as in img_t{t}_c{c}.tif; * stands for any text.",
            )
        else:
            parts.append(re.escape(part))
    if not seen:
        raise UsageError(
            f"pattern: expected some of {{t}}, {{c}}, {{z}}, {{s}} and {{well}}; found none in {pattern!r}",
            hint="Write what varies in the names, as in img_t{t}_c{c}.tif.",
        )
    return re.compile("".join(parts))


def guess_pattern(names: Sequence[str]) -> tuple[str | None, str]:
    """Return the pattern of names that differ only in numbers behind letters of axes; or None, and why.

    Examples
    --------
    >>> guess_pattern(["a_t01_c1.tif", "a_t02_c1.tif"])[0], guess_pattern(["B03_w1DAPI.tif", "A01_w2GFP.tif"])[0]
    ('a_t{t}_c{c}.tif', '{well}_w{c}.tif')
    >>> guess_pattern(["img1.tif", "img2.tif"])
    (None, 'the letters img of img1.tif name no axis')
    """
    if any(sign in name for name in names for sign in "{}*"):
        return None, "the names contain signs of patterns"
    names = without_identifiers(names)
    skeletons = {_NUMBERED.sub(_SLOT, name): name for name in names}
    if len(skeletons) > 1:
        first, second, *_ = skeletons.values()
        return None, f"{first} and {second} differ in more than numbers of axes"
    (skeleton,) = skeletons
    numbered = ([(m[1] or m[3], m[2] or m[4]) for m in _NUMBERED.finditer(name)] for name in names)
    slots: list[tuple[tuple[str, str], ...]] = list(zip(*numbered, strict=True))
    fields = [_field(slot) for slot in slots]
    for slot, field in zip(slots, fields, strict=True):
        if field is None and len(set(slot)) > 1:
            return None, f"the letters {slot[0][0]} of {names[0]} name no axis"
    varying = [field for slot, field in zip(slots, fields, strict=True) if len(set(slot)) > 1]
    if len(set(varying)) < len(varying):
        return None, f"several numbers in {names[0]} name the same axis"
    texts, taken = [], set(varying)
    for slot, field in zip(slots, fields, strict=True):
        is_varying = len(set(slot)) > 1
        is_named = field is not None and (is_varying or (field in _PLANES and field not in taken))
        taken |= {field} if is_named else set()
        letters = "" if field == "well" else slot[0][0]
        texts.append(f"{letters}{{{field}}}" if is_named else "".join(slot[0]))
    if not varying:
        return None, "nothing in the names varies"
    head, *rest = skeleton.split(_SLOT)
    return head + "".join(text + after for text, after in zip(texts, rest, strict=True)), ""


def _field(slot: Sequence[tuple[str, str]]) -> str | None:
    """Return what the numbers at one place of all names stand for."""
    letters = {letters for letters, _ in slot}
    first = next(iter(letters))
    if len(letters) == 1 and first.lower() in _LETTERS:
        return _LETTERS[first.lower()]
    # The letter alone says little: A1 and A2 may be anything, A1 and B1 are wells.
    is_padded = all(len(number) > 1 for _, number in slot)
    return "well" if (is_padded or len(letters) > 1) and all(is_well("".join(each)) for each in slot) else None


def names_below(folder: str, depth: int = 0) -> list[str]:
    """Return the paths of the files in a folder, and in its folders down to a depth, with slashes; no hidden ones."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.startswith("."):
                continue
            # A link to a file that is not there, as git-annex leaves it, is a plane that is missing.
            if entry.is_file() or (entry.is_symlink() and not entry.is_dir()):
                names.append(entry.name)
            elif depth and entry.is_dir():
                names += [f"{entry.name}/{name}" for name in names_below(entry.path, depth - 1)]
    return names

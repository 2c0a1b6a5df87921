"""Notes about the images that an import makes, such as missing pixel sizes, with the commands that correct them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ozx.errors import shortened
from ozx.images.description import ImageDescription
from ozx.images.pixel_source import PixelSource
from ozx.ome.edit.request import EditRequest
from ozx.ome.model import AXIS_TYPES, Axis
from ozx.places.place import Place
from ozx.quoting import quote

_NAMED = 3
_LONGEST_UNIT = 40


#: A sentence about an image, and the options of the ``ozx edit`` command that ends it, if there is one.
Note = tuple[str, str | None]
#: The numbers of the images of each note; none for a note about the whole file.
Notes = dict[Note, list[int]]


def add_note(notes: Notes, image: int | None, sentence: str, edit: str | None = None) -> None:
    """Add a note about an image, or about the whole file; equal notes are merged."""
    notes.setdefault((sentence, edit), []).extend([] if image is None else [image])


def note_sentences(notes: Notes, count: int, target: str, paths: Mapping[int, str]) -> tuple[str, ...]:
    """Return the notes as sentences that list the numbers of their images, of a file with `count` images."""
    return tuple(
        f"{_where(images, count)}{sentence}{_command(edit, images, target, paths)}"
        for (sentence, edit), images in notes.items()
    )


def _where(images: Sequence[int], count: int) -> str:
    if not images or count == 1:
        return ""
    if len(images) == 1:
        return f"image {images[0]}: "
    if len(images) == count:
        return "all images: "
    shown = ", ".join(map(str, images[:_NAMED]))
    return f"images {shown}{f' and {len(images) - _NAMED:,} more' if len(images) > _NAMED else ''}: "


def _command(edit: str | None, images: Sequence[int], target: str, paths: Mapping[int, str]) -> str:
    if edit is None:
        return ""
    found = [number for number in images if number in paths]
    # Without the path of an image, ozx edit would also change the images whose metadata are right.
    is_some = 0 < len(found) < len(paths)
    where = f" for image {found[0]}" if is_some and len(images) > 1 else ""
    node = Place(target, paths[found[0]]).uri if is_some else target
    return f"{where}: ozx edit {quote(node)} {edit}"


def axes_of(source: PixelSource) -> tuple[Axis, ...]:
    """Return the axes of a source, without units."""
    return tuple(Axis(axis, AXIS_TYPES[axis], None) for axis in source.axes)


def iter_size_notes(description: ImageDescription, source: PixelSource, edits: EditRequest | None) -> Iterator[Note]:
    """Yield a note if a pixel size or unit is unknown, or if the size given for all axes is also used for z."""
    is_stack = "z" in source.axes
    everywhere = None if edits is None else edits.space_size
    given = {} if edits is None else edits.pixel_size
    units = {} if edits is None else edits.units_for(axes_of(source))
    lengths = [axis for axis in source.axes if AXIS_TYPES[axis] == "space"]
    unknown = [axis for axis in lengths if axis not in description.sizes and axis not in given]
    if everywhere is None and not {"y", "x"}.isdisjoint(unknown):
        # The planes of a stack are seldom as far apart as its pixels.
        example = ",".join(f"{axis}={'2um' if axis == 'z' else '0.65um'}" for axis in unknown)
        where = f" along {' and '.join(unknown)}"
        if unknown == lengths:
            example, where = example if is_stack else "0.65um", ""
        one = "1" if units.keys() >= set(unknown) else "1 without a unit"
        yield f"the pixel size is unknown{where}, so {one} is used; to set one", f"--pixel-size {example}"
    elif is_stack and everywhere is not None and "z" not in given:
        known = description.sizes.get("z")
        was = "" if known is None else f" (in the file: {known.value:g}{f' {known.unit}' if known.unit else ''})"
        yield (
            f"the pixel size is also used for z, the distance between planes{was}; to set z separately",
            f"--pixel-size z=2um,y={everywhere:g}um,x={everywhere:g}um",
        )
    elif "z" in unknown:
        yield (
            "the distance between planes is unknown, so 1 is used for z; to set it",
            "--pixel-size z=2um",
        )
    replaced = {*given, *units, *(lengths if everywhere is not None else ())}
    yield from _iter_unknown_units(description, [axis for axis in source.axes if axis not in replaced])


def _iter_unknown_units(description: ImageDescription, axes: Sequence[str]) -> Iterator[Note]:
    """Yield a note for each unit in the file that is not understood."""
    foreign: dict[str, list[str]] = {}
    for axis in axes:
        size = description.sizes.get(axis)
        if size is not None and size.unknown is not None:
            foreign.setdefault(size.unknown, []).append(axis)
    for unit, named in foreign.items():
        right = ",".join(f"{axis}={'second' if axis == 't' else 'micrometer'}" for axis in named)
        which = f"the unit {shortened(unit, _LONGEST_UNIT)!r} of the pixel size along {', '.join(named)}"
        yield f"{which} is unknown, so the size has no unit; to set one", f"--unit {right}"


def iter_unit_notes(axes: Sequence[Axis], edits: EditRequest | None) -> Iterator[Note]:
    """Yield a note if the options give a pixel size, but no unit is known from the options or the file."""
    sizes = {} if edits is None else edits.limited_to(axes).pixel_size
    missing = [str(axis.name) for axis in axes if axis.name in sizes and axis.type == "space" and not axis.unit]
    if missing:
        right = ",".join(f"{axis}=micrometer" for axis in missing)
        yield f"the pixel size along {', '.join(missing)} has no unit; to set it", f"--unit {right}"

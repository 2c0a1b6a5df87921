"""The new hierarchy for the images of a file: one image at the root, a series, or a plate."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from ozx.errors import UsageError
from ozx.images.description import ImageDescription, PlateDescription
from ozx.images.pixel_source import CroppedSource, PixelSource
from ozx.images.writing.new_image import (
    LABEL_KINDS,
    NewHierarchy,
    NewImage,
    PyramidChoice,
    PyramidLevel,
    plate_of,
    series_of,
)
from ozx.ome.colors import LabelDisplay, ShownChannel
from ozx.ome.edit.request import EditRequest
from ozx.ome.model import AXIS_TYPES, Axis
from ozx.ome.subset.hierarchy import has_gaps
from ozx.ome.subset.levels import AxisPlace, Box
from ozx.ome.subset.region import Selection, find_channels
from ozx.ome.transformations import exact
from ozx.ome.units import unit_ratio
from ozx.readers.images import Images
from ozx.readers.notes import Notes, add_note, axes_of, iter_size_notes, iter_unit_notes, note_sentences
from ozx.zarr.keys import ORIGINAL_METADATA

_ENDINGS = (".companion.ome", ".ome.tiff", ".ome.tif", ".ome.tf8", ".ome.tf2", ".ome.btf", ".tiff", ".tif")


@dataclass(frozen=True, slots=True)
class HierarchyOptions:
    """Options for the hierarchy that is made from a file."""

    is_alone: bool = False  # whether a field of a plate becomes a single image, without the plate
    edits: EditRequest | None = None  # metadata that overrides the file's
    keep_ome_xml: bool = True  # whether the original OME-XML is kept
    pyramid: PyramidChoice = field(default_factory=PyramidChoice)  # how levels are made
    is_label: bool = False  # whether pixels are labels
    version: str = "0.5"  # the OME-Zarr version to write
    selection: Selection | None = None  # the part of each image to read; None for all
    target: str = "OUT.ozx"  # the file to write, for the commands in notes


def stem_of(path: str) -> str:
    """Return the name of an image file without suffixes such as ``.ome.tif``, or that of a folder.

    Examples
    --------
    >>> stem_of("scans/cells.ome.tif"), stem_of("slide.SVS"), stem_of("a.companion.ome")
    ('cells', 'slide', 'a')
    """
    if os.path.isdir(path):
        return os.path.basename(os.path.abspath(path))
    name = os.path.basename(path)
    for ending in _ENDINGS:
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return os.path.splitext(name)[0]


def plan_images(found: Images, options: HierarchyOptions) -> tuple[NewHierarchy, tuple[str, ...]]:
    """Return the hierarchy to write for the images of a file, and notes about it."""
    notes, numbers = Notes(), list(found.images)
    if options.edits is not None:
        options.edits.check_axes([axes_of(found.images[number].sources[0]) for number in numbers])
    if options.selection is not None:
        options.selection.check([axes_of(found.images[number].sources[0]) for number in numbers], ())
    is_plate = found.plate is not None and not options.is_alone
    images = {number: _new_image(found, number, options, notes, is_alone=not is_plate) for number in numbers}
    files = dict(found.others) if options.keep_ome_xml else {}
    if found.ome_xml is not None and options.keep_ome_xml:
        files[ORIGINAL_METADATA] = _as_utf8(found.ome_xml)
    for key in files if options.selection is not None else ():
        add_note(notes, None, f"{key} is kept unchanged: it describes the whole original file")
    if found.plate is not None and is_plate:
        hierarchy = plate_of(_named_plate(found, found.plate, options, notes), images, files)
    elif len(images) > 1:
        hierarchy = series_of(list(images.values()), files)
    else:
        hierarchy = NewHierarchy({"": images[numbers[0]]}, files=files)
    of_image = {id(image): path for path, image in hierarchy.images.items()}
    paths = {number: of_image[id(image)] for number, image in images.items() if id(image) in of_image}
    return replace(hierarchy, version=options.version), note_sentences(notes, found.count, options.target, paths)


def _as_utf8(text: str) -> bytes:
    """Return OME-XML in UTF-8, with its encoding declaration changed to UTF-8."""
    head, end, rest = text.partition("?>")
    if head.lstrip().startswith("<?xml") and 'encoding="' in head and 'encoding="utf-8"' not in head.lower():
        before, _, after = head.partition('encoding="')
        head = f'{before}encoding="UTF-8"{after.partition(chr(34))[2]}'
    return f"{head}{end}{rest}".encode()


def _new_image(found: Images, number: int, options: HierarchyOptions, notes: Notes, *, is_alone: bool) -> NewImage:
    description = found.images[number]
    source = description.sources[0]
    edits = options.edits.limited_to(axes_of(source)) if options.edits is not None else None
    axes, scale, origin = _place(description, source, edits)
    for sentence in description.notes:
        add_note(notes, number, sentence)
    for note in iter_size_notes(description, source, options.edits):
        add_note(notes, number, *note)
    for sentence in description.guesses:
        add_note(notes, number, sentence)
    for note in iter_unit_notes(axes, edits):
        add_note(notes, number, *note)
    name = description.name or (stem_of(found.path) if found.count == 1 else f"{stem_of(found.path)} {number}")
    if edits is not None and edits.name is not None and is_alone:
        name = edits.name
    sources, levels = _levels(found, number, scale, origin, options, notes)
    new = NewImage(
        name=name,
        axes=axes,
        sources=sources,
        levels=levels,
        pyramid=options.pyramid,
        label=LabelDisplay({}, {}) if options.is_label else None,
    )
    if options.is_label:
        if new.channel_axis is not None or source.dtype.kind not in LABEL_KINDS:
            raise UsageError(
                f"expected integer labels without channels; found {source.dtype} with the axes "
                f"{', '.join(source.axes)}",
                path=found.path,
            )
        new = new.with_integers()
    else:
        new = replace(new, channels=_channels(description, new.channel_count, edits))
    if options.selection is None:
        return new
    new, said = choose_part(new, options.selection, "the image" if found.count == 1 else f"image {number}")
    for sentence in said:
        add_note(notes, number, sentence)
    return new


def _place(
    description: ImageDescription, source: PixelSource, edits: EditRequest | None
) -> tuple[tuple[Axis, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the axes with units, the pixel size and the origin along each; options take precedence over the file."""
    sizes = {} if edits is None else edits.pixel_size
    units = {} if edits is None else edits.units_for(axes_of(source))
    axes, scale, origin = [], [], []
    for axis in source.axes:
        known = description.sizes.get(axis)
        unit = units.get(axis, None if known is None else known.unit)
        axes.append(Axis(axis, AXIS_TYPES[axis], unit))
        scale.append(sizes.get(axis, 1.0 if known is None else known.value))
        place = description.origin.get(axis)
        # A place on the stage has a meaning only beside a size with a unit.
        ratio = (
            unit_ratio(place.unit, unit) if place is not None and place.unit is not None and unit is not None else None
        )
        origin.append(place.value * float(ratio) if place is not None and ratio is not None else 0.0)
    return tuple(axes), tuple(scale), tuple(origin)


def _levels(
    found: Images,
    image: int,
    scale: tuple[float, ...],
    origin: tuple[float, ...],
    options: HierarchyOptions,
    notes: Notes,
) -> tuple[tuple[PixelSource, ...], tuple[PyramidLevel, ...]]:
    """Return the levels to import from the file: the full resolution, and the lower levels that match it."""
    full, *lower = found.images[image].sources
    sources: list[PixelSource] = [full]
    levels = [PyramidLevel(full.shape, scale, origin)]
    for number, source in enumerate(lower, 1):
        factors = _factors(full, source, sources[-1])
        if factors is None:
            pixels = f"{source.dtype} of {'×'.join(map(str, source.shape))}"
            add_note(
                notes,
                image,
                f"level {number} of the file, {pixels}, does not match the full resolution: this "
                f"level is computed from the full resolution instead",
            )
            break
        smaller = tuple(size * factor for size, factor in zip(scale, factors, strict=True))
        # The centre of an averaged pixel lies between the centres of the original pixels.
        moved = tuple(at + (large - small) / 2 for at, large, small in zip(origin, smaller, scale, strict=True))
        is_first = options.pyramid.method == "nearest"
        sources.append(source)
        levels.append(PyramidLevel(source.shape, smaller, origin if is_first else moved))
    return tuple(sources), tuple(levels)


def _factors(full: PixelSource, source: PixelSource, above: PixelSource) -> tuple[float, ...] | None:
    """Return the downsampling factor of a level along each axis, or None if the level shows another image.

    Only y and x may be shorter: both full lengths are divided by the same whole number, and rounded up or down.
    """
    if source.axes != full.axes or source.dtype != full.dtype or len(source.shape) != len(full.shape):
        return None
    factors = []
    for axis, length, whole in zip(source.axes, source.shape, full.shape, strict=True):
        if axis not in "yx":
            if length != whole:
                return None
            factors.append(1)
            continue
        factor = round(whole / length)
        if factor < 1 or not whole // factor <= length <= -(-whole // factor):
            return None
        factors.append(factor)
    plane = {factor for axis, factor in zip(source.axes, factors, strict=True) if axis in "yx"}
    is_smaller = all(small <= large for small, large in zip(source.shape, above.shape, strict=True))
    return tuple(factors) if len(plane) == 1 and is_smaller and source.shape != above.shape else None


def _channels(description: ImageDescription, count: int, edits: EditRequest | None) -> tuple[ShownChannel, ...]:
    for what, values in (
        ("channel names", None if edits is None else edits.channel_names),
        ("colors", None if edits is None else edits.colors),
    ):
        if values is not None and len(values) != count:
            raise UsageError(f"expected {count} {what}, one per channel; got {len(values)}")
    names = [None] * count if edits is None or edits.channel_names is None else edits.channel_names
    colors = [None] * count if edits is None or edits.colors is None else edits.colors
    known = [*description.channels[:count], *[ShownChannel()] * (count - len(description.channels))]
    return tuple(
        replace(
            channel,
            label=name or channel.label,
            color=color or channel.color,
        )
        for channel, name, color in zip(known, names, colors, strict=True)
    )


def _named_plate(found: Images, plate: PlateDescription, options: HierarchyOptions, notes: Notes) -> PlateDescription:
    """Return the plate with a name; add a note about the images outside of it."""
    outside = len(found.images) - len({number for fields in plate.wells.values() for number, _ in fields})
    if outside:
        add_note(
            notes,
            None,
            f"{outside:,} images belong to no well of the plate and are left out; series=N imports one of them",
        )
    name = plate.name or stem_of(found.path)
    if options.edits is not None and options.edits.name is not None:
        name = options.edits.name
    return replace(plate, name=name)


# The part of an image that an import reads: the chosen channels, and a region of the pixels.


def choose_part(image: NewImage, selection: Selection, where: str) -> tuple[NewImage, list[str]]:
    """Return an image with only the chosen pixels, which keep their places, and notes; `where` names the image."""
    first, channel, notes = image.levels[0], image.channel_axis, list[str]()
    names = [axis.name for axis in image.axes]
    ends = [(0, length) for length in first.shape]
    for axis, limits in selection.region.items():
        if axis in names:
            at = names.index(axis)
            place = AxisPlace(
                first.shape[at], first.scale[at], first.translation[at], image.axes[at].unit, at == channel
            )
            ends[at] = place.resolve(axis, limits, where)
        else:
            notes.append(f"not cropped along {axis}: the image has no such axis")
    picked: tuple[int, ...] = () if channel is None else tuple(range(*ends[channel]))
    if selection.channels and channel is None:
        notes.append("the whole image is kept, because it has no channel axis")
    elif selection.channels and channel is not None:
        labels = [each.label for each in image.channels]
        picked = find_channels(selection.channels, labels, image.channel_count, where)
        ends[channel] = picked[0], picked[-1] + 1
    # Of an axis that lower levels shorten, pixels are joined from the start of the crop on (as in `crop_exactly`).
    cut = {
        at: pair for at, pair in enumerate(ends) if pair != (0, first.shape[at]) or (at == channel and has_gaps(picked))
    }
    is_alike = all(level.shape[at] == first.shape[at] for level in image.levels for at in cut)
    if not is_alike:
        notes.append("the smaller levels of the file are left out: they are computed anew for the region")
    levels = image.levels if is_alike else image.levels[:1]
    boxes = [_box(level, cut, channel, picked) for level in levels]
    sources = [CroppedSource(*pair) for pair in zip(image.sources, boxes, strict=False)]
    channels = tuple(replace(image.channels[at], label=image.channels[at].label or f"Channel {at}") for at in picked)
    return replace(
        image,
        sources=tuple(sources) if cut else image.sources,
        levels=tuple(_moved(*pair, channel) for pair in zip(levels, boxes, strict=True)),
        channels=channels or image.channels,
    ), notes


def _box(level: PyramidLevel, cut: dict[int, tuple[int, int]], channel: int | None, picked: tuple[int, ...]) -> Box:
    ends = [cut.get(at, (0, length)) for at, length in enumerate(level.shape)]
    shape = [len(picked) if at == channel else stop - start for at, (start, stop) in enumerate(ends)]
    gaps = {channel: picked} if channel is not None and has_gaps(picked) else {}
    return Box(tuple(start for start, _ in ends), tuple(shape), gaps)


def _moved(level: PyramidLevel, box: Box, channel: int | None) -> PyramidLevel:
    """Return a level with the lengths and the place of a box; channels have numbers, and no place."""
    shifts = [0 if at == channel else start for at, start in enumerate(box.start)]
    places = zip(level.translation, level.scale, shifts, strict=True)
    moved = [float(exact(place) + by * exact(scale)) if by else place for place, scale, by in places]
    return replace(level, shape=box.shape, translation=tuple(moved))

"""Images whose planes come in many TIFF files: the pages of all files make one series for each image."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from ozx.errors import FormatError, OzxError, UsageError
from ozx.images.description import ImageDescription
from ozx.ome.colors import ShownChannel
from ozx.readers.images import FileSet, Images, ReadingOptions
from ozx.readers.plane_names import MOST_NAMED, Key, PlaneGrid
from ozx.readers.tiff.opening import BROKEN, guesses_of, listening, naming, open_tiff, parsed, recipe_of
from ozx.readers.tiff.pages import AXES, name_dimensions
from ozx.readers.tiff.segments import check_decodable
from ozx.readers.tiff.series import dimensions_of, list_series, made_series
from ozx.readers.tiff.source import TiffSource

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPageSeries

    from ozx.readers.tiff.layouts import Page

    # A series with the dimensions of a file, and the pages of the file.
    Stack = tuple[TiffPageSeries, Sequence[Page | None]]


def describe_planes(grid: PlaneGrid, options: ReadingOptions) -> str:
    """Return what the files become, as in ``6 files → t 3, c 2, y 256, x 256``; only one file is opened."""
    stack = _read_stack(grid, next(iter(grid.files.values())), None, ())
    return _sentence(grid, _join(grid, [stack], stack[0], options))


def open_planes(grid: PlaneGrid, options: ReadingOptions, opener: Callable[[str, ReadingOptions], Images]) -> Images:
    """Return the images of many TIFF files; no pixels are read.

    `opener` opens the folder again in another process.
    """
    positions = grid.images()
    last = len(positions) - 1
    if options.series is not None and not 0 <= options.series <= last:
        raise UsageError(f"series: expected the number of an image, from 0 to {last}; got {options.series}")
    files, damage, images = FileSet(), list[str](), dict[int, ImageDescription]()
    first: TiffPageSeries | None = None
    channels: list[ShownChannel] = []
    for number, position in enumerate(positions):
        if options.series not in (None, number):
            continue
        stacks = _read_stacks(grid, position, first, options, damage)
        first = first or next((stack[0] for stack in stacks if stack is not None), None)
        if first is None or not any(stacks):
            raise FormatError("none of the files of an image can be read", path=grid.folder)
        series = _join(grid, stacks, first, options)
        check_decodable(series.keyframe)
        recipe = recipe_of(opener, grid.folder, options, number, 0, files)
        source = TiffSource(series, files, replace(options, axes=None, keep_singletons=True), recipe)
        damage += [sentence for part, sentence in source.damaged.items() if part != "planes"]
        channels = channels or _channels(grid, position)
        given = grid.described.get(position[1], ImageDescription())
        intact = next(file for (_, file), stack in zip(grid.iter_planes(position), stacks, strict=True) if stack)
        described = _describe(grid, position, str(intact), source, channels, given)
        images[number] = replace(described, sources=[source], guesses=guesses_of(source))
    return Images(
        grid.folder,
        images,
        len(positions),
        files,
        plate=grid.plate(),
        notes=_notes(grid),
        joined=_sentence(grid, series),
        damage=tuple(damage),
    )


def _read_stacks(
    grid: PlaneGrid,
    position: tuple[Key, Key],
    first: TiffPageSeries | None,
    options: ReadingOptions,
    damage: list[str],
) -> list[Stack | None]:
    """Return the pages of the files of an image; None for those that are missing or damaged."""
    stacks: list[Stack | None] = []
    with listening() as said:
        for name, file in grid.iter_planes(position):
            stack = None
            if file is None:
                damage.append(f"{name} is missing; filled with zeros")
            else:
                try:
                    stack = _read_stack(grid, file, first, said)
                    first = first or stack[0]
                except FormatError as error:
                    if options.on_error == "fail":
                        raise
                    damage.append(f"{error}; filled with zeros")
            stacks.append(stack)
    return stacks


def _read_stack(grid: PlaneGrid, name: str, first: TiffPageSeries | None, said: Sequence[str]) -> Stack:
    """Return the pages of a file, which must be one stack of the same dimensions as those of the `first` file."""
    with _opened(os.path.join(grid.folder, name), said) as file:
        if first is not None and _count_pages(first) == 1:
            page, model = file.pages.first, first.keyframe
            if len(file.pages) != 1:
                raise FormatError(f"expected one page, as in the other files; found {len(file.pages):,}")
            if (page.shaped, page.dtype) != (model.shaped, model.dtype):
                expected, actual = (f"{one.dtype} of {'×'.join(map(str, one.shape))}" for one in (model, page))
                raise FormatError(f"expected {expected}, as in the other files; found {actual}")
            return first, [page]
        listed = list_series(file)
        series = listed[0] if len(listed) == 1 and not listed[0].is_multifile else _of_pages(file)
        if 0 in series.shape:
            raise FormatError("expected an image of at least one pixel; one side has length 0")
        if first is not None and dimensions_of(series) != dimensions_of(first):
            expected, actual = ("×".join(map(str, dimensions_of(one)[1])) for one in (first, series))
            raise FormatError(f"expected an image of {expected}, as in the other files; found {actual}")
        return series, list(series)


@contextmanager
def _opened(path: str, said: Sequence[str]) -> Iterator[TiffFile]:
    before = len(said)
    with naming(path):
        try:
            with parsed(path) as file:
                yield file
        except FileNotFoundError:  # named by metadata
            raise FormatError("the file is missing", hint="Copy it into the folder.") from None
        for message in said[before:]:
            if BROKEN.search(message):
                hint = "Copy or download it again; on_error='fill' fills it with zeros."
                raise FormatError(f"the file is cut off or damaged: {message}", hint=hint)


def _of_pages(file: TiffFile) -> TiffPageSeries:
    """Return all pages of a file as a series, whatever its metadata say of other files."""
    first, pages = file.pages.first, list(file.pages)
    axes = ("I" if len(pages) > 1 else "") + first.axes
    return made_series(file.series[0], pages, axes, (len(pages), *first.shape)[-len(axes) :])


def _count_pages(series: TiffPageSeries) -> int:
    return prod(dimensions_of(series)[1]) // series.keyframe.size


def _join(
    grid: PlaneGrid, stacks: Sequence[Stack | None], first: TiffPageSeries, options: ReadingOptions
) -> TiffPageSeries:
    """Return the series of all pages: those of each file lie within its place along t, c and z."""
    inner = [
        (code, length)
        for code, length in zip(*dimensions_of(first), strict=True)
        if length > 1 or code in "YX" or options.keep_singletons
    ]
    codes = "".join(code for code, _ in inner)
    if options.axes is not None:
        if len(options.axes) != len(codes):
            raise UsageError(
                f"axes: expected the {len(codes)} axes of each file, {'×'.join(str(length) for _, length in inner)}; "
                f"got {''.join(options.axes)}"
            )
        codes = "".join(options.axes).upper()
    absent = [None] * _count_pages(first)
    pages = [page for stack in stacks for page in (absent if stack is None else stack[1])]
    lengths = grid.lengths()
    shape = (*lengths.values(), *(length for _, length in inner))
    series = made_series(first, pages, "".join(lengths).upper() + codes, shape)
    series.is_multifile = True
    return series


def _describe(
    grid: PlaneGrid,
    position: tuple[Key, Key],
    file: str,
    source: TiffSource,
    channels: Sequence[ShownChannel],
    given: ImageDescription,
) -> ImageDescription:
    """Return what the first intact file of an image says, and what is `given` besides."""
    plain = _description_of(grid, file)
    name = " ".join(filter(None, (grid.texts["well"][position[0]], grid.texts["s"][position[1]])))
    lengths = dict(zip(source.axes, source.shape, strict=True))
    known = given.channels or tuple(channels)
    return replace(
        plain,
        name=given.name or (None if name.isdecimal() else name or None),
        sizes={**plain.sizes, **given.sizes},
        channels=known if len(known) == lengths.get("c", 1) else (),
        origin=given.origin or plain.origin,
        notes=(*plain.notes, *given.notes),
    )


def _channels(grid: PlaneGrid, position: tuple[Key, Key]) -> list[ShownChannel]:
    """Return the channels of all files that differ in c only, from their names and metadata."""
    cells = [
        grid.files.get((*position, next(iter(grid.texts["t"])), c, next(iter(grid.texts["z"]))))
        for c in grid.texts["c"]
    ]
    channels: list[ShownChannel] = []
    for label, file in zip(grid.channel_names(), cells, strict=True):
        found = () if file is None else _description_of(grid, file).channels
        found = found or (ShownChannel(),)
        channels += [replace(found[0], label=label)] if label and len(found) == 1 else found
    return channels


def _description_of(grid: PlaneGrid, file: str) -> ImageDescription:
    """Return the metadata of a file; none if it is damaged or missing."""
    path = os.path.join(grid.folder, file)
    with suppress(OzxError, OSError), open_tiff(path, ReadingOptions(on_error="fill")) as found:
        return replace(found.images[0], sources=(), guesses=())
    return ImageDescription()


def _sentence(grid: PlaneGrid, series: TiffPageSeries) -> str:
    lengths: dict[str, int] = {}
    for part in name_dimensions(*dimensions_of(series)):
        lengths[part.axis] = lengths.get(part.axis, 1) * part.length
    shape, count = ", ".join(f"{axis} {lengths[axis]}" for axis in AXES if axis in lengths), len(grid.images())
    wells = len(grid.texts["well"]) if grid.plate() is not None else 0
    plate = f"a plate of {wells:,} {'well' if wells == 1 else 'wells'}, " if wells else ""
    several = f"{count:,} images of " if count > 1 else ""
    return f"{len(grid.files):,} {'file' if len(grid.files) == 1 else 'files'} → {plate}{several}{shape}"


def _notes(grid: PlaneGrid) -> tuple[str, ...]:
    if not (count := len(grid.others)):
        return ()
    more = f" and {count - MOST_NAMED:,} more" if count > MOST_NAMED else ""
    which = "1 other file of the folder is" if count == 1 else f"{count:,} other files of the folder are"
    return (f"{which} left out: {', '.join(grid.others[:MOST_NAMED])}{more}",)

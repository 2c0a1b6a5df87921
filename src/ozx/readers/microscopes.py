"""The microscopes' own formats (CZI, ND2, LIF, IMS and others), read by openreadout: no byte of them is parsed here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from ozx.archive.other_formats import LONGEST_SIGNATURE, find_format
from ozx.errors import FormatError, ResourceError, UnsupportedError, UsageError
from ozx.extras import install_hint, needed
from ozx.file_changes import mark_of
from ozx.flow.tasks import Seen, check_same, look_at
from ozx.images.description import ImageDescription, PlateDescription
from ozx.images.ome_xml import parse_ome_xml, plate_names
from ozx.images.pixel_source import PixelSource, Region
from ozx.ome.colors import ShownChannel
from ozx.ome.units import PixelSize
from ozx.quoting import quote
from ozx.readers.images import FileSet, Images, ReadingOptions

if TYPE_CHECKING:
    from openreadout import File

# The formats whose pixels and sizes were compared with those of a second reader (docs/howto/from-a-microscope.md).
_CHECKED = frozenset(("czi", "nd2", "lif", "ims"))
# Families of formats that hold images; others hold spectra, sequences, currents.
_FAMILIES = ("microscopy", "electron-microscopy", "medical-imaging", "gel-imaging")
_VENDOR = "OME/vendor.json"
_AXES = "tczyx"
# A damaged file may claim more planes than any memory holds numbers for.
_MOST_IMAGES = 100_000


def is_of_microscope(head: bytes, path: str) -> bool:
    """Return whether a file has a format of microscopes but TIFF; it need not be installed what reads them."""
    known = find_format(head)
    if known is not None:
        return known.is_of_microscopes
    try:
        import openreadout  # noqa: PLC0415 (an extra)
    except ImportError:
        return False
    try:
        found = openreadout.info(path, view="format")["format"]
    except openreadout.OpenReadoutError:
        return False
    return any(one["id"] == found and one["family"] in _FAMILIES for one in openreadout.formats())


def open_microscope_file(path: str, options: ReadingOptions) -> Images:
    """Open a file that openreadout reads, and return its images; no pixels are read."""
    with _refusing(path):
        file = _opened(path)
        damage = _check(file, options)
        if not file.images:
            hint = _conversion_of(path).replace("Or convert", "Convert", 1)
            raise FormatError(f"there is no image in this file ({file.info['format']['name']})", path=path, hint=hint)
        return _read_images(path, file, options, damage)


def _opened(path: str) -> File:
    try:
        with needed("formats", f"reading {_format_of(path)}"):
            import openreadout  # noqa: PLC0415 (an extra)
    except ResourceError as error:
        error.hint = f"{install_hint('formats')}. {_conversion_of(path)}"
        raise
    return openreadout.File(path)


def _format_of(path: str) -> str:
    with open(path, "rb") as file:
        known = find_format(file.read(LONGEST_SIGNATURE))
    return "this file" if known is None else known.name


def _conversion_of(path: str) -> str:
    stem = os.path.splitext(path)[0]
    result = quote(f"{stem}.ome.zarr")
    return f"Or convert it, then pack the result: bioformats2raw {quote(path)} {result}; ozx pack {result}"


def _check(file: File, options: ReadingOptions) -> tuple[str, ...]:
    """Return what is missing in a damaged file; raise `FormatError` unless the options fill it."""
    errors = [found["message"] for found in file.check()["findings"] if found["severity"] == "error"]
    if errors and options.on_error == "fail":
        others = len(errors) - 1
        more = f" (and {others:,} more {'fault' if others == 1 else 'faults'})" if others else ""
        raise FormatError(
            f"{_format_of(file.path)} is cut off or damaged: {errors[0]}{more}",
            path=file.path,
            hint="Copy or download the file again; on_error='fill' reads the undamaged parts. "
            + _conversion_of(file.path),
        )
    if errors and any(0 in (image["size_x"], image["size_y"]) for image in file.images):
        raise FormatError(
            f"the size of the images is unknown: {errors[0]}", path=file.path, hint="Copy or download this part again."
        )
    return tuple(errors)


#: Where the planes of an output channel come from: an image of the file, its channel, and the sample of a pixel.
Origin = tuple[int, int, int | None]


def _read_images(path: str, file: File, options: ReadingOptions, damage: tuple[str, ...]) -> Images:
    if options.axes is not None:
        raise UsageError(
            f"the axes of {file.info['format']['name']} files are known; they cannot be named otherwise",
            hint="Leave out axes.",
        )
    if len(file.images) > _MOST_IMAGES:
        raise UnsupportedError(f"expected at most {_MOST_IMAGES:,} images; the file has {len(file.images):,}")
    files = FileSet(file.close)
    for one in dict.fromkeys((path, *_parts(file))):
        files[one].close()
    text = _ome_xml(file)
    described = parse_ome_xml(text)
    groups = _joined(file.images)
    if options.series is not None and not 0 <= options.series < len(groups):
        raise UsageError(f"expected the number of an image, from 0 to {len(groups) - 1}; got {options.series}")
    wanted = range(len(groups)) if options.series is None else [options.series]
    images = {number: _image(path, file, groups[number], described.images, options, files, number) for number in wanted}
    notes = [note for note in file.info.get("notes", ()) if "`" not in note]
    if file.format not in _CHECKED:
        name = file.info["format"]["name"]
        notes.append(f"{name}: ozx was not checked with this format: compare the sizes, channels and pixels")
    vendor = json.dumps(file.vendor, ensure_ascii=False, indent=1).encode("utf-8", "replace")
    return Images(
        path,
        images,
        len(groups),
        files,
        plate=_plate(file, groups),
        ome_xml=text,
        others={_VENDOR: vendor},
        notes=tuple(notes),
        damage=damage,
    )


def _parts(file: File) -> Iterator[str]:
    """Yield the other files that the images are read from, as far as openreadout names them."""
    folder = os.path.dirname(os.path.abspath(file.path))
    for entry in file.entries():
        part = os.path.join(folder, str(entry["name"]))
        if entry["kind"] in ("file", "plane-file") and os.path.isfile(part):
            yield part


def _ome_xml(file: File) -> str:
    """Return the OME-XML that openreadout makes, without what depends on the file's place: its path, an UUID of it."""
    place, name = escape(file.path), escape(os.path.basename(file.path))
    return re.sub(' UUID="[^"]*"', "", file.ome_xml().replace(place, name), count=1)


def _joined(images: Sequence[Any]) -> list[list[int]]:
    """Return the numbers of the images; the steps of a wavelength are the channels of one image."""
    groups: list[list[int]] = []
    last: Any = None
    for number, image in enumerate(images):
        split = image.get("extra", {}).get("split") or []
        key = None
        if len(split) == 1 and split[0]["axis"].endswith("_lambda"):
            key = (image["extra"].get("unique_id"), image["name"].partition(" [")[0], split[0]["axis"])
        if key is not None and key == last:
            groups[-1].append(number)
        else:
            groups.append([number])
        last = key
    return groups


def _image(
    path: str,
    file: File,
    group: Sequence[int],
    described: Sequence[ImageDescription],
    options: ReadingOptions,
    files: FileSet,
    number: int,
) -> ImageDescription:
    state, seen = mark_of(os.stat(path)), look_at(path)
    count = len(file.levels(group[0])) if options.with_levels else 1
    sources = [
        MicroscopeSource(file, group, level, files, options, (os.path.abspath(path), seen, state, number, level))
        for level in range(count)
    ]
    return replace(_description(file, group, described), sources=sources)


def _description(file: File, group: Sequence[int], described: Sequence[ImageDescription]) -> ImageDescription:
    image, text = file.images[group[0]], described[group[0]]
    name, channels = text.name, text.channels
    if len(group) > 1:
        name = str(image["name"]).partition(" [")[0]
        channels = tuple(
            _step(channel, file.images[number]["extra"]["split"][0]["coordinate"])
            for number in group
            for channel in described[number].channels
        )
    origin = dict(text.origin)
    place = image.get("extra", {}).get("origin_px") if len(file.images) > 1 else None
    for axis, value in (place or {}).items():
        size = text.sizes.get(axis)
        if axis not in origin and size is not None:
            origin[axis] = PixelSize(value * size.value, size.unit)
    return ImageDescription(name, text.sizes, channels, text.notes, origin=origin)


def _step(channel: ShownChannel, wavelength: float) -> ShownChannel:
    label = f"{channel.label or 'Channel'} {wavelength * 1e9:.4g} nm"
    return replace(channel, label=label)


def _plate(file: File, groups: Sequence[Sequence[int]]) -> PlateDescription | None:
    """Return the plate of a screen (Harmony, ImageXpress, CellVoyager)."""
    found = file.plate
    if not found or not found["wells"] or any(len(group) > 1 for group in groups):
        return None
    wells = [well for well in found["wells"] if well["images"]]
    rows = max(found["rows"], *(well["row_index"] + 1 for well in wells))
    columns = max(found["columns"], *(well["column_index"] + 1 for well in wells))
    fields: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
    for well in wells:
        place = well["row_index"], well["column_index"]
        fields.setdefault(place, []).extend((number, None) for number in well["images"])
    return PlateDescription(found.get("id"), plate_names(rows, "letter"), plate_names(columns, "number"), fields)


class MicroscopeSource:
    """The pixels of one image or stored level: of each plane, the tiles that a block touches are decoded."""

    def __init__(
        self,
        file: File,
        group: Sequence[int],
        level: int,
        files: FileSet,
        options: ReadingOptions,
        recipe: tuple[str, Seen, tuple[int, int], int, int],
    ) -> None:
        first, size = file.images[group[0]], file.levels(group[0])[level]
        samples = self._samples = first["samples_per_pixel"]
        self._planes: list[Origin] = [
            (image, channel, sample if samples > 1 else None)
            for image in group
            for channel in range(file.images[image]["size_c"])
            for sample in range(samples)
        ]
        self._file, self._level, self._files, self._options, self._recipe = file, level, files, options, recipe
        self._broken: dict[tuple[int, int, int], str] = {}
        depth = size.get("size_z", first["size_z"])
        lengths = (first["size_t"], len(self._planes), depth, size["size_y"], size["size_x"])
        if 0 in lengths:
            raise FormatError("expected an image of at least one pixel; one side has length 0")
        tile = (size.get("tile_height", size["size_y"]), size.get("tile_width", size["size_x"]))
        aligned = (1, samples, 1, *(min(most, length) for most, length in zip(tile, lengths[-2:], strict=True)))
        kept = [
            at for at, length in enumerate(lengths) if length > 1 or at >= len(lengths) - 2 or options.keep_singletons
        ]
        self.axes = tuple(_AXES[at] for at in kept)
        self.shape = tuple(lengths[at] for at in kept)
        self.read_alignment = tuple(aligned[at] for at in kept)
        self.dtype = file.dtype(group[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return _source_again, (*self._recipe, self._options, self._files)

    def damage_in(self, region: Region) -> tuple[str, ...]:
        """Return descriptions of the planes of a block that could not be read."""
        times, channels, depths = self._bounds(region)[:3]
        planes = ((t, c, z) for t in times for c in channels for z in depths)
        return tuple(self._broken[plane] for plane in planes if plane in self._broken)

    def read(self, region: Region, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read a block; safe to call from several threads."""
        times, channels, depths, rows, columns = self._bounds(region)
        if out is None:
            out = np.empty([part.stop - part.start for part in region], self.dtype)
        pixels = out.reshape(len(times), len(channels), len(depths), len(rows), len(columns))
        window = (columns.start, rows.start, len(columns), len(rows))
        for t in times:
            for z in depths:
                read: tuple[tuple[int, int], NDArray[Any]] | None = None
                for c in channels:
                    image, channel, sample = plane = self._planes[c]
                    if read is None or read[0] != (image, channel):
                        read = (image, channel), self._plane((t, c, z), plane, window)
                    found = read[1] if sample is None else read[1][..., sample]
                    pixels[t - times.start, c - channels.start, z - depths.start] = found
        return out

    def _plane(self, at: tuple[int, int, int], plane: Origin, window: tuple[int, int, int, int]) -> NDArray[Any]:
        (t, _, z), (image, channel, sample) = at, plane
        try:
            with _refusing(self._file.path):
                found: NDArray[Any] = self._file.read_plane(
                    image=image, c=channel, z=z, t=t, level=self._level, region=window
                )
        except FormatError as error:
            if self._options.on_error == "fail":
                raise
            self._broken[at] = f"plane t={t}, c={channel}, z={z} of image {image}: {error.message}"
            return np.zeros((window[3], window[2], *(() if sample is None else (self._samples,))), self.dtype)
        if found.dtype != self.dtype or found.shape[:2] != (window[3], window[2]):
            raise FormatError(
                f"expected a plane of {window[3]}×{window[2]} {self.dtype}; found {found.shape} of {found.dtype}",
                path=self._file.path,
            )
        return found

    def _bounds(self, region: Region) -> list[range]:
        """Return the indices along t, c, z, y, x."""
        given = dict(zip(self.axes, region, strict=True))
        lengths = dict(zip(self.axes, self.shape, strict=True))
        return [range(*given[axis].indices(lengths[axis])[:2]) if axis in given else range(1) for axis in _AXES]


@lru_cache(maxsize=4)
def _opened_once(path: str, state: tuple[int, int]) -> File:
    del state  # part of the cache's key: a changed file is opened again
    return _opened(path)


def _source_again(
    path: str, seen: Seen, state: tuple[int, int], number: int, level: int, options: ReadingOptions, files: FileSet
) -> PixelSource:
    """Recreate a pickled source; in each process, all sources of a file share the open file."""
    check_same(path, seen)
    files.check_unchanged()
    with _refusing(path):
        file = _opened_once(path, state)
        return MicroscopeSource(
            file, _joined(file.images)[number], level, files, options, (path, seen, state, number, level)
        )


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    """Turn the errors of openreadout into those of ozx."""
    try:
        yield
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # of Rust; it is no Exception
        if not (is_panic or type(error).__module__.startswith("openreadout")):
            raise
        # The number of an error of the system stands in its text. Without one, a file that an index names is missing.
        system = re.search(r"([^:]*) \(os error ([0-9]+)\)", _text(error))
        if isinstance(error, OSError) and system is not None:
            number = int(system[2])
            raise OSError(number, system[1].strip(), error.filename or path, number) from None
        if isinstance(error, NotImplementedError):
            raise UnsupportedError(_words(error), path=path) from None
        hint = f"Copy or download it again. {_conversion_of(path)}"
        raise FormatError(f"{_format_of(path)} cannot be read: {_words(error)}", path=path, hint=hint) from None


def _words(error: BaseException) -> str:
    """Return the message of an error, without what it says of openreadout's own command."""
    found = re.sub(r"^I/O error on .*?: (?=the plane file)| \((`openreadout|hint:).*|\n.*", "", _text(error))
    return found or type(error).__name__


def _text(error: BaseException) -> str:
    # As text, an `OSError` without a number is "[Errno None] None".
    return str(error.args[0]) if isinstance(error, OSError) and error.args else str(error)

"""export: write images as a pyramidal OME-TIFF file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from ozx.calls import JsonResult, plain_json, public_call
from ozx.errors import OzxError, UnsupportedError, UsageError
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import beside_source, check_name, swept_notes
from ozx.ome.subset.region import IndexRange, RegionLike, Selection, parse_channels, parse_levels, parse_region
from ozx.places.byte_source import read_in_runs
from ozx.places.place import Place, StrPath
from ozx.progress import NO_PROGRESS, Progress, begin_phase
from ozx.threads import checked_jobs, processors
from ozx.zarr.keys import join_path

if TYPE_CHECKING:
    from ozx.exporting.exported_image import ExportedImage

# The most images that a result describes; a plate has tens of thousands of similar images.
_DESCRIBED = 100
_ENDINGS = (".tif", ".tiff")
_SMALLEST_TILE, _LARGEST_TILE = 16, 8192
# More threads than these would wait for each other while they decode chunks.
_MOST_JOBS = 8
# Limits of one export: reading more takes hours, and most disks are smaller.
_MOST_CHUNKS = 10_000_000
_MOST_BYTES = 16 << 40
_LARGEST_CHUNK = 64 << 30
# No compressor reaches this ratio (gzip at most 1,000): a source with fewer bytes lacks nearly all of its chunks.
_SPARSE_FROM, _MOST_RATIO = 64 << 30, 50_000
# Each plane has its own image file directory in the TIFF file.
_MOST_PAGES = 4_000_000


@dataclass(frozen=True, slots=True)
class ExportedImageResult:
    """The result for one exported image.

    Attributes
    ----------
    path
        Path of its group in the hierarchy; the root's is empty.
    name
        Its name.
    axes
        Lengths of t, c, z, y and x, in pixels.
    dtype
        The type of its pixels in the file.
    levels
        Paths of the arrays that its levels were read from, full resolution first.
    """

    path: str
    name: str | None
    axes: dict[str, int]
    dtype: str
    levels: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return one element of ``images`` in ``ozx export --json``."""
        return {**plain_json(self)}


@dataclass(frozen=True, slots=True)
class ExportResult(JsonResult):
    """The result of an export.

    Attributes
    ----------
    source, path
        The hierarchy, as given, and the written file.
    node
        Path of the node that was exported; the root's is empty.
    bytes
        Length of the file in bytes.
    bigtiff
        Whether it is a BigTIFF file.
    compression
        The compression of its tiles.
    ome_xml
        ``updated`` if the original OME-XML of the images was updated, else ``made``.
    images
        The first 100 images.
    image_count
        Number of all images.
    notes
        Parts left out or changed, one sentence each.
    """

    source: str
    path: str
    node: str
    bytes: int
    bigtiff: bool
    compression: str
    ome_xml: str
    images: tuple[ExportedImageResult, ...]
    image_count: int
    notes: tuple[str, ...] = ()


@public_call()
def export(
    path: StrPath,
    out: StrPath | None = None,
    *,
    node: str = "",
    levels: str | int | slice | None = None,
    region: RegionLike | None = None,
    channels: str | int | Iterable[str | int] | None = None,
    compression: str = "zlib",
    tile: int | None = None,
    split_rgb: bool = False,
    jobs: int | None = None,
    force: bool = False,
    sync: bool = True,
    progress: Progress | None = None,
) -> ExportResult:
    """Write an image, all images of a series or plate, or a label image to a tiled OME-TIFF file with all levels.

    Each image becomes an image of the TIFF file, with its levels as SubIFDs. The original OME-XML
    (``OME/METADATA.ome.xml``) is updated; if there is no such document, OME-XML is made from the metadata.

    Parameters
    ----------
    path
        An .ozx file, a URL of one, a directory with OME-Zarr 0.4, 0.5 or 0.6, or a node.
    out
        The file or object to write; by default ``cells.ozx`` becomes ``cells.ome.tif`` beside it, and its node
        ``labels/cells`` becomes ``cells_labels_cells.ome.tif``. An object is first written to a temporary file (in
        ``TMPDIR``), then uploaded.
    node
        Path of an image, label image, plate, well or series, below the node of `path` if `path` names a node.
    levels
        Resolution levels as a Python slice: ``":3"`` selects the three finest, ``"1:"`` all but the finest; 0 is the
        finest. By default all.
    region, channels
        The pixels and channels to export; see `ozx.extract`. The part is first written to a temporary file (in
        ``TMPDIR``).
    compression
        ``zlib``, which every reader knows, ``zstd``, ``lzw`` or ``none``; or ``jpeg``, which is ten times smaller, but
        changes the pixels, for colour images of 8 bits.
    tile
        Height and width of the tiles in pixels, a multiple of 16. By default 512, or the chunk length if 512 does not
        fit the chunks and the chunk length is a suitable tile length.
    split_rgb
        Whether red, green and blue stay three channels. By default, channels of 8 or 16 bits with these names and
        colours, as `ozx.import_image` writes them for a colour image, become colour pixels again.
    jobs
        Number of threads that read and compress; by default one for each processor, at most eight.
    force
        Whether an existing file may be replaced; the old one stays until the new one is complete.
    sync
        Whether to wait until the file is on the disk.
    progress
        Receives the number of bytes of pixels.

    Returns
    -------
    ExportResult
        The written file, and the images in it.

    Raises
    ------
    UsageError
        `out` exists, or is a URL that ozx only reads; there is no such node; the tile or compression is invalid.
    UnsupportedError
        There is no image, an image has a type or axes that OME-TIFF does not have, or the export is too large.
    FormatError
        `path` is no archive, no hierarchy, or damaged; for a damaged chunk, the message names image, level and region.
    ResourceError
        Reading or writing failed. After any error, `out` is as it was before.

    Examples
    --------
    >>> result = export("cells.ozx", "cells.ome.tif")
    >>> result.images[0].axes, result.images[0].levels
    ({'t': 1, 'c': 2, 'z': 1, 'y': 256, 'x': 256}, ('0', '1', '2'))
    """
    progress = progress or NO_PROGRESS
    # These modules load zarr and tifffile, which takes half a second, and only an export needs them.
    from ozx.exporting import file  # noqa: F401, PLC0415 (an error before anything is read, if tifffile is missing)
    from ozx.exporting.exported_hierarchy import check_lossy, take_hierarchy  # noqa: PLC0415
    from ozx.exporting.tile_encoding import parse_compression  # noqa: PLC0415
    from ozx.images.writing.cropping import cropped_file  # noqa: PLC0415
    from ozx.store.opening import opened_hierarchy  # noqa: PLC0415

    place = Place.parse(path)
    default = beside_source(place.at(node), ".ome.tif")
    output = Output(Place.output(default if out is None else out, remote=True), force, sync=sync)
    target = output.path
    parse_compression(compression)
    choice = parse_levels(":" if levels is None else levels)
    selection = Selection(None if levels is None else choice, parse_region(region), channels=parse_channels(channels))
    _check_tile(tile)
    notes: list[str] = []
    threads = min(processors(), _MOST_JOBS) if jobs is None else checked_jobs(jobs)
    check_name(target, "a TIFF file")
    output.check_file()
    if output.replaces(place):
        raise UsageError(f"{target} is the file to export", hint="Choose another name.")
    try:
        opened_place, part = place, ""
        full_node = join_path(place.node, node.strip("/"))
        with ExitStack() as opened:
            if selection.region or selection.channels:
                opened_place, plan = opened.enter_context(cropped_file(Place(place.path), full_node, selection))
                node, choice, part = "", IndexRange(), full_node
                notes += plan.image_notes
            group = opened.enter_context(opened_hierarchy(opened_place))
            read_in_runs(getattr(getattr(group.store, "archive_session", None), "source", None))
            images, ome_xml, is_kept, said = take_hierarchy(group, node, choice, join_rgb=not split_rgb)
            check_lossy(images, compression)
            _check_price(images, opened_place)
            pixels = sum(image.size for image in images)
            progress = begin_phase(progress, os.path.basename(target), pixels)
            with output.spooled() as new:
                is_big = _write(images, ome_xml, new.path, compression, tile, threads, progress)
                size = os.fstat(new.descriptor).st_size
            progress.stop()
    except OzxError as error:
        raise error.at(place.name) from None
    notes = list(dict.fromkeys([*notes, *said]))
    if not target.lower().endswith(_ENDINGS):
        notes.append(f"warning: {target} ends in neither .tif nor .tiff; programs may not recognise it as a TIFF file")
    notes += swept_notes(new.swept)
    return ExportResult(
        place.given,
        target,
        full_node,
        size,
        is_big,
        compression,
        "updated" if is_kept else "made",
        tuple(_describe(images, part)),
        len(images),
        tuple(notes),
    )


def _write(
    images: Sequence[ExportedImage],
    ome_xml: str,
    path: str,
    compression: str,
    tile: int | None,
    jobs: int,
    progress: Progress,
) -> bool:
    """Write the TIFF file; return whether it is a BigTIFF file."""
    from ozx.exporting.file import OmeTiff, choose_tile, needs_big, write_tiles  # noqa: PLC0415 (see export)
    from ozx.exporting.tile_encoding import Mosaic  # noqa: PLC0415

    of_images = [
        [Mosaic(image, level, compression, choose_tile(image, tile)) for level in image.levels] for image in images
    ]
    mosaics = list(chain.from_iterable(of_images))
    is_big = needs_big(mosaics, len(ome_xml))
    with open(path, "r+b") as file:  # tifffile wants the file to have a name
        tiff = OmeTiff(file, is_big=is_big)
        for number, levels in enumerate(of_images):
            tiff.add(levels, None if number else ome_xml)
        tiff.finish_directories()
        write_tiles(tiff, mosaics, jobs=jobs, progress=progress)
        tiff.close()
    return is_big


def _check_price(images: Sequence[ExportedImage], source: Place) -> None:
    """Raise `UnsupportedError` if the export would read or write too much, or if nearly all chunks are missing."""
    from ozx.store.level import Price, check_price, price_of  # noqa: PLC0415 (see export)

    price, pages = Price(0, 0, 0), 0
    for image in images:
        for level in image.levels:
            price += price_of(level.array, [slice(None)] * level.ndim)
            pages += image.page_count
    where = images[0].path or "the root" if images else "the root"
    hint = (
        "Export a part of the image by region=…, or coarser levels by levels='1:', or merge its chunks into "
        "larger chunks first (ozx repack --chunks)."
    )
    check_price(price, Price(_MOST_CHUNKS, _MOST_BYTES, _LARGEST_CHUNK), f"{where}: the export", hint)
    if pages > _MOST_PAGES:
        raise UnsupportedError(f"{where}: expected at most {_MOST_PAGES:,} planes; found {pages:,}", hint=hint)
    if price.decoded > _SPARSE_FROM and not _has_bytes(source, least := price.decoded // _MOST_RATIO):
        raise UnsupportedError(
            f"{where}: the export would read {price}, although the source has fewer than {least:,} bytes: "
            "nearly all chunks are missing, but a TIFF file contains every pixel",
            hint=hint,
        )


def _has_bytes(source: Place, least: int) -> bool:
    """Return whether a file, or the files of a directory together, have at least `least` bytes."""
    kind = source.kind()
    if kind == "a URL":
        return True
    if kind != "a directory":
        return os.path.getsize(source.path) >= least
    found = 0
    for folder, _, names in os.walk(source.path):
        for name in names:
            with suppress(OSError):
                found += os.stat(os.path.join(folder, name)).st_size
        if found >= least:
            return True
    return False


def _describe(images: Sequence[ExportedImage], part: str) -> list[ExportedImageResult]:
    """Return the results of the images; `part` is the node that a crop of the hierarchy has as its root."""
    return [
        ExportedImageResult(
            join_path(part, image.path),
            image.description.name,
            dict(zip("tczyx", image.shape, strict=True)),
            image.dtype.name,
            tuple(join_path(part, level.path) for level in image.levels),
        )
        for image in images[:_DESCRIBED]
    ]


def _check_tile(tile: int | None) -> None:
    # TIFF 6.0, "TileWidth" and "TileLength": multiples of 16.
    if tile is not None and (
        not hasattr(tile, "__index__") or tile % 16 or not _SMALLEST_TILE <= tile <= _LARGEST_TILE
    ):
        raise UsageError(
            f"expected a tile of {_SMALLEST_TILE} to {_LARGEST_TILE:,} pixels, a multiple of 16; got {tile!r:.100}"
        )

"""thumbnail: write a small picture of an .ozx file or a directory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from ozx.calls import JsonResult, public_call
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.file_changes import mark_of
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import beside_source
from ozx.places.place import Place, StrPath

# The thumbnail cache of desktops (freedesktop.org, Thumbnail Managing Standard 0.9.0).

#: "Directory structure": folders by the longest side of their pictures, in pixels.
CACHE_FOLDERS = {128: "normal", 256: "large", 512: "x-large", 1024: "xx-large"}

# Characters that GLib's g_filename_to_uri does not encode. A thumbnail's name is a hash of the URI, so programs do not
# find it if one character is encoded differently.
_PLAIN = "!$&'()*+,-./:=@_~"


def file_uri(path: str) -> str:
    """Return the URI of a local file as file managers write it; symbolic links are not resolved."""
    absolute = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + quote(os.fsencode("/" + absolute.lstrip("/")), safe=_PLAIN)


def cache_path(uri: str, size: int, environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of a file's thumbnail in the cache; `size` is a key of `CACHE_FOLDERS`."""
    home = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # XDG Base Directory Specification 0.8: all paths must be absolute, others are ignored
        home = os.path.join(os.path.expanduser("~"), ".cache")
    name = hashlib.md5(uri.encode("ascii"), usedforsecurity=False).hexdigest()
    return os.path.join(home, "thumbnails", CACHE_FOLDERS[size], f"{name}.png")


def cache_texts(uri: str, status: os.stat_result) -> dict[str, str]:
    """Return the properties of a file that its cached thumbnail stores in ``tEXt`` chunks.

    "Thumbnail creation": URI and modification time are mandatory; a picture with another time is out of date.
    """
    size, modified = mark_of(status)
    return {
        "Thumb::URI": uri,
        "Thumb::MTime": str(modified // 1_000_000_000),
        "Thumb::Size": str(size),
        "Software": "ozx",
    }


def make_cache_folder(path: str) -> None:
    """Create the missing parent folders of a cached thumbnail with mode 0700, as the thumbnail standard requires."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        make_cache_folder(folder)
        os.makedirs(folder, mode=0o700, exist_ok=True)


_SMALLEST, _LARGEST = 16, 2048
_PNG, _JPEG = (".png",), (".jpg", ".jpeg")


@dataclass(frozen=True, slots=True)
class ThumbnailResult(JsonResult):
    """The written thumbnail: its path, its size, and the image that it shows.

    Attributes
    ----------
    source, path
        The hierarchy, as given, and the picture.
    width, height
        Size of the picture, in pixels.
    image
        Path of the shown image or plate; empty for the root, or for the given node.
    level
        Path of the array that was read; for a plate, of the array in its first image.
    notes
        Missing parts of the picture, one sentence each.
    """

    source: str
    path: str
    width: int
    height: int
    image: str
    level: str
    notes: tuple[str, ...] = ()


@public_call()
def thumbnail(
    path: StrPath,
    out: StrPath | None = None,
    *,
    node: str = "",
    size: int = 256,
    cache: bool = False,
    force: bool = False,
) -> ThumbnailResult:
    """Write a thumbnail of an image, of all wells of a plate, of the first image of a series, or of labels.

    Channels have the colours and the contrast of the metadata, or default ones; labels are not drawn over the image.
    Only the smallest level with enough pixels is read. A small image makes a small picture: it is never enlarged.

    Parameters
    ----------
    path
        An ``.ozx`` file, a URL of one, a directory with OME-Zarr 0.4, 0.5 or 0.6, or a node.
    out
        The file or object to write, PNG or JPEG by its ending; by default ``cells.ozx`` becomes ``cells.png`` beside
        it, and its node ``labels/cells`` becomes ``cells_labels_cells.png``.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.
    size
        The longest side in pixels, 16 to 2048.
    cache
        Write into the desktop's cache of thumbnails (freedesktop.org), whose sizes are 128, 256, 512 and 1024, instead
        of `out`. An existing picture in it is replaced.
    force
        Whether an existing `out` may be replaced.

    Returns
    -------
    ThumbnailResult
        The written picture, and its content.

    Raises
    ------
    UsageError
        `out` exists, is a URL that ozx only reads, or is neither PNG nor JPEG; `out` and `cache` are both given; the
        size is invalid; with `cache`, `path` is no local file.
    UnsupportedError
        There is no image, or no picture can be made of it.
    FormatError
        `path` is no archive, no hierarchy, or damaged.
    ResourceError
        Reading or writing failed. After any error, `out` is as it was before.

    Examples
    --------
    >>> result = thumbnail("cells.ozx", "cells.png", size=100)
    >>> result.width, result.height, result.level
    (100, 100, '1')
    """
    # These modules load zarr and Pillow, which takes half a second, and only a thumbnail needs them.
    from ozx.images.pictures.raster import encode_jpeg, encode_png  # noqa: PLC0415
    from ozx.images.thumbnail import draw_thumbnail  # noqa: PLC0415
    from ozx.store.opening import opened_hierarchy  # noqa: PLC0415

    wanted, place = None if out is None else Place.output(out, remote=True), Place.parse(path, node)
    if cache:
        output, texts = _cache_output(place, wanted, size)
    else:
        output, texts = _checked_output(wanted or Place(beside_source(place, ".png")), size, force=force), {}
    target = output.path
    try:
        with opened_hierarchy(place) as group:
            drawn = draw_thumbnail(group, size)
    except (FormatError, UnsupportedError, UsageError) as error:
        raise error.at(place.name) from None
    is_jpeg = target.lower().endswith(_JPEG)
    data = encode_jpeg(drawn.pixels) if is_jpeg else encode_png(drawn.pixels, texts)
    if cache:
        make_cache_folder(target)
    # Pictures in the cache need no sync, because lost ones are made again; only the user may read them, because the
    # source may be private.
    output.write_small(data, mode=0o600 if cache else None)
    height, width = drawn.pixels.shape[:2]
    return ThumbnailResult(place.given, target, width, height, drawn.image, drawn.level, drawn.notes)


def _checked_output(wanted: Place, size: int, *, force: bool) -> Output:
    if not hasattr(size, "__index__") or not _SMALLEST <= size <= _LARGEST:
        raise UsageError(f"expected a size from {_SMALLEST} to {_LARGEST} pixels; got {size!r:.100}")
    if not wanted.path.lower().endswith(_PNG + _JPEG):
        raise UsageError(f"expected a name that ends in .png, .jpg or .jpeg; got {wanted.path}")
    output = Output(wanted, force)
    output.check_file()
    return output


def _cache_output(place: Place, out: Place | None, size: int) -> tuple[Output, dict[str, str]]:
    """Return the path of a file's thumbnail in the desktop's cache, and the PNG text fields that the cache requires."""
    if out is not None:
        raise UsageError("expected a file to write, or the desktop's cache; got both")
    if size not in CACHE_FOLDERS:
        raise UsageError(
            f"expected one of the sizes that the cache has, {', '.join(map(str, CACHE_FOLDERS))}; got {size}"
        )
    if (found := place.kind()) != "a file":
        raise UsageError(
            f"the thumbnail cache has pictures of local files only; found {found}",
            path=place.name,
            hint="Leave out cache=True, and name a .png or .jpg file for the picture.",
        )
    # Take the status before reading the file: if the file changes during reading, the picture counts as outdated.
    status = os.stat(place.path)
    uri = file_uri(place.path)
    return Output(Place(cache_path(uri, size)), force=True, sync=False), cache_texts(uri, status)

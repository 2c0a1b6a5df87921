"""Save the region on the screen of the viewer page, as `ozx extract --region` and `ozx export --region` do."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http import HTTPStatus
from tempfile import TemporaryDirectory

from ozx.desktop.viewer.loopback import Response
from ozx.desktop.viewer.pictures import Part, Picture
from ozx.errors import UsageError
from ozx.operations.export import ExportResult, export
from ozx.operations.extract import ExtractResult, extract
from ozx.places.byte_source import ByteSource, iter_exactly
from ozx.places.place import Place
from ozx.zarr.keys import join_path

# The most bytes of decoded pixels: a person waits for them, and the browser keeps the file until it is saved.
_MOST = 1 << 30
_MOST_NOTES = 20  # they travel in a header
_VERBS: dict[str, Callable[..., ExtractResult | ExportResult]] = {".ozx": extract, ".ome.tif": export}


def parse_crop(body: bytes) -> tuple[str, Part, str]:
    """Return the path of the image, the part of its picture, and the ending of the file that a page requests."""
    try:
        document = json.loads(body)
        path, (top, left, bottom, right), ending = document["path"], document["part"], document["ending"]
        numbers = top, left, bottom, right  # extract and export count negative ones from the end
        is_right = isinstance(path, str) and ending in _VERBS
        is_right = is_right and all(type(number) is int and number >= 0 for number in numbers)
    except (ValueError, KeyError, TypeError, RecursionError):
        is_right = False
    if not is_right:
        raise UsageError(
            "expected the path of an image, the part as the numbers top, left, bottom and right, and .ozx or .ome.tif"
        )
    return path, (top, left, bottom, right), ending


def crop(place: Place, picture: Picture, part: Part, ending: str) -> Response:
    """Return the response with the region as a file; all channels and planes of an image, and its labels, are in it."""
    down, right = picture.dimensions
    axes, full = picture.view.axes, picture.view.levels[0]
    region = {axes[down].name or "y": (part[0], part[2]), axes[right].name or "x": (part[1], part[3])}
    lengths = {down: part[2] - part[0], right: part[3] - part[1]}
    size = math.prod(lengths.get(at, length) for at, length in enumerate(full.shape)) * full.dtype.itemsize
    if size > _MOST:
        asked = ",".join(f"{axis}={start}:{stop}" for axis, (start, stop) in region.items())
        raise UsageError(
            f"the region has {size / (1 << 30):.1f} GiB of pixels; the page saves at most 1 GiB",
            hint=f"Zoom in, or type: ozx {_VERBS[ending].__name__} FILE OUT --region {asked}",
        )
    with ExitStack() as opened:
        path = os.path.join(opened.enter_context(TemporaryDirectory(prefix="ozx-view-")), f"crop{ending}")
        node = join_path(place.node, picture.path)
        result = _VERBS[ending](place.path, path, node=node, region=region, sync=False)
        source = opened.enter_context(closing(Place(path).open()))
        blocks = _iter_blocks(opened.pop_all(), source, result.bytes)
        next(blocks)  # from here on, the end of the blocks removes the file, even if none of them is sent
    headers = {"Cache-Control": "no-store", "Ozx-Notes": json.dumps(result.notes[:_MOST_NOTES])}
    return Response(HTTPStatus.OK, blocks, "application/octet-stream", headers, length=result.bytes)


def _iter_blocks(opened: ExitStack, source: ByteSource, size: int) -> Iterator[bytes]:
    with opened:
        yield b""
        yield from iter_exactly(source, 0, size, "the region")

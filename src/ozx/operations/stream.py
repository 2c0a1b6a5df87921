"""stream: the frames of a camera become an .ozx file while they are taken."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from ozx.errors import UsageError, resource_errors
from ozx.flow.sources.location import given_output
from ozx.hierarchy.ome.conversion import checked_version
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.images.streaming.chunk_store import ChunkStore, chunks_path
from ozx.images.streaming.frame_order import FrameOrder
from ozx.images.streaming.frame_ring import FrameRing
from ozx.images.streaming.frame_stream import FrameStream
from ozx.images.streaming.statistics import StreamResult
from ozx.images.streaming.stream_documents import ENDLESS, StreamDocuments
from ozx.images.streaming.stream_file import StreamFile
from ozx.images.streaming.streamed_image import StreamedImage
from ozx.images.writing.array_image import ChannelLike, describe_array, given_channels
from ozx.images.writing.levels import PyramidChoice
from ozx.images.writing.new_image import NewHierarchy, NewImage, series_of

if TYPE_CHECKING:
    from ozx.images.streaming.stream_upload import StreamUpload

__all__ = ["FrameStream", "StreamResult", "stream"]

# Lengths that are unknown count as this one when chunks and shards are chosen.
_USUAL_LENGTH = 1000
_MEMORY = 224 << 20
# Frames in memory share it with the chunks of unfinished shards.
_SHARE_OF_FRAMES = 4
_LEAST_FRAMES = 4
_WHEN_FULL = ("wait", "raise")


@resource_errors()
def stream(  # noqa: PLR0913 (one argument for each choice)
    path: str | os.PathLike[str],
    *,
    axes: str | Sequence[str],
    shape: Sequence[int | None],
    dtype: DTypeLike,
    positions: Sequence[str] = (),
    scale: Sequence[float] | Mapping[str, float] | None = None,
    unit: str | Mapping[str, str] | None = None,
    channels: Sequence[ChannelLike] = (),
    name: str | None = None,
    method: str = "mean",
    downsample: str | Sequence[str] | None = None,
    chunks: str | Mapping[str, int] | None = None,
    shards: str | Mapping[str, int] = "auto",
    codec: str | None = None,
    chunk_checksums: str | None = None,
    ome_version: str = "0.5",
    when_full: str = "wait",
    memory: int | None = None,
    jobs: int | None = None,
    sync_every: int | None = None,
    upload_to: str | None = None,
    force: bool = False,
    sync: bool = True,
) -> FrameStream:
    """Open a new .ozx file for the frames of a camera: an OME-Zarr image with all of its levels, made as they come.

    Frames are planes y, x. They are copied into a bounded memory, and threads make levels, chunks and shards of them.
    Values are written once, in their final places. If fewer frames come than declared, the image ends with the last.

    Parameters
    ----------
    path
        The file to write; ``NAME.partial`` until the stream is closed.
    axes
        Names of the dimensions, of t, c, z, y and x, in the order of acquisition: the one that changes most slowly
        first, then y and x. The file has them in OME order.
    shape
        Their lengths. The first may be None if it is unknown and does not count channels.
    dtype
        The pixel type.
    positions
        Names of positions: the file is then a series of images, and each frame belongs to one. Their first lengths can
        differ.
    scale, unit, channels, name, ome_version
        As for `ozx.write_image`.
    method, downsample
        As for `ozx.write_image`; an axis of unknown length is not halved.
    chunks, shards, codec, chunk_checksums
        As for `ozx.write_image`. Shards of lower levels hold the same frames as those of the full resolution.
    when_full
        What happens to a frame while the memory is full: ``wait`` until there is room, or ``raise`` `BufferFull`.
    memory
        Bytes of frames that wait, and of chunks in unfinished shards; by default 224 MiB, or more for large frames.
    jobs
        Number of threads; by default one per core.
    sync_every
        Number of frames after which those that came are brought to the disk, while more come; None for never.
    upload_to
        An object at ``s3://``, ``gs://`` or ``az://`` to send the finished file to. The file stays, also if that fails.
    force
        Whether an existing file, or object, may be replaced; the old one stays until the new one is complete.
    sync
        Whether to wait at the end until the file is on the disk.

    Returns
    -------
    FrameStream
        A context manager with `append`, `write`, `flush`, `close` and `abort`.

    Raises
    ------
    UsageError
        The file or the object exists, the file is a URL, or options do not fit each other.
    UnsupportedError
        OME-Zarr or Zarr has no such type or number of dimensions.
    ResourceError
        The file cannot be written, or another program writes it; or the server of `upload_to` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> camera = np.random.default_rng(0).integers(0, 4096, (6, 600, 800), dtype="uint16")
    >>> with stream("cells.ozx", axes="tcyx", shape=(None, 2, 600, 800), dtype="uint16", channels=["DAPI", "GFP"],
    ...             scale={"y": 0.325, "x": 0.325}, unit="micrometer", force=True) as frames:
    ...     for frame in camera:
    ...         _ = frames.append(frame)
    >>> frames.result.frames, frames.result.missing_count
    (6, 0)
    >>> import ozx
    >>> [level.shape for level in ozx.inspect("cells.ozx").images[0].levels]
    [(3, 2, 600, 800), (3, 2, 300, 400), (3, 2, 150, 200)]
    """
    target = given_output(path)
    title = os.path.basename(target).removesuffix(".ozx").removesuffix(".ome") if name is None else name
    lengths = _checked_lengths(axes, shape)
    kind = np.dtype(dtype).newbyteorder("=")
    usual = [_USUAL_LENGTH if length is None else length for length in lengths]
    described = describe_array(np.broadcast_to(np.zeros((), kind), usual), axes, scale, unit)
    growing = [axis.name for axis in described[0]].index(axes[0]) if len(lengths) > 2 else None
    is_endless = None in lengths
    image = NewImage(
        title,
        *described,
        pyramid=_pyramid(method, downsample, str(axes[0]) if is_endless else None),
        channels=given_channels(channels, described, axes),
    )
    hierarchy = _hierarchy(image, positions, checked_version(ome_version))
    layout = LayoutChoice.parse(shards, chunks, codec, chunk_checksums=chunk_checksums)
    documents = StreamDocuments(hierarchy, layout, growing)
    size = math.prod(usual[-2:]) * kind.itemsize
    memory = _checked_memory(memory, size)
    ring = FrameRing(
        memory // _SHARE_OF_FRAMES // size, (usual[-2], usual[-1]), kind, is_waiting=_is_waiting(when_full)
    )
    if sync_every is not None and sync_every < 1:
        raise UsageError(f"expected sync_every of at least 1; got {sync_every}")
    is_plain = layout.codec is not None and layout.codec.name == "none"
    store = ChunkStore(chunks_path(target), memory - memory // _SHARE_OF_FRAMES, is_fixed=is_plain)
    images = {
        position: StreamedImage(
            documents, at, FrameOrder(axes[:-2], lengths[:-2]), store, growing, is_endless=is_endless
        )
        for position, at in zip(positions or ("",), hierarchy.images, strict=True)
    }
    longest = {at: documents.of_image(at, ENDLESS if is_endless else None, None) for at in hierarchy.images}
    upload = None if upload_to is None else _upload(upload_to, force=force)
    file = StreamFile(target, documents.of_groups(), longest, force=force, sync=sync)
    return FrameStream(file, images, ring, store, threads=jobs, sync_every=sync_every, upload=upload)


def _checked_lengths(axes: str | Sequence[str], shape: Sequence[int | None]) -> tuple[int | None, ...]:
    lengths = tuple(None if length is None else int(length) for length in shape)
    if len(axes) != len(lengths):
        raise UsageError(f"expected a length for each of the axes {', '.join(axes)}; got {len(lengths)}")
    if tuple(axes[-2:]) != ("y", "x"):
        raise UsageError(
            f"expected axes that end in y, x, as frames are planes; got {axes!r}",
            hint="Transpose each frame, or name the axes in the order of acquisition.",
        )
    if None in lengths[1:] or (lengths[0] is None and (axes[0] == "c" or len(lengths) == 2)):
        raise UsageError(
            "expected at most one unknown length, the first, and not that of channels or of a plane; "
            f"got {tuple(shape)!r} for {axes!r}"
        )
    if not all(length is None or length > 0 for length in lengths):
        raise UsageError(f"expected lengths above 0; got {tuple(shape)!r}")
    return lengths


def _pyramid(method: str, downsample: str | Sequence[str] | None, endless: str | None) -> PyramidChoice:
    choice = PyramidChoice.parse(method, downsample)
    if choice.axes is None and endless == "z":  # the only axis that numbers frames and may be halved unasked
        return replace(choice, axes=("y", "x"))
    if choice.axes is not None and endless in choice.axes:
        raise UsageError(
            f"axis {endless!r} has an unknown length and cannot be downsampled", hint="Name y and x, or its length."
        )
    return choice


def _hierarchy(image: NewImage, positions: Sequence[str], version: str) -> NewHierarchy:
    if not positions:
        return NewHierarchy({"": image}, version=version)
    if isinstance(positions, str) or len(set(positions)) < len(positions):
        raise UsageError(f"expected a list of different names of positions; got {positions!r}")
    return replace(series_of([replace(image, name=name) for name in positions]), version=version)


def _upload(url: str, *, force: bool) -> StreamUpload:
    from ozx.images.streaming.stream_upload import StreamUpload  # noqa: PLC0415 (few streams are sent)

    return StreamUpload(url, force=force)


def _is_waiting(when_full: str) -> bool:
    if when_full not in _WHEN_FULL:
        raise UsageError(f"expected when_full wait or raise; got {when_full!r}")
    return when_full == "wait"


def _checked_memory(memory: int | None, frame: int) -> int:
    least = _LEAST_FRAMES * _SHARE_OF_FRAMES * frame
    if memory is None:
        return max(_MEMORY, least)
    if memory < least:
        raise UsageError(
            f"expected a memory of at least {least:,} bytes, for {_LEAST_FRAMES} frames and chunks; got {memory:,}"
        )
    return memory

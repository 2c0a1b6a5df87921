"""stream: write the frames of a camera to an .ozx file while they are recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from numpy.typing import DTypeLike

from ozx.atomic.targets import absolute_path
from ozx.calls import public_call
from ozx.errors import UsageError
from ozx.flow.sinks.target import check_name
from ozx.images.writing.array_image import ChannelLike, PixelSizes, image_title
from ozx.images.writing.new_image import NewHierarchy, series_of
from ozx.ome.conversion_05_06 import checked_version
from ozx.ome.relayout.layout_choice import LayoutChoice
from ozx.places.place import Place
from ozx.streaming.frame_ring import FrameRing
from ozx.streaming.frame_stream import FrameStream
from ozx.streaming.frames import FrameOrder
from ozx.streaming.open_chunks import OpenChunks, chunks_path
from ozx.streaming.stream_file import StreamFile, stream_upload
from ozx.streaming.stream_images import (
    Camera,
    StreamDocuments,
    completed,
    plan_frames,
    plate_fields,
    position_series,
)
from ozx.streaming.streamed_image import StreamedImage
from ozx.threads import checked_jobs

_MEMORY = 176 << 20
# A fourth of the memory is for waiting frames, the rest for the chunks of unfinished shards.
_SHARE_OF_FRAMES = 4
_LEAST_FRAMES = 4


@public_call(scale="pixel_size", channels="channel_names")
def stream(  # noqa: PLR0913 (one argument for each choice)
    path: str | os.PathLike[str],
    *,
    axes: str | Sequence[str] | None = None,
    shape: Sequence[int | None] | None = None,
    dtype: DTypeLike | None = None,
    positions: Sequence[str] = (),
    plate: Mapping[str, int] | None = None,
    plate_shape: tuple[int, int] | None = None,
    cameras: Mapping[str, Camera] | None = None,
    pixel_size: PixelSizes | None = None,
    unit: str | Mapping[str, str] | None = None,
    channel_names: Sequence[ChannelLike] = (),
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
    """Open a new .ozx file for the frames of a camera.

    The frames become an OME-Zarr image, whose levels are computed while the frames arrive.

    Frames are planes y, x. They are copied into a bounded memory, and threads make levels, chunks and shards of them.
    Values are written once, in their final places. If fewer frames come than declared, the image ends with the last
    frame.

    Parameters
    ----------
    path
        The file to write; ``NAME.partial`` until the stream is closed.
    axes
        Names of the dimensions, out of t, c, z, y and x, in the order of acquisition: the axis that changes most slowly
        first, y and x last. The file has the axes in OME order.
    shape
        Lengths of these axes. The first length may be None (unknown) if the axis is t or z.
    dtype
        The pixel type.
    positions
        Names of positions: the file is then a series of images, and each frame belongs to one of them. The images may
        differ in the length of the first axis.
    plate
        Wells with their number of fields, as in ``{"A/1": 2, "B/3": 4}``: the file is then a plate, and the positions
        are ``A/1/0``, ``A/1/1``, ``B/3/0`` and so on.
    plate_shape
        The number of rows and columns of the plate; without it the plate ends with the last row and column in use.
    cameras
        Cameras by name, if they deliver frames of different shapes or types: the file is then a series of their images,
        and each frame names its camera as its position. `axes`, `shape`, `dtype`, `pixel_size`, `unit` and
        `channel_names` apply to each camera that has no such value itself.
    pixel_size, unit, channel_names, name, ome_version
        As for `ozx.write_image`.
    method, downsample
        As for `ozx.write_image`; an axis of unknown length is not halved.
    chunks, shards, codec, chunk_checksums
        As for `ozx.write_image`. Shards of lower levels hold the same frames as those of the full resolution.
    when_full
        What happens to a frame while the memory is full: ``wait`` until there is room, or ``raise`` `BufferFull`.
    memory
        Bytes of memory for waiting frames and chunks of unfinished shards; by default 176 MiB, more for large frames.
    jobs
        Number of threads; by default one per core.
    sync_every
        Number of frames after which the received frames are synced to the disk, while further frames arrive; None for
        never.
    upload_to
        An object at ``s3://`` to which the finished file is sent. The file stays, even if the upload fails.
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
        The file or the object exists, `path` is a URL (only `upload_to` may be one), or options do not fit each other.
    UnsupportedError
        OME-Zarr or Zarr has no such type or number of dimensions.
    ResourceError
        The file cannot be written, or another program writes it; or the server of `upload_to` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> camera = np.random.default_rng(0).integers(0, 4096, (6, 600, 800), dtype="uint16")
    >>> with stream("cells.ozx", axes="tcyx", shape=(None, 2, 600, 800), dtype="uint16", channel_names=["DAPI", "GFP"],
    ...             pixel_size="0.325um", force=True) as frames:
    ...     for frame in camera:
    ...         _ = frames.append(frame)
    >>> frames.result.frames, frames.result.missing_count
    (6, 0)
    >>> import ozx
    >>> [level.shape for level in ozx.inspect("cells.ozx").images[0].levels]
    [(3, 2, 600, 800), (3, 2, 300, 400), (3, 2, 150, 200)]
    """
    target = Place.output(path).path
    place = absolute_path(target)
    check_name(target, "an .ozx file")
    title = image_title(name, target)
    given = Camera(shape, dtype, axes, pixel_size, unit, channel_names)
    orders, hierarchy = _plan(given, cameras, positions, plate, plate_shape, (title, method, downsample))
    hierarchy = replace(hierarchy, version=checked_version(ome_version))
    layout = LayoutChoice.parse(shards, chunks, codec, chunk_checksums=chunk_checksums)
    documents = StreamDocuments(hierarchy, layout, orders)
    sources = [image.sources[0] for image in hierarchy.images.values()]
    memory = _checked_memory(memory, max(prod(source.shape[-2:]) * source.dtype.itemsize for source in sources))
    if when_full not in ("wait", "raise"):
        raise UsageError(f"expected wait or raise for when_full; got {when_full!r}")
    ring = FrameRing(memory // _SHARE_OF_FRAMES, is_waiting=when_full == "wait")
    if sync_every is not None and sync_every < 1:
        raise UsageError(f"expected sync_every of at least 1; got {sync_every}")
    threads = None if jobs is None else checked_jobs(jobs)
    store = OpenChunks(chunks_path(place), memory - memory // _SHARE_OF_FRAMES)
    names = list(cameras or positions or orders)
    images = {name: StreamedImage(documents, at, store) for name, at in zip(names, orders, strict=True)}
    longest = {at: documents.of_image(at, documents.longest(at), None) for at in orders}
    upload = None if upload_to is None else stream_upload(upload_to, force=force)
    file = StreamFile(target, place, documents.of_groups(), longest, force=force, sync=sync)
    return FrameStream(file, images, ring, store, threads=threads, sync_every=sync_every, upload=upload)


def _plan(
    given: Camera,
    cameras: Mapping[str, Camera] | None,
    positions: Sequence[str],
    plate: Mapping[str, int] | None,
    plate_shape: tuple[int, int] | None,
    how: tuple[str, str, str | Sequence[str] | None],
) -> tuple[dict[str, FrameOrder], NewHierarchy]:
    """Return the order of each image's frames by path, and the hierarchy. `how` is (name, method, axes to halve)."""
    if sum(map(bool, (cameras, positions, plate is not None))) > 1:
        raise UsageError(
            "expected only one of positions, plate and cameras; got several",
            hint="The fields of a plate are its positions. For several cameras at each position, give cameras "
            "alone, with an item for each camera at each position.",
        )
    if plate_shape is not None and plate is None:
        raise UsageError("expected plate_shape together with plate; got plate_shape alone")
    if cameras is not None:
        return _plan_cameras(given, cameras, how)
    image, order = plan_frames(given, *how)
    if plate is not None:
        hierarchy = plate_fields(image, plate, plate_shape)
    elif positions:
        hierarchy = position_series(image, positions)
    else:
        hierarchy = NewHierarchy({"": image})
    return {path: FrameOrder(order.axes, order.lengths) for path in hierarchy.images}, hierarchy


def _plan_cameras(
    given: Camera, cameras: Mapping[str, Camera], how: tuple[str, str, str | Sequence[str] | None]
) -> tuple[dict[str, FrameOrder], NewHierarchy]:
    is_named = isinstance(cameras, Mapping) and all(isinstance(camera, Camera) for camera in cameras.values())
    if not cameras or not is_named:
        raise UsageError(f'expected cameras by name, as in {{"left": ozx.Camera(...)}}; got {cameras!r}')
    plans = [plan_frames(completed(camera, given), name, *how[1:]) for name, camera in cameras.items()]
    hierarchy = series_of([image for image, _ in plans])
    return {path: order for path, (_, order) in zip(hierarchy.images, plans, strict=True)}, hierarchy


def _checked_memory(memory: int | None, frame: int) -> int:
    least = _LEAST_FRAMES * _SHARE_OF_FRAMES * frame
    if memory is None:
        return max(_MEMORY, least)
    if memory < least:
        raise UsageError(
            f"expected memory of at least {least:,} bytes, for {_LEAST_FRAMES} frames and their chunks; got {memory:,}"
        )
    return memory

"""View a zarr group as an image for viewers and analysis: levels as arrays, axes, scales, channels, labels.

Metadata is read node by node on request, so that a plate opens as fast as its first field; no pixels are read.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.abc.store import Store
from zarr.errors import ZarrUserWarning
from zarr.storage import WrapperStore

from ozx.codecs.zarr_errors import missing_codec, words_of
from ozx.errors import FormatError, OzxError, ResourceError
from ozx.hierarchy.images import image_paths, label_paths
from ozx.hierarchy.keys import METADATA
from ozx.hierarchy.nodes import Node, join_path
from ozx.hierarchy.ome.colors import (
    LabelDisplay,
    ShownChannel,
    ShownPlane,
    parse_label_display,
    parse_shown_channels,
    parse_shown_plane,
)
from ozx.hierarchy.ome.model import Axis, Multiscale, OmeMetadata, describe_transformation, parse_ome, unapplied_note
from ozx.hierarchy.zarr.layout import unsupported_grid
from ozx.store.array import opened_array
from ozx.store.reading_price import price_of

_V2_NODES = (".zgroup", ".zarray")
# The errors that zarr raises for bad metadata; zarr's own error classes derive from the first two.
_ZARR_ERRORS = (ValueError, TypeError, LookupError, NotImplementedError, AttributeError, RuntimeError, ArithmeticError)


# The errors that zarr and its codecs raise for damaged chunks. OSError, about the disk, passes through.
_DECODING_ERRORS = (ValueError, TypeError, LookupError, RuntimeError, NotImplementedError, ArithmeticError)

# dask takes a millisecond for each task, and reads every block that is shown at least in part.
_BYTES_PER_TASK = 1 << 20
_DOUBLINGS = 10
# zarr lists the chunks of a request, with about a KB for each.
_MOST_CHUNKS = 20_000

#: One slice or number per dimension, numbers not negative: dask passes both kinds.
Index = tuple[slice | int, ...]


@dataclass(frozen=True)
class Level:
    """One resolution level of an image as a lazy array, or one channel of it, without the channel dimension."""

    array: zarr.Array[Any]  # with all dimensions
    path: str  # of the array, relative to the opened group
    axis: int | None = None
    channel: int | None = None
    # One value per axis, in the axes' units; None if the metadata has no transformations, or has some that are not
    # scales or translations.
    scale: tuple[float, ...] | None = None
    translation: tuple[float, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._kept(self.array.shape)

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of the smallest unit that is decoded: a chunk, or an inner chunk of a sharded array."""
        return self._kept(self.array.chunks)

    @property
    def blocks(self) -> tuple[int, ...]:
        """The shape of the block to read in one task: chunks joined along the last two dimensions, up to 1 MiB."""
        blocks, shape = list(self.array.chunks), self.array.shape
        size = math.prod(blocks) * self.dtype.itemsize
        for axis in itertools.chain.from_iterable(itertools.repeat(range(len(blocks))[-2:], _DOUBLINGS)):
            if blocks[axis] < shape[axis] and 2 * size <= _BYTES_PER_TASK:
                blocks[axis] *= 2
                size *= 2
        return self._kept(tuple(blocks))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of the pixels."""
        return np.dtype(self.array.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, key: Index) -> NDArray[Any]:
        index: list[slice | int] = list(key)
        if self.axis is not None and self.channel is not None:
            index.insert(self.axis, self.channel)
        try:
            return self._read(tuple(index))
        except OzxError:
            raise
        except MemoryError:
            raise ResourceError(
                f"{self.path}: not enough memory for this part: {price_of(self.array, index)}",
                hint="Read a smaller part, or a coarser level.",
            ) from None
        except _DECODING_ERRORS as error:
            what = str(error).partition("\n")[0] or type(error).__name__
            raise FormatError(
                f"{self.path}: a chunk cannot be decoded: {what}",
                rule="zarr/chunk-data",
                hint="Run ozx validate to list the faults.",
            ) from error

    def _read(self, index: Index) -> NDArray[Any]:
        """Read a part of the array, some thousands of chunks at a time: zarr needs about 1 KB of memory per chunk."""
        if price_of(self.array, index).chunks <= _MOST_CHUNKS:
            return np.asarray(self.array[index])
        parts = [part if isinstance(part, slice) else slice(part, part + 1) for part in index]
        ranges = [range(*part.indices(length)) for part, length in zip(parts, self.array.shape, strict=True)]
        out = np.empty([len(part) for part in ranges], self.array.dtype)
        pieces = _pieces(ranges, self.array.chunks)
        for piece in itertools.product(*pieces):
            inside = tuple(slice(part.start, part.stop, part.step) for _, part in piece)
            out[tuple(place for place, _ in piece)] = self.array[inside]
        return out[tuple(slice(None) if isinstance(part, slice) else 0 for part in index)]

    def _kept(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        kept = list(lengths)
        if self.axis is not None and self.channel is not None:
            del kept[self.axis]
        return tuple(kept)


def _pieces(ranges: list[range], chunks: tuple[int, ...]) -> list[list[tuple[slice, range]]]:
    """Divide the range of each axis into pieces; a block of one piece per axis has about `_MOST_CHUNKS` chunks."""
    most = _MOST_CHUNKS
    found = []
    for part, chunk in zip(reversed(ranges), reversed(chunks), strict=True):
        count = max(1, most * max(1, chunk // part.step))
        found.append(
            [(slice(at, min(at + count, len(part))), part[at : at + count]) for at in range(0, len(part), count)]
        )
        most = max(1, most // max(1, min(count, len(part)) * part.step // chunk))
    return found[::-1]


@dataclass(frozen=True, slots=True)
class Image:
    """One image or label image, with its levels, axes and channels."""

    path: str  # from the opened group to the image's group; empty for the opened group itself
    name: str | None  # from the metadata
    axes: tuple[Axis, ...]  # one per dimension of the arrays
    levels: tuple[Level, ...]  # at least one, full resolution first; all have one dimension per axis
    # from ``omero``, empty where it is missing; their number may differ from that of the array's channels
    channels: tuple[ShownChannel, ...]
    labels: tuple[str, ...]  # paths of the label images that belong to this image
    is_label: bool  # whether it is a label image
    display: LabelDisplay  # colours and properties of a label image, empty for others
    notes: tuple[str, ...]  # missing parts, one sentence each
    plane: ShownPlane  # the plane to show first, from ``omero``
    multiscale: Multiscale  # the metadata, with coordinate systems (OME-Zarr 0.6)

    @property
    def unapplied(self) -> tuple[str, ...]:
        """Notes on the coordinate transformations that the levels do not include, one sentence each."""
        steps = map(describe_transformation, self.multiscale.transformations)
        return tuple(unapplied_note(self.path, step) for step in steps)

    @property
    def channel_axis(self) -> int | None:
        """The index of the channel dimension, or None."""
        # OME-Zarr 0.5, "axes": the type is only a SHOULD; an axis without a type is recognised by its name.
        types = [axis.type or {"c": "channel"}.get(axis.name or "") for axis in self.axes]
        return types.index("channel") if "channel" in types else None

    @property
    def channel_count(self) -> int:
        """The number of channels; 1 without a channel dimension."""
        return 1 if self.channel_axis is None else self.levels[0].shape[self.channel_axis]


class GroupNodes(Mapping[str, Node]):
    """The nodes below a zarr group, indexed by path; a node is read on first access, and iteration reads all nodes."""

    def __init__(self, group: zarr.Group) -> None:
        self._group = group
        self._found: dict[str, zarr.Group | zarr.Array[Any] | None] = {"": group}

    def __reduce__(self) -> tuple[type[GroupNodes], tuple[zarr.Group]]:
        return GroupNodes, (self._group,)  # another process reads the nodes that it needs

    def __getitem__(self, path: str) -> Node:
        found = self.find(path)
        if found is None:
            raise KeyError(path)
        if isinstance(found, zarr.Array):
            return Node(path, "array", found.metadata.zarr_format)
        zarr_format = found.metadata.zarr_format
        return Node(path, "group", zarr_format, ome=parse_ome(dict(found.attrs), zarr_format))

    def __iter__(self) -> Iterator[str]:
        yield ""
        with warnings.catch_warnings(), refused_by_zarr("the hierarchy"):
            # Other files are legal: METADATA.ome.xml, a thumbnail.
            warnings.simplefilter("ignore", ZarrUserWarning)
            paths = sorted(path for path, _ in self._group.members(max_depth=None))
        # Copies of metadata may name nodes that are not there.
        yield from (path for path in paths if self.find(path) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, path: str) -> zarr.Group | zarr.Array[Any] | None:
        """Return the group or array at `path`, or None; raise `FormatError` if zarr cannot open it."""
        if path not in self._found:
            found = self._open(path)
            if isinstance(found, zarr.Array):
                _check_chunks(found, path)
            self._found[path] = found
        return self._found[path]

    def image(self, path: str = "") -> Image:
        """Return the image at `path`, or the first image of a group with several images.

        Raise `FormatError` if there is no image, or axes and arrays do not match; a missing lower level is only noted.
        """
        return next(_views(self, path))

    def images(self) -> Iterator[Image]:
        """Yield the images that the root's metadata lists, each read on request; raise errors as `image` does."""
        for path in image_paths(self):
            yield from _views(self, path)

    def _open(self, path: str) -> zarr.Group | zarr.Array[Any] | None:
        group = self._group
        if lacks_node(group.store, join_path(group.path, path), group.metadata.zarr_format):
            return None
        with refused_by_zarr(path):
            try:
                found: zarr.Group | zarr.Array[Any] = opened_array(group[path])
            except KeyError:
                return None
        return found


def _check_chunks(array: zarr.Array[Any], path: str) -> None:
    """Refuse a grid that is not regular, and a chunk shape with a length of 0, by which zarr-python would divide."""
    try:
        chunks, _ = array.chunks, array.shards
    except NotImplementedError:  # zarr-python 3.2 and later, if its setting array.rectilinear_chunks is on
        raise unsupported_grid("rectilinear", path or "the root") from None
    # Core 3.1, "Regular grids": "elements of `chunk_shape` … MUST be … non-zero"; an empty array has no chunks.
    if any(length and not chunk for length, chunk in zip(array.shape, chunks, strict=True)):
        raise FormatError(
            f"{path or 'the root'}: expected chunks of at least one pixel; found {'×'.join(map(str, chunks))}",
            hint="Run ozx validate to list the faults.",
        )


@contextmanager
def refused_by_zarr(where: str) -> Iterator[None]:
    """Convert errors of zarr about the metadata of node `where` to `FormatError`."""
    try:
        yield
    except OzxError:
        raise
    except _ZARR_ERRORS as error:
        missing = missing_codec(error, where)
        raise missing or FormatError(
            f"{where}: zarr cannot open this node: {words_of(error)}",
            hint="Run ozx validate to list the faults.",
        ) from error


def _views(nodes: GroupNodes, path: str) -> Iterator[Image]:
    group = nodes.find(path)
    where = path or "the root"
    if group is None or isinstance(group, zarr.Array):
        what = "found nothing" if group is None else "found an array"
        raise FormatError(f"{where}: expected the group of an image, {what}", hint="ozx info lists the images.")
    ome = nodes[path].ome
    if ome is None or not ome.multiscales:
        what = "no ome metadata" if ome is None else f"a group of kind {ome.kind}, without multiscales"
        raise FormatError(f"{where}: expected an image, found {what}", hint="ozx info lists the images.")
    for multiscale in ome.multiscales:
        yield _view(nodes, path, multiscale, ome)


def _view(nodes: GroupNodes, path: str, multiscale: Multiscale, ome: OmeMetadata) -> Image:
    levels, notes = _levels(nodes, path, multiscale)
    return Image(
        path=path,
        name=multiscale.name,
        axes=multiscale.axes,
        levels=levels,
        channels=parse_shown_channels(ome.raw),
        labels=tuple(label_paths(nodes, path)),
        is_label=ome.is_label,
        display=parse_label_display(ome.raw),
        notes=notes,
        plane=parse_shown_plane(ome.raw),
        multiscale=multiscale,
    )


def _levels(nodes: GroupNodes, path: str, multiscale: Multiscale) -> tuple[tuple[Level, ...], tuple[str, ...]]:
    levels: list[Level] = []
    notes: list[str] = []
    for dataset in multiscale.datasets:
        where = join_path(path, dataset.path or "")
        array = None if dataset.path is None else nodes.find(where)
        if not isinstance(array, zarr.Array):
            missing = f"{where or 'the root'}: this path is listed as a level, but it has no array"
            if not levels:  # only the full resolution is indispensable
                raise FormatError(missing, hint="Run ozx validate to list all faults.")
            notes.append(missing)
            continue
        if array.ndim != len(multiscale.axes):
            raise FormatError(
                f"{where}: expected {len(multiscale.axes)} dimensions, one per axis, found {array.ndim}",
                hint="Run ozx validate to list all faults.",
            )
        levels.append(Level(array, where, scale=dataset.scale, translation=dataset.translation))
    if not levels:
        raise FormatError(f"{path or 'the root'}: expected a multiscale with datasets, found none")
    return tuple(levels), tuple(notes)


def lacks_node(store: Store, path: str, zarr_format: Literal[2, 3]) -> bool:
    """Return True if a store certainly has no node at a path, else False; zarr's event loop is not used.

    A plate may list thousands of missing wells.
    """
    while isinstance(store, WrapperStore):
        store = store._store  # noqa: SLF001 (zarr's own way)
    has: Callable[[str], bool] | None = getattr(store, "_has_key", None)  # the stores of ozx have it
    return has is not None and not any(
        has(f"{path}/{name}") for name in ((METADATA,) if zarr_format == 3 else _V2_NODES)
    )

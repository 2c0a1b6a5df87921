"""View a zarr group as an image for viewers and analysis: levels as arrays, axes, scales, channels, labels.

Metadata is read node by node on request, so that a plate opens as fast as its first field; no pixels are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import zarr
from zarr.abc.store import Store
from zarr.errors import ZarrUserWarning
from zarr.storage import WrapperStore

from ozx.codecs.zarr_errors import refused_by_zarr
from ozx.errors import FormatError
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
from ozx.store.level import Level

_V2_NODES = (".zgroup", ".zarray")


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
        yield from paths

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

"""An image of a hierarchy: its axes, sizes, channels, levels and labels, and its pixels as NumPy, dask or xarray.

Metadata is read node by node on request, so that a plate opens as fast as its first field; no pixels are read.
"""

from __future__ import annotations

import base64
import html
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.abc.store import Store
from zarr.errors import ZarrUserWarning
from zarr.storage import WrapperStore

from ozx.codecs.zarr_errors import refused_by_zarr
from ozx.errors import FormatError, OzxError, OzxWarning, UnknownNameError, UsageError
from ozx.extras import needed
from ozx.images.pictures.drawing import DrawnPlate, draw_image, draw_plate
from ozx.images.pictures.raster import encode_png
from ozx.images.selection import Bounds, choose_channels, choose_level, make_key, read_part, split_region
from ozx.ome.colors import (
    LabelDisplay,
    ShownChannel,
    ShownPlane,
    parse_label_display,
    parse_shown_channels,
    parse_shown_plane,
)
from ozx.ome.images import LABELS, image_paths, label_paths
from ozx.ome.model import (
    Axis,
    Multiscale,
    OmeMetadata,
    Plate,
    describe_transformation,
    parse_ome,
    unapplied_note,
)
from ozx.ome.nodes import Node
from ozx.ome.recovered import Loss, describe_loss, losses_below, losses_of
from ozx.ome.subset.region import ChannelsLike
from ozx.ome.units import check_unit
from ozx.store.array import opened_array
from ozx.store.level import Level
from ozx.zarr.keys import METADATA, join_path
from ozx.zarr.layout import unsupported_grid

if TYPE_CHECKING:
    import dask.array
    import xarray as xr

_V2_NODES = (".zgroup", ".zarray")
_SHOWN = 10  # names in a message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImageAxis(Axis):
    """An axis of an image, with its length.

    Attributes
    ----------
    name, type, unit
        As in the metadata; None if missing.
    size
        Number of pixels along the axis at full resolution.
    """

    size: int


class ByName(Mapping[str, T]):
    """The labels, wells or fields of an image by name, each made when it is asked for."""

    def __init__(self, what: str, makers: Mapping[str, Callable[[], T]]) -> None:
        self._what = what
        self._makers = makers

    def __getitem__(self, name: str) -> T:
        if name not in self._makers:
            shown = ", ".join([*list(self._makers)[:_SHOWN], *(["…"] if len(self) > _SHOWN else [])])
            raise UnknownNameError(f"the {self._what} of the image are {shown or 'none'}; got {name!r:.200}")
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return f"<{self._what} {', '.join(map(repr, self._makers)) or 'none'}>"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Image:
    """One image, label image or plate: its metadata, and its pixels, which are read when asked for.

    `ozx.open_image` returns it. It closes its file at the end of a ``with`` block, or with `close`. A plate is one
    image of all wells side by side; `fields` has the image of each field.

    Attributes
    ----------
    path
        Path of its group, below the opened one.
    name
        Its name in the metadata, or None.
    axes
        `name`, `type`, `unit` and `size` of each axis, in the order of the dimensions.
    levels
        The resolution levels, the full resolution first; each has `shape`, `chunks`, `scale`, and `array`, a zarr
        array.
    channels
        `name`, `color` (RRGGBB) and `contrast` (two pixel values) of each channel, None where the metadata has none.
        Empty if it lists no channels.
    labels, label_paths
        Its label images by name, each an `Image`, and their paths (of a plate, those of its first field).
    is_label, display
        Whether it is a label image; the colours and properties of its label values.
    notes
        Missing parts, one sentence each.
    plane
        The plane that viewers show first.
    multiscale
        The metadata, with the coordinate systems of OME-Zarr 0.6.
    plate, wells, fields
        Of a plate: its `name`, `rows` and `columns`; the paths of the fields of each well (``A/1``); the image of each
        field by its path (``A/1/0``). None and empty for other images.
    drawn_plate
        Of a plate: its fields, for pictures.

    Examples
    --------
    >>> import ozx
    >>> image = ozx.open_image("cells.ozx")
    >>> image
    <ozx.Image 'Synthetic cells': c=2, y=256, x=256, uint16, 3 levels, labels cells>
    >>> image.axes[2].name, image.axes[2].size, image.axes[2].unit, image.scale[2]
    ('x', 256, 'micrometer', 0.325)
    >>> [channel.name for channel in image.channels], image.labels["cells"].shape
    (['Nuclei', 'Cytoplasm'], (256, 256))
    """

    path: str
    name: str | None
    axes: tuple[ImageAxis, ...]
    levels: tuple[Level, ...]
    channels: tuple[ShownChannel, ...]  # from ``omero``; their number may differ from that of the array's channels
    labels: Mapping[str, Image]
    label_paths: tuple[str, ...]
    is_label: bool
    display: LabelDisplay
    notes: tuple[str, ...]
    plane: ShownPlane
    multiscale: Multiscale
    plate: Plate | None = None
    wells: Mapping[str, tuple[str, ...]] = field(default_factory=partial(ByName, "wells", {}))
    fields: Mapping[str, Image] = field(default_factory=partial(ByName, "fields", {}))
    drawn_plate: DrawnPlate | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions, in pixels."""
        return self.levels[0].shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The data type of the pixels."""
        return self.levels[0].dtype

    @property
    def scale(self) -> tuple[float, ...] | None:
        """The size of a pixel along each axis, in the axis' unit; None if the metadata has none."""
        return self.levels[0].scale

    @property
    def translation(self) -> tuple[float, ...] | None:
        """The position of the centre of the first pixel along each axis, in the axis' unit; None if it is unknown."""
        return self.levels[0].translation

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

    def read(
        self,
        *,
        channels: ChannelsLike | None = None,
        z: Bounds | None = None,
        t: Bounds | None = None,
        region: Mapping[str, Bounds] | str | None = None,
        unit: str | None = None,
        level: int | None = None,
        pixel_size: float | None = None,
    ) -> NDArray[Any]:
        """Return pixels, with the dimensions in the order of `axes`.

        A number (also in text, as in ``region="y=3"``), or the name of one channel, drops its dimension, as in NumPy; a
        range or a list keeps it.

        Parameters
        ----------
        channels
            Names or numbers of the channels, in the order of the result; without it, all.
        z, t
            A plane by its number, or a range ``(start, stop)``, in pixels of the full resolution.
        region
            Ranges ``(start, stop)`` by axis, in pixels of the full resolution; None is an end of the image. Or the same
            as text: ``"y=0:100,x=10:20um"``. From a coarser level, all pixels that cover a part of the region are read.
        unit
            Unit of the ranges in `region`, such as ``micrometer``, ``um`` or ``second``: the pixels whose centres lie
            in [start, stop) are read.
        level
            The resolution level; 0 is the finest (the default), -1 the coarsest.
        pixel_size
            Instead of `level`, the largest size of a pixel in y and x that suffices, in `unit` or else micrometers: the
            coarsest level with such pixels is read, or level 0 if there is none. Pixels are never resampled.

        Raises
        ------
        UsageError
            There is no such channel, axis, level or pixel; or sizes are asked for that the metadata does not have.
        FormatError
            A chunk cannot be decoded.
        ResourceError
            The file cannot be read, or the memory does not suffice.

        Examples
        --------
        >>> import ozx
        >>> with ozx.open_image("cells.ozx") as image:
        ...     image.read().shape
        ...     image.read(channels="Nuclei", region={"y": (0, 100), "x": (50, 150)}).shape
        ...     image.read(region={"x": (10, 60)}, unit="micrometer", pixel_size=0.7).shape
        (2, 256, 256)
        (100, 100)
        (2, 128, 77)
        """
        where = self.path or "the root"
        spelled = None if unit is None else check_unit(unit)
        number = choose_level(self.levels, self.axes, level, pixel_size, spelled)
        chosen = choose_channels(channels, [known.label for known in self.channels], self.channel_count, where)
        regions = split_region(region, spelled, {"z": z, "t": t})
        axis = self.channel_axis
        if chosen is not None and axis is not None and self.axes[axis].name in {*regions[0], *regions[1]}:
            raise UsageError("channels are given twice: by name and in the region", hint="Give only one of them.")
        key = make_key(self.levels, self.axes, number, regions, spelled, where)
        return read_part(self.levels[number], key, axis, chosen)

    def to_dask(self, level: int = 0) -> dask.array.Array:
        """Return a level as a dask array, in blocks of about 1 MiB that are read when they are computed.

        Parameters
        ----------
        level
            The resolution level; 0 is the finest, -1 the coarsest.

        Raises
        ------
        UsageError
            There is no such level.
        ResourceError
            dask (the extra ``dask``) is not installed.

        Examples
        --------
        >>> import ozx
        >>> ozx.open_image("cells.ozx").to_dask().max().compute().item()
        2617
        """
        return self.levels[choose_level(self.levels, self.axes, level, None, None)].to_dask()

    def to_xarray(self, level: int = 0) -> xr.DataArray:
        """Return a level with named dimensions, coordinates in units, and channel names; pixels are read when used.

        Axes have coordinates if the metadata has scale and translation; ``units`` is among their attributes.

        Parameters
        ----------
        level
            The resolution level; 0 is the finest, -1 the coarsest.

        Raises
        ------
        UsageError
            There is no such level.
        FormatError
            Two axes have the same name.
        ResourceError
            xarray (the extra ``xarray``) is not installed.

        Examples
        --------
        >>> import ozx
        >>> cells = ozx.open_image("cells.ozx").to_xarray()
        >>> cells.sel(c="Nuclei", y=slice(10, 20), x=slice(10, 20)).shape
        (31, 31)
        """
        with needed("xarray", "an array of xarray"):
            from ozx.images.data_array import make_data_array  # noqa: PLC0415 (loads xarray, an optional package)

        for note in self.unapplied:
            warnings.warn(note, OzxWarning, stacklevel=2)
        chosen = self.levels[choose_level(self.levels, self.axes, level, None, None)]
        group = chosen.array.path.removesuffix(chosen.path.removeprefix(self.path)).rstrip("/")
        return make_data_array(
            chosen,
            self.axes,
            self.channel_axis,
            [channel.label for channel in self.channels],
            (group.rpartition("/")[2] or "labels") if self.is_label else "image",
            self.name,
            self.path or "the root",
        )

    def thumbnail(self, size: int = 256) -> NDArray[np.uint8]:
        """Return a picture (y, x, 3): red, green and blue of a plane, in the colours and contrast of the metadata.

        Labels are not drawn over it. Only the smallest level with enough pixels is read. A plate shows the first field
        of each well.

        Parameters
        ----------
        size
            The longest side in pixels. A small image makes a small picture: it is never enlarged.

        Raises
        ------
        UnsupportedError
            No picture can be made: there are no axes y and x, the pixels are no numbers, or it would take minutes.

        Examples
        --------
        >>> import ozx
        >>> ozx.open_image("cells.ozx").thumbnail(100).shape
        (100, 100, 3)
        """
        if not hasattr(size, "__index__") or size < 1:
            raise UsageError(f"expected a size of at least one pixel; got {size!r:.100}")
        if self.drawn_plate is not None:
            return draw_plate(self.drawn_plate, size)[0]
        return draw_image(self, size, is_label=self.is_label)[0]

    def close(self) -> None:
        """Close the file, also for its labels and fields; what is read later opens it again."""
        self.levels[0].array.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        sizes = [f"{axis.name}={axis.size}" for axis in self.axes]
        counts = [f"{len(self.levels)} levels" if len(self.levels) > 1 else "1 level"]
        counts += [f"labels {', '.join(self.labels)}"] if self.labels else []
        counts += [f"{len(self.wells):,} wells"] if self.wells else []
        return f"<ozx.Image {self.name or self.path!r}: {', '.join([*sizes, str(self.dtype), *counts])}>"

    def _repr_html_(self) -> str:
        """Return a picture and a table, which notebooks show."""
        try:
            picture = base64.b64encode(encode_png(self.thumbnail())).decode("ascii")
            shown = f'<img alt="" src="data:image/png;base64,{picture}">'
        except OzxError as error:
            shown = html.escape(error.message)
        rows = [
            ("name", self.name or self.path),
            ("pixels", f"{self.dtype}, {len(self.levels)} {'level' if len(self.levels) == 1 else 'levels'}"),
        ]
        for number, axis in enumerate(self.axes):
            step = "" if self.scale is None or axis.unit is None else f" × {self.scale[number]:.4g} {axis.unit}"
            rows.append((axis.name or f"axis {number}", f"{axis.size:,}{step}"))
        rows += [("channels", ", ".join(channel.label or "?" for channel in self.channels))] if self.channels else []
        rows += [(what, ", ".join(names)) for what, names in (("labels", self.labels), ("wells", self.wells)) if names]
        table = "".join(f"<tr><th>{html.escape(what)}</th><td>{html.escape(text)}</td></tr>" for what, text in rows)
        return f'<div style="display: flex; gap: 1em">{shown}<table>{table}</table></div>'


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

    @cached_property
    def losses(self) -> list[Loss]:
        """What is missing at and below the group, if the file was recovered; the root of the file says so."""
        root, found = self._group, list[Loss]()
        with suppress(OzxError, OSError, ValueError):  # a group of another store, without a root
            if root.path:
                root = zarr.open_group(root.store, mode="r")
            found = list(losses_below(losses_of(root.attrs.asdict()), self._group.path))
        return found

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
    start = len(join_path(path, LABELS)) + 1
    return Image(
        path=path,
        name=multiscale.name,
        axes=tuple(
            ImageAxis(axis.name, axis.type, axis.unit, size)
            for axis, size in zip(multiscale.axes, levels[0].shape, strict=True)
        ),
        levels=levels,
        channels=parse_shown_channels(ome.raw),
        labels=ByName("labels", {label[start:]: partial(nodes.image, label) for label in label_paths(nodes, path)}),
        label_paths=tuple(label_paths(nodes, path)),
        is_label=ome.is_label,
        display=parse_label_display(ome.raw),
        notes=(*notes, *map(describe_loss, losses_below(nodes.losses, path))),
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

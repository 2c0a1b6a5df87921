"""Write .ozx files with the settings of ome-writers: `create_stream` replaces `ome_writers.create_stream`.

The list of backends of ome-writers is closed: `ome_writers.create_stream` makes only the backends in this list. So this
module has an `OmeWritersBackend` with the methods of a backend, and a `create_stream` whose `OMEStream` writes to it.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ozx.ome.model import row_name
from ozx.operations.stream import stream
from ozx.streaming.frame_records import LONGEST_TEXT, MOST_FIELDS
from ozx.streaming.frame_stream import FrameStream, StreamResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AXES = frozenset("tczyx")
_CODECS = {None: None, "blosc-zstd": "blosc-zstd:1", "blosc-lz4": "blosc-lz4:1", "zstd": "zstd:1", "none": "none"}
_WRONG = re.compile("[^A-Za-z0-9_-]+")


def create_stream(settings: Any, path: str | os.PathLike[str], **options: Any) -> Any:
    """Return an `ome_writers.OMEStream` that writes an .ozx file.

    `settings`: the `ome_writers.AcquisitionSettings`: dimensions, type, compression, plate and `overwrite`; their
    `root_path` is not used.
    """
    from ome_writers import OMEStream  # noqa: PLC0415 (an extra)
    from ome_writers._router import FrameRouter  # noqa: PLC0415

    settings.validate_stream_ready()
    settings = settings.model_copy(deep=True)
    backend = OmeWritersBackend(path, **options)
    reason = backend.is_incompatible(settings)
    if reason:
        raise NotImplementedError(f"ozx does not support these settings: {reason}")
    router = FrameRouter(settings)
    backend.prepare(settings, router)
    return OMEStream(backend, router, settings)


class OmeWritersBackend:
    """A backend of ome-writers that writes an .ozx file.

    Metadata of frames becomes records: numbers and texts stay, other values become JSON. A value that a record
    cannot keep is left out with a warning; the frame itself is always written.
    """

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.result: StreamResult | None = None
        self._path, self._options = path, options
        self._stream: FrameStream | None = None
        self._positions: list[str | int] = []
        self._fields: dict[str, tuple[str, type]] = {}
        self._left_out: set[str] = set()

    def is_incompatible(self, settings: Any) -> str | Literal[False]:
        """Return the reason why ozx cannot write a file with these settings; False if ozx can write it."""
        names = [dimension.name for dimension in settings.array_storage_dimensions]
        if not set(names) <= _AXES or names[-2:] != ["y", "x"]:
            return f"expected some of the dimensions t, c and z, then y and x; got {', '.join(names)}"
        endless = [dimension.name for dimension in settings.array_storage_dimensions if dimension.count is None]
        if endless and (endless != names[:1] or endless == ["c"]):
            return f"expected a count for c and for all dimensions except the first; got none for {', '.join(endless)}"
        return False

    def prepare(self, settings: Any, router: Any) -> None:
        """Open the file for writing with these settings."""
        del router
        dimensions = settings.array_storage_dimensions
        names = [dimension.name for dimension in dimensions]
        words: dict[str, Any] = {
            "axes": names,
            "shape": [dimension.count for dimension in dimensions],
            "dtype": settings.dtype,
            "pixel_size": {one.name: one.scale for one in dimensions if one.scale is not None},
            "unit": {one.name: one.unit for one in dimensions if one.unit is not None and one.name != "c"},
            "channel_names": [
                _channel(one) for dimension in dimensions if dimension.name == "c" for one in dimension.coords or ()
            ],
            "codec": _CODECS.get(settings.compression),
            "force": settings.overwrite,
        }
        chunks = {one.name: one.chunk_size for one in dimensions if one.chunk_size is not None}
        if chunks:
            words["chunks"] = chunks
        if len(chunks) == len(names) and all(one.shard_size_chunks for one in dimensions):
            words["shards"] = {one.name: one.chunk_size * one.shard_size_chunks for one in dimensions}
        places, self._positions = _places(settings)
        self._stream = stream(self._path, **{**words, **places, **self._options})

    def write(
        self,
        position_index: int,
        index: tuple[int, ...],
        frame: NDArray[Any],
        *,
        frame_metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a frame to its place."""
        if self._stream is None:
            raise RuntimeError("expected a write after prepare() and before finalize()")
        record = None if frame_metadata is None else self._record(frame_metadata)
        position = self._positions[position_index] if self._positions else 0
        self._stream.write(frame, index, position=position, record=record)

    def advance(self, indices: Sequence[tuple[int, tuple[int, ...]]]) -> None:
        """Do nothing: missing frames become zero, and the image ends with the last received frame."""

    def finalize(self) -> None:
        """Complete the file, or remove it if no frame was received; later calls do nothing."""
        stream, self._stream = self._stream, None
        if stream is not None:
            if stream.frames:
                self.result = stream.close()
            else:
                stream.abort()

    def set_global_metadata(self, namespace: str, metadata: Mapping[str, Any]) -> None:
        """Raise an error, because an .ozx file cannot store global metadata."""
        raise NotImplementedError("ozx cannot store global metadata: write the metadata to another file")

    def get_metadata(self) -> None:
        """Return None: use `FrameStream.set_metadata` to change metadata."""

    def update_metadata(self, metadata: Any) -> None:
        """Do nothing, like other backends that do not support updates of metadata."""

    def get_arrays(self) -> Sequence[Any]:
        """Raise an error, because the file can be read only when it is complete."""
        raise NotImplementedError("open the .ozx file with ozx.open once it is complete")

    def _record(self, metadata: Mapping[str, Any]) -> dict[str, float | str]:
        record: dict[str, float | str] = {}
        for key, value in metadata.items():
            name = _WRONG.sub("_", str(key)).lstrip("_-0123456789")[:64]
            known = _known(value)
            if name and known is not None and (name.lower() in self._fields or len(self._fields) < MOST_FIELDS):
                # Names that differ only in case are one field, and all its values have one kind.
                name, kind = self._fields.setdefault(name.lower(), (name, type(known)))
                known = str(known) if kind is str else known
                if isinstance(known, kind):
                    record[name] = known
                    continue
            if key not in self._left_out:
                self._left_out.add(key)
                message = f"frame metadata {key!r} is left out, because a record cannot keep {value!r:.100}"
                warnings.warn(message, stacklevel=4)
        return record


def _known(value: Any) -> float | str | None:
    """Return the value as a number or a short text; None if that is impossible."""
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return None
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    text = text.encode(errors="replace").decode()
    return text if len(text.encode()) <= LONGEST_TEXT else None


def _channel(channel: Any) -> str | dict[str, Any]:
    if isinstance(channel, str):
        return channel
    color = None if channel.color is None else channel.color.as_hex(format="long").lstrip("#")[:6]
    return {"label": channel.name, "color": color, "emission": channel.emission_wavelength_nm}


def _places(settings: Any) -> tuple[dict[str, Any], list[str | int]]:
    """Return the arguments of `ozx.stream` for positions or a plate, and the name of each position in index order."""
    if settings.position_dimension_index is None:
        return {}, []
    positions = settings.positions
    if settings.plate is None:
        names = [
            one.name if one.grid_row is None else f"{one.name}_{one.grid_row}_{one.grid_column}" for one in positions
        ]
        return {"positions": names}, list(names)
    wells: Counter[str] = Counter()
    fields: list[str | int] = []
    for one in positions:
        well = f"{one.plate_row}/{one.plate_column}"
        fields.append(f"{well}/{wells[well]}")
        wells[well] += 1
    plate = settings.plate
    rows, columns = len(plate.row_names), len(plate.column_names)
    is_usual = list(plate.row_names) == [row_name(number) for number in range(rows)] and list(plate.column_names) == [
        str(number) for number in range(1, columns + 1)
    ]
    words: dict[str, Any] = {"plate": dict(wells), "plate_shape": (rows, columns) if is_usual else None}
    if plate.name:
        words["name"] = plate.name
    return words, fields

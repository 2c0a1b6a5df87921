"""Records of frames: numbers and texts about each frame, such as its time, stored as arrays beside the image.

::

    IMAGE/frames/zarr.json          a group
    IMAGE/frames/FIELD/zarr.json    an array with the axes of the image without y, x: float64 or string

A frame without a value has the fill value: NaN, or an empty text. A block of about a thousand frames is a chunk of each
array. The chunk is encoded when all of its frames were received, and then waits for its shard like a chunk of pixels.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import imagecodecs
import numpy as np
from numcodecs import VLenUTF8

from ozx.errors import UsageError
from ozx.images.writing.documents import group_document
from ozx.images.writing.new_array_layout import array_document
from ozx.images.writing.shard_assembly import FinishedValue, OpenShards, chunk_name
from ozx.ome.partial_hierarchy import document_key
from ozx.ome.relayout.codec_choice import CodecChoice
from ozx.streaming.open_chunks import KeptChunk, OpenChunks
from ozx.streaming.stream_images import ENDLESS
from ozx.zarr.json_reading import Document, dump_document
from ozx.zarr.keys import join_path
from ozx.zarr.layout import parse_layout, relayout_document, with_checksum

#: The name of the group beside the levels of an image.
GROUP = "frames"

Record = Mapping[str, float | str]

_FIELD = re.compile("[A-Za-z][A-Za-z0-9_-]{0,63}")
#: The largest number of fields, and of bytes in a text.
MOST_FIELDS = 256
LONGEST_TEXT = 1000
# Frames in a chunk, and chunks in a shard.
_MOST_TOGETHER = 1024
_BLOCKS_PER_SHARD = 64
_CODEC = CodecChoice("zstd", 1)
_FIELD_HINT = "Begin the name with a letter; use at most 64 letters, digits, - and _."


class FrameRecords:
    """The records of the frames of one image; thread-safe."""

    def __init__(
        self,
        path: str,
        axes: Sequence[str],
        order: Sequence[str],
        lengths: Sequence[int | None],
        store: OpenChunks,
    ) -> None:
        self._path, self._axes, self._store = join_path(path, GROUP), tuple(axes), store
        self._growing = self._axes.index(order[0]) if order else None
        self._from_order = [list(order).index(axis) for axis in axes]
        sizes = dict(zip(order, lengths, strict=True))
        self._others = tuple(sizes[axis] or 0 for axis in axes if axis != order[0])
        self._inner = math.prod(self._others)
        self._length = lengths[0] if lengths else 1
        whole = ENDLESS if self._length is None else self._length
        self._depth = min(whole, max(1, _MOST_TOGETHER // self._inner))
        self._per_shard = min(_BLOCKS_PER_SHARD, -(-whole // self._depth))
        self._kinds: dict[str, type] = {}
        self._came: dict[int, int] = {}
        # The values of incomplete blocks, by block, field, and number of the frame in the block.
        self._blocks: dict[int, dict[str, dict[int, float | str]]] = {}
        self._done: list[int] = []
        self._shards: dict[str, OpenShards] = {}
        self._lock = threading.Lock()

    def check(self, record: Mapping[str, Any]) -> dict[str, float | str]:
        """Check a record, and return its fields as numbers and texts, without the fields whose value is None."""
        if not isinstance(record, Mapping):
            raise UsageError(f'expected a record of fields by name, as in {{"time": 0.25}}; got {record!r}')
        checked = {name: _checked(name, value) for name, value in record.items() if value is not None}
        with self._lock:
            for name, value in checked.items():
                known = self._kinds.get(name, type(value))
                if known is not type(value):
                    raise UsageError(
                        f"expected {'a number' if known is float else 'a text'} for the field {name}, as in earlier "
                        f"records; got {value!r}"
                    )
            added = {name: type(value) for name, value in checked.items() if name not in self._kinds}
            if added:
                self._check_new(added)
                self._kinds |= added
        return checked

    def add(self, index: Sequence[int], record: Record | None) -> Iterator[FinishedValue]:
        """Add the record of a frame (None if it has no record); yield the chunks or shards that are now complete."""
        place = [index[number] for number in self._from_order]
        first = 0 if self._growing is None else place.pop(self._growing)
        number = first % self._depth
        for at, length in zip(place, self._others, strict=True):
            number = number * length + at
        block = first // self._depth
        finished: list[FinishedValue | None] = []
        with self._lock:
            self._came[block] = self._came.get(block, 0) + 1
            if record:
                fields = self._blocks.setdefault(block, {})
                for name, value in record.items():
                    fields.setdefault(name, {})[number] = value
                    if name not in self._shards:
                        finished += self._begin(name)
            if self._came[block] == self._capacity(block):
                finished += self._end(block)
        yield from (value for value in finished if value is not None)

    def finish(self) -> Iterator[FinishedValue]:
        """Yield the incomplete chunks or shards; call this after the last frame."""
        with self._lock:
            finished = [value for block in sorted(self._blocks) for value in self._end(block)]
        yield from (value for value in finished if value is not None)
        for shards in self._shards.values():
            yield from shards.finish()

    def kept(self) -> list[KeptChunk]:
        """Return the chunks of unfinished shards."""
        with self._lock:
            every = list(self._shards.values())
        return [chunk for shards in every for chunk in shards.kept()]

    def drafts(self) -> list[tuple[str, bytes]]:
        """Return the incomplete chunks with their names."""
        with self._lock:
            return [
                (chunk_name(join_path(self._path, name), self._place(block)), data)
                for block, found in self._blocks.items()
                for name, data in self._encode(found).items()
            ]

    def documents(self, length: int) -> dict[str, bytes]:
        """Return the ``zarr.json`` documents of the records, if any, by key, for `length` along the growing axis."""
        with self._lock:
            names = sorted(self._shards)
        if not names:
            return {}
        documents = {self._path: group_document()}
        documents |= {join_path(self._path, name): self._document(name, length) for name in names}
        return {document_key(node): dump_document(document) for node, document in documents.items()}

    def _check_new(self, names: Iterable[str]) -> None:
        known = {name.lower(): name for name in self._kinds}
        for name in names:
            other = known.setdefault(name.lower(), name)
            if other != name:
                raise UsageError(f"expected field names that differ by more than case; got {other} and {name}")
            if len(known) > MOST_FIELDS:
                raise UsageError(f"expected at most {MOST_FIELDS} fields; the field {name} is one too many")

    def _begin(self, name: str) -> list[FinishedValue | None]:
        """Begin the array of a new field; the completed blocks have no value of this field."""
        array = join_path(self._path, name)
        layout = parse_layout(self._document(name, ENDLESS if self._length is None else self._length), array)
        shards = self._shards[name] = OpenShards(layout, array, self._store.keep, self._store.part)
        return [shards.add(self._place(block), None) for block in self._done]

    def _end(self, block: int) -> list[FinishedValue | None]:
        """Encode a block after its last record."""
        self._done.append(block)
        del self._came[block]
        found = self._blocks.pop(block, None)
        chunks = {} if found is None else self._encode(found)
        return [shards.add(self._place(block), chunks.get(name)) for name, shards in self._shards.items()]

    def _capacity(self, block: int) -> int:
        """Return the number of frames in a block."""
        depth = self._depth if self._length is None else min(self._depth, self._length - block * self._depth)
        return depth * self._inner

    def _place(self, block: int) -> tuple[int, ...]:
        return tuple(block if axis == self._growing else 0 for axis in range(len(self._axes)))

    def _shape(self, length: int) -> tuple[int, ...]:
        if self._growing is None:
            return ()
        return (*self._others[: self._growing], length, *self._others[self._growing :])

    def _document(self, name: str, length: int) -> Document:
        if self._kinds[name] is str:
            kind: tuple[str, str, list[Document]] = "string", "", [{"name": "vlen-utf8"}, *_CODEC.codecs(None)]
        else:
            serializer: Document = {"name": "bytes", "configuration": {"endian": "little"}}
            kind = "float64", "NaN", [serializer, *_CODEC.codecs(8)]
        document = array_document(self._shape(length), self._axes, self._shape(self._depth), *kind)
        if self._per_shard == 1:
            return document
        return relayout_document(document, self._shape(self._per_shard * self._depth), "add")

    def _encode(self, found: Mapping[str, Mapping[int, float | str]]) -> dict[str, bytes]:
        """Return the chunk of each field; frames without a value have the fill value."""
        count = self._depth * self._inner
        turn: Any = slice(None)  # the numbers of the frames in the order of the chunk
        if self._growing:
            numbers = np.arange(count).reshape(self._depth, *self._others)
            turn = np.moveaxis(numbers, 0, self._growing).reshape(-1)
        chunks = {}
        for name, values in found.items():
            is_text = self._kinds[name] is str
            chunk = np.full(count, "", object) if is_text else np.full(count, math.nan, "<f8")
            chunk[list(values)] = list(values.values())
            plain = VLenUTF8().encode(chunk[turn]) if is_text else chunk[turn].tobytes()
            encoded = bytes(imagecodecs.zstd_encode(bytes(plain), level=_CODEC.level))
            chunks[name] = with_checksum(encoded) if self._per_shard > 1 else encoded
        return chunks


def _checked(name: object, value: object) -> float | str:
    if not isinstance(name, str) or not _FIELD.fullmatch(name):
        raise UsageError(f"expected a field name of letters and digits; got {name!r}", hint=_FIELD_HINT)
    if isinstance(value, str):
        try:
            is_long = len(value.encode()) > LONGEST_TEXT
        except UnicodeEncodeError:
            raise UsageError(f"expected Unicode in the field {name}; got half of a surrogate pair: {value!r}") from None
        if is_long:
            raise UsageError(
                f"expected at most {LONGEST_TEXT:,} bytes of text in the field {name}; got {value[:50]!r}…"
            )
        return value
    if isinstance(value, (Real, np.bool_)):
        try:
            return float(value)
        except OverflowError:
            raise UsageError(f"expected a number that fits into 64 bits in the field {name}; got {value!r}") from None
    raise UsageError(
        f"expected a number or a text in the field {name}; got {value!r}",
        hint="Write a date as text, as in 2026-01-31T12:00:00, and each item of a list as a separate field.",
    )

"""One resolution level of an image as an array that is read when it is sliced, and what reading a part of it costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from numpy.typing import NDArray

from ozx.errors import FormatError, OzxError, ResourceError, UnsupportedError
from ozx.extras import needed
from ozx.ome.images import level_factor

if TYPE_CHECKING:
    import dask.array

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

    def to_dask(self) -> dask.array.Array:
        """Return a dask array, which reads `blocks` when they are computed."""
        with needed("dask", "reading an image block by block"):
            import dask.array  # noqa: PLC0415 (an optional package)
        # A random name avoids a hash over the file, and stale blocks in a cache after it is opened again. With the
        # type in `meta`, dask does not slice to determine it.
        meta = np.empty((0,) * self.ndim, self.dtype)
        make: Any = dask.array.from_array  # dask does not type it
        found: dask.array.Array = make(self, self.blocks, name=False, fancy=False, inline_array=True, meta=meta)
        return found

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


def factor_between(full: Level, level: Level, axis: int) -> float:
    """Return by which factor a level is smaller than the full resolution along an axis: by its scale, or its lengths.

    Lengths are rounded: 127 pixels that are eight times as large as 1,023 pixels are not 8.06 times as large.
    """
    whole, length = full.shape[axis], level.shape[axis]
    if full.scale is not None and level.scale is not None and full.scale[axis]:
        ratio = level.scale[axis] / full.scale[axis]
        near = round(ratio)
        if near >= 1 and abs(ratio - near) < near / 1000 and (length - 1) * near < whole:
            return near
    return level_factor(whole, length)


# The cost of reading a part of an array, estimated before it is read.


@dataclass(frozen=True, slots=True)
class Price:
    """The cost of a read: the number of chunks to decode, their total decoded size, and one chunk's decoded size."""

    chunks: int
    decoded: int
    chunk: int

    def __str__(self) -> str:
        return f"{_amount(self.chunks)} chunks, which decode to {_size(self.decoded)}"

    def __add__(self, other: Price) -> Price:
        return Price(self.chunks + other.chunks, self.decoded + other.decoded, max(self.chunk, other.chunk))


def price_of(array: zarr.Array[Any], index: Sequence[slice | int]) -> Price:
    """Return the cost of reading a part of an array; for a sharded array, inner chunks are counted.

    `index` has one slice or number per dimension, steps positive.
    """
    met = 1
    for part, length, chunk in zip(index, array.shape, array.chunks, strict=True):
        if isinstance(part, slice):
            found = range(*part.indices(length))
            # len() of a range is at most sys.maxsize.
            count = -(-(found.stop - found.start) // found.step) if found.stop > found.start else 0
            last = found.start + (count - 1) * found.step
            met *= min(count, last // chunk - found.start // chunk + 1) if count else 0
    size = math.prod(array.chunks) * np.dtype(array.dtype).itemsize
    return Price(met, met * size, size)


def check_price(price: Price, most: Price, what: str, hint: str) -> None:
    """Raise an error if a read costs more than is allowed."""
    if price.chunks > most.chunks or price.decoded > most.decoded or price.chunk > most.chunk:
        raise UnsupportedError(
            f"{what} would read {price} ({_size(price.chunk)} each); expected at most {_amount(most.chunks)} chunks, "
            f"which decode to at most {_size(most.decoded)} ({_size(most.chunk)} each)",
            hint=hint,
        )


def _amount(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{number:.1e}"


def _size(number: int) -> str:
    for unit, factor in (("EB", 10**18), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if number >= factor:
            return f"{number / factor:,.1f} {unit}" if number < 10**24 else f"{number:.1e} bytes"
    return f"{number:,} bytes"

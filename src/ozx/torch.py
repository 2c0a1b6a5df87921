"""Random crops for training: a map-style and an iterable dataset of PyTorch, and iterators for other libraries.

Without torch, crops are NumPy arrays; nothing else changes.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from multiprocessing import RawValue
from multiprocessing.context import get_spawning_popen
from numbers import Real
from typing import Any

from ozx.calls import public_call
from ozx.errors import UsageError
from ozx.images.crops import Crop, CropSource, Spot, shuffled
from ozx.ome.subset.region import ChannelsLike
from ozx.places.place import StrPath

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment, unused-ignore]

# A stream mixes the crops of so many shards, because neighbours resemble each other,
_MIXED_SHARDS = 4
# and holds so many bytes of crops of each; for further ones, it reads the shard again.
_MOST_BYTES = 1 << 26


class CropDataset:
    """Random crops of images, by number: a map-style dataset for `torch.utils.data.DataLoader`.

    ``dataset[number]`` is a tensor (c, y, x) or (c, z, y, x) with the image's type; with `labels`, a tuple of it and a
    tensor (y, x) or (z, y, x) for each label image. Without torch, they are NumPy arrays. First an image is drawn, each
    equally likely, then a place in it: also the time, and the plane if `size` has no z.

    A crop follows from `seed`, the epoch and its number alone, so that all workers and computers make the same. A
    `DataLoader` need not shuffle the numbers; it asks for whole batches, and crops of one image are read together.

    Parameters
    ----------
    sources
        A path, a URL or a pattern (``train/**/*.ozx``, ``s3://bucket/train/*.ozx``), or a list of them. All fields of a
        plate and all images of a series are used.
    size
        The crop's lengths (y, x) or (z, y, x) in pixels; one number is that of y and of x.
    crops
        The number of crops in an epoch.
    channels
        Names or numbers of the channels, in the order of the result; without it, all.
    level, pixel_size
        The resolution level, as for `Image.read`.
    labels
        Names of label images to read with each crop; one name is one. One without z, or of one plane, holds for all
        planes.
    where
        The name of a label image in which the centre of each crop is to lie; or the least mean intensity of a crop, as
        a coarse level has it. Places are drawn until one is so, at most a thousand for a crop.
    seed
        A number from 0 to 2⁶⁴ - 1.
    options
        For URLs: settings of the object store, as for `ozx.open_image`.

    Raises
    ------
    UsageError
        No file matches; or an image is smaller than a crop, or lacks an axis, channel, level or label image.
        Of a plate or series, the first image is looked at here, others when they are drawn.
    FormatError, UnsupportedError, ResourceError
        As for `ozx.open_image`; later, a crop also raises `FileNotFoundError` if its file vanished, and `UsageError` if
        a thousand places were not as `where` demands.

    Examples
    --------
    >>> from ozx.torch import CropDataset
    >>> dataset = CropDataset("cells.ozx", 64, crops=10, labels="cells", where="cells", seed=1)
    >>> image, cells = dataset[0]
    >>> tuple(image.shape), tuple(cells.shape), int(cells[32, 32]) > 0
    ((2, 64, 64), (64, 64), True)
    >>> dataset.crop(0).region
    {'y': (85, 149), 'x': (16, 80)}
    """

    @public_call()
    def __init__(
        self,
        sources: StrPath | Sequence[StrPath],
        size: int | Sequence[int],
        *,
        crops: int = 1000,
        channels: ChannelsLike | None = None,
        level: int | None = None,
        pixel_size: float | None = None,
        labels: str | Sequence[str] = (),
        where: str | float | None = None,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        lengths = tuple(size) if isinstance(size, Iterable) else (size, size)
        if len(lengths) not in (2, 3):
            raise UsageError(f"expected a size (y, x) or (z, y, x); got {size!r:.100}")
        is_number = isinstance(where, Real) and not isinstance(where, bool) and -math.inf < where < math.inf
        if not (where is None or isinstance(where, str) or is_number):
            raise UsageError(f"expected where= as the name of a label image or a finite number; got {where!r:.100}")
        names = (labels,) if isinstance(labels, str) else tuple(labels) if isinstance(labels, Iterable) else (labels,)
        if not all(isinstance(name, str) for name in names):
            raise UsageError(f"expected names of label images; got {labels!r:.100}")
        wanted = tuple(_whole("a length of crops", length, 1) for length in lengths)
        self.seed, self.count = _whole("seed", seed, 0, 1 << 64), _whole("a number of crops", crops, 1)
        self.source = CropSource(sources, wanted, channels, level, pixel_size, names, where, options)
        # In shared memory, because workers that persist keep the dataset as it was at their start.
        self._epoch = RawValue("q", 0)
        self._skipped = 0  # crops of the epoch that were used before

    def __getstate__(self) -> dict[str, Any]:
        # Only a process that starts can be given shared memory.
        return self.__dict__ if get_spawning_popen() is not None else {**self.__dict__, "_epoch": self.epoch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self._epoch, int):
            self._epoch = RawValue("q", self._epoch)

    @property
    def epoch(self) -> int:
        """The number of the epoch."""
        return int(self._epoch.value)

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, each of which has other crops; workers that persist see it, too.

        Parameters
        ----------
        epoch
            Its number, from 0 on.
        """
        self._epoch.value = _whole("an epoch", epoch, 0, 1 << 63)
        self._skipped = 0

    def __len__(self) -> int:
        return self.count - self._skipped

    def __getitem__(self, number: int) -> Any:
        return self.__getitems__([number])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        """Return several crops, as a `DataLoader` asks for them."""
        return _samples(self.source, [self._spot(number) for number in numbers])

    def crop(self, number: int) -> Crop:
        """Return the place of a crop, which `ozx.read` reads, too.

        Parameters
        ----------
        number
            As in ``dataset[number]``.
        """
        return self.source.describe(self._spot(number))

    def state_dict(self, used: int = 0) -> dict[str, Any]:
        """Return the state from which a training goes on with `load_state_dict`.

        Parameters
        ----------
        used
            How many crops it has used: the number of batches since the epoch began or went on, times their size. The
            last batch may have fewer.

        Raises
        ------
        UsageError
            `used` is no whole number from 0 on.
        """
        all_used = min(self.count, self._skipped + _whole("a number of used crops", used, 0))
        return {"seed": self.seed, "crops": self.count, "epoch": self.epoch, "used": all_used}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on in the middle of an epoch: the numbers begin with 0 after the last used crop.

        Parameters
        ----------
        state
            The result of `state_dict`, of a dataset with the same arguments.

        Raises
        ------
        UsageError
            The seed or the number of crops differs, or it is no state.
        """
        used = _used_crops(state, {"seed": self.seed, "crops": self.count})
        self.set_epoch(state["epoch"])
        self._skipped = min(self.count, used)

    def _spot(self, number: int) -> Spot:
        number = operator.index(number)
        if not -len(self) <= number < len(self):
            raise IndexError(f"expected a number below {len(self)}; got {number}")
        return self.source.draw((self.seed, self.epoch), self._skipped + number % len(self))


class CropStream:
    """Random crops of images, shard by shard: an iterable dataset for `torch.utils.data.DataLoader`, or an iterator.

    The shards of all images come in random order, and each is read once: its crops lie within it, and are mixed with
    those of a few others. So a disk or server reads each byte once. Workers of a `DataLoader` share the shards; ranks
    share the crops, each as many as another. However many there are, they make the same crops together.

    Parameters
    ----------
    dataset
        The images, and what crops are like. A shard without a crop as `where` demands gives way to another.
    rank, ranks
        The number of this process among those that train together, and how many there are; without them, those of
        `torch.distributed`, if it is initialised by now.

    Raises
    ------
    UsageError
        There are fewer crops than ranks, or only one of `rank` and `ranks` is given.

    Examples
    --------
    >>> from ozx.torch import CropDataset, CropStream
    >>> stream = CropStream(CropDataset("cells.ozx", 64, crops=3, channels="Nuclei"))
    >>> [tuple(image.shape) for image in stream]
    [(1, 64, 64), (1, 64, 64), (1, 64, 64)]
    """

    def __init__(self, dataset: CropDataset, rank: int | None = None, ranks: int | None = None) -> None:
        if not isinstance(dataset, CropDataset):
            raise UsageError(f"expected a CropDataset; got {dataset!r:.100}")
        if (rank is None) != (ranks is None):
            raise UsageError(f"expected rank and ranks; got only {'rank' if ranks is None else 'ranks'}")
        distributed = torch.distributed if torch is not None and torch.distributed.is_available() else None
        if rank is None and distributed is not None and distributed.is_initialized():
            rank, ranks = distributed.get_rank(), distributed.get_world_size()
        self.dataset = dataset
        self.ranks = _whole("a number of ranks", 1 if ranks is None else ranks, 1, dataset.count + 1)
        self.rank = _whole("a rank", 0 if rank is None else rank, 0, self.ranks)
        self._before = dataset.source.block_counts()
        self._used = dataset.epoch, 0  # an epoch, and how many of its crops
        self._goes_on = False

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, as `CropDataset.set_epoch` does.

        Parameters
        ----------
        epoch
            Its number, from 0 on.
        """
        self.dataset.set_epoch(epoch)
        self._used = epoch, 0

    def __len__(self) -> int:
        return self.dataset.count // self.ranks

    def __iter__(self) -> Iterator[Any]:
        source, key = self.dataset.source, (self.dataset.seed, self.dataset.epoch)
        order = shuffled(key, 0, self._before[-1])
        skipped = used = self._used_crops() if self._goes_on else 0
        self._used, self._goes_on = (key[1], used), False
        for shards in self._shards(len(order)):
            numbers = [number for _, crops in shards for number in crops]
            mixed = [numbers[at] for at in shuffled(key, 1 + numbers[0], len(numbers))]
            wanted, skipped = set(mixed[skipped:]), max(0, skipped - len(mixed))
            samples: dict[int, Any] = {}
            for shard, crops in shards:
                image = bisect_right(self._before, order[shard]) - 1
                block = image, source.view(image).block(order[shard] - self._before[image])
                kept = [number for number in crops if number in wanted]
                spots = [source.draw(key, number, block) for number in kept]
                samples.update(zip(kept, _samples(source, spots), strict=True))
            for number in mixed:
                if number in samples:
                    used += 1
                    self._used = key[1], used
                    yield samples.pop(number)

    def state_dict(self) -> dict[str, Any]:
        """Return the state after the last crop of this process.

        The `StatefulDataLoader` of torchdata collects those of its workers.
        """
        return {**self._identity(), "epoch": self.dataset.epoch, "used": self._used_crops()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was taken.

        Parameters
        ----------
        state
            The result of `state_dict`, of the same worker of a stream with the same arguments.

        Raises
        ------
        UsageError
            It is that of another stream or worker, or no state.
        """
        used = _used_crops(state, self._identity())
        self.set_epoch(state["epoch"])
        self._used, self._goes_on = (state["epoch"], used), True

    def _used_crops(self) -> int:
        """Return how many crops of the dataset's epoch were used; the dataset may have begun another by itself."""
        return self._used[1] if self._used[0] == self.dataset.epoch else 0

    def _identity(self) -> dict[str, Any]:
        worker, workers = _worker()
        whose = {"seed": self.dataset.seed, "crops": self.dataset.count, "rank": self.rank, "ranks": self.ranks}
        return {**whose, "worker": worker, "workers": workers}

    def _shards(self, total: int) -> Iterator[list[tuple[int, range]]]:
        """Yield a few shards of this worker at a time, each with the numbers of crops in it."""
        (worker, workers), count = _worker(), self.dataset.count
        first, last = self.rank * len(self), (self.rank + 1) * len(self)
        used = min(count, total)
        run = max(1, _MOST_BYTES // self.dataset.source.view(0).crop_size)
        mixed: list[tuple[int, range]] = []
        for shard in range(first * used // count, (last - 1) * used // count + 1):
            if shard % workers == worker:
                start, stop = max(first, -(-shard * count // used)), min(last, -(-(shard + 1) * count // used))
                mixed += [(shard, range(at, min(at + run, stop))) for at in range(start, stop, run)]
            while len(mixed) >= _MIXED_SHARDS:
                yield mixed[:_MIXED_SHARDS]
                del mixed[:_MIXED_SHARDS]
        if mixed:
            yield mixed


if torch is not None:  # DataLoader asks whether a dataset is one
    torch.utils.data.IterableDataset.register(CropStream)


def _samples(source: CropSource, spots: Sequence[Spot]) -> list[Any]:
    """Return crops as datasets give them."""
    give = (lambda pixels: pixels) if torch is None else torch.from_numpy
    return [give(sample[0]) if len(sample) == 1 else tuple(map(give, sample)) for sample in source.read(spots)]


def _used_crops(state: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    """Return how many crops a state has used; raise `UsageError` if it is no state, or that of another dataset."""
    known = state if isinstance(state, Mapping) and {"epoch", "used"} <= state.keys() else {}
    if {name: known.get(name) for name in own} != own:
        raise UsageError(f"expected the state of a dataset with {own}; got {state!r:.300}")
    return _whole("a number of used crops", state["used"], 0)


def _worker() -> tuple[int, int]:
    """Return the number of this worker of a `DataLoader`, and how many there are."""
    info = None if torch is None else torch.utils.data.get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)


def _whole(what: str, number: Any, least: int, end: int | None = None) -> int:
    """Return a whole number from `least` on and below `end`."""
    is_whole = hasattr(number, "__index__") and not isinstance(number, bool)
    if not is_whole or number < least or (end is not None and number >= end):
        upper = "" if end is None else f", at most {end - 1}"
        raise UsageError(f"expected {what} as a whole number, at least {least}{upper}; got {number!r:.100}")
    return operator.index(number)

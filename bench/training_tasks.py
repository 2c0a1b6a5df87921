"""Tasks of training: ozx, zarr-python and tensorstore give a `DataLoader` the same crops, which are compared.

`soak` reads many crops in every way to start workers, and kills some of these.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from worker import Repeated

SIDE, BATCH = 256, 16
#: Crops that are timed; ZipStore reads two whole shards for each.
COUNTS = {"zip": 32}
_COUNT = 1024
_FAR_COUNT = 256
_ROUND = 12_500


class Peer:
    """A map-style dataset that reads the crops of `CropDataset` by another program, which each worker opens."""

    def __init__(self, way: str, path: str, regions: Sequence[tuple[slice, ...]]) -> None:
        self.way, self.path, self.regions, self.array = way, path, regions, None

    def __len__(self) -> int:
        return len(self.regions)

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        import torch

        if self.array is None:
            self.array = _opened(self.way, self.path)
        if self.way == "tensorstore":  # all at the same time
            waiting = [self.array[self.regions[number]].read() for number in numbers]
            return [torch.from_numpy(each.result()) for each in waiting]
        return [torch.from_numpy(self.array[self.regions[number]]) for number in numbers]


def _opened(way: str, path: str) -> Any:
    import zarr
    from zarr.storage import LocalStore, ZipStore

    if way == "tensorstore":
        import tensorstore

        place: Any = f"{path}/0/" if "://" in path else {"driver": "file", "path": f"{path}/0/"}
        return tensorstore.open({"driver": "zarr3", "kvstore": place}, open=True, read=True).result()
    if way == "obstore":
        from obstore.store import HTTPStore
        from zarr.storage import ObjectStore

        store: Any = ObjectStore(HTTPStore.from_url(path, client_options={"allow_http": True}), read_only=True)
    else:
        store = ZipStore(path, mode="r") if way == "zip" else LocalStore(path, read_only=True)
    return zarr.open_array(store, path="0", mode="r")


def crops(way: str, path: str, plain: str, workers: str) -> Repeated:
    """Return the task of loading batches of crops by workers that have begun."""
    import zarr
    from torch.utils.data import DataLoader

    from ozx.torch import CropDataset

    count = COUNTS.get(way, _FAR_COUNT if "://" in path else _COUNT)
    batch = min(BATCH, count // 16)
    warm = 3 * int(workers) * batch  # what workers have loaded ahead when the time begins
    near = CropDataset(plain, SIDE, crops=count + warm)
    regions = [
        (slice(None), *(slice(*near.crop(number).region[axis]) for axis in "yx")) for number in range(count + warm)
    ]
    dataset: Any = CropDataset(path, SIDE, crops=count + warm) if way == "ozx" else Peer(way, path, regions)
    batches = iter(DataLoader(dataset, batch_size=batch, num_workers=int(workers), multiprocessing_context="fork"))
    for _ in range(3 * int(workers)):
        next(batches)

    def verify(found: list[Any]) -> None:
        pixels = zarr.open_array(f"{plain}/0", mode="r")[...]
        loaded = [crop for each in found for crop in each.numpy()]
        assert len(loaded) == count
        for region, crop in zip(regions[warm:], loaded, strict=True):
            assert np.array_equal(crop, pixels[region]), region

    return Repeated(lambda: list(batches), verify, count)


def soak(count: int, folder: Path) -> None:
    """Load crops by processes of every start method, some of which are killed, and by threads; compare all of them."""
    import zarr

    plain = datasets.make_training(folder, quick=True)
    pixels, done, begun = zarr.open_array(f"{plain}/0", mode="r")[...], Counter[str](), time.perf_counter()
    ways = ["threads", *(f"{start}{kill}" for start in ("fork", "spawn", "forkserver") for kill in ("", ", killed"))]
    epoch = 0
    while sum(done[way] for way in ways) < count:
        way = ways[epoch % len(ways)]
        wrong = _round(way, str(datasets.archive_of(plain)), pixels, epoch)
        done.update({way: _ROUND, "wrong": wrong})
        epoch += 1
        print(
            f"{sum(done[way] for way in ways):,} crops, {time.perf_counter() - begun:.0f} s: {dict(done)}", flush=True
        )


def _round(way: str, path: str, pixels: Any, epoch: int) -> int:
    """Load `_ROUND` crops; return how many are wrong. A failed loader raises its error, unless a worker was killed."""
    from torch.utils.data import DataLoader

    from ozx.torch import CropDataset, CropStream

    dataset = CropDataset(path, 64, crops=_ROUND, seed=7)
    dataset.set_epoch(epoch)
    regions = [dataset.crop(number).region for number in range(_ROUND)]
    expected = [pixels[:, slice(*region["y"]), slice(*region["x"])] for region in regions]
    if way == "threads":
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(dataset.__getitem__, range(_ROUND)))
        assert len(list(CropStream(dataset))) == _ROUND
        return sum(not np.array_equal(crop, right) for crop, right in zip(found, expected, strict=True))
    start, _, kill = way.partition(", ")
    used, deaths = [], 1 if kill else 0
    while len(used) < _ROUND:
        batches = iter(DataLoader(dataset, BATCH, num_workers=2, multiprocessing_context=start))
        try:
            for number, batch in enumerate(batches):
                used += list(batch.numpy())
                if deaths and number == random.Random(epoch).randrange(_ROUND // BATCH // 2):
                    deaths -= 1
                    worker = multiprocessing.active_children()[0]
                    os.kill(worker.pid or 0, signal.SIGKILL)
                    worker.join()
        except (RuntimeError, OSError, EOFError):
            if not kill or deaths:
                raise
            dataset.load_state_dict(dataset.state_dict(len(used) - (_ROUND - len(dataset))))
    return sum(not np.array_equal(crop, right) for crop, right in zip(used, expected, strict=True))

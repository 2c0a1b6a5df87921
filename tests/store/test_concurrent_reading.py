"""Eight threads in each of four processes read one file at random: every byte is right."""

import concurrent.futures
import multiprocessing
import os
import random
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import zarr
from stores import join_all, part_of, pattern, put, start_all, take
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

from ozx import OzxStore

SECONDS = float(os.environ.get("OZX_READING_SECONDS", "60"))
THREADS, PROCESSES = 8, 4
SIDE, SHARD, INNER = 512, 256, 32
KEYS = 200


def pixels():
    return np.arange(SIDE * SIDE, dtype="uint32").reshape(SIDE, SIDE) * np.uint32(2_654_435_761)


def plain(number):
    return pattern(number, 100 + number * 37)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("reading") / "a.ozx"
    with OzxStore(path, "w", sync=False) as store:
        group = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        square = {"shape": (SIDE, SIDE), "dtype": "uint32"}
        for name, codecs in (("raw", None), ("packed", "auto")):
            layout = {"shards": (SHARD, SHARD), "chunks": (INNER, INNER), "compressors": codecs}
            group.create_array(name, **square, **layout)[:] = pixels()
        group.create_array("chunks", **square, chunks=(64, 64))[:] = pixels()
        for number in range(KEYS):
            put(store, f"plain/{number}", plain(number))
    return path


def read_something(store, group, expected, moments):
    """Read one thing in one of the ways there are; tell whether it is what was written."""
    if moments.random() < 0.3:
        y, x = moments.randrange(SIDE), moments.randrange(SIDE)
        height, width = moments.choice([(1, 1), (INNER, INNER), (40, 70), (SHARD, 3)])
        name = moments.choice(["raw", "packed", "chunks"])
        return (group[name][y : y + height, x : x + width] == expected[y : y + height, x : x + width]).all()
    number = moments.randrange(KEYS)
    value = plain(number)
    start, stop = sorted((moments.randrange(len(value)), moments.randrange(len(value) + 50)))
    parts = (RangeByteRequest(start, stop), OffsetByteRequest(start), SuffixByteRequest(stop + 1))
    wanted = moments.choice([None, *parts])
    return take(store, f"plain/{number}", wanted) == part_of(value, wanted)


def read_for(store, seconds, seed):
    """Read by eight threads for some seconds; return how many reads were right, and what was not."""
    warnings.simplefilter("ignore")
    group, expected = zarr.open_group(store, mode="r"), pixels()
    counts, wrong = [0] * THREADS, []
    end = time.monotonic() + seconds

    def work(number):
        moments = random.Random(seed * 100 + number)
        while time.monotonic() < end and not wrong:
            try:
                is_right = read_something(store, group, expected, moments)
            except Exception as error:  # noqa: BLE001
                wrong.append(repr(error))
            else:
                counts[number] += 1
                if not is_right:
                    wrong.append("other bytes")

    join_all(start_all(work, range(THREADS)))
    return sum(counts), wrong


def read_by_processes(store, method, seconds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads, Python 3.12
        with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context(method)) as pool:
            results = [pool.submit(read_for, store, seconds, seed) for seed in range(PROCESSES)]
            return [result.result() for result in concurrent.futures.as_completed(results)]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("method", "used", "seconds", "least"),
    [
        ("fork", True, 0.5, 10),
        ("fork", False, 0.5, 10),
        ("spawn", True, 0.5, 10),
        ("fork", False, SECONDS, 100 * SECONDS),
    ],
)
def test_threads_of_several_processes_read_the_right_bytes(path, method, used, seconds, least):
    if method not in multiprocessing.get_all_start_methods():
        method = "spawn"
    store = OzxStore(path)
    if used:  # children inherit, or are sent, a store that has a file open
        assert read_for(store, 0.1, 99)[1] == []
    results = read_by_processes(store, method, seconds)
    assert [wrong for _, wrong in results] == [[]] * PROCESSES
    assert min(count for count, _ in results) > least

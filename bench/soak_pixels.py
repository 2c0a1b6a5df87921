"""Readers and writers of pixels for `soak.py`: one process, whose threads all use the codec pipeline."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import ozx

SHAPE = (6, 300, 400)
LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"chunks": (1, 64, 64), "compressors": None},
    "packed": {"chunks": (2, 50, 64)},
    "sharded": {"chunks": (1, 32, 32), "shards": (2, 128, 128)},
}
WRITERS = 2


def expected(selection: tuple[Any, ...]) -> Any:
    """Return the pixels of a selection; the value of each pixel depends only on its position."""
    axes = [np.arange(length)[part] for length, part in zip(SHAPE, selection, strict=True)]
    z, y, x = np.ix_(*axes)
    return ((z * 7919 + y * 131 + x * 17) % 65_521).astype("u2")


def write_image(path: Path) -> Path:
    """Write an archive with one array of each layout, and return its path."""
    with ozx.OzxStore(path, "w", sync=False) as store:
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        for name, layout in LAYOUTS.items():
            root.create_array(name, shape=SHAPE, dtype="u2", **layout)[:] = expected((slice(None),) * 3)
    return path


def use(path: str, seconds: float, seed: int, threads: int) -> None:
    """Read pixels of one file and write files, in threads, for `seconds`; print the counts and the faults."""
    ozx.use_pipeline()
    group = ozx.open(path)
    end, counts, wrong = time.monotonic() + seconds, [0] * threads, []

    def work(thread: int) -> None:
        rng, own = random.Random(f"{seed}/pixels/{thread}"), Path(path).with_name(f"{seed}-{thread}.ozx")
        try:
            while time.monotonic() < end:
                wrong.extend(_write(own, rng) if thread < WRITERS else _read(group, rng))
                counts[thread] += 1
        except Exception as error:  # noqa: BLE001 (each is a finding)
            wrong.append(f"{type(error).__name__}: {error}")

    running = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    print(json.dumps({"requests": sum(counts[WRITERS:]), "files": sum(counts[:WRITERS]), "wrong": wrong[:20]}))


def _read(group: zarr.Group, rng: random.Random) -> list[str]:
    """Read a box, or planes and columns of some rows; return the fault, if the pixels are wrong."""
    name, box = rng.choice(list(LAYOUTS)), _box(rng)
    if rng.random() < 0.2:
        box = (box[0], sorted(rng.sample(range(SHAPE[1]), 5)), box[2])
    return [] if np.array_equal(group[name].oindex[box], expected(box)) else [f"{name} {box}"]


def _write(own: Path, rng: random.Random) -> list[str]:
    """Write boxes of pixels to a file, read them back, and remove the file; return the wrong boxes."""
    name, boxes = rng.choice(list(LAYOUTS)), [_box(rng) for _ in range(4)]
    with ozx.OzxStore(own, "w", sync=False) as store:
        root = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        array = root.create_array("0", shape=SHAPE, dtype="u2", **LAYOUTS[name])
        for box in boxes:
            array[box] = expected(box)
    written = ozx.open(own)["0"]
    wrong = [f"{name} {box} as written" for box in boxes if not np.array_equal(written[box], expected(box))]
    own.unlink()
    return wrong


def _box(rng: random.Random) -> tuple[slice, ...]:
    corners = [sorted(rng.sample(range(length + 1), 2)) for length in SHAPE]
    return tuple(slice(*pair) for pair in corners)

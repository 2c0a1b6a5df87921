"""Benchmark of streaming frames to a file, against acquire-zarr and ome-writers with equal layouts and codecs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from figures import Row, Table
from measuring import Group, in_worker, remove, take_turns
from streaming_tasks import CHUNK, DEPTH, SIDE

_ROUNDS = 3
_MEMORY = Path("/dev/shm")
_KINDS = {
    ("plain", "none"): ("no compression", 1.0),
    ("plain", "levels"): ("no compression, with a pyramid", 1.3),
    ("lz4", "none"): ("lz4", 1.0),
    ("lz4", "levels"): ("lz4, with a pyramid", 1.3),
}


def bench_stream(folder: Path, *, quick: bool, rounds: int) -> Iterator[Table]:
    count, rounds = (DEPTH + 3, 1) if quick else (512, min(rounds, _ROUNDS))
    size = count * SIDE * SIDE * 2
    for place, where in ((folder, "on disk"), (_MEMORY, "in memory (tmpfs)")):
        if not place.is_dir() or (quick and place is _MEMORY):
            continue
        for (codec, levels), (said, ratio) in _KINDS.items():
            out = str(place / "ozx-bench-streamed")
            measures = {"ozx.stream": in_worker("streaming_tasks.ozx_stream", out, str(count), codec, levels)}
            if find_spec("acquire_zarr"):
                task = "streaming_tasks.acquire_stream"
                measures["acquire-zarr"] = in_worker(task, out, str(count), codec, levels)
            if find_spec("ome_writers") and levels == "none":
                for backend in ("tensorstore", "acquire-zarr"):
                    task = "streaming_tasks.ome_writers_stream"
                    measures[f"ome-writers, {backend}"] = in_worker(task, out, str(count), codec, backend)
            rows: list[Row] = take_turns(measures, out, rounds)
            remove(out)
            title = f"stream {count} frames of {SIDE} × {SIDE} (uint16), {said}, {where}"
            note = f"Shards of {DEPTH} frames, chunks of {CHUNK} × {CHUNK}; every frame is compared after closing; "
            note += f"{rounds} rounds."
            goal = f"≥ {ratio} × acquire-zarr's rate; memory ≤ 300 MB"
            wanted = {"acquire-zarr": ratio} if len(rows) > 1 else {}
            yield Table(title, rows, goal, bytes=size, show_memory=True, wanted_ratios=wanted, note=note)


GROUPS = {"stream": Group(bench_stream, ("zarr", "acquire-zarr", "ome-writers", "tensorstore"))}

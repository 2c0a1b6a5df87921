"""Read 18 layouts of pixels by ozx and its peers: ``python bench/layouts.py FOLDER [--fused PYTHON] [--json FILE]``.

The layouts are raw, zstd and blosc chunks of 64², 256² and 1024² pixels, in shards or not. The peers take turns within
each round, in any order and in one process, and read the same selections; all pixels are compared. Each cell is the
median time divided by that of tensorstore on the directory. ``--fused`` adds the newest pipeline of zarr-python, of a
Python with zarr ≥ 3.4 and tensorstore, which times both in turns and gives their ratio. ``--write`` writes nine of
these layouts instead.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SIDES = (64, 256, 1024)
SHAPE = (8, 2048, 2048)
BASE = "tensorstore"  # the peer that the others are divided by; it reads the directory
# The wanted geometric mean; the largest ratio of a layout; the largest ratio of a layout with chunks of 64².
WANTED = {
    "chunk": (0.5, 0.9, 0.9),
    "window": (0.8, 1.1, 1.4),
    "plane": (1.0, 1.3, 2.0),
    "whole": (1.0, 1.3, 2.0),
    "strided": (None, 1.3, 1.3),
    "threads": (None, 1.3, 1.3),
    "write": (1.0, 1.3, 1.3),
}
TASKS = ("chunk", "window", "plane", "whole", "strided", "threads", "cold plane")
# The least number of rounds, and the time to spend on each task of a layout, in seconds.
ROUNDS, SECONDS = 9, 1.0
_THREADS = 8
# Reads of a peer in its turn, as a program reads many, after each other or in threads.
_IN_A_ROW = {"chunk": 10, "window": 10, "threads": 64}

Selection = tuple[Any, ...]
Reader = Callable[[Selection], Any]


def image() -> Any:
    """Return the pixels: a gradient with noise of six bits."""
    random = np.random.default_rng(0)
    y, x = np.ogrid[: SHAPE[1], : SHAPE[2]]
    planes = [(y + x + 7 * z) % 3000 + random.integers(0, 64, SHAPE[1:]) for z in range(SHAPE[0])]
    return np.stack(planes).astype("u2")


def make_layouts(folder: Path, pixels: Any) -> Iterator[tuple[str, int]]:
    """Write each layout as a directory and an archive unless it exists; yield its name and the side of its chunks."""
    for codec in ("raw", "zstd", "blosc"):
        for side in SIDES:
            for kind in ("chunk", "shard"):
                name = f"{codec}-{side}-{kind}"
                if not (folder / f"{name}.ozx").exists():
                    _make(folder / name, pixels, codec, side, kind)
                yield name, side


def _make(path: Path, pixels: Any, codec: str, side: int, kind: str) -> None:
    import zarr

    import ozx

    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0, 1.0]}]}]
    ome = {
        "version": "0.5",
        "multiscales": [{"axes": [{"name": n, "type": "space"} for n in "zyx"], "datasets": datasets}],
    }
    group = zarr.open_group(f"{path}.zarr", mode="w", zarr_format=3, attributes={"ome": ome})
    length = max(side, 1024)
    array = group.create_array(
        "0",
        shape=SHAPE,
        dtype="u2",
        chunks=(1, side, side),
        shards=(1, length, length) if kind == "shard" else None,
        compressors=_codecs(codec),
        dimension_names=list("zyx"),
    )
    array[:] = pixels
    ozx.pack(f"{path}.zarr", f"{path}.ozx", sync=False, force=True)


def _codecs(codec: str) -> Any:
    from zarr.codecs import BloscCodec, ZstdCodec

    blosc = BloscCodec(cname="lz4", clevel=3, shuffle="shuffle")
    return {"raw": None, "zstd": ZstdCodec(level=1), "blosc": blosc}[codec]


def open_ozx(path: str) -> Reader:
    import ozx

    return ozx.open_array(f"{path}.ozx", "0").__getitem__


def open_tensorstore(path: str) -> Reader:
    import tensorstore

    spec = {"driver": "zarr3", "kvstore": f"file://{os.path.abspath(path)}.zarr/0/"}
    array = tensorstore.open({**spec, "context": {"cache_pool": {"total_bytes_limit": 0}}}).result()
    return lambda selection: array[selection].read().result()


def open_zarrista(path: str) -> Reader:
    from zarrista import Array
    from zarrista.store import FilesystemStore

    array = Array.open(FilesystemStore(f"{path}.zarr"), "/0")
    return lambda selection: np.asarray(array.retrieve_array_subset(selection)).reshape(-1)


def open_zarr(path: str, *, fused: bool = False) -> Reader:
    import zarr

    if fused:
        zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"})
    return zarr.open_array(f"{path}.zarr", path="0", mode="r").__getitem__


PEERS: dict[str, Callable[[str], Reader]] = {
    "ozx": open_ozx,
    BASE: open_tensorstore,
    "zarrista": open_zarrista,
    "zarr": open_zarr,
}


def selections(task: str, side: int, random: Any) -> Selection:
    """Return the next selection of a task."""
    z = int(random.integers(SHAPE[0]))
    if task == "whole":
        return (slice(None),)
    if task == "plane":
        return (z,)
    if task == "strided":
        return (z, slice(None, None, 4), slice(None, None, 4))
    length, step = (side, side) if task == "chunk" else (256, 1)
    corner = random.integers(0, SHAPE[1] - length + 1, 2) // step * step
    return (z, *(slice(int(first), int(first) + length) for first in corner))


def measure(task: str, side: int, readers: dict[str, Reader], pixels: Any) -> dict[str, float]:
    """Return the median time of each peer for a task, in seconds; all peers read the same in each round."""
    random, times = np.random.default_rng(1), {peer: [] for peer in readers}
    with ThreadPoolExecutor(_THREADS) as pool:
        began = time.perf_counter()
        while len(times[BASE]) < ROUNDS + 1 or (time.perf_counter() - began < SECONDS and len(times[BASE]) < 100):
            chosen = [selections(task, side, random) for _ in range(_IN_A_ROW.get(task, 1))]
            for peer in random.permutation([*readers]):
                if peer == "zarrista" and task == "strided":
                    continue  # it has no steps
                read = readers[peer]
                start = time.perf_counter()
                found = list((pool.map if task == "threads" else map)(read, chosen))
                times[peer].append(time.perf_counter() - start)
                for part, selection in zip(found, chosen, strict=True):
                    assert np.array_equal(np.ravel(part), pixels[selection].ravel()), (peer, task)
                del found, part
    return {peer: statistics.median(each[1:]) for peer, each in times.items() if each}


def files_of(path: str) -> list[str]:
    """Return a file, or the files of a directory."""
    if os.path.isfile(path):
        return [path]
    return [os.path.join(at, name) for at, _, files in os.walk(path) for name in files]


def forget(path: str) -> None:
    """Drop a file, or the files of a directory, from the cache of the system."""
    for file in files_of(path):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def warm(path: str) -> None:
    """Read a layout as a directory and as an archive into the cache of the system.

    Else only the archive is read cold: of the peers that share the directory, each finds what the one before it read.
    """
    for file in [f"{path}.ozx", *files_of(f"{path}.zarr")]:
        Path(file).read_bytes()


def measure_cold(path: str, readers: dict[str, Reader], pixels: Any) -> dict[str, float]:
    """Return the median time of each peer for a plane that is not in the cache of the system."""
    os.sync()
    times: dict[str, list[float]] = {peer: [] for peer in readers}
    for number in range(ROUNDS):
        z = number % SHAPE[0]
        for peer, read in readers.items():
            forget(f"{path}.ozx" if peer == "ozx" else f"{path}.zarr")
            start = time.perf_counter()
            found = read((z,))
            times[peer].append(time.perf_counter() - start)
            assert np.array_equal(np.ravel(found), pixels[z].ravel())
    return {peer: statistics.median(each) for peer, each in times.items()}


def all_ratios(
    folder: Path, peers: dict[str, Callable[[str], Reader]], only: str
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the ratios by task, layout and peer, and the time of tensorstore in milliseconds."""
    pixels, found = image(), {task: {} for task in TASKS}
    for name, side in make_layouts(folder, pixels):
        if only not in name:
            continue
        warm(str(folder / name))
        readers = {peer: opened(str(folder / name)) for peer, opened in peers.items()}
        for task, ratios in found.items():
            is_cold = task == "cold plane"
            times = (
                measure_cold(str(folder / name), readers, pixels) if is_cold else measure(task, side, readers, pixels)
            )
            base = times.pop(BASE)
            ratios[name] = {**{peer: seconds / base for peer, seconds in times.items()}, "ms": base * 1000}
            print(
                task,
                name,
                *(f"{peer} {ratio:.2f}" for peer, ratio in ratios[name].items()),
                file=sys.stderr,
                flush=True,
            )
    return found


def write_ozx(path: str, pixels: Any, codec: str, chunk: int, shard: int | None) -> None:
    import zarr

    import ozx

    with ozx.OzxStore(f"{path}.ozx", "w", sync=False) as store:
        group = zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
        _create(group, pixels, codec, chunk, shard)[:] = pixels


def write_zarr(path: str, pixels: Any, codec: str, chunk: int, shard: int | None) -> None:
    import zarr

    _create(zarr.create_group(f"{path}.zarr", overwrite=True), pixels, codec, chunk, shard)[:] = pixels


def _create(group: Any, pixels: Any, codec: str, chunk: int, shard: int | None) -> Any:
    shards = (1, shard, shard) if shard else None
    options = {"chunks": (1, chunk, chunk), "shards": shards, "compressors": _codecs(codec)}
    return group.create_array("0", shape=pixels.shape, dtype=pixels.dtype, **options)


def write_image(path: str, pixels: Any, codec: str, chunk: int, shard: int | None) -> None:
    import ozx

    codecs = {"raw": "none", "zstd": "zstd:1", "blosc": "blosc-lz4:3"}
    ozx.write_image(
        f"{path}.ozx",
        pixels,
        axes="zyx",
        downsample="none",
        chunks={"z": 1, "y": chunk, "x": chunk},
        shards={"z": 1, "y": shard, "x": shard} if shard else "none",
        codec=codecs[codec],
        chunk_checksums="drop",
        force=True,
        sync=False,
    )


def write_tensorstore(path: str, pixels: Any, codec: str, chunk: int, shard: int | None) -> None:
    import tensorstore

    write_zarr_json(path, pixels, codec, chunk, shard)
    spec = {"driver": "zarr3", "kvstore": f"file://{os.path.abspath(path)}.zarr/0/"}
    array = tensorstore.open({**spec, "context": {"file_io_sync": False}}).result()  # no peer waits for the disk
    array.write(pixels).result()


def write_zarr_json(path: str, pixels: Any, codec: str, chunk: int, shard: int | None) -> None:
    """Write the documents of the hierarchy, so that tensorstore writes the layout of the others."""
    import zarr

    _create(zarr.create_group(f"{path}.zarr", overwrite=True), pixels, codec, chunk, shard)


WRITERS = {"OzxStore": write_ozx, "write_image": write_image, BASE: write_tensorstore, "zarr": write_zarr}


def written_ratios(folder: Path, only: str) -> dict[str, dict[str, dict[str, float]]]:
    """Return the ratios of writing by layout and peer, and the time of tensorstore in milliseconds."""
    import zarr

    import ozx

    pixels, ratios, path = image(), {}, str(folder / "written")
    for codec in ("raw", "zstd", "blosc"):
        for chunk, shard in ((1024, None), (256, 2048), (64, 1024)):
            name = f"{codec}-{chunk}-{'shard' if shard else 'chunk'}"
            if only not in name:
                continue
            times: dict[str, list[float]] = {peer: [] for peer in WRITERS}
            for turn in range(ROUNDS + 1):
                for peer, write in [*WRITERS.items()][turn % len(WRITERS) :] + [*WRITERS.items()][
                    : turn % len(WRITERS)
                ]:
                    shutil.rmtree(f"{path}.zarr", ignore_errors=True)
                    Path(f"{path}.ozx").unlink(missing_ok=True)
                    os.sync()
                    start = time.perf_counter()
                    write(path, pixels, codec, chunk, shard)
                    times[peer].append(time.perf_counter() - start)
                    if turn == 0:
                        is_archive = os.path.exists(f"{path}.ozx")
                        opened = ozx.open_array(f"{path}.ozx", "0") if is_archive else zarr.open_array(f"{path}.zarr/0")
                        assert np.array_equal(opened[:], pixels), (peer, name)
                        assert opened.shards == ((1, shard, shard) if shard else None)
            middle = {peer: statistics.median(each[1:]) for peer, each in times.items()}
            base = middle.pop(BASE)
            ratios[name] = {**{peer: seconds / base for peer, seconds in middle.items()}, "ms": base * 1000}
            print("write", name, *(f"{peer} {ratio:.2f}" for peer, ratio in ratios[name].items()), file=sys.stderr)
    return {"write": ratios}


def summary(ratios: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the table of the page: the geometric mean and the worst layout of each peer, by task."""
    rows = [each for layouts in ratios.values() for each in layouts.values()]
    peers = list(dict.fromkeys(peer for each in rows for peer in each if peer != "ms"))
    lines = [" | ".join(["| task", *peers, "wanted |"]), "|".join(["|---", *["--:"] * len(peers), "---|"])]
    for task, layouts in ratios.items():
        cells = []
        for peer in peers:
            values = {name: each[peer] for name, each in layouts.items() if peer in each}
            worst = max(values, key=values.__getitem__, default="")
            cells.append(
                f"{statistics.geometric_mean(values.values()):.2f}; {values[worst]:.2f} ({worst})" if values else "–"
            )
        mean, most, small = WANTED.get(task, (None,) * 3)
        wanted = "; ".join(
            [f"≤ {mean}"] * (mean is not None)
            + [f"≤ {most}" + f" (64²: {small})" * (small != most)] * (most is not None)
        )
        lines.append(" | ".join([f"| {task}", *cells, f"{wanted or '–'} |"]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder for the data: 3 GB, which are kept")
    parser.add_argument("--fused", metavar="PYTHON", help="a Python with zarr ≥ 3.4 and tensorstore")
    parser.add_argument("--only", default="", help="measure only layouts whose names contain this")
    parser.add_argument("--write", action="store_true", help="measure writing")
    parser.add_argument("--json", metavar="FILE", help="keep all ratios")
    parser.add_argument("--peers", default=",,".join(PEERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        ratios = written_ratios(options.folder, options.only)
        if options.json:
            Path(options.json).write_text(json.dumps(ratios, indent=1))
        print(summary(ratios))
        return
    known = {**PEERS, "zarr, fused": partial(open_zarr, fused=True)}
    ratios = all_ratios(options.folder, {peer: known[peer] for peer in options.peers.split(",,")}, options.only)
    if options.json == "-":
        print(json.dumps(ratios))
        return
    if options.fused:
        arguments = [options.folder, "--only", options.only, "--json", "-", "--peers", f"zarr, fused,,{BASE}"]
        answer = subprocess.run([options.fused, __file__, *arguments], check=True, stdout=subprocess.PIPE).stdout
        for task, layouts in json.loads(answer).items():
            for name, each in layouts.items():
                ratios[task][name]["zarr, fused"] = each["zarr, fused"]
    if options.json:
        Path(options.json).write_text(json.dumps(ratios, indent=1))
    print(summary(ratios))


if __name__ == "__main__":
    main()

"""Profile tasks that docs/benchmarks.md explains: ``python bench/profiles.py [NAME…] [--folder FOLDER]``.

Each task runs in separate processes: without a profiler, for wall time, processor time and page faults by thread; and
with `cProfile`, for the share of each function. The profiler makes short calls look longer.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from measuring import HERE, remove
from worker import Repeated

_LINES = 7
_OWN_FILES = str(HERE.parent)


@dataclass(frozen=True)
class Profile:
    """A task, a function that makes its arguments in a folder, and the name and the number of its units of work."""

    task: str
    arguments: Callable[..., list[str]]
    unit: str
    units: Callable[..., int]


def _pack(name: str) -> Callable[..., list[str]]:
    def arguments(folder: Path, *, quick: bool) -> list[str]:
        import datasets

        return [str(datasets.make(folder, name, quick=quick)), str(folder / "profiled")]

    return arguments


def _unpack(name: str) -> Callable[..., list[str]]:
    def arguments(folder: Path, *, quick: bool) -> list[str]:
        import datasets
        import ozx

        source, archive = datasets.make(folder, name, quick=quick), folder / f"{name}-profiled.ozx"
        ozx.pack(source, archive, force=True, sync=False)
        return [str(archive), str(folder / "profiled")]

    return arguments


def _reshard(folder: Path, *, quick: bool) -> list[str]:
    import datasets

    return [str(datasets.make_chunked_image(folder, 2 if quick else 100)[0]), str(folder / "profiled")]


def _read(way: str, *more: str) -> Callable[..., list[str]]:
    def arguments(folder: Path, *, quick: bool) -> list[str]:
        import datasets

        plain = datasets.make_images(folder, quick=quick)
        return [way, str(plain if way == "local" else datasets.archive_of(plain)), str(plain), *more]

    return arguments


def _count(name: str) -> Callable[..., int]:
    import datasets

    return lambda *, quick: (datasets.QUICK_SHAPES if quick else datasets.SHAPES)[name][0]


def _planes(*, quick: bool) -> int:
    return 1 if quick else 16


def _chunks(*, quick: bool) -> int:
    del quick
    return 200


PROFILES = {
    "pack-80KB": Profile("container_tasks.ozx_pack", _pack("many"), "entry", _count("many")),
    "pack-5KB": Profile("container_tasks.ozx_pack", _pack("small"), "entry", _count("small")),
    "unpack-5KB": Profile("container_tasks.ozx_unpack", _unpack("small"), "entry", _count("small")),
    "random-chunk": Profile("store_tasks.inner_chunks", _read("ozx", "200"), "chunk", _chunks),
    "random-chunk-local": Profile("store_tasks.inner_chunks", _read("local", "200"), "chunk", _chunks),
    "whole-shards": Profile("store_tasks.slices", _read("ozx", "sharded"), "shard", _planes),
    "whole-shards-local": Profile("store_tasks.slices", _read("local", "sharded"), "shard", _planes),
    "reshard": Profile("resharding_tasks.ozx_repack", _reshard, "chunk", lambda *, quick: 128 if quick else 6400),
}


@dataclass
class Watched:
    """A watched thread: its use of the processor and its page faults at the start and the end, and its profile."""

    name: str
    native_id: int
    before: tuple[float, int]
    after: tuple[float, int] | None = None
    profile: cProfile.Profile | None = None


class Watch:
    """Watcher of all threads that start later, and of each thread that calls `watch`."""

    def __init__(self, *, with_profiles: bool) -> None:
        self.with_profiles = with_profiles
        self.threads: list[Watched] = []
        original = threading.Thread.run

        def run(thread: threading.Thread) -> None:
            watched = self.watch(thread.name)
            try:
                original(thread)
            finally:
                if watched.profile is not None:
                    watched.profile.disable()
                watched.after = usage_of(watched.native_id)

        threading.Thread.run = run

    def watch(self, name: str) -> Watched:
        native = threading.get_native_id()
        watched = Watched(name, native, usage_of(native))
        self.threads.append(watched)
        # From Python 3.12 on, only one profiler may run at a time: that of the main thread.
        if self.with_profiles and (sys.version_info < (3, 12) or name == "main"):
            watched.profile = cProfile.Profile()
            watched.profile.enable()
        return watched

    def begin(self) -> None:
        """Reset the counts, so that they leave out the preparation."""
        for watched in [each for each in self.threads if each.after is None]:
            watched.before = usage_of(watched.native_id)
            if watched.profile is not None:
                watched.profile.clear()

    def end(self) -> None:
        for watched in [each for each in self.threads if each.after is None]:
            watched.after = usage_of(watched.native_id)


def usage_of(thread: int) -> tuple[float, int]:
    """Return the processor time in seconds of a running thread, and the number of its minor page faults."""
    with open(f"/proc/self/task/{thread}/schedstat", encoding="ascii") as file:
        seconds = int(file.read().split()[0]) / 1e9
    with open(f"/proc/self/task/{thread}/stat", encoding="ascii", errors="replace") as file:
        return seconds, int(file.read().rpartition(")")[2].split()[7])


def run_here(name: str, folder: Path, *, quick: bool, with_profiles: bool) -> None:
    """Run one profile in this process, and print the results by thread or by function."""
    profile = PROFILES[name]
    arguments = profile.arguments(folder, quick=quick)
    remove(str(folder / "profiled"))
    watch = Watch(with_profiles=with_profiles)
    module, _, function = profile.task.partition(".")
    made = getattr(importlib.import_module(module), function)(*arguments)
    task = made if isinstance(made, Repeated) else Repeated(made, lambda _: None)
    prepared = [each for each in watch.threads if each.after is not None]
    watch.watch("main")
    watch.begin()
    children, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    task.run()
    wall = time.perf_counter() - start
    watch.end()
    units = profile.units(quick=quick)
    for each in watch.threads:
        if each.profile is not None:
            each.profile.disable()
    watch.threads = [each for each in watch.threads if each not in prepared]
    if with_profiles:
        show_functions(watch, wall)
    else:
        show_threads(watch, wall, units, profile.unit, children)


def show_threads(watch: Watch, wall: float, units: int, unit: str, before: resource.struct_rusage) -> None:
    print(f"{wall * 1e3:.1f} ms, {wall / units * 1e6:,.1f} µs a {unit}; threads of one kind together:")
    spent: dict[str, list[float]] = {}
    for each in watch.threads:
        sums = spent.setdefault(kind_of(each), [0, 0])
        for number in range(2):
            sums[number] += each.after[number] - each.before[number]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    of_children = sum(getattr(children, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    spent["other processes"] = [of_children, children.ru_minflt - before.ru_minflt]
    for name, (seconds, faults) in spent.items():
        if seconds or faults:
            words = f"{seconds / units * 1e6:12,.1f} µs of a processor and {faults / units:10,.2f} page faults a {unit}"
            print(f"  {name:<24} {words}")


def show_functions(watch: Watch, wall: float) -> None:
    print("by function, share of the wall time with the profiler on; what is not shown waits or takes less than 1 %:")
    kinds: dict[str, list[cProfile.Profile]] = {}
    for each in watch.threads:
        if each.profile is not None and each.profile.getstats():
            kinds.setdefault(kind_of(each), []).append(each.profile)
    for kind, (first, *others) in kinds.items():
        stats = pstats.Stats(first)
        stats.add(*others)
        rows = sorted(((own, place, calls) for place, (_, calls, own, _, _) in stats.stats.items()), reverse=True)
        shown = [row for row in rows if row[0] >= wall / 100 and not is_waiting(row[1][2])][:_LINES]
        if shown:
            print(f"  {kind}{f', {len(others) + 1} threads' if others else ''}")
        for own, (file, line, function), calls in shown:
            where = function if file == "~" else f"{shortened(file)}:{line} {function}"
            print(f"    {own / wall:6.1%} {calls:9,} calls  {where}")


def kind_of(watched: Watched) -> str:
    """Return a thread's name without its number: ``asyncio`` for ``asyncio_3``."""
    return watched.name.partition(" (")[0].rstrip("0123456789").rstrip("_-")


def is_waiting(function: str) -> bool:
    return any(word in function for word in ("'acquire'", "'poll'", "'get' of '_queue", "waitpid", "'wait'"))


def shortened(path: str) -> str:
    """Return a short form of a path: relative to this repository, or else its last three parts."""
    if path.startswith(_OWN_FILES):
        return path[len(_OWN_FILES) + 1 :]
    return "/".join(path.split("/")[-3:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*PROFILES, []], default=[], help="the profiles; all by default")
    parser.add_argument("--folder", help="folder for the data; the folder of run.py shares its data")
    parser.add_argument("--quick", action="store_true", help="use tiny data, to check that everything runs")
    parser.add_argument("--here", choices=("times", "functions"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        run_here(options.names[0], Path(options.folder), quick=options.quick, with_profiles=options.here == "functions")
        return
    with tempfile.TemporaryDirectory(prefix="ozx-bench-") as temporary:
        folder = options.folder or temporary
        Path(folder).mkdir(exist_ok=True)
        for name in options.names or PROFILES:
            print(f"=== {name}", flush=True)
            quick = ["--quick"] if options.quick else []
            for what in ("times", "times", "functions"):  # the first run warms the cache
                command = [sys.executable, __file__, name, "--folder", folder, "--here", what, *quick]
                subprocess.run(command, check=True)
            remove(os.path.join(folder, "profiled"))


if __name__ == "__main__":
    main()

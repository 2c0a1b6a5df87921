"""Races: a program writes files while a verb that removes or replaces its source runs.

A run makes a directory, starts a writer in a separate process, and runs a verb at the same time. The writer logs each
value that it has closed under the directory's name. After the run, each of these values must be in the archive, or in a
directory that still exists: the source, or the old tree that was kept beside the new tree. `unpack --force` is meant to
replace the contents that the directory has at the start, so only values that were written later count. If a verb
replaces a file, the writer replaces the file with whole archives; at the end, the last of them must be there, unchanged
or changed by the verb.
"""

import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from children import in_child, wait
from hierarchies import make_image, tree
from zarr.core.buffer import default_buffer_prototype

import ozx
from ozx.atomic.tree_record import TreeRecord
from ozx.errors import OzxError, ResourceError
from ozx.operations.pack import pack_many
from ozx.operations.read_value import read_value

_LOG = "closed.txt"
_CHUNKS = 24
_SIZE = 1024


@dataclass(frozen=True)
class Race:
    """A verb that runs at the same time as a writer."""

    name: str
    run: Callable[[Path], object]  # runs the verb in a folder that contains ``cells.ome.zarr``
    prepare: Callable[[Path], object] | None = None  # makes the other files that the verb needs
    is_replaced: bool = False  # whether another directory takes the place of ``cells.ome.zarr``
    is_copied: bool = True  # whether the verb copies the earlier contents of ``cells.ome.zarr`` to its output
    is_file: bool = False  # whether both the verb and the writer replace ``cells.ozx``


def _source(folder: Path) -> Path:
    return folder / "cells.ome.zarr"


def _pack_before(folder: Path) -> None:
    ozx.pack(_source(folder), folder / "cells.ozx", sync=False)


def _add(folder: Path) -> None:
    with ozx.OzxStore(folder / "cells.ozx", mode="a", keep_partial=False) as store:
        store.set_sync("0/added", default_buffer_prototype().buffer.from_bytes(b"added"))


def _pack_several(folder: Path) -> None:
    result = pack_many([_source(folder), folder / "other.ome.zarr"], jobs=2, remove_source=True)
    assert result.results[1].source_removed, result.results[1]
    if result.results[0].error is not None:
        raise ResourceError(str(result.results[0].error["message"]))


RACES = [
    Race("pack --remove-source", lambda folder: ozx.pack(_source(folder), remove_source=True)),
    Race(
        "pack --resume --remove-source",
        lambda folder: ozx.pack(_source(folder), resume=True, force=True, remove_source=True),
        _pack_before,
    ),
    Race(
        "pack --shards --remove-source",
        lambda folder: ozx.pack(_source(folder), shards="none", chunk_checksums="keep", remove_source=True),
    ),
    Race(
        "pack of several, --remove-source",
        _pack_several,
        lambda folder: make_image(folder / "other.ome.zarr", {"0/c": b""}),
    ),
    Race("repack in place", lambda folder: ozx.repack(_source(folder), _source(folder), force=True), is_replaced=True),
    Race(
        "unpack --force",
        lambda folder: ozx.unpack(folder / "cells.ozx", _source(folder), force=True),
        _pack_before,
        is_replaced=True,
        is_copied=False,
    ),
    Race(
        "repack of a file in place",
        lambda folder: ozx.repack(folder / "cells.ozx", folder / "cells.ozx", force=True),
        _pack_before,
        is_file=True,
    ),
    Race("edit", lambda folder: ozx.edit(folder / "cells.ozx", pixel_size={"y": 0.5}), _pack_before, is_file=True),
    Race("OzxStore, added to", _add, _pack_before, is_file=True),
]


def run_race(race: Race, folder: Path, seed: int) -> tuple[str, list[str]]:
    """Run one race in an empty folder.

    Returns
    -------
    tuple of str and list of str
        The outcome of the verb: ``done``, ``partly`` if a part of the source stayed, ``told`` if the verb raised an
        error; and the names of lost values.
    """
    rng = random.Random(seed)
    root = make_image(_source(folder), {f"0/c/{n // 8}/{n % 8}": _value(0, n) for n in range(_CHUNKS)})
    if race.prepare is not None:
        race.prepare(folder)
    wanted = rng.choice([0.01, 0.03, 0.1, 0.2])  # some writers end before the verb
    write = _write_archives if race.is_file else _write
    writer = in_child(lambda: write(root, folder / _LOG, random.Random(seed + 1), wanted))
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0, wanted))
    recorded: list[float] = [] if not race.is_copied else [0.0]
    with pytest.MonkeyPatch.context() as patch:
        settle = TreeRecord.settle
        patch.setattr(TreeRecord, "settle", lambda record: (settle(record), recorded.append(time.monotonic())))
        try:
            race.run(folder)
            outcome = "done" if race.is_replaced or race.is_file or not root.exists() else "partly"
        except OzxError:
            outcome = "told"
    assert wait(writer) == 0
    if race.is_file:
        return outcome, _lost_archives(folder)
    return outcome, _lost(race, folder, (recorded or [time.monotonic()])[0])


def _value(number: int, place: int) -> bytes:
    return random.Random(f"{number}/{place}").randbytes(_SIZE)


def _write(root: Path, log: Path, rng: random.Random, seconds: float) -> None:
    """Add, replace and rewrite chunks for `seconds`; log each chunk after it is closed under its name."""
    if rng.random() < 0.5:  # begin while the verb runs, and write a few chunks
        time.sleep(rng.uniform(0, 0.1))
        seconds = rng.uniform(0, 0.02)
    end, number = time.monotonic() + seconds, 0
    with log.open("a", encoding="ascii", buffering=1) as closed:
        while time.monotonic() < end:
            number, begin = number + 1, time.monotonic()
            if key := _write_one(root, rng, number):
                closed.write(f"{key} {number} {begin}\n")
            time.sleep(rng.choice([0, 0, rng.uniform(0, 0.002), rng.uniform(0, 0.01)]))


def _write_one(root: Path, rng: random.Random, number: int) -> str:
    """Write one chunk; return its key, or an empty text if its folder or name disappeared before it was closed."""
    way = rng.randrange(4)
    key = (
        f"0/c/{rng.randrange(3)}/{number + 100 if way == 0 else rng.randrange(8)}" if way < 3 else f"0/c/{number + 9}/0"
    )
    path, value = root / key, _value(number, 0)
    try:
        if way == 3:
            os.mkdir(path.parent)
        if way == 1:  # replaced by a rename
            new = path.with_name(f"{path.name}.new{number}")
            new.write_bytes(value)
            os.rename(new, path)
            return key
        with open(path, "xb" if way in (0, 3) else "r+b", buffering=0) as file:
            file.write(value)
            inode = os.fstat(file.fileno()).st_ino
        # The chunk was closed under its name if it still has this name.
        return key if os.stat(path).st_ino == inode else ""
    except (FileNotFoundError, NotADirectoryError, FileExistsError):
        return ""


def _write_archives(root: Path, log: Path, rng: random.Random, seconds: float) -> None:
    """Replace ``cells.ozx`` with one archive after the other for `seconds`; log each after it has the name."""
    made, target = root.with_name("made.ozx"), root.with_name("cells.ozx")
    end, number = time.monotonic() + seconds, 0
    with log.open("a", encoding="ascii", buffering=1) as closed:
        while time.monotonic() < end:
            number += 1
            (root / "0/c/0/0").write_bytes(_value(number, 0))
            ozx.pack(root, made, sync=False)
            os.rename(made, target)
            closed.write(f"{number}\n")
            time.sleep(rng.choice([0, rng.uniform(0, 0.01), rng.uniform(0, 0.05)]))


def _lost_archives(folder: Path) -> list[str]:
    """Return the last archive that replaced ``cells.ozx``, if it is lost."""
    log = folder / _LOG
    number = int([0, *log.read_text(encoding="ascii").splitlines()][-1]) if log.exists() else 0
    found = b"".join(read_value(folder / "cells.ozx", "0/c/0/0"))
    return [] if found == _value(number, 0) else [f"archive {number}"]


def _lost(race: Race, folder: Path, since: float) -> list[str]:
    """Return the keys whose last closed value is lost; values that were begun before `since` do not count."""
    last: dict[str, int] = {}
    log = folder / _LOG
    for line in log.read_text(encoding="ascii").splitlines() if log.exists() else ():
        key, number, begin = line.split()
        last.pop(key, None)
        if float(begin) >= since:
            last[key] = int(number)
    places = [tree(path) for path in folder.glob("cells.ome.zarr*") if path.is_dir()]
    if (folder / "cells.ozx").exists() and not race.is_replaced:
        ozx.unpack(folder / "cells.ozx", folder / "unpacked", sync=False)
        places.append(tree(folder / "unpacked"))
    return [key for key, number in last.items() if all(place.get(key) != _value(number, 0) for place in places)]


def run_many(race: Race, folder: Path, seeds: range) -> tuple[dict[str, int], list[str]]:
    """Run many races; return the number of each outcome, and the lost values."""
    counts: dict[str, int] = {}
    findings: list[str] = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        outcome, lost = run_race(race, place, seed)
        counts[f"{race.name}, {outcome}"] = counts.get(f"{race.name}, {outcome}", 0) + 1
        findings += [f"races, {race.name}, seed {seed}: {key} is lost" for key in lost]
        if not lost:
            shutil.rmtree(place)
    return counts, findings

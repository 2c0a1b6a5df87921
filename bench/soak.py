"""Run the soak tests: ``python bench/soak.py [--fraction 0.01] [--only PART] [--seed 1] [--state FILE] [--write]``.

The whole soak consists of ten million mutated archives and documents, a million archives damaged in one or two places,
100,000 more for each kind of end records that are wrong and agree with each other, a thousand kills of writing
operations, 4,500 races of a verb and a writer, an hour of reading by four processes of eight threads, and an hour of
reading and writing pixels by as many processes and threads. Each part runs in rounds; the random numbers of a round
depend only on the seed and the number of the round. The state file keeps the finished rounds, and the next run
continues after them. ``--write`` puts the figures into docs/reliability.md. The exit code is 1 if there is any finding.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from versions import commit

if TYPE_CHECKING:
    from works import Work

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT / "fuzz"), str(ROOT / "tests"), str(ROOT / "tests" / "hostile")]

DOCUMENT = ROOT / "docs" / "reliability.md"
ROUND = 1_000
PROCESSES, THREADS = 4, 8
#: Kinds of damage that are also tried by themselves: end records that are wrong and agree with each other.
KINDS = ("fewer-at-the-end", "fewer-at-the-start", "fewer-at-both-ends", "fewer-and-overwritten", "early-end")
#: The whole soak: mutations, damaged archives with known values, kills, races, seconds of reading.
WHOLE = {
    "archives": 5_000_000,
    "documents": 5_000_000,
    "damage": 1_000_000,
    **dict.fromkeys(KINDS, 100_000),
    "kills": 1_000,
    "races": 4_500,
    "readers": 3_600,
    "pixels": 3_600,
}
UNITS = {
    "archives": "mutated archives",
    "documents": "mutated documents",
    "damage": "archives damaged in one or two places",
    **{kind: f"archives, one damage of which is `{kind}`" for kind in KINDS},
    "kills": "kills",
    "races": "races of a verb and a writer",
    "readers": "s of reading",
    "pixels": "s of reading and writing pixels",
}
# One mutation out of so many is also checked with files (takes 100 times as long as in memory) or validated (10 times).
EVERY_FILE, EVERY_VALIDATION = 200, 20
# One mutation out of so many is also read by all readers of ozx (takes 10 times as long as store and recover) or by
# other programs (100 times).
EVERY_AGREEMENT, EVERY_FOREIGN = 50, 500
RULE = re.compile("[a-z0-9]+/[a-z0-9-]+")


@dataclass
class Part:
    """The finished work of one part of the soak, and its findings."""

    done: int = 0
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)

    def add(self, commit: str, done: int, seconds: float, counts: dict[str, int], findings: list[str]) -> None:
        """Add the work and the findings of a round, which ran with the code of `commit`."""
        self.done += done
        self.seconds += seconds
        self.counts = dict(Counter(self.counts) + Counter(counts))
        self.findings += findings
        if commit not in self.commits:
            self.commits.append(commit)


class State:
    """The state of all parts, which is written to a file after every round."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed, self.commit = path, seed, commit()
        kept = json.loads(path.read_text()) if path.exists() else {}
        if kept and kept["seed"] != seed:
            sys.exit(f"{path} belongs to the seed {kept['seed']}: give --seed {kept['seed']}, or another --state")
        self.parts = {name: Part(**kept.get("parts", {}).get(name, {})) for name in WHOLE}

    def save(self) -> None:
        """Replace the state file."""
        text = json.dumps(
            {"seed": self.seed, "parts": {name: asdict(part) for name, part in self.parts.items()}}, indent=1
        )
        self.path.with_suffix(".new").write_text(text)
        self.path.with_suffix(".new").replace(self.path)


Round = tuple[int, dict[str, int], list[str]]


def archives_round(seed: int, number: int) -> Round:
    """Damage archives; expect only errors of ozx, and no value with a wrong CRC-32."""
    from seeds import seeds
    from mutations import mutate_bytes
    from recipes import RECIPES
    from targets import TARGETS

    given = sorted(seeds()["directory"].items())
    sound = {"valid", *(recipe.name for recipe in RECIPES if recipe.read == "whole")}
    # Half of the mutations start from readable archives, because an archive that is refused at once tests little code.
    corpora = [[data for _, data in given], [data for name, data in given if name in sound]]
    rng, counts, findings = random.Random(f"{seed}/archives/{number}"), Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="ozx-soak-") as folder:
        for place in range(ROUND):
            data = mutate_bytes(rng.choice(rng.choice(corpora)), rng, rng.choice(corpora[0]))
            try:
                TARGETS["directory"](data)
                TARGETS["local_headers"](data)
                if place % EVERY_VALIDATION == 0:
                    counts[_validate(data)] += 1
                if place % EVERY_FILE == 0:
                    counts.update(_at_every_door(Path(folder) / str(place), data))
            except Exception:  # noqa: BLE001 (any exception is a finding)
                findings.append(f"archives, round {number}, {place}: {traceback.format_exc(limit=-4)}")
    return ROUND, dict(counts), findings


def _validate(data: bytes) -> str:
    from ozx.places.byte_source import MemorySource
    from ozx.archive.reader import ArchiveReader
    from ozx.validation.validate import check_archive

    found = {finding.severity for finding in check_archive(ArchiveReader(MemorySource(data)))}
    return "validated, errors" if "error" in found else "validated, none"


def _at_every_door(folder: Path, data: bytes) -> Counter[str]:
    from answers import DOORS, answer

    answers: Counter[str] = Counter()
    for door in DOORS:
        path = folder / door / "in" / "cells.ozx"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        found = answer(door, path, {})
        answers[f"{door}, {'refused' if RULE.fullmatch(found) else 'read'}"] += door != "validate"
    shutil.rmtree(folder)
    return +answers


def documents_round(seed: int, number: int) -> Round:
    """Change metadata documents; expect only errors of ozx, and findings from validation."""
    from seeds import seeds
    from mutated_cases import run_documents
    from mutations import mutate_bytes, mutate_document
    from targets import TARGETS

    corpus = [json.loads(data) for _, data in sorted(seeds()["zarr_json"].items())]
    indexes = [data for _, data in sorted(seeds()["shard_index"].items())]
    rng, findings = random.Random(f"{seed}/documents/{number}"), []
    for place in range(ROUND):
        data = json.dumps(mutate_document(rng.choice(corpus), rng)).encode()
        if place % 10 == 0:
            data = mutate_bytes(data, rng)
        try:
            TARGETS["zarr_json"](data)
            TARGETS["shard_index"](mutate_bytes(rng.choice(indexes), rng))
        except Exception:  # noqa: BLE001
            findings.append(f"documents, round {number}, {place}: {traceback.format_exc(limit=-4)}")
    validations = ROUND // EVERY_VALIDATION
    tally = run_documents(range(number * validations, (number + 1) * validations), seed)
    findings += [f"documents, round {number}, validated: {name}: {text}" for name, text in tally.failures]
    counts = {"validated, errors": tally.runs - tally.valid, "validated, none": tally.valid}
    return ROUND, counts, findings


def damage_round(seed: int, number: int, kind: str | None = None) -> Round:
    """Damage archives with known values in one or two places; expect that no wrong value is accepted as right.

    One of the damages is of `kind`, if given.
    """
    from agreement import check_agreement, check_foreign
    from damage import bases, check, mutate, small_fields

    gc.disable()  # there are few reference cycles here, and searching for them takes a tenth of the time
    rng, counts, findings = random.Random(f"{seed}/{kind or 'damage'}/{number}"), Counter[str](), []
    for place in range(ROUND):
        base = rng.choice(bases())
        data, what = mutate(base, rng, kind)
        try:
            found, wrong = check(base, data)
            counts.update(found)
            with small_fields(base):
                if place % EVERY_AGREEMENT == 0:
                    counts["all readers compared"] += 1
                    wrong += check_agreement(data)
            # Other programs cannot be told that numbers wrap early.
            if place % EVERY_FOREIGN == 0 and not base.wraps:
                counts["compared with other programs"] += 1
                wrong += check_foreign(data)
        except Exception:  # noqa: BLE001
            wrong = [traceback.format_exc(limit=-4)]
        findings += [f"{kind or 'damage'}, round {number}, {place}: {base.name}, {what}: {text}" for text in wrong]
    gc.collect()
    return ROUND, dict(counts), findings


def kills_round(seed: int, number: int) -> Round:
    """Kill each writing operation once, at a random moment; expect the old or the new file, and no other change."""
    from works import WORKS, make_sources

    rng, counts, findings = random.Random(f"{seed}/kills/{number}"), Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="ozx-soak-") as temporary:
        folder, sources = Path(temporary) / "work", make_sources(Path(temporary) / "sources")
        for work in WORKS:
            code, wrong = _kill(work, folder, sources, rng)
            counts["killed" if code else "had ended"] += 1
            findings += [f"kills, round {number}, {work.name}: {what}" for what in wrong]
    return counts["killed"], dict(counts), findings


def _kill(work: Work, folder: Path, sources: Path, rng: random.Random) -> tuple[int, list[str]]:
    """Kill a writing operation, unless it ends first; return its exit code, and the faults of the files it left."""
    from children import in_child, shortest_duration, wait
    from sweeping import forget_swept_folders
    from works import left_for_good, start_anew

    old = rng.choice(work.starts)

    def anew() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        forget_swept_folders()
        start_anew(sources, folder, work, old=old)

    def run() -> None:
        work.run(folder)

    usual = shortest_duration(run, anew)
    after = work.state(folder)
    anew()
    before = work.state(folder)
    child = in_child(run)
    time.sleep(rng.uniform(0, usual))
    os.kill(child, signal.SIGKILL)
    code = wait(child)
    time.sleep(0.05)  # the system kills a second process a moment later
    found, wrong = work.state(folder), []
    if not work.is_right(found, before, after) or (code == 0 and found != after):
        wrong.append("the name holds neither the old nor the new content")
    if not work.is_kept(folder, sources, is_done=found == after):
        wrong.append("a source was changed")
    if left := [name for name in left_for_good(folder, sources, work) if name != "out.ozx.partial"]:
        wrong.append(f"left behind: {left}")
    return code, wrong


def races_round(seed: int, number: int) -> Round:
    """While a writer runs, run each verb that removes or replaces its source; expect that no closed value is lost."""
    from races import RACES, run_many

    counts, findings = Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="ozx-soak-") as folder:
        for place, race in enumerate(RACES):
            (Path(folder) / str(place)).mkdir()
            seeds = range(first := seed * 1_000_000 + number, first + 1)
            found, lost = run_many(race, Path(folder) / str(place), seeds)
            counts.update(found)
            findings += lost
    return len(RACES), dict(counts), findings


def read(path: str, seconds: float, seed: int) -> None:
    """Read values in eight threads for `seconds`, as one of several processes; print counts and wrong values."""
    import pickle

    from stores import pattern

    import ozx

    opened = ozx.OzxStore(path)
    store = pickle.loads(pickle.dumps(opened))
    counts, wrong, end = [0] * THREADS, [], time.monotonic() + seconds

    def work(thread: int) -> None:
        rng = random.Random(f"{seed}/readers/{thread}")
        while time.monotonic() < end:
            number = rng.randrange(4_000)
            expected = pattern(number, 500 + 17 * number)
            start = rng.randrange(len(expected))
            for _ in range(20):
                found = store.get_sync(f"0/c/{number // 64}/{number % 64}", byte_range=_part(start, rng))
                wanted = expected[start:] if found is None else expected[start : start + len(found)]
                if found is None or found.to_bytes() != wanted:
                    wrong.append(number)
                counts[thread] += 1
            whole = store.get_sync(f"0/c/{number // 64}/{number % 64}")
            if whole is None or whole.to_bytes() != expected:
                wrong.append(number)
            counts[thread] += 1

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"values": sum(counts), "wrong": sorted(set(wrong))}))


def _part(start: int, rng: random.Random):  # noqa: ANN202
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest

    return OffsetByteRequest(start) if rng.random() < 0.1 else RangeByteRequest(start, start + rng.randrange(1, 5_000))


def readers_round(seed: int, number: int, seconds: int) -> Round:
    """Read one file in four processes of eight threads for `seconds`; expect no wrong value."""
    from cases.archive_builder import array, group
    from stores import pattern, write_store

    with tempfile.TemporaryDirectory(prefix="ozx-soak-") as folder:
        values = {"zarr.json": group(), "0/zarr.json": array([64, 64], [1, 1])}
        values |= {f"0/c/{n // 64}/{n % 64}": pattern(n, 500 + 17 * n) for n in range(4_000)}
        path = write_store(Path(folder) / "a.ozx", values)
        command = [sys.executable, __file__, "--read", str(path), str(seconds)]
        running = [
            subprocess.Popen([*command, str(PROCESSES * number + process + seed)], stdout=subprocess.PIPE, text=True)
            for process in range(PROCESSES)
        ]
        answers = [
            json.loads(process.communicate()[0] or '{"values": 0, "wrong": ["it ended"]}') for process in running
        ]
    findings = [
        f"readers, round {number}: wrong values {answer['wrong'][:10]}" for answer in answers if answer["wrong"]
    ]
    return seconds, {"values": sum(answer["values"] for answer in answers)}, findings


def pixels_round(seed: int, number: int, seconds: int) -> Round:
    """Read one file, and write separate files, in four processes of eight threads for `seconds`."""
    from soak_pixels import write_image

    with tempfile.TemporaryDirectory(prefix="ozx-soak-") as folder:
        path = write_image(Path(folder) / "a.ozx")
        command = [sys.executable, __file__, "--pixels", str(path), str(seconds)]
        running = [
            subprocess.Popen([*command, str(PROCESSES * number + process + seed)], stdout=subprocess.PIPE, text=True)
            for process in range(PROCESSES)
        ]
        ended = '{"requests": 0, "files": 0, "wrong": ["it ended"]}'
        answers = [json.loads(process.communicate()[0] or ended) for process in running]
    findings = [f"pixels, round {number}: {answer['wrong']}" for answer in answers if answer["wrong"]]
    return seconds, {what: sum(answer[what] for answer in answers) for what in ("requests", "files")}, findings


ROUNDS: dict[str, Callable[[int, int], Round]] = {
    "archives": archives_round,
    "documents": documents_round,
    "damage": damage_round,
    **{kind: partial(damage_round, kind=kind) for kind in KINDS},
}


def run(state: State, name: str, wanted: int) -> None:
    """Run rounds of one part until `wanted` units are done."""
    part = state.parts[name]
    if name in ROUNDS:
        _run_in_processes(state, name, wanted)
        return
    while part.done < wanted:
        start = time.monotonic()
        if name == "kills":
            found = kills_round(state.seed, sum(part.counts.values()))  # killed works, and works that had ended
        elif name == "races":
            found = races_round(state.seed, part.done)
        else:
            make = pixels_round if name == "pixels" else readers_round
            found = make(state.seed, part.done, min(60, wanted - part.done))
        _take(state, name, found, time.monotonic() - start)


def _run_in_processes(state: State, name: str, wanted: int) -> None:
    """Run rounds of mutations, one at a time in each process; add their results in the order of the rounds."""
    rounds = range(state.parts[name].done // ROUND, -(-wanted // ROUND))
    pool, last = ProcessPoolExecutor(os.cpu_count()), time.monotonic()
    try:
        for found in pool.map(ROUNDS[name], repeat(state.seed), rounds):
            now = time.monotonic()
            _take(state, name, found, now - last)
            last = now
    finally:
        pool.shutdown(cancel_futures=True)


def _take(state: State, name: str, found: Round, seconds: float) -> None:
    part = state.parts[name]
    part.add(state.commit, found[0], seconds, *found[1:])
    state.save()
    print(f"{name}: {part.done:,} of {WHOLE[name]:,}, {len(part.findings)} findings", flush=True)


def table(state: State, *, with_counts: bool = True) -> str:
    """Return the figures as a Markdown table; docs/reliability.md has it without the counts."""
    head = ["part", "done", "of", "seconds", "findings", "at", *(["counts"] if with_counts else [])]
    lines = [f"| {' | '.join(head)} |", "|---|--:|--:|--:|--:|" + "---|" * (len(head) - 5)]
    for name, part in state.parts.items():
        if not part.done:
            continue
        counts = ", ".join(f"{what}: {count:,}" for what, count in sorted(part.counts.items()))
        figures = f"{part.done:,}", f"{WHOLE[name]:,}", f"{part.seconds:,.0f}", len(part.findings)
        row = (UNITS[name], *figures, ", ".join(part.commits), *([counts] if with_counts else []))
        lines.append(f"| {' | '.join(map(str, row))} |")
    where = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    return "\n".join([f"Seed {state.seed}; {where}.", "", *lines])


def write(state: State) -> None:
    """Write the figures into docs/reliability.md; keep the rows of parts for which the state has no figures."""
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = "<!-- soak -->", "<!-- end: soak -->"
    old = text.partition(begin)[2].partition(end)[0].strip().splitlines()
    new = table(state, with_counts=False).splitlines()
    rows = {
        line.split(" | ")[0]: line for line in [*old, *new] if line.startswith("| ") and not line.startswith("| part")
    }
    order = [f"| {unit}" for unit in UNITS.values()]
    made = "\n".join([*new[:4], *sorted(rows.values(), key=lambda line: order.index(line.split(" | ")[0]))])
    found = re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n\n{made}\n\n{end}", text, flags=re.DOTALL)
    DOCUMENT.write_text(found, encoding="utf-8")


def main() -> int:
    if sys.argv[1:2] == ["--read"]:
        read(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
        return 0
    if sys.argv[1:2] == ["--pixels"]:
        from soak_pixels import use

        use(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), THREADS)
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fraction", type=float, default=1.0, help="fraction of the whole soak, such as 0.01")
    parser.add_argument("--only", choices=list(WHOLE), action="append", help="run only this part; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, default=ROOT / ".soak.json", help="file with the finished rounds")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/reliability.md")
    options = parser.parse_args()
    state = State(options.state, options.seed)
    for name in options.only or WHOLE:
        run(state, name, round(WHOLE[name] * options.fraction))
    print(table(state))
    if options.write:
        write(state)
    findings = [finding for part in state.parts.values() for finding in part.findings]
    print(*findings, sep="\n", file=sys.stderr)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())

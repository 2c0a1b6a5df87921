"""Archives and metadata documents with random faults: whatever they are, validation ends in findings.

By hand, as many as there is time for (each number is one mutation, the same with the same seed):

    PYTHONPATH=src python tests/hostile/mutated_cases.py --archives 100000 --documents 20000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import struct
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field

from ozx.archive.byte_source import MemorySource
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, UnsupportedError
from ozx.validation.cases.archive_builder import ArchiveBuilder
from ozx.validation.cases.documents import documents_of, read_files
from ozx.validation.cases.table import CASES
from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.validate import check_archive

LARGEST_SEED = 1 << 16
SLOWEST = 5.0  # seconds for one, on a busy machine
MOST_FINDINGS = 1000
NUMBERS = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
WIDE = (*NUMBERS, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1)
SIGNATURES = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x07\x08")


def archives():
    """Return the archives that are mutated: every small one of the cases."""
    made = [case.make() for case in CASES if case.rule not in ("zip/large-entry", "zip/many-entries")]
    built = {made.build() if isinstance(made, ArchiveBuilder) else made for made in made if not isinstance(made, dict)}
    return sorted(data for data in built if 0 < len(data) <= LARGEST_SEED)


def hierarchies():
    """Return the documents that are mutated: those of every case, and the form they are parsed to."""
    return [
        {key: json.loads(value) if is_json(value) else value.decode() for key, value in documents_of(case).items()}
        for file in read_files().values()
        for kind in ("fails", "passes")
        for case in file[kind]
    ]


def is_json(value):
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def flip(data, at, rng, _):
    if at < len(data):
        data[at] ^= 1 << rng.randrange(8)


def number(layout, numbers):
    def put(data, at, rng, _):
        value = rng.choice((*numbers, rng.randrange(len(data) + 1))) & ((1 << 8 * struct.calcsize(layout)) - 1)
        data[at : at + struct.calcsize(layout)] = struct.pack(layout, value)

    return put


def sign(data, at, rng, _):
    data[at : at + 4] = rng.choice(SIGNATURES)


def remove(data, at, rng, _):
    del data[at : at + rng.choice((1, 2, 4, 30, 46, rng.randrange(len(data) + 1)))]


def double(data, at, rng, _):
    data[at:at] = data[at : at + rng.choice((1, 4, 46, 200))]


def splice(data, at, rng, others):
    other = rng.choice(others)
    start = rng.randrange(len(other))
    data[at:at] = other[start : start + rng.choice((4, 22, 46, 76, 1000))]


FAULTS = (flip, number("<B", range(256)), number("<H", NUMBERS), number("<I", NUMBERS), number("<Q", WIDE))
FAULTS += (sign, remove, double, splice)


def mutate_bytes(data, rng, others):
    """Return `data` with up to four faults, most of them at the records of a ZIP file."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(result) + 1)
        if rng.random() < 0.6 and (found := result.find(rng.choice(SIGNATURES), rng.randrange(len(result) + 1))) >= 0:
            at = min(len(result), found + rng.randrange(60))
        rng.choice(FAULTS)(result, at, rng, others)
    return bytes(result)


def hostile_value(rng):
    """Return a value that metadata had better not have; rarely a very large one."""
    if rng.random() < 0.001:
        return rng.choice(("x" * 10_000_000, ["y"] * 100_000, {f"n{number}": 0 for number in range(20_000)}))
    if rng.random() < 0.02:
        return nested(rng.choice((100, 1000, 50_000)), rng)
    return rng.choice(
        (
            *(
                None,
                True,
                False,
                0,
                -0.0,
                1,
                -1,
                3,
                2**31,
                2**53 + 1,
                2**63 - 1,
                2**63,
                -(2**63),
                2**64,
                10**400,
                10**5000,
            ),
            *(
                0.5,
                1e308,
                float("inf"),
                float("-inf"),
                float("nan"),
                "",
                " ",
                "\0",
                "3",
                "NaN",
                "0x7fc00000",
                "default",
            ),
            *("\ud800", "a\udfff", "é", "e\u0301", "../..", "/", ".", "__zarr", "zarr.json", "https://example.org/x"),
            *([], {}, [[]], [{}], {"": None}, [None], [0], [-1], [2**63], {"name": 7}, {"name": "x"}, "bytes", "uint8"),
            *({"must_understand": False}, {"name": "sharding_indexed", "configuration": {}}, ["a", "a"], [1.5], ["0"]),
        )
    )


def nested(depth, rng):
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}"), ('[{"name":', "}]")))
    return Text(opening * depth + "1" + closing * depth)


class Text(str):
    """JSON that is written as it stands."""

    __slots__ = ()


def places(value, found):
    """List every container in `value` with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], dict | list):
            places(value[key], found)
    return found


def mutate_value(value, rng, others):
    """Return a copy of a parsed document with up to three faults."""
    root = [json.loads(json.dumps(value))]
    for _ in range(rng.randint(1, 3)):
        container, key = rng.choice(places(root, []))
        is_object = isinstance(container, dict)
        match rng.randrange(5):
            case 0 if is_object:
                del container[key]
            case 1 if is_object:
                names = ("extensions", "attributes", "name", "ome", "\ud800", "x", "version", "must_understand")
                container[rng.choice(names)] = container[key]
            case 1 if container is not root:
                container[key:key] = [container[key]] * rng.choice((1, 2, 100))
            case 2:
                container[key] = [container[key]] if rng.random() < 0.5 else {"name": container[key]}
            case 3:
                other, name = rng.choice(places([rng.choice(others)], []))
                container[key] = json.loads(json.dumps(other[name]))
            case _:
                container[key] = hostile_value(rng)
        if not isinstance(root[0], dict | list):
            break
    return root[0]


def to_text(value, rng):
    """Return JSON, in which now and then a name stands twice."""
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, dict):
        items = [(json.dumps(key), to_text(item, rng)) for key, item in value.items()]
        if items and rng.random() < 0.01:
            items.insert(rng.randrange(len(items) + 1), (rng.choice(items)[0], to_text(hostile_value(rng), rng)))
        return "{" + ", ".join(f"{key}: {item}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(to_text(item, rng) for item in value) + "]"
    if isinstance(value, int) and abs(value) > 10**4000:
        return "9" * 5000
    return json.dumps(value)


def mutate_documents(documents, rng, others):
    """Return documents as they are stored, one or two of them with faults."""
    chosen = set(rng.choices(list(documents), k=2))
    stored = {}
    for key, document in documents.items():
        is_parsed = not isinstance(document, str)
        value = mutate_value(document, rng, others) if key in chosen and is_parsed else document
        data = bytearray((to_text(value, rng) if is_parsed else value).encode("utf-8", "surrogatepass"))
        if key in chosen and data and rng.random() < 0.25:
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = bytes(rng.choices(b'{}[]",:\\0e-\x00\x80\xff u', k=rng.randrange(3)))
        stored[key] = bytes(data)
    return stored


@dataclass
class Tally:
    """What came of many mutations."""

    runs: int = 0
    valid: int = 0
    slowest: float = 0.0
    most_findings: int = 0
    found: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)

    def run(self, name, call):
        """Count what one call found; keep what it raised."""
        started = time.perf_counter()
        self.runs += 1
        try:
            findings = list(call())
        except Exception:  # noqa: BLE001 (whatever it is, it is what is looked for)
            self.failures.append((name, traceback.format_exc(limit=-3)))
            return
        taken = time.perf_counter() - started
        self.slowest = max(self.slowest, taken)
        self.most_findings = max(self.most_findings, len(findings))
        self.valid += all(finding.severity != "error" for finding in findings)
        self.found.update({finding.id for finding in findings})
        if taken > SLOWEST or len(findings) > MOST_FINDINGS:
            self.failures.append((name, f"{taken:.1f} s, {len(findings)} findings"))

    def to_dict(self):
        return {
            "runs": self.runs,
            "valid": self.valid,
            "slowest_s": round(self.slowest, 2),
            "most_findings": self.most_findings,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
            "rules": len(self.found),
            "failures": len(self.failures),
        }


def archive_findings(data, level):
    yield from check_archive(ArchiveReader(MemorySource(data)), level)
    reader = ArchiveReader(MemorySource(data))
    try:
        reader.check()
    except (FormatError, UnsupportedError) as error:
        assert error.rule  # noqa: PT017 (it is a clean error: it says which rule)


def run_archives(numbers, seed, tally=None):
    """Mutate archives; the mutation `number` is the same whichever others there are."""
    tally, seeds = tally or Tally(), archives()
    for number in numbers:
        rng = random.Random(f"{seed} archive {number}")
        data = mutate_bytes(rng.choice(seeds), rng, seeds)
        level = rng.choices(("archive", "hierarchy", "data"), (2, 7, 1))[0]
        tally.run(f"archive {number}", lambda data=data, level=level: archive_findings(data, level))
    return tally


def run_documents(numbers, seed, tally=None):
    """Mutate metadata documents."""
    tally, seeds = tally or Tally(), hierarchies()
    others = [document for documents in seeds for document in documents.values() if isinstance(document, dict)]
    for number in numbers:
        rng = random.Random(f"{seed} documents {number}")
        documents = mutate_documents(rng.choice(seeds), rng, others)
        options = Options(second_opinion=rng.random() < 0.3)
        tally.run(
            f"documents {number}", lambda documents=documents, options=options: check_documents(documents, options)
        )
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archives", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    failures = []
    for name, run, count in (
        ("documents", run_documents, options.documents),
        ("archives", run_archives, options.archives),
    ):
        started = time.perf_counter()
        tally = Tally()
        for first in range(options.first, options.first + count, 1000):
            run(range(first, min(first + 1000, options.first + count)), options.seed, tally)
            print(name, first, round(time.perf_counter() - started), json.dumps(tally.to_dict()), flush=True)
        failures += tally.failures
    for name, text in failures[:20]:
        print(f"\n{name}: {text}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

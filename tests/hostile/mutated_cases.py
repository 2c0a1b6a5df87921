"""Archives and metadata documents with random faults: for each of them, validation must end with findings.

`bench/soak.py` runs more. Each number is one mutation; the same seed makes the same mutations.
"""

import json
import random
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from functools import cache

from cases.archive_builder import ArchiveBuilder
from cases.documents import FILES, documents_of
from cases.table import CASES
from mutations import mutate_bytes, mutate_document, to_text

from ozx.archive.reader import ArchiveReader
from ozx.errors import OzxError
from ozx.places.byte_source import MemorySource
from ozx.validation.hierarchy import Options, check_documents
from ozx.validation.validate import check_archive

LARGEST_SEED = 1 << 16
SLOWEST = 5.0  # seconds for one, on a busy machine
MOST_FINDINGS = 1000


@cache
def archives():
    large = ("zip/large-entry", "zip/many-entries", "zip/overflow")
    made = [case.make() for case in CASES if case.rule not in large]
    built = {made.build() if isinstance(made, ArchiveBuilder) else made for made in made if not isinstance(made, dict)}
    return sorted(data for data in built if 0 < len(data) <= LARGEST_SEED)


@cache
def hierarchies():
    return [
        {key: json.loads(value) if is_json(value) else value.decode() for key, value in documents_of(case).items()}
        for file in FILES.values()
        for kind in ("fails", "passes")
        for case in file[kind]
    ]


def is_json(value):
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def mutate_documents(documents, rng, others):
    """Return documents in stored form, one or two of them with faults."""
    chosen = set(rng.choices(list(documents), k=2))
    stored = {}
    for key, document in documents.items():
        is_parsed = not isinstance(document, str)
        value = mutate_document(document, rng, others, huge=True) if key in chosen and is_parsed else document
        data = bytearray((to_text(value, rng) if is_parsed else value).encode("utf-8", "surrogatepass"))
        if key in chosen and data and rng.random() < 0.25:
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = bytes(rng.choices(b'{}[]",:\\0e-\x00\x80\xff u', k=rng.randrange(3)))
        stored[key] = bytes(data)
    return stored


@dataclass
class Tally:
    """The results of many mutations."""

    runs: int = 0
    valid: int = 0
    found: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)

    def run(self, name, call):
        """Count the findings of one call; keep its exception, if it raises one."""
        started = time.perf_counter()
        self.runs += 1
        try:
            findings = list(call())
        except Exception:  # noqa: BLE001 (whatever it is, it is what is looked for)
            self.failures.append((name, traceback.format_exc(limit=-3)))
            return
        taken = time.perf_counter() - started
        self.valid += all(finding.severity != "error" for finding in findings)
        self.found.update({finding.id for finding in findings})
        if taken > SLOWEST or len(findings) > MOST_FINDINGS:
            self.failures.append((name, f"{taken:.1f} s, {len(findings)} findings"))


def archive_findings(data, level):
    """Return the findings of validation, which finds an error in whatever the reader refuses."""
    found = list(check_archive(ArchiveReader(MemorySource(data)), Options(level=level)))
    errors = {finding.id for finding in found if finding.severity == "error"}
    rule = refusal(data)
    # A header that is none may claim to be longer than the file; another one may have a second name.
    others = {"zip/truncated": "zip/local-header", "zip/local-header": "zip/unicode-path"}
    assert rule is None or {rule, others.get(rule)} & errors
    return found


def refusal(data):
    """Return the rule for which the reader refuses an archive or one of its values; None when it reads them all."""
    try:
        reader = ArchiveReader(MemorySource(data))
        reader.check()
        for index, name in enumerate(reader.columns.names()):
            try:
                reader.read(index)
            except OzxError as error:
                # The bytes of chunks are not read by validation.
                if name.endswith("zarr.json") or error.rule not in ("zip/crc", "zip/inflate"):
                    raise
    except OzxError as error:
        return error.rule
    return None


def run_archives(numbers, seed):
    """Mutate archives; each mutation depends only on the seed and its number."""
    tally, seeds = Tally(), archives()
    for number in numbers:
        rng = random.Random(f"{seed} archive {number}")
        data = mutate_bytes(rng.choice(seeds), rng, rng.choice(seeds))
        level = rng.choices(("archive", "hierarchy", "data"), (2, 7, 1))[0]
        tally.run(f"archive {number}", lambda data=data, level=level: archive_findings(data, level))
    return tally


def run_documents(numbers, seed):
    tally, seeds = Tally(), hierarchies()
    others = [document for documents in seeds for document in documents.values() if isinstance(document, dict)]
    for number in numbers:
        rng = random.Random(f"{seed} documents {number}")
        documents = mutate_documents(rng.choice(seeds), rng, others)
        options = Options(second_opinion=rng.random() < 0.3)
        tally.run(
            f"documents {number}", lambda documents=documents, options=options: check_documents(documents, options)
        )
    return tally

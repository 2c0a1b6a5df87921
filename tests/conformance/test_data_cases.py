"""Level data: every rule about stored values with values that break it, and the nearest that do not."""

from __future__ import annotations

import gzip
import json
import struct
from dataclasses import dataclass, field

import google_crc32c
import pytest
from builders import ArchiveBuilder, group, write_tree

from ozx.validation.rules import RULES
from ozx.validation.validate import validate

BYTES = {"name": "bytes"}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
RULES_HERE = ("zarr/chunk-key", "zarr/shard-index", "zarr/chunk-data", "zarr/not-decoded")
EMPTY = (1 << 64) - 1


def array(codecs=(BYTES,), *, shape=(8,), chunks=(4,), **fields):
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": list(codecs),
    }
    return document | fields


def sharded(inner=(2,), codecs=(BYTES,), **settings):
    configuration = {"chunk_shape": list(inner), "codecs": list(codecs), "index_codecs": INDEX} | settings
    return array([{"name": "sharding_indexed", "configuration": configuration}])


def shard(*spans, data=b"abcd", checksum=None):
    """Return a shard: data, then its index of (offset, length)."""
    index = b"".join(struct.pack("<2Q", *span) for span in spans)
    return data + index + (google_crc32c.value(index) if checksum is None else checksum).to_bytes(4, "little")


def crc(data):
    return data + google_crc32c.value(data).to_bytes(4, "little")


@dataclass
class Case:
    """An array, its stored values by key below it, and the ids of the findings of level data."""

    rule: str
    name: str
    values: dict[str, bytes]
    found: str = ""
    document: dict = field(default_factory=array)
    severity: str = ""

    def stored(self):
        documents = {"zarr.json": group(), "0/zarr.json": json.dumps(self.document).encode()}
        return documents | {f"0/{key}": value for key, value in self.values.items()}


SHARDED = sharded()
NESTED = sharded((2,), sharded((1,))["codecs"])
ZIPPED = array([BYTES, GZIP])
CHECKED = array([BYTES, {"name": "crc32c"}])
UNKNOWN = array([BYTES, {"name": "https://example.com/pack"}])
NEEDED = array(extensions=["example.a"])
IGNORABLE = array(extensions=[{"name": "example.a", "must_understand": False}])
HUGE = array(shape=(3 << 30,), chunks=(3 << 30,))
# A shard in which a shard has a wrong checksum.
_INSIDE = shard((0, 1), (1, 1), data=b"ab", checksum=1)
DAMAGED_INSIDE = shard((0, len(_INSIDE)), (EMPTY, EMPTY), data=_INSIDE)
UNCHECKED = shard((0, 2), (2, 2))[:-4]

CASES = [
    Case("zarr/chunk-key", "past the array's end", {"c/0": b"abcd", "c/2": b"abcd"}, "zarr/chunk-key"),
    Case("zarr/chunk-key", "another separator for one", {"c/0": b"abcd", "c.1": b"abcd"}, "zarr/chunk-key"),
    Case("zarr/chunk-key", "a leading zero", {"c/0": b"abcd", "c/01": b"abcd"}, "zarr/chunk-key"),
    Case(
        "zarr/chunk-key",
        "another separator for all",
        {"c.0": b"abcd", "c.1": b"abcd"},
        "zarr/chunk-key",
        severity="error",
    ),
    Case("zarr/chunk-key", "another number of dimensions", {"c/0/0": b"abcd"}, "zarr/chunk-key", severity="error"),
    Case("zarr/chunk-key", "the last of the grid", {"c/0": b"abcd", "c/1": b"abcd"}),
    Case("zarr/chunk-key", "a file that is no chunk", {"c/0": b"abcd", "notes.txt": b"x"}),
    Case("zarr/chunk-key", "no chunk at all", {}),
    Case(
        "zarr/shard-index",
        "a wrong checksum",
        {"c/0": shard((0, 2), (2, 2), checksum=1)},
        "zarr/shard-index",
        sharded(),
    ),
    Case("zarr/shard-index", "too short for an index", {"c/0": b"abcd"}, "zarr/shard-index", SHARDED),
    Case("zarr/shard-index", "beyond the shard", {"c/0": shard((0, 2), (99, 2))}, "zarr/shard-index", SHARDED),
    Case("zarr/shard-index", "into the index", {"c/0": shard((0, 2), (3, 2))}, "zarr/shard-index", SHARDED),
    Case("zarr/shard-index", "half of each other", {"c/0": shard((0, 2), (1, 2))}, "zarr/shard-index", SHARDED),
    Case("zarr/shard-index", "a length of nothing", {"c/0": shard((0, 0), (2, 2))}, "zarr/shard-index", SHARDED),
    Case(
        "zarr/shard-index",
        "a damaged one inside",
        {"c/0": DAMAGED_INSIDE},
        "zarr/shard-index",
        NESTED,
    ),
    Case("zarr/shard-index", "in any order, with a gap", {"c/0": shard((3, 2), (0, 2), data=b"ab?cd")}, "", SHARDED),
    Case("zarr/shard-index", "the same bytes for both", {"c/0": shard((0, 2), (0, 2))}, "", SHARDED),
    Case("zarr/shard-index", "an empty chunk", {"c/0": shard((EMPTY, EMPTY), (2, 2))}, "", SHARDED),
    Case(
        "zarr/shard-index",
        "no checksum asked for",
        {"c/0": shard((0, 2), (2, 2))[:-4]},
        "",
        sharded(index_codecs=INDEX[:1]),
    ),
    Case("zarr/chunk-data", "one byte too few", {"c/0": b"abc"}, "zarr/chunk-data"),
    Case("zarr/chunk-data", "one byte too many", {"c/0": b"abcde"}, "zarr/chunk-data"),
    Case("zarr/chunk-data", "no bytes", {"c/0": b""}, "zarr/chunk-data"),
    Case(
        "zarr/chunk-data",
        "half of a gzip stream",
        {"c/0": gzip.compress(b"abcd")[:-9]},
        "zarr/chunk-data",
        ZIPPED,
    ),
    Case("zarr/chunk-data", "no gzip stream", {"c/0": b"abcd"}, "zarr/chunk-data", ZIPPED),
    Case(
        "zarr/chunk-data",
        "gzip of another length",
        {"c/0": gzip.compress(b"abcdefgh")},
        "zarr/chunk-data",
        ZIPPED,
    ),
    Case("zarr/chunk-data", "a wrong CRC-32C", {"c/0": b"abcd1234"}, "zarr/chunk-data", CHECKED),
    Case("zarr/chunk-data", "an inner chunk of one byte", {"c/0": shard((0, 2), (2, 1))}, "zarr/chunk-data", SHARDED),
    Case("zarr/chunk-data", "four bytes", {"c/0": b"abcd"}),
    Case("zarr/chunk-data", "a gzip stream", {"c/0": gzip.compress(b"abcd")}, "", ZIPPED),
    Case("zarr/chunk-data", "a CRC-32C", {"c/0": crc(b"abcd")}, "", CHECKED),
    Case("zarr/chunk-data", "inner chunks", {"c/0": shard((0, 2), (2, 2))}, "", SHARDED),
    Case("zarr/chunk-data", "past the array's edge", {"c/1": b"abcd"}, "", array(shape=(5,))),
    Case("zarr/chunk-data", "no dimensions", {"c": b"a"}, "", array(shape=(), chunks=())),
    Case("zarr/not-decoded", "an unknown codec", {"c/0": b"?"}, "zarr/not-decoded", UNKNOWN),
    Case(
        "zarr/not-decoded",
        "an extension that is not understood",
        {"c/0": b"?"},
        "zarr/not-decoded",
        NEEDED,
    ),
    Case("zarr/not-decoded", "chunks of no known shape", {"c/0": b"?"}, "zarr/not-decoded", array(chunks=(4, 4))),
    Case(
        "zarr/not-decoded",
        "chunks of 3 GiB",
        {"c/0": b"?"},
        "zarr/not-decoded",
        HUGE,
    ),
    Case(
        "zarr/not-decoded",
        "an extension that may be ignored",
        {"c/0": b"abcd"},
        "",
        IGNORABLE,
    ),
]


def found(report):
    return {finding.id: finding for finding in report.findings if finding.id in (*RULES_HERE, "zip/crc")}


def check(case, report):
    findings = found(report)
    assert findings.keys() == set(case.found.split()), report.findings
    for finding in findings.values():
        assert finding.severity == (case.severity or RULES[finding.id].severity)
        assert finding.where.entry in case.stored()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.name}")
def test_case_in_an_archive(case, tmp_path):
    builder = ArchiveBuilder()
    for key, value in case.stored().items():
        builder.add(key, value)
    check(case, validate(builder.write(tmp_path / "cells.ozx"), level="data"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.name}")
def test_case_in_a_directory(case, tmp_path):
    check(case, validate(write_tree(tmp_path / "cells.zarr", case.stored()), level="data"))


def test_every_rule_has_a_case_that_triggers_it_and_one_that_does_not():
    assert (
        {case.rule for case in CASES if case.found}
        == {case.rule for case in CASES if not case.found}
        == set(RULES_HERE)
    )


@pytest.mark.parametrize("name", ["0/c/0", "notes"])
def test_checksums_of_all_entries_are_compared(tmp_path, name):
    builder = ArchiveBuilder.valid().add("notes", b"1234")
    assert found(validate(builder.write(tmp_path / "cells.ozx"), level="data")) == {}
    builder.set(name, data=b"?bcd")
    report = validate(builder.write(tmp_path / "cells.ozx"), level="data")
    assert found(report)["zip/crc"].where.entry == name


def test_an_archive_that_nobody_reads_as_a_whole_is_not_looked_into(tmp_path):
    builder = ArchiveBuilder.valid().set("0/c/0", flags=1)
    report = validate(builder.write(tmp_path / "cells.ozx"), level="data")
    assert found(report)["zarr/not-decoded"].message.startswith("no chunk was looked at: ")


def test_zarr_v2_is_decoded_too(tmp_path):
    document = {"zarr_format": 2, "shape": [8], "chunks": [4], "dtype": "|u1", "compressor": {"id": "zlib", "level": 1}}
    document |= {"fill_value": 0, "order": "C", "filters": None}
    values = {
        ".zgroup": b'{"zarr_format": 2}',
        "0/.zarray": json.dumps(document).encode(),
        "0/0": b"no zlib",
        "0/7": b"",
    }
    findings = found(validate(write_tree(tmp_path / "cells.zarr", values), level="data"))
    assert {rule: finding.where.entry for rule, finding in findings.items()} == {
        "zarr/chunk-data": "0/0",
        "zarr/chunk-key": "0/7",
    }


@pytest.mark.parametrize("jobs", [1, 4])
def test_of_many_only_the_first_are_named_and_progress_is_told(tmp_path, jobs):
    class Recorder:
        total = done = stopped = 0

        def start(self, description, total):
            self.total = total

        def advance(self, amount):
            self.done += amount

        def stop(self):
            self.stopped += 1

    values = {"zarr.json": group(), "0/zarr.json": json.dumps(array(shape=(400,), chunks=(1,))).encode()}
    values |= {f"0/c/{number}": b"ab" for number in range(400)}
    recorder = Recorder()
    report = validate(write_tree(tmp_path / "cells.zarr", values), level="data", jobs=jobs, progress=recorder)
    messages = [finding.message for finding in report.findings if finding.id == "zarr/chunk-data"]
    assert len(messages) == 21
    assert messages[-1] == "and 380 more of the same"
    assert recorder.done == 800
    assert recorder.done < recorder.total
    assert recorder.stopped == 1

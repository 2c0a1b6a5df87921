"""Archives that were cut off: at every byte, and large ones at every border between records."""

import os
import random
from pathlib import Path

import pytest
from answers import DOORS, answer
from cases.archive_builder import ArchiveBuilder, array, group
from packed import PROMISE, unmarked, write_archive
from stores import contents, pattern

import ozx
from ozx.archive.directory import read_end
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.places.byte_source import FileSource

pytestmark = pytest.mark.ci
VALID = ArchiveBuilder.valid
SMALL = {
    "as ozx writes it": VALID,
    "classic": lambda: VALID().classic(),
    "streamed": lambda: VALID().stream("0/zarr.json").stream("0/c/0", signature=False),
    "deflated": lambda: VALID().deflate("0/zarr.json"),
    "with a script before": lambda: VALID().with_(prefix=b"#!/bin/sh\n"),
}
#: What `recover` says where it has nothing to give.
NOTHING = ("rfc9/root", "zip/not-a-zip", "zip/crc")
#: What may be said of an archive whose end is missing.
CUT = ("zip/truncated", "zip/not-a-zip", "rfc9/not-split")


def borders(builder: ArchiveBuilder) -> list[int]:
    """Where records begin and end."""
    data = builder.build()
    signatures = (b"PK\x03\x04", b"PK\x07\x08", b"PK\x01\x02", b"PK\x06\x06", b"PK\x06\x07", b"PK\x05\x06")
    return sorted({at for at in range(len(data)) if data.startswith(signatures, at)})


def check_cut(folder: Path, builder: ArchiveBuilder, length: int) -> None:
    """Every door refuses what is left; `recover` gives every value that is whole, and says that it is not all."""
    path = folder / "in" / "cells.ozx"
    path.parent.mkdir(parents=True)
    path.write_bytes(builder.build()[:length])
    values = {entry.name.decode(): entry.value for entry in builder.entries}
    for door in DOORS:
        found = answer(door, path, values)
        if door == "validate":
            assert set(found.split()) <= {*CUT}, (length, found)
            assert found
        elif door == "recover":
            # Without sizes and signature, a value's end is where the next record begins.
            is_all = length >= builder.build().index(b"PK\x01\x02") + 4
            assert found in (("whole", "part") if is_all else ("part", *NOTHING)), (length, found)
            kept = unmarked(contents(ozx.OzxStore(path.with_name("recovered.ozx")))) if found not in NOTHING else {}
            assert kept == values if is_all else kept.items() <= values.items(), length
        else:
            assert found in CUT, (length, door, found)


@pytest.mark.parametrize("name", SMALL)
def test_cut_between_records(tmp_path, name):
    builder = SMALL[name]()
    for length in borders(builder):
        check_cut(tmp_path / str(length), builder, length)


@pytest.mark.parametrize("name", ["as ozx writes it", "streamed"])
def test_cut_at_every_byte(tmp_path, name):
    builder = SMALL[name]()
    for length in range(len(builder.build())):
        check_cut(tmp_path / str(length), builder, length)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """An archive of many entries, whose directory is far longer than what is read at first to find it."""
    values = {"zarr.json": group(), "0/zarr.json": array([32, 256], [1, 1])}
    values |= {f"0/c/{n // 256}/{n % 256}": pattern(n, 6 + n % 60) for n in range(8_000)}
    return write_archive(tmp_path_factory.mktemp("large") / "large.ozx", values, PROMISE)


def large_borders(large: Path) -> tuple[list[int], list[int]]:
    """Return where local headers begin, and where those of the directory do, with its end."""
    columns, end = ArchiveReader(str(large)).columns, read_end(FileSource(str(large)))
    headers = [end.directory_offset + int(start) for start in columns.starts]
    return columns.header_offsets.tolist(), [*headers, end.directory_offset + end.directory_size]


def test_a_large_one_cut_between_records(large, tmp_path):
    path = tmp_path / "cut.ozx"
    path.write_bytes(large.read_bytes())
    local, central = large_borders(large)
    refused = 0
    for place in sorted(local + central, reverse=True):
        os.truncate(path, place)
        with pytest.raises(FormatError) as caught:
            read_end(FileSource(str(path)))
        assert caught.value.rule in CUT
        refused += 1
    assert refused > 16_000


def test_a_large_one_is_refused_at_every_door_and_recovered_up_to_the_cut(large, tmp_path):
    names = ArchiveReader(str(large)).columns.names()
    local, central = large_borders(large)
    rng = random.Random(1)
    entries = [*(1, 2, 3, len(names) - 1), *rng.sample(range(4, len(names) - 1), 16)]
    cuts = [(local[entry], entry) for entry in entries]
    # Of a directory that is cut off, too, all local headers are there.
    cuts += [(place, len(names)) for place in [*rng.sample(central[1:-1], 10), central[0], central[-1]]]
    for number, (length, whole) in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "cells.ozx"
        path.write_bytes(large.read_bytes()[:length])
        with pytest.raises(FormatError) as caught:
            ozx.unpack(path, folder / "out", sync=False)
        assert caught.value.rule in CUT
        findings = {finding.id for finding in ozx.validate(path).findings if finding.severity == "error"}
        assert findings
        assert findings <= {*CUT}, (length, findings)
        result = ozx.recover(path, folder / "recovered.ozx", sync=False)
        assert result.entries == whole, length
        assert not result.complete or length > central[0], length
        assert ArchiveReader(result.path).columns.names() == names[:whole]
        assert sorted(os.listdir(folder)) == ["cells.ozx", "recovered.ozx"]

"""Archives of many makes, damaged in one or two places: what is called right is right. The soak tries a million."""

import os
import random
from pathlib import Path

import pytest
from cases.archive_builder import ArchiveBuilder
from damage import Base, bases, check, edited, leave_out, mutate, wrapped_archive

import ozx
from ozx.archive.directory import iter_headers, read_end
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError
from ozx.places.byte_source import MemorySource

TRIES = 300
SAMPLES = Path(os.environ.get("OZX_SAMPLES", "/nonexistent")) / "zip"


def base_called(name):
    return next(base for base in bases() if base.name == name)


def headers_of(base):
    return [record for record in base.records if record.kind == b"PK\1\2"]


@pytest.mark.parametrize("base", bases(), ids=lambda base: base.name)
def test_an_archive_without_damage_is_read_and_complete(base):
    outcome, wrong = check(base, base.data)
    assert wrong == []
    assert set(outcome) == {"recover: complete", "store: read"}


@pytest.mark.ci
def test_no_wrong_value_is_called_right():
    rng, findings = random.Random("tests"), []
    for number in range(TRIES):
        base = rng.choice(bases())
        data, what = mutate(base, rng)
        findings += [(number, base.name, what, text) for text in check(base, data)[1] if text.startswith("recover")]
    assert findings == []


def test_a_value_whose_inflated_size_wrapped_is_refused_and_recovered():
    """The deflated value is shorter than 512 bytes, and its size modulo 512 does not show how often it wrapped."""
    base = base_called("wrapped, by minizip")
    values = base.values | {"OME/x": bytes(3_000)}
    data = wrapped_archive(values, deflated=["OME/x"])
    outcome, wrong = check(Base("a long text", data, values, wraps=True), data)
    assert (set(outcome), wrong) == ({"recover: complete", "store: refused"}, [])


def test_zeros_that_both_headers_call_empty_leave_no_evidence():
    base = base_called("by zipfile, stored")
    for key, outcome in (
        ("0/c/15/0", "store: read, with zeros that both headers call empty"),
        ("0/c/0/0", "store: refused"),
    ):
        data, name = bytearray(base.data), key.encode()
        for record in base.records:
            if data[record.start : record.stop].find(name) >= 0 and record.kind in (b"PK\3\4", b"PK\1\2"):
                start = record.start + (14 if record.kind == b"PK\3\4" else 16)
                data[start : start + 12] = bytes(12)
        outcomes, wrong = check(base, bytes(data))
        assert outcome in outcomes
        assert "recover: complete" not in outcomes
        assert wrong == []


@pytest.mark.parametrize("name", ["packed", "by zipfile, stored", "streamed, deflated", "streamed, ZIP64"])
@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("last", range(4))
def test_headers_that_all_end_records_leave_out_are_not_lost(name, first, last):
    base = base_called(name)
    data = edited(base.data, leave_out(base, first, last))
    assert check(base, data)[0].keys() == {"recover: complete", "store: refused" if first + last else "store: read"}
    if first + last:
        message = "another header is at|two possible central directories"
        with pytest.raises(FormatError, match=message) as caught:
            list(iter_headers(MemorySource(data), read_end(MemorySource(data))))
        assert caught.value.rule == "zip/directory"


@pytest.mark.parametrize("name", ["packed", "by zipfile, stored", "built, classic, with a prefix"])
def test_a_directory_of_which_the_end_records_leave_out_everything(name):
    base = base_called(name)
    count = len(headers_of(base))
    for first, last in ((0, count), (count, 0)):
        outcome, wrong = check(base, edited(base.data, leave_out(base, first, last)))
        assert outcome["store: refused"] == 1
        assert outcome["recover: refused"] == 0
        assert wrong == []


@pytest.mark.parametrize("fill", [bytes, lambda length: b"x" * length], ids=["zeros", "letters"])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 3), (1, 0), (3, 0), (1, 1)])
def test_headers_that_are_left_out_and_overwritten_are_not_called_deleted(first, last, fill):
    base = base_called("packed")
    headers = headers_of(base)
    gone = [*headers[:first], *headers[len(headers) - last :]]
    edits = [(record.start, record.length, fill(record.length)) for record in gone]
    outcome, wrong = check(base, edited(base.data, leave_out(base, first, last) + edits))
    assert outcome["recover: in part"] == 1
    # Bytes before the directory may be unused space.
    assert outcome["store: refused" if last else "store: read"] == 1
    assert wrong == []


def test_a_header_in_the_comment_of_the_header_before_it():
    base = base_called("by zipfile, stored")
    *_, before, last = headers_of(base)
    counts = [
        (record.start + 8, 4, 2 * (len(headers_of(base)) - 1).to_bytes(2, "little")) for record in base.records[-1:]
    ]
    data = edited(base.data, [*counts, (before.start + 32, 2, last.length.to_bytes(2, "little"))])
    # This is legal, but the value of the last entry is still there.
    assert check(base, data) == ({"store: read": 1, "recover: in part": 1}, [])
    damaged = edited(data, [(data.index(b"<OME/>"), 1, b"?")])
    assert check(base, damaged) == ({"store: read": 1, "recover: in part": 1}, [])


def _with_gap(base, before):
    """Return the archive with bytes between the last value and the directory; end records count them."""
    start = headers_of(base)[0].start
    record = base.records[-1]
    offset = (start + len(before)).to_bytes(4, "little")
    return edited(base.data, [(start, 0, before), (record.start + 16, 4, offset)])


def test_an_old_directory_with_its_end_record_is_unused_space():
    base = base_called("by zipfile, stored")
    old = base.data[headers_of(base)[0].start :]
    assert ArchiveReader(MemorySource(_with_gap(base, old))).columns.names() == list(base.values)
    with pytest.raises(FormatError, match="another header is at"):
        _ = ArchiveReader(MemorySource(_with_gap(base, old[: base.records[-1].start - len(base.data)]))).columns


@pytest.mark.parametrize(
    ("between", "rule"),
    [
        (b"PK\5\5\x40\0" + bytes(64), None),
        (bytes(45), None),
        (bytes(46), "zip/bytes-after-directory"),
        (bytes(50) + b"PK\1\2", "zip/directory"),
    ],
    ids=["a digital signature", "less than a header", "space for a header", "a header later"],
)
def test_bytes_behind_the_directory(between, rule):
    base = base_called("by zipfile, stored")
    data = edited(base.data, [(base.records[-1].start, 0, between)])
    if rule is None:
        assert len(ArchiveReader(MemorySource(data)).columns) == len(base.values)
        return
    with pytest.raises(FormatError) as caught:
        read_end(MemorySource(data))
    assert caught.value.rule == rule
    assert check(base, data)[0].keys() == {"recover: complete", "store: refused"}


def test_a_last_value_that_ends_like_a_directory_is_read():
    base = base_called("by zipfile, stored")
    header = base.data[headers_of(base)[0].start : headers_of(base)[0].stop]
    for local_extra in (b"", bytes(4) + bytes(60)):
        builder = ArchiveBuilder.valid(**{"0/c/1": b"x" * 99 + header}).classic()
        data = builder.set("0/c/1", local={"extra": local_extra}).build()
        assert ArchiveReader(MemorySource(data)).read(len(builder.entries) - 1).endswith(header)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="OZX_SAMPLES is not set")
def test_recover_keeps_the_chunk_of_a_header_behind_the_directory(tmp_path):
    path = SAMPLES / "end_record_counts_one_less.zip"
    with pytest.raises(FormatError, match="another header is at"):
        ozx.open(path)
    assert "zip/directory" in {finding.id for finding in ozx.validate(path).findings}
    result = ozx.recover(path, tmp_path / "out.ozx")
    assert (result.complete, result.entries) == (True, 6)
    assert "0/c/1/1" in {entry.key for entry in ozx.list_entries(tmp_path / "out.ozx")}


def test_recover_and_validate_name_an_undamaged_value_that_is_not_listed(tmp_path):
    builder = ArchiveBuilder.valid()
    left_out = ArchiveBuilder().add("0/c/0", b"abcd")["0/c/0"].local_header(zip64=True) + b"abcd"
    builder.entries.pop()
    builder["0/zarr.json"].after = left_out
    path = tmp_path / "a.ozx"
    path.write_bytes(builder.build())
    found = {finding.id: finding for finding in ozx.validate(path).findings}
    assert found["zip/unlisted-entry"].where.offset == path.read_bytes().index(left_out)
    assert "'0/c/0'" in found["zip/unlisted-entry"].message
    result = ozx.recover(path, tmp_path / "out.ozx")
    assert (result.complete, result.entries, result.lost_count) == (False, 2, 0)
    assert [note for note in result.notes if note.endswith("lost their headers: 0/c/0")]

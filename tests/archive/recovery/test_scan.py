"""Local headers without a directory: what is found, and where one value ends."""

import random
import struct
import time
import zlib

import pytest
from cases.archive_builder import DESCRIPTOR, ENCRYPTED, SENTINEL, Member, deflate, forge, zip64_extra
from memory import traced_memory

from ozx.archive.recovery.scan import iter_found_value, scan_archive
from ozx.errors import FormatError
from ozx.places.byte_source import MemorySource


def bodies(*members):
    """Return the local part of an archive, without its directory."""
    return b"".join(member.local_record() for member in members)


def scan(data):
    """Return name and value of what is found, in order."""
    source = MemorySource(data)
    found = scan_archive(source).found
    return [
        (entry.name, b"".join(iter_found_value(source, entry))) for entry in map(found.__getitem__, range(len(found)))
    ]


UNKNOWN = {"crc32": 0, "compressed": 0, "uncompressed": 0}
PIXELS = b"pixels " * 50
LATER = Member(b"later", b"more")


def descriptor(value, stored=None, *, signature=True, wide=False):
    sizes = len(value if stored is None else stored), len(value)
    return (b"PK\7\x08" if signature else b"") + struct.pack("<I2Q" if wide else "<3I", zlib.crc32(value), *sizes)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("signature", [False, True])
@pytest.mark.parametrize("method", [0, 8])
@pytest.mark.parametrize("value", [PIXELS, b"", b"PK\7\x08 and PK\3\4 inside"])
def test_data_descriptors_of_every_form(value, method, signature, wide):
    data = deflate(value) if method else value
    follow = descriptor(value, data, signature=signature, wide=wide)
    member = Member(b"0/c/0", data, value, method=method, flags=DESCRIPTOR, local=UNKNOWN, after=follow)
    assert scan(bodies(member, LATER)) == [("0/c/0", value), ("later", b"more")]
    result = scan_archive(MemorySource(bodies(member, LATER)))
    assert (result.unexplained, result.broken) == (0, [])


def test_zip64_sizes():
    member = Member(b"a", PIXELS, local={"compressed": SENTINEL, "uncompressed": SENTINEL})
    member.local_extra = zip64_extra(len(PIXELS), len(PIXELS))
    assert scan(bodies(member, LATER)) == [("a", PIXELS), ("later", b"more")]
    member.local_extra = zip64_extra(len(PIXELS))
    result = scan_archive(MemorySource(bodies(member, LATER)))
    assert (result.found.names, result.broken[0].reason) == (["later"], "its sizes are damaged")


def test_a_wrong_method_or_flag_of_a_stored_value_is_seen_through():
    for local in ({"method": 8}, {"method": 77}, {"method": 93}, {"flags": ENCRYPTED}):
        assert scan(bodies(Member(b"a", PIXELS, local=local), LATER)) == [("a", PIXELS), ("later", b"more")]


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        (Member(b"a", PIXELS, local={"crc32": 1}), "its CRC-32 does not match: its bytes, or its header, are damaged"),
        (Member(b"a", PIXELS, flags=ENCRYPTED, local={"crc32": 1}), "it is encrypted"),
        (Member(b"a", PIXELS, method=93, local={"crc32": 1}), "ozx does not support its method, zstd"),
        (Member(b"a", PIXELS, flags=DESCRIPTOR, local=UNKNOWN), "its end was not found"),
        (
            Member(b"a", b"\xff" * 40, PIXELS, method=8),
            "its CRC-32 does not match: its bytes, or its header, are damaged",
        ),
    ],
)
def test_what_is_broken_is_named_and_what_follows_is_found(member, reason):
    result = scan_archive(MemorySource(bodies(member, LATER)))
    assert result.found.names == ["later"]
    assert [(entry.name, entry.start, entry.reason) for entry in result.broken] == [("a", 0, reason)]


@pytest.mark.parametrize("length", [5, 30, 32, 40, 60])
def test_what_is_cut_off_is_named(length):
    data = bodies(LATER) + bodies(Member(b"0/c/0", PIXELS))[:length]
    result = scan_archive(MemorySource(data))
    assert result.found.names == ["later"]
    (broken,) = result.broken
    assert broken.is_cut_off
    assert "0/c/0".startswith(broken.name)


def test_a_value_is_stepped_over_whatever_it_holds():
    inner = forge([Member(b"inner", b"value")])
    result = scan_archive(MemorySource(bodies(Member(b"a", inner), LATER)))
    assert (result.found.names, len(result.listed), result.directory_follows) == (["a", "later"], 0, False)
    damaged = bytearray(bodies(Member(b"a", inner + b"end"), LATER))
    damaged[31 + len(inner) + 1] ^= 1
    result = scan_archive(MemorySource(bytes(damaged)))
    assert (result.found.names, result.inside_broken, len(result.listed)) == (["inner", "later"], {0}, 0)
    cut = bodies(Member(b"a", inner + b"end"))[:-1]
    result = scan_archive(MemorySource(cut))
    assert (result.found.names, result.inside_broken, len(result.listed)) == (["inner"], {0}, 0)


def test_garbage_anywhere():
    noise = random.Random(1).randbytes(5_000).replace(b"PK", b"  ")
    result = scan_archive(MemorySource(noise + bodies(LATER) + bytes(9_000_000) + bodies(LATER) + noise))
    assert result.found.names == ["later", "later"]
    assert (result.unexplained, result.has_holes) == (9_010_000, True)


def test_signatures_across_blocks():
    for shift in range(5):
        data = bytes((4 << 20) - shift) + bodies(LATER)
        assert scan(data) == [("later", b"more")]


@pytest.mark.ci
def test_a_bomb_is_not_inflated():
    value = bytes(100 << 20)
    data = deflate(value)
    member = Member(b"a", data, b"", method=8, local={"crc32": zlib.crc32(value), "uncompressed": len(value)})
    with traced_memory() as memory:
        result = scan_archive(MemorySource(bodies(member, LATER)))
    assert result.found.names == ["later"]
    assert memory.peak < 20 << 20


@pytest.mark.ci
@pytest.mark.parametrize("flags", [0, DESCRIPTOR])
def test_headers_that_all_claim_the_rest_end_soon(flags):
    local = UNKNOWN if flags else {"crc32": 1, "compressed": 1 << 20, "uncompressed": 1 << 20}
    data = bodies(*[Member(b"a", b"x", flags=flags, local=local)] * 20_000) + bytes(1 << 20)
    start = time.perf_counter()
    assert len(scan_archive(MemorySource(data)).found) == 0
    assert time.perf_counter() - start < 20


@pytest.mark.ci
def test_memory_stays_small():
    data = bodies(*(Member(b"0/c/%d/%d" % divmod(n, 100), b"%d" % n) for n in range(20_000)))
    source = MemorySource(data)
    with traced_memory() as memory:
        result = scan_archive(source)
    assert len(result.found) == 20_000
    assert memory.held < 20_000 * 200
    assert memory.peak < 20_000 * 200 + (12 << 20)


def test_a_value_that_changed_since_is_told():
    data = bodies(Member(b"a", PIXELS))
    entry = scan_archive(MemorySource(data)).found[0]
    changed = data[:-1] + b"?"
    with pytest.raises(FormatError, match="'a' was read twice, with different results"):
        list(iter_found_value(MemorySource(changed), entry))

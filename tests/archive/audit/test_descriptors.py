"""Data descriptors of every form, right and wrong."""

import zlib

from cases.archive_builder import ArchiveBuilder

from ozx.archive.audit.facts import audit
from ozx.archive.byte_source import MemorySource
from ozx.archive.reader import ArchiveReader

SIGNATURE = b"PK\x07\x08"


def layout_of(builder):
    return audit(ArchiveReader(MemorySource(builder.build()))).layout


def test_a_checksum_may_look_like_a_signature():
    value = b"\xac\nz\xd5"
    assert zlib.crc32(value) == int.from_bytes(SIGNATURE, "little")
    builder = ArchiveBuilder.valid(**{"0/c/0": value}).stream("0/c/0", signature=False)
    assert layout_of(builder).bad_descriptors.tolist() == []

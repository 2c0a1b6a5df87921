"""Chunks in shards that end in a checksum: every reader of arrays reads them, and most notice a byte that changed."""

import numpy as np
import pytest
from judges import ARRAY_JUDGES, RefusalError, require

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.archive.writer import ArchiveWriter

# zarrs, as zarrista 0.1.0 calls it, and zarrita 0.7.5 take the four bytes off without a look at them.
BLIND = frozenset(["zarrita", "zarrs"])

DATA = np.random.default_rng(3).integers(0, 4000, (300, 400), "uint16")


@pytest.fixture(params=ARRAY_JUDGES, ids=lambda judge: judge.name)
def judge(request):
    require(request.param)
    return request.param


@pytest.mark.parametrize("codec", ["none", "zstd", "gzip", "blosc-lz4", "blosc-zstd"])
def test_every_reader_reads_them(tmp_path, judge, codec):
    ozx.write_image(tmp_path / "a.ozx", DATA, axes="yx", codec=codec, chunks="y=64,x=64")
    assert ozx.inspect(tmp_path / "a.ozx").images[0].levels[0].codecs[-1] == "crc32c"
    np.testing.assert_array_equal(judge.read_array(tmp_path / "a.ozx", "0"), DATA)


def damaged(source, target, key):
    """Copy an archive with one byte of a value changed, and the value's CRC-32 with it: only the shard can tell."""
    reader = ArchiveReader(str(source))
    with open(target, "w+b") as file:
        writer = ArchiveWriter(file.fileno())
        for name in reader.columns.names():
            value = reader.read(reader.find(name))
            if name == key:
                value = value[:100] + bytes([value[100] ^ 1]) + value[101:]
            writer.add(name, value)
        writer.finish()
    return target


def test_readers_notice_damage(tmp_path, judge):
    ozx.write_image(tmp_path / "a.ozx", DATA, axes="yx", codec="none", chunks="y=64,x=64")
    broken = damaged(tmp_path / "a.ozx", tmp_path / "b.ozx", "0/c/0/0")
    if judge.name in BLIND:
        assert (judge.read_array(broken, "0") != DATA).sum() == 1
        return
    with pytest.raises(RefusalError):
        judge.read_array(broken, "0")


def test_without_them_nothing_is_noticed(tmp_path):
    """So the damage of the test above is such that nothing else can tell."""
    ozx.write_image(tmp_path / "a.ozx", DATA, axes="yx", codec="none", chunks="y=64,x=64", chunk_checksums="drop")
    broken = damaged(tmp_path / "a.ozx", tmp_path / "b.ozx", "0/c/0/0")
    assert (ARRAY_JUDGES[0].read_array(broken, "0") != DATA).sum() == 1

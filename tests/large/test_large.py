"""More than 4 GiB, more than 65,535 entries: really written, really read back, by us and by others."""

import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import tifffile
from hierarchies import make_image
from stores import SEED, put

import ozx
from ozx.archive.reader import ArchiveReader

pytestmark = pytest.mark.ci

GIB = 1 << 30


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def judged(path):
    """Ask the programs that are there whether the archive is sound."""
    missing = [name for name in ("unzip", "7z", "bsdtar") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    assert "No errors" in run("unzip", "-tq", str(path))
    assert "Everything is Ok" in run("7z", "t", str(path))
    return run("bsdtar", "-tf", str(path)).splitlines()


def plant_sparse(path, size, marks):
    """Make a sparse file: zeros, with a few bytes where they would be lost first."""
    with open(path, "wb") as file:
        file.truncate(size)
        for offset, data in marks.items():
            file.seek(offset)
            file.write(data)


def test_more_than_4_gib(tmp_path):
    root = make_image(tmp_path / "h")
    big = {0: b"begin", 4 * GIB - 3: b"across", 4 * GIB + (1 << 20) - 3: b"end"}
    plant_sparse(root / "0" / "c" / "0" / "1", 4 * GIB + (1 << 20), big)
    (root / "0" / "c" / "1").mkdir()
    plant_sparse(root / "0" / "c" / "1" / "0", 1000, {0: b"z"})
    result = ozx.pack(root, sync=False)
    assert result.bytes > 4 * GIB
    names = judged(result.path)
    assert names == ["zarr.json", "0/zarr.json", "0/c/0/0", "0/c/0/1", "0/c/1/0"]
    reader = ArchiveReader(result.path)
    index = reader.find("0/c/0/1")
    for offset, data in big.items():
        assert reader.read(index, offset, len(data)) == data
    last = reader.find("0/c/1/0")
    assert reader.columns.header_offsets[last] > 4 * GIB
    assert reader.read(last)[:1] == b"z"
    with zipfile.ZipFile(result.path) as archive:
        info = archive.getinfo("0/c/1/0")
        assert info.header_offset == reader.columns.header_offsets[last]
        assert archive.read(info)[:1] == b"z"
    report = ozx.validate(result.path)
    assert [finding.id for finding in report.findings if finding.severity != "note"] == ["zip/large-entry"]
    unpacked = ozx.unpack(result.path, tmp_path / "out", sync=False)
    with open(f"{unpacked.path}/0/c/0/1", "rb") as file:
        for offset, data in big.items():
            file.seek(offset)
            assert file.read(len(data)) == data
    run("cmp", str(root / "0/c/0/1"), f"{unpacked.path}/0/c/0/1")


@pytest.mark.parametrize("entries", [65_534, 65_535, 65_536])
def test_other_programs_read_the_numbers_of_entries_where_16_bits_end(tmp_path, entries):
    store = ozx.OzxStore(tmp_path / "a.ozx", mode="w")
    for key, data in (SEED | {f"0/c/0/{number}": b"%d" % number for number in range(entries - len(SEED))}).items():
        put(store, key, data)
    store.close()
    assert len(judged(tmp_path / "a.ozx")) == entries


def peak_of(call):
    code = f"""
import ozx
ozx.{call}
status = open('/proc/self/status').read().split('VmHWM:')[1]
print(status.split()[0])
"""
    return int(run(sys.executable, "-c", code)) * 1024


def test_many_entries_and_a_large_one_in_little_memory(tmp_path):
    entries = 80_003
    root = make_image(tmp_path / "h", {f"0/c/{n // 1000}/{n % 1000}": b"%d" % n for n in range(entries - 3)})
    plant_sparse(root / "0" / "c" / "large", 512 << 20, {})
    archive, out = tmp_path / "a.ozx", tmp_path / "out"
    limit = (100 << 20) + 200 * entries
    assert peak_of(f"pack({str(root)!r}, {str(archive)!r}, sync=False)") < limit
    assert len(judged(archive)) == entries
    with zipfile.ZipFile(archive) as reader:
        assert len(reader.namelist()) == entries
        assert reader.read("0/c/79/999") == b"79999"
    assert peak_of(f"unpack({str(archive)!r}, {str(out)!r}, sync=False)") < limit
    run("diff", "-rq", str(root), str(out))


def test_an_imagej_stack_of_more_than_4_gib_is_imported(tmp_path):
    path, plane, count = tmp_path / "a.tif", np.zeros((8192, 8192), "uint16"), 34
    description = f"ImageJ=1.53\nimages={count}\nslices={count}\n"
    tifffile.imwrite(path, plane, description=description, metadata=None)
    begin = path.stat().st_size - plane.nbytes
    marks = {(0, 5, 7): 11, (16, 8191, 8191): 22, (33, 4000, 4000): 33, (33, 8191, 8191): 44}
    with open(path, "r+b") as file:
        file.truncate(begin + count * plane.nbytes)
        for (z, y, x), value in marks.items():
            file.seek(begin + (z * plane.size + y * 8192 + x) * 2)
            file.write(value.to_bytes(2, sys.byteorder))
    ozx.import_image(path, downsample="none", sync=False)
    array = ozx.open(tmp_path / "a.ozx")["0"]
    assert array.shape == (count, 8192, 8192)
    for place, value in marks.items():
        assert array[place] == value

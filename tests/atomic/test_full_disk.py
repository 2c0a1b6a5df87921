"""A full disk: the message says what was needed and what is free, and nothing is left behind."""

import errno
import os
import subprocess
import sys

import pytest
from hierarchies import FIXTURES

import ozx
from ozx.atomic.new_file import replacing_file
from ozx.atomic.targets import full_disk_error
from ozx.errors import ResourceError


@pytest.mark.posix("needs statvfs")
def test_what_is_needed_and_what_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((1, 4096, 9, 9, 2, 9, 9, 9, 0, 255)))
    path = tmp_path / "a.ozx"
    with pytest.raises(ResourceError) as caught, replacing_file(str(path), sync=False) as new:
        os.write(new.descriptor, bytes(8192))
        new.needed = lambda: 20_000
        raise OSError(errno.ENOSPC, "No space left on device")
    error = caught.value
    assert error.message == "No space left on device: about 20,000 bytes are needed, 16,384 are free"
    assert error.hint == "Free some space, or write to another disk."
    assert (error.errno, error.filename, error.path) == (errno.ENOSPC, str(path), str(path))
    assert os.listdir(tmp_path) == []


@pytest.mark.posix("needs statvfs")
def test_what_was_written_is_the_least_that_is_needed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(4096))
    quota = full_disk_error(OSError(errno.EDQUOT, "Disk quota exceeded"), "x.ozx", str(tmp_path / "a"))
    assert str(quota) == "x.ozx: Disk quota exceeded: more than 4,096 bytes are needed"
    space = full_disk_error(OSError(errno.ENOSPC, "No space left on device"), str(tmp_path / "x"), str(tmp_path / "no"))
    assert "more than 0 bytes are needed, " in space.message


@pytest.mark.posix("no such limit here")
def test_a_file_that_may_not_be_so_long(tmp_path):
    script = (
        "import resource, signal, sys; from ozx.cli.app import run; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)); "
        "sys.exit(run(sys.argv[1:]))"
    )
    source, out = FIXTURES / "image.ome.zarr", tmp_path / "cells.ozx"
    told = subprocess.run(
        [sys.executable, "-c", script, "pack", source, out], capture_output=True, text=True, check=False
    )
    needed = sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    assert told.returncode == 4
    assert told.stderr.startswith(f"error: {out}: File too large: about {needed:,} bytes are needed, about ")
    assert "ulimit -f" in told.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a small file system needs root on Linux")
@pytest.mark.parametrize("verb", ["pack", "unpack"])
def test_a_small_disk(tmp_path, verb):
    cells = tmp_path / "cells.ozx"
    ozx.pack(FIXTURES / "image.ome.zarr", cells, sync=False)
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=False).returncode:
        pytest.skip("nothing may be mounted here")
    try:
        call = {"pack": lambda: ozx.pack(FIXTURES / "image.ome.zarr", disk / "x.ozx")}
        call["unpack"] = lambda: ozx.unpack(cells, disk / "x")
        with pytest.raises(
            ResourceError, match=r"No space left on device: .* bytes are needed, [\d,]+ are free"
        ) as caught:
            call[verb]()
        assert caught.value.errno == errno.ENOSPC
        assert os.listdir(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)

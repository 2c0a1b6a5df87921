"""SIGKILL at any moment of a write: the old file, or none, or the new one; and what was written can be found again."""

import functools
import os
import pathlib
import random
import signal
import struct
import time
import warnings
import zlib

import pytest
from cases.archive_builder import group
from children import in_child, wait
from ending import die_at_step, needs_fork
from packed import sort_values, write_archive
from stores import SEED, assert_finished, pattern, put, run, write_store
from sweeping import forget_swept_folders

from ozx import OzxStore
from ozx.errors import OzxWarning
from ozx.store import growing_file

pytestmark = needs_fork

KILLS = int(os.environ.get("OZX_KILLS", "50"))

OLD = SEED | {f"0/c/{n // 8}/{n % 8}": pattern(n, 40_000) for n in range(60)}
NOTES = {"ome": {"version": "0.5"}, "notes": "n" * 90_000}


@functools.cache
def steps(*, outgrown):
    """Return what is done: set, replace, delete (None). Many values make closing take its time."""
    moments, done = random.Random(7), list(SEED.items())
    for turn in range(150):
        key = f"0/c/{moments.randrange(8)}/{moments.randrange(8)}"
        is_deleted = moments.random() < 0.15
        done.append((key, None if is_deleted else pattern(1_000 + turn, moments.choice([300, 20_000, 20_000, 70_000]))))
        if turn % 40 == 20:
            done.append(("zarr.json", group(attributes={"ome": {"version": "0.5"}, "turn": turn})))
    done += [(f"0/small/{turn}", pattern(turn, 40 + turn % 50)) for turn in range(1_500)]
    # Little is free in the end, so that the file can stay as it is.
    done += [(f"0/large/{turn}", pattern(9_000 + turn, 250_000)) for turn in range(40)]
    return [*done, ("zarr.json", group(attributes=NOTES))] if outgrown else done


def write(path, mode, progress=None, *, outgrown=False):
    """Do all steps; tell each that is done, and that closing begins, through the pipe `progress`."""
    warnings.simplefilter("ignore", OzxWarning)
    store = OzxStore(path, mode)
    for key, value in steps(outgrown=outgrown):
        run(store.delete(key)) if value is None else put(store, key, value)
        if progress is not None:
            os.write(progress, b".")
    if progress is not None:
        os.write(progress, b"|")
    store.close()


def state_after(number, base, *, outgrown):
    values = dict(base)
    for done, (key, value) in enumerate(steps(outgrown=outgrown)):
        if done == number:
            return values
        values.pop(key, None)
        if value is not None:
            values[key] = value
    return values


def scan(data):
    """Return name and value of every entry behind a local header, found without a directory; and what is torn."""
    found, torn, position = {}, [], data.find(b"PK\x03\x04")
    data += bytes(100)  # a header at the very end may be cut off
    while position >= 0:
        (checksum,) = struct.unpack_from("<I", data, position + 14)
        name_length, extra_length = struct.unpack_from("<HH", data, position + 26)
        behind_name = position + 30 + name_length
        name = data[position + 30 : behind_name].decode("utf-8", "replace")
        start = behind_name + extra_length
        identifier, _, size = struct.unpack("<HHQ", data[behind_name : behind_name + 12].ljust(12))
        if identifier == 1 and start + size <= len(data) - 100 and zlib.crc32(data[start : start + size]) == checksum:
            found.setdefault(name, []).append(data[start : start + size])
            position = data.find(b"PK\x03\x04", start + size)
        else:
            torn.append(name)
            position = data.find(b"PK\x03\x04", position + 4)
    return found, torn


def assert_recoverable(data, number, *, closing, outgrown):
    """All that was set before the kill stands in the unfinished file, whole; at most what was being set is torn."""
    found, torn = scan(data)
    assert len(torn) <= 1, torn
    before, after = (state_after(n, {}, outgrown=outgrown) for n in (number, number + 1))
    if not any("/c/" in key for key in before):
        return  # metadata is drafted from the first data on
    for key, value in before.items():
        if key.endswith("zarr.json") and closing:
            continue  # the final metadata is being written over the drafts
        assert value in found.get(key, []) or after.get(key) in [None, *found.get(key, [])], key


def kill(work, *, steps_done, seconds):
    """Run `work` in a child, and kill it so many seconds after so many steps; return how it ended and what it told.

    Closing is the step after the last one.
    """
    read, write_end = os.pipe()
    child = in_child(lambda: work(write_end))
    os.close(write_end)
    told = b""
    while len(told) < steps_done and (data := os.read(read, 1 << 16)):
        told += data
    end = time.perf_counter() + seconds
    while time.perf_counter() < end and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        pass
    os.kill(child, signal.SIGKILL)
    code = wait(child)
    while data := os.read(read, 1 << 16):
        told += data
    os.close(read)
    return code, told


def duration_of_closing(work):
    read, write_end = os.pipe()
    child = in_child(lambda: work(write_end))
    os.close(write_end)
    while (data := os.read(read, 1 << 16)) and b"|" not in data:
        pass
    start = time.perf_counter()
    assert wait(child) == 0
    os.close(read)
    return time.perf_counter() - start


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["w", "x", "a"])
def test_killed_at_random_moments(tmp_path, mode):
    path = tmp_path / "f" / "a.ozx"
    path.parent.mkdir()
    before = None if mode == "x" else write_archive(path, sort_values(OLD)).read_bytes()

    def restore_folder():
        for name in os.listdir(path.parent):
            os.unlink(path.parent / name)
        if before is not None:
            path.write_bytes(before)

    complete, times = {}, {}
    for outgrown in (False, True):
        restore_folder()
        times[outgrown] = duration_of_closing(
            lambda pipe, outgrown=outgrown: write(path, mode, pipe, outgrown=outgrown)
        )
        complete[outgrown] = path.read_bytes()
        assert_finished(path, state_after(None, OLD if mode == "a" else {}, outgrown=outgrown))
    moments = random.Random(5)
    outcomes = []
    for number in range(KILLS):
        restore_folder()
        outgrown = number % 4 >= 2
        count = len(steps(outgrown=outgrown))
        at_close = number % 2
        code, told = kill(
            lambda pipe, outgrown=outgrown: write(path, mode, pipe, outgrown=outgrown),
            steps_done=count + 1 if at_close else moments.randrange(count),
            seconds=moments.uniform(0, times[outgrown]) if at_close else moments.uniform(0, 0.003),
        )
        assert code in (0, -signal.SIGKILL)
        closing, done = b"|" in told, told.count(b".")
        content = path.read_bytes() if path.exists() else None
        assert content in (before, complete[outgrown]), "a broken file has the final name"
        assert code or content == complete[outgrown]
        left = {name for name in os.listdir(path.parent) if not name.endswith(".ozx-tmp")}
        assert left <= {"a.ozx", "a.ozx.partial"}
        partial = path.with_name("a.ozx.partial")
        if content == before and partial.exists() and partial.stat().st_size:
            assert_recoverable(partial.read_bytes(), done, closing=closing, outgrown=outgrown)
        if content == before and closing:
            assert partial.exists()
        outcomes.append("whole" if not code else "closing" if closing else "writing")
        if at_close:  # the time measured before may differ from that of a busy disk now: aim at the middle of closing
            times[outgrown] *= 1.2 if code else 0.7
        forget_swept_folders()
        with warnings.catch_warnings(action="ignore", category=OzxWarning):
            assert write_store(path, {"zarr.json": SEED["zarr.json"], "k": pattern(number, 100)}).exists()
        assert_finished(path, {"zarr.json": SEED["zarr.json"], "k": pattern(number, 100)})
        assert set(os.listdir(path.parent)) <= {"a.ozx", "a.ozx.partial.1"}
    # Fewer kills than by hand may all miss the closing on a busy machine.
    assert outcomes.count("writing") > 0.35 * KILLS or KILLS < 50, outcomes
    assert outcomes.count("closing") > 0.1 * KILLS or KILLS < 50, outcomes


#: What changes the disk.
STEPS = ("fsync", "link", "unlink", "rename", "replace", "ftruncate", "pwrite", "pwritev", "copy_file_range")


@pytest.mark.parametrize(
    "mode", [pytest.param("w", marks=pytest.mark.ci), pytest.param("x", marks=pytest.mark.ci), "a"]
)
@pytest.mark.parametrize("rewritten", [True, pytest.param(False, marks=pytest.mark.ci)])
def test_killed_before_every_step_that_changes_the_disk(tmp_path, monkeypatch, mode, rewritten):
    monkeypatch.setattr("ozx.store.finishing.MOST_UNUSED", 0 if rewritten else 1)
    old = SEED | {"0/c/0/0": pattern(1, 3_000), "0/c/0/1": pattern(2, 3_000)}
    new = SEED | {"0/c/0/0": pattern(3, 2_500), "0/c/1/1": pattern(4, 3_000)}
    expected = old | new if mode == "a" else new
    for deadly in range(100):
        path = tmp_path / str(deadly) / "a.ozx"
        path.parent.mkdir()
        before = None if mode == "x" else write_archive(path, sort_values(old)).read_bytes()

        def work(path=path, deadly=deadly):
            die_at_step(deadly, [(os, name) for name in STEPS])
            warnings.simplefilter("ignore", OzxWarning)
            store = OzxStore(path, mode)
            for key, value in new.items():
                put(store, key, value)
            store.close()

        forget_swept_folders()
        code = wait(in_child(work))
        if before != (path.read_bytes() if path.exists() else None):
            assert_finished(path, expected)
        partial = path.with_name("a.ozx.partial")
        if partial.exists():
            assert len(scan(partial.read_bytes())[1]) <= 1  # the value that was being copied from the old file
        forget_swept_folders()
        write_store(path, expected, "w")
        assert_finished(path, expected)
        assert set(os.listdir(path.parent)) <= {"a.ozx", "a.ozx.partial.1"}
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert deadly > 6


# Two pieces each, the last one, and the header.
WRITES_OF_APPENDED = 4


@pytest.mark.parametrize("deadly", range(WRITES_OF_APPENDED + 1))
def test_killed_while_a_value_is_appended(tmp_path, deadly):
    path = tmp_path / "a.ozx"
    pieces = [pattern(n, 700_000) for n in range(5)]

    def work():
        store = OzxStore(path, "w")
        for key, value in SEED.items():
            put(store, key, value)
        put(store, "0/c/0/0", b"before")
        die_at_step(deadly, [(growing_file, "write_parts_at")])
        store._write.append("0/c/0/1", pieces, 4_000_000)
        put(store, "0/c/1/0", b"after")
        os.kill(os.getpid(), signal.SIGKILL)

    assert wait(in_child(work)) == -signal.SIGKILL
    data = pathlib.Path(f"{path}.partial").read_bytes()
    found, torn = scan(data)
    assert (found["0/c/0/0"], torn) == ([b"before"], [])
    is_appended = "0/c/0/1" in found
    assert not is_appended or found["0/c/0/1"] == [b"".join(pieces)]
    assert is_appended == (deadly > WRITES_OF_APPENDED - 1), "the header comes last"

"""Reading finished archives: of any legal kind, by threads, forks and pickles, and of files that change meanwhile."""

import itertools
import os
import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import zarr
from cases.archive_builder import ArchiveBuilder
from children import run_in_child
from packed import sort_values, write_archive
from stores import SEED, collect, contents, part_of, pattern, run, take
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

from ozx import FormatError, OzxStore, ResourceError, UnsupportedError
from ozx.store import reading

VALUES = SEED | {f"0/c/{n // 4}/{n % 4}": pattern(n, 5_000 + n) for n in range(16)}
needs_fork = pytest.mark.posix("needs fork")


@pytest.fixture
def path(tmp_path):
    return write_archive(tmp_path / "a.ozx", sort_values(VALUES))


def test_of_entries_with_one_name_the_last_one_is_seen(tmp_path):
    path = ArchiveBuilder.valid().duplicate("0/c/0", b"newer").write(tmp_path / "a.zip")
    store = OzxStore(path)
    assert take(store, "0/c/0") == b"newer"
    assert collect(store.list()).count("0/c/0") == 1


def test_entries_of_folders_are_no_keys(tmp_path):
    path = ArchiveBuilder.valid().add("0/").add("empty/").write(tmp_path / "a.zip")
    store = OzxStore(path)
    assert sorted(collect(store.list())) == ["0/c/0", "0/zarr.json", "zarr.json"]
    assert sorted(collect(store.list_dir(""))) == ["0", "zarr.json"]
    assert take(store, "0/") is None
    assert not run(store.exists("empty/"))


def truncated(path):
    os.truncate(path, os.path.getsize(path) - 40)


def encrypted(path):
    ArchiveBuilder.valid().set("0/c/0", flags=1).write(path)


BAD = {
    "text": (lambda path: path.write_bytes(b"hello " * 1_000), FormatError),
    "nothing": (lambda path: path.write_bytes(b""), FormatError),
    "truncated": (truncated, FormatError),
    "encrypted": (encrypted, UnsupportedError),
    "another method": (lambda path: ArchiveBuilder.valid().set("0/c/0", method=14).write(path), UnsupportedError),
    "a name that leaves the folder": (
        lambda path: ArchiveBuilder.valid().rename("0/c/0", "../x").write(path),
        FormatError,
    ),
    "overlap": (lambda path: ArchiveBuilder.valid().set("0/c/0", central={"offset": 3}).write(path), FormatError),
    "a directory": (lambda path: (path.unlink(), path.mkdir()), FormatError),
    "no file": (lambda path: path.unlink(), ResourceError),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("mode", ["r", "a"])
def test_bad_archives_are_refused_at_the_first_use_by_our_errors(path, what, mode):
    spoil, error = BAD[what]
    spoil(path)
    if mode == "a" and what in ("no file", "a directory"):
        return  # a new file is made, or test_writing looks at it
    store = OzxStore(path, mode=mode)
    for use in (lambda: take(store, "zarr.json"), lambda: collect(store.list()), lambda: run(store.exists("x"))):
        with pytest.raises(error) as caught:
            use()
        assert str(path) in str(caught.value)
    assert os.listdir(path.parent) == [path.name] * path.exists()


def test_a_missing_file_is_not_called_a_missing_group(tmp_path):
    with pytest.raises(ResourceError, match="no such file"):
        zarr.open_group(OzxStore(tmp_path / "a.ozx"), mode="r")


def test_keys_are_case_sensitive_and_may_be_any_text(tmp_path):
    values = {"zarr.json": SEED["zarr.json"], "a/É": b"1", "a/é": b"2", "a/e\u0301": b"3", "A/é": b"4", "日本/✓": b"5"}
    store = OzxStore(write_archive(tmp_path / "a.ozx", values))
    assert contents(store) == values
    assert sorted(collect(store.list_dir("a"))) == sorted(["É", "é", "e\u0301"])


def test_kept_suffixes_are_right_and_bounded(path, monkeypatch):
    monkeypatch.setattr(reading, "KEPT_SUFFIXES", 9_000)
    monkeypatch.setattr(reading, "LONGEST_KEPT_SUFFIX", 4_000)
    store = OzxStore(path)
    moments = random.Random(1)
    for _ in range(600):
        key, length = moments.choice(list(VALUES)), moments.choice([0, 1, 16, 3_000, 4_001, 9_999])
        assert take(store, key, SuffixByteRequest(length)) == (VALUES[key][-length:] if length else b"")
        session = store._read
        assert session._kept == sum(map(len, session._suffixes.values())) <= 9_000
        assert max(map(len, session._suffixes.values()), default=0) <= 4_000


def test_the_index_of_a_shard_is_read_once(path, monkeypatch):
    store = OzxStore(path)
    take(store, "0/c/0/0", SuffixByteRequest(100))
    monkeypatch.setattr(store._read.reader, "read", lambda *arguments: pytest.fail("it was read again"))
    assert take(store, "0/c/0/0", SuffixByteRequest(40)) == VALUES["0/c/0/0"][-40:]


@pytest.mark.posix("needs /proc", on="linux")
def test_closing_gives_the_descriptor_back(path):
    def is_open():
        links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        return str(path) in [os.readlink(link) for link in links if os.path.lexists(link)]

    store = OzxStore(path)
    assert not is_open()
    take(store, "zarr.json")
    assert is_open()
    store.close()
    assert not is_open()


OTHER = {key: bytes(value[::-1]) for key, value in VALUES.items()}


def replace(path):
    other = write_archive(path.with_name("other"), sort_values(OTHER))
    os.replace(other, path)


def write_over(path):
    other = write_archive(path.with_name("other"), sort_values(OTHER))
    path.write_bytes(other.read_bytes())
    os.utime(path, ns=(1, 1))


CHANGES = {
    "replaced": replace,
    "written over": write_over,
    "cut": lambda path: os.truncate(path, 3_000),
    "emptied": lambda path: os.truncate(path, 0),
    "lengthened": lambda path: path.open("ab").write(b"x"),
    "no archive": lambda path: path.write_bytes(b"something else"),
}
REQUESTS = (None, RangeByteRequest(3, 900), OffsetByteRequest(4_000), SuffixByteRequest(90))


def assert_changed_or_old(store, *, may_be_old):
    """Every read is an error that names the change; or, where something was kept, gives the bytes from before."""
    errors = []
    for key, wanted in itertools.product(("0/c/0/0", "0/c/3/3"), REQUESTS):
        try:
            data = take(store, key, wanted)
        except FormatError as error:
            errors.append(error.rule)
        else:
            assert may_be_old
            assert data == part_of(VALUES[key], wanted)
    assert set(errors) == {"zip/changed"}
    assert len(errors) >= 6


@pytest.mark.posix("an open file is not replaced there")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("what", CHANGES)
def test_a_file_that_changes_is_an_error_and_never_wrong_bytes(path, what):
    used, closed, unused = OzxStore(path), OzxStore(path), OzxStore(path)
    for store in (used, closed):
        for wanted in REQUESTS:
            take(store, "0/c/0/0", wanted)
    closed.close()
    stored = pickle.dumps(used)
    CHANGES[what](path)
    assert_changed_or_old(used, may_be_old=True)
    assert_changed_or_old(closed, may_be_old=True)
    assert_changed_or_old(pickle.loads(stored), may_be_old=False)
    if what in ("replaced", "written over"):
        assert take(unused, "0/c/3/3") == OTHER["0/c/3/3"]


@pytest.mark.posix("an open file is not replaced there")
def test_a_file_whose_name_is_gone_is_read_on(path):
    store = OzxStore(path)
    take(store, "zarr.json")
    path.unlink()
    assert contents(store) == VALUES


def read_at_random(store, seed, turns=150):
    """Read a store anyhow; returns the number of reads that were right."""
    moments, keys = random.Random(seed), list(VALUES)
    for _ in range(turns):
        key, wanted = moments.choice(keys), moments.choice(REQUESTS)
        if take(store, key, wanted) != part_of(VALUES[key], wanted):
            return -1
    return turns


def test_threads_open_and_read_one_store_at_once(path):
    for _ in range(5):
        store = OzxStore(path)
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda seed, store=store: read_at_random(store, seed, 50), range(8))) == [50] * 8


@pytest.mark.posix("needs pread")
def test_a_descriptor_that_is_being_read_from_is_closed_afterwards(path, monkeypatch):
    store = OzxStore(path)
    take(store, "0/c/0/0")
    noise = path.with_name("noise")
    noise.write_bytes(b"\xff" * path.stat().st_size)
    original, opened = os.pread, []

    def pread(descriptor, length, offset):
        if not opened:
            store.close()
            opened.append(os.open(noise, os.O_RDONLY))
        return original(descriptor, length, offset)

    if not hasattr(os, "pread"):
        pytest.skip("needs pread")
    monkeypatch.setattr(os, "pread", pread)
    assert take(store, "0/c/3/3", RangeByteRequest(5, 50)) == VALUES["0/c/3/3"][5:50]
    os.close(opened[0])


@needs_fork
def test_a_child_forked_while_a_thread_holds_the_lock_reads(path):
    store = OzxStore(path)
    take(store, "0/c/0/0")
    with store._read._lock:
        assert run_in_child(lambda: take(store, "0/c/0/0", SuffixByteRequest(3))) == 0

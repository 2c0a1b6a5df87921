"""Writing through a store: by threads, beside readers, after forks, onto full disks, and beside other writers."""

import contextlib
import json
import os
import random
import threading
import time
import warnings
import zipfile
from functools import partial

import pytest
from cases.archive_builder import ArchiveBuilder, group
from children import in_child, run_in_child, wait
from packed import sort_values, write_archive
from posix_only import resource
from stores import (
    SEED,
    assert_finished,
    buffer,
    collect,
    contents,
    join_all,
    pattern,
    put,
    run,
    start_all,
    take,
    write_store,
)
from zarr.abc.store import RangeByteRequest, SuffixByteRequest

import ozx
from ozx import OzxStore, ResourceError, UsageError
from ozx.errors import OzxWarning, PartialFileWarning
from ozx.store import finishing, growing_file

DATA = {f"0/c/0/{n}": pattern(n, 3_000 + n) for n in range(8)}
VALUES = SEED | DATA
needs_fork = pytest.mark.posix("needs fork")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.ozx"


@pytest.fixture
def old(path):
    """An archive that is there already; its bytes."""
    return write_archive(path, sort_values(VALUES)).read_bytes()


def writer(path, mode="w", **options):
    return OzxStore(path, mode=mode, sync=False, **options)


def begun(path, **values):
    """Begin a file with its root and some values."""
    store = writer(path)
    for key, value in ({"zarr.json": SEED["zarr.json"]} | values).items():
        put(store, key, value)
    return store


def names(path):
    return sorted(os.listdir(path.parent))


def test_mode_x_refuses_an_existing_file_at_the_first_use(path, old):
    store = writer(path, "x")
    for use in (lambda: put(store, "a", b"1"), lambda: take(store, "a"), lambda: collect(store.list())):
        with pytest.raises(UsageError, match="exists already"):
            use()
    store.close()
    assert path.read_bytes() == old
    assert names(path) == ["a.ozx"]


@pytest.mark.parametrize("rewritten", [True, False])
def test_mode_x_refuses_a_file_that_appeared_meanwhile(path, monkeypatch, rewritten):
    monkeypatch.setattr(finishing, "MOST_UNUSED", 0 if rewritten else 1)
    store = writer(path, "x")
    for key, value in VALUES.items():
        put(store, key, value)
    path.write_bytes(b"other")
    with pytest.raises(UsageError, match="exists already"):
        store.close()
    assert path.read_bytes() == b"other"
    assert names(path) == ["a.ozx", "a.ozx.partial"]


@pytest.mark.parametrize("rewritten", [True, False])
def test_mode_a_keeps_folders_and_other_keys_of_the_comment(path, monkeypatch, rewritten):
    monkeypatch.setattr(finishing, "MOST_UNUSED", 0 if rewritten else 1)
    comment = b'{"ome": {"version": "0.4", "x": 1}, "lab": {"room": 7}}'
    builder = ArchiveBuilder.valid().add("0/c/").duplicate("0/c/", b"")  # some programs list a folder twice
    builder.with_(comment=comment).write(path)
    with pytest.warns(OzxWarning, match=r"does not understand: ome\.x"), writer(path, "a") as store:
        put(store, "0/c/1", b"more")
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist().count("0/c/") == 1
        comment = json.loads(archive.comment)
    assert comment["lab"] == {"room": 7}
    assert comment["ome"] == {"version": "0.5", "zipFile": {"centralDirectory": {"jsonFirst": True}}}
    assert ozx.validate(path, revision="draft").valid


REFUSED = ["", "/", "a/", "/a", "../a", "a/../b", "a//b", "./a", "a\\b", "C:/a", "a\0b", "\ud800", "x" * 70_000]


@pytest.mark.parametrize("key", REFUSED)
def test_what_no_archive_may_call_an_entry_is_refused(path, key):
    store = writer(path)
    for setter in (store.set, store.set_if_not_exists):
        with pytest.raises(UsageError, match="is not a valid key"):
            run(setter(key, buffer(b"x")))
    with pytest.raises(UsageError, match="is not a valid key"):
        run(store.set_partial_values([(key, 0, b"x")]))
    assert take(store, key) is None
    run(store.delete(key))
    assert names(path) == []


@pytest.mark.ci
@pytest.mark.parametrize("way", ["set", "delete", "others"])
def test_a_reader_sees_some_whole_value_while_it_is_replaced(path, way):
    """Every value names its writer and turn throughout, so that a mix of two shows."""
    store, stop, wrong, reads = writer(path), threading.Event(), [], [0, 0, 0]
    put(store, "zarr.json", SEED["zarr.json"])
    put(store, "k", b"\1" * 2_000)

    def read(number):
        while not stop.is_set() and not wrong:
            for wanted in (None, RangeByteRequest(100, 1_500), SuffixByteRequest(700)):
                value = take(store, "k", wanted)
                if value is not None and len(set(value)) != 1:
                    wrong.append(value)
                reads[number] += 1

    readers = start_all(read, range(3))
    moments, turn, started = random.Random(2), 0, time.monotonic()
    # By progress rather than by the clock alone: three busy readers may leave a writer few turns of the interpreter.
    while not wrong and (time.monotonic() - started < 0.7 or turn < 20 or min(reads) < 20):
        turn += 1
        size = moments.choice([2_000, 2_000, 2_100, 5_000])
        if way == "delete" and turn % 2:
            run(store.delete("k"))
        else:
            put(store, "k", bytes([turn % 255]) * size)
        if way == "others":  # which take the places that become free
            put(store, f"other/{turn % 9}", bytes([254]) * moments.choice([2_000, 2_100, 100]))
    stop.set()
    join_all(readers)
    assert not wrong
    expected = contents(store)
    store.close()
    assert contents(OzxStore(path)) == expected


def test_threads_write_side_by_side(path):
    written = {}

    def work(number, store):
        moments = random.Random(number)
        for turn in range(80):
            key = f"0/c/{number}/{moments.randrange(8)}"
            if moments.random() < 0.2:
                run(store.delete(key))
                written.pop(key, None)
            else:
                written[key] = pattern(number * 1_000 + turn, moments.choice([0, 100, 2_000, 70_000]))
                put(store, key, written[key])
            assert take(store, key) == written.get(key)

    with writer(path) as store:
        for key, value in SEED.items():
            put(store, key, value)
        join_all(start_all(partial(work, store=store), range(6)))
    assert_finished(path, SEED | written)


def test_of_many_threads_one_sets_what_did_not_exist(path):
    with writer(path) as store:
        put(store, "zarr.json", SEED["zarr.json"])
        for turn in range(20):
            barrier, before = threading.Barrier(4), store._write._growing.end

            def compete(number, turn=turn, barrier=barrier):
                barrier.wait()
                run(store.set_if_not_exists(f"k/{turn}", buffer(bytes([number]) * 50)))

            join_all(start_all(compete, range(4)))
            assert not turn or store._write._growing.end - before < 2 * 150


def test_other_writers_wait_until_an_appended_value_ends(path):
    store = begun(path, k=b"1")
    done = []
    others = {
        "set": lambda: put(store, "0/c/1", b"2"),
        "document": lambda: put(store, "0/zarr.json", group()),
        "if missing": lambda: run(store.set_if_not_exists("0/c/2", buffer(b"3"))),
        "partial": lambda: run(store.set_partial_values([("k", 1, b"4")])),
        "appended": lambda: store._write.append("0/c/3", [b"a", b"b"], 2),
    }

    def work(name):
        others[name]()
        done.append(name)

    threads = [threading.Thread(target=work, args=[name]) for name in others]

    def pieces():
        yield b"abc"
        for thread in threads:
            thread.start()
        assert take(store, "k") == b"1"
        run(store.delete("no such key"))
        for thread in threads:
            thread.join(0.05)
        assert done == []
        yield b"def"

    store._write.append("0/c/0", pieces(), 6)
    for thread in threads:
        thread.join(10)
    assert sorted(done) == sorted(others)
    store.close()
    expected = {"0/c/0": b"abcdef", "0/c/1": b"2", "0/c/2": b"3", "0/c/3": b"ab", "k": b"14", "0/zarr.json": group()}
    assert_finished(path, {"zarr.json": SEED["zarr.json"]} | expected)


def test_closing_waits_for_an_appended_value(path):
    store = begun(path)
    closing = threading.Thread(target=store.close)

    def pieces():
        closing.start()
        closing.join(0.1)
        assert closing.is_alive()
        yield b"abc"

    store._write.append("0/c/0", pieces(), 3)
    closing.join(10)
    assert_finished(path, {"zarr.json": SEED["zarr.json"], "0/c/0": b"abc"})


@needs_fork
def test_a_child_forked_while_a_value_is_appended_reads_and_is_refused(path):
    store = begun(path, k=b"k")

    def work():
        assert take(store, "k") == b"k"
        with pytest.raises(ResourceError, match="process"):
            put(store, "l", b"l")
        with pytest.raises(ResourceError, match="process"):
            store._write.append("m", [b"m"], 1)

    def pieces():
        yield b"abc"
        assert run_in_child(work) == 0

    store._write.append("0/c/0", pieces(), 3)
    store.close()
    assert_finished(path, {"zarr.json": SEED["zarr.json"], "k": b"k", "0/c/0": b"abc"})


@pytest.mark.ci
def test_closing_beside_writers_and_readers_keeps_every_value_that_was_set(path):
    """Readers get the value, or the error that the store was closed."""
    for turn in range(12):
        out = path.with_name(f"{turn}.ozx")
        store, done, wrong = writer(out), {}, []
        put(store, "zarr.json", SEED["zarr.json"])

        def work(number, store=store, done=done):
            with contextlib.suppress(UsageError):
                for place in range(10_000):
                    value = pattern(place, 2_000)
                    put(store, f"{number}/{place}", value)
                    done[f"{number}/{place}"] = value

        def read(_, store=store, wrong=wrong):
            with contextlib.suppress(UsageError):
                while not wrong:
                    if take(store, "zarr.json") != SEED["zarr.json"]:
                        wrong.append("bytes")

        threads = start_all(work, range(3)) + start_all(read, range(3))
        time.sleep(0.002 * turn)
        store.close()
        join_all(threads)
        assert not wrong
        assert_finished(out, {"zarr.json": SEED["zarr.json"]} | done)


def test_a_reader_that_waited_for_close_does_not_read_another_writers_file(path, monkeypatch):
    store, inside, go_on, found = begun(path, k=b"k" * 1_000), threading.Event(), threading.Event(), []
    original = finishing._complete

    def complete(*arguments):
        inside.set()
        go_on.wait(10)
        original(*arguments)

    monkeypatch.setattr(finishing, "MOST_UNUSED", 1)
    monkeypatch.setattr(finishing, "_complete", complete)

    def read():
        try:
            found.append(take(store, "k"))
        except UsageError as error:
            found.append(str(error))

    closing = threading.Thread(target=store.close)
    # The reader has passed every check that does not need the lock, as if it had come just before `close`.
    monkeypatch.setattr(store._write, "_prepare", lambda: None)
    reading = threading.Thread(target=read)
    closing.start()
    assert inside.wait(10)
    reading.start()
    time.sleep(0.02)
    go_on.set()
    for thread in (closing, reading):
        thread.join()
    assert "was closed" in found[0]


@pytest.mark.parametrize("mode", ["w", "x", "a"])
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_the_old_file_and_what_was_written(path, mode, error):
    before = None if mode == "x" else write_archive(path, sort_values(VALUES)).read_bytes()
    with pytest.raises(error), writer(path, mode) as store:
        put(store, "zarr.json", SEED["zarr.json"])
        put(store, "0/c/9/9", b"precious")
        raise error
    assert (path.read_bytes() if path.exists() else None) == before
    partial = path.with_name("a.ozx.partial").read_bytes()
    assert partial.startswith(b"PK\x03\x04")
    assert SEED["zarr.json"] in partial
    assert partial.endswith(b"precious")


def test_a_writer_that_is_forgotten_is_told_of_and_keeps_what_was_written(path):
    store = writer(path)
    put(store, "0/c/9/9", b"precious")
    with pytest.warns(PartialFileWarning, match="was never closed"):
        del store
    assert names(path) == ["a.ozx.partial"]


FULL = r"File too large: about 1?\d?\d?,?\d+ bytes are needed, about [\d,]+ are allowed in one file$"


@needs_fork
@pytest.mark.parametrize("mode", ["w", "x", "a"])
@pytest.mark.parametrize("limit", [0, 100, 10_000, 60_000, 100_000, 149_300])
def test_a_full_disk_is_an_error_that_leaves_the_old_file(path, mode, limit):
    before = None if mode == "x" else write_archive(path, sort_values(VALUES)).read_bytes()

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with pytest.raises(ResourceError, match=FULL) as caught, writer(path, mode) as store:
            put(store, "zarr.json", SEED["zarr.json"])
            put(store, "0/zarr.json", SEED["0/zarr.json"])
            put(store, "0/c/9/9", b"x" * 100_000)
            store.close()
        assert caught.value.path == str(path)

    assert run_in_child(work) == 0
    assert (path.read_bytes() if path.exists() else None) == before
    assert set(names(path)) <= {"a.ozx", "a.ozx.partial"}
    left = ["a.ozx.partial"] if path.with_name("a.ozx.partial").exists() and limit >= 100 else []
    with warnings.catch_warnings(action="ignore", category=PartialFileWarning):
        write_store(path, SEED)
    assert_finished(path, SEED)
    assert len(names(path)) == 1 + bool(left and path.with_name("a.ozx.partial.1").exists())


def test_a_disk_that_fills_up_at_the_very_end_keeps_the_lock_of_nobody(path, monkeypatch):
    def fail(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    store = begun(path)
    with monkeypatch.context() as patched:
        patched.setattr(finishing, "write_all_at", fail)
        patched.setattr(growing_file, "write_parts_at", fail)
        patched.setattr("ozx.archive.writer.write_parts_at", fail)
        with pytest.raises(OSError, match="No space left"):
            store.close()
    write_store(path, SEED)
    assert_finished(path, SEED)


def test_of_threads_that_open_the_same_file_one_writes(path):
    outcomes, barrier, stores = [], threading.Barrier(6), []

    def compete(number):
        store = writer(path)
        stores.append(store)
        barrier.wait()
        try:
            put(store, "zarr.json", SEED["zarr.json"])
            outcomes.append("wrote")
        except ResourceError:
            outcomes.append("refused")

    join_all(start_all(compete, range(6)))
    assert sorted(outcomes) == ["refused"] * 5 + ["wrote"]
    for store in stores:
        store.close()
    assert_finished(path, {"zarr.json": SEED["zarr.json"]})


@needs_fork
def test_a_forked_child_reads_and_does_not_write(path, old):
    store = writer(path, "a")
    put(store, "0/c/5/5", b"new")
    put(store, "5/zarr.json", SEED["0/zarr.json"])
    expected = contents(store)

    def work():
        assert contents(store) == expected
        for change in (
            lambda: put(store, "a", b"1"),
            lambda: put(store, "zarr.json", b"1"),
            lambda: run(store.delete("0/c/5/5")),
            lambda: run(store.set_partial_values([("0/c/5/5", 0, b"1")])),
        ):
            with pytest.raises(ResourceError, match="is written by process"):
                change()
        store.close()
        assert contents(store) == expected

    assert run_in_child(work) == 0
    put(store, "0/c/5/6", b"more")
    store.close()
    assert_finished(path, expected | {"0/c/5/6": b"more"})


@needs_fork
@pytest.mark.parametrize("end", ["exception", "collected", "closed"])
def test_the_end_of_a_child_leaves_the_file_to_its_parent(path, end):
    store = begun(path, k=b"k")

    def work():
        nonlocal store
        if end == "exception":
            with contextlib.suppress(KeyError), store:
                raise KeyError
        elif end == "collected":
            store = None
        else:
            store.close()

    assert run_in_child(work) == 0
    assert names(path) == ["a.ozx.partial"]
    store.close()
    assert_finished(path, {"zarr.json": SEED["zarr.json"], "k": b"k"})


@needs_fork
@pytest.mark.parametrize("way", ["replaced", "deleted", "closed", "place used"])
def test_a_child_never_reads_what_its_parent_wrote_over(path, way):
    store = begun(path, k=b"old" * 1_000)
    to_child, to_parent = os.pipe(), os.pipe()

    def work():
        os.read(to_child[0], 1)
        for wanted in (None, RangeByteRequest(10, 20), SuffixByteRequest(5)):
            try:
                take(store, "k", wanted)
                os.write(to_parent[1], b"-")
            except ResourceError as error:
                os.write(to_parent[1], b"!" if "since this process" in str(error) else b"?")

    child = in_child(work)
    if way == "closed":
        store.close()
    else:
        run(store.delete("k")) if way == "deleted" else put(store, "k", b"new" * 1_000)
        if way == "place used":
            for n in range(5):
                put(store, f"other/{n}", b"other" * 590)
    os.write(to_child[1], b"x")
    assert wait(child) == 0
    os.set_blocking(to_parent[0], False)
    assert os.read(to_parent[0], 10) == b"!!!"
    store.close()
    for descriptor in (*to_child, *to_parent):
        os.close(descriptor)


@needs_fork
def test_a_child_forked_while_a_thread_holds_the_locks_reads(path):
    store = begun(path, k=b"k")
    inside, go_on = threading.Event(), threading.Event()

    def hold():
        with store._write._lock, store._write._growing.lock:
            inside.set()
            go_on.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(10)
    assert run_in_child(lambda: take(store, "k")) == 0
    go_on.set()
    holder.join()
    store.close()


@needs_fork
@pytest.mark.parametrize("keeps", [True, False])
def test_after_an_exception_a_living_child_does_not_lock_the_file(path, keeps):
    store = writer(path, keep_partial=keeps)
    put(store, "k", b"k")
    child = in_child(lambda: time.sleep(10))
    with contextlib.suppress(KeyError), store:
        raise KeyError
    write_store(path, SEED)
    os.kill(child, 9)
    wait(child)
    assert_finished(path, SEED)

"""Every read, write, sync and rename of every verb that writes fails once: the right error, and nothing is lost."""

import errno
import os
import pkgutil
import signal
from collections import Counter
from pathlib import Path

import pytest
from children import run_in_child
from faults import KINDS, READING, WRITING, Faults, InjectedError, injected
from hierarchies import state
from sweeping import forget_swept_folders
from works import WORKS, WRITE_NOTHING, Work, left_for_good, leftovers, make_sources, start_anew

from ozx.atomic import renaming
from ozx.cli.app import COMMANDS
from ozx.errors import ResourceError
from ozx.flow.sinks import fast_unpacking

#: The calls that may fail in a function, while the work is done all the same, and why. Elsewhere an error is asked for.
MAY_FAIL = {
    # The new file has its name: nothing that fails now may hide that.
    "atomic.renaming._discard": "unlink",  # the temporary name goes with the next run
    "atomic.new_directory.replacing_directory": "rmtree",  # the old tree goes with the next run
    "atomic.syncing.close_written": "close",  # what could not be written was reported before
    "store.partial_file.PartialFile.remove": "unlink lstat",  # the next writer moves it aside
    "atomic.locks.still_has_name": "fstat lstat",  # the next writer moves it aside
    "streaming.open_chunks.OpenChunks._close": "close",  # the file is complete: no chunk waits any more
    "streaming.open_chunks.OpenChunks.close": "unlink",  # the next stream to this file removes it
    # Only readers of the unfinished file need the index; the next stream to this file removes it.
    "store.live.index.IndexWriter.__init__": "fstat",
    "store.live.index.IndexWriter._begin": "unlink open",
    "store.live.index.IndexWriter._add": "write",
    "store.live.index.IndexWriter.close": "close unlink",
    "atomic.syncing.sync_folder": "open fsync",  # some folders may not be listed, some file systems refuse it
    "atomic.renaming.finish_swap": "unlink",  # the marker goes when the same name is written to again
    "atomic.renaming._is_marked": "lstat open read close",  # the old tree keeps its name, and is told
    # There is another way.
    "atomic.renaming.rename_file": "link",  # renamed, where there are no hard links
    "atomic.tree_removal._Folder.put_back": "link",  # renamed, where there are no hard links
    # What is wished for is so already, as `os.makedirs` finds.
    "places.place.Place.make_folder": "mkdir",  # the folder is there
    # Only a worker on another computer, or in another folder, compares what was seen.
    "flow.tasks.look_at": "stat open fstat close",  # a file that is not there fails by itself
    # It is done for the tidiness of the next one, or for a note.
    "flow.batch_checks._room": "stat",  # the room is not known: a file that has none fails by itself
    "flow.batch_checks._used_where": "stat",  # its size is not counted
    "flow.batch_checks._size": "stat scandir",  # its size is not counted
    "atomic.temporary.sweep": "scandir",  # leftovers of others stay: some folders may not be listed
    "desktop.association.changes._remove_empty_folders": "rmdir",  # an empty folder stays
    "desktop.association.changes.DesktopChanges.write": "mkdir",  # the folder is there already
    # What nobody can read, the desktop cannot either; only the status says so.
    "desktop.association.linux._read": "builtins.open FileIO.readall",
}
# What removing a tree calls.
_RMTREE = {"lstat", "open", "fstat", "scandir", "unlink", "rmdir"}
# What removing a file or a tree calls: where that fails, a leftover stays.
CLEANING = {"unlink", *_RMTREE}
#: They have what they write in memory.
READS_NOTHING = {"write_image", "stream"}
#: It writes only where others have changed the same files.
WRITES_LITTLE = "associate --remove"


def may_fail(faults: Faults) -> bool:
    """Tell whether the work may be done though this failed."""
    names = {faults.fired} | ({"rmtree"} if faults.fired in _RMTREE else set())
    return bool(names.intersection(MAY_FAIL.get(faults.place, "").split()))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return make_sources(tmp_path_factory.mktemp("sources"))


def check_faults(tmp_path: Path, sources: Path, work: Work, *, old: bool) -> Counter[str]:
    """Do the work again and again, each time with the next call failing; return how often which call failed."""
    folder = tmp_path / "work"  # always the same: what some works make depends on it
    start_anew(sources, folder, work, old=old)
    before = work.state(folder)
    work.run(folder)
    after = work.state(folder)
    assert before != after
    fired: Counter[str] = Counter()
    while True:
        deadly = sum(fired.values())
        start_anew(sources, folder, work, old=old)
        forget_swept_folders()
        error = None
        with injected(Faults(deadly)) as faults:
            try:
                work.run(folder)
            except OSError as caught:
                error = caught
        where = f"call {deadly}, {faults.fired} of {faults.place}: {error!r}"
        found = work.state(folder)
        if error is None:
            assert found == after, where
            assert faults.fired is None or may_fail(faults), f"{where}: it is no failure that may be passed over"
        else:
            assert isinstance(error, (InjectedError, ResourceError)), where
            wanted = after if work.is_many or (work.is_followed and found == after) else before
            assert work.is_right(found, before, wanted), where
        assert work.is_kept(folder, sources, is_done=found == after), where
        if work.name == "edit" and faults.fired != "unlink":
            assert not state(folder / "out.ozx.partial"), where
        if left := leftovers(folder, sources, work):
            is_cleaning = faults.fired in CLEANING or faults.place == "atomic.renaming._is_marked"
            assert is_cleaning, (where, left)
            assert left_for_good(folder, sources, work) == [], where
        if faults.fired is None:
            return fired
        assert faults.fired in KINDS
        fired[faults.fired] += 1


FAST = ("recover",)
CASES = [
    pytest.param(
        work, old, id=f"{work.name}, {'replacing' if old else 'new'}", marks=[] if work.name in FAST else pytest.mark.ci
    )
    for work in WORKS
    for old in work.starts
]


@pytest.mark.parametrize(("work", "old"), CASES)
def test_every_call_fails_once(tmp_path, sources, work, old):
    fired = check_faults(tmp_path, sources, work, old=old)
    assert READING & fired.keys() or work.name in READS_NOTHING, fired
    assert WRITING & fired.keys() or work.name == WRITES_LITTLE, fired
    assert {"fsync", "syncfs"} & fired.keys() or not work.is_synced or work.name == WRITES_LITTLE, fired


@pytest.mark.ci
def test_every_call_fails_once_where_directories_are_exchanged_in_two_steps(tmp_path, sources, monkeypatch):
    monkeypatch.setattr(renaming, "renameat2", lambda *_: False)
    work = next(work for work in WORKS if work.name == "unpack")
    fired = check_faults(tmp_path, sources, work, old=True)
    # The new tree gets a name that is not swept; three steps; the old one gets one that is; each file of it goes aside.
    assert fired["rename"] == 5 + len(state(sources / "other"))
    assert fired["write"] >= 1  # of the marker


@pytest.mark.posix("needs fork")
def test_a_process_that_is_killed_while_it_counts_holds_up_nobody():
    faults = Faults(None)

    def die_counting():
        with faults.lock:
            os.kill(os.getpid(), signal.SIGKILL)

    assert run_in_child(die_counting) == -signal.SIGKILL
    assert run_in_child(lambda: faults.check("open", errno.EIO)) == 0
    assert faults.count == 1


@pytest.mark.ci
@pytest.mark.posix("needs fork")
def test_every_call_fails_once_in_either_of_two_processes(tmp_path, sources, monkeypatch):
    monkeypatch.setattr(fast_unpacking, "ENOUGH_FOR_TWO", 2)
    monkeypatch.setattr(fast_unpacking, "_batch_size", lambda order: 1)
    work = next(work for work in WORKS if work.name == "unpack")
    # A forked child has one thread, whatever ran here before: only then there is a second process.
    assert run_in_child(lambda: check_faults(tmp_path, sources, work, old=True)) == 0


def test_every_command_is_tried_or_writes_nothing():
    tried = {work.command for work in WORKS} - {""}
    assert tried | WRITE_NOTHING == set(COMMANDS)
    assert not tried & WRITE_NOTHING


@pytest.mark.parametrize("place", MAY_FAIL)
def test_what_may_fail_is_there(place):
    assert callable(pkgutil.resolve_name(f"ozx.{place}"))

"""The plain and the fast way of writing entries into a directory: the same files, the same refusals."""

import os
import threading
import types
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hierarchies import tree
from packed import zip_values
from recipes import RESERVED

from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, ResourceError
from ozx.flow.sinks import directory as directory_sink
from ozx.flow.sinks import fast_unpacking
from ozx.flow.sinks.directory import check_keys, folders_of, lift_folder, make_folders, write_entries
from ozx.flow.sources.archive import iter_entries
from ozx.progress import NO_PROGRESS


def write_plain(reader, target, progress=NO_PROGRESS):
    write_entries(target, iter_entries(reader, range(len(reader))), progress)


def write_fast(reader, target, progress=NO_PROGRESS):
    fast_unpacking.write_files(reader, np.arange(len(reader)), target, progress)


# Without the POSIX calls (OZX_NO_POSIX_CALLS) the fast way is not used, and must not be.
HAS_POSIX_CALLS = hasattr(os, "preadv") and hasattr(os, "pwrite")
WAYS = [pytest.param(write_plain, id="plain"), *([pytest.param(write_fast, id="fast")] if HAS_POSIX_CALLS else [])]


def run(path, target, write):
    reader = ArchiveReader(str(path))
    target.mkdir()
    make_folders(str(target), folders_of(reader.columns.names()))
    write(reader, str(target))
    return tree(target)


def many(count, size):
    return {f"0/c/{number // 50}/{number % 50}": os.urandom(size) for number in range(count)}


VALUES = {
    "few": {"zarr.json": b"{}", "0/c/0": b"x" * 100, "labels/é": b"", "empty": b""},
    "sizes": {
        str(size): os.urandom(size) for size in (0, 1, 262_143, 262_144, 262_145, 1 << 20, (1 << 20) + 1, 20 << 20)
    },
    "blocks": many(300, 30_011),
}


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("name", ["few", "sizes", "blocks"])
def test_the_bytes_of_each_value_are_counted_once(tmp_path, write, name):
    """Although small entries are read in large blocks, some of which overlap."""
    counted = []
    progress = types.SimpleNamespace(start=None, stop=None, advance=counted.append)
    run(zip_values(tmp_path / "a.zip", VALUES[name]), tmp_path / "out", partial(write, progress=progress))
    assert sum(counted) == sum(map(len, VALUES[name].values()))


@pytest.mark.ci
@pytest.mark.posix("the second process is used on Linux only", on="linux")
@pytest.mark.parametrize("with_thread", [False, True])
def test_a_second_process_helps_only_while_no_thread_runs(tmp_path, monkeypatch, with_thread):
    forks = []
    original = os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or original())
    others = threading.active_count() - 1
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    if with_thread:
        thread.start()
    try:
        values = many(4_200, 3)
        assert run(zip_values(tmp_path / "a.zip", values), tmp_path / "out", write_fast) == values
    finally:
        release.set()
        if with_thread:
            thread.join()
    assert len(forks) == (0 if with_thread or others else 1)


@pytest.mark.ci
@pytest.mark.posix("the second process is used on Linux only", on="linux")
@pytest.mark.parametrize("failing", ["parent", "child"])
def test_an_error_in_either_process_is_raised_and_no_process_stays(tmp_path, monkeypatch, failing):
    path = zip_values(tmp_path / "a.zip", many(4_200, 3))
    reader, parent = ArchiveReader(str(path)), os.getpid()
    victim = reader.columns.name(10 if failing == "parent" else 4_190)
    original = os.open

    def refuse(name, *arguments, **keywords):
        if os.fsdecode(name) == victim:
            raise PermissionError(13, "Permission denied", victim)
        return original(name, *arguments, **keywords)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError):
        run(path, tmp_path / "out", write_fast)
    assert os.getpid() == parent
    own = Path("/proc/self/cmdline").read_bytes()  # a copy of this process; a dead one that nobody waited for has none
    children = Path(f"/proc/self/task/{parent}/children").read_text().split()
    assert not [child for child in children if Path(f"/proc/{child}/cmdline").read_bytes() in (own, b"")]


@pytest.mark.posix("lengths are counted in bytes")
@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        (["a", "a/b"], "both a value and a folder"),
        (["n" * 256], "longer than 255 bytes"),
        (["é" * 128], "longer than 255 bytes"),
        (["/".join(["d" * 200] * 30)], "longer than this system allows"),
    ],
)
def test_keys_that_cannot_be_files_anywhere_are_refused(tmp_path, keys, fault):
    with pytest.raises(FormatError, match=fault) as caught:
        check_keys(keys, folders_of(keys), str(tmp_path))
    assert caught.value.rule == "zip/name"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("key", [*RESERVED, "labels/CON", "LPT1", "a./b", "a /b", "tab\t"])
def test_names_that_windows_reserves_are_refused_there_only(tmp_path, key):
    check_keys([key], folders_of([key]), str(tmp_path), windows=False)
    with pytest.raises(FormatError, match="Windows"):
        check_keys([key], folders_of([key]), str(tmp_path), windows=True)


@pytest.mark.parametrize(
    ("keys", "folding", "is_refused"),
    [
        (["a", "A"], str.casefold, True),
        (["labels/x", "Labels/y"], str.casefold, True),
        (["a/x", "a/y"], str.casefold, False),
        (["a", "b"], str.casefold, False),
        (["a", "A"], None, False),
    ],
)
def test_names_that_the_file_system_takes_for_one_are_refused(tmp_path, monkeypatch, keys, folding, is_refused):
    monkeypatch.setattr(directory_sink, "_folding", lambda _: folding)
    if is_refused:
        with pytest.raises(FormatError, match="does not distinguish it from"):
            check_keys(keys, folders_of(keys), str(tmp_path))
    else:
        check_keys(keys, folders_of(keys), str(tmp_path))


@pytest.mark.parametrize(
    ("folds_case", "folds_forms", "pairs"),
    [(True, False, [("A", "a")]), (False, True, [("\u00e9", "e\u0301")]), (True, True, [("\u00c9", "e\u0301")])],
)
def test_what_the_file_system_folds_is_tried_out(tmp_path, monkeypatch, folds_case, folds_forms, pairs):
    def exists(path):
        name = os.path.basename(path)
        return (folds_case and name.isupper()) or (folds_case and "OZX" in name) or (folds_forms and "\u0301" in name)

    monkeypatch.setattr(os.path, "exists", exists)
    fold = directory_sink._folding(str(tmp_path))
    for first, second in pairs:
        assert fold(first) == fold(second)


def test_a_file_in_the_way_is_named(tmp_path):
    reader = ArchiveReader(str(zip_values(tmp_path / "a.zip", {"x": b"1"})))
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(ResourceError, match="exists already"):
        write_plain(reader, str(tmp_path))


@pytest.mark.parametrize("folder", ["a", "a/b", "a/a/a"])
def test_a_lifted_folder_takes_the_place_of_what_was_around_it(tmp_path, folder):
    values = {"a": b"1", "x/y": b"2", ".ozx-lift": b"3", ".ozx-lift-/z": b"4"}
    for key, value in values.items():
        (tmp_path / folder / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / key).write_bytes(value)
    lift_folder(str(tmp_path), folder)
    assert tree(tmp_path) == values
    assert sorted(os.listdir(tmp_path)) == sorted({key.split("/")[0] for key in values})

"""Tasks on workers elsewhere: groups of files, absolute paths, and workers that see other files."""

import os
import platform
from concurrent.futures import Future

import numpy as np
import pytest
import zarr
from elsewhere import Elsewhere
from hierarchies import make_image, tree
from tiffs import pixels, write, write_parts

import ozx
from ozx.errors import OzxError, ResourceError
from ozx.flow import tasks
from ozx.flow.tasks import check_same, groups_elsewhere
from ozx.validation.validate import validate_many


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of a worker, with other files of the same names; the client is in ``project``."""
    for folder, fill in (("project", 1), ("home", 2)):
        make_image(tmp_path / folder / "raw" / "a.ome.zarr", {"0/c/0/0": bytes([fill]) * 1024})
        write(tmp_path / folder / "raw" / "b.tif", pixels((30, 40), seed=fill))
        (tmp_path / folder / "out").mkdir()
        ozx.pack(tmp_path / folder / "raw" / "a.ome.zarr", tmp_path / folder / "raw" / "c.ozx", sync=False)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def test_relative_paths_are_those_of_the_client(home):
    before = tree(home)
    options = {"out_dir": "out", "executor": Elsewhere(home), "remove_source": True}
    (packed,) = ozx.pack_many(["raw/a.ome.zarr"], **options).results
    assert (packed.source, packed.path) == (os.path.abspath("raw/a.ome.zarr"), os.path.abspath("out/a.ozx"))
    assert (packed.error, packed.source_removed, os.path.exists("raw/a.ome.zarr")) == (None, True, False)
    assert ozx.open("out/a.ozx")["0"][0, 0] == 1
    (imported,) = ozx.import_images(["raw/b.tif"], out_dir="out", file_executor=Elsewhere(home), sync=False).results
    assert imported.path == os.path.abspath("out/b.ozx")
    np.testing.assert_array_equal(ozx.open("out/b.ozx")["0"][:], pixels((30, 40), seed=1))
    assert tree(home) == before


def test_parts_of_one_image_are_found_by_relative_paths(home):
    write_parts(home.parent / "project" / "raw")
    names = [f"raw/{name}" for name in sorted(os.listdir("raw")) if name.startswith("part")]
    results = ozx.import_images(names, out_dir="out", file_executor=Elsewhere(home), sync=False).results
    assert [result.status for result in results] == ["imported"] + ["skipped"] * (len(names) - 1)


def test_blocks_of_one_file_come_from_the_client(home):
    executor = Elsewhere(home)
    ozx.import_image("raw/b.tif", "out/b.ozx", executor=executor, sync=False)
    np.testing.assert_array_equal(ozx.open("out/b.ozx")["0"][:], pixels((30, 40), seed=1))
    ozx.repack("raw/c.ozx", "out/c.ozx", codec="zstd:1", executor=executor, sync=False)
    ozx.write_image("out/d.ozx", zarr.open_array("raw/a.ome.zarr/0", mode="r"), executor=executor, sync=False)
    for name in "cd":
        assert ozx.open(f"out/{name}.ozx")["0"][0, 0] == 1


def test_validation_reads_the_files_of_the_client(home):
    (home.parent / "project" / "raw" / "a.ome.zarr" / "zarr.json").write_bytes(b"{")
    names = ["raw/a.ome.zarr", "raw/c.ozx", "raw/c.ozx|zip:0/", "raw/missing.ozx"]
    found = dict(validate_many(names, executor=Elsewhere(home)))
    assert [found[number].valid for number in range(3)] == [False, True, True]
    assert found[1].path == os.path.abspath("raw/c.ozx")
    assert found[3].code == "missing"


def test_a_schema_is_that_of_the_client(home, monkeypatch):
    seen = []
    monkeypatch.setattr("ozx.validation.validate.validate", lambda path, **options: seen.append(options["schemas"]))
    list(validate_many(["raw/c.ozx"], schemas={"https://example.org/a": "a.json"}, executor=Elsewhere(home)))
    assert seen == [{"https://example.org/a": os.path.abspath("a.json")}]


class WithOtherDisk(Elsewhere):
    """Executor whose worker sees another file at a path."""

    def __init__(self, folder, path, monkeypatch):
        super().__init__(folder)
        self.path, self.monkeypatch, self.real = path, monkeypatch, tasks.look_at

    def look_at(self, path):
        return ("node", 7, 8, 9) if path == self.path else self.real(path)

    def submit(self, task, /, *arguments):
        with self.monkeypatch.context() as patch:
            patch.setattr(tasks, "look_at", self.look_at)
            return super().submit(task, *arguments)


@pytest.mark.parametrize("place", ["raw/a.ome.zarr", "out"])
def test_a_worker_with_other_files_fails_the_task(home, monkeypatch, place):
    executor = WithOtherDisk(home, os.path.abspath(place), monkeypatch)
    (packed,) = ozx.pack_many(["raw/a.ome.zarr"], out_dir="out", executor=executor, remove_source=True).results
    assert (packed.status, packed.error["code"]) == ("failed", "resource")
    said = f"{os.path.abspath(place)}: the worker on {platform.node()} does not see the same file or folder"
    assert said in packed.error["message"]
    assert os.path.exists("raw/a.ome.zarr")
    assert os.listdir("out") == []


def test_a_worker_with_other_files_fails_blocks_of_one_file(home, monkeypatch):
    array = zarr.open_array("raw/a.ome.zarr/0", mode="r")
    for place, call in (
        ("raw/b.tif", lambda executor: ozx.import_image("raw/b.tif", "out/b.ozx", executor=executor)),
        ("raw/a.ome.zarr/0", lambda executor: ozx.write_image("out/d.ozx", array, executor=executor)),
    ):
        executor = WithOtherDisk(home, os.path.abspath(place), monkeypatch)
        with pytest.raises(ResourceError, match="does not see the same file or folder"):
            call(executor)
    assert os.listdir("out") == []


HERE = ("client", 1, 2, 3)


@pytest.mark.parametrize(
    ("there", "is_folder", "is_same"),
    [
        pytest.param(HERE, False, True, id="all the same"),
        pytest.param(("client", 1, 2, 4), False, True, id="changed, on one computer"),
        pytest.param(("node", 9, 2, 3), False, True, id="a file server, which each computer numbers for itself"),
        pytest.param(("client", 9, 2, 3), False, True, id="a file server that is mounted twice"),
        pytest.param(("node", 1, 2, 4), False, False, id="another disk with the same numbers"),
        pytest.param(("node", 1, 5, 3), False, False, id="another inode"),
        pytest.param(("client", 1, 5, 3), False, False, id="another inode on one computer"),
        pytest.param(None, False, False, id="nothing"),
        pytest.param(("node", 9, 2, 4), True, True, id="a folder to which files were added"),
        pytest.param(("client", 9, 2, 4), True, False, id="a folder of another container"),
        pytest.param(("node", 1, 5, 3), True, False, id="another folder"),
    ],
)
def test_what_counts_as_the_same(monkeypatch, there, is_folder, is_same):
    for own, seen in ((HERE, there), (there, HERE)):
        monkeypatch.setattr(tasks, "look_at", lambda _, own=own: own)
        if is_same:
            check_same("a", seen, is_folder=is_folder)
        else:
            with pytest.raises(ResourceError, match="does not see the same"):
                check_same("a", seen, is_folder=is_folder)


def double(source, target, progress):
    if source.endswith("wrong"):
        raise OzxError("it is wrong")
    return 2 * source


def fail(source, target, error):
    return str(error)


def test_slow_files_are_spread_again(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "_SECONDS_PER_GROUP", -1)
    executor = Elsewhere(tmp_path)
    pairs = [(f"/{number}", "") for number in range(20)]
    assert sorted(dict(groups_elsewhere(double, fail, pairs, executor))) == list(range(20))
    assert sum(executor.sizes) > 20
    assert executor.sizes[-1] == 1


class Losing(Elsewhere):
    """Executor that loses each task with a certain file."""

    def submit(self, task, /, *arguments):
        if any(item[0] == "/7" for item in arguments[0]):
            self.sizes.append(len(arguments[0]))
            future = Future()
            future.set_exception(RuntimeError("killed"))
            return future
        return super().submit(task, *arguments)


@pytest.mark.posix("paths without a drive")
def test_a_file_that_kills_its_workers_fails_alone(tmp_path):
    pairs = [(f"/{number}", "") for number in range(100)]
    found = dict(groups_elsewhere(double, fail, pairs, Losing(tmp_path)))
    assert "/7: the workers that processed it were lost: RuntimeError: killed" in found.pop(7)
    assert found == {number: f"/{number}/{number}" for number in range(100) if number != 7}

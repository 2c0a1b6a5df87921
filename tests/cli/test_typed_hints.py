"""The command that a hint names works when it is typed, in the folder of the command that failed."""

import os
import shlex

import pytest
from buckets import bucket, s3_endpoint  # noqa: F401 (fixtures)
from cases.archive_builder import group, write_tree
from hierarchies import FIXTURES, tree
from packed import zip_values

import ozx
from ozx.cli.app import run

GROUP = group(None)
# An image without chunks: its pixels are fill values.
IMAGE = {key: value for key, value in tree(FIXTURES / "image.ome.zarr").items() if key.endswith("zarr.json")}
PLAIN = {"zarr.json": GROUP, "images/zarr.json": GROUP} | {f"images/a b/{key}": IMAGE[key] for key in IMAGE}
LEGACY = {".zgroup": b'{"zarr_format":2}'} | {
    f"old/{key}": value for key, value in tree(FIXTURES / "legacy.ome.zarr").items()
}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def hint_of(capsys, line):
    """Run a command that fails; return its first hint."""
    assert run(shlex.split(line)) != 0
    captured = capsys.readouterr()
    return next(line for line in (captured.err + captured.out).splitlines() if "hint: " in line)


def type_command(hint, out=None):
    words = shlex.split(hint[hint.index("ozx ") :], posix=os.name != "nt")
    command = [word.strip('"') if os.name == "nt" else word for word in words[1:]]
    assert run([out if word == "OUT.ozx" else word for word in command]) == 0
    return command


@pytest.mark.parametrize("line", ["pack my.zarr", "repack my.zarr o.ozx", "validate my.zarr", "extract my.zarr o.ozx"])
def test_groups_in_a_plain_directory(tmp_path, capsys, line):
    write_tree(tmp_path / "my.zarr", PLAIN)
    command = type_command(hint_of(capsys, f"{line} --levels 0" if line.startswith("extract") else line))
    assert command == ["pack", os.path.join("my.zarr", "images/a b"), "a b.ozx"]
    assert ozx.validate("a b.ozx")


@pytest.mark.parametrize("line", ["repack my.zip o.ozx", "validate my.zip", "extract my.zip o.ozx --path images"])
def test_groups_in_a_plain_archive(tmp_path, capsys, line):
    zip_values(tmp_path / "my.zip", PLAIN)
    assert type_command(hint_of(capsys, line)) == ["extract", "my.zip", "a b.ozx", "--path", "images/a b"]
    assert ozx.validate("a b.ozx")


def test_groups_are_named(tmp_path, capsys):
    write_tree(
        tmp_path / "my.zarr", PLAIN | {"labels/zarr.json": GROUP} | {f"labels/c/{key}": IMAGE[key] for key in IMAGE}
    )
    assert run(["pack", "my.zarr"]) == 1
    assert "; OME-Zarr groups below it: images/a b, labels/c, " in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["directory", "archive"])
def test_groups_of_zarr_v2(tmp_path, capsys, kind):
    if kind == "directory":
        write_tree(tmp_path / "my.zarr", LEGACY)
        hint = hint_of(capsys, "pack my.zarr o.ozx")
    else:
        zip_values(tmp_path / "my.zip", LEGACY)
        hint = hint_of(capsys, "repack my.zip o.ozx")
    type_command(hint)
    assert ozx.validate("old.ozx")


def test_a_folder_around_the_hierarchy(tmp_path, capsys):
    write_tree(tmp_path / "outer" / "my.zarr", IMAGE)
    assert type_command(hint_of(capsys, "validate outer"))[1] == os.path.join("outer", "my.zarr")


def test_arrays_without_any_group_get_no_command(tmp_path, capsys):
    array = IMAGE["0/zarr.json"]
    write_tree(tmp_path / "my.zarr", {"zarr.json": GROUP, "camera/zarr.json": array})
    assert 'ozx.write_image("OUT.ozx", array' in hint_of(capsys, "pack my.zarr")


class TestInBucket:
    @pytest.fixture(autouse=True)
    def _bucket(self, bucket):  # noqa: F811
        self.bucket = bucket

    def put(self, folder, values):
        for key, value in values.items():
            self.bucket.put(f"{folder}/{key}", value)
        return f"{self.bucket.url}/{folder}"

    def test_groups_in_a_plain_directory(self, capsys):
        url = self.put("my", PLAIN)
        assert type_command(hint_of(capsys, f"pack {url}/ o.ozx")) == ["pack", f"{url}/images/a b/", "a b.ozx"]

    @pytest.mark.parametrize("line", ["edit {} --name n --yes", "verify {}", "recover {} o.ozx"])
    @pytest.mark.parametrize("folder", ["my/", "my.zarr", "my.zarr/"])
    def test_a_directory_where_a_file_is_expected(self, capsys, line, folder):
        url = self.put(folder.strip("/"), IMAGE)
        type_command(hint_of(capsys, line.format(f"{self.bucket.url}/{folder}")), out="new.ozx")
        assert ozx.validate("new.ozx")
        assert url in self.bucket.url + "/my.zarr"

    @pytest.mark.parametrize("verb", ["pack", "repack"])
    def test_a_folder_of_images(self, capsys, verb):
        url = self.put("many", {f"{name}.zarr/{key}": value for name in "ab" for key, value in IMAGE.items()})
        command = type_command(hint_of(capsys, f"{verb} {url}/ o.ozx"))
        assert command == ["pack", f"{url}/a.zarr/", f"{url}/b.zarr/"]

    def test_an_upload_without_time_is_advised_to_take_longer(self, capsys):
        hint = hint_of(capsys, f"pack {FIXTURES / 'image.ome.zarr'} {self.bucket.url}/new.ozx --timeout 1e-6")
        assert "Set a longer limit" in hint
        assert "read less" not in hint
        assert self.bucket.keys() == self.bucket.uploads() == []

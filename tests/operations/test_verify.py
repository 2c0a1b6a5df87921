"""Manifests: what they say of the source, and what a file is that differs from its manifest."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from hierarchies import FIXTURES, make_image
from packed import pack_with_manifest_inside, values_of, write_archive

import ozx
from ozx.cli.app import run
from ozx.errors import FormatError, ResourceError, UsageError
from ozx.flow.sinks import fast_packing
from ozx.operations.pack import pack
from ozx.operations.verify import verify

IMAGE = FIXTURES / "image.ome.zarr"


def lines_of(path):
    return json.loads(path.read_text())["values"]


def files_below(folder):
    """Return what `sha256sum` and `stat` say of every file."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[path.relative_to(folder).as_posix()] = (path.stat().st_size, digest, path.stat().st_mtime_ns)
    return found


@pytest.mark.parametrize("is_fast", [True, False])
def test_a_manifest_has_every_source_file(tmp_path, monkeypatch, is_fast):
    source = tmp_path / "cells.ome.zarr"
    shutil.copytree(IMAGE, source)
    (source / "0" / "c" / "9").mkdir(parents=True)
    (source / "0" / "c" / "9" / "9").write_bytes(os.urandom(3 << 20))  # more than a buffer
    monkeypatch.setattr(fast_packing, "is_available", lambda: is_fast)
    path = tmp_path / "cells.ozx"
    pack(source, path, manifest=True, sync=False)
    values = lines_of(tmp_path / "cells.ozx.manifest.json")
    assert {value["key"]: (value["bytes"], value["sha256"], value["mtime_ns"]) for value in values} == files_below(
        source
    )
    assert [value["key"] for value in values] == [entry.key for entry in ozx.list_entries(path)]
    shutil.rmtree(source)
    result = verify(path)
    assert (result.entries, result.sha256) == (len(values), None)
    assert result.bytes == sum(value["bytes"] for value in values)


def test_another_layout_has_the_values_of_the_file(tmp_path):
    path = tmp_path / "cells.ozx"
    pack(IMAGE, path, shards="auto", thumbnail=True, manifest=True, sync=False)
    values = lines_of(tmp_path / "cells.ozx.manifest.json")
    assert [value["key"] for value in values] == [entry.key for entry in ozx.list_entries(path)]
    assert {value["mtime_ns"] for value in values} == {None}
    assert verify(path).entries == len(values)


@pytest.fixture
def packed(tmp_path):
    """A packed image with manifest, and its source."""
    source = make_image(tmp_path / "cells.ome.zarr")
    pack(source, tmp_path / "cells.ozx", manifest=True, sync=False)
    return tmp_path / "cells.ozx"


def rewrite(path, change):
    """Write the archive again, with its values changed, and correct CRCs."""
    values = values_of(path)
    change(values)
    write_archive(path, values, b"")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: values.update({"zarr.json": values["zarr.json"] + b" "}), "the value of 'zarr.json' differs"),
        (lambda values: values.update({"0/zarr.json": values["0/zarr.json"].swapcase()}), "'0/zarr.json' differs"),
        (lambda values: values.pop("0/zarr.json"), "'0/zarr.json' is missing"),
        (lambda values: values.update({"x": b""}), "the manifest does not list 'x'"),
    ],
)
def test_what_differs_is_named(packed, change, message):
    rewrite(packed, change)
    with pytest.raises(FormatError, match=message) as caught:
        verify(packed)
    assert str(caught.value).startswith(f"{packed}: its values differ from cells.ozx.manifest.json: ")


def test_many_differences_are_counted(packed):
    rewrite(packed, lambda values: values.update({str(number): b"" for number in range(20)}))
    with pytest.raises(FormatError, match="does not list '4', and 15 more"):
        verify(packed)


def test_a_copy_with_its_manifest_elsewhere(packed, tmp_path):
    copy = tmp_path / "elsewhere" / "copy.ozx"
    copy.parent.mkdir()
    shutil.copy(packed, copy)
    with pytest.raises(UsageError, match=r"a manifest \(\.manifest\.json\) or a checksum \(\.sha256\) beside the file"):
        verify(copy)
    assert verify(copy, manifest=f"{packed}.manifest.json").entries == 3


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 2, "values": []}', '{"schema": 1, "values": [{"key": 1}]}']
)
def test_what_is_no_manifest(packed, text):
    (packed.parent / "cells.ozx.manifest.json").write_text(text)
    with pytest.raises(UsageError, match="expected a manifest of ozx, schema 1"):
        verify(packed)


def test_a_checksum_is_compared_too(tmp_path):
    source = make_image(tmp_path / "cells.ome.zarr")
    path = tmp_path / "cells.ozx"
    pack(source, path, checksum="sha256", sync=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (verify(path).sha256, verify(path).entries) == (digest, 0)
    again = pack(source, path, checksum="sha256", resume=True, sync=False)
    assert (again.status, again.sha256) == ("skipped", digest)
    (tmp_path / "cells.ozx.sha256").write_text(f"{'0' * 64}  cells.ozx\n")
    for call in (lambda: verify(path), lambda: pack(source, path, checksum="sha256", resume=True)):
        with pytest.raises(ResourceError, match=f"expected the SHA-256 0000.*found {digest}"):
            call()
    (tmp_path / "cells.ozx.sha256").write_text("nonsense")
    with pytest.raises(UsageError, match="expected a line in the format of sha256sum"):
        verify(path)


def test_a_resumed_run_writes_a_missing_manifest(packed, tmp_path):
    manifest = tmp_path / "cells.ozx.manifest.json"
    before = manifest.read_bytes()
    manifest.unlink()
    result = pack(tmp_path / "cells.ome.zarr", packed, manifest=True, resume=True, sync=False)
    assert result.status == "skipped"
    assert manifest.read_bytes() == before


@pytest.mark.parametrize(
    "replace",
    [
        lambda source, path: ozx.pack(source, path, force=True, sync=False).notes,
        lambda source, path: ozx.repack(source, path, force=True, sync=False).notes,
        lambda source, path: ozx.edit(path, name="Other", sync=False).notes,
    ],
)
def test_a_replaced_file_loses_what_described_the_old_one(tmp_path, replace):
    source, path = tmp_path / "cells.ome.zarr", tmp_path / "cells.ozx"
    shutil.copytree(IMAGE, source)
    pack(source, path, manifest=True, checksum="sha256", sync=False)
    notes = replace(source, path)
    kept = set(os.listdir(tmp_path)) - {"cells.ome.zarr", "cells.ozx"}
    assert kept <= {"cells.ozx.manifest.json"}  # edit renews it
    for ending in {".sha256", ".manifest.json"} - {name.removeprefix("cells.ozx") for name in kept}:
        assert f"removed {path}{ending}: it described the file that was replaced" in notes


def test_a_store_that_replaces_a_file_does_so_too(tmp_path):
    path = tmp_path / "cells.ozx"
    shutil.copytree(IMAGE, tmp_path / "cells.ome.zarr")
    pack(tmp_path / "cells.ome.zarr", path, checksum="sha256", sync=False)
    import zarr  # noqa: PLC0415

    with ozx.OzxStore(path, mode="a") as store:
        zarr.open_group(store, mode="a").attrs["extra"] = 1
    assert not (tmp_path / "cells.ozx.sha256").exists()


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"shards": "auto"}])
def test_a_manifest_that_a_preview_put_inside_is_read(tmp_path, options):
    path = pack_with_manifest_inside(IMAGE, tmp_path / "cells.ozx", **options)
    keys = [entry.key for entry in ozx.list_entries(path)]
    assert (keys[0], keys[-1]) == ("zarr.json", "ozx-manifest.json")
    assert verify(path).entries == len(keys) - 1
    assert pack(IMAGE, path, resume=True, sync=False, **options).status == "skipped"
    rewrite(path, lambda values: values.update({"zarr.json": values["zarr.json"] + b" "}))
    with pytest.raises(FormatError, match=r"from ozx-manifest\.json: the value of 'zarr.json' differs"):
        verify(path)


def test_a_source_may_have_a_file_of_the_name_of_a_manifest(tmp_path):
    source = make_image(tmp_path / "cells.ome.zarr")
    (source / "ozx-manifest.json").write_text("{}")
    result = pack(source, verify=True, sync=False)  # it is a file like others
    assert "ozx-manifest.json" in [entry.key for entry in ozx.list_entries(result.path)] or result.left_out


class TestFolders:
    """What became of all files of a folder, and of those that a log lists."""

    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "packed" / "inner").mkdir(parents=True)
        for name in ("a", "b", "c", "inner/d"):
            root = make_image(tmp_path / f"{name}.ome.zarr", {"0/c/0/0": os.urandom(9)})
            manifest = name != "b"
            log = ["--log", tmp_path / "runs.jsonl"]
            command = ["pack", root, tmp_path / "packed" / f"{name}.ozx", "--checksum", "sha256", "--no-sync", *log]
            assert run([*map(str, command), *(["--manifest"] if manifest else [])]) == 0
        return tmp_path / "packed"

    def answer(self, capsys, *words):
        capsys.readouterr()
        code = run(["verify", *map(str, words), "--json"])
        document = json.loads(capsys.readouterr().out)
        changed = [os.path.basename(each["path"]) for each in document["changed"]]
        lost, new = ([os.path.basename(path) for path in document[name]] for name in ("lost", "new"))
        return code, document["verified"], changed, lost, new

    @pytest.fixture(params=["folder", "log"])
    def asked(self, request, folder):
        return [folder] if request.param == "folder" else ["--log", folder.parent / "runs.jsonl"]

    def test_files_as_they_were_and_a_new_one_are_no_fault(self, folder, asked, capsys):
        assert self.answer(capsys, *asked) == (0, 4, [], [], [])
        assert len(list(folder.iterdir())) == 9
        shutil.copy(folder / "c.ozx", folder / "new.ozx")
        assert self.answer(capsys, *asked) == (0, 4, [], [], ["new.ozx"])

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_lost_changed_and_new_files(self, folder, asked, capsys, jobs):
        (folder / "a.ozx").unlink()
        with (folder / "b.ozx").open("r+b") as file:
            file.seek(200)
            file.write(b"!")
        shutil.copy(folder / "c.ozx", folder / "new.ozx")
        assert self.answer(capsys, *asked, "--jobs", jobs) == (1, 2, ["b.ozx"], ["a.ozx"], ["new.ozx"])

    def test_a_file_that_was_replaced_with_its_records_differs_from_the_log(self, folder, capsys):
        ozx.pack(IMAGE, folder / "c.ozx", force=True, checksum="sha256", manifest=True, sync=False)
        assert self.answer(capsys, folder) == (0, 4, [], [], [])
        assert self.answer(capsys, "--log", folder.parent / "runs.jsonl") == (1, 3, ["c.ozx"], [], [])

    def test_the_log_has_the_digests_that_were_made(self, folder):
        lines = [json.loads(line) for line in (folder.parent / "runs.jsonl").read_text().splitlines()]
        for line in lines:
            path = Path(line["output"])
            assert line["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
            manifest = path.with_name(f"{path.name}.manifest.json")
            expected = hashlib.sha256(manifest.read_bytes()).hexdigest() if manifest.exists() else None
            assert line["manifest_sha256"] == expected

    def test_text_names_each_file(self, folder, capsys):
        (folder / "a.ozx").unlink()
        assert run(["verify", str(folder)]) == 1
        told = capsys.readouterr()
        assert told.err == f"lost: {folder / 'a.ozx'}\n"
        assert told.out == "3 verified, 0 changed, 1 lost, 0 new\n"


class TestEdited:
    """The manifest of a file that was edited."""

    def test_changed_lines_are_renewed_and_keep_the_old_digest(self, tmp_path):
        path = tmp_path / "a.ozx"
        ozx.pack(IMAGE, path, manifest=True, sync=False)
        before = {value["key"]: value for value in lines_of(tmp_path / "a.ozx.manifest.json")}
        for name in ("first", "second"):
            ozx.edit(path, name=name, sync=False)
            assert verify(path).entries == len(before)
        after = {value["key"]: value for value in lines_of(tmp_path / "a.ozx.manifest.json")}
        changed = {key for key in before if before[key] != after[key]}
        assert changed == {"zarr.json"}
        earlier = after["zarr.json"]["earlier"]
        assert earlier[0]["sha256"] == before["zarr.json"]["sha256"]
        assert len(earlier) == 2
        assert all(re.fullmatch(r"20..-..-..T..:..:..\+00:00", each["until"]) for each in earlier)

    def test_a_file_that_is_no_manifest_is_removed_as_before(self, tmp_path):
        path = tmp_path / "a.ozx"
        ozx.pack(IMAGE, path, sync=False)
        (tmp_path / "a.ozx.manifest.json").write_text("{}")
        result = ozx.edit(path, name="new", sync=False)
        assert any("a.ozx.manifest.json" in note for note in result.notes)
        assert os.listdir(tmp_path) == ["a.ozx"]

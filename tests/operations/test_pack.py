"""pack: the same bytes come back, in the form that RFC-9 asks for; what is refused, and what resumes."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cases.archive_builder import write_tree
from hierarchies import FIXTURES, group, make_image, tree
from links import make_link

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.errors import FormatError, OzxError, ResourceError, UsageError
from ozx.flow import source_removal
from ozx.flow.sinks import verification
from ozx.operations import pack as module
from ozx.operations.pack import pack, pack_many
from ozx.operations.verify import verify


def test_names_as_a_disk_of_a_mac_gives_them_are_told(tmp_path):
    name = unicodedata.normalize("NFD", "Körper")
    labels = {"labels/zarr.json": group(version="0.5", labels=["Körper"]), f"labels/{name}/zarr.json": group()}
    write_tree(make_image(tmp_path / "a.zarr"), labels)
    (note,) = pack(tmp_path / "a.zarr", tmp_path / "a.ozx").notes
    assert "NFD" in note
    assert name in note
    assert "ome/label-missing" in {finding.id for finding in ozx.validate(tmp_path / "a.ozx").findings}


@pytest.mark.ci
def test_many_entries_give_advice(tmp_path):
    root = make_image(tmp_path / "h", {f"0/c/{n // 500}/{n % 500}": b"" for n in range(10_001)})
    result = pack(root)
    assert any("Sharding" in note and "10,003 entries" in note for note in result.notes)


# What is refused: nothing has the final name afterwards, and the message says what to do.


def spoil_root(document):
    return lambda root: (root / "zarr.json").write_text(json.dumps(document), encoding="utf-8")


def remove(key):
    return lambda root: (root / key).unlink()


def write(key, data=b"x"):
    return lambda root: write_tree(root, {key: data})


GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}
OTHER_VERSION = json.dumps({**GROUP, "attributes": {"ome": {"version": "0.4"}}}).encode()

REFUSED = {
    "no root": (remove("zarr.json"), "rfc9/root"),
    "no ome": (spoil_root(GROUP), "rfc9/one-hierarchy"),
    "no version": (spoil_root({**GROUP, "attributes": {"ome": {}}}), "rfc9/one-hierarchy"),
    "bare array": (spoil_root({"zarr_format": 3, "node_type": "array"}), "rfc9/one-hierarchy"),
    "broken json": (write("0/zarr.json", b'{"zarr_format": 3,'), "zarr/json"),
    "not utf-8": (write("zarr.json", b"\xff\xfe{}"), "zarr/json"),
    "unreachable node": (write("a/b/zarr.json", json.dumps(GROUP).encode()), "rfc9/one-hierarchy"),
    "zarr v2 inside": (write("old/.zgroup", b"{}"), "rfc9/one-hierarchy"),
    "other version inside": (write("1/zarr.json", OTHER_VERSION), "rfc9/one-hierarchy"),
    "archive by name": (write("1/inner.ozx"), "rfc9/not-embedded"),
    "archive by content": (write("1/data", b"PK\x03\x04" + bytes(26) + b"PK\x05\x06" + bytes(18)), "rfc9/not-embedded"),
    "backslash": (write("a\\b"), "zip/name"),
    "drive": (write("C:/x"), "zip/name"),
    "pipe": (lambda root: os.mkfifo(root / "pipe"), "zip/special-file"),
    "link out": (lambda root: make_link(root / "etc", "/etc"), "zip/special-file"),
}


ONLY_POSIX = ("backslash", "drive", "pipe")


def marked(case):
    """Return a case, marked if Windows has no such files."""
    return pytest.param(case, marks=[pytest.mark.posix("there are no such files here")] * (case in ONLY_POSIX))


@pytest.mark.parametrize("case", [marked(case) for case in REFUSED])
@pytest.mark.parametrize("force", [False, True])
def test_a_wrong_source_is_refused_and_nothing_is_written(tmp_path, case, force):
    spoil, rule = REFUSED[case]
    root = make_image(tmp_path / "h")
    spoil(root)
    out = tmp_path / "out"
    out.mkdir()
    if force:
        (out / "a.ozx").write_bytes(b"old")
    with pytest.raises(FormatError) as caught:
        pack(root, out / "a.ozx", force=force)
    assert caught.value.rule == rule
    assert caught.value.hint
    assert str(root) in str(caught.value)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == ({"a.ozx": b"old"} if force else {})


def test_old_versions_and_mixed_ones_are_refused_with_a_way_out(tmp_path):
    root = shutil.copytree(FIXTURES / "legacy.ome.zarr", tmp_path / "h")
    attributes = json.loads((root / ".zattrs").read_text())
    attributes["multiscales"][0]["version"] = "0.2"
    (root / ".zattrs").write_text(json.dumps(attributes))
    with pytest.raises(OzxError, match=r"0\.2") as caught:
        pack(root, tmp_path / "a.ozx")
    assert caught.value.hint
    shutil.copyfile(FIXTURES / "image.ome.zarr" / "0" / "zarr.json", root / "0" / "zarr.json")
    with pytest.raises(OzxError, match="Zarr v3"):
        pack(root, tmp_path / "a.ozx")
    assert os.listdir(tmp_path) == ["h"]


@pytest.mark.parametrize("marker", ["zarr.json", ".zgroup"])
def test_an_output_inside_another_hierarchy_is_refused(tmp_path, image, marker):
    other = tmp_path / "other" / "deep"
    other.mkdir(parents=True)
    (tmp_path / "other" / marker).write_bytes(b"{}")
    with pytest.raises(UsageError, match="inside another hierarchy"):
        pack(image, other / "a.ozx")
    assert os.listdir(other) == []


@pytest.mark.parametrize("what", ["value", "missing"])
def test_a_copy_that_differs_is_found_before_it_gets_its_name(tmp_path, image, monkeypatch, what):
    root = shutil.copytree(image, tmp_path / "h")
    original = verification.check_archive

    def damage(archive, plan, *rest):
        prefix, names = list(plan.files.folders.items())[-1]
        if what == "missing":
            names.append("extra")
        else:
            (root / prefix / names[-1]).write_bytes(b"changed afterwards")
        original(archive, plan, *rest)

    monkeypatch.setattr(verification, "check_archive", damage)
    with pytest.raises((ResourceError, FileNotFoundError)):
        pack(root, tmp_path / "a.ozx", remove_source=True)
    assert root.is_dir()
    assert sorted(os.listdir(tmp_path)) == ["h"]


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_system_is_asked_to_sync_before_the_source_goes(tmp_path, image):
    shutil.copytree(image, tmp_path / "h.ome.zarr")
    pack(tmp_path / "h.ome.zarr", tmp_path / "a.ozx", sync=False)
    code = "import ozx; ozx.pack('h.ome.zarr', 'a.ozx', resume=True, remove_source=True)"
    calls = "fsync,fadvise64,unlink,unlinkat"
    told = tmp_path.parent / f"{tmp_path.name}.strace"
    command = ["strace", "-f", "-y", "-e", f"trace={calls}", "-o", told, sys.executable, "-c", code]
    traced = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    if "ptrace" in traced.stderr:
        pytest.skip("processes may not be traced here")
    assert traced.returncode == 0, traced.stderr
    lines = [line for line in told.read_text().splitlines() if str(tmp_path) in line or ".ozx-aside" in line]
    synced = next(n for n, line in enumerate(lines) if "fsync(" in line and "/a.ozx>" in line)
    folder = next(n for n, line in enumerate(lines) if "fsync(" in line and f"{tmp_path}>" in line)
    forgotten = next(n for n, line in enumerate(lines) if "fadvise64(" in line and "/a.ozx>" in line)
    removed = next(n for n, line in enumerate(lines) if "unlink" in line and ".ozx-aside" in line)
    assert synced < folder < forgotten < removed


def after(monkeypatch, owner, name, act):
    """Have something done when a function has ended, once."""
    original, done = getattr(owner, name), []

    def call(*arguments, **options):
        found = original(*arguments, **options)
        if not done:
            done.append(True)
            act()
        return found

    monkeypatch.setattr(owner, name, call)


def add_frame(root):
    (root / "0" / "c" / "9").mkdir()
    (root / "0" / "c" / "9" / "frame").write_bytes(b"a frame that came late")


def rewrite_alike(root):
    """Write other bytes, as many of them, with the same modification time."""
    path = root / "0" / "zarr.json"
    status = path.stat()
    path.write_bytes(b" " * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


WRITERS = {
    "adds": (add_frame, "0/c/9/ is new"),
    "rewrites": (rewrite_alike, "0/zarr.json changed"),
    "removes": (lambda root: (root / "0" / "zarr.json").unlink(), "0/zarr.json is gone"),
    "adds litter": (lambda root: (root / "notes.txt~").write_bytes(b"notes"), "notes.txt~ is new"),
    "adds an empty folder": (lambda root: (root / "labels").mkdir(), "labels/ is new"),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("options", [{}, {"shards": "auto"}, {"resume": True}], ids=["plain", "sharded", "resumed"])
def test_a_source_that_changes_after_its_verification_stays_whole(tmp_path, image, monkeypatch, writer, options):
    root, (act, told) = shutil.copytree(image, tmp_path / "h"), WRITERS[writer]
    shutil.rmtree(root / "labels")
    if options.get("resume"):
        pack(root, tmp_path / "a.ozx")
    after(monkeypatch, verification, "find_difference", lambda: act(root))
    expected = tree(root)
    with pytest.raises(ResourceError, match="nothing was removed") as caught:
        pack(root, tmp_path / "a.ozx", remove_source=True, **options)
    assert told in str(caught.value)
    assert "resume=True" in caught.value.hint
    found = tree(root)
    assert set(found) >= set(expected) - {"0/zarr.json"}
    assert not any(".ozx-" in name for name in found)
    assert ozx.validate(tmp_path / "a.ozx").valid


def test_what_changes_before_it_is_read_is_no_reason_to_remove_what_came_with_it(tmp_path, image, monkeypatch):
    root = shutil.copytree(image, tmp_path / "h")
    after(monkeypatch, source_removal, "list_directory", lambda: add_frame(root))
    with pytest.raises(ResourceError, match="0/c/9/ is new"):
        pack(root, tmp_path / "a.ozx", remove_source=True)
    assert (root / "0" / "c" / "9" / "frame").exists()


@pytest.mark.parametrize("writer", ["adds", "rewrites", "adds litter", "adds an empty folder"])
def test_what_comes_or_changes_while_the_source_is_removed_stays_and_is_named(tmp_path, image, monkeypatch, writer):
    root, (act, told) = shutil.copytree(image, tmp_path / "h"), WRITERS[writer]
    shutil.rmtree(root / "labels")
    after(monkeypatch, source_removal, "write_marker", lambda: act(root))
    result = pack(root, tmp_path / "a.ozx", remove_source=True)
    name = told.partition(" ")[0]
    assert not result.source_removed
    assert f"{root} still exists" in result.notes[-1]
    assert name in result.notes[-1]
    left = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() or not any(path.iterdir())]
    assert left == [name + "frame" if writer == "adds" else name.rstrip("/")]


def test_a_source_with_files_that_are_not_packed_is_not_removed(tmp_path, image):
    root = shutil.copytree(image, tmp_path / "h")
    (root / "0" / "notes.txt~").write_bytes(b"notes")
    before = tree(root)
    with pytest.raises(UsageError, match=r"notes\.txt~ would be lost") as caught:
        pack(root, tmp_path / "a.ozx", remove_source=True)
    assert "Move or delete" in caught.value.hint
    assert tree(root) == before
    assert not (tmp_path / "a.ozx").exists()


def cut_off(root, archive, monkeypatch):
    """Pack, and have the removal of the source interrupted."""
    unlink, count = os.unlink, []

    def interrupted(*arguments, **options):
        count.append(1)
        if len(count) == 8:
            raise KeyboardInterrupt
        unlink(*arguments, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "unlink", interrupted)
        pack(root, archive, remove_source=True)
    assert root.is_dir()


def test_the_rest_of_a_source_does_not_replace_its_archive(tmp_path, image, monkeypatch):
    root, archive = shutil.copytree(image, tmp_path / "h"), tmp_path / "a.ozx"
    cut_off(root, archive, monkeypatch)
    before, left = archive.read_bytes(), tree(root)
    for options in ({}, {"force": True}, {"resume": True, "force": True}):
        with pytest.raises(UsageError, match="the removal was interrupted") as caught:
            pack(root, archive, **options)
        assert "remove_source=True" in caught.value.hint
    with pytest.raises(UsageError, match="the removal was interrupted") as caught:
        pack(root, tmp_path / "b.ozx", remove_source=True)
    assert "packed into another file" in caught.value.hint
    assert (archive.read_bytes(), tree(root)) == (before, left)


@pytest.mark.parametrize("options", [{}, {"resume": True}, {"force": True}, {"shards": "auto", "resume": True}])
def test_the_next_run_finishes_a_removal(tmp_path, image, monkeypatch, options):
    root, archive = shutil.copytree(image, tmp_path / "h"), tmp_path / "a.ozx"
    cut_off(root, archive, monkeypatch)
    before = archive.read_bytes()
    result = pack(root, archive, remove_source=True, **options)
    assert (result.status, result.source_removed, result.bytes) == ("skipped", True, len(before))
    assert "finished the interrupted removal" in result.notes[0]
    assert archive.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.ozx"]


def test_a_linked_source_is_not_removed(tmp_path, image):
    root = shutil.copytree(image, tmp_path / "h")
    make_link(tmp_path / "link", root)
    with pytest.raises(UsageError, match="is a link"):
        pack(tmp_path / "link", tmp_path / "a.ozx", remove_source=True)
    assert root.is_dir()
    assert pack(tmp_path / "link", tmp_path / "a.ozx").entries == len(tree(image))


@pytest.mark.posix("sha256sum is a program of POSIX systems")
@pytest.mark.parametrize("name", ["a.ozx", "with space é.ozx", "back\\slash.ozx"])
def test_the_checksum_file_is_what_sha256sum_reads(tmp_path, image, name):
    result = pack(image, tmp_path / name, checksum="sha256")
    assert result.sha256 == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is not installed")
    subprocess.run(["sha256sum", "-c", "--strict", f"{name}.sha256"], cwd=tmp_path, check=True, capture_output=True)


def test_another_checksum_is_refused(tmp_path, image):
    with pytest.raises(UsageError, match="sha256"):
        pack(image, tmp_path / "a.ozx", checksum="md5")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off"])
def test_resume_does_not_take_a_broken_file_for_complete(tmp_path, image, content):
    (tmp_path / "a.ozx").write_bytes(content)
    with pytest.raises(UsageError, match="not the complete copy"):
        pack(image, tmp_path / "a.ozx", resume=True)


def test_resume_makes_up_for_a_missing_checksum_file(tmp_path, image):
    before = pack(image, tmp_path / "a.ozx").path
    written = os.stat(before).st_mtime_ns
    result = pack(image, tmp_path / "a.ozx", resume=True, checksum="sha256")
    digest = hashlib.sha256((tmp_path / "a.ozx").read_bytes()).hexdigest()
    assert (result.status, result.sha256, os.stat(before).st_mtime_ns) == ("skipped", digest, written)
    assert (tmp_path / "a.ozx.sha256").read_text() == f"{digest}  a.ozx\n"
    assert pack(image, tmp_path / "a.ozx", resume=True, checksum="sha256").sha256 == digest


@pytest.fixture
def changed(tmp_path, image):
    """A source whose last chunk changed after it was packed, with the same size; and its file."""
    root = shutil.copytree(image, tmp_path / "h")
    pack(root, tmp_path / "a.ozx", manifest=True, checksum="sha256")
    chunk = root / "0" / "c" / "0" / "0" / "0"
    data = bytearray(chunk.read_bytes())
    data[-1] ^= 1
    chunk.write_bytes(data)
    os.utime(chunk, (1, 1))  # not newer than the file: values alone can tell
    return root, tmp_path / "a.ozx"


@pytest.mark.parametrize("options", [{"remove_source": True}, {"verify": True}])
def test_resume_takes_a_file_whose_values_differ_for_another_file(changed, options):
    root, out = changed
    before = tree(root)
    with pytest.raises(UsageError, match=r"not the complete copy of .*: the value of '0/c/0/0/0' differs$") as caught:
        pack(root, out, resume=True, **options)
    assert "The source changed since it was packed, or the source or the file is damaged" in caught.value.hint
    assert "resume=True and force=True" in caught.value.hint
    assert tree(root) == before
    result = pack(root, out, resume=True, force=True, manifest=True, **options)
    assert (result.status, result.verified) == ("packed", True)
    assert verify(out).entries == len(before)
    assert tree(ozx.unpack(out).path) == before


def test_resume_compares_the_values_of_a_source_that_is_newer_than_its_file(changed):
    root, out = changed
    assert pack(root, out, resume=True).status == "skipped"
    os.utime(root / "0" / "c" / "0" / "0" / "0")
    with pytest.raises(UsageError, match="the value of '0/c/0/0/0' differs"):
        pack(root, out, resume=True)
    assert pack(root, out, resume=True, force=True).status == "packed"
    os.utime(root / "zarr.json", (2_000_000_000, 2_000_000_000))
    again = pack(root, out, resume=True)
    assert (again.status, again.verified) == ("skipped", True)


def test_resume_and_force_replace_a_damaged_file(tmp_path, image):
    root = shutil.copytree(image, tmp_path / "h")
    out = tmp_path / "a.ozx"
    pack(root, out, checksum="sha256")
    good = out.read_bytes()
    out.write_bytes(good[:2000] + bytes([good[2000] ^ 1]) + good[2001:])
    with pytest.raises(UsageError, match="not the complete copy"):
        pack(root, out, resume=True, verify=True)
    with pytest.raises(ResourceError, match="expected the SHA-256"):
        pack(root, out, resume=True, checksum="sha256")
    assert pack(root, out, resume=True, force=True, checksum="sha256").status == "packed"
    assert out.read_bytes() == good


def pack_meanwhile(monkeypatch, source, out, **options):
    """Have another run pack `source` while the next run writes its archive."""
    original = module.write_archive

    def write_archive(*arguments):
        written = original(*arguments)
        monkeypatch.setattr(module, "write_archive", original)
        pack(source, out, **options)
        return written

    monkeypatch.setattr(module, "write_archive", write_archive)


@pytest.mark.parametrize("options", [{}, {"shards": "auto"}])
def test_resume_takes_what_another_run_packed_meanwhile(tmp_path, image, monkeypatch, options):
    pack_meanwhile(monkeypatch, image, tmp_path / "a.ozx", **options)
    result = pack(image, tmp_path / "a.ozx", resume=True, manifest=True, **options)
    assert result.status == "skipped"
    assert verify(result.path).entries == result.entries
    assert sorted(os.listdir(tmp_path)) == ["a.ozx", "a.ozx.manifest.json"]


def test_resume_refuses_what_another_run_made_of_another_source_meanwhile(tmp_path, image, monkeypatch):
    pack_meanwhile(monkeypatch, make_image(tmp_path / "other.ome.zarr"), tmp_path / "a.ozx")
    with pytest.raises(UsageError, match="not the complete copy"):
        pack(image, tmp_path / "a.ozx", resume=True)


@pytest.mark.posix("Windows has no locks of folders")
def test_runs_that_remove_one_source_take_turns(tmp_path, image, monkeypatch):
    root = shutil.copytree(image, tmp_path / "h.ome.zarr")
    values = tree(root)
    begun, original = threading.Event(), module.write_archive

    def write_archive(*arguments):
        begun.set()
        time.sleep(0.5)
        return original(*arguments)

    monkeypatch.setattr(module, "write_archive", write_archive)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(pack, root, remove_source=True, resume=True)
        assert begun.wait(10)
        second = pool.submit(pack, root, remove_source=True, resume=True)
        assert (first.result().status, first.result().source_removed) == ("packed", True)
        assert (second.result().status, second.result().source_removed) == ("skipped", True)
    assert second.result().notes == (f"another run removed {root}",)
    assert tree(ozx.unpack(tmp_path / "h.ozx", tmp_path / "back").path) == values


def test_resume_knows_a_source_that_an_earlier_run_removed_by_its_manifest(tmp_path, image):
    for name in ("a", "b"):
        shutil.copytree(image, tmp_path / f"{name}.ome.zarr")
        pack(tmp_path / f"{name}.ome.zarr", remove_source=True, manifest=name == "a")
    again = pack(tmp_path / "a.ome.zarr", resume=True, remove_source=True)
    assert (again.status, again.entries, again.source_removed) == ("skipped", len(tree(image)), True)
    for source, options in (("a", {"resume": True}), ("b", {"resume": True, "remove_source": True})):
        with pytest.raises(FileNotFoundError, match="no such directory"):
            pack(tmp_path / f"{source}.ome.zarr", **options)
    with pytest.raises(FileNotFoundError, match="no such directory"):
        pack(tmp_path / "c.ome.zarr", tmp_path / "a.ozx", resume=True, remove_source=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_the_batch_and_leaves_whole_files_only(tmp_path, monkeypatch, jobs):
    batch = [make_image(tmp_path / "sources" / f"{name}.ome.zarr") for name in "abcd"]
    original, calls = module.pack_one, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(module, "pack_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pack_many(batch, out_dir=tmp_path / "packed", jobs=jobs)
    for name in os.listdir(tmp_path / "packed"):
        assert name.endswith(".ozx")
        ArchiveReader(str(tmp_path / "packed" / name)).check()


@pytest.mark.parametrize("path", ["cells.ome.zarr", Path("cells.ome.zarr")])
@pytest.mark.parametrize("many", [pack_many, ozx.import_images])
def test_a_path_is_no_list_of_sources(many, path):
    with pytest.raises(UsageError, match=r"expected a list of sources; got the path 'cells\.ome\.zarr'"):
        many(path)

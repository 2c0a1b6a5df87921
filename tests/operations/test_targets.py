"""Every verb that writes: what it refuses to replace, and what is kept of the file it replaces."""

import os
import shutil
import stat
from functools import partial

import numpy as np
import pytest
import tifffile
from commands import command
from counting_progress import ActingProgress
from hierarchies import FIXTURES
from links import make_device, make_link, make_socket
from stores import put
from uris import ozx_uri

import ozx
from ozx.desktop.association.changes import DesktopChanges
from ozx.errors import UnsupportedError, UsageError
from ozx.integrations.napari import read_layers, write_layers
from ozx.operations import thumbnail as thumbnail_module

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A hierarchy in a file, and a TIFF file."""
    folder = tmp_path_factory.mktemp("sources")
    ozx.pack(IMAGE, folder / "image.ozx", sync=False)
    tifffile.imwrite(folder / "image.tif", np.arange(64, dtype="uint8").reshape(8, 8))
    return folder


def add_to_store(path, mode):
    with ozx.OzxStore(path, mode, sync=False) as store:
        put(store, "zarr.json", (IMAGE / "zarr.json").read_bytes())


VERBS = {
    "pack": lambda _, out, **words: ozx.pack(IMAGE, out, **words),
    "import": lambda folder, out, **words: ozx.import_image(folder / "image.tif", out, **words),
    "write_image": lambda _, out, **words: ozx.write_image(out, np.zeros((4, 4), "uint8"), **words),
    "repack": lambda folder, out, **words: ozx.repack(folder / "image.ozx", out, **words),
    "extract": lambda folder, out, **words: ozx.extract(folder / "image.ozx", out, **words),
    "export": lambda folder, out, **words: ozx.export(folder / "image.ozx", out, **words),
    "recover": lambda folder, out, **words: ozx.recover(folder / "image.ozx", out, **words),
}
MOVED = VERBS | {
    "repack to a directory": lambda folder, out, **words: ozx.repack(folder / "image.ozx", f"{out}.zarr", **words),
    "unpack": lambda folder, out, **words: ozx.unpack(folder / "image.ozx", f"{out}.zarr", **words),
}
REPLACING = {
    **{verb: partial(call, force=True, sync=False) for verb, call in VERBS.items()},
    "thumbnail": lambda folder, out: ozx.thumbnail(folder / "image.ozx", out, force=True),
    "OzxStore w": lambda _, out: add_to_store(out, "w"),
    "OzxStore a": lambda _, out: add_to_store(out, "a"),
    "napari": lambda folder, out: write_layers(str(out), read_layers(str(folder / "image.ozx"))),
    "edit": lambda _, out: ozx.edit(out, name="Other cells", sync=False),
    "associate": lambda _, out: DesktopChanges(None).write(str(out), b"new"),
}


#: The endings of outputs that are no archives.
ENDINGS = {"thumbnail": "png", "export": "tif"}
SPECIAL = {
    "pipe": os.mkfifo if hasattr(os, "mkfifo") else None,
    "socket": make_socket,
    "device": make_device,
    "link to a pipe": lambda path: (os.mkfifo(f"{path}.pipe"), make_link(path, f"{path}.pipe")),
}


@pytest.mark.posix("there are no such files here")
@pytest.mark.parametrize("kind", sorted(SPECIAL))
@pytest.mark.parametrize("verb", sorted(REPLACING))
def test_no_verb_replaces_what_is_no_file(verb, kind, sources, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket has a hundred bytes at most
    SPECIAL[kind](f"out.{ENDINGS.get(verb, 'ozx')}")
    before = {name: os.lstat(name) for name in os.listdir()}
    refused = (UsageError, UnsupportedError) if verb in ("edit", "napari") else UsageError
    # What is edited is read first, and is no archive.
    with pytest.raises((*refused, ozx.OzxError, OSError) if verb == "edit" else refused):
        REPLACING[verb](sources, f"out.{ENDINGS.get(verb, 'ozx')}")
    assert {name: os.lstat(name).st_ino for name in os.listdir()} == {k: v.st_ino for k, v in before.items()}
    assert {name: os.lstat(name).st_mode for name in os.listdir()} == {k: v.st_mode for k, v in before.items()}


@pytest.mark.posix("there are no such permissions here")
@pytest.mark.parametrize("verb", sorted(REPLACING))
def test_every_verb_keeps_mode_and_owner(verb, sources, tmp_path):
    out = tmp_path / f"out.{ENDINGS.get(verb, 'ozx')}"
    shutil.copyfile(sources / "image.ozx", out)
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(out, 12_345, 23_456)
    out.chmod(0o640)
    before = out.stat()
    REPLACING[verb](sources, out)
    after = out.stat()
    assert (after.st_ino, after.st_mode) != (before.st_ino, 0)
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


@pytest.mark.posix("lengths are counted in bytes")
@pytest.mark.parametrize("verb", sorted(set(REPLACING) - {"associate"}))
def test_every_verb_writes_names_of_255_bytes(verb, sources, tmp_path):
    name = "細" * 83 + f"xx.{ENDINGS.get(verb, 'ozx')}"
    out = tmp_path / name
    if verb == "edit":
        shutil.copyfile(sources / "image.ozx", out)
    REPLACING[verb](sources, out)
    assert [made.name for made in tmp_path.iterdir()] == [name]
    REPLACING[verb](sources, out)
    assert [made.name for made in tmp_path.iterdir()] == [name]


@pytest.mark.posix("lengths are counted in bytes")
def test_a_checksum_that_cannot_be_written_is_told_before_anything_is(tmp_path):
    os.mkdir(tmp_path / "a.ozx.sha256")
    with pytest.raises(UsageError, match=r"a\.ozx\.sha256: expected .*; it is a directory"):
        ozx.pack(IMAGE, tmp_path / "a.ozx", checksum="sha256")
    with pytest.raises(UsageError, match="256 bytes"):
        ozx.pack(IMAGE, tmp_path / ("n" * 245 + ".ozx"), checksum="sha256")
    os.rmdir(tmp_path / "a.ozx.sha256")
    os.mkfifo(tmp_path / "a.ozx.sha256")
    with pytest.raises(UsageError, match="is a named pipe"):
        ozx.pack(IMAGE, tmp_path / "a.ozx", checksum="sha256")
    assert [made.name for made in tmp_path.iterdir()] == ["a.ozx.sha256"]


@pytest.mark.posix("there are no such permissions here")
def test_a_picture_in_the_cache_is_private_though_the_one_before_was_not(sources, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        made = thumbnail_module.thumbnail(sources / "image.ozx", cache=True)
        assert stat.S_IMODE(os.stat(made.path).st_mode) == 0o600
        os.chmod(made.path, 0o644)


class TestFolders:
    @pytest.mark.posix("permissions of POSIX systems")
    @pytest.mark.parametrize("verb", ["unpack", "repack"])
    def test_a_folder_with_a_thesis_is_replaced_only_where_that_is_asked_for(self, verb, sources, tmp_path, capsys):
        run = command(verb)
        out = tmp_path / "out"
        out.mkdir()
        (out / "thesis.tex").write_bytes(b"years of work")
        code, _, told = run(capsys, sources / "image.ozx", out, "--force")
        assert code == 2
        assert "thesis.tex" in told
        assert "--replace-folder" in told
        assert (out / "thesis.tex").read_bytes() == b"years of work"
        out.chmod(0o750)
        assert run(capsys, sources / "image.ozx", out, "--replace-folder")[0] == 0
        assert not (out / "thesis.tex").exists()
        assert stat.S_IMODE(out.stat().st_mode) == 0o750
        assert run(capsys, sources / "image.ozx", out, "--force")[0] == 0
        assert [made.name for made in tmp_path.iterdir()] == ["out"]

    def test_a_link_to_a_hierarchy_is_replaced_and_nothing_is_left_of_it(self, sources, tmp_path):
        shutil.copytree(IMAGE, tmp_path / "there")
        make_link(tmp_path / "link", "there")
        ozx.unpack(sources / "image.ozx", tmp_path / "link", force=True)
        assert sorted(made.name for made in tmp_path.iterdir()) == ["link", "there"]
        assert not (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "zarr.json").exists()

    @pytest.mark.parametrize("place", ["labels/cells", "image.ozx", "{uri}/image.ozx/labels/cells"])
    def test_a_folder_is_not_replaced_by_what_is_in_it(self, place, sources, tmp_path):
        out = tmp_path / "out.ome.zarr"
        shutil.copytree(IMAGE, out)
        shutil.copyfile(sources / "image.ozx", out / "image.ozx")
        before = sorted(os.walk(out))
        source = place.format(uri=ozx_uri(out)) if place.startswith("{uri}") else out / place
        for options in ({"force": True}, {"replace_folder": True}):
            with pytest.raises(UsageError, match=r"contains the source .* and cannot be replaced"):
                ozx.repack(source, out, sync=False, **options)
        assert sorted(os.walk(out)) == before


@pytest.mark.posix("there are no such files here")
@pytest.mark.parametrize(("verb", "source"), [("pack", IMAGE), ("import", "image.tif")])
def test_a_device_is_the_output_of_one_source_and_is_refused(verb, source, sources, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for out in ("/dev/null", tmp_path / "pipe"):
        code, _, told = command(verb)(capsys, sources / source, out, "--force")
        assert code == 2
        assert f"{out}: expected a regular file or a new file name for the output; it is" in told


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("verb", sorted(MOVED))
def test_the_program_may_change_its_directory_during_the_call(verb, force, sources, tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()

    def move():
        if any(name.endswith(".ozx-tmp") for name in os.listdir()):
            os.chdir(second)

    words = {"checksum": "sha256", "manifest": True} if verb == "pack" else {}
    for _ in range(2 if force else 1):
        monkeypatch.chdir(first)
        result = MOVED[verb](sources, "out", progress=ActingProgress(move), force=force, **words)
        assert os.getcwd() == str(second)
        sides = {"out.manifest.json", "out.sha256"} if verb == "pack" else set()
        assert set(os.listdir(first)) == {result.path, *sides}
        assert os.listdir(second) == []

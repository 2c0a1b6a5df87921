"""Errors of network file systems: stale handles, quotas, and what a server reports late, when a file is closed."""

import errno
import json
import os

import pytest
from commands import command
from hierarchies import make_image, tree

ozx = command()

CODES = {errno.ESTALE: "stale-handle", errno.EDQUOT: "quota", errno.EIO: "resource", errno.ENOSPC: "full-disk"}


@pytest.fixture
def images(here):
    return [make_image(here / f"{name}.ome.zarr") for name in "ab"]


def failing(monkeypatch, call, code, *, is_ours):
    """Let a call of the system fail for descriptors of our unfinished or of the source's files."""
    real = getattr(os, call)

    def fail(descriptor, *arguments):
        name = os.readlink(f"/proc/self/fd/{descriptor}") if isinstance(descriptor, int) else os.fspath(descriptor)
        if is_ours(name):
            raise OSError(code, os.strerror(code))
        return real(descriptor, *arguments)

    monkeypatch.setattr(os, call, fail)


@pytest.mark.posix("descriptors have no names here", on="linux")
@pytest.mark.parametrize("code", sorted(CODES))
@pytest.mark.parametrize(
    ("call", "options", "is_ours"),
    [
        ("readv", [], lambda name: "a.ome.zarr" in name),  # a source file that the server replaced
        ("fstat", [], lambda name: "a.ome.zarr" in name and name.endswith("0/c/0/0")),
        ("pwrite", [], lambda name: ".a.ozx." in name),
        ("fsync", [], lambda name: ".a.ozx." in name),  # the server's late answer, with syncing
        ("dup", ["--no-sync"], lambda name: ".a.ozx." in name),  # and at closing, without
    ],
)
def test_one_file_fails_and_nothing_else(capsys, here, images, monkeypatch, code, call, options, is_ours):
    before = tree(images[0])
    failing(monkeypatch, call, code, is_ours=is_ours)
    arguments = ["pack", "a.ome.zarr", "b.ome.zarr", "--out-dir", "out", "--log", "run.jsonl", "--json", *options]
    exit_code, out, err = ozx(capsys, *arguments)
    monkeypatch.undo()
    failed, packed = json.loads(out)["results"]
    if not failed["error"]:
        pytest.skip(f"{call} is not used for this file")
    assert exit_code == 3
    assert (failed["status"], packed["status"]) == ("failed", "packed")
    assert failed["error"]["code"] == CODES[code]
    assert "a.o" in failed["error"]["message"]
    assert "1 failed" in err
    assert os.listdir(here / "out") == ["b.ozx"]
    assert tree(images[0]) == before
    lines = [json.loads(text) for text in (here / "run.jsonl").read_text().splitlines()]
    assert [(line["exit"], line["error"] and line["error"]["code"]) for line in lines] == [(4, CODES[code]), (0, None)]


@pytest.mark.posix("descriptors have no names here", on="linux")
def test_a_log_on_a_full_disk_ends_the_batch(capsys, here, images, monkeypatch):
    failing(monkeypatch, "fsync", errno.ENOSPC, is_ours=lambda name: name.endswith("run.jsonl"))
    code, _, err = ozx(capsys, "pack", "a.ome.zarr", "b.ome.zarr", "--log", "run.jsonl")
    assert code == 4
    assert "No space left on device" in err
    assert not (here / "b.ozx").exists()

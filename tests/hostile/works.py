"""Everything that writes, on small files: what it reads, what it makes, and what may stay beside that."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tiffs
from hierarchies import make_image, tree
from stores import pattern, put

import ozx
from ozx.errors import OzxWarning
from ozx.validation.cases.archive_builder import array, group

CHUNKS = {f"0/c/{n // 2}/{n % 2}": pattern(n, 1024) for n in range(4)}
LARGE = {"0/notes": pattern(9, 300_000)}
PIXELS = tiffs.pixels((150, 170))
VALUES = {"zarr.json": group(), "0/zarr.json": array([64, 64], [32, 32])} | CHUNKS


def put_values(path: Path, mode: str) -> None:
    """Write by a store, metadata first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OzxWarning)
        with ozx.OzxStore(path, mode=mode) as store:
            for key, value in VALUES.items():
                put(store, key, value[::-1] if "/c/" in key else value)
            put(store, "0/c/late", pattern(5, 70_000))


@dataclass(frozen=True)
class Work:
    """Something that writes.

    Attributes
    ----------
    name
        What it is called.
    run
        Does it, in the folder it is given.
    out
        What it writes there.
    keeps
        What may stand beside it after a fault: an unfinished file that is kept on purpose.
    is_followed
        Whether something is written when `out` is complete, so that it is there though that failed.
    """

    name: str
    run: Callable[[Path], object]
    out: str
    keeps: tuple[str, ...] = ()
    is_followed: bool = False


WORKS = [
    Work("pack", lambda folder: ozx.pack(folder / "image", folder / "out.ozx", force=True), "out.ozx"),
    Work(
        "pack, verified and with a checksum",
        lambda folder: ozx.pack(folder / "image", folder / "out.ozx", force=True, verify=True, checksum="sha256"),
        "out.ozx",
        ("out.ozx.sha256",),
        is_followed=True,
    ),
    Work("unpack", lambda folder: ozx.unpack(folder / "cells.ozx", folder / "out", force=True), "out"),
    Work(
        "repack with shards",
        lambda folder: ozx.repack(folder / "cells.ozx", folder / "out.ozx", force=True, shards="y=64,x=64"),
        "out.ozx",
    ),
    Work("repack to a directory", lambda folder: ozx.repack(folder / "cells.ozx", folder / "out", force=True), "out"),
    Work("recover", lambda folder: ozx.recover(folder / "broken.ozx", folder / "out.ozx", force=True), "out.ozx"),
    Work(
        "extract",
        lambda folder: ozx.extract(folder / "cells.ozx", folder / "out.ozx", region="y=0:32", force=True),
        "out.ozx",
    ),
    Work("edit", lambda folder: ozx.edit(folder / "out.ozx", pixel_size={"y": 0.5}), "out.ozx", ("out.ozx.partial",)),
    Work(
        "import",
        lambda folder: ozx.import_tiff(folder / "picture.tif", folder / "out.ozx", name="cells", force=True),
        "out.ozx",
    ),
    Work(
        "write_image",
        lambda folder: ozx.write_image(folder / "out.ozx", PIXELS, axes="yx", chunks="y=64,x=64", force=True),
        "out.ozx",
    ),
    Work(
        "export", lambda folder: ozx.export(folder / "picture.ozx", folder / "out.ome.tif", force=True), "out.ome.tif"
    ),
    Work("thumbnail", lambda folder: ozx.thumbnail(folder / "picture.ozx", folder / "out.png", force=True), "out.png"),
    Work("OzxStore, new", lambda folder: put_values(folder / "out.ozx", "w"), "out.ozx", ("out.ozx.partial",)),
    Work("OzxStore, added to", lambda folder: put_values(folder / "out.ozx", "a"), "out.ozx", ("out.ozx.partial",)),
]


NEED_A_FILE = ("edit", "OzxStore, added to")


def make_sources(folder: Path) -> Path:
    """Make the files that are read: the same for all, and never changed."""
    make_image(folder / "image", CHUNKS | LARGE)
    ozx.pack(folder / "image", folder / "cells.ozx")
    (folder / "broken.ozx").write_bytes((folder / "cells.ozx").read_bytes()[:-60])
    ozx.pack(make_image(folder / "other"), folder / "other.ozx")
    tiffs.write(folder / "picture.tif", PIXELS, tile=(64, 64), compression="zlib")
    ozx.write_image(folder / "picture.ozx", PIXELS, axes="yx", chunks="y=64,x=64")
    return folder


def state(path: Path) -> dict[str, bytes] | bytes | None:
    """Return what has the name `path`."""
    if path.is_dir():
        return tree(path)
    return path.read_bytes() if path.exists() else None


def start_anew(sources: Path, folder: Path, work: Work, *, old: bool) -> None:
    """Make the folder that `work` works in, with or without something to be replaced."""
    shutil.copytree(sources, folder, symlinks=True)
    if old and work.out == "out":
        shutil.copytree(folder / "other", folder / "out")
    elif old:
        shutil.copyfile(folder / ("cells.ozx" if work.name == "edit" else "other.ozx"), folder / work.out)


def leftovers(folder: Path, sources: Path, work: Work) -> list[str]:
    """Return what stands in the folder and should not."""
    return [name for name in os.listdir(folder) if name not in {*os.listdir(sources), work.out, *work.keeps}]

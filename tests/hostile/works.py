"""All writing operations, on small files: what they read, what they write, and which other files may stay."""

import os
import re
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import private_home
import tiffs
from cases.archive_builder import array, group
from hierarchies import State, make_image, state, tree
from stores import pattern, put
from sweeping import forget_swept_folders

import ozx
from ozx.atomic.tree_removal import MARKER
from ozx.errors import OzxWarning, ResourceError
from ozx.integrations.napari import write_layers
from ozx.operations.import_image import import_images
from ozx.operations.pack import PackManyResult, pack_many
from ozx.operations.thumbnail import cache_path, file_uri

CHUNKS = {f"0/c/{n // 2}/{n % 2}": pattern(n, 1024) for n in range(4)}
LARGE = {"0/notes": pattern(9, 300_000)}
PIXELS = tiffs.pixels((150, 170))
VALUES = {"zarr.json": group(), "0/zarr.json": array([64, 64], [32, 32])} | CHUNKS


@dataclass(frozen=True)
class Work:
    name: str
    command: str  # the command of `ozx` that runs it; empty if only Python can run it
    run: Callable[[Path], object]  # runs it in a given folder
    out: str  # the name of the output in this folder
    keeps: tuple[str, ...] = ()  # unfinished files beside the output that ozx keeps on purpose after a fault
    is_followed: bool = False  # whether it goes on to write or remove files after `out` is complete
    takes: str = ""  # a source that it removes, which may disappear when `out` is complete
    is_many: bool = False  # whether `out` is a folder whose files are old or new independently of each other
    is_synced: bool = True
    starts: tuple[bool, ...] = (True, False)  # whether `out` exists at the start; each of these values is tried
    prepare: Callable[..., object] | None = None  # makes the old output, or files that must exist in any case

    def state(self, folder: Path) -> State:
        """Return the output, without temporary files in it."""
        found = state(folder / self.out)
        return (
            {name: data for name, data in found.items() if not is_temporary(name)} if isinstance(found, dict) else found
        )

    def is_right(self, found: State, before: State, after: State) -> bool:
        """Return whether `found` is the complete old output or the complete new output."""
        if found in (before, after) or not self.is_many:
            return found in (before, after)
        old, new, now = before or {}, after or {}, found or {}
        return all(now.get(name) in (old.get(name), new.get(name)) for name in {*old, *new, *now})

    def is_kept(self, folder: Path, sources: Path, *, is_done: bool) -> bool:
        """Return whether the sources are unchanged; if `is_done`, the removed source may be missing or incomplete."""
        for name in os.listdir(sources):
            found, before = state(folder / name), state(sources / name)
            if found != before and not (is_done and name == self.takes and self._is_part(found, before)):
                return False
        return True

    def _is_part(self, found: State, before: State) -> bool:
        """Return whether a folder in removal contains only files that it had before, and files of the removal."""
        left = {re.sub(r"\.([^/]+)\.ozx-aside$", r"\1", name): data for name, data in (found or {}).items()}
        left.pop(MARKER, None)
        return left.items() <= before.items()


def put_values(path: Path, mode: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OzxWarning)
        with ozx.OzxStore(path, mode=mode) as store:
            for key, value in VALUES.items():
                put(store, key, value[::-1] if "/c/" in key else value)
            put(store, "0/c/late", pattern(5, 70_000))


def stream_planes(path: Path) -> None:
    """Write planes one by one, half of them flushed."""
    shards = {"t": 2, "y": 150, "x": 170}
    words: Any = {"axes": "tyx", "shape": (None, *PIXELS.shape), "dtype": PIXELS.dtype, "shards": shards, "force": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OzxWarning)
        with ozx.stream(path, jobs=1, **words) as stream:
            for number in range(5):
                stream.append(PIXELS + number)
                if number == 2:
                    stream.flush()


def save_layers(folder: Path) -> None:
    """Write layers as napari does: the pixels of another file, and labels in memory."""
    picture = ozx.open(folder / "picture.ozx")
    try:
        labels = (PIXELS > 50).astype("uint8")
        layers = [(picture["0"], {"name": "cells"}, "image"), (labels, {"name": "nuclei"}, "labels")]
        write_layers(str(folder / "out.ozx"), layers)
    finally:
        picture.store.close()


def check_all(result: PackManyResult) -> None:
    """Raise the first error of a batch, which reports an error and continues with the other files."""
    for one in result.results:
        if one.error is not None:
            assert one.status == "failed"
            raise ResourceError(str(one.error["message"]))


def pack_both(folder: Path) -> None:
    check_all(pack_many([folder / "image", folder / "other"], out_dir=folder / "out", force=True))


def import_both(folder: Path) -> None:
    given = [folder / "picture.tif", folder / "second.tif"]
    check_all(import_images(given, out_dir=folder / "out", name="cells", force=True))


def put_others(folder: Path, *, old: bool) -> None:
    """Make the files that a batch replaces."""
    (folder / "out").mkdir()
    for name in ("image", "other", "picture", "second") if old else ():
        shutil.copyfile(folder / "other.ozx", folder / "out" / f"{name}.ozx")


def cache_thumbnail(folder: Path) -> None:
    with private_home.environment(folder / "out"):
        ozx.thumbnail(folder / "picture.ozx", cache=True)


def put_cached(folder: Path, *, old: bool) -> None:
    picture = Path(cache_path(file_uri(str(folder / "picture.ozx")), 256, {"XDG_CACHE_HOME": f"{folder}/out/.cache"}))
    picture.parent.mkdir(parents=True)
    if old:
        picture.write_bytes(b"a picture of what was there before")


def calling(verb: Callable[..., object], *names: str, **options: Any) -> Callable[[Path], object]:
    """Return a function that calls a verb with these paths below a folder."""
    return lambda folder: verb(*(folder / name for name in names), **options)


WORKS = [
    Work("pack", "pack", calling(ozx.pack, "image", "out.ozx", force=True), "out.ozx"),
    Work("pack without force", "pack", calling(ozx.pack, "image", "out.ozx"), "out.ozx", starts=(False,)),
    Work(
        "pack, not synced",
        "pack",
        calling(ozx.pack, "image", "out.ozx", force=True, sync=False),
        "out.ozx",
        is_synced=False,
    ),
    Work(
        "pack, verified and with a checksum",
        "pack",
        calling(ozx.pack, "image", "out.ozx", force=True, verify=True, checksum="sha256"),
        "out.ozx",
        ("out.ozx.sha256",),
        is_followed=True,
    ),
    Work(
        "pack, resumed where it has to begin anew",
        "pack",
        calling(ozx.pack, "image", "out.ozx", resume=True, force=True),
        "out.ozx",
        starts=(True,),
    ),
    Work(
        "pack, resumed where the checksum is missing",
        "pack",
        calling(ozx.pack, "image", "image.ozx", resume=True, verify=True, checksum="sha256"),
        "image.ozx.sha256",
        ("image.ozx",),
        is_followed=True,
        starts=(False,),
        # As a run leaves them that was interrupted before its last step.
        prepare=lambda folder, old: shutil.copyfile(folder / "cells.ozx", folder / "image.ozx"),
    ),
    Work(
        "pack, and remove the source",
        "pack",
        calling(ozx.pack, "image", "out.ozx", force=True, remove_source=True),
        "out.ozx",
        is_followed=True,
        takes="image",
    ),
    Work("pack of several", "pack", pack_both, "out", is_many=True, prepare=put_others),
    # If ozx cannot compare the replaced directory with its former state, it keeps this directory, and raises an error.
    Work(
        "unpack", "unpack", calling(ozx.unpack, "cells.ozx", "out", force=True), "out", ("out.old",), is_followed=True
    ),
    Work(
        "repack with shards",
        "repack",
        calling(ozx.repack, "cells.ozx", "out.ozx", force=True, shards="y=64,x=64"),
        "out.ozx",
    ),
    Work(
        "repack to a directory",
        "repack",
        calling(ozx.repack, "cells.ozx", "out", force=True),
        "out",
        ("out.old",),
        is_followed=True,
    ),
    Work("recover", "recover", calling(ozx.recover, "broken.ozx", "out.ozx", force=True), "out.ozx"),
    Work("extract", "extract", calling(ozx.extract, "cells.ozx", "out.ozx", region="y=0:32", force=True), "out.ozx"),
    Work(
        "edit",
        "edit",
        calling(ozx.edit, "out.ozx", pixel_size={"y": 0.5}),
        "out.ozx",
        ("out.ozx.partial",),
        starts=(True,),
        prepare=lambda folder, old: shutil.copyfile(folder / "cells.ozx", folder / "out.ozx"),
    ),
    Work(
        "labels",
        "labels",
        lambda folder: ozx.add_labels(folder / "out.ozx", "cells", folder / "second.tif"),
        "out.ozx",
        starts=(True,),
        prepare=lambda folder, old: ozx.import_image(folder / "second.tif", folder / "out.ozx", name="cells"),
    ),
    Work("import", "import", calling(ozx.import_image, "picture.tif", "out.ozx", name="cells", force=True), "out.ozx"),
    Work("import of several", "import", import_both, "out", is_many=True, prepare=put_others),
    Work(
        "write_image",
        "",
        lambda folder: ozx.write_image(folder / "out.ozx", PIXELS, axes="yx", chunks="y=64,x=64", force=True),
        "out.ozx",
    ),
    Work("export", "export", calling(ozx.export, "picture.ozx", "out.ome.tif", force=True), "out.ome.tif"),
    Work("thumbnail", "thumbnail", calling(ozx.thumbnail, "picture.ozx", "out.png", force=True), "out.png"),
    Work("thumbnail in the cache", "thumbnail", cache_thumbnail, "out", is_synced=False, prepare=put_cached),
    Work(
        "associate",
        "associate",
        lambda folder: private_home.associate_in(folder / "out"),
        "out",
        is_many=True,
        prepare=lambda folder, old: private_home.make_home(folder / "out", old=old),
    ),
    Work(
        "associate --remove",
        "associate",
        lambda folder: private_home.dissociate_in(folder / "out"),
        "out",
        is_many=True,
        prepare=lambda folder, old: private_home.make_associated_home(folder / "out", old=old),
    ),
    Work("napari's saving", "", save_layers, "out.ozx"),
    Work(
        "stream",
        "stream",
        lambda folder: stream_planes(folder / "out.ozx"),
        "out.ozx",
        ("out.ozx.partial", "out.ozx.partial.chunks", "out.ozx.partial.index"),
    ),
    Work("OzxStore, new", "", lambda folder: put_values(folder / "out.ozx", "w"), "out.ozx", ("out.ozx.partial",)),
    Work(
        "OzxStore, added to",
        "",
        lambda folder: put_values(folder / "out.ozx", "a"),
        "out.ozx",
        ("out.ozx.partial",),
        starts=(True,),
    ),
]

#: Commands that write no file.
WRITE_NOTHING = {"help", "verify", "info", "ls", "cat", "validate", "view", "serve", "rules"}


def make_sources(folder: Path) -> Path:
    make_image(folder / "image", CHUNKS | LARGE)
    ozx.pack(folder / "image", folder / "cells.ozx")
    (folder / "broken.ozx").write_bytes((folder / "cells.ozx").read_bytes()[:-60])
    ozx.pack(make_image(folder / "other"), folder / "other.ozx")
    tiffs.write(folder / "picture.tif", PIXELS, tile=(64, 64), compression="zlib")
    tiffs.write(folder / "second.tif", PIXELS[:70, :80])
    ozx.write_image(folder / "picture.ozx", PIXELS, axes="yx", chunks="y=64,x=64")
    return folder


def start_anew(sources: Path, folder: Path, work: Work, *, old: bool) -> None:
    """Make the folder in which `work` runs, with or without an old output.

    If the folder exists, its unchanged sources stay: copying them again would take most of the time.
    """
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if not (sources / path.name).exists() or path.name == work.takes:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in sources.iterdir():
        if not (folder / path.name).exists():
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, folder / path.name)
    if work.prepare is not None:
        work.prepare(folder, old=old)
    elif old and work.out == "out":
        shutil.copytree(folder / "other", folder / "out")
    elif old:
        shutil.copyfile(folder / "other.ozx", folder / work.out)


def is_temporary(name: str) -> bool:
    """Return whether a path is, or is inside, a temporary file or folder that the next writer removes."""
    endings = (".ozx-tmp", ".ozx-swap", ".ozx-old")
    return any(part.startswith(".") and part.endswith(endings) for part in name.split("/"))


def leftovers(folder: Path, sources: Path, work: Work) -> list[str]:
    beside = [name for name in os.listdir(folder) if name not in {*os.listdir(sources), work.out, *work.keeps}]
    return beside + [f"{work.out}/{name}" for name in tree(folder / work.out) if is_temporary(name)]


def left_for_good(folder: Path, sources: Path, work: Work) -> list[str]:
    """Return what is left after another run has written into the same folders, or to the same name."""
    forget_swept_folders()
    if any(name.endswith(".ozx-swap") for name in leftovers(folder, sources, work)):
        work.run(folder)
    for path in folder.rglob("*.ozx-tmp"):  # later, the number of this process belongs to another one
        os.utime(path, (0, 0))
    for place in {"", *(os.path.dirname(name.partition(".ozx-tmp/")[0]) for name in leftovers(folder, sources, work))}:
        ozx.pack(folder / "other", folder / place / "next.ozx", sync=False)
        (folder / place / "next.ozx").unlink()
    return leftovers(folder, sources, work)

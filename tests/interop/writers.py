"""Writers of .ozx and .zip files with one small image: ozx, and programs of other projects.

`WRITERS` are the columns of docs/interop.md. Each writer gets the same image (two channels of 96 × 128 pixels, two
levels) as a directory or as pixels, and writes one archive.
"""

# ruff: noqa: PLC0415 (the packages may be absent)

import os
import shutil
import subprocess
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import zarr
from hierarchies import FIXTURES, tree
from judges import HERE, absent_packages, absent_programs
from pictures import add_image, omero
from zarr.storage import ZipStore

import ozx

#: The file that ``kept/make_iohub.py`` wrote, because iohub does not support every Python of the tests;
#: ``test_kept.py`` compares this file with what iohub writes now.
IOHUB = HERE / "kept" / "iohub-0.3.11.ozx"
FOLDER = "image.ome.zarr"


def pixels():
    return zarr.open_array(FIXTURES / "image.ome.zarr" / "0", mode="r")[:, :96, :128]


def add_levels(group):
    """Write the image through zarr-python into `group`, which may be in any store."""
    levels = [pixels(), pixels()[:, ::2, ::2]]
    scales = [(1, 0.5, 0.5), (1, 1, 1)]
    units = {"c": None, "y": "micrometer", "x": "micrometer"}
    described = {"omero": omero(("3A7BFF", 0, 2000), ("FFB000", 0, 2000), defaultZ=0, defaultT=0, model="color")}
    for number, channel in enumerate(described["omero"]["channels"]):
        channel |= {"label": f"channel {number}"}
    add_image(group, levels, "cyx", scales=scales, units=units, chunks=(1, 32, 32), **described)
    attributes = group.attrs["ome"]
    del attributes["multiscales"][0]["axes"][0]["unit"]
    group.attrs["ome"] = attributes


@dataclass(frozen=True)
class Writer:
    """One way to make an archive."""

    name: str  # the column of the writer in docs/interop.md
    does: str  # what the writer does, as text for the page
    missing: Callable[[], str | None]  # returns why the writer cannot run here, or None if it can
    write: Callable[[Path, Path], None]  # takes the image as a directory and the path of the archive to make
    level: str = "0"  # the path of the array of full resolution
    inside: str = ""  # the folder in the archive that holds the hierarchy, with a slash at its end
    copies: bool = False  # whether every file of the directory becomes an entry, byte for byte

    def entries(self, source: Path, archive: Path) -> dict[str, bytes]:
        """Return what a reader of ZIP files should find in `archive`: of entries with the same name, the last."""
        if self.copies:
            return {self.inside + key: value for key, value in tree(source).items()}
        with zipfile.ZipFile(archive) as opened:
            return {entry.filename: opened.read(entry) for entry in opened.infolist()}


def _repack(source: Path, out: Path) -> None:
    zipped = out.with_suffix(".in.zip")
    _run("zip -rD {out} .", source, zipped)
    ozx.repack(zipped, out, shards={"c": 2, "y": 96, "x": 128}, sync=False)


def _write_through_store(source: Path, out: Path) -> None:
    with ozx.OzxStore(out, mode="w", sync=False) as store:
        add_levels(zarr.create_group(store))


def _write_by_zipstore(source: Path, out: Path) -> None:
    with warnings.catch_warnings(), ZipStore(out, mode="w") as store:
        warnings.filterwarnings("ignore", "Duplicate name")
        add_levels(zarr.create_group(store))


def _write_by_ngff_zarr(source: Path, out: Path) -> None:
    import ngff_zarr

    image = ngff_zarr.to_ngff_image(pixels(), dims=["c", "y", "x"], scale={"c": 1, "y": 0.5, "x": 0.5})
    ngff_zarr.to_ome_zarr(out, ngff_zarr.to_multiscales(image, scale_factors=[2], chunks=32), version="0.5")


def write_by_bioio(store, data):
    """Write `data`, whose axes end in z, y, x or y, x, to a zarr store or a path, in two levels and in shards."""
    from bioio_ome_zarr.writers import Channel, OMEZarrWriter

    axes = ["c", "z", "y", "x"] if data.ndim == 4 else ["c", "y", "x"]
    types = {"c": "channel"}
    writer = OMEZarrWriter(
        store=store,
        level_shapes=[data.shape, (*data.shape[:-2], data.shape[-2] // 2, data.shape[-1] // 2)],
        dtype=data.dtype.name,
        zarr_format=3,
        axes_names=axes,
        axes_types=[types.get(axis, "space") for axis in axes],
        axes_units=[None if axis == "c" else "micrometer" for axis in axes],
        physical_pixel_size=[{"c": 1, "z": 2}.get(axis, 0.5) for axis in axes],
        chunk_shape=(*[1] * (data.ndim - 2), 32, 32),
        shard_shape=(*[1] * (data.ndim - 2), 64, 64),
        channels=[Channel(label="a", color="FF0000"), Channel(label="b", color="00FF00")],
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")
        writer.write_full_volume(data)
        writer.close()


def _run(command: str, source: Path, out: Path) -> None:
    # Run it as for a user without options in environment variables.
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    words = [str(out) if word == "{out}" else word for word in command.split()]
    subprocess.run(words, cwd=source, env=kept | {"LC_ALL": "C.UTF-8"}, capture_output=True, check=True, timeout=120)


def _write_as_explorer(source: Path, out: Path) -> None:
    """Write as "Compressed folder" of Windows Explorer does: the folder itself, deflated, no folder entries."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in sorted(tree(source).items()):
            archive.writestr(_windows_entry(FOLDER + "/" + key), value)


def _write_as_old_dotnet(source: Path, out: Path) -> None:
    r"""Write like ``CreateFromDirectory`` of the .NET Framework before 4.6.1: ``\`` between the parts of a name."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in sorted(tree(source).items()):
            archive.writestr(_windows_entry(key.replace("/", "\\")), value)


def _windows_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 0  # FAT, as Windows says
    entry.external_attr = 0x20  # "archive"
    return entry


WRITERS = (
    Writer(
        "pack",
        "`ozx pack DIRECTORY`",
        absent_packages,
        lambda source, out: ozx.pack(source, out, sync=False),
        copies=True,
    ),
    Writer("repack", "`ozx repack ZIP OUT --shards c=2,y=96,x=128`", partial(absent_programs, "zip"), _repack),
    Writer("OzxStore", 'zarr-python into `ozx.OzxStore(path, mode="w")`', absent_packages, _write_through_store),
    Writer(
        "ngff-zarr",
        '`ngff_zarr.to_ome_zarr("….ozx", …)`',
        partial(absent_packages, "ngff_zarr"),
        _write_by_ngff_zarr,
        level="scale0/image",
    ),
    Writer(
        "bioio",
        '`bioio_ome_zarr.writers.OMEZarrWriter(store="….ozx", …)`',
        partial(absent_packages, "bioio_ome_zarr"),
        lambda source, out: write_by_bioio(str(out), pixels()),
    ),
    Writer(
        "iohub",
        '`iohub.open_ome_zarr("….ozx", mode="w-", …)`; the repository contains this file, because iohub '
        "needs Python 3.12; CI writes the file again and compares the two files",
        absent_packages,
        lambda source, out: shutil.copyfile(IOHUB, out),
    ),
    Writer("ZipStore", "zarr-python into its own `ZipStore`", absent_packages, _write_by_zipstore),
    Writer(
        "zip",
        "Info-ZIP, `zip -r OUT .`: deflated",
        partial(absent_programs, "zip"),
        partial(_run, "zip -r {out} ."),
        copies=True,
    ),
    Writer(
        "zip -0D",
        "Info-ZIP, `zip -0rD OUT .`: stored, no entries for folders",
        partial(absent_programs, "zip"),
        partial(_run, "zip -0rD {out} ."),
        copies=True,
    ),
    Writer(
        "7z",
        "`7z a -tzip OUT .`: deflated",
        partial(absent_programs, "7z"),
        partial(_run, "7z a -tzip {out} ."),
        copies=True,
    ),
    Writer(
        "Deflate64",
        "`7z a -tzip -mm=Deflate64 OUT .`; Windows Explorer uses Deflate64 for large files",
        partial(absent_programs, "7z"),
        partial(_run, "7z a -tzip -mm=Deflate64 {out} ."),
        copies=True,
    ),
    Writer(
        "Explorer",
        "the form of Windows Explorer: all names begin with the name of the packed folder (made by zipfile)",
        absent_packages,
        _write_as_explorer,
        inside=f"{FOLDER}/",
        copies=True,
    ),
    Writer(
        ".NET",
        r"the form of the .NET Framework before 4.6.1: `\` between the parts of names (made by zipfile)",
        absent_packages,
        _write_as_old_dotnet,
        copies=True,
    ),
)


def write_source(folder: Path) -> Path:
    source = folder / FOLDER
    add_levels(zarr.create_group(source))
    return source

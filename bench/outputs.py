"""Show that a change keeps the bytes of every output: ``python bench/outputs.py COMMIT [--folder FOLDER]``.

Every verb runs twice over the same inputs, once with the code of COMMIT and once with the code here. The inputs are
the fixtures and 200 hierarchies, with damaged archives, TIFF files and frames; zarr-python and tifffile make them, not
ozx. Prints each output whose SHA-256 differs, and each answer in JSON; ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
ROOT = HERE.parent.parent
FIXTURES = ROOT / "fixtures"
COUNT = 200
DTYPES = ("uint8", "uint16", "int16", "int32", "float32", "float64", "bool", ">u2")
AXES = ("yx", "zyx", "cyx", "tyx", "czyx", "tczyx")
WRITING = (
    "unpack",
    "repack --shards auto",
    "repack --chunks x=24,y=24 --codec zstd:3",
    "repack --chunk-checksums add",
    "repack --ome-version 0.6",
    "repack --thumbnail",
    "extract --levels 0:1",
    "extract --region x=0:40,y=5:30",
    "extract --path A/1",
    "extract --path 0",
    "extract --path labels/cells",
    "export --compression zlib",
)
ENDINGS = {"unpack": "zarr", "export": "ome.tif"}
TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}


# --- inputs ---


def make_inputs(folder: Path) -> None:
    """Write the hierarchies, TIFF files and frames; a folder that has them is kept."""
    if (folder / "made").exists():
        return
    for number in range(COUNT):
        make_hierarchy(folder / "hierarchies" / f"{number:03}.ome.zarr", number)
    (folder / "tiffs").mkdir()
    for number in range(40):
        make_tiff(folder / "tiffs" / f"{number:03}.tif", number)
    (folder / "made").touch()


def make_hierarchy(root: Path, number: int) -> None:
    """Write an image, with labels or within a plate or a series, in a layout that its number decides."""
    import zarr

    rng = np.random.default_rng(number)
    version = 2 if number % 5 == 4 else 3
    group = zarr.create_group(root, zarr_format=version)
    match number % 4:
        case 1:
            wells = [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}, {"path": "B/2", "rowIndex": 1, "columnIndex": 1}]
            plate = {"rows": [{"name": "A"}, {"name": "B"}], "columns": [{"name": "1"}, {"name": "2"}], "wells": wells}
            describe(group, version, {"plate": plate})
            for well in wells:
                node = group.create_group(well["path"])
                describe(node, version, {"well": {"images": [{"path": "0"}, {"path": "1"}]}})
                for field in "01":
                    write_image(node.create_group(field), rng, version)
        case 2:
            describe(group, version, {"bioformats2raw.layout": 3})
            for name in "01":
                write_image(group.create_group(name), rng, version)
        case _:
            axes = write_image(group, rng, version)
            if number % 4 == 3:
                labels = group.create_group("labels")
                describe(labels, version, {"labels": ["cells"]})
                write_image(labels.create_group("cells"), rng, version, axes.replace("c", ""), label=True)


def describe(group: Any, version: int, document: dict[str, Any]) -> None:
    """Give a group its metadata of OME-Zarr 0.4 or 0.5."""
    if version == 3:
        group.attrs["ome"] = {"version": "0.5", **document}
    else:
        group.attrs.update(document)


def write_image(group: Any, rng: np.random.Generator, version: int, axes: str = "", *, label: bool = False) -> str:
    """Write the levels of an image, and return its axes."""
    axes = axes or str(rng.choice(AXES))
    dtype = np.dtype("uint32" if label else str(rng.choice(DTYPES)))
    shape = [int(rng.integers(20, 90)) if axis in "yx" else int(rng.integers(1, 4)) for axis in axes]
    datasets = []
    for level in range(int(rng.integers(1, 4))):
        sizes = [max(1, size >> level) if axis in "yx" else size for size, axis in zip(shape, axes, strict=True)]
        write_array(group, str(level), sizes, dtype, axes, rng, version)
        scale = [float(2**level) * 0.5 if axis in "yx" else 1.0 for axis in axes]
        datasets.append({"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    units = {axis: {"unit": "micrometer"} if axis in "zyx" else {} for axis in axes}
    known = [{"name": axis, "type": TYPES[axis], **units[axis]} for axis in axes]
    multiscale: dict[str, Any] = {"axes": known, "datasets": datasets, "name": f"image {rng.integers(100)}"}
    document: dict[str, Any] = {"multiscales": [multiscale | ({} if version == 3 else {"version": "0.4"})]}
    if label:
        document["image-label"] = {"source": {"image": "../../"}}
    elif "c" in axes:
        colors = ("FF0000", "00FF00", "0000FF")
        window = {"start": 0, "end": 200, "min": 0, "max": 255}
        named = [{"label": f"c{at}", "color": colors[at], "window": window} for at in range(shape[axes.index("c")])]
        document["omero"] = {"channels": [channel | {"active": True} for channel in named]}
    describe(group, version, document)
    return axes


def write_array(
    group: Any, name: str, shape: list[int], dtype: np.dtype[Any], axes: str, rng: np.random.Generator, version: int
) -> None:
    """Write one level, in chunks or shards, compressed in one of many ways; some chunks are left out."""
    import numcodecs
    import zarr.codecs as codecs

    places = zip(shape, axes, strict=True)
    chunks = [min(size, int(rng.choice((8, 16, 32)))) if axis in "yx" else 1 for size, axis in places]
    options: dict[str, Any] = {"chunks": tuple(chunks), "fill_value": int(rng.integers(0, 2))}
    if version == 3:
        known = (codecs.ZstdCodec(level=3), codecs.GzipCodec(level=5), codecs.BloscCodec(), codecs.Crc32cCodec(), None)
        options |= {"compressors": known[int(rng.integers(len(known)))], "dimension_names": list(axes)}
        if rng.random() < 0.4:
            options["shards"] = tuple(2 * chunk for chunk in chunks)
    else:
        old = (numcodecs.Zlib(5), numcodecs.Blosc(), numcodecs.Zstd(3), None)
        options |= {"compressors": old[int(rng.integers(len(old)))]}
        options["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
    array = group.create_array(name, shape=tuple(shape), dtype=dtype, **options)
    values = rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    if rng.random() < 0.3:
        values[..., : chunks[-2] * 2, :] = options["fill_value"]
    array[...] = values


def make_tiff(path: Path, number: int) -> None:
    """Write a TIFF file: plain, OME-TIFF or ImageJ, in strips or tiles."""
    import tifffile

    rng = np.random.default_rng(number)
    kind, axes = ({}, {"ome": True}, {"imagej": True})[number % 3], ("YX", "ZYX", "CYX", "TZCYX")[number % 4]
    if kind == {}:
        axes = axes[-3:]
    shape = tuple(int(rng.integers(30, 120)) if axis in "YX" else int(rng.integers(2, 4)) for axis in axes)
    pixels = rng.integers(0, 200, shape).astype(("uint8", "uint16")[number % 2])
    options: dict[str, Any] = {"metadata": {"axes": axes}}
    if number % 5 and "imagej" not in kind:
        options["tile"] = (16, 32)
    if number % 2 and "imagej" not in kind:
        options["compression"] = "zlib"
    tifffile.imwrite(path, pixels, resolution=(10_000, 10_000), resolutionunit="CENTIMETER", **kind, **options)


# --- outputs ---


class Outputs:
    """The SHA-256 of what was written and said, by input and command."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.found = folder, dict[str, str]()

    def run(self, name: str, *arguments: str | Path, out: Path | None = None) -> None:
        """Run a command in this process; keep its exit code, its answer, and what it wrote."""
        from ozx.cli.app import run

        said, told, code = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            try:
                code = run([str(argument) for argument in arguments]) or 0
            except SystemExit as error:
                code = int(error.code or 0)
        self.keep(f"{name}: exit code", str(code).encode())
        self.keep(f"{name}: answer", self.without_places(said.getvalue() + told.getvalue()))
        if out is not None:
            self.keep(f"{name}: output", digest(out).encode())

    def without_places(self, text: str) -> bytes:
        """Return an answer without what differs from run to run: folders, durations, times."""
        text = text.replace(str(self.folder), "FOLDER")
        text = re.sub(r'("(?:seconds|duration|speed|started|finished|time)": )[^,}\n]+', r"\1TIME", text)
        return re.sub(r"\d+(\.\d+)? (s|ms|[kMG]i?B/s)\b", "TIME", text).encode()

    def keep(self, name: str, data: bytes) -> None:
        """Keep one digest; a name is used once."""
        assert name not in self.found, name
        self.found[name] = hashlib.sha256(data).hexdigest()


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of the files of a folder with their names."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(each for each in path.rglob("*") if each.is_file())
    lines = [f"{file.relative_to(path).as_posix()} {digest(file)}\n" for file in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def run_on_hierarchies(outputs: Outputs, inputs: Path, folder: Path) -> None:
    """Run the verbs on each fixture and each hierarchy."""
    for root in (*sorted(FIXTURES.glob("*.ome.zarr")), *sorted((inputs / "hierarchies").iterdir())):
        name, work = root.name.partition(".")[0], folder / root.name
        work.mkdir()
        outputs.run(f"{name} validate directory", "validate", root, "--json")
        packed = work / "packed.ozx"
        beside = ("--checksum", "sha256", "--manifest", "--json")
        outputs.run(f"{name} pack", "pack", root, packed, "--no-sync", *beside, out=packed)
        for path in sorted(work.glob("packed.ozx.*")):
            outputs.keep(f"{name} pack: {path.suffix}", outputs.without_places(path.read_text("utf-8")))
        if not packed.exists():
            continue
        for verb in ("info", "ls", "validate", "verify"):
            outputs.run(f"{name} {verb}", verb, packed, "--json")
        outputs.run(f"{name} info text", "info", packed)
        for number, line in enumerate(WRITING):
            verb, *options = line.split()
            out = work / f"{number}.{ENDINGS.get(verb, 'ozx')}"
            outputs.run(f"{name} {line}", verb, packed, out, *options, "--no-sync", "--json", out=out)
        outputs.run(f"{name} thumbnail", "thumbnail", packed, work / "picture.png", out=work / "picture.png")
        run_recover(outputs, name, packed, work)
        changes = ("--pixel-size", "0.25um", "--name", "é", "--no-sync", "--json")
        outputs.run(f"{name} edit", "edit", packed, *changes, out=packed)


def run_recover(outputs: Outputs, name: str, packed: Path, work: Path) -> None:
    """Recover an archive that is cut off, one without its end, and one with a wrong byte."""
    data = packed.read_bytes()
    at = len(data) // 3
    flipped = bytearray(data)
    flipped[at] ^= 255
    for kind, value in (("cut", data[: at * 2]), ("endless", data[:-60]), ("flipped", flipped)):
        path, out = work / f"{kind}.ozx", work / f"{kind}-recovered.ozx"
        path.write_bytes(value)
        outputs.run(f"{name} recover {kind}", "recover", path, out, "--no-sync", "--json", out=out)
        outputs.run(f"{name} validate {kind}", "validate", path, "--json")


def run_on_pixels(outputs: Outputs, inputs: Path, folder: Path) -> None:
    """Import TIFF files, and write arrays and frames."""
    import ozx

    for path in sorted((inputs / "tiffs").iterdir()):
        options = ("", "--shards auto --thumbnail", "--codec zstd:3 --ome-version 0.6")[int(path.stem) % 3].split()
        out = folder / f"{path.stem}.ozx"
        outputs.run(f"{path.stem} import", "import", path, out, *options, "--no-sync", "--json", out=out)
    for number in range(40):
        rng = np.random.default_rng(number)
        axes = AXES[number % len(AXES)]
        shape = tuple(int(rng.integers(20, 300)) if axis in "yx" else 2 for axis in axes)
        pixels = rng.integers(0, 99, shape).astype(DTYPES[number % 6])
        out = folder / f"written-{number}.ozx"
        ozx.write_image(out, pixels, axes=axes, method=("mean", "nearest", "mode")[number % 3], sync=False)
        outputs.keep(f"write_image {number}", out.read_bytes())
        out = folder / f"streamed-{number}.ozx"
        with ozx.stream(out, axes=axes, shape=shape, dtype=pixels.dtype, sync=False) as frames:
            for frame in pixels.reshape(-1, *shape[-2:]):
                frames.append(frame)
        # Threads decide the order of the values in the file.
        with zipfile.ZipFile(out) as archive:
            values = {name: archive.read(name) for name in sorted(archive.namelist())}
        outputs.keep(f"stream {number}", repr(values).encode())


def measure(inputs: Path, answer: Path) -> None:
    """Run every verb with the ozx that is imported, and write the digests."""
    import ozx

    with tempfile.TemporaryDirectory() as temporary:
        outputs = Outputs(Path(temporary))
        run_on_hierarchies(outputs, inputs, Path(temporary))
        run_on_pixels(outputs, inputs, Path(temporary))
    answer.write_text(json.dumps({"package": str(ozx.__file__), "found": outputs.found}), "utf-8")


# --- comparing ---


@contextlib.contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Give a folder with the files of a commit."""
    with tempfile.TemporaryDirectory() as temporary:
        archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", temporary], input=archive.stdout, check=True)
        yield Path(temporary)


def digests_of(tree: Path, inputs: Path) -> dict[str, str]:
    """Return the digests that the code of a tree gives, each by a process of its own."""
    with tempfile.TemporaryDirectory() as temporary:
        answer = Path(temporary) / "answer.json"
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OZX_CACHE_DIR": temporary, "COLUMNS": "120"}
        command = [sys.executable, "-W", "ignore", str(HERE), "--measure", str(answer), "--folder", str(inputs)]
        subprocess.run(command, check=True, env=environment)
        result = json.loads(answer.read_text("utf-8"))
    if not result["package"].startswith(str(tree)):
        sys.exit(f"{result['package']} was measured, and not {tree}")
    found: dict[str, str] = result["found"]
    return found


def compare(commit: str, inputs: Path) -> int:
    """Print what differs between a commit and the code here; return the exit code."""
    make_inputs(inputs)
    with checkout(commit) as tree:
        before = digests_of(tree, inputs)
    after = digests_of(ROOT, inputs)
    different = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in different:
        print(name)
    print(f"{len(after):,} outputs and answers, {len(different)} different from {commit}")
    return 1 if different else 0


def main(arguments: list[str] | None = None) -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--folder", type=Path, help="keeps the inputs for the next time")
    parser.add_argument("--measure", type=Path, metavar="ANSWER", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.measure:
        measure(given.folder, given.measure)
        return 0
    if given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
        return compare(given.commit, given.folder)
    with tempfile.TemporaryDirectory() as temporary:
        return compare(given.commit, Path(temporary))


if __name__ == "__main__":
    sys.exit(main())

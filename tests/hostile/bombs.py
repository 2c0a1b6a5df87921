"""Run every verb on small files that would become large, and measure time, peak memory and exit code.

`python bombs.py FOLDER REPORT VERBS [NAME…]` makes the bombs in a folder, runs every verb (or those in VERBS, separated
by commas) on each bomb, and writes the results as JSON. It loads the modules of the verbs once, and forks for each run,
so that a run measures only its own work. Times are processor times. Peaks come from `os.wait4`, so they include the
loaded modules. A child may have 4 GiB of address space and `_PATIENCE` seconds of real time.
"""

# ruff: noqa: E501 (one bomb, one line)
from __future__ import annotations

import contextlib
import gzip
import importlib
import json
import lzma
import os
import shutil
import signal
import struct
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import google_crc32c
import numcodecs
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import every_verb
from cases.archive_builder import array_document, sharding, write_tree
from hierarchies import group, multiscales
from packed import zip_values
from posix_only import resource

from ozx.cli.app import run

MIB = 1 << 20
_PATIENCE = 60
_ADDRESSES = 4 << 30
_HUGE = 512 * MIB


@dataclass(frozen=True)
class Bomb:
    """A function that makes a hierarchy (values by key), and the size of the largest chunk that its metadata allow."""

    name: str
    make: Callable[[], dict[str, bytes]]
    largest: int
    is_deflated: bool = False


@dataclass(frozen=True)
class Run:
    """The result of a verb on a bomb; `code` is negative if a signal ended the run."""

    bomb: str
    verb: str
    code: int
    seconds: float
    peak: int
    largest: int
    said: str


# Hierarchies ------------------------------------------------------------------------------------------


def image(values: dict[str, bytes], array: dict[str, Any]) -> dict[str, bytes]:
    images = multiscales("zyx"[-len(array["shape"]) :], "0", name="bomb")
    root = group(version="0.5", multiscales=images)
    return {"zarr.json": root, "0/zarr.json": dumps(array), **{f"0/{key}": data for key, data in values.items()}}


def array(codecs: list[Any], shape=(64, 64), chunks=(64, 64), dtype="uint8", fill: Any = 0) -> dict[str, Any]:
    names = list("zyx"[-len(shape) :])
    return array_document(shape, chunks, codecs, data_type=dtype, fill_value=fill, dimension_names=names)


def image_v2(data: bytes, compressor: Any, filters: Any = None, dtype: str = "|u1") -> dict[str, bytes]:
    zarray = {
        "zarr_format": 2,
        "shape": [64, 64],
        "chunks": [64, 64],
        "dtype": dtype,
        "compressor": compressor,
        "filters": filters,
        "order": "C",
        "fill_value": 0 if dtype != "|O" else "",
        "dimension_separator": "/",
    }
    values = {
        ".zgroup": {"zarr_format": 2},
        ".zattrs": {"multiscales": multiscales("yx", "0", version="0.4")},
        "0/.zarray": zarray,
    }
    return {**{key: dumps(value) for key, value in values.items()}, "0/0/0": data}


def dumps(document: Any) -> bytes:
    return json.dumps(document).encode()


BYTES = {"name": "bytes"}
CRC = {"name": "crc32c"}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
BLOSC = {
    "name": "blosc",
    "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0},
}
VLEN = {"name": "vlen-utf8"}


LITTLE = {"configuration": {"endian": "little"}}


def shard(parts: bytes, index: list[int]) -> bytes:
    table = np.array(index, "<u8").tobytes()
    return parts + table + checksum(table)


def checksum(data: bytes) -> bytes:
    return int(google_crc32c.value(data)).to_bytes(4, "little")


# What decodes to a lot --------------------------------------------------------------------------------


@cache
def zeros_gzip(size: int = _HUGE) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(MIB)
    return b"".join(packer.compress(block) for _ in range(size // MIB)) + packer.flush()


@cache
def zeros_zlib(size: int = _HUGE) -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(MIB)) for _ in range(size // MIB)) + packer.flush()


def zstd_frame(size: int, *, claim: int | None = None) -> bytes:
    """A frame of RLE blocks of 128 KiB (RFC 8878, 3.1.1.2.2)."""
    head = bytes([0x00, 0x58]) if claim is None else bytes([0xC0, 0x58]) + claim.to_bytes(8, "little")
    block, last = (((128 << 10) << 3 | 1 << 1 | is_last).to_bytes(3, "little") + b"\0" for is_last in (0, 1))
    return b"\x28\xb5\x2f\xfd" + head + block * (size // (128 << 10) - 1) + last


def blosc_frame(nbytes: int, cbytes: int | None = None) -> bytes:
    body = bytes(64)
    return b"\x02\x01\x13\x01" + struct.pack("<III", nbytes, min(nbytes, 1 << 18), cbytes or 16 + len(body)) + body


def bz2_zeros(size: int = _HUGE) -> bytes:
    return bytes(numcodecs.BZ2(9).encode(bytes(64 * MIB))) * (size // (64 * MIB))


def lzma_zeros(size: int = _HUGE) -> bytes:
    return bytes(numcodecs.LZMA(preset=0).encode(bytes(64 * MIB))) * (size // (64 * MIB))


def one(codecs: list[Any], data: Callable[[], bytes], **options: Any) -> Callable[[], dict[str, bytes]]:
    return lambda: image({"c/0/0": data()}, array(codecs, **options))


def nested() -> dict[str, bytes]:
    data = zeros_gzip()
    inner = shard(data, [0, len(data)] + [2**64 - 1] * 6)
    codecs = [sharding([32, 32], [sharding([16, 16], [BYTES, GZIP])])]
    return image({"c/0/0": shard(inner, [0, len(inner)] + [2**64 - 1] * 6)}, array(codecs))


def wide(shape: int, chunk: int, values: dict[str, bytes] | None = None) -> Callable[[], dict[str, bytes]]:
    return lambda: image(
        values or {"c/0/0": bytes(chunk * chunk) if chunk < 99 else b""}, array([BYTES], (shape, shape), (chunk, chunk))
    )


def huge_plate() -> dict[str, bytes]:
    rows = [{"name": f"R{number}"} for number in range(2000)]
    columns = [{"name": f"{number}"} for number in range(2000)]
    wells = [
        {"path": f"R{number // 100}/{number % 100}", "rowIndex": number // 100, "columnIndex": number % 100}
        for number in range(20_000)
    ]
    plate = {"rows": rows, "columns": columns, "wells": wells}
    well = group(version="0.5", well={"images": [{"path": "0"}]})
    found = {f"R0/0/0/{key}": data for key, data in image({"c/0/0": bytes(4096)}, array([BYTES])).items()}
    return {
        "zarr.json": group(version="0.5", plate=plate),
        "R0/zarr.json": group(),
        "R0/0/zarr.json": well,
        **found,
    }


def attributed(value: Callable[[], bytes]) -> dict[str, bytes]:
    values = image({"c/0/0": bytes(4096)}, array([BYTES]))
    values["zarr.json"] = values["zarr.json"].replace(b'"attributes": {', b'"attributes": {"more": ' + value() + b", ")
    return values


def long_documents() -> dict[str, bytes]:
    more = json.loads(group()) | {"attributes": {"more": "x" * 20_000_000}}
    return {**image({"c/0/0": bytes(4096)}, array([BYTES])), **{f"g{n}/zarr.json": dumps(more) for n in range(20)}}


def deep_shards() -> dict[str, bytes]:
    codecs = [BYTES]
    for _ in range(50):
        codecs = [sharding([64, 64], codecs)]
    return image({"c/0/0": bytes(4096)}, array(codecs))


def bomb_labels() -> dict[str, bytes]:
    label = image({"c/0/0": zeros_gzip()}, array([BYTES, GZIP]))
    root = json.loads(label["zarr.json"])
    root["attributes"]["ome"]["image-label"] = {}
    found = {f"labels/cells/{key}": data for key, data in {**label, "zarr.json": dumps(root)}.items()}
    return {
        **image({"c/0/0": bytes(4096)}, array([BYTES])),
        "labels/zarr.json": group(version="0.5", labels=["cells"]),
        **found,
    }


# A type of 100,000 letters, and one of a gibibyte.
LONG_ITEMS = {"name": "numcodecs.astype", "configuration": {"encode_dtype": "u1", "decode_dtype": "<U100000"}}
LONG_TYPE = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 1 << 30}}
# A frame's header with a window of 2^31 bytes (RFC 8878, 3.1.1.1.2).
WIDE_WINDOW = b"\x28\xb5\x2f\xfd" + bytes([0x00, (31 - 10) << 3])


def lzma_dictionary() -> bytes:
    data = bytearray(lzma.compress(bytes(MIB), format=lzma.FORMAT_ALONE))
    data[1:5] = b"\xff" * 4
    return bytes(data)


def text_of(data: bytes) -> Callable[[], dict[str, bytes]]:
    return lambda: image({"c/0/0": data}, array([VLEN], dtype="string", fill=""))


BOMBS = [
    Bomb("gzip", one([BYTES, GZIP], zeros_gzip), 4096),
    Bomb("gzip members", one([BYTES, GZIP], lambda: gzip.compress(bytes(4 * MIB)) * (_HUGE // (4 * MIB))), 4096),
    Bomb("gzip, empty members", one([BYTES, GZIP], lambda: gzip.compress(b"") * 500_000), 4096),
    Bomb("gzip, crc32c", one([BYTES, GZIP, CRC], lambda: (data := zeros_gzip()) + checksum(data)), 4096),
    Bomb("gzip in zstd", one([BYTES, GZIP, ZSTD], lambda: zstd_frame(_HUGE)), 4096),
    Bomb("zstd", one([BYTES, ZSTD], lambda: zstd_frame(_HUGE)), 4096),
    Bomb("zstd with its size", one([BYTES, ZSTD], lambda: zstd_frame(_HUGE, claim=_HUGE)), 4096),
    Bomb("zstd claims 40 GB", one([BYTES, ZSTD], lambda: zstd_frame(MIB, claim=40 << 30)), 4096),
    Bomb("zstd claims a little", one([BYTES, ZSTD], lambda: zstd_frame(_HUGE, claim=4096)), 4096),
    Bomb("zstd frames", one([BYTES, ZSTD], lambda: zstd_frame(64 * MIB) * 64), 4096),
    Bomb("blosc claims 4 GB", one([BYTES, BLOSC], lambda: blosc_frame(0xFFFFFFFF)), 4096),
    Bomb("blosc claims 2 GB", one([BYTES, BLOSC], lambda: blosc_frame(0x7FFFFFEF)), 4096),
    Bomb("blosc claims more than it has", one([BYTES, BLOSC], lambda: blosc_frame(4096, 1 << 30)), 4096),
    Bomb("transpose", one([{"name": "transpose", "configuration": {"order": [1, 0]}}, BYTES, GZIP], zeros_gzip), 4096),
    Bomb("shard", one([sharding([32, 32], [BYTES, GZIP])], lambda: shard(data := zeros_gzip(), [0, len(data)] * 4)), 4096),
    Bomb("shards in shards", nested, 4096),
    Bomb("a shard's index claims much", one([sharding([32, 32], [BYTES])], lambda: shard(b"", [0, 1 << 62] * 4)), 4096),
    Bomb("a shard of 2^40 chunks", one([sharding([1, 1], [BYTES])], lambda: bytes(4096), shape=(1 << 20, 1 << 20), chunks=(1 << 20, 1 << 20)), 1),
    Bomb("text", text_of(struct.pack("<I", 0xFFFFFFFF) + bytes(64)), 64 * MIB),
    Bomb("a long text", text_of(struct.pack("<II", 4096, 0xFFFFFF00) + bytes(64)), 64 * MIB),
    Bomb("text in gzip", one([VLEN, GZIP], zeros_gzip, dtype="string", fill=""), 64 * MIB),
    Bomb("v2 zlib", lambda: image_v2(zeros_zlib(), {"id": "zlib", "level": 1}), 4096),
    Bomb("v2 bz2", lambda: image_v2(bz2_zeros(), {"id": "bz2", "level": 1}), 4096),
    Bomb("v2 lzma", lambda: image_v2(lzma_zeros(), {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}), 4096),
    Bomb("v2 lz4", lambda: image_v2(struct.pack("<I", 0x7FFFFFFF) + bytes(64), {"id": "lz4", "acceleration": 1}), 4096),
    Bomb("v2 zstd", lambda: image_v2(zstd_frame(_HUGE), {"id": "zstd", "level": 1}), 4096),
    Bomb("v2 a filter", lambda: image_v2(bytes(numcodecs.Zstd().encode(zeros_gzip())), {"id": "zstd", "level": 1}, [{"id": "gzip", "level": 1}]), 4096),
    Bomb("v2 text", lambda: image_v2(struct.pack("<I", 0x7FFFFFFF) + bytes(64), None, [{"id": "vlen-utf8"}], "|O"), 64 * MIB),
    Bomb("2^62 pixels a side", wide(1 << 62, 64, {"c/0/0": bytes(4096)}), 4096),
    Bomb("2^62 pixels a side in one chunk", wide(1 << 62, 1 << 62, {"c/0/0": bytes(4096)}), 4096),
    Bomb("2^20 a side in chunks of one pixel", wide(1 << 20, 1, {"c/0/0": b"x"}), 1),
    Bomb("2^13 a side in chunks of one pixel", wide(1 << 13, 1, {"c/0/0": b"x"}), 1),
    Bomb("one chunk of 1 TiB, nearly empty", one([BYTES, GZIP], lambda: gzip.compress(bytes(4096)), shape=(1 << 20, 1 << 20), chunks=(1 << 20, 1 << 20)), 4096),
    Bomb("a stored value of 512 MB", one([BYTES], lambda: bytes(_HUGE)), 4096, is_deflated=True),
    Bomb("a long document", partial(attributed, lambda: b"[" + b"{}," * 40_000_000 + b"{}]"), 4096, is_deflated=True),
    Bomb("a long text in the attributes", partial(attributed, lambda: b'"' + b"x" * 30_000_000 + b'"'), 4096, is_deflated=True),
    Bomb("a million texts", partial(attributed, lambda: b"[" + b'"text",' * 1_100_000 + b"{}]"), 4096, is_deflated=True),
    Bomb("deep arrays", partial(attributed, lambda: b"[" * 100_000 + b"]" * 100_000), 4096),
    Bomb("long documents", long_documents, 4096, is_deflated=True),
    Bomb("twenty compressors", one([BYTES, *[GZIP] * 20], zeros_gzip), 4096),
    Bomb("shards in shards in shards", deep_shards, 4096),
    Bomb("a filter to long texts", one([LONG_ITEMS, {**BYTES, **LITTLE}], lambda: bytes(4096)), 4096),
    Bomb("items of 1 GiB", one([{**BYTES, **LITTLE}, GZIP], zeros_gzip, dtype=LONG_TYPE, fill=""), 4096),
    Bomb("a long text that fills", lambda: image({}, array([VLEN], (1 << 20, 1 << 20), dtype="string", fill="x" * 10_000_000)), 64 * MIB),
    Bomb("a terabyte that is not there", wide(1 << 20, 1 << 15, {"c/9/9": b""}), 1 << 30),
    Bomb("a window of 2 GiB", one([BYTES, ZSTD], lambda: WIDE_WINDOW + zstd_frame(MIB)[6:]), 4096),
    Bomb("v2 a dictionary of 4 GiB", lambda: image_v2(lzma_dictionary(), {"id": "lzma", "format": 2, "check": -1, "preset": None, "filters": None}), 4096),
    Bomb("v2 a list", lambda: image_v2(b"[" + b"{}," * 1_000_000 + b'"|O",[64,64]]', None, [{"id": "json2", "encoding": "utf-8"}], "|O"), 64 * MIB),
    Bomb("v2 msgpack", lambda: image_v2(b"\xdd\xff\xff\xff\xff" + bytes(100), None, [{"id": "msgpack2"}], "|O"), 64 * MIB),
    Bomb("v2 bits", lambda: image_v2(zeros_gzip(), {"id": "gzip", "level": 1}, [{"id": "packbits"}], "|b1"), 4096),
    Bomb("labels", bomb_labels, 4096),
    Bomb("a plate of 4,000,000 places", huge_plate, 4096),
]  # fmt: skip


# TIFF -------------------------------------------------------------------------------------------------


def tiff(description: bytes, *, width: int = 8, height: int = 8, is_ome: bool = True) -> bytes:
    """A TIFF file of one page with 64 bytes of pixels, for any stated size."""
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
    start = 8 + 2 + 12 * 10 + 4
    tags += [(270, 2, len(description) + 1, start), (273, 4, 1, start + len(description) + 1), (277, 3, 1, 1)]
    tags += [(278, 4, 1, height), (279, 4, 1, 64)]
    page = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8) + page + description + b"\0" + bytes(64)


def ome(planes: str = "", **sizes: int) -> bytes:
    found = {"SizeX": 8, "SizeY": 8, "SizeZ": 1, "SizeC": 1, "SizeT": 1, **sizes}
    attributes = " ".join(f'{name}="{value}"' for name, value in found.items())
    return (
        '<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
        f'<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" {attributes}>'
        f'<Channel ID="Channel:0:0" SamplesPerPixel="1"/>{planes or "<TiffData/>"}</Pixels></Image></OME>'
    ).encode()


TIFFS = {
    "plane count": lambda: tiff(ome('<TiffData PlaneCount="999999999"/>', SizeT=999999999)),
    "plane count alone": lambda: tiff(ome('<TiffData PlaneCount="999999999"/>')),
    "first t": lambda: tiff(ome('<TiffData FirstT="999999998" PlaneCount="1"/>', SizeT=999999999)),
    "size t": lambda: tiff(ome(SizeT=999999999)),
    "size c": lambda: tiff(ome(SizeC=999999999)),
    "size z": lambda: tiff(ome(SizeZ=99999, SizeT=99999, SizeC=99999)),
    "ifd": lambda: tiff(ome('<TiffData IFD="999999999" PlaneCount="999999999"/>', SizeT=999999999)),
    "imagej": lambda: tiff(b"ImageJ=1.54f\nimages=999999999\nframes=999999999\nhyperstack=true\n"),
    "shaped": lambda: tiff(b'{"shape": [999999999, 8, 8]}'),
    "width": lambda: tiff(b"", width=0x7FFFFFFF, height=1),
    "height": lambda: tiff(b"", height=0x7FFFFFFF),
    "both": lambda: tiff(b"", width=0x7FFFFFFF, height=0x7FFFFFFF),
    "ome width": lambda: tiff(ome(SizeX=0x7FFFFFFF, SizeY=0x7FFFFFFF)),
}


# Verbs ------------------------------------------------------------------------------------------------

#: On the archive, or on the folder where the verb takes one; the last one changes the archive.
VERBS = [*(verb for verb in every_verb.VERBS if verb != "edit names"), "validate (folder)", "thumbnail (folder)"]
VERBS += ["view", "view (folder)", "edit names"]
IMPORT = ["import", "b.tif", "i.ozx"]


def run_all(folder: Path, names: list[str], verbs: list[str]) -> Iterator[Run]:
    """Make the bombs with these names, or all bombs, and yield the result of every verb on each of them."""
    _load(folder / "first", verbs)
    _ = zeros_gzip(), zeros_zlib()  # many bombs contain them: compressed once, by the parent
    for bomb in BOMBS:
        if names and bomb.name not in names:
            continue
        place = folder / bomb.name.replace(" ", "-").replace(",", "").replace("^", "")
        place.mkdir()
        pid = os.fork()  # in another process: its memory does not count
        if not pid:
            try:
                write(bomb.make(), place, is_deflated=bomb.is_deflated)
            except BaseException as error:  # noqa: BLE001 (a child ends here)
                print(repr(error), file=sys.stderr)
                os._exit(1)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0, bomb.name
        for verb in verbs or VERBS:
            if verb != "import":
                yield _run(bomb.name, verb, partial(_work, verb), place, bomb.largest)
        shutil.rmtree(place)
    yield from _run_tiffs(folder, names, verbs)


def write(values: dict[str, bytes], place: Path, *, is_deflated: bool = False) -> None:
    """Write a hierarchy as the archive and as the folder that verbs get."""
    zip_values(place / "in.ozx", values, deflated=is_deflated)
    write_tree(place / "in.ome.zarr", values)


def _work(verb: str) -> int:
    """Run a verb in this folder; return its exit code, for the page of the viewer 70 if it has a fault."""
    if verb == "import":
        return run(IMPORT)
    name, _, folder = verb.partition(" (")
    is_archive = not folder and not name.startswith("pack")
    if name != "view":
        return run(every_verb.arguments_of(name, Path(), archive=is_archive))
    found = list(every_verb.view_of(Path("in.ozx" if is_archive else "in.ome.zarr")))
    print(*found, sep="\n", file=sys.stderr)
    return 70 if found else 0


def _load(place: Path, verbs: list[str]) -> None:
    """Load the modules of the verbs: a child runs each verb on a sound image, and lists the loaded modules."""
    place.mkdir()
    pid = os.fork()
    if not pid:
        _be_child(partial(_list_modules, place, verbs), place)
    assert os.waitpid(pid, 0)[1] == 0, (place / "said").read_text()
    for name in (place / "modules").read_text().split():
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _list_modules(place: Path, verbs: list[str]) -> int:
    values = image({"c/0/0": gzip.compress(bytes(4096))}, array([BYTES, GZIP]))
    write(values, place)
    (place / "b.tif").write_bytes(tiff(ome()))
    for verb in verbs or [*VERBS, "import"]:
        _work(verb)
        every_verb.remove_outputs(place)
    (place / "modules").write_text("\n".join(name for name in sys.modules if name != "__main__"))
    return 0


def _run_tiffs(folder: Path, names: list[str], verbs: list[str]) -> Iterator[Run]:
    if verbs and "import" not in verbs:
        return
    for name, make in TIFFS.items():
        if names and f"tiff: {name}" not in names:
            continue
        place = folder / f"tiff-{name.replace(' ', '-')}"
        place.mkdir()
        (place / "b.tif").write_bytes(make())
        yield _run(f"tiff: {name}", "import", partial(_work, "import"), place, 64)
        shutil.rmtree(place)


def _run(bomb: str, verb: str, work: Callable[[], int], place: Path, largest: int) -> Run:
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        _be_child(work, place)
    _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    said = (place / "said").read_text(errors="replace")[-1500:]
    every_verb.remove_outputs(place)
    return Run(bomb, verb, code, round(seconds, 2), usage.ru_maxrss << 10, largest, said)


def _be_child(work: Callable[[], int], place: Path) -> None:
    code = 99
    try:
        os.chdir(place)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        out = os.open("said", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(out, 2)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        signal.alarm(_PATIENCE)
        code = work()
    except BaseException:  # noqa: BLE001 (a child ends here)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as report:
        for done in run_all(
            Path(sys.argv[1]).resolve(), sys.argv[4:], [each for each in sys.argv[3].split(",") if each]
        ):
            report.write(json.dumps(asdict(done)) + "\n")
            report.flush()

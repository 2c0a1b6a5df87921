"""Random faults in metadata documents: each verb must answer or raise an error, without a fault of ozx.

`fuzz/fuzz.py` runs more. Each number is one mutation; the same seed makes the same mutations.
"""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
from cases.archive_builder import array, array_document, write_tree
from hierarchies import group, multiscales
from mutated_cases import hierarchies, is_json, mutate_documents
from packed import zip_values

from ozx.cli.app import run
from ozx.desktop.viewer.loopback import Request
from ozx.desktop.viewer.page_server import PageServer
from ozx.faults import FaultError, as_error
from ozx.places.place import Place
from ozx.store.opening import opened_hierarchy

Values = dict[str, bytes]

#: Arguments of each verb; IN is the hierarchy, OUT an unused name.
VERBS = {
    "info": ["info", "IN"],
    "info --json": ["info", "--json", "IN"],
    "ls": ["ls", "--json", "IN"],
    "ls --nodes": ["ls", "--nodes", "IN"],
    "cat": ["cat", "IN", "zarr.json"],
    "validate": ["validate", "--level", "data", "--json", "IN"],
    "validate as text": ["validate", "--no-second-opinion", "IN"],
    "pack": ["pack", "IN", "OUT.ozx", "--no-sync", "--verify"],
    "pack --shards": ["pack", "IN", "OUT.ozx", "--no-sync", "--shards", "auto", "--thumbnail", "--json"],
    "unpack": ["unpack", "IN", "OUT", "--no-sync"],
    "repack": ["repack", "IN", "OUT.ozx", "--no-sync"],
    "repack to a folder": ["repack", "IN", "OUT.ome.zarr", "--no-sync", "--keep-numcodecs"],
    "repack --shards": ["repack", "IN", "OUT.ozx", "--no-sync", "--shards", "auto"],
    "repack --shards none": ["repack", "IN", "OUT.ozx", "--no-sync", "--shards", "none", "--verify"],
    "repack --chunks": ["repack", "IN", "OUT.ozx", "--no-sync", "--chunks", "y=2,x=3"],
    "repack --codec": ["repack", "IN", "OUT.ozx", "--no-sync", "--codec", "zstd:3", "--thumbnail"],
    "extract": ["extract", "IN", "OUT.ozx", "--no-sync", "--levels", "0:1"],
    "extract --region": ["extract", "IN", "OUT.ozx", "--no-sync", "--region", "y=0:4,x=2:6"],
    "extract --max-size": ["extract", "IN", "OUT.ozx", "--no-sync", "--max-size", "1KB"],
    "export": ["export", "IN", "OUT.ome.tif", "--no-sync", "--json"],
    "thumbnail": ["thumbnail", "IN", "OUT.png", "--json"],
    "edit": ["edit", "IN", "--pixel-size", "y=2,x=0.5", "--unit", "nanometer", "--dry-run"],
    "edit names": ["edit", "IN", "--channel-names", "A,B", "--colors", "FF0000,00FF00", "--name", "N", "--json"],
    "labels": ["labels", "list", "IN", "--json"],
    "recover": ["recover", "IN", "OUT.ozx", "--no-sync", "--json"],
}
#: Requests of the page of ``ozx view``.
REQUESTS = (
    ("file", {}),
    ("picture", {}),
    ("picture", {"plate": "1"}),
    ("tile", {"level": "0", "row": "0", "column": "0", "channel": "0"}),
    ("tile", {"level": "0", "row": f"{1 << 50}", "column": f"{1 << 50}", "channel": "0"}),  # in 2**62 pixels a side
    ("contrast", {"channel": "0"}),
    ("histogram", {"channel": "0", "low": "0", "high": "100"}),
    ("values", {"y": "1", "x": "1", "channels": "0"}),
)
SLOWEST = 20  # seconds for one verb, on a busy machine


@cache
def images() -> list[Values]:
    """Return small hierarchies with pixels, one of each kind that verbs distinguish."""
    return [_image(), _image(sharded=True), _old_image(), _plate(), _series(), _texts()]


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


def _group(**ome: object) -> bytes:
    return group(**{"version": "0.5", **ome} if ome else {})


def _multiscales(axes: str, *levels: str) -> list[dict]:
    return multiscales(axes, *levels, unit="micrometer", halved="yx", name="cells")


_CHANNELS = [
    {"label": "A", "color": "FF0000", "active": True, "window": {"min": 0, "max": 255, "start": 1, "end": 99}},
    {"label": "B", "color": "00FF00", "active": False, "window": {"min": 0, "max": 255, "start": 1, "end": 99}},
]


def _levels(prefix: str, axes: str, shape: list[int], *, sharded: bool = False) -> Values:
    values = {}
    for level in range(2):
        size = [length >> level if length > 2 else length for length in shape]
        chunks = [min(length, 4) for length in size]
        document = json.loads(array(size, chunks, sharded=sharded)) | {"dimension_names": list(axes)}
        values[f"{prefix}{level}/zarr.json"] = _json(document)
        if not sharded:
            pixels = np.arange(np.prod(chunks), dtype=np.uint8)
            values[f"{prefix}{level}/c/{'/'.join(['0'] * len(shape))}"] = pixels.tobytes()
    return values


def _image(*, sharded: bool = False) -> Values:
    root = _group(multiscales=_multiscales("cyx", "0", "1"), omero={"channels": _CHANNELS, "rdefs": {"defaultZ": 0}})
    label = {"colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}], "properties": [{"label-value": 1, "name": "a"}]}
    return {
        "zarr.json": root,
        **_levels("", "cyx", [2, 8, 8], sharded=sharded),
        "labels/zarr.json": _group(labels=["nuclei"]),
        "labels/nuclei/zarr.json": _group(multiscales=_multiscales("yx", "0", "1"), **{"image-label": label}),
        **_levels("labels/nuclei/", "yx", [8, 8]),
    }


def _old_image() -> Values:
    zarray = {
        "zarr_format": 2, "shape": [8, 8], "chunks": [4, 4], "dtype": "<u2", "compressor": None, "fill_value": 0,
        "order": "C", "filters": None, "dimension_separator": "/",
    }  # fmt: skip
    zlib = zarray | {"compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}}
    text = zarray | {"shape": [], "chunks": [], "dtype": "|O", "fill_value": "", "filters": [{"id": "vlen-utf8"}]}
    scales = [dict(item, version="0.4") for item in _multiscales("yx", "0", "1")]
    return {
        ".zgroup": _json({"zarr_format": 2}),
        ".zattrs": _json({"multiscales": scales, "omero": {"version": "0.4", "channels": _CHANNELS[:1]}}),
        "0/.zarray": _json(zarray),
        "0/0/0": bytes(range(32)),
        "1/.zarray": _json(zlib),
        "text/.zarray": _json(text),
        "text/0": b"\1\0\0\0\1\0\0\0a",
        "1/.zattrs": _json({"_ARRAY_DIMENSIONS": ["y", "x"]}),
    }


def _plate() -> Values:
    plate = {
        "version": "0.5", "name": "P", "rows": [{"name": "A"}], "columns": [{"name": "1"}, {"name": "2"}],
        "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}], "acquisitions": [{"id": 1, "name": "first"}],
        "field_count": 1,
    }  # fmt: skip
    return {
        "zarr.json": _group(plate=plate),
        "A/zarr.json": _group(),
        "A/1/zarr.json": _group(well={"version": "0.5", "images": [{"path": "0", "acquisition": 1}]}),
        "A/1/0/zarr.json": _group(multiscales=_multiscales("cyx", "0", "1")),
        **_levels("A/1/0/", "cyx", [1, 8, 8]),
    }


def _series() -> Values:
    return {
        "zarr.json": _group(**{"bioformats2raw.layout": 3}),
        "OME/zarr.json": _group(series=["0"]),
        "0/zarr.json": _group(multiscales=_multiscales("tzyx", "0", "1")),
        **_levels("0/", "tzyx", [1, 2, 8, 8]),
    }


def _texts() -> Values:
    fields = {"codecs": [{"name": "vlen-utf8"}], "data_type": "string", "fill_value": ""}
    document, long = array_document([], [], **fields), array_document([4], [2], **fields)
    return {
        **_image(),
        "table/zarr.json": _group(),
        "table/none/zarr.json": _json(document),
        "table/none/c": b"\1\0\0\0\1\0\0\0a",
        "table/some/zarr.json": _json(long),
        "table/some/c/0": b"\2\0\0\0\1\0\0\0a\1\0\0\0b",
    }


def mutated(rng: random.Random) -> Values:
    """Return a hierarchy with one or two mutated documents; half of the hierarchies have pixels."""
    seeds = hierarchies()
    others = [document for documents in seeds for document in documents.values() if isinstance(document, dict)]
    if rng.random() < 0.3:
        return mutate_documents(rng.choice(seeds), rng, others)
    values = rng.choice(images())
    documents = {key: json.loads(value) for key, value in values.items() if is_json(value) and b"{" in value}
    return values | mutate_documents(documents, rng, others)


def answer_of(arguments: list[str]) -> tuple[int, str]:
    told, raw = io.StringIO(), io.BytesIO()
    out = io.TextIOWrapper(raw, "utf-8", errors="backslashreplace", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = run(arguments)
    return code, told.getvalue()


def view_of(path: Path) -> Iterator[str]:
    """Make the requests of the page of ``ozx view``; yield the faults of ozx."""

    def attempt(call: Callable[[], object]) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except Exception as error:  # noqa: BLE001 (as the server does)
            told = as_error(error)
            return str(told) if isinstance(told, FaultError) else None
        return None

    def ask() -> list[str | None]:
        with opened_hierarchy(Place.parse(path)) as group:
            page = PageServer(group, path.name, "1")
            requests = (Request("GET", f"{page.access.page_path}api/{name}", query) for name, query in REQUESTS)
            return [attempt(lambda request=request: page.respond(request)) for request in requests]

    found: list[str | None] = []
    found.append(attempt(lambda: found.extend(ask())))
    yield from filter(None, found)


def faults(values: Values, folder: Path, *, archive: bool, verbs: list[str], has_alarm: bool = True) -> Iterator[str]:
    """Run verbs (including ``view``) on a hierarchy; yield the faults of ozx.

    With `has_alarm`, SIGALRM ends verbs that take too long; fuzzers use this signal themselves.
    """
    path = write_hierarchy(values, folder, archive=archive)
    for verb in verbs:
        found: list[str] = []
        with timed(verb) if has_alarm else contextlib.nullcontext([]) as slow:
            if verb == "view":
                found = list(view_of(path))
            else:
                code, text = answer_of(arguments_of(verb, folder, archive=archive))
                is_fault = code == 70 or "Traceback" in text or "unsupported operand" in text
                found = [text] if is_fault or len(max(text.splitlines(), key=len, default="")) > 2_100 else []
        for text in (*found, *slow):
            yield f"{verb}{' (archive)' if archive else ''}: {text}"
        remove_outputs(folder)


def remove_outputs(folder: Path) -> None:
    for made in folder.glob("out*"):
        shutil.rmtree(made) if made.is_dir() else made.unlink()


def write_hierarchy(values: Values, folder: Path, *, archive: bool) -> Path:
    path = folder / ("in.ozx" if archive else "in.ome.zarr")
    if not archive:
        return write_tree(path, values)
    with warnings.catch_warnings(action="ignore"):  # names that occur twice
        return zip_values(path, values)


def arguments_of(verb: str, folder: Path, *, archive: bool) -> list[str]:
    path = folder / ("in.ozx" if archive else "in.ome.zarr")
    return [os.fspath(path) if word == "IN" else word.replace("OUT", f"{folder}/out") for word in VERBS[verb]]


class _TooSlowError(BaseException):
    pass


def _stop(*_: object) -> None:
    raise _TooSlowError


@contextlib.contextmanager
def timed(verb: str) -> Iterator[list[str]]:
    """End the ``with`` block if it takes too long; yield a list that then contains a message."""
    slow: list[str] = []
    before = signal.signal(signal.SIGALRM, _stop)
    signal.alarm(SLOWEST)
    try:
        yield slow
    except _TooSlowError:
        slow.append(f"{verb} takes more than {SLOWEST} s")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_numbers(numbers: range, seed: str, *, most: int = 6) -> Iterator[tuple[int, str]]:
    """Run `most` verbs on each mutation; yield the number of the mutation and the text of each fault."""
    for number in numbers:
        rng = random.Random(f"{seed} verbs {number}")
        values = mutated(rng)
        archive = rng.random() < 0.4
        chosen = rng.sample([*VERBS, "view"], most)
        with tempfile.TemporaryDirectory(prefix="ozx-verbs-") as folder:
            for text in faults(_writable(values), Path(folder), archive=archive, verbs=chosen):
                yield number, text


def _writable(values: Values) -> Values:
    """Leave out keys that cannot be written to a folder together with the other keys."""
    folders = {key[:at] for key in values for at, sign in enumerate(key) if sign == "/"}
    return {
        key: value
        for key, value in values.items()
        if key not in folders and "\0" not in key and not {"", ".", ".."} & set(key.split("/"))
    }

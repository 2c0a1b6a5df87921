"""Sinks: any plan, from any kind of source to any kind of sink, keeps every bit, and gives the same bytes."""

import errno
import json
import os
import pickle
import threading
from concurrent.futures import Executor, Future
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
import zarr
from cases.archive_builder import array, group
from drawn import Form, Hierarchy, bits, forms, hierarchies, image_metadata, old_hierarchies, pixels_of
from faults import WRITING, Faults, InjectedError, injected
from hierarchies import FIXTURES, tree
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kinds import LOCAL, WHOLE, changed_sizes, places, sizes_of  # noqa: F401 (fixture)
from packed import sort_values, values_of
from stores import contents
from zarr.storage import MemoryStore

import ozx
from ozx.errors import FormatError, OzxError, ResourceError, UnsupportedError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

# An example is small from the start: to make it smaller still would take minutes.
PHASES = (Phase.explicit, Phase.generate)
IMAGE = Hierarchy(tree(FIXTURES / "image.ome.zarr"), set(), "cyx")
SMALL_IMAGE = Hierarchy(
    {"zarr.json": group(), "0/zarr.json": array([64, 64], [32, 32])}
    | {f"0/c/{n // 2}/{n % 2}": bytes([n, 7]) * 512 for n in range(4)},
    set(),
    "yx",
)
SMALL = {
    "ozx.ome.relayout.rechunking.USUAL_BLOCK": [64],
    "ozx.flow.chunks.reshard._BATCH": [1, 3],
    "ozx.flow.entry._IN_MEMORY": [0, 100],
    "ozx.flow.sinks.fast_unpacking.ENOUGH_FOR_TWO": [1],
    "ozx.flow.sinks.fast_unpacking._SPAN": [300],
    "ozx.flow.sinks.fast_unpacking._PIECE": [1000],
    "ozx.places.positional_writing.READ": [300],
    "ozx.places.positional_writing._MOST_AT_ONCE": [300],
    "ozx.places.positional_writing._MOST_PARTS": [2],
    "ozx.flow.sources.archive.MOST_IN_RUN": [2],
}
sizes = sizes_of(SMALL)


class Patient(Executor):
    """An executor as another computer is: it works when it is waited for, and everything is pickled."""

    def __init__(self):
        self.futures: list[Future] = []
        self.most = 0

    def submit(self, function, /, *arguments, **keywords):
        future = _Late(pickle.dumps((function, arguments, keywords)))
        self.futures.append(future)
        self.most = max(self.most, sum(not future.done() for future in self.futures))
        return future


class _Late(Future):
    def __init__(self, work):
        super().__init__()
        self.work = work

    def result(self, timeout=None):
        if not self.done():
            function, arguments, keywords = pickle.loads(self.work)
            try:
                self.set_result(pickle.loads(pickle.dumps(function(*arguments, **keywords))))
            except Exception as error:  # noqa: BLE001
                self.set_exception(error)
        return super().result(timeout)


@st.composite
def plans(draw, axes: str) -> dict:
    named = st.sets(st.sampled_from(axes), min_size=1).map(sorted)
    plan: dict = {"codec": draw(st.sampled_from([None, None, "zstd:1", "gzip:1", "blosc-lz4", "none"]))}
    chunks = {axis: draw(st.integers(1, 6)) for axis in draw(named)} if draw(st.booleans()) else {}
    if chunks:
        plan["chunks"] = chunks if draw(st.booleans()) else ",".join(f"{axis}={n}" for axis, n in chunks.items())
    shards = {axis: chunks.get(axis, 1) * draw(st.integers(1, 4)) for axis in draw(named)}
    plan["shards"] = draw(st.sampled_from(["keep", "none", "auto", shards, shards]))
    plan["chunk_checksums"] = draw(st.sampled_from([None, None, "add", "drop", "keep"]))
    plan["ome_version"] = draw(st.sampled_from([None, None, "0.6"]))
    plan["verify"] = draw(st.booleans())
    return {name: value for name, value in plan.items() if value is not None}


def layout_of(document: dict) -> tuple[list[int], list[int] | None, list[str]]:
    outer, codecs, shards = document["chunk_grid"]["configuration"]["chunk_shape"], document["codecs"], None
    while codecs[0]["name"] == "sharding_indexed":
        shards = outer if shards is None else shards
        outer, codecs = codecs[0]["configuration"]["chunk_shape"], codecs[0]["configuration"]["codecs"]
    return outer, shards, [codec["name"] for codec in codecs]


def given_lengths(choice, axes: str) -> dict[str, int]:
    if isinstance(choice, str):
        return {part[0]: int(part[2:]) for part in choice.split(",") if "=" in part}
    return {axis: length for axis, length in (choice or {}).items() if axis in axes}


def check_layout(document: dict, old: dict, axes: str, plan: dict) -> None:
    """Check that an array has the chunks, shards and codecs that were asked for."""
    chunks, shards, codecs = layout_of(document)
    before = layout_of(old)
    wanted = dict(zip(axes, before[0], strict=True)) | given_lengths(plan.get("chunks"), axes)
    assert dict(zip(axes, chunks, strict=True)) == wanted or plan.get("chunks")
    for axis, length in given_lengths(plan.get("chunks"), axes).items():
        at = axes.index(axis)
        assert chunks[at] == min(length, max(1, document["shape"][at])) or shards
    if plan["shards"] == "none":
        assert shards is None
    elif plan["shards"] == "keep" and "chunks" not in plan:
        assert shards == before[1]
    for axis, length in given_lengths(plan["shards"], axes).items():
        at = axes.index(axis)
        assert shards is not None
        assert shards[at] % chunks[at] == 0
        # Of an axis that one shard covers, the shard may be longer: its length is a multiple of the chunk's.
        assert shards[at] <= max(length, chunks[at]) or length >= document["shape"][at]
    if shards is not None and before[1] is None and plan.get("chunk_checksums") is None:
        assert "crc32c" in codecs
    assert codecs.count("crc32c") <= 1
    if "codec" in plan:
        name = {"none": "bytes"}.get(plan["codec"], plan["codec"].partition("-")[0].partition(":")[0])
        assert name in codecs
    if plan.get("chunk_checksums") == "add":
        assert codecs[-1] == "crc32c"
    elif plan.get("chunk_checksums") == "drop":
        assert "crc32c" not in codecs


def own_archive(values: dict[str, bytes]) -> bytes:
    """Return the bytes that ozx writes for these values, without its code."""
    data = bytearray(Form().build(sort_values(values)))
    data[data.rindex(b"PK\6\6") + 13] = 3  # the ZIP64 end record, too, was made by Unix
    return bytes(data)


def check_plan(places, hierarchy, plan, form, kinds, jobs) -> str | None:  # noqa: F811
    """Carry out a plan from several kinds of sources, by several workers; return the refusal, if it is refused."""
    locations = places.put(hierarchy, form)
    outcomes = []
    ways = [(kinds[0], {"jobs": 1}), (kinds[1], {"jobs": jobs}), (kinds[0], {"executor": Patient(), "jobs": 2})]
    for kind, way in ways:
        out = places.output("archive")
        try:
            result = ozx.repack(locations[kind], out, sync=False, **plan, **way)
        except (UsageError, UnsupportedError) as error:
            assert places.written(out) is None
            outcomes.append(error.message if hasattr(error, "message") else str(error).partition(": ")[2])
        else:
            outcomes.append(places.written(out))
            assert (result.entries, result.bytes) == (len(values_of(out)), len(outcomes[-1]))
            assert result.verified == plan.get("verify", False)
    assert all(isinstance(one, type(outcomes[0])) for one in outcomes)
    if isinstance(outcomes[0], str):
        return outcomes[0]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert {one.id for one in ozx.validate(out, level="data").findings if one.severity == "error"} == set()
    before, found = pixels_of(hierarchy.values, hierarchy.zarr_format), values_of(outcomes[0])
    after = pixels_of(found)
    assert {path: bits(each) for path, each in after.items()} == {path: bits(each) for path, each in before.items()}
    assert list(found) == list(sort_values(found))
    for key in hierarchy.extra:
        assert found[key] == hierarchy.values[key]
    for path in ("0", "1") if hierarchy.zarr_format == 3 else ():
        if path in after:
            documents = [json.loads(values[f"{path}/zarr.json"]) for values in (found, hierarchy.values)]
            check_layout(*documents, hierarchy.axes, plan)
    assert json.loads(found["zarr.json"])["attributes"]["ome"]["version"] == plan.get("ome_version", "0.5")
    return None


@settings(max_examples=60, phases=PHASES)
@given(data=st.data(), form=forms, small=sizes, jobs=st.integers(1, 4), posix=st.booleans())
def test_any_plan_keeps_every_bit_whoever_works(places, data, form, small, jobs, posix):  # noqa: F811
    hierarchy = data.draw(st.one_of(hierarchies(), hierarchies(), hierarchies(), old_hierarchies()))
    plan = data.draw(plans(hierarchy.axes))
    kinds = data.draw(st.permutations(LOCAL if data.draw(st.integers(0, 3)) else WHOLE))
    with changed_sizes(small, posix=posix):
        refused = check_plan(places, hierarchy, plan, form, kinds, jobs)
    assert refused is None or len(refused) < 500


@settings(max_examples=15, phases=PHASES)
@given(hierarchy=hierarchies(others=False), form=forms, data=st.data())
def test_chunks_that_move_into_shards_and_out_again_are_what_they_were(places, hierarchy, form, data):  # noqa: F811
    """No chunk is decoded: its bytes stay."""
    document = json.loads(hierarchy.values["0/zarr.json"])
    chunks, shards, _ = layout_of(document)
    at = dict(zip(hierarchy.axes, chunks, strict=True))
    larger = {axis: length * data.draw(st.integers(1, 3)) for axis, length in at.items()}
    ways = []
    for first in (larger, "none"):
        source, results = places.put(hierarchy, form)["archive"], []
        for choice in (first, "none"):
            out = places.output("archive")
            results.append(ozx.repack(source, out, shards=choice, chunk_checksums="keep", sync=False))
            source = out
        ways.append(values_of(source))
        assert {array.treatment for result in results for array in result.arrays} <= {"moved"}
        if shards is None:
            assert {key: data for key, data in ways[-1].items() if "/c/" in key} == {
                key: data for key, data in hierarchy.values.items() if "/c/" in key
            }
    assert ways[0] == ways[1]


@pytest.mark.parametrize("name", ["default", "v2"])
@pytest.mark.parametrize("separator", ["/", "."])
def test_many_chunks_are_in_order_under_keys_of_any_form(places, name, separator):  # noqa: F811
    store, encoding = MemoryStore(), {"name": name, "separator": separator}
    root = zarr.create_group(store, zarr_format=3, attributes=image_metadata("yx", 1))
    pixels = np.arange(24 * 25, dtype="u2").reshape(24, 25)
    words = {"shape": pixels.shape, "chunks": (2, 2), "dtype": "u2", "dimension_names": ["y", "x"]}
    root.create_array("0", **words, chunk_key_encoding=encoding, compressors=None)[...] = pixels
    locations = places.put(Hierarchy(contents(store), set(), "yx"))
    for plan in ({"shards": "y=2,x=4"}, {"codec": "zstd"}, {"chunks": "y=1", "shards": "none"}, {"shards": "auto"}):
        made = []
        for kind in LOCAL:
            ozx.repack(locations[kind], out := places.output("archive"), sync=False, **plan)
            made.append(places.written(out))
        found = values_of(made[0])
        assert made[0] == made[1]
        assert list(found) == list(sort_values(found))
        assert (pixels_of(found)["0"] == pixels).all()


def test_what_is_nowhere_stored_stays_so(places):  # noqa: F811
    """Missing chunks, those of the fill value, and shards of such chunks."""
    store = MemoryStore()
    root = zarr.create_group(store, zarr_format=3, attributes=image_metadata("yx", 1))
    pixels = np.full((20, 20), 7, "u2")
    pixels[:5, 5:] = pixels[12:, 12:] = 9
    words = {"shape": pixels.shape, "chunks": (5, 5), "dtype": "u2", "dimension_names": ["y", "x"], "fill_value": 7}
    root.create_array("0", **words, compressors=None, config={"write_empty_chunks": True})[...] = pixels
    values = {
        key: data for key, data in contents(store).items() if not key.startswith(("0/c/2/0", "0/c/2/1", "0/c/3/"))
    }
    pixels[15:] = 7
    locations = places.put(Hierarchy(values, set(), "yx"))

    def keys(**plan):
        ozx.repack(locations["archive"], out := places.output("archive"), sync=False, **plan)
        found = values_of(out)
        assert (pixels_of(found)["0"] == pixels).all()
        return [key.removeprefix("0/c/") for key in found if "/c/" in key]

    assert keys(shards="y=10,x=10") == ["0/0", "0/1", "1/1"]
    assert keys(shards="y=5,x=20") == ["0/0", "1/0", "2/0"]
    assert keys(chunks="y=10,x=10") == ["0/0", "0/1", "1/1"]
    assert keys(codec="zstd") == ["0/1", "0/2", "0/3", "2/2", "2/3"]


@settings(max_examples=12, phases=PHASES)
@given(hierarchy=hierarchies(others=False), form=forms, shards=st.sampled_from(["keep", "auto", "none"]))
def test_checksums_come_behind_chunks_and_go_again(places, hierarchy, form, shards):  # noqa: F811
    """Whatever the chunks are laid out in; what has a checksum already gets no other."""
    source = places.put(hierarchy, form)["archive"]
    outs = [places.output("archive") for _ in range(4)]
    ozx.repack(source, outs[0], shards="none", chunk_checksums="keep", sync=False)
    ozx.repack(source, outs[1], shards=shards, chunk_checksums="add", verify=True, sync=False)
    ozx.repack(outs[1], outs[2], shards="none", chunk_checksums="keep", sync=False)
    ozx.repack(outs[1], outs[3], shards="none", chunk_checksums="drop", sync=False)
    before, _, after, dropped = (values_of(out) for out in outs)
    assert {one.id for one in ozx.validate(outs[1], level="data").findings if one.severity == "error"} == set()
    has_one = layout_of(json.loads(before["0/zarr.json"]))[2][-1] == "crc32c"
    for key, data in before.items():
        if not key.endswith("zarr.json"):
            bare = data[:-4] if has_one else data
            assert after[key] == bare + google_crc32c.value(bare).to_bytes(4, "little")
            assert dropped[key] == bare
    assert has_one or dropped == before


# Parts ------------------------------------------------------------------------------------------------


@settings(max_examples=24, phases=PHASES)
@given(hierarchy=hierarchies(others=False), form=forms, small=sizes, data=st.data())
def test_any_region_has_the_pixels_that_the_result_names(places, hierarchy, form, small, data):  # noqa: F811
    locations, axes = places.put(hierarchy, form), hierarchy.axes
    shape = json.loads(hierarchy.values["0/zarr.json"])["shape"]
    region = {}
    for axis, length in zip(axes, shape, strict=True):
        if data.draw(st.booleans()):
            start = data.draw(st.integers(0, length - 1))
            region[axis] = (start, data.draw(st.integers(start + 1, length)))
    text = ",".join(f"{axis}={start}:{stop}" for axis, (start, stop) in region.items())
    is_whole = data.draw(st.booleans())
    wanted = {"region": data.draw(st.sampled_from([text or None, region or None])), "whole_chunks": is_whole}
    made = []
    with changed_sizes(small):
        for kind in data.draw(st.permutations(WHOLE))[:2]:
            out = places.output("archive")
            result = ozx.extract(locations[kind], out, sync=False, **wanted)
            made.append(places.written(out))
    assert made[0] == made[1]
    (image,) = result.images
    taken = {axis: image.region.get(axis, (0, length)) for axis, length in zip(axes, shape, strict=True)}
    for axis, (start, stop) in region.items():
        assert taken[axis][0] <= start < stop <= taken[axis][1]
        assert is_whole or taken[axis] == (start, stop)
    before, after = pixels_of(hierarchy.values), pixels_of(values_of(made[0]))
    inside = before["0"][tuple(slice(*taken[axis]) for axis in axes)]
    assert bits(after["0"]) == bits(inside)
    chunks = layout_of(json.loads(hierarchy.values["0/zarr.json"]))[0]
    for axis, length, chunk in zip(axes, shape, chunks, strict=True) if is_whole else ():
        assert taken[axis][0] % chunk == 0
        assert taken[axis][1] % chunk == 0 or taken[axis][1] == length
    for level in image.levels:
        assert set(image.levels) <= set(before)
        assert after[level].dtype == before[level].dtype


@settings(max_examples=12, phases=PHASES)
@given(form=forms, data=st.data())
@pytest.mark.parametrize("shards", ["none", "c=2,y=32,x=32", "c=5,y=64,x=32"])
def test_any_channels_keep_their_order(places, form, shards, data):  # noqa: F811
    pixels = np.random.default_rng(0).integers(1, 4000, (5, 70, 50), dtype="uint16")
    path = places.new(".ozx")
    ozx.write_image(
        path, pixels, axes="cyx", channel_names=list("ABCDE"), chunks="c=1,y=32,x=32", shards=shards, sync=False
    )
    numbers = data.draw(st.sets(st.integers(0, 4), min_size=1))
    channels = ",".join("ABCDE"[number] for number in data.draw(st.permutations(sorted(numbers))))
    region = data.draw(st.sampled_from([None, "y=0:32", "x=32:50", "y=40:41,x=0:3"]))
    wanted = {"channels": channels, "region": region, "whole_chunks": data.draw(st.booleans())}
    result = ozx.extract(path, out := places.output("archive"), sync=False, **wanted)
    taken = {"y": (0, 70), "x": (0, 50)} | {axis: result.images[0].region.get(axis) or () for axis in ()}
    taken |= {axis: span for axis, span in result.images[0].region.items() if axis in "yx"}
    after = pixels_of(values_of(out))["0"]
    assert bits(after) == bits(pixels[sorted(numbers)][:, slice(*taken["y"]), slice(*taken["x"])])
    names = [channel["label"] for channel in ozx.open(out).attrs["ome"]["omero"]["channels"]]
    assert names == ["ABCDE"[number] for number in sorted(numbers)]


# Sinks ------------------------------------------------------------------------------------------------


@settings(max_examples=16, phases=PHASES)
@given(hierarchy=hierarchies(), form=forms, small=sizes, posix=st.booleans(), data=st.data())
def test_the_same_comes_back_through_every_sink(places, hierarchy, form, small, posix, data):  # noqa: F811
    locations, values = places.put(hierarchy, form), hierarchy.values
    expected = own_archive(values)
    with changed_sizes(small, posix=posix):
        for kind in ("archive", *(["archive on S3"] if data.draw(st.integers(0, 2)) == 0 else [])):
            out = places.output(kind)
            result = ozx.pack(locations["directory"], out, sync=False, verify=data.draw(st.booleans()))
            assert values_of(places.written(out)) == values
            assert places.written(out) == expected
            assert (result.entries, result.bytes) == (len(values), len(expected))
            other = places.output(kind)
            assert ozx.repack(locations["archive"], other, sync=False).bytes == len(expected)
            assert places.written(other) == expected
            for source in (out, locations["archive"]):
                folder = places.output(kind, ".ome.zarr")
                result = ozx.unpack(source, folder, sync=False)
                assert places.written(folder) == values
                assert (result.entries, result.bytes) == (len(values), sum(map(len, values.values())))
        folder = places.output("directory", ".ome.zarr")
        ozx.repack(locations["archive"], folder, sync=False)
        assert places.written(folder) == values
        below = places.output("archive", ".ome.zarr")
        ozx.unpack(f"{locations['archive']}|zip:0/", below, sync=False)
        assert places.written(below) == {key[2:]: data for key, data in values.items() if key.startswith("0/")}


@settings(max_examples=12, phases=PHASES)
@given(hierarchy=st.one_of(hierarchies(), old_hierarchies()), data=st.data())
def test_pack_takes_the_plans_of_repack(places, hierarchy, data):  # noqa: F811
    locations, plan = places.put(hierarchy), data.draw(plans(hierarchy.axes))
    made = []
    for verb, source in ((ozx.pack, "directory"), (ozx.repack, "archive")):
        out = places.output("archive")
        try:
            verb(locations[source], out, sync=False, **plan)
        except (UsageError, UnsupportedError):
            assert places.written(out) is None
        made.append(places.written(out))
    assert made[0] == made[1] or hierarchy.zarr_format == 2


def test_a_thumbnail_comes_after_the_metadata(places):  # noqa: F811
    locations, made = places.put(IMAGE), set()
    for kind in WHOLE:
        ozx.repack(locations[kind], out := places.output("archive"), thumbnail=True, sync=False)
        made.add(places.written(out))
        found = values_of(out)
        key = "Thumbnails/thumbnail.png"
        assert list(found).index(key) == sum(name.endswith("zarr.json") for name in found)
        assert found.pop(key).startswith(b"\x89PNG")
        assert b'"group"' in found.pop("Thumbnails/zarr.json")
        assert {name: data for name, data in found.items() if name != "zarr.json"} == {
            name: data for name, data in IMAGE.values.items() if name != "zarr.json"
        }
    assert len(made) == 1


# Faults -----------------------------------------------------------------------------------------------

PLANS = {
    "pack": ("directory", ".ozx", lambda source, out: ozx.pack(source, out, force=True)),
    "repack": ("archive", ".ozx", lambda source, out: ozx.repack(source, out, force=True)),
    "shards": ("archive", ".ozx", lambda source, out: ozx.repack(source, out, shards="auto", force=True)),
    "codec": ("directory", ".ozx", lambda source, out: ozx.repack(source, out, codec="gzip:1", force=True)),
    "extract": ("archive", ".ozx", lambda source, out: ozx.extract(source, out, region="y=0:64", force=True)),
    "unpack": ("archive", ".ome.zarr", lambda source, out: ozx.unpack(source, out, force=True)),
    "to a directory": ("archive", ".ome.zarr", lambda source, out: ozx.repack(source, out, force=True)),
}


@pytest.mark.posix("no calls are replaced there")
@pytest.mark.parametrize("plan", PLANS)
@settings(max_examples=6, phases=PHASES)
@given(number=st.integers(0, 40), has_old=st.booleans())
def test_a_fault_at_any_write_leaves_the_old_or_nothing(places, plan, number, has_old):  # noqa: F811
    kind, ending, call = PLANS[plan]
    source, out = places.put(IMAGE)[kind], places.output("archive", ending)
    if has_old:
        (ozx.unpack if ending == ".ome.zarr" else ozx.repack)(places.put(IMAGE)["archive"], out, sync=False)
        source = places.put(IMAGE)[kind] if not Path(source).exists() else source
    old = places.written(out)
    faults = Faults(None)
    with injected(faults):
        counted, original = [], faults.check

        def check(name, code):
            if name in WRITING:
                counted.append(name)
                if len(counted) == number + 1:
                    raise InjectedError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            original(name, code)

        faults.check = check
        try:
            call(source, out)
        except ResourceError as error:
            failed = error
        else:
            failed = None
    assert (failed is None) == (len(counted) <= number)
    if failed is not None:
        assert "no space" in str(failed).lower()
        assert places.written(out) == old
        assert not [name for name in os.listdir(places.folder) if name.startswith(".")]


@pytest.mark.parametrize("plan", ["pack", "shards", "unpack"])
@settings(max_examples=6, phases=PHASES)
@given(number=st.integers(0, 9), has_old=st.booleans())
def test_a_refusal_by_a_server_leaves_the_old_or_nothing(places, plan, number, has_old):  # noqa: F811
    kind, ending, call = PLANS[plan]
    source, out = places.put(SMALL_IMAGE)[kind], places.output("archive on S3", ending)
    if has_old:
        call(source, out)
    old, server, calls = places.written(out), places.s3, []

    def refuse(name):
        calls.append(name)
        server.refuses = {name} if len(calls) > number and name in ("PUT", "PutPart", "Create", "Complete") else set()

    server.before = refuse
    try:
        call(source, out)
    except ResourceError as error:
        assert ending == ".ome.zarr" or places.written(out) == old
        assert "s3://b/" in str(error)  # noqa: PT017
        left = places.written(out)
        assert left == old or not left or "zarr.json" not in left
        assert server.uploads == {}
    else:
        assert places.written(out) is not None
    finally:
        server.before, server.refuses = (lambda name: None), set()


@pytest.mark.parametrize("sink", [".ozx", ".ome.zarr", "s3 .ozx", "s3 .ome.zarr"])
@pytest.mark.parametrize("kind", ["archive", "archive by HTTP", "archive on S3"])
def test_each_sink_gives_the_errors_of_the_source(places, sink, kind):  # noqa: F811
    locations = places.put(IMAGE)
    data = bytearray(Path(locations["archive"]).read_bytes())
    value = IMAGE.values["1/c/0/1/0"]
    data[data.index(value) + 5] ^= 4
    Path(locations["archive"]).write_bytes(data)
    places.files.data = bytes(data)
    places.s3.put(locations["archive on S3"].removeprefix("s3://b/"), bytes(data))
    verb = ozx.unpack if sink.endswith(".zarr") else ozx.repack
    out = places.output("archive on S3" if sink.startswith("s3") else "archive", sink.removeprefix("s3 "))
    with pytest.raises(FormatError) as caught:
        verb(locations[kind], out, sync=False)
    assert caught.value.rule == "zip/crc"
    assert str(caught.value).startswith(locations[kind])
    assert "'1/c/0/1/0': its CRC-32 is" in str(caught.value) or "1/c/0/1/0" in str(caught.value)
    assert places.written(out) is None


# Workers ----------------------------------------------------------------------------------------------


def test_few_blocks_wait_at_a_time(places, monkeypatch):  # noqa: F811
    monkeypatch.setattr("ozx.ome.relayout.rechunking.USUAL_BLOCK", 64)
    executor = Patient()
    path = places.new(".ozx")
    ozx.write_image(path, np.arange(4096, dtype="u2").reshape(64, 64), chunks="y=8,x=8", shards="none", sync=False)
    ozx.repack(path, a := places.output("archive"), codec="zstd", jobs=3, executor=executor, sync=False)
    assert 1 < executor.most <= 6
    assert all(future.done() for future in executor.futures)
    before = {thread.name for thread in threading.enumerate()}
    ozx.repack(path, b := places.output("archive"), codec="zstd", jobs=3, sync=False)
    assert places.written(a) == places.written(b)
    assert not {thread.name for thread in threading.enumerate()} - before - {"zarr_io"}


def test_an_error_cancels_what_has_not_begun(places, monkeypatch):  # noqa: F811
    monkeypatch.setattr("ozx.ome.relayout.rechunking.USUAL_BLOCK", 64)
    folder = places.new(".ome.zarr")
    path = places.new(".ozx")
    ozx.write_image(path, np.arange(4096, dtype="u2").reshape(64, 64), chunks="y=8,x=8", shards="none", codec="zstd")
    ozx.unpack(path, folder)
    (folder / "0/c/0/2").write_bytes(b"?")
    executor = Patient()
    with pytest.raises(FormatError, match="0/c/0/2: expected chunk"):
        ozx.repack(folder, out := places.output("archive"), codec="gzip", jobs=3, executor=executor)
    assert any(future.cancelled() for future in executor.futures)
    assert places.written(out) is None


@settings(max_examples=10, phases=PHASES)
@given(hierarchy=hierarchies(others=False, dtypes=["|u1", "<u2", ">i4", "<f4"]), data=st.data())
def test_an_image_in_memory_goes_the_same_way(places, hierarchy, data):  # noqa: F811
    pixels = pixels_of(hierarchy.values)["0"]
    if 0 in pixels.shape:
        return
    made = []
    words = {"axes": hierarchy.axes, "name": "drawn", "sync": False}
    words["codec"] = data.draw(st.sampled_from(["none", "zstd:1", "gzip:1"]))
    words["shards"] = data.draw(st.sampled_from(["auto", "none", "y=8,x=8"]))
    if words["shards"] != "auto":
        words["chunks"] = dict.fromkeys("yx", 4)
    for kind, executor in (("archive", None), ("archive", Patient()), ("archive on S3", None)):
        out = places.output(kind)
        ozx.write_image(out, pixels, executor=executor, **words)
        made.append(places.written(out))
    assert made[0] == made[1] == made[2]
    assert bits(pixels_of(values_of(made[0]))["0"]) == bits(pixels)
    with pytest.raises(OzxError):
        ozx.write_image(out, pixels, **words)

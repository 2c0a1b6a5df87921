"""Sources: any range of any value, from any kind of place and any form of archive, gives the same bytes."""

import hashlib
import itertools
import os
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from counting_progress import ActingProgress
from drawn import Form, Hierarchy, bits, forms, hierarchies, old_hierarchies, pixels_of
from hierarchies import FIXTURES, tree
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kinds import SOURCES, WHOLE, changed_sizes, places, sizes_of  # noqa: F401 (fixture)
from packed import sort_values, values_of
from stores import part_of
from upgrades import quiet
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync

import ozx
from ozx.errors import FormatError, OzxError, UsageError

# Rules about another order, and about bytes of no entry.
ALLOWED = {"rfc9/json-first", "rfc9/root-first", "zip/prepended-bytes", "zip/unreferenced-bytes"}
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

# An example is small from the start: to make it smaller still would take minutes.
PHASES = (Phase.explicit, Phase.generate)
numbers = st.one_of(st.integers(0, 40), st.sampled_from([100, 4096, 70_000, 1 << 40]))
ranges = st.one_of(
    st.none(),
    st.tuples(numbers, numbers).map(lambda pair: RangeByteRequest(*pair)),
    st.builds(OffsetByteRequest, numbers),
    st.builds(SuffixByteRequest, numbers),
)
ABSENT = ["none", "0", "0/", "0/c/99/99", "0/c/é", "tables/x/zarr.json", "labels", "zarr.jsom", "zarr.json/0"]
SMALL = {
    "ozx.flow.sources.archive_keys._NAMES_AT_A_TIME": [1, 3],
    "ozx.archive.coalesced_reads._BATCH": [1, 500],
    "ozx.archive.columns._SEARCHED_AT_A_TIME": [1, 200],
    "ozx.flow.sources.archive._MOST_INFLATED": [1],
    "ozx.flow.sources.browsing.MANY_ENTRIES": [0],
    "ozx.flow.sources.archive.MOST_IN_RUN": [2],
    "ozx.flow.read_ahead._ROOM": [1, 3000],
    "ozx.flow.read_ahead._LONGEST": [1, 1000],
    "ozx.places.remote.folder._PAGE": [1, 3],
    "ozx.archive.inflate._OUTPUT_BLOCK": [1000],
    "ozx.places.byte_source.READ": [700],
    "ozx.flow.entry.READ": [700],
}
sizes = sizes_of(SMALL)


async def asked(store, keys, wanted) -> dict[str, bytes | None]:
    prototype = default_buffer_prototype()
    found = {key: await store.get(key, prototype, each) for key, each in zip(keys, wanted, strict=True)}
    assert {key: await store.exists(key) for key in keys} == {key: data is not None for key, data in found.items()}
    together = await store.get_partial_values(prototype, zip(keys, wanted, strict=True))
    assert [None if one is None else one.to_bytes() for one in together] == [
        None if one is None else one.to_bytes() for one in found.values()
    ]
    return {key: None if data is None else data.to_bytes() for key, data in found.items()}


async def listed(store) -> tuple[set[str], set[str], dict[str, int]]:
    keys = [key async for key in store.list()]
    assert len(set(keys)) == len(keys)
    return (
        set(keys),
        {name async for name in store.list_dir("0")},
        {key: await store.getsize(key) async for key in store.list_prefix("0/")},
    )


def names_below(values: dict[str, bytes], folder: str) -> set[str]:
    return {key.removeprefix(folder).partition("/")[0] for key in values if key.startswith(folder)}


@settings(max_examples=14, phases=PHASES)
@given(hierarchy=hierarchies(), form=forms, small=sizes, data=st.data())
def test_any_range_of_any_value_is_the_same_from_any_kind(places, hierarchy, form, small, data):  # noqa: F811
    values = hierarchy.values
    keys = [*values, *ABSENT]
    wanted = [data.draw(ranges) for _ in keys]
    for kind, location in places.put(hierarchy, form, SOURCES[1:]).items():
        has_all = kind != "directory by HTTP"
        if "archive" not in kind:  # their servers refuse a range that is empty, or of an empty object
            pairs = zip(keys, wanted, strict=True)
            wanted = [None if not part_of(values.get(key, bytes(9)), each) else each for key, each in pairs]
        with changed_sizes(small), ozx.open(location) as group:
            store = group.store
            found = sync(asked(store, keys, wanted))
            for key, each in zip(keys, wanted, strict=True):
                expected = part_of(values[key], each) if key in values else None
                assert found[key] == expected, (kind, key, each)
            if has_all:
                below = {key: len(value) for key, value in values.items() if key.startswith("0/")}
                assert sync(listed(store)) == (set(values), names_below(values, "0/"), below), kind
            for wrong in (RangeByteRequest(-1, 3), OffsetByteRequest(-1), SuffixByteRequest(-1)):
                with pytest.raises(UsageError, match="without negative numbers"):
                    sync(store.get("zarr.json", default_buffer_prototype(), wrong))
            with pytest.raises(TypeError, match="Unexpected byte_range"):
                sync(store.get("zarr.json", default_buffer_prototype(), (0, 3)))


@st.composite
def windows(draw, shape: tuple[int, ...]) -> tuple[int | slice, ...]:
    """Draw a basic selection: numbers, and slices with steps, from the end, empty or beyond it."""
    parts = []
    for length in shape:
        bounds = st.none() | st.integers(-length - 1, length + 1)
        cut = st.builds(slice, bounds, bounds, st.none() | st.integers(1, 4))
        parts.append(draw(st.integers(-length, length - 1) | cut if length else cut))
    return tuple(parts)


@settings(max_examples=14, phases=PHASES)
@given(hierarchy=hierarchies(), form=forms, small=sizes, data=st.data())
def test_any_window_of_any_array_is_the_same_from_any_kind(places, hierarchy, form, small, data):  # noqa: F811
    expected = pixels_of(hierarchy.values)
    wanted = {path: data.draw(st.lists(windows(pixels.shape), max_size=4)) for path, pixels in expected.items()}
    for kind, location in places.put(hierarchy, form, SOURCES[1:]).items():
        with changed_sizes(small), quiet(), ozx.open(location) as group:
            for path, pixels in expected.items():
                array, parts = group[path], [..., *wanted[path]]
                many = array.read_many(parts) if isinstance(array, ozx.Array) else map(array.__getitem__, parts)
                for part, found in zip(parts, many, strict=True):
                    assert bits(np.asarray(found)) == bits(np.asarray(pixels[part])), (kind, path, part)
                    assert bits(np.asarray(array[part])) == bits(np.asarray(pixels[part])), (kind, path, part)


@settings(max_examples=18, phases=PHASES)
@given(hierarchy=st.one_of(hierarchies(), hierarchies(), old_hierarchies()), form=forms, small=sizes)
def test_what_is_made_is_the_same_from_any_kind(places, hierarchy, form, small):  # noqa: F811
    with changed_sizes(small):
        check_made(places, hierarchy, form)


def check_made(places, hierarchy, form):  # noqa: F811
    values, made, told = hierarchy.values, {}, []
    locations = places.put(hierarchy, form)
    archive = Path(locations["archive"]).read_bytes()
    for kind, location in locations.items():
        if kind == "directory by HTTP" and hierarchy.zarr_format == 2:
            continue
        out = places.output("archive")
        result = ozx.repack(location, out, sync=False)
        made[kind] = places.written(out)
        found = values_of(out)
        assert (result.entries, result.bytes) == (len(found), len(made[kind]))
        if hierarchy.zarr_format == 2:
            continue
        expected = {key: data for key, data in values.items() if kind in WHOLE or hierarchy.is_named(key)}
        assert list(found) == list(sort_values(expected)), kind
        assert found == expected, kind
        if "archive" in kind:
            assert {key: b"".join(ozx.read_value(location, key)) for key in values} == values, kind
            folder = places.output("archive", ".ome.zarr")
            assert tree(ozx.unpack(location, folder, sync=False).path) == values
            findings = [one for one in ozx.validate(location, level="data").findings if one.severity == "error"]
            assert {one.id for one in findings} <= ALLOWED, kind
            told.append([(one.id, one.where.entry, one.message) for one in findings])
        if kind != "directory by HTTP":
            listing = ozx.list_entries(location).to_dict()["entries"]
            assert {one["key"]: one["size"] for one in listing} == {key: len(data) for key, data in values.items()}
            for one in listing:
                assert one["method"] != "stored" or archive[one["offset"] :].startswith(values[one["key"]]), kind
                assert one["crc32"] in (None, zlib.crc32(values[one["key"]]))
    assert len({data for kind, data in made.items() if kind in WHOLE}) == 1
    assert not told or told == told[:1] * 3


# Sources that are not what they were ------------------------------------------------------------------


def meddling(number: int, act) -> ActingProgress:
    """Return progress that does something once, at a certain number of reports; that of a beginning is one, too."""
    reports = itertools.count(1)
    progress = ActingProgress(lambda: act() if next(reports) == number else None)
    progress.start = lambda *_: progress.advance(0)
    return progress


IMAGE = Hierarchy(tree(FIXTURES / "image.ome.zarr"), set(), "cyx")
SERIES = Hierarchy(tree(FIXTURES / "sharded.ome.zarr"), set(), "tczyx")
OTHER = Hierarchy(
    {key: data if key.endswith(".json") else bytes(len(data)) for key, data in IMAGE.values.items()}, set(), "cyx"
)


def replace_all(places, locations, form):  # noqa: F811
    """Let each place have other pixels of the same lengths, in files of the same lengths."""
    archive = form.build(OTHER.values)
    Path(locations["archive"]).write_bytes(archive)
    os.utime(locations["archive"], ns=(1, 1))
    places.files.data, places.files.etag = archive, '"other"'
    places.s3.put(locations["archive on S3"].removeprefix("s3://b/"), archive)
    for key, data in OTHER.values.items():
        path = Path(locations["directory"], key)
        path.write_bytes(data)
        os.utime(path, ns=(1, 1))
        places.s3.put(f"{locations['prefix on S3'].removeprefix('s3://b/')}/{key}", data)


CHANGED_VERBS = {
    "repack": ozx.repack,
    "unpack": ozx.unpack,
    "extract": ozx.extract,
    "shards": partial(ozx.repack, shards="auto"),
    "checksums": partial(ozx.repack, shards="none", chunk_checksums="add"),
}


def values_after(places, verb, hierarchy) -> dict[str, bytes]:  # noqa: F811
    """Return what a verb makes of a source that stays as it is."""
    if verb not in ("shards", "checksums"):
        return hierarchy.values
    CHANGED_VERBS[verb](places.put(hierarchy)["archive"], out := places.output("archive"), sync=False)
    return values_of(out)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("moment", [1, 4])
@pytest.mark.parametrize("verb", CHANGED_VERBS)
def test_a_source_that_changes_is_an_error_and_never_wrong_bytes(places, verb, kind, moment):  # noqa: F811
    if verb == "unpack" and kind == "directory":
        return  # it is a directory already
    form = Form()
    places.files.etag = '"first"'
    locations = places.put(IMAGE, form)
    out = places.output("archive", ".ome.zarr" if verb == "unpack" else ".ozx")
    progress = meddling(moment, lambda: replace_all(places, locations, form))
    try:
        CHANGED_VERBS[verb](locations[kind], out, progress=progress, sync=False)
    except FormatError as error:
        # An archive that is written anew in its place no longer agrees with the directory that was read.
        assert error.rule in ("zip/changed", *(["zip/crc", "zip/local-header"] if kind == "archive" else []))  # noqa: PT017
        assert places.written(out) is None
    else:  # all was read before the change, or nothing was
        made = places.written(out)
        found = made if isinstance(made, dict) else values_of(made)
        assert found in [values_after(places, verb, each) for each in (IMAGE, OTHER)]


@pytest.mark.parametrize("kind", [kind for kind in SOURCES if "archive" in kind])
def test_an_open_archive_that_changes_is_an_error(places, kind):  # noqa: F811
    places.files.etag = '"first"'
    locations = places.put(IMAGE)
    with ozx.open(locations[kind]) as group:
        before = group["0"][:]
        replace_all(places, locations, Form())
        try:
            found = group["0"][:]
        except FormatError as error:
            assert error.rule == "zip/changed"  # noqa: PT017
        else:
            assert (found == before).all()
            assert kind != "archive"  # a short remote archive is read at once


@pytest.mark.parametrize("change", ["cut", "replaced", "touched"])
def test_a_local_archive_that_changes_is_named(places, change):  # noqa: F811
    path = Path(places.put(IMAGE)["archive"])

    def act():
        data = path.read_bytes()
        if change == "replaced":
            path.unlink()
        path.write_bytes(data[: len(data) // 2] if change == "cut" else data)
        os.utime(path, ns=(1, 1))

    out = places.output("archive")
    with pytest.raises(FormatError, match=r"changed|shrank") as caught:
        ozx.repack(path, out, progress=meddling(1, act), sync=False)
    assert (caught.value.rule, str(path) in str(caught.value)) == ("zip/changed", True)
    assert places.written(out) is None


@settings(max_examples=8, phases=PHASES)
@given(form=forms, place=st.floats(0, 1), bit=st.integers(0, 7), number=st.integers(0, 70))
def test_a_damaged_value_is_an_error_that_names_it(places, form, place, bit, number):  # noqa: F811
    """From each kind of archive, the same error; other values are still read."""
    values = SERIES.values
    key, value = list(values.items())[number % len(values)]
    archive = bytearray(form.build(values))
    start = archive.find(value)
    if not value or start < 0:
        return
    archive[start + min(len(value) - 1, int(place * len(value)))] ^= 1 << bit
    path = places.new(".ozx")
    path.write_bytes(archive)
    places.files.data = bytes(archive)
    for location in (path, places.files.url):
        with pytest.raises(FormatError, match="CRC-32") as caught:
            b"".join(ozx.read_value(location, key))
        assert (caught.value.rule, key in str(caught.value)) == ("zip/crc", True)
        for verb, ending in ((ozx.repack, ".ozx"), (ozx.unpack, ".ome.zarr")):
            out = places.output("archive", ending)
            with pytest.raises(OzxError) as caught:
                verb(location, out, sync=False)
            assert key in str(caught.value)
            assert places.written(out) is None
        assert [one.id for one in ozx.validate(location, level="data").findings if one.id == "zip/crc"] == ["zip/crc"]
        other = next(name for name in values if values[name] != value)
        assert b"".join(ozx.read_value(location, other)) == values[other]


# Names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOURCES[:5])
def test_litter_is_left_out(places, kind):  # noqa: F811
    litter = {"0/c/.DS_Store": b"x", "__MACOSX/._zarr.json": b"x"}
    location = places.put(Hierarchy({**SERIES.values, **litter}, set(), "tczyx"))[kind]
    ozx.repack(location, out := places.output("archive"), sync=False)
    assert values_of(out) == SERIES.values


@pytest.mark.parametrize("kind", ["prefix on S3", "archive", "archive on S3"])
@pytest.mark.parametrize("key", ["../zarr.json", "a//b", "a/./b", "a\\b", "x/" * 300 + "y"])
def test_names_that_no_entry_can_have_are_refused(places, kind, key):  # noqa: F811
    locations = places.put(IMAGE)
    if kind == "prefix on S3":
        places.s3.put(f"{locations[kind].removeprefix('s3://b/')}/{key}", b"x")
    else:
        archive = Form().build({**IMAGE.values, key: b"x"})
        Path(locations["archive"]).write_bytes(archive)
        places.s3.put(locations["archive on S3"].removeprefix("s3://b/"), archive)
    verb = ozx.pack if kind == "prefix on S3" else ozx.unpack
    out = places.output("archive", ".ome.zarr" if verb is ozx.unpack else ".ozx")
    with pytest.raises(OzxError) as caught:
        verb(locations[kind], out, sync=False)
    assert "//" in key or "/./" in key or "../" in key or caught.value.rule == "zip/name"
    assert places.written(out) is None


@pytest.mark.parametrize("kind", SOURCES[:5])
@pytest.mark.parametrize("key", ["0/inner", "0/a.ozx"])
@pytest.mark.parametrize("deflated", [False, True])
def test_an_archive_inside_is_refused(places, kind, key, deflated):  # noqa: F811
    inner = Form().build({"zarr.json": b"{}"})
    hierarchy = Hierarchy({**SERIES.values, "0/z": inner[:60], key: inner}, set(), "tczyx")
    form = Form([(number, "deflate") for number in range(10)] if deflated else [], "reversed")
    with pytest.raises(FormatError) as caught:
        ozx.repack(places.put(hierarchy, form)[kind], out := places.output("archive"), sync=False)
    assert (caught.value.rule, key in str(caught.value)) == ("rfc9/not-embedded", True)
    assert places.written(out) is None


# Requests ---------------------------------------------------------------------------------------------

# The most requests by verb: for a short archive, a prefix on S3 and a directory by HTTP, each with 71 values.
REQUESTS = {
    "info": (lambda url, out: ozx.inspect(url), 1, 10, 10),
    "ls": (lambda url, out: list(ozx.list_entries(url)), 1, 1, 10),
    "one pixel": (lambda url, out: ozx.open(url)["0"][0, 0, 0], 1, 5, 5),
    "validate headers": (lambda url, out: ozx.validate(url), 1, 10, 10),
    "validate data": (lambda url, out: ozx.validate(url, level="data"), 1, 72, 135),
    "unpack": (lambda url, out: ozx.unpack(url, f"{out}.zarr", sync=False), 1, 72, 144),
    "repack": (lambda url, out: ozx.repack(url, out, sync=False), 1, 72, 135),
    "other shards": (lambda url, out: ozx.repack(url, out, shards="auto", verify=True, sync=False), 1, 134, 197),
    "other codec": (lambda url, out: ozx.repack(url, out, codec="zstd", sync=False), 1, 72, 135),
    "a level": (lambda url, out: ozx.extract(url, out, levels="0", sync=False), 1, 57, 120),
    "a region": (lambda url, out: ozx.extract(url, out, region="y=0:64,x=0:64", sync=False), 1, 13, 76),
}


@pytest.mark.parametrize("verb", REQUESTS)
def test_requests_of_a_verb(places, verb):  # noqa: F811
    call, *most = REQUESTS[verb]
    for kind, number in zip(SOURCES[2:], [most[0], *most], strict=True):
        location = places.put(IMAGE)[kind]
        for key, each in places.s3.objects.items():  # else, reads repeat until one knows that tags are not MD5
            each.tag = f'"{hashlib.md5(places.s3.get(key)).hexdigest()}"'
        call(location, places.output("archive"))
        found = len(places.files.requests) + len(places.folders.requests) + len(places.s3.calls)
        assert found <= number, (kind, found)

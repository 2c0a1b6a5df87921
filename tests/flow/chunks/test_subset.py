"""Boxes cut out of arrays, judged by zarr-python and tensorstore, and by the encoded chunks."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import tensorstore
from hierarchies import tree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packed import pack_tree, zip_values
from resharding import archive_source, chunk_digests, directory_source, same, stored_chunks, values, write_array

from ozx.flow.chunks.stored_chunks import SourceChunks
from ozx.flow.chunks.subset import iter_cropped
from ozx.hierarchy.subset.levels import Box, Picked, crop_document
from ozx.hierarchy.zarr.layout import parse_layout

FORMS = [
    {"shards": None},
    {"shards": None, "chunk_key_encoding": {"name": "v2", "separator": "."}},
    {"shards": None, "chunk_key_encoding": {"name": "default", "separator": "."}},
    {"shards": 2},
    {"shards": 3},
]


def pixels(*shape):
    return np.random.default_rng(9).integers(1, 60_000, shape).astype("<u2")


def tensorstore_values(root):
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{root}/0/"}}
    return np.asarray(tensorstore.open(spec, read=True).result().read().result())


def cut_to_directory(source, target, cut):
    document, layout, stored = stored_chunks(source)
    new = crop_document(document, layout, cut)
    target = Path(target)
    (target / "0").mkdir(parents=True)
    (target / "0/zarr.json").write_text(json.dumps(new))
    keys = []
    for entry in iter_cropped(stored, cut, parse_layout(new, "0")):
        file = target / entry.key
        file.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(entry.iter_blocks())
        assert len(data) == entry.size
        file.write_bytes(data)
        keys.append(entry.key)
    assert len(set(keys)) == len(keys)
    return new


def boxes(shape, chunks):
    """All boxes of whole chunks, per dimension a start and a length."""
    ranges = []
    for length, chunk in zip(shape, chunks, strict=True):
        borders = [*range(0, length, chunk), length]
        ranges.append([(a, b - a) for a, b in itertools.combinations(borders, 2)])
    for box in itertools.product(*ranges):
        yield Box(*map(tuple, zip(*box, strict=True)))


def inside(data, cut):
    return data[tuple(slice(at, at + n) for at, n in zip(cut.start, cut.shape, strict=True))]


def options(form, chunks):
    shards = None if form["shards"] is None else tuple(form["shards"] * chunk for chunk in chunks)
    return {**form, "shards": shards}


@pytest.mark.ci
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_box_of_a_small_array(tmp_path, form):
    data = pixels(9, 14)
    write_array(tmp_path / "a", data, (3, 4), **options(form, (3, 4)))
    source = directory_source(tmp_path / "a")
    for number, cut in enumerate(boxes(data.shape, (3, 4))):
        target = tmp_path / f"b{number}"
        cut_to_directory(source, target, cut)
        assert same(values(target), inside(data, cut))
        if number % 7 == 0:
            assert same(tensorstore_values(target).astype(data.dtype), inside(data, cut))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_box_of_any_array(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cut")
    ndim = data.draw(st.integers(1, 4))
    chunks = tuple(data.draw(st.integers(1, 4)) for _ in range(ndim))
    shape = tuple(data.draw(st.integers(1, 10)) for _ in range(ndim))
    per_shard = tuple(data.draw(st.integers(1, 3)) for _ in range(ndim))
    shards = data.draw(st.sampled_from([None, tuple(a * b for a, b in zip(chunks, per_shard, strict=True))]))
    array = pixels(*shape)
    array[data.draw(st.integers(0, shape[0] - 1))] = 0  # chunks that hold only fill values are not stored
    write_array(folder / "a", array, chunks, shards=shards)
    start, lengths = [], []
    for length, chunk in zip(shape, chunks, strict=True):
        first = data.draw(st.integers(0, (length - 1) // chunk)) * chunk
        start.append(first)
        lengths.append(min(length, first + chunk * data.draw(st.integers(1, 4))) - first)
    cut = Box(tuple(start), tuple(lengths))
    new = cut_to_directory(directory_source(folder / "a"), folder / "b", cut)
    assert new["shape"] == lengths
    assert same(values(folder / "b"), inside(array, cut))
    pack_tree(folder / "a", folder / "a.zip")
    packed = archive_source(folder / "a.zip")
    cut_to_directory(packed, folder / "c", cut)
    assert same(values(folder / "c"), inside(array, cut))


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("dimension", [0, 1])
def test_picked_chunks_with_gaps(tmp_path, form, dimension):
    data = pixels(17, 17)  # chunks of 3; the last one has 2 pixels
    write_array(tmp_path / "a", data, (3, 3), **options(form, (3, 3)))
    source = directory_source(tmp_path / "a")
    for number, chunks in enumerate([(0, 2), (1, 5), (0, 1, 3, 5), (2, 4, 5), (0, 5), (0, 1, 2, 4, 5)]):
        kept = tuple(at for chunk in chunks for at in range(3 * chunk, min(3 * chunk + 3, 17)))
        start, shape = [3, 3], [12, 12]
        start[dimension], shape[dimension] = kept[0], len(kept)
        cut = Box(tuple(start), tuple(shape), Picked(dimension, kept))
        target = tmp_path / f"b{number}"
        cut_to_directory(source, target, cut)
        expected = data[kept, 3:15] if dimension == 0 else data[3:15, kept]
        assert same(values(target), expected)
        assert same(tensorstore_values(target).astype(data.dtype), expected)


def test_shards_between_picked_chunks_are_not_even_opened(tmp_path):
    data = pixels(6, 8)
    write_array(tmp_path / "a", data, (1, 4), shards=(1, 8))
    for channel in (1, 2, 4, 5):
        (tmp_path / f"a/0/c/{channel}/0").write_bytes(b"no shard")
    cut = Box((0, 0), (2, 8), Picked(0, (0, 3)))
    cut_to_directory(directory_source(tmp_path / "a"), tmp_path / "b", cut)
    assert same(values(tmp_path / "b"), data[[0, 3]])


def test_shards_are_as_long_as_what_is_left(tmp_path):
    data = pixels(64, 64)
    write_array(tmp_path / "a", data, (8, 8), shards=(32, 32))
    source = directory_source(tmp_path / "a")
    new = cut_to_directory(source, tmp_path / "b", Box((24, 8), (40, 16)))
    assert new["chunk_grid"]["configuration"]["chunk_shape"] == [32, 16]
    assert new["codecs"][0]["configuration"]["chunk_shape"] == [8, 8]
    assert same(values(tmp_path / "b"), data[24:64, 8:24])
    assert sorted(path.name for path in (tmp_path / "b/0/c").iterdir()) == ["0", "1"]


def test_no_chunk_is_decoded(tmp_path):
    write_array(tmp_path / "a", pixels(64, 64), (8, 8), shards=(32, 32), compressors="auto")
    source = directory_source(tmp_path / "a")
    cut_to_directory(source, tmp_path / "b", Box((24, 8), (40, 16)))
    before, after = chunk_digests(source), chunk_digests(directory_source(tmp_path / "b"))
    assert list(after.values()) == [before[y * 8 + x] for y in range(3, 8) for x in (1, 2)]


def test_shards_outside_of_the_box_are_not_even_opened(tmp_path):
    data = pixels(64, 64)
    write_array(tmp_path / "a", data, (8, 8), shards=(32, 32))
    (tmp_path / "a/0/c/1/1").write_bytes(b"no shard")
    source = directory_source(tmp_path / "a")
    cut_to_directory(source, tmp_path / "b", Box((8, 8), (48, 24)))
    assert same(values(tmp_path / "b"), data[8:56, 8:32])


def test_deflated_shards(tmp_path):
    data = pixels(64, 64)
    write_array(tmp_path / "a", data, (8, 8), shards=(32, 32))
    zip_values(tmp_path / "a.zip", tree(tmp_path / "a"), deflated=True)
    cut_to_directory(archive_source(tmp_path / "a.zip"), tmp_path / "b", Box((24, 24), (16, 16)))
    assert same(values(tmp_path / "b"), data[24:40, 24:40])


def test_an_array_without_chunks(tmp_path):
    write_array(tmp_path / "a", np.zeros((8, 8), "u1"), (4, 4))
    source = directory_source(tmp_path / "a")
    cut_to_directory(source, tmp_path / "b", Box((4, 4), (4, 4)))
    assert same(values(tmp_path / "b"), np.zeros((4, 4), "u1"))
    assert isinstance(stored_chunks(source)[2], SourceChunks)

"""Chunks moved between shards: judged by zarr-python and tensorstore, and by the hashes of the encoded chunks."""

import json
import os
import zipfile

import numpy as np
import pytest
import tensorstore
import zarr
from hierarchies import tree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packed import pack_tree, zip_values
from resharding import (
    archive_source,
    chunk_digests,
    directory_source,
    reshard_to_archive,
    reshard_to_directory,
    resharded,
    same,
    stored_chunks,
    values,
    write_array,
)
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.chunks import reshard
from ozx.flow.chunks.inner_chunks import InnerChunks
from ozx.flow.chunks.stored_chunks import SourceChunks, iter_key_groups
from ozx.hierarchy.zarr.layout import parse_layout, relayout_document

RANDOM = np.random.default_rng(9)


def pixels(*shape, dtype="<u2"):
    return RANDOM.integers(1, 60_000, shape).astype(dtype)


def tensorstore_values(root, path="0"):
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{root}/{path}/"}}
    return np.asarray(tensorstore.open(spec, read=True).result().read().result())


def check(tmp_path, data, shards, *, by_tensorstore=True):
    """Re-lay the array in ``tmp_path/a`` and compare values and encoded chunks."""
    source = directory_source(tmp_path / "a")
    target = reshard_to_directory(source, tmp_path / "b", shards)
    assert same(values(target), data)
    if by_tensorstore:
        assert same(tensorstore_values(target).astype(data.dtype), data)
    assert chunk_digests(directory_source(target)) == chunk_digests(source)
    return target


SHAPES = [
    # shape, chunks, shards
    ((10,), (3,), (6,)),
    ((10,), (3,), (12,)),
    ((9, 10), (3, 4), (6, 4)),
    ((5, 5), (8, 8), (8, 16)),
    ((3, 20, 21), (1, 8, 8), (2, 16, 24)),
    ((2, 3, 9, 10), (1, 1, 4, 4), (1, 2, 12, 8)),
    ((2, 2, 3, 9, 10), (1, 1, 1, 4, 4), (1, 1, 3, 12, 12)),
]


@pytest.mark.parametrize(("shape", "chunks", "shards"), SHAPES, ids=str)
def test_chunks_become_shards_and_chunks_again(tmp_path, shape, chunks, shards):
    data = pixels(*shape)
    write_array(tmp_path / "a", data, chunks)
    target = check(tmp_path, data, shards)
    back = reshard_to_directory(directory_source(target), tmp_path / "c", None)
    stored = {key: value for key, value in tree(tmp_path / "a").items() if "zarr.json" not in key}
    assert {key: value for key, value in tree(back).items() if "zarr.json" not in key} == stored


@pytest.mark.parametrize("name", ["default", "v2"])
@pytest.mark.parametrize("separator", ["/", "."])
def test_key_encodings(tmp_path, name, separator):
    data = pixels(24, 25)
    encoding = {"name": name, "separator": separator}
    write_array(tmp_path / "a", data, (2, 2), chunk_key_encoding=encoding)
    check(tmp_path, data, (2, 4))
    keys = [entry.key for entry in resharded(directory_source(tmp_path / "a"), (2, 2))[1]]
    listed = [key for key in directory_source(tmp_path / "a").iter_keys() if "zarr.json" not in key]
    assert keys == listed


def test_keys_may_become_others(tmp_path):
    """As those of Zarr v2 do."""
    data = pixels(24, 25)
    write_array(tmp_path / "a", data, (2, 2), chunk_key_encoding={"name": "v2", "separator": "."})
    source = directory_source(tmp_path / "a")
    document, layout, stored = stored_chunks(source)
    write_array(tmp_path / "b", data, (2, 2))
    new = parse_layout(document | {"chunk_key_encoding": {"name": "default"}}, "0")
    found = {entry.key: b"".join(entry.iter_blocks()) for entry in reshard.iter_resharded(stored, layout, new, "0")}
    assert found == {key: value for key, value in tree(tmp_path / "b").items() if "zarr.json" not in key}


CODECS = {
    "raw": ({}, True),
    "big-endian": ({"serializer": BytesCodec(endian="big")}, True),
    "transposed": ({"filters": TransposeCodec(order=(1, 0))}, True),
    "blosc": ({"compressors": BloscCodec(cname="zstd", shuffle="bitshuffle")}, True),
    "zstd and crc32c": ({"compressors": [ZstdCodec(level=1), Crc32cCodec()]}, True),
    "gzip": ({"compressors": GzipCodec()}, True),
}


@pytest.mark.parametrize("codecs", CODECS)
def test_codecs_go_along(tmp_path, codecs):
    options, by_tensorstore = CODECS[codecs]
    data = pixels(20, 21)
    write_array(tmp_path / "a", data, (3, 4), **options)
    check(tmp_path, data, (12, 8), by_tensorstore=by_tensorstore)


LITTLE, BIG = BytesCodec(endian="little"), BytesCodec(endian="big")


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("index_codecs", [(LITTLE, Crc32cCodec()), (BIG, Crc32cCodec()), (LITTLE,), (BIG,)], ids=str)
def test_shards_are_regrouped(tmp_path, location, index_codecs):
    data = pixels(20, 21)
    sharding = ShardingCodec(
        chunk_shape=(3, 4), codecs=[LITTLE, ZstdCodec()], index_codecs=index_codecs, index_location=location
    )
    write_array(tmp_path / "a", data, (6, 8), serializer=sharding)
    check(tmp_path, data, (9, 12))


def test_shards_become_chunks(tmp_path):
    data = pixels(20, 21)
    write_array(tmp_path / "a", data, (3, 4), shards=(12, 8))
    target = check(tmp_path, data, None)
    write_array(tmp_path / "c", data, (3, 4))
    assert tree(target / "0" / "c") == tree(tmp_path / "c" / "0" / "c")


@pytest.mark.parametrize("shards", [(6, 8), (30, 40), None], ids=str)
def test_shards_in_shards_are_flattened(tmp_path, shards):
    data = pixels(20, 21)
    inner = ShardingCodec(chunk_shape=(3, 4), codecs=[LITTLE, ZstdCodec()], index_location="start")
    outer = ShardingCodec(chunk_shape=(6, 4), codecs=[inner])
    write_array(tmp_path / "a", data, (12, 8), serializer=outer)
    check(tmp_path, data, shards)


def test_a_chain_with_something_beside_sharding_is_moved_as_a_whole(tmp_path):
    data = pixels(20, 21)
    sharding = ShardingCodec(chunk_shape=(3, 4), codecs=[LITTLE])
    with pytest.warns(UserWarning, match="disables partial reads"):
        write_array(tmp_path / "a", data, (6, 8), serializer=sharding, compressors=[Crc32cCodec()])
        target = reshard_to_directory(directory_source(tmp_path / "a"), tmp_path / "b", (12, 8))
        assert same(values(target), data)
    assert chunk_digests(directory_source(target)) == chunk_digests(directory_source(tmp_path / "a"))


def test_missing_chunks_stay_missing_and_empty_shards_are_not_written(tmp_path):
    data = pixels(20, 20)
    write_array(tmp_path / "a", data, (5, 5), fill_value=7, missing=["c/0/0", "c/2/0", "c/2/1", "c/3/0", "c/3/1"])
    data[:5, :5], data[10:, :10] = 7, 7
    target = check(tmp_path, data, (10, 10))
    assert sorted(tree(target / "0" / "c")) == ["0/0", "0/1", "1/1"]
    check_back = reshard_to_directory(directory_source(target), tmp_path / "c", None)
    assert sorted(tree(check_back / "0" / "c")) == sorted(tree(tmp_path / "a" / "0" / "c"))


def test_an_array_without_chunks_gives_nothing(tmp_path):
    write_array(tmp_path / "a", np.zeros((8, 8), "u1"), (4, 4))
    assert list(resharded(directory_source(tmp_path / "a"), (8, 8))[1]) == []
    write_array(tmp_path / "b", np.zeros((0, 8), "u1"), (4, 4))
    assert list(resharded(directory_source(tmp_path / "b"), (4, 8))[1]) == []


def test_a_0_d_array_is_moved_as_it_is(tmp_path):
    write_array(tmp_path / "a", np.array(5, "u1"), ())
    target = check(tmp_path, np.array(5, "u1"), None)
    assert sorted(tree(target)) == ["0/c", "0/zarr.json"]


def test_payloads_of_nans_survive(tmp_path):
    bits = np.full((6, 6), 0x7FC0_0123, "<u4")
    bits[0, 0] = 0x3F80_0000
    write_array(tmp_path / "a", bits.view("<f4"), (2, 2), fill_value=float("nan"))
    (tmp_path / "a/0/c/0/1").unlink(missing_ok=True)
    path = tmp_path / "a" / "0" / "zarr.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fill_value": "0x7fc00123"}))
    check(tmp_path, bits.view("<f4"), (4, 4))


def test_inner_chunks_beyond_the_edge_are_left_out(tmp_path):
    data = pixels(5, 5)
    write_array(tmp_path / "a", data, (2, 2), shards=(8, 8), config={"write_empty_chunks": True})
    _, layout, stored = stored_chunks(directory_source(tmp_path / "a"))
    assert InnerChunks(stored, layout).blocks((1, 1)).tolist() == list(range(9))
    check(tmp_path, data, (4, 4))


@pytest.mark.parametrize("deflated", [False, True])
def test_archives_are_sources_too(tmp_path, deflated):
    data = pixels(20, 21)
    write_array(tmp_path / "a", data, (3, 4), shards=(6, 8))
    if deflated:
        packed = zip_values(tmp_path / "a.zip", dict(reversed(tree(tmp_path / "a").items())), deflated=True)
    else:
        packed = pack_tree(tmp_path / "a", tmp_path / "a.zip")
    for number, shards in enumerate([(9, 12), None]):
        expected = reshard_to_directory(directory_source(tmp_path / "a"), tmp_path / f"b{number}", shards)
        found = reshard_to_directory(archive_source(packed), tmp_path / f"c{number}", shards)
        assert tree(found) == tree(expected)
    again = archive_source(reshard_to_archive(archive_source(packed), tmp_path / "d.zip", None))
    assert tree(reshard_to_directory(again, tmp_path / "e", (6, 8))) == tree(
        reshard_to_directory(directory_source(tmp_path / "a"), tmp_path / "f", (6, 8))
    )


def test_the_same_chunks_give_the_same_bytes_whatever_they_were_in(tmp_path):
    data = pixels(20, 21)
    write_array(tmp_path / "a", data, (3, 4))
    write_array(tmp_path / "b", data, (3, 4), shards=(12, 8))
    for root in ("a", "b"):
        reshard_to_archive(directory_source(tmp_path / root), tmp_path / f"{root}.zip", (6, 16))
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.testzip() is None
    with zarr.storage.ZipStore(tmp_path / "a.zip", mode="r") as store:
        assert same(np.asarray(zarr.open_array(store, path="0", mode="r")[...]), data)


@pytest.mark.ci
def test_zarrs_reads_it(tmp_path):
    pytest.importorskip("zarrs")
    data = pixels(20, 21)
    write_array(tmp_path / "a", data, (3, 4), compressors=ZstdCodec())
    target = reshard_to_directory(directory_source(tmp_path / "a"), tmp_path / "b", (12, 8))
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        assert same(values(target), data)


@st.composite
def regroupings(draw):
    ndim = draw(st.integers(1, 4))
    lengths = st.lists(st.integers(1, 9), min_size=ndim, max_size=ndim)
    chunks = draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim))
    multiples = [draw(st.lists(st.integers(1, 4), min_size=ndim, max_size=ndim)) for _ in range(2)]
    before, after = ([c * m for c, m in zip(chunks, multiple, strict=True)] for multiple in multiples)
    return draw(lengths), chunks, draw(st.none() | st.just(before)), draw(st.none() | st.just(after))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(regroupings(), st.integers(0, 1 << 32))
def test_any_regrouping_keeps_values_and_chunks(tmp_path_factory, regrouping, seed):
    shape, chunks, before, after = regrouping
    data = np.random.default_rng(seed).integers(0, 2, shape).astype("<u2")
    root = tmp_path_factory.mktemp("any")
    write_array(root / "a", data, tuple(chunks), shards=None if before is None else tuple(before))
    source = directory_source(root / "a")
    target = reshard_to_directory(source, root / "b", None if after is None else tuple(after))
    assert same(values(target), data)
    assert chunk_digests(directory_source(target)) == chunk_digests(source)


def test_a_chunk_without_bytes_stops_everything(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (4, 4))
    (tmp_path / "a/0/c/1/0").write_bytes(b"")
    for shards in ((8, 8), None):
        with pytest.raises(FormatError, match=r"0/c/1/0: expected an encoded chunk; the value is empty"):
            list(resharded(directory_source(tmp_path / "a"), shards)[1])


def damage(path, change):
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


HOSTILE = {
    "empty": (lambda data: data.clear(), "with an index of 68 bytes"),
    "cut": (lambda data: data.__delitem__(slice(40, None)), "with an index of 68 bytes"),
    "flipped": (lambda data: data.__setitem__(-10, data[-10] ^ 1), "CRC-32C"),
    "shifted": (lambda data: data.__delitem__(slice(0, 8)), r"expected inner chunk \(1, 1\) within"),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("shards", [(8, 8), (4, 4), None], ids=str)
def test_hostile_shards_are_refused(tmp_path, case, shards):
    change, message = HOSTILE[case]
    write_array(tmp_path / "a", pixels(8, 8), (2, 2), shards=(4, 4))
    damage(tmp_path / "a/0/c/0/1", change)
    with pytest.raises(FormatError, match=f"0/c/0/1: .*{message}"):
        list(resharded(directory_source(tmp_path / "a"), shards)[1])


def test_an_index_of_an_inner_shard_is_checked_too(tmp_path):
    inner = ShardingCodec(chunk_shape=(2, 2), codecs=[LITTLE])
    outer = ShardingCodec(chunk_shape=(4, 4), codecs=[inner], index_location="start")
    write_array(tmp_path / "a", pixels(8, 8), (8, 8), serializer=outer)
    damage(tmp_path / "a/0/c/0/0", lambda data: data.__setitem__(-10, data[-10] ^ 1))
    with pytest.raises(FormatError, match=r"0/c/0/0, inner shard \(\d, \d\): .*CRC-32C"):
        list(resharded(directory_source(tmp_path / "a"), (4, 4))[1])


def test_a_shard_of_an_archive_is_checked_before_it_is_divided(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (2, 2), shards=(4, 4))
    packed = pack_tree(tmp_path / "a", tmp_path / "a.zip")
    value = (tmp_path / "a/0/c/0/0").read_bytes()
    damage(packed, lambda data: data.__setitem__(data.index(value), data[data.index(value)] ^ 1))
    with pytest.raises(FormatError, match="0/c/0/0") as caught:
        list(resharded(archive_source(packed), (8, 8))[1])
    assert caught.value.rule == "zip/crc"


@pytest.mark.parametrize("shards", [None, (4, 4)], ids=str)
def test_a_file_that_changes_between_the_looks_at_it_is_refused(tmp_path, shards):
    write_array(tmp_path / "a", pixels(8, 8), (2, 2), shards=shards)
    entries = list(resharded(directory_source(tmp_path / "a"), (8, 8))[1])
    victim = tmp_path / "a/0/c/1/1"
    victim.write_bytes(bytes(len(victim.read_bytes())))
    os.utime(victim, ns=(1, 1))
    with pytest.raises(FormatError) as caught:
        b"".join(entries[0].iter_blocks())
    assert caught.value.rule == "zip/changed"


def test_keys_are_sorted_out_array_by_array(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (4, 4))
    write_array(tmp_path / "a", pixels(8), (4,), path="labels/1")
    others = ["readme.txt", "0/notes.txt", "0/c/1/1/x", "OME/METADATA.ome.xml", "labels/x", "zzz"]
    for key in (*others, "0/c/5/0"):
        path = tmp_path / "a" / key
        if path.parent.is_file():
            path.parent.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    source = directory_source(tmp_path / "a")
    layouts = {path: parse_layout(json.loads(source.read(f"{path}/zarr.json")), path) for path in ("0", "labels/1")}
    groups = list(iter_key_groups(source.iter_keys(), layouts))
    assert [(group.path, group.numbers.tolist(), group.outside, group.others) for group in groups] == [
        (None, [], [], ["readme.txt", "zzz"]),
        ("0", [0, 1, 2], ["0/c/5/0"], ["0/notes.txt", "0/c/1/1/x"]),
        (None, [], [], ["OME/METADATA.ome.xml", "labels/x"]),
        ("labels/1", [0, 1], [], []),
    ]


def test_an_array_may_be_the_root(tmp_path):
    write_array(tmp_path, pixels(8, 8), (4, 4), path="a")
    source = directory_source(tmp_path / "a")
    document = json.loads(source.read("zarr.json"))
    layout = parse_layout(document, "")
    (group,) = iter_key_groups(source.iter_keys(), {"": layout})
    assert SourceChunks(source, "", layout, group.numbers).name(3) == "c/1/1"


def test_shards_whose_index_no_memory_should_hold_are_refused(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (4, 4))
    path = tmp_path / "a/0/zarr.json"
    document = relayout_document(json.loads(path.read_text()), (1 << 13, 1 << 16))
    path.write_text(json.dumps(document))
    with pytest.raises(
        UnsupportedError, match="0: expected shards of at most 4,194,304 inner chunks; shards of 8192×65536 pixels"
    ):
        resharded(directory_source(tmp_path / "a"), None)


def test_layouts_of_other_chunks_and_shards_too_large_are_refused(tmp_path):
    write_array(tmp_path / "a", pixels(8, 8), (4, 4))
    source = directory_source(tmp_path / "a")
    document, layout, stored = stored_chunks(source)
    other = parse_layout(relayout_document({**document, "shape": [9, 9]}, (8, 8)), "0")
    with pytest.raises(UsageError, match="expected two layouts with equal array and chunk shapes"):
        reshard.iter_resharded(stored, layout, other, "0")
    with pytest.raises(UnsupportedError, match="inner chunks"):
        resharded(source, (1 << 20, 1 << 20))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UnsupportedError, match="at most 100 bytes"):
        patch.setattr(reshard, "LARGEST_SHARD", 100)
        list(resharded(source, (8, 8))[1])

"""Chunks cut and compressed otherwise: judged by zarr-python and tensorstore, bit by bit."""

import contextlib
import json
import pickle
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from packed import pack_tree, zip_values
from resharding import archive_source, directory_source, stored_chunks, write_array
from transcoding import check, check_same, chunk_keys, prepare, transcode, write_v3
from upgrades import read_tensorstore, read_zarr, write_v2
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.core.dtype import VariableLengthBytes

from ozx.errors import FormatError, ResourceError, UnsupportedError, UsageError
from ozx.flow.chunks import transcode as module
from ozx.flow.chunks.stored_chunks import SourceChunks, iter_key_groups
from ozx.flow.chunks.transcode import iter_transcoded
from ozx.flow.decoding import bounded_arrays, chunk_codecs
from ozx.flow.decoding.chunk_codecs import ChunkCodec
from ozx.hierarchy.entry_order import hierarchy_order
from ozx.hierarchy.relayout import rechunking
from ozx.hierarchy.relayout.shard_choice import parse_codec_choice, transcoded_document
from ozx.hierarchy.zarr_v2.arrays import parse_v2_layout, upgrade_array

RANDOM = np.random.default_rng(11)
ZSTD = parse_codec_choice("zstd:1")


def pixels(*shape, dtype="<u2"):
    return RANDOM.integers(1, 200, shape).astype(dtype)


@pytest.fixture
def small_blocks(monkeypatch):
    """Have small arrays worked on in several blocks."""
    monkeypatch.setattr(rechunking, "USUAL_BLOCK", 64)


CUTS = [
    # shape, chunks, shards, new chunks, new shards
    ((10,), (3,), None, (4,), None),
    ((10,), (3,), (6,), (5,), (5,)),
    ((20, 21), (3, 4), None, (7, 5), (14, 10)),
    ((20, 21), (3, 4), (6, 8), (7, 5), None),
    ((20, 21), (3, 4), (6, 8), (3, 4), (9, 12)),
    ((5, 5), (8, 8), None, (3, 3), (6, 6)),
    ((3, 20, 21), (1, 8, 8), (2, 16, 24), (3, 4, 4), (3, 20, 24)),
    ((2, 3, 9, 10), (1, 1, 4, 4), None, (2, 1, 9, 5), None),
    ((2, 2, 3, 9, 10), (1, 1, 1, 4, 4), None, (1, 1, 3, 4, 4), (1, 2, 3, 12, 12)),
]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("shape", "chunks", "shards", "new_chunks", "new_shards"), CUTS, ids=str)
def test_chunks_are_cut_otherwise(shape, chunks, shards, new_chunks, new_shards):
    values = write_v3(pixels(*shape), chunks, shards=shards)
    transcoded = check(values, chunks=new_chunks, codec=ZSTD, shards=new_shards)
    assert chunk_keys(transcoded) == sorted(chunk_keys(transcoded), key=hierarchy_order)


@st.composite
def arrays(draw):
    dimensions = draw(st.integers(1, 3))
    lengths = st.tuples(*[st.integers(1, 6)] * dimensions)
    shape = draw(st.tuples(*[st.integers(1, 13)] * dimensions))
    chunks, new_chunks = draw(lengths), draw(lengths)
    factor = st.none() | st.tuples(*[st.integers(1, 3)] * dimensions)
    shards, new_shards = (
        None if times is None else tuple(a * b for a, b in zip(cut, times, strict=True))
        for cut, times in ((chunks, draw(factor)), (new_chunks, draw(factor)))
    )
    dtype = draw(st.sampled_from(["|b1", "|i1", "<u2", ">u2", "<f4", ">f8", "<c8", "<i8"]))
    separator = draw(st.sampled_from("/."))
    values = write_v3(
        np.random.default_rng(draw(st.integers(0, 9))).integers(0, 2, shape).astype(dtype),
        chunks,
        shards=shards,
        serializer=BytesCodec(endian="big" if dtype[0] == ">" else "little") if dtype[0] != "|" else "auto",
        config={"write_empty_chunks": draw(st.booleans())},
        fill_value=draw(st.sampled_from([0, 1])),
        chunk_key_encoding={"name": draw(st.sampled_from(["default", "v2"])), "separator": separator},
    )
    for key in draw(st.lists(st.sampled_from(chunk_keys(values) or ["none"]), unique=True, max_size=3)):
        values.pop(key, None)
    return values, {"chunks": new_chunks, "shards": new_shards}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(arrays(), st.sampled_from(["none", "zstd", "gzip:1", "blosc-lz4", None]), st.sampled_from([1, 40, 1 << 20]))
def test_any_array_keeps_its_values(array, codec, usual_block):
    values, options = array
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rechunking, "USUAL_BLOCK", usual_block)
        transcoded = check(values, **options, codec=None if codec is None else parse_codec_choice(codec))
    assert chunk_keys(transcoded) == sorted(chunk_keys(transcoded), key=hierarchy_order)


# Bits -------------------------------------------------------------------------------------------------


def nans(dtype, bits):
    """Return NaNs with these bits, and zeros of both signs."""
    unsigned = np.dtype(dtype).str.replace("f", "u")
    values = np.resize(np.array([*bits, 0, 1 << 8 * np.dtype(dtype).itemsize - 1], unsigned), (9, 10))
    return values.view(dtype)


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize(
    "data",
    [
        nans("<f2", [0x7E01, 0xFE00, 0x7C01]),
        nans("<f4", [0x7FC00001, 0xFFC00000, 0x7F800001]),
        nans("<f8", [0x7FF8000000000001, 0xFFF8 << 48, 0x7FF0000000000001]),
        nans("<f4", [0x7FC00001, 0xFFC00000]).view("<c8"),
        nans("<f8", [0x7FF8000000000001, 0xFFF8 << 48]).view("<c16"),
    ],
    ids=lambda data: str(data.dtype),
)
def test_every_bit_of_a_number_is_kept(data, endian):
    values = write_v3(data, (3, 2), serializer=BytesCodec(endian=endian))
    check_same(read_zarr(values), data)
    check(values, chunks=(2, 4), codec=ZSTD, shards=(6, 4))


def test_a_chunk_of_other_nans_than_the_fill_value_is_kept():
    data = np.full((4, 4), np.nan, "<f4")
    data[2:] = np.array(0x7FC00001, "<u4").view("<f4")
    transcoded = check(write_v3(data, (4, 4), fill_value=np.nan), chunks=(2, 2))
    assert chunk_keys(transcoded) == ["c/1/0", "c/1/1"]


@pytest.mark.parametrize("dtype", ["<f4", "<c8", "<c16"])
def test_minus_zero_is_no_fill_value(dtype):
    data = np.zeros((4, 4), dtype)
    data[2:] = -0.0 if dtype == "<f4" else complex(0.0, -0.0)
    transcoded = check(write_v3(data, (4, 4)), chunks=(2, 4))
    assert chunk_keys(transcoded) == ["c/1/0"]


# Types of items. Numbers and records are drawn from all bits.
NUMBERS = ["|b1", "|i1", "<u2", ">u4", "<i8", "<f2", ">f4", "<f8", "<c8", ">c16", "<M8[us]", "<m8[10s]"]
RECORDS = ["|V3", [("a", "<u2"), ("b", "<f4")]]
TEXTS = ["<U3", ">U2", "|S2", "string", "bytes"]


def items(dtype, count, draw):
    """Return `count` random items."""
    random = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype in ("string", "bytes"):
        texts = ["", "a", "a long one", "ü\0"]
        chosen = [texts[number] for number in random.integers(0, draw(st.integers(1, 4)), count)]
        return np.array(chosen if dtype == "string" else [text.encode() for text in chosen], object)
    if isinstance(dtype, str) and dtype[1] in "US":
        return random.choice(["", "a", "b\0c", "xyz"], count).astype("U3").astype(dtype)
    size = np.dtype(dtype).itemsize
    bits = (
        random.bytes(count * size)
        if draw(st.booleans())
        else draw(st.sampled_from([b"\0", b"\x80", b"\xff"])) * count * size
    )
    return np.frombuffer(bits, dtype)


@st.composite
def arrays_of_any_type(draw):
    shape = tuple(draw(st.lists(st.integers(1, 5), max_size=3)))
    lengths = st.tuples(*[st.integers(1, 4)] * len(shape))
    dtype = draw(st.sampled_from([*NUMBERS, *RECORDS, *TEXTS]))
    data = items(dtype, int(np.prod(shape)), draw).reshape(shape)
    options = {"fill_value": items(dtype, 1, draw)[0]}
    if dtype in ("string", "bytes"):
        options["dtype"] = "string" if dtype == "string" else VariableLengthBytes()
    elif data.dtype.itemsize > 1 and isinstance(dtype, str) and dtype[1] not in "VS":
        options["serializer"] = BytesCodec(endian=draw(st.sampled_from(["little", "big"])))
    orders = [draw(st.permutations(range(len(shape)))) for _ in range(draw(st.integers(0, 2)))]
    options["filters"] = [TransposeCodec(order=tuple(order)) for order in orders]
    compressors = draw(st.sampled_from([[], [ZstdCodec()], [GzipCodec()], [BloscCodec(cname="lz4", typesize=2)]]))
    options["compressors"] = [*compressors, *draw(st.sampled_from([[], [Crc32cCodec()]]))]
    chunks, new_chunks = draw(lengths), draw(lengths)
    # zarr-python 3.1.6 neither writes nor reads shards of records.
    may_shard = bool(shape) and data.dtype.kind != "V"
    shards, new_shards = (
        tuple(2 * length for length in cut) if draw(st.booleans()) and may_shard else None
        for cut in (chunks, new_chunks)
    )
    try:
        values = write_v3(data, chunks, shards=shards, **options)
    except TypeError:  # zarr-python 3.4 does not write every array of bytes that are transposed
        reject()
    may_scramble = dtype in ("string", "bytes") and any(order != sorted(order) for order in orders)
    return values, None if dtype in ("string", "bytes") else data, may_scramble, (new_chunks, new_shards)


# In the fast tier though it takes some seconds: no other test draws types, codecs and layouts together.
@pytest.mark.ci
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(arrays_of_any_type(), st.sampled_from(["none", "zstd", "gzip:1", "blosc-lz4", None]))
def test_items_of_any_type_come_back_or_are_refused(array, codec):
    values, data, may_scramble, (chunks, shards) = array
    before = read_zarr(values)
    if data is not None and data.shape:  # zarr-python gives out a single boolean as Python's
        check_same(before, data)
    options = {"chunks": chunks, "shards": shards, "codec": None if codec is None else parse_codec_choice(codec)}
    # zarr-python 3.1.6 scrambles text of variable length that it transposes.
    with contextlib.suppress(*([UnsupportedError] if may_scramble else [])):
        check_same(read_zarr(transcode(values, **options)), before)


@pytest.mark.parametrize("dtype", ["string", VariableLengthBytes()], ids=str)
@pytest.mark.parametrize("options", [{"codec": ZSTD}, {"chunks": (2, 3)}], ids=["codec", "chunks"])
def test_text_that_would_be_scrambled_is_refused(dtype, options):
    texts = np.array([f"{number}" for number in range(20)], object).reshape(4, 5)
    if dtype != "string":
        texts = np.vectorize(str.encode, otypes="O")(texts)
    fill = "" if dtype == "string" else b""
    values = write_v3(texts, (3, 4), dtype=dtype, fill_value=fill, filters=TransposeCodec(order=(1, 0)))
    try:
        found = transcode(values, **options)
    except UnsupportedError as error:
        assert str(error).startswith("the root: expected codecs that keep every value; the chain transpose, ")  # noqa: PT017
    else:  # by a zarr-python that does not scramble it any more
        assert zarr.__version__ != "3.1.6"
        check_same(read_zarr(found), read_zarr(values))
        assert read_zarr(found).tolist() == texts.tolist()


def test_an_array_without_dimensions_that_begins_like_its_fill_value():
    values = write_v3(np.array("abc", object), (), dtype="string", fill_value="abcdef")
    assert read_zarr(check(values, codec=ZSTD, by_tensorstore=False)) == "abc"


def test_values_that_cannot_be_encoded_are_refused(monkeypatch):
    def fail(*_, **__):
        raise ValueError("no such thing")

    monkeypatch.setattr(ChunkCodec, "encode", fail)
    with pytest.raises(UnsupportedError, match=r"bytes, zstd changes values \(ValueError: no such thing\)"):
        transcode(write_v3(pixels(8, 8), (4, 4)), codec=ZSTD)


def test_missing_chunks_read_as_every_bit_of_the_fill_value():
    values = write_v3(pixels(8, 8, dtype="<f4"), (4, 4), missing=["c/0/1"])
    document = json.loads(values["zarr.json"])
    values["zarr.json"] = json.dumps(document | {"fill_value": "0x7fc00abc"}).encode()
    transcoded = check(values, chunks=(8, 8), codec=ZSTD)
    assert set(read_zarr(transcoded)[:4, 4:].view("<u4").ravel().tolist()) == {0x7FC00ABC}


def test_chunks_of_fill_values_are_not_written():
    data = np.zeros((16, 16), "<u2")
    data[5, 6] = 1
    transcoded = check(write_v3(data, (8, 8)), chunks=(4, 4), shards=(8, 8))
    assert chunk_keys(transcoded) == ["c/0/0"]
    assert len(transcoded["c/0/0"]) == 4 * 4 * 2 + 4 * 16 + 4
    assert chunk_keys(transcode(write_v3(data * 0, (8, 8)), chunks=(4, 4))) == []


def test_nothing_is_read_where_nothing_is_stored():
    values = write_v3(pixels(16, 16), (4, 4), missing=[f"c/{y}/{x}" for y in range(2) for x in range(4)])
    assert chunk_keys(check(values, chunks=(8, 8))) == ["c/1/0", "c/1/1"]
    assert chunk_keys(transcode({"zarr.json": values["zarr.json"]}, chunks=(8, 8))) == []


def test_strings_and_times():
    text = np.array(["", "a", "ü", "a long one", "x\0y"] * 4).reshape(4, 5)
    check(write_v3(text, (3, 2), dtype="string", fill_value=""), chunks=(2, 3), codec=ZSTD, by_tensorstore=False)
    check(write_v3(text, (3, 2), fill_value=""), chunks=(2, 3), codec=ZSTD, by_tensorstore=False)
    times = np.array([["2026-01-01T00:00:00", "NaT"], ["1970-01-01", "2001-02-03"]], "M8[ns]")
    fill = np.datetime64("NaT", "ns")
    check(write_v3(times, (1, 2), fill_value=fill), chunks=(2, 1), codec=ZSTD, by_tensorstore=False)


@pytest.mark.parametrize("codec", ["none", "zstd", "gzip", "blosc-zstd"])
def test_arrays_without_dimensions_and_without_pixels(codec):
    check(write_v3(np.array(7, "<u2"), ()), codec=parse_codec_choice(codec))
    values = write_v3(np.zeros((0, 4), "<u2"), (1, 4))
    assert chunk_keys(check(values, chunks=(1, 2), codec=parse_codec_choice(codec))) == []


# Codecs -----------------------------------------------------------------------------------------------

LITTLE = BytesCodec(endian="little")

CHAINS = {
    "transposed": {"filters": TransposeCodec(order=(1, 0))},
    "blosc": {"compressors": BloscCodec(cname="zstd", shuffle="bitshuffle")},
    "zstd and crc32c": {"compressors": [ZstdCodec(level=1), Crc32cCodec()]},
    "gzip": {"compressors": GzipCodec()},
    "nested": {"serializer": ShardingCodec(chunk_shape=(3, 4), codecs=[ShardingCodec(chunk_shape=(1, 4))])},
    "index at the start": {"serializer": ShardingCodec(chunk_shape=(2, 2), index_location="start")},
}


@pytest.mark.parametrize("codec", [None, ZSTD], ids=["kept", "zstd"])
@pytest.mark.parametrize("chain", CHAINS)
def test_codecs_that_are_read_and_kept(chain, codec):
    values = write_v3(pixels(20, 21), (6, 8), **CHAINS[chain])
    check(values, chunks=(5, 7), codec=codec, shards=(10, 14))


def test_codecs_beside_sharding_are_flattened():
    sharding = ShardingCodec(chunk_shape=(3, 4), codecs=[LITTLE])
    with pytest.warns(UserWarning, match="disables partial reads"):
        values = write_v3(pixels(20, 21), (6, 8), serializer=sharding, compressors=[Crc32cCodec()])
        check(values, chunks=(5, 7), codec=ZSTD)


@pytest.mark.parametrize("codec", ["numcodecs.delta", "numcodecs.quantize", "numcodecs.fixedscaleoffset"])
def test_pixels_are_kept_as_lossy_codecs_decoded_them(codec):
    configuration = {
        "numcodecs.delta": {"dtype": "<f4"},
        "numcodecs.quantize": {"digits": 1, "dtype": "<f4"},
        "numcodecs.fixedscaleoffset": {"offset": 0.1, "scale": 7, "dtype": "<f4", "astype": "<i2"},
    }[codec]
    values = write_v3(
        RANDOM.random((12, 12)).astype("<f4"), (4, 4), filters={"name": codec, "configuration": configuration}
    )
    transcoded = check(values, chunks=(6, 6), codec=ZSTD)
    assert b"numcodecs" not in transcoded["zarr.json"]
    if codec != "numcodecs.delta":
        check(values, chunks=(6, 6), by_tensorstore=False)


def test_codecs_that_do_not_give_pixels_back():
    # Sums of floats depend on where they begin.
    filters = {"name": "numcodecs.delta", "configuration": {"dtype": "<f4"}}
    values = write_v3(RANDOM.random((64, 64)).astype("<f4"), (8, 8), filters=filters)
    with pytest.raises(UnsupportedError, match=r"numcodecs\.delta, bytes changes values") as failed:
        transcode(values, chunks=(16, 16))
    assert failed.value.hint == "Choose another codec to replace this chain."


def test_codecs_that_zarr_does_not_have():
    values = write_v3(pixels(8, 8), (4, 4))
    document = json.loads(values["zarr.json"])
    unknown = {
        **values,
        "zarr.json": json.dumps({**document, "codecs": [*document["codecs"], {"name": "ex.foo"}]}).encode(),
    }
    for options in ({"chunks": (8, 8)}, {"codec": ZSTD}):
        with pytest.raises(UnsupportedError, match=r"'ex\.foo'"):
            transcode(unknown, **options)
    optional = {"name": "ex.foo", "must_understand": False}
    ignorable = {**values, "zarr.json": json.dumps({**document, "codecs": [*document["codecs"], optional]}).encode()}
    with pytest.raises(UnsupportedError, match=r"that zarr-python supports; found 'ex\.foo'"):
        transcode(ignorable, chunks=(8, 8))
    check_same(read_tensorstore(transcode(ignorable, codec=ZSTD)), read_zarr(values))


def test_data_types_and_documents_that_zarr_does_not_have():
    values = write_v3(pixels(8, 8), (4, 4))
    document = json.loads(values["zarr.json"])
    with pytest.raises(UnsupportedError, match="data type 'r16'"):
        transcode({**values, "zarr.json": json.dumps({**document, "data_type": "r16"}).encode()}, codec=ZSTD)
    with pytest.raises(UnsupportedError, match="expected an array that zarr-python can open"):
        transcode({**values, "zarr.json": json.dumps({**document, "fill_value": "none"}).encode()}, codec=ZSTD)


def test_legal_documents_that_zarr_refuses():
    values = write_v3(pixels(8, 8), (4, 4), compressors=Crc32cCodec())
    document = json.loads(values["zarr.json"])
    document |= {
        "data_type": {"name": "uint16"},
        "chunk_key_encoding": "default",
        "cache": {"must_understand": False},
        "codecs": [document["codecs"][0], "crc32c"],
    }
    short = {**values, "zarr.json": json.dumps(document).encode()}
    transcoded = transcode(short, chunks=(8, 8), codec=ZSTD)
    check_same(
        read_tensorstore({**transcoded, "zarr.json": transcode(values, chunks=(8, 8), codec=ZSTD)["zarr.json"]}),
        read_zarr(values),
    )


def test_documents_of_different_arrays():
    stored, old, new = prepare(write_v3(pixels(8, 8), (4, 4)), codec=ZSTD)
    with pytest.raises(UsageError, match="the same array"):
        iter_transcoded(stored, old, {**new, "shape": [8, 9]}, "")


# Zarr v2 ----------------------------------------------------------------------------------------------

V2 = {
    "bz2": {"compressors": numcodecs.BZ2()},
    "lzma": {"compressors": numcodecs.LZMA()},
    "lz4": {"compressors": numcodecs.LZ4()},
    "zlib": {"compressors": numcodecs.Zlib()},
    "blosc": {"compressors": numcodecs.Blosc()},
    "delta": {"filters": [numcodecs.Delta("<i4")]},
    "shuffle": {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib()},
    "two filters": {"filters": [numcodecs.Delta("<i4"), numcodecs.Shuffle(4)], "compressors": numcodecs.BZ2()},
}  # fmt: skip


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("codecs", V2)
def test_zarr_v2(codecs, order):
    values = write_v2(pixels(20, 21, dtype="<i4"), chunks=(6, 8), order=order, fill_value=0, **V2[codecs])
    check(values)
    check(values, chunks=(5, 7), codec=ZSTD, shards=(10, 14))


@pytest.mark.parametrize("separator", ["/", "."])
@pytest.mark.parametrize("dtype", [">u2", ">f8", "<M8[ns]", "<U3", "|b1", "<c16"])
def test_types_of_zarr_v2(dtype, separator):
    data = np.array(["a", "bcd", ""]).repeat(14)[:42] if dtype == "<U3" else pixels(42)
    options = {"chunk_key_encoding": {"name": "v2", "separator": separator}, "fill_value": None}
    values = write_v2(data.astype(dtype).reshape(6, 7), chunks=(4, 4), compressors=numcodecs.BZ2(), **options)
    check(values, by_tensorstore=dtype not in ("<M8[ns]", "<U3"))


def test_floats_of_zarr_v2_are_what_their_filter_decodes():
    filters = [numcodecs.FixedScaleOffset(offset=0.1, scale=7, dtype="<f4", astype="|i1")]
    values = write_v2(RANDOM.random((12, 12)).astype("<f4"), chunks=(4, 4), filters=filters)
    check(values, chunks=(6, 6))


@pytest.mark.parametrize(
    ("dtype", "fill"), [("<M8[ns]", "1970-01-01"), ("<f4", 0), ("<U3", ""), ("<c8", 0), ("|b1", False)]
)
def test_missing_chunks_of_zarr_v2_read_as_the_new_fill_value(dtype, fill):
    data = (np.full((8, 4), "abc") if dtype == "<U3" else pixels(8, 4)).astype(dtype)
    values = write_v2(data, chunks=(4, 4), missing=["0.0"], fill_value=None, compressors=numcodecs.BZ2())
    read = read_zarr(transcode(values, chunks=(8, 4)))
    assert (read[:4] == np.array(fill, dtype)).all()
    assert (read[4:] == data[4:]).all()


def test_arrays_of_zarr_v2_without_dimensions_and_without_pixels():
    check(write_v2(np.array(5, "<i4"), chunks=(), compressors=numcodecs.BZ2()))
    values = write_v2(np.zeros((0, 4), "<i4"), chunks=(1, 4), compressors=numcodecs.BZ2())
    document = json.loads(values[".zarray"]) | {"chunks": [0, 4]}
    transcoded = transcode({**values, ".zarray": json.dumps(document).encode()})
    assert (chunk_keys(transcoded), read_zarr(transcoded).shape) == ([], (0, 4))


def test_codecs_of_zarr_v2_that_are_not_installed():
    values = write_v2(pixels(8, 8), chunks=(4, 4))
    document = json.loads(values[".zarray"]) | {"filters": [{"id": "imagecodecs_jpeg"}]}
    with pytest.raises(UnsupportedError, match="the codec imagecodecs_jpeg, which is not installed"):
        transcode({**values, ".zarray": json.dumps(document).encode()})


def test_a_malformed_zarray():
    stored, old, new = prepare(write_v2(pixels(8, 8), chunks=(4, 4)))
    with pytest.raises(FormatError, match=r"expected a \.zarray; shape is missing"):
        iter_transcoded(stored, old | {"shape": None}, new, "0")


# Damage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compressor", "damage"),
    [
        (ZstdCodec(), lambda data: data[:-3]),
        (GzipCodec(), lambda data: data[:20] + b"????" + data[24:]),
        (BloscCodec(), lambda data: b"\xff" * len(data)),
        (Crc32cCodec(), lambda data: b"\x00" * len(data)),
        (None, lambda data: data[:-1]),
    ],
    ids=["zstd", "gzip", "blosc", "crc32c", "none"],
)
def test_chunks_that_do_not_decode_are_named(compressor, damage):
    values = write_v3(pixels(16, 16), (4, 4), compressors=compressor)
    values["c/2/1"] = damage(values["c/2/1"])
    with pytest.raises(FormatError, match=r"^c/2/1: expected chunk \(2, 1\) .*decoding failed \(") as failed:
        transcode(values, chunks=(16, 16))
    assert failed.value.__cause__ is None


def test_chunks_in_shards_that_do_not_decode_are_named():
    values = write_v3(pixels(16, 16), (4, 4), shards=(8, 8), compressors=ZstdCodec())
    shard = values["c/1/0"]
    values["c/1/0"] = bytes(4) + shard[4:]
    with pytest.raises(FormatError, match=r"^c/1/0: expected chunk \(2, 0\)"):
        transcode(values, chunks=(16, 16))


def test_chunks_of_zarr_v2_that_do_not_decode_are_named():
    values = write_v2(pixels(16, 16), chunks=(4, 4), compressors=numcodecs.BZ2())
    values["3.0"] = b"?"
    with pytest.raises(FormatError, match=r"^3\.0: expected chunk \(3, 0\)"):
        transcode(values)


def test_chunks_without_bytes():
    values = write_v3(pixels(16, 16), (4, 4))
    values["c/2/1"] = b""
    with pytest.raises(FormatError, match="c/2/1: expected an encoded chunk; the value is empty"):
        transcode(values, chunks=(16, 16))


def test_memory_that_is_missing_is_no_damage(monkeypatch):
    values = write_v3(pixels(16, 16), (4, 4), compressors=ZstdCodec())

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(chunk_codecs, "decompress_into", fail)
    monkeypatch.setattr(bounded_arrays, "decompress", fail)
    with pytest.raises(ResourceError, match="not enough memory for a chunk that decodes to 32 bytes"):
        transcode(values, chunks=(16, 16))


# The same input, the same bytes -----------------------------------------------------------------------


@pytest.mark.parametrize("shards", [None, (16, 16)], ids=str)
@pytest.mark.parametrize(
    "compressors", [GzipCodec(), [GzipCodec(), Crc32cCodec()], {"name": "numcodecs.gzip"}], ids=str
)
def test_the_time_is_nowhere(monkeypatch, compressors, shards):
    if isinstance(compressors, dict):
        compressors = {**compressors, "configuration": {"level": 1}}
    values = write_v3(pixels(16, 16), (4, 4), compressors=compressors)
    results = []
    for now in (1_000_000_000.0, 1_700_000_000.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        results.append(check(values, chunks=(8, 8), shards=shards, by_tensorstore=not isinstance(compressors, dict)))
    assert results[0] == results[1]
    if shards is None:
        # RFC 1952: no time, and 255 for an unknown operating system.
        assert {(data[4:8], data[9]) for key, data in results[0].items() if key != "zarr.json"} == {(bytes(4), 255)}


def test_time_that_cannot_be_taken_out():
    values = write_v3(pixels(16, 16), (4, 4), compressors=[GzipCodec(), ZstdCodec()])
    with pytest.raises(UnsupportedError, match="gzip as the last codec; found bytes, gzip, zstd"):
        transcode(values, chunks=(8, 8))
    check(values, chunks=(8, 8), codec=ZSTD)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("codec", ["blosc-lz4", "blosc-zstd", "zstd", "gzip"])
def test_the_bytes_depend_on_nothing_else(codec):
    data = pixels(40, 40)
    options = {"chunks": (10, 10), "shards": (20, 20), "codec": parse_codec_choice(codec)}
    results = [
        transcode(write_v3(data, chunks, shards=shards, compressors=compressors), jobs=jobs, **options)
        for chunks, shards, compressors, jobs in [
            ((10, 10), None, None, 1),
            ((7, 40), None, ZstdCodec(), 4),
            ((5, 4), (20, 8), BloscCodec(), 2),
        ]
    ]
    assert results[0] == results[1] == results[2]


# Sources ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["directory", "archive"])
def test_arrays_in_sources(tmp_path, kind):
    data = pixels(20, 21)
    write_array(tmp_path / "a", data, (3, 4), shards=(6, 8), compressors=GzipCodec())
    source = (
        directory_source(tmp_path / "a")
        if kind == "directory"
        else archive_source(pack_tree(tmp_path / "a", tmp_path / "a.ozx"))
    )
    document, _, stored = stored_chunks(source)
    new = transcoded_document(document, chunks=(5, 7), codec=ZSTD, shards=(10, 14))
    entries = {entry.key: b"".join(entry.iter_blocks()) for entry in iter_transcoded(stored, document, new, "0")}
    assert list(entries) == sorted(entries, key=hierarchy_order)
    check_same(read_tensorstore({"0/zarr.json": json.dumps(new).encode(), **entries}, "0"), data)


def test_arrays_of_zarr_v2_in_sources(tmp_path):
    data = pixels(20, 21)
    values = write_v2(data, chunks=(6, 8), compressors=numcodecs.LZ4())
    source = archive_source(zip_values(tmp_path / "a.zip", {f"0/{key}": value for key, value in values.items()}))
    old = json.loads(source.read("0/.zarray"))
    layout = parse_v2_layout(old, "0")
    (group,) = (group for group in iter_key_groups(source.iter_keys(), {"0": layout}) if group.path == "0")
    assert group.others == ["0/.zarray", "0/.zattrs"]
    new = transcoded_document(upgrade_array(old).document, shards=(12, 24))
    stored = SourceChunks(source, "0", layout, group.numbers)
    entries = {entry.key: b"".join(entry.iter_blocks()) for entry in iter_transcoded(stored, old, new, "0")}
    assert list(entries) == ["0/c/0/0", "0/c/1/0"]
    check_same(read_tensorstore({"0/zarr.json": json.dumps(new).encode(), **entries}, "0"), data)


def test_a_shard_that_waits_in_a_file(monkeypatch):
    values = write_v3(pixels(40, 40), (10, 10))
    options = {"chunks": (8, 8), "shards": (40, 40)}
    expected = transcode(values, **options)
    spool = module.Spool
    monkeypatch.setattr(module, "Spool", lambda: spool(in_memory=1000))
    assert transcode(values, **options) == expected


def high_water_mark():
    """Return the most memory that this process has taken so far, in bytes."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def measure_memory(root):
    """Transcode an array of 64 MiB in shards of 8 MiB, and return by how much memory grew; for a process of its own."""
    data = np.random.default_rng(3).integers(0, 4096, (8192, 1024), dtype="<u2")
    array = write_array(root, data[:256], (256, 256))
    list(transcoded_entries(root))  # what is imported once is no growth
    array.resize((32768, 1024))
    for start in range(0, 32768, 8192):
        array[start : start + 8192] = data
    del data, array
    Path("/proc/self/clear_refs").write_text("5")
    before = high_water_mark()
    size = sum(len(block) for entry in transcoded_entries(root) for block in entry.iter_blocks())
    return size, high_water_mark() - before


def transcoded_entries(root):
    document, _, stored = stored_chunks(directory_source(root))
    new = transcoded_document(document, chunks=(512, 512), codec=parse_codec_choice("zstd:1"), shards=(4096, 1024))
    return iter_transcoded(stored, document, new, "0", jobs=2)


@pytest.mark.ci
@pytest.mark.posix("needs /proc", on="linux")
def test_memory_is_bounded(tmp_path):
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        size, growth = process.submit(measure_memory, tmp_path).result()
    assert size > 48 << 20
    assert growth < 100 << 20


# Work in parallel -------------------------------------------------------------------------------------


class Patient(Executor):
    """Does the work when it is waited for, and counts what is under way."""

    def __init__(self):
        self.futures = []
        self.most = 0

    def submit(self, function, *args):
        future = _Future(function, pickle.dumps(args))
        self.futures.append(future)
        self.most = max(self.most, sum(not future.done() for future in self.futures))
        return future


class _Future(Future):
    def __init__(self, function, args):
        super().__init__()
        self.function, self.args = function, args

    def result(self, timeout=None):
        if not self.done():
            try:
                self.set_result(pickle.loads(pickle.dumps(self.function(*pickle.loads(self.args)))))
            except Exception as error:  # noqa: BLE001
                self.set_exception(pickle.loads(pickle.dumps(error)))
        return super().result(timeout)


@pytest.mark.usefixtures("small_blocks")
def test_few_blocks_are_under_way_at_a_time():
    values = write_v3(pixels(40, 40), (4, 4))
    executor = Patient()
    transcoded = transcode(values, chunks=(8, 8), jobs=3, executor=executor)
    assert transcoded == transcode(values, chunks=(8, 8))
    assert (executor.most, len(executor.futures)) == (6, 25)


@pytest.mark.usefixtures("small_blocks")
def test_what_is_not_begun_is_cancelled():
    stored, old, new = prepare(write_v3(pixels(40, 40), (4, 4)), chunks=(8, 8))
    executor = Patient()
    entries = iter_transcoded(stored, old, new, "", jobs=3, executor=executor)
    next(entries)
    entries.close()
    assert [future.cancelled() for future in executor.futures] == [False] * 2 + [True] * 5


@pytest.mark.usefixtures("small_blocks")
def test_an_error_cancels_what_is_not_begun():
    values = write_v3(pixels(40, 40), (4, 4), compressors=ZstdCodec())
    values["c/0/2"] = b"?"
    executor = Patient()
    with pytest.raises(FormatError, match="c/0/2"):
        transcode(values, chunks=(8, 8), jobs=3, executor=executor)
    assert [future.cancelled() for future in executor.futures[2:]] == [True] * (len(executor.futures) - 2)


@pytest.mark.usefixtures("small_blocks")
def test_threads_end_with_the_iterator():
    before = threading.active_count()
    stored, old, new = prepare(write_v3(pixels(40, 40), (4, 4)), chunks=(8, 8))
    transcode(write_v3(pixels(4, 4), (4, 4)), chunks=(2, 2))  # zarr's own threads stay
    zarrs = {thread.name for thread in threading.enumerate()}
    entries = iter_transcoded(stored, old, new, "", jobs=2)
    next(entries)
    assert any(thread.name.startswith("ozx-transcode") for thread in threading.enumerate())
    entries.close()
    assert not any(thread.name.startswith("ozx-transcode") for thread in threading.enumerate()), (before, zarrs)


@pytest.mark.ci
def test_processes_do_as_well_as_threads():
    values = write_v3(pixels(64, 64), (8, 8), compressors=GzipCodec())
    options = {"chunks": (16, 16), "shards": (32, 32)}
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        assert transcode(values, executor=executor, **options) == transcode(values, **options)

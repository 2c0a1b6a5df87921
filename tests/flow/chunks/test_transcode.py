"""Chunks cut and compressed otherwise: judged by zarr-python and tensorstore, bit by bit."""

import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import zarr
from cases.archive_builder import group, write_tree
from handlers import handlers  # noqa: F401 (a fixture)
from packed import values_of
from stores import contents
from upgrades import group_v2, multiscale_of, quiet, read_tensorstore, read_zarr, write_v2
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.core.dtype import VariableLengthBytes
from zarr.storage import MemoryStore

import ozx
from ozx.codecs import bounded_arrays, chunk_codecs
from ozx.codecs.chunk_codecs import ChunkCodec
from ozx.errors import FormatError, ResourceError, UnsupportedError

RANDOM = np.random.default_rng(11)
ZSTD = "zstd:1"


def pixels(*shape, dtype="<u2"):
    return RANDOM.integers(1, 200, shape).astype(dtype)


def write_v3(data, chunks, **options) -> dict[str, bytes]:
    data, store = np.asarray(data), MemoryStore()
    options = {"compressors": None, "fill_value": 0, "config": {"write_empty_chunks": True}} | options
    options = {"dtype": data.dtype, "dimension_names": [*"yx"[: data.ndim]]} | options
    with quiet():
        zarr.create_array(store, shape=data.shape, chunks=chunks, zarr_format=3, **options)[...] = data
    return contents(store)


class Moves:
    """A handler of what chunks do not depend on."""

    def relayout(self, configuration, old, new):
        return configuration


@pytest.fixture(autouse=True)
def _codecs_that_only_zarr_knows(handlers):  # noqa: F811
    for name in ("delta", "quantize", "fixedscaleoffset", "gzip"):
        handlers("codecs", f"numcodecs.{name}")(Moves)
    handlers("data_type", "variable_length_bytes")(Moves)


def lengths(given):
    return dict(zip("yx", given, strict=True)) if isinstance(given, tuple) else given


def transcode(values, *, shards="none", **plan) -> dict[str, bytes]:
    """Repack a hierarchy with an array, given by keys and values; return the array's keys and values."""
    old = group_v2(multiscales=[multiscale_of("yx", ["0"])])
    root = old if ".zarray" in values else {"zarr.json": group()}
    with tempfile.TemporaryDirectory() as folder:
        source = write_tree(f"{folder}/a", root | {f"0/{key}": value for key, value in values.items()})
        words = {"chunk_checksums": "keep", "shards": shards} | plan
        words = {name: lengths(given) for name, given in words.items()}
        found = values_of(ozx.repack(source, f"{folder}/b.ozx", sync=False, **words).path)
    return {key.removeprefix("0/"): value for key, value in found.items() if key.startswith("0/")}


def check(values, *, by_tensorstore=True, **options) -> dict[str, bytes]:
    """Transcode an array, compare every bit that zarr-python and tensorstore read, and return the values."""
    before = read_zarr(values)
    transcoded = transcode(values, **options)
    check_same(read_zarr(transcoded), before)
    if by_tensorstore:
        check_same(np.asarray(read_tensorstore(transcoded)), before)
    return transcoded


def check_same(seen, expected):
    """Compare shapes, types and bits."""
    assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype)
    assert seen.tolist() == expected.tolist() if expected.dtype.kind in "OT" else seen.tobytes() == expected.tobytes()


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
        assert error.message.startswith("0: expected codecs that keep every value; the chain transpose, ")  # noqa: PT017
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

    monkeypatch.setattr(ChunkCodec, "encode_unless_filled", fail)
    with pytest.raises(UnsupportedError, match=r"bytes, zstd changes values \(ValueError: no such thing\)"):
        transcode(write_v3(pixels(8, 8), (4, 4)), codec=ZSTD)


LITTLE = BytesCodec(endian="little")


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


@pytest.mark.parametrize(
    ("dtype", "fill"), [("<M8[ns]", "1970-01-01"), ("<f4", 0), ("<U3", ""), ("<c8", 0), ("|b1", False)]
)
def test_missing_chunks_of_zarr_v2_read_as_the_new_fill_value(dtype, fill):
    data = (np.full((8, 4), "abc") if dtype == "<U3" else pixels(8, 4)).astype(dtype)
    values = write_v2(data, chunks=(4, 4), missing=["0.0"], fill_value=None, compressors=numcodecs.BZ2())
    read = read_zarr(transcode(values, chunks=(8, 4)))
    assert (read[:4] == np.array(fill, dtype)).all()
    assert (read[4:] == data[4:]).all()


def test_codecs_of_zarr_v2_that_are_not_installed():
    values = write_v2(pixels(8, 8), chunks=(4, 4))
    document = json.loads(values[".zarray"]) | {"filters": [{"id": "imagecodecs_jpeg"}]}
    with pytest.raises(UnsupportedError, match="the codec imagecodecs_jpeg, which is not installed"):
        transcode({**values, ".zarray": json.dumps(document).encode()})


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
    with pytest.raises(FormatError, match=r"0/c/2/1: expected chunk \(2, 1\) .*decoding failed \(") as failed:
        transcode(values, chunks=(16, 16))
    assert failed.value.__cause__ is None


def test_chunks_in_shards_that_do_not_decode_are_named():
    values = write_v3(pixels(16, 16), (4, 4), shards=(8, 8), compressors=ZstdCodec())
    shard = values["c/1/0"]
    values["c/1/0"] = bytes(4) + shard[4:]
    with pytest.raises(FormatError, match=r"0/c/1/0: expected chunk \(2, 0\)"):
        transcode(values, chunks=(16, 16))


def test_chunks_of_zarr_v2_that_do_not_decode_are_named():
    values = write_v2(pixels(16, 16), chunks=(4, 4), compressors=numcodecs.BZ2())
    values["3.0"] = b"?"
    with pytest.raises(FormatError, match=r"0/3\.0: expected chunk \(3, 0\)"):
        transcode(values)


def test_chunks_without_bytes():
    values = write_v3(pixels(16, 16), (4, 4))
    values["c/2/1"] = b""
    with pytest.raises(FormatError, match="0/c/2/1: expected an encoded chunk; the value is empty"):
        transcode(values, chunks=(16, 16))


def test_memory_that_is_missing_is_no_damage(monkeypatch):
    values = write_v3(pixels(16, 16), (4, 4), compressors=ZstdCodec())

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(chunk_codecs, "decompress_into", fail)
    monkeypatch.setattr(bounded_arrays, "decompress", fail)
    with pytest.raises(ResourceError, match="not enough memory for a chunk that decodes to 32 bytes"):
        transcode(values, chunks=(16, 16))


@pytest.mark.parametrize("shards", ["none", (16, 16)], ids=str)
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
    if shards == "none":
        # RFC 1952: no time, and 255 for an unknown operating system.
        assert {(data[4:8], data[9]) for key, data in results[0].items() if key != "zarr.json"} == {(bytes(4), 255)}


def test_time_that_cannot_be_taken_out():
    values = write_v3(pixels(16, 16), (4, 4), compressors=[GzipCodec(), ZstdCodec()])
    with pytest.raises(UnsupportedError, match="gzip as the last codec; found bytes, gzip, zstd"):
        transcode(values, chunks=(8, 8))
    check(values, chunks=(8, 8), codec=ZSTD)


def high_water_mark():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def measure_memory(root):
    """Transcode an array of 64 MiB in shards of 8 MiB, and return by how much memory grew; for a process of its own."""
    data = np.random.default_rng(3).integers(0, 4096, (8192, 1024), dtype="<u2")
    options = {"chunks": (256, 256), "dtype": "<u2", "compressors": None, "dimension_names": ["y", "x"]}
    array = zarr.create_group(root, attributes={"ome": {"version": "0.5"}}).create_array(
        "0", shape=(256, 1024), **options
    )
    array[...] = data[:256]
    words = {"chunks": "y=512,x=512", "shards": "y=4096,x=1024", "codec": ZSTD, "jobs": 2, "sync": False}
    ozx.repack(root, f"{root}.ozx", **words)  # what is imported once is no growth
    array.resize((32768, 1024))
    for start in range(0, 32768, 8192):
        array[start : start + 8192] = data
    del data, array
    Path("/proc/self/clear_refs").write_text("5")
    before = high_water_mark()
    return ozx.repack(root, f"{root}.ozx", force=True, **words).bytes, high_water_mark() - before


@pytest.mark.ci
@pytest.mark.posix("needs /proc", on="linux")
def test_memory_is_bounded(tmp_path):
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        size, growth = process.submit(measure_memory, tmp_path / "a").result()
    assert size > 48 << 20
    assert growth < 100 << 20

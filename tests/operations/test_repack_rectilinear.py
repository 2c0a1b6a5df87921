"""Arrays with a rectilinear grid become regular, bit for bit, with every version of zarr-python."""

import gzip
import itertools
import json
import math

import google_crc32c
import numpy as np
import pytest
from hierarchies import make_image, tree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numcodecs import BZ2, VLenUTF8, Zstd

import ozx
from ozx.errors import FormatError, UnsupportedError

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
FLIP = {"name": "transpose", "configuration": {"order": [1, 0]}}
# Chains of codecs by name, with the function that encodes a chunk.
CHAINS = {
    "bytes": ([LITTLE], lambda chunk: chunk.tobytes()),
    "big": ([BIG], lambda chunk: chunk.astype(chunk.dtype.newbyteorder(">")).tobytes()),
    "transpose": ([FLIP, LITTLE], lambda chunk: chunk.T.tobytes()),
    "gzip": (
        [LITTLE, {"name": "gzip", "configuration": {"level": 1}}],
        lambda chunk: gzip.compress(chunk.tobytes(), 1),
    ),
    "zstd": (
        [LITTLE, {"name": "zstd", "configuration": {"level": 1, "checksum": False}}],
        lambda chunk: bytes(Zstd(1).encode(chunk.tobytes())),
    ),
    "crc32c": ([LITTLE, {"name": "crc32c"}], lambda chunk: with_checksum(chunk.tobytes())),
}
TYPES = {"uint8": "|u1", "uint16": "<u2", "int32": "<i4", "float32": "<f4", "complex128": "<c16", "bool": "|b1"}


def with_checksum(data):
    return data + google_crc32c.value(data).to_bytes(4, "little")


def expand(lengths, whole):
    """Return the first pixel and the end of each chunk of one axis, as the extension's text explains it."""
    if isinstance(lengths, int):
        lengths = [lengths] * -(-whole // lengths)
    plain = [n for item in lengths for n in ([item[0]] * item[1] if isinstance(item, list) else [item])]
    ends = list(itertools.accumulate(plain))
    return list(zip([0, *ends], ends, strict=False))


def write_array(root, pixels, lengths, chain, *, missing=(), fill=0, encode=None, data_type="uint16", **fields):
    """Write an image of two dimensions whose array has chunks of these lengths."""
    codecs, usual = CHAINS[chain] if isinstance(chain, str) else (chain, encode)
    axes = [expand(axis, whole) for axis, whole in zip(lengths, pixels.shape, strict=True)]
    chunks = {}
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        box = [axis[at] for axis, at in zip(axes, place, strict=True)]
        chunk = np.full([stop - start for start, stop in box], fill, pixels.dtype)
        inside = pixels[tuple(slice(*pair) for pair in box)]
        chunk[tuple(map(slice, inside.shape))] = inside
        if place in missing:
            pixels[tuple(slice(*pair) for pair in box)] = fill
        elif inside.size:
            chunks["0/c/" + "/".join(map(str, place))] = usual(chunk)
    root = make_image(root, chunks)
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": lengths}}
    document = json.loads((root / "0" / "zarr.json").read_bytes())
    document |= {"shape": list(pixels.shape), "data_type": data_type, "codecs": codecs, "chunk_grid": grid}
    (root / "0" / "zarr.json").write_text(json.dumps(document | {"fill_value": fill} | fields))
    return root


def change_document(source, configuration, **fields):
    """Change fields of the array's document, and the configuration of its grid."""
    path = source / "0" / "zarr.json"
    document = json.loads(path.read_bytes()) | fields
    document["chunk_grid"]["configuration"] |= configuration
    path.write_text(json.dumps(document))


def read_regular(path, chunks=None):
    """Return the pixels of the array after the checks that every output passes."""
    array = ozx.open_array(path, "0")
    assert chunks in (None, array.chunks)
    assert [finding for finding in ozx.validate(path, level="data").findings if finding.severity == "error"] == []
    return array[...]


def pixels_of(data_type, shape):
    random = np.random.default_rng(math.prod(shape))
    dtype = np.dtype(TYPES[data_type])
    if data_type == "bool":
        return random.integers(0, 2, shape).astype(bool)
    return np.frombuffer(random.bytes(math.prod(shape) * dtype.itemsize), dtype).reshape(shape).copy()


def same_bits(first, second):
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


AXES = st.integers(0, 40).flatmap(
    lambda whole: st.tuples(
        st.just(whole),
        st.integers(1, 50)
        | st.lists(st.integers(1, 30) | st.tuples(st.integers(1, 9), st.integers(1, 5)).map(list), max_size=6).map(
            lambda lengths: [*lengths, max(1, whole)]
        ),
    )
)


LAYOUTS = [
    {"chunks": {"y": 7, "x": 16}},
    {"chunks": {"x": 1}},
    {"codec": "zstd"},
    {"chunks": {"y": 5, "x": 5}, "codec": "none", "shards": {"y": 20, "x": 10}},
    {"chunks": {"y": 8}, "shards": "auto"},
]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_lengths_become_any_regular_chunks(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("any")
    axes = [data.draw(AXES), data.draw(AXES)]
    data_type, chain = data.draw(st.sampled_from(sorted(TYPES))), data.draw(st.sampled_from(sorted(CHAINS)))
    pixels = pixels_of(data_type, tuple(whole for whole, _ in axes))
    if chain == "big" and pixels.itemsize == 1:
        chain = "bytes"
    places = st.tuples(st.integers(0, 3), st.integers(0, 3))
    missing = data.draw(st.lists(places, max_size=3))
    fill = {"complex128": [0.0, 0.0], "bool": False}.get(data_type, 0)
    lengths = [lengths for _, lengths in axes]
    # The fill value of complex numbers is a pair in the document.
    source = write_array(
        root / "a.ome.zarr", pixels, lengths, chain, missing=missing, data_type=data_type, fill_value=fill
    )
    if data.draw(st.booleans()):
        source = ozx.pack(source, root / "a.ozx", sync=False).path
    ozx.repack(source, root / "b.ozx", verify=True, sync=False, **data.draw(st.sampled_from(LAYOUTS)))
    assert same_bits(read_regular(root / "b.ozx"), pixels)


def test_text_stays(tmp_path):
    pixels = np.array([[f"{row}ü{column}" * (row % 3) for column in range(7)] for row in range(9)], object)
    source = write_array(
        tmp_path / "a.ome.zarr",
        pixels,
        [[4, 5], [[3, 2], 2]],
        [{"name": "vlen-utf8"}],
        fill="",
        encode=lambda chunk: bytes(VLenUTF8().encode(chunk.ravel())),
        data_type="string",
    )
    ozx.repack(source, tmp_path / "b.ozx", chunks="y=2,x=4", sync=False)
    assert ozx.open_array(tmp_path / "b.ozx", "0")[...].tolist() == pixels.tolist()


def test_a_codec_that_is_not_registered_is_refused_as_in_a_regular_array(tmp_path):
    pixels = pixels_of("uint16", (40, 30))
    source = write_array(
        tmp_path / "a.ome.zarr",
        pixels,
        [[15, 25], [[10, 3]]],
        [LITTLE, {"name": "numcodecs.bz2", "configuration": {"level": 1}}],
        encode=lambda chunk: BZ2(1).encode(chunk.tobytes()),
    )
    with pytest.raises(UnsupportedError, match=r"numcodecs\.bz2"):
        ozx.repack(source, tmp_path / "b.ozx", codec="zstd", sync=False)


def test_a_codec_alone_makes_chunks_of_the_longest_lengths(tmp_path):
    pixels = pixels_of("uint16", (60, 50))
    lengths = [[10, 20, 30], [20, 40]]
    source = write_array(tmp_path / "a.ome.zarr", pixels, lengths, "bytes", missing=[(1, 0)])
    ozx.repack(source, tmp_path / "b.ozx", codec="gzip", sync=False)
    assert same_bits(read_regular(tmp_path / "b.ozx", (30, 40)), pixels)


def test_an_array_without_dimensions_becomes_regular(tmp_path):
    pixels = np.array(7, "<u2")
    source = write_array(tmp_path / "a.ome.zarr", pixels_of("uint16", (2, 2)), [2, 2], "bytes")
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": []}}
    document = json.loads((source / "0" / "zarr.json").read_bytes())
    document |= {"shape": [], "chunk_grid": grid, "dimension_names": []}
    (source / "point" / "c").parent.mkdir()
    (source / "point" / "c").write_bytes(pixels.tobytes())
    (source / "point" / "zarr.json").write_text(json.dumps(document))
    ozx.repack(source, tmp_path / "b.ozx", chunks="y=1,x=2", sync=False)
    assert same_bits(ozx.open_array(tmp_path / "b.ozx", "point")[...], pixels)


def test_chunks_behind_the_array_are_left_out(tmp_path):
    pixels = pixels_of("uint16", (20, 20))
    source = write_array(tmp_path / "a.ome.zarr", pixels, [[20, 5, 5], [[10, 9]]], "bytes")
    (source / "0" / "c" / "1").mkdir()
    (source / "0" / "c" / "1" / "0").write_bytes(bytes(100))
    result = ozx.repack(source, tmp_path / "b.ozx", chunks="y=8,x=8", sync=False)
    assert any("left out 1 chunks outside of the array" in note for note in result.notes)
    assert same_bits(read_regular(tmp_path / "b.ozx", (8, 8)), pixels)


def test_a_chunk_of_another_length_is_refused_by_name(tmp_path):
    source = write_array(tmp_path / "a.ome.zarr", pixels_of("uint16", (20, 20)), [[5, 15], [20]], "bytes")
    (source / "0" / "c" / "1" / "0").write_bytes((source / "0" / "c" / "0" / "0").read_bytes())
    with pytest.raises(FormatError, match=r"0/c/1/0: expected chunk \(1, 0\) encoded by the codecs"):
        ozx.repack(source, tmp_path / "b.ozx", chunks="y=8", sync=False)
    assert not (tmp_path / "b.ozx").exists()


HOSTILE = {
    "zero": ([[0, 20], [20]], FormatError, "at least one pixel"),
    "negative": ([[-5, 25], [20]], FormatError, "at least one pixel"),
    "true": ([[True, 19], [20]], FormatError, "at least one pixel"),
    "no count": ([[[5, 0], 20], [20]], FormatError, "at least one pixel"),
    "three numbers": ([[[5, 1, 1], 20], [20]], FormatError, "at least one pixel"),
    "text": ([["20"], [20]], FormatError, "at least one pixel"),
    "zero everywhere": ([0, [20]], FormatError, "at least one pixel"),
    "no list": ([{"a": 1}, [20]], FormatError, "at least one pixel"),
    "too short": ([[5, 5], [20]], FormatError, "cover the 20 pixels of the axis; their sum is 10"),
    "none": ([[], [20]], FormatError, "their sum is 0"),
    "one axis": ([[20]], FormatError, "as many axes"),
    "no axes": (None, FormatError, "as many axes"),
    "endless": ([[[1, 10**9]], [20]], UnsupportedError, "1,048,576 lengths"),
    "huge count": ([[[1, 10**30]], [20]], UnsupportedError, "1,048,576 lengths"),
    "huge": ([[5, 10**30], [20]], UnsupportedError, "2 GiB"),
    "long": ([[5, 10**9], [20]], UnsupportedError, "up to 2 GiB.*40,000,000,000 bytes"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_lengths_are_refused_for_new_chunks_and_copied_otherwise(case, tmp_path):
    lengths, error, message = HOSTILE[case]
    source = write_array(tmp_path / "a.ome.zarr", pixels_of("uint16", (20, 20)), [[5, 15], [20]], "bytes")
    change_document(source, {"chunk_shapes": lengths})
    for options in ({"chunks": {"y": 8, "x": 8}}, {"codec": "zstd"}):
        with pytest.raises(error, match=message) as caught:
            ozx.repack(source, tmp_path / "b.ozx", sync=False, **options)
        assert caught.value.hint
        assert not (tmp_path / "b.ozx").exists()
    ozx.repack(source, tmp_path / "b.ozx", sync=False)
    ozx.unpack(tmp_path / "b.ozx", tmp_path / "back.ome.zarr", sync=False)
    assert tree(tmp_path / "back.ome.zarr" / "0") == tree(source / "0")


def test_more_chunks_than_can_be_counted_are_refused(tmp_path):
    source = write_array(tmp_path / "a.ome.zarr", pixels_of("uint8", (8, 8)), [8, 8], "bytes", data_type="uint8")
    change_document(source, {"chunk_shapes": [1] * 4}, shape=[100_000] * 4, dimension_names=list("tzyx"))
    with pytest.raises(UnsupportedError, match="fewer than"):
        ozx.repack(source, tmp_path / "b.ozx", codec="zstd", sync=False)


def test_shards_in_a_rectilinear_grid_are_refused(tmp_path):
    inside = {"chunk_shape": [5, 5], "codecs": [LITTLE], "index_codecs": [LITTLE, {"name": "crc32c"}]}
    sharding = {"name": "sharding_indexed", "configuration": inside}
    source = write_array(
        tmp_path / "a.ome.zarr", pixels_of("uint16", (20, 20)), [[5, 15], [20]], "bytes", codecs=[sharding]
    )
    with pytest.raises(UnsupportedError, match="does not support shards in the chunk grid 'rectilinear'"):
        ozx.repack(source, tmp_path / "b.ozx", chunks="y=8", sync=False)


def test_another_kind_of_rectilinear_grid_is_refused(tmp_path):
    source = write_array(tmp_path / "a.ome.zarr", pixels_of("uint16", (20, 20)), [[5, 15], [20]], "bytes")
    change_document(source, {"kind": "referenced"})
    with pytest.raises(UnsupportedError, match="kind 'inline'; found 'referenced'"):
        ozx.repack(source, tmp_path / "b.ozx", chunks="y=8", sync=False)

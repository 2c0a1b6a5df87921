"""New values of chunks and shards."""

import numpy as np
import pytest

from ozx.errors import FormatError
from ozx.flow.decoding.chunk_codecs import ChunkCodec, ShardCodec
from ozx.hierarchy.zarr.layout import IndexFormat, parse_index
from ozx.store.pixels.encoding import Background, ChunkEdit, ShardEdit
from ozx.store.pixels.selections import bounding_box

CHUNK = ChunkCodec((2, 2), np.dtype("<u2"), (0, 1))
BACKGROUND = Background(7, is_stored=False)


@pytest.mark.parametrize(
    ("fill", "dtype", "pixels", "expected"),
    [
        (7, "u2", [7, 7], True),
        (7, "u2", [7, 8], False),
        (0.0, "f4", [0.0, 0.0], True),
        (0.0, "f4", [0.0, -0.0], False),
        (np.nan, "f8", [np.nan, np.nan], True),
        (1j, "c16", [1j, 1j], True),
        (1j, "c16", [1j, 1], False),
        (True, "?", [True, True], True),
        (1, ">i4", [1, 1], True),
    ],
)
def test_chunks_of_the_fill_value(fill: object, dtype: str, pixels: list[object], *, expected: bool) -> None:
    assert Background(fill, is_stored=False).is_all_of(np.array(pixels, dtype)) is expected


def test_a_part_of_a_chunk_changes() -> None:
    stored = memoryview(np.arange(4, dtype="<u2").tobytes())
    edit = ChunkEdit(CHUNK, stored, (slice(0, 1), slice(1, 2)), np.full((1, 1), 9, "u2"), BACKGROUND)
    assert np.frombuffer(edit.encode(), "<u2").tolist() == [0, 9, 2, 3]


@pytest.mark.parametrize("stored", [b"", bytes(7), bytes(9)])
def test_a_damaged_chunk_of_which_a_part_stays(stored: bytes) -> None:
    edit = ChunkEdit(CHUNK, memoryview(stored), (slice(0, 1),), np.full((1, 2), 9, "u2"), BACKGROUND)
    with pytest.raises(ValueError, match="bytes"):
        edit.encode()


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("has_checksum", [True, False])
def test_shards_of_every_index_format(location: str, endian: str, *, has_checksum: bool) -> None:
    form = IndexFormat(location, endian, has_checksum)
    codec = ShardCodec((4, 4), (2, 2), CHUNK, form)

    def changed(stored: memoryview | None, selection: tuple[slice, ...], value: int) -> memoryview:
        lengths = tuple(part.stop - part.start for part in selection)
        shard = ShardEdit(codec, stored, selection, np.full(lengths, value, "u2"), BACKGROUND)
        return memoryview(b"".join(shard.parts((place, edit.encode()) for place, edit in shard.iter_edits())))

    first = changed(None, (slice(0, 2), slice(2, 4)), 1)
    second = changed(first, (slice(2, 4), slice(0, 3)), 2)
    offset = form.offset(4, len(second))
    index = parse_index(bytes(second[offset : offset + form.size(4)]), (2, 2), len(second), "0/c/0/0", form)
    assert index.lengths.tolist() == [[0, 8], [8, 8]]
    at = index.offsets
    assert at[1, 0] < at[0, 1] < at[1, 1]  # Morton order
    last = np.frombuffer(second[at[1, 1] : at[1, 1] + 8], "<u2").tolist()
    assert last == [2, 7, 2, 7]
    with pytest.raises(FormatError, match="index"):
        ShardEdit(codec, second[: form.size(4) - 1], (slice(0, 1), slice(0, 1)), np.zeros((1, 1), "u2"), BACKGROUND)


def test_a_shard_that_becomes_empty_is_not_stored() -> None:
    codec = ShardCodec((4, 4), (2, 2), CHUNK, IndexFormat())
    shard = ShardEdit(codec, None, (slice(0, 4), slice(0, 4)), np.full((4, 4), 7, "u2"), BACKGROUND)
    assert shard.parts((place, edit.encode()) for place, edit in shard.iter_edits()) == []


def test_points_in_a_shard() -> None:
    codec = ShardCodec((4, 4), (2, 2), CHUNK, IndexFormat())
    box = bounding_box((np.array([0, 3]), np.array([1, 2])), codec.shape, CHUNK.shape)
    assert box is not None
    shard = ShardEdit(codec, None, box, np.array([5, 6], "u2"), BACKGROUND)
    edits = dict(shard.iter_edits())
    assert {place: edit.pixels.tolist() for place, edit in edits.items()} == {
        (0, 0): [[7, 5], [7, 7]],
        (1, 1): [[7, 7], [6, 7]],
    }


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("lexicographic", [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
        ("colexicographic", [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]),
        ("morton", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]),
    ],
)
def test_the_order_of_inner_chunks(order: str, expected: list[tuple[int, int]]) -> None:
    codec = ShardCodec((6, 4), (3, 2), CHUNK, IndexFormat(), order)
    shard = ShardEdit(codec, None, (slice(0, 6), slice(0, 4)), np.zeros((6, 4), "u2"), BACKGROUND)
    assert [place for place, _ in shard.iter_edits()] == expected
    parts = shard.parts((place, memoryview(bytes([number] * 8))) for number, place in enumerate(expected))
    assert [part[0] for part in parts[:-1]] == list(range(6))

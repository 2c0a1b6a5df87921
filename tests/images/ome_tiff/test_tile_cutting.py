"""Blocks that cover an image, and tiles made of them: nothing twice, nothing missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozx.images.ome_tiff.tile_encoding import Mosaic, cut_block, plan_blocks


@given(
    st.tuples(*[st.integers(1, 3)] * 3, *[st.integers(1, 40)] * 2),
    st.tuples(*[st.integers(1, 4)] * 3, *[st.integers(1, 50)] * 2),
    st.tuples(*[st.sampled_from([1, 5, 16])] * 2),
    st.integers(1, 3000),
)
def test_every_pixel_comes_once_and_where_it_belongs(shape, read_alignment, tile, wanted):
    image = np.arange(np.prod(shape)).reshape(shape)
    mosaic, made = Mosaic(shape, tile), {}
    starts = []
    for region in plan_blocks(shape, read_alignment, wanted):
        starts.append(tuple(part.start for part in region))
        assert all(part.start % length == 0 for part, length in zip(region, read_alignment, strict=True))
        for piece in cut_block(mosaic, region, image[region]):
            whole = piece.pixels if mosaic.is_whole(piece) else mosaic.add(piece)
            if whole is not None:
                assert piece.tile not in made
                made[piece.tile] = whole
    assert starts == sorted(starts)
    assert not mosaic._waiting
    assert len(made) == mosaic.plane_count * mosaic.tiles_per_plane
    planes = image.reshape(-1, *shape[3:])
    for (plane, number), pixels in made.items():
        row, column = divmod(number, mosaic.across)
        y, x = row * tile[0], column * tile[1]
        np.testing.assert_array_equal(pixels, planes[plane, y : y + tile[0], x : x + tile[1]])


@pytest.mark.parametrize(
    ("read_alignment", "wanted", "count"),
    [
        ((1, 1, 1, 10, 10), 1, 120),
        ((1, 1, 1, 10, 10), 10**6, 1),
        ((1, 3, 2, 10, 10), 1200, 10),
        ((9, 9, 9, 99, 99), 1, 2),
    ],
)
def test_blocks_are_as_large_as_is_wanted_and_no_smaller_than_the_grain(read_alignment, wanted, count):
    assert len(list(plan_blocks((1, 3, 2, 100, 20), read_alignment, wanted))) == count


def test_tiles_that_fit_into_blocks_never_wait():
    shape, mosaic = (1, 1, 2, 100, 90), Mosaic((1, 1, 2, 100, 90), (16, 32))
    for region in plan_blocks(shape, (1, 1, 1, 32, 64), 1):
        block = np.zeros([part.stop - part.start for part in region])
        assert all(mosaic.is_whole(piece) for piece in cut_block(mosaic, region, block))

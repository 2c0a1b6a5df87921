"""Levels of images whose frames come in any order."""

import random
from itertools import product

import numpy as np
import pytest

from ozx.hierarchy.ome.model import Axis
from ozx.hierarchy.relayout.layout_choice import LayoutChoice
from ozx.hierarchy.zarr.layout import parse_layout
from ozx.images.streaming.frame_pyramid import FramePyramid
from ozx.images.writing.array_layout import NewArray, lay_out
from ozx.images.writing.chunk_encoding import ChunkEncoder
from ozx.images.writing.downsampling import halve, halved_shape
from ozx.images.writing.pyramid import LevelGeometry, LevelWork

RANDOM = np.random.default_rng(3)


def works_of(shape, chunks, halved):
    """Return the levels of an image of z, y, x, each halved along its axes."""
    axes = tuple(Axis(name, "space", None) for name in "zyx")
    works = []
    for axes_halved in halved:
        shape = halved_shape(shape, axes_halved)
        choice = LayoutChoice.parse(shards="none", chunks=dict(zip("zyx", chunks, strict=True)), codec="none")
        document = lay_out({"0": NewArray(shape, np.dtype("uint16"), axes, (1, 1, 1))}, choice)["0"]
        layout = parse_layout(document, "0")
        geometry = LevelGeometry(shape, layout.chunks, layout.stored_shape, axes_halved)
        works.append(LevelWork(geometry, ChunkEncoder(document)))
    return works


def pixels_of(chunks, works):
    """Return the levels out of their chunks."""
    levels = [
        np.zeros([-(-n // c) * c for n, c in zip(w.level.shape, w.level.chunks, strict=True)], "uint16") for w in works
    ]
    for level, place, data in chunks:
        lengths = works[level].level.chunks
        region = tuple(slice(at * n, (at + 1) * n) for at, n in zip(place, lengths, strict=True))
        levels[level][region] = 0 if data is None else np.frombuffer(data, "<u2").reshape(lengths)
    return [level[tuple(map(slice, w.level.shape))] for level, w in zip(levels, works, strict=True)]


HALVED = [
    [(), (1, 2), (1, 2)],
    [(), (0, 1, 2), (0, 1, 2), (1, 2)],
    [(), (0,), (0,), (0, 1, 2)],
]


@pytest.mark.parametrize("halved", HALVED)
@pytest.mark.parametrize("chunks", [(1, 16, 16), (3, 32, 17), (8, 64, 64)])
@pytest.mark.parametrize("stop", [13, 7, 1])
def test_every_order_gives_the_same(halved, chunks, stop):
    shape = (13, 41, 30)
    source = RANDOM.integers(0, 60000, shape).astype("uint16")
    works = works_of(shape, chunks, halved)
    pyramid = FramePyramid(works, "mean", np.dtype("uint16"))
    order = list(range(stop))
    random.Random(stop).shuffle(order)
    found = [chunk for z in order for chunk in pyramid.add((z, 0, 0), source[z : z + 1])]
    copied = pyramid.copy()
    found_again = found + list(copied.finish(0, stop))
    found += pyramid.finish(0, stop)
    assert pyramid.waiting == 0
    assert len({(level, place) for level, place, _ in found}) == len(found)
    expected = [source[:stop]]
    for axes in halved[1:]:
        expected.append(halve(expected[-1], axes, "mean"))
    for number, pixels in enumerate(expected):
        for chunks_found in (found, found_again):
            np.testing.assert_array_equal(pixels_of(chunks_found, works)[number][: len(pixels)], pixels)


def test_missing_frames_are_zero():
    shape = (4, 20, 20)
    source = RANDOM.integers(1, 60000, shape).astype("uint16")
    works = works_of(shape, (2, 16, 16), [(), (0, 1, 2)])
    pyramid = FramePyramid(works, "mean", np.dtype("uint16"))
    found = [chunk for z in (0, 2, 3) for chunk in pyramid.add((z, 0, 0), source[z : z + 1])]
    assert pyramid.waiting
    found += pyramid.finish(0, 4)
    source[1] = 0
    full, half = pixels_of(found, works)
    np.testing.assert_array_equal(full, source)
    np.testing.assert_array_equal(half, halve(source, (0, 1, 2), "mean"))


def test_chunks_of_one_frame_do_not_wait():
    works = works_of((6, 40, 40), (1, 16, 16), [(), (1, 2)])
    pyramid = FramePyramid(works, "mean", np.dtype("uint16"))
    frame = RANDOM.integers(1, 60000, (1, 40, 40)).astype("uint16")
    places = [(level, place) for level, place, _ in pyramid.add((2, 0, 0), frame)]
    assert pyramid.waiting == 0
    full = [(0, (2, y, x)) for y, x in product(range(3), repeat=2)]
    assert places == full + [(1, (2, y, x)) for y, x in product(range(2), repeat=2)]

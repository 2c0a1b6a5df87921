"""In which pieces the levels of a new image are made."""

import itertools
import math

import pytest

from ozx.images.writing.pyramid import LevelGeometry, halvings, iter_corners, plan_stages


def make_levels(shape, count, *, chunk=512, shard=(4096, 4096), axes=None):
    axes = tuple(range(len(shape)))[-2:] if axes is None else axes
    plane = len(shape) - 2
    levels = []
    for number in range(count):
        chunks = tuple(min(length, chunk) if axis >= plane else 1 for axis, length in enumerate(shape))
        stored = (*chunks[:plane], *map(max, chunks[plane:], shard))
        levels.append(LevelGeometry(shape, chunks, stored, axes if number else ()))
        shape = tuple(-(-length // 2) if axis in axes else length for axis, length in enumerate(shape))
    return levels


def test_volumes_are_made_in_cubes_of_few_planes():
    levels = make_levels((64, 4096, 4096), 5, axes=(0, 1, 2))
    first, *_ = plan_stages(levels, (1, 1, 1), None, 2)
    assert (first.first, first.stop, first.block) == (0, 2, (4, 1024, 1024))
    assert halvings(levels, 0, 2) == (4, 4, 4)


@pytest.mark.parametrize("chunk", [512, 480, 500, 333, 7])
@pytest.mark.parametrize("length", [9000, 4097, 700])
def test_every_level_is_made_by_one_stage(chunk, length):
    levels = make_levels((length, length), 5, chunk=chunk)
    stages = plan_stages(levels, (1, 1), None, 2)
    assert stages[0].first == 0
    assert stages[-1].stop == len(levels)
    for stage, following in itertools.pairwise(stages):
        assert stage.stop == following.first > stage.first
        factors = halvings(levels, stage.first, stage.stop)
        whole = levels[stage.first].shape
        assert all(b % f == 0 or b >= w for b, f, w in zip(stage.block, factors, whole, strict=True))


@pytest.mark.parametrize(("read_alignment", "shard"), [
    ((1, 1), (4096, 4096)),
    ((256, 256), (4096, 4096)),
    ((700, 300), (4096, 4096)),
    ((8, 50_000), (512, 32_768)),
])  # fmt: skip
def test_few_shards_wait_at_a_time_however_large_the_image(read_alignment, shard):
    for length in (12_000, 50_000):
        levels = make_levels((length, length), 8, shard=shard)
        stages = plan_stages(levels, read_alignment, None, 2)
        missing = [{} for _ in levels]
        for corner in iter_corners(levels, stages):
            for number, level in enumerate(levels):
                size = [part * factor for part, factor in zip(level.stored, halvings(levels, 0, number), strict=True)]
                for place, pixels in overlaps(corner, stages[0].block, size, length):
                    left = missing[number].pop(place, None)
                    left = pixels_of(place, size, length) - pixels if left is None else left - pixels
                    if left:
                        missing[number][place] = left
            assert sum(map(len, missing)) <= 2 * len(levels)
        assert not any(missing)


def spans(place, size, length):
    return [range(at * part, min((at + 1) * part, length)) for at, part in zip(place, size, strict=True)]


def pixels_of(place, size, length):
    return math.prod(map(len, spans(place, size, length)))


def overlaps(corner, block, size, length):
    """Yield the shards that a block has pixels of, and how many."""
    ends = [min(start + part, length) for start, part in zip(corner, block, strict=True)]
    ranges = [range(start // part, -(-end // part)) for start, end, part in zip(corner, ends, size, strict=True)]
    for place in itertools.product(*ranges):
        yield (
            place,
            math.prod(
                min(end, span.stop) - max(start, span.start)
                for start, end, span in zip(corner, ends, spans(place, size, length), strict=True)
            ),
        )

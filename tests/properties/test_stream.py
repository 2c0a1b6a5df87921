"""Streams of any frames in any order, stopped anywhere: the file is that of `write_image` with the frames that came."""

from itertools import product

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streams import assert_same_images, assert_valid

import ozx

FILE_ORDER = "tczyx"


@st.composite
def streams(draw):
    """Axes in any order of acquisition, lengths, a pixel type, a layout, and the frames that come."""
    numbering = draw(st.permutations("tcz"))[: draw(st.integers(0, 3))]
    axes = "".join(numbering) + "yx"
    lengths = [draw(st.integers(1, 5)) for _ in numbering] + [draw(st.integers(1, 70)), draw(st.integers(1, 300))]
    words = {"codec": draw(st.sampled_from(["none", "zstd:1", "blosc-lz4:1"]))}
    if draw(st.booleans()):
        words["chunks"] = {axis: draw(st.integers(1, 3)) for axis in numbering} | {"y": 32, "x": 64}
        words["shards"] = dict.fromkeys(numbering, 6) | {"y": 64, "x": 128}
        if draw(st.booleans()):
            words["shards"] = "none"
    if draw(st.booleans()):
        words["pixel_size"] = {axis: 0.5 for axis in axes if axis != "c"}
        words["unit"] = "micrometer"
    words["method"] = draw(st.sampled_from(["mean", "nearest", "mode"]))
    is_endless = bool(numbering) and numbering[0] != "c" and draw(st.booleans())
    if is_endless and numbering[0] == "z":
        words["downsample"] = "y,x"
    places = list(product(*map(range, lengths[:-2])))
    came = (places if draw(st.booleans()) else draw(st.permutations(places)))[: draw(st.integers(1, len(places)))]
    dtype = draw(st.sampled_from(["bool", "uint8", ">i2", "uint16", "uint32", "int64", "float32", "float64"]))
    return axes, lengths, is_endless, dtype, words, came


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=streams(), seed=st.integers(0, 99), jobs=st.integers(1, 3))
def test_the_file_is_that_of_write_image(tmp_path_factory, given, seed, jobs):
    axes, lengths, is_endless, dtype, words, came = given
    folder = tmp_path_factory.mktemp("s")
    pixels = np.random.default_rng(seed).integers(0, 200, lengths).astype(dtype)
    shape = [None, *lengths[1:]] if is_endless else lengths
    is_in_order = came == list(product(*map(range, lengths[:-2])))[: len(came)]
    with ozx.stream(folder / "a.ozx", axes=axes, shape=shape, dtype=dtype, jobs=jobs, sync=False, **words) as frames:
        for number, place in enumerate(came):
            record = {"number": number, "text": f"é{number}"} if number % 3 else None
            if is_in_order:
                frames.append(pixels[place], record=record)
            else:
                frames.write(pixels[place], place, record=record)
    expected = np.zeros_like(pixels)
    for place in came:
        expected[place] = pixels[place]
    length = max((place[0] for place in came if place), default=0) + 1
    if axes != "yx":
        expected = expected[:length]
    order = [axis for axis in FILE_ORDER if axis in axes]
    turned = expected.transpose([axes.index(axis) for axis in order])
    ozx.write_image(folder / "b.ozx", turned, axes=order, sync=False, **words)
    is_whole = list(turned.shape) == [lengths[axes.index(axis)] for axis in order]
    # A declared length decides which axes are halved, and how many pixels are sampled.
    has_same_windows = is_whole and not is_endless and not frames.result.missing
    assert_same_images(folder / "a.ozx", folder / "b.ozx", windows=has_same_windows, metadata=is_whole)
    assert_valid(folder / "a.ozx")
    if len(came) > 1:
        numbers = np.full(expected.shape[:-2], np.nan)
        for number, place in enumerate(came):
            numbers[place] = number if number % 3 else np.nan
        records = ozx.open(folder / "a.ozx")["frames"]
        turned = numbers.transpose([axes.index(axis) for axis in order[:-2]])
        np.testing.assert_array_equal(records["number"][...], turned)
        texts = [text[1:] for text in records["text"][...].reshape(-1)]
        assert texts == ["" if np.isnan(number) else str(int(number)) for number in turned.reshape(-1)]
    places = set(product(range(length), *map(range, lengths[1:-2]))) if axes != "yx" else {()}
    assert {index for _, index in frames.result.missing} == places - set(came)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=st.lists(streams(), min_size=2, max_size=3), data=st.data(), jobs=st.integers(1, 3))
def test_each_camera_makes_the_image_of_its_frames(tmp_path_factory, given, data, jobs):
    folder = tmp_path_factory.mktemp("s")
    given = [(axes, lengths, dtype, came) for axes, lengths, _, dtype, _, came in given]
    every = [
        np.random.default_rng(number).integers(0, 200, lengths).astype(dtype)
        for number, (_, lengths, dtype, _) in enumerate(given)
    ]
    cameras = {
        f"camera {number}": ozx.Camera(shape=lengths, dtype=dtype, axes=axes)
        for number, (axes, lengths, dtype, _) in enumerate(given)
    }
    frames = data.draw(st.permutations([(number, place) for number, one in enumerate(given) for place in one[-1]]))
    memory = 16 * max(pixels[place].nbytes for pixels in every for place in [(0,) * (pixels.ndim - 2)])
    with ozx.stream(folder / "a.ozx", cameras=cameras, jobs=jobs, memory=memory, codec="zstd:1", sync=False) as stream:
        for number, place in frames:
            stream.write(every[number][place], place, position=number)
    for number, (axes, _, _, came) in enumerate(given):
        expected = np.zeros_like(every[number])
        for place in came:
            expected[place] = every[number][place]
        if axes != "yx":
            expected = expected[: max(place[0] for place in came) + 1]
        turned = expected.transpose([axes.index(axis) for axis in FILE_ORDER if axis in axes])
        np.testing.assert_array_equal(ozx.open(folder / "a.ozx")[f"{number}/0"][...], turned)
    assert_valid(folder / "a.ozx")

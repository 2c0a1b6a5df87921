"""Which level and plane a picture is made of."""

import numpy as np
import pytest
import zarr
from pictures import add_image, new_group

from ozx.errors import FormatError, UnsupportedError
from ozx.images.pictures.planes import choose_plane, read_planes
from ozx.store.image_view import view_image


def plane_of(axes, *shapes, size=16, dtype="u1", **options):
    return choose_plane(view_image(add_image(new_group(), [np.zeros(s, dtype) for s in shapes], axes, **options)), size)


@pytest.mark.parametrize(("size", "level"), [(1, "2"), (16, "2"), (17, "1"), (32, "1"), (64, "0"), (1000, "0")])
def test_the_smallest_level_that_is_large_enough(size, level):
    assert plane_of("yx", (64, 48), (32, 24), (16, 12), size=size).level.path == level


@pytest.mark.parametrize(
    ("axes", "shape", "index"),
    [
        ("tczyx", (3, 2, 5, 4, 4), (0, 0, 2, 0, 0)),
        ("zyx", (4, 4, 4), (2, 0, 0)),
        ("zyx", (1, 4, 4), (0, 0, 0)),
        ("tyx", (9, 4, 4), (0, 0, 0)),
    ],
)
def test_the_middle_plane_of_the_first_time(axes, shape, index):
    assert plane_of(axes, shape).index == index


@pytest.mark.parametrize(
    ("defaults", "index"),
    [
        ({"defaultZ": 4, "defaultT": 2}, (2, 4, 0, 0)),
        ({"defaultZ": 0}, (0, 0, 0, 0)),
        ({"defaultZ": 5, "defaultT": 3}, (0, 2, 0, 0)),
        ({"defaultZ": -1, "defaultT": 1}, (1, 2, 0, 0)),
    ],
)
def test_the_plane_that_omero_names(defaults, index):
    assert plane_of("tzyx", (3, 5, 4, 4), omero={"rdefs": defaults}).index == index


def test_a_level_with_fewer_planes_shows_the_same_place():
    plane = plane_of("zyx", (10, 64, 64), (5, 32, 32), (1, 16, 16), size=32, omero={"rdefs": {"defaultZ": 7}})
    assert (plane.level.path, plane.index[0]) == ("1", 3)


@pytest.mark.parametrize(
    ("scales", "units", "expected"),
    [
        ([(2, 0.5)], None, (2, 0.5)),
        ([(2, 0.5)], {"y": "micrometer", "x": "micrometer"}, (2, 0.5)),
        ([(2, 0.5)], {"y": "micrometer", "x": "nanometer"}, None),
        ([(0, 1)], None, None),
        ([(-1, 1)], None, None),
        (None, None, None),
    ],
)
def test_pixel_sizes_that_can_be_compared(scales, units, expected):
    assert plane_of("yx", (4, 4), scales=scales, units=units).pixel_size == expected


def test_of_a_large_level_every_nth_pixel():
    data = np.arange(100 * 90, dtype="u2").reshape(100, 90)
    plane = choose_plane(view_image(add_image(new_group(), [data], "yx", chunks=(16, 16))), 16)
    assert (plane.shape, plane.step) == ((100, 90), 4)
    np.testing.assert_array_equal(read_planes(plane, [0])[0], data[::4, ::4])


def test_channels_and_other_axes_in_any_place():
    data = np.arange(2 * 3 * 4 * 5, dtype="u2").reshape(4, 2, 5, 3)  # x, c, y, z
    plane = choose_plane(view_image(add_image(new_group(), [data], "xcyz")), 16)
    assert (plane.shape, plane.channel_count) == ((5, 4), 2)
    for number, found in enumerate(read_planes(plane, [0, 1])):
        np.testing.assert_array_equal(found, data[:, number, :, 1].T)


def test_an_axis_called_y_that_says_it_counts_channels():
    group = add_image(new_group(), [np.arange(6, dtype="u1").reshape(2, 3)], "yx")
    ome = group.attrs["ome"]
    ome["multiscales"][0]["axes"][0]["type"] = "channel"
    group.attrs["ome"] = ome
    plane = choose_plane(view_image(group), 16)
    assert plane.channel_count == 1
    np.testing.assert_array_equal(read_planes(plane, [0])[0], [[0, 1, 2], [3, 4, 5]])


def test_channels_that_are_not_side_by_side():
    data = np.arange(5 * 3 * 2, dtype="u2").reshape(5, 3, 2)
    planes = read_planes(choose_plane(view_image(add_image(new_group(), [data], "cyx")), 16), [0, 3, 4])
    np.testing.assert_array_equal(planes, data[[0, 3, 4]])


def test_axes_that_nobody_named_y_and_x():
    plane = plane_of("cab", (2, 4, 6))
    assert (plane.y, plane.x, plane.channel) == (1, 2, 0)


@pytest.mark.parametrize(
    ("axes", "shape", "message"),
    [
        ("x", (4,), "the root: expected the axes y and x; found x"),
        ("cx", (2, 4), "expected the axes y and x; found c, x"),
        ("cyx", (0, 4, 4), r"0: expected pixels; found an array of \(0, 4, 4\)"),
        ("yx", (4, 0), "expected pixels"),
    ],
)
def test_images_without_a_plane(axes, shape, message):
    group = add_image(new_group(), [], axes)
    group.attrs["ome"] = {**group.attrs["ome"], "multiscales": [
        {"axes": group.attrs["ome"]["multiscales"][0]["axes"], "datasets": [{"path": "0"}]}]}  # fmt: skip
    group.create_array("0", shape=shape, chunks=(1,) * len(shape), dtype="u1")
    with pytest.raises(UnsupportedError, match=message):
        choose_plane(view_image(group), 16)


def test_a_plane_too_large_to_be_read():
    group = add_image(new_group(), [np.zeros((4, 4), "u1")], "yx")
    group.create_array("0", shape=(1 << 40, 1 << 40), chunks=(1 << 10, 1 << 10), dtype="u1", overwrite=True)
    with pytest.raises(
        UnsupportedError, match="0: expected a level that is small enough for a picture; found 1,099,511,627,776"
    ):
        choose_plane(view_image(group), 16)


def test_a_chunk_that_does_not_decode():
    group = add_image(new_group(), [np.ones((4, 4), "u1")], "yx")
    store = group.store
    key = next(key for key in store._store_dict if key.startswith("0/c"))
    store._store_dict[key] = zarr.core.buffer.cpu.Buffer.from_bytes(b"broken")
    with pytest.raises(FormatError, match="chunk cannot be decoded"):
        read_planes(choose_plane(view_image(group), 16), [0])

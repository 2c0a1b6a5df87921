"""Images as zarr groups have them: what is there is described, what is wrong is named."""

import shutil

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES

from ozx.errors import FormatError
from ozx.store.image_view import GroupNodes, list_images, view_image, view_images
from ozx.store.lazy_views import PlatePicture, plate_fields


def fixture(name):
    return zarr.open_group(FIXTURES / f"{name}.ome.zarr", mode="r")


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("image", [""]),
        ("plate", ["A/1/0", "A/1/1", "A/2/0", "B/1/0", "B/2/0", "B/2/1"]),
        ("series", ["0", "1"]),
        ("legacy", [""]),
    ],
)
def test_images_of_the_fixtures(name, paths):
    group = fixture(name)
    assert list_images(group) == paths
    assert [view.path for view in view_images(group)] == paths


def test_an_image_in_full():
    view = view_image(fixture("image"))
    assert view.name == "Synthetic cells"
    assert [(axis.name, axis.type, axis.unit) for axis in view.axes][1] == ("y", "space", "micrometer")
    assert [(level.path, level.array.shape) for level in view.levels][2] == ("2", (2, 64, 64))
    assert (view.levels[1].scale, view.levels[1].translation) == ((1.0, 0.65, 0.65), (0.0, 0.1625, 0.1625))
    assert [channel.label for channel in view.channels] == ["Nuclei", "Cytoplasm"]
    assert (view.channel_axis, view.is_label, view.labels, view.notes) == (0, False, ("labels/cells",), ())


def test_labels_and_zarr_v2():
    view = view_image(fixture("legacy"), "labels/cells")
    assert view.is_label
    assert view.display.colors[1] == (107, 239, 115, 255)
    assert [channel.color for channel in view_image(fixture("legacy")).channels] == ["3A7BFF", "FFB000"]


def test_a_channel_axis_without_type_is_known_by_its_name():
    root = zarr.create_group({})
    multiscale = {"axes": [{"name": name} for name in "cyx"], "datasets": [{"path": "0"}]}
    root.attrs["ome"] = {"version": "0.5", "multiscales": [multiscale]}
    root.create_array("0", shape=(2, 4, 4), dtype="u1")
    assert view_image(root).channel_axis == 0
    assert view_image(root).levels[0].scale is None


def test_nodes_are_listed_when_a_hierarchy_does_not_list_its_images():
    root = zarr.create_group({})
    source = fixture("image")
    image = root.create_group("deep/image", attributes=dict(source.attrs))
    for path in "012":
        image.create_array(path, data=source[path][...])
    assert list_images(root) == ["deep/image"]
    nodes = GroupNodes(root)
    assert len(nodes) == 6
    assert nodes["deep/image/0"].node_type == "array"
    with pytest.raises(KeyError):
        nodes["deep/nothing"]


def test_files_that_are_no_nodes_are_passed_over_in_silence(tmp_path):
    shutil.copytree(FIXTURES / "series.ome.zarr", tmp_path / "series.ome.zarr")
    lister = zarr.open_group(tmp_path / "series.ome.zarr" / "OME", mode="r+")
    del lister.attrs["ome"]
    assert list_images(zarr.open_group(tmp_path / "series.ome.zarr", mode="r")) == ["0", "1"]


def test_a_node_that_zarr_refuses_while_all_are_listed(tmp_path):
    root = zarr.create_group(tmp_path / "a.zarr")
    root.create_group("0")
    (tmp_path / "a.zarr" / "0" / "zarr.json").write_text("{")
    with pytest.raises(FormatError, match="the hierarchy: zarr cannot open this node"):
        list_images(zarr.open_group(tmp_path / "a.zarr", mode="r"))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("9", "9: expected the group of an image, found nothing"),
        ("0", "0: expected the group of an image, found an array"),
        ("labels", "labels: expected an image, found a group of kind labels, without multiscales"),
    ],
)
def test_what_is_no_image(path, message):
    with pytest.raises(FormatError, match=message):
        view_image(fixture("image"), path)


def test_a_group_without_ome_metadata():
    with pytest.raises(FormatError, match="A: expected an image, found no ome metadata"):
        view_image(fixture("plate"), "A")


def make_plate(wells, rows=("A",), columns=("1", "2")):
    plate = {
        "rows": [{"name": name} for name in rows],
        "columns": [{"name": name} for name in columns],
        "wells": [{"path": path} for path in wells],
    }
    return zarr.create_group({}, attributes={"ome": {"version": "0.5", "plate": plate}})


def add_field(root, path, levels):
    well = root.create_group(path, attributes={"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})
    datasets = [{"path": str(number)} for number in range(levels)]
    multiscale = {"axes": [{"name": name} for name in "yx"], "datasets": datasets}
    image = well.create_group("0", attributes={"ome": {"version": "0.5", "multiscales": [multiscale]}})
    for number in range(levels):
        image.create_array(str(number), data=np.full((4, 4), 1 + number, "u1"))


def plate_of(root):
    return plate_fields(root, GroupNodes(root)[""].ome.plate)


def test_a_field_with_fewer_levels_than_the_first_is_named():
    root = make_plate(["A/1", "A/2"])
    add_field(root, "A/1", 2)
    add_field(root, "A/2", 1)
    picture = PlatePicture(plate_of(root), 1)
    assert picture[0:4, 0:4].tolist() == [[2] * 4] * 4
    with pytest.raises(FormatError, match="A/2/0: expected 2 axes and 2 levels as in A/1/0, found 2 and 1"):
        picture[0:4, 3:5]


def test_wells_outside_of_the_plate_and_plates_without_images():
    with pytest.raises(FormatError, match="C/1: expected a well at ROW/COLUMN"):
        plate_of(make_plate(["C/1"]))
    with pytest.raises(FormatError, match="expected a plate with at least one image, found none"):
        plate_of(make_plate(["A/1"]))


def test_a_plate_of_a_million_places_is_read_by_its_wells():
    root = make_plate(["R1/2"], [f"R{number}" for number in range(1000)], [str(number) for number in range(1000)])
    add_field(root, "R1/2", 1)
    fields = plate_of(root)
    assert fields.places(range(1000), range(1000)) == [(1, 2)]
    assert fields.places({1}, {2, 3}) == [(1, 2)]
    assert fields.places({0}, {2}) == []
    shown = PlatePicture(fields, 0)[::40, ::40]
    assert shown.shape == (100, 100)
    assert int(PlatePicture(fields, 0)[4:8, 8:12].sum()) == 16

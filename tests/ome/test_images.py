"""Images joined with their arrays."""

import json

from hierarchies import FIXTURES, group, tree

from ozx.ome.images import Records, describe_images, image_paths
from ozx.ome.nodes import NodeCollector
from ozx.zarr.keys import is_metadata_key


def nodes_of(name, **changes):
    values = {key: value for key, value in tree(FIXTURES / f"{name}.ome.zarr").items() if is_metadata_key(key)}
    values |= changes
    collector = NodeCollector()
    for key, value in values.items():
        if value is not None:
            collector.add(key, value)
    return collector.nodes()


def test_a_series_without_a_list_has_its_numbered_groups():
    nodes = nodes_of("series", **{"OME/zarr.json": None, "10/zarr.json": group(), "2/zarr.json": group()})
    assert list(image_paths(nodes)) == ["0", "1", "2", "10"]


def test_levels_of_other_dimensions_than_axes_are_noted():
    axes = [{"name": "y"}, {"name": "x"}]
    notes = []
    root = group(multiscales=[{"axes": axes, "datasets": [{"path": "0"}]}])
    describe_images(nodes_of("image", **{"zarr.json": root}), "", notes)
    assert notes == ["0: the array has 3 dimensions, but the image has 2 axes"]


def test_a_listed_image_that_is_none_is_noted():
    notes = []
    nodes = nodes_of("series", **{"0/zarr.json": None})
    assert describe_images(nodes, "0", notes) == describe_images(nodes, "OME", notes) == []
    assert notes == [
        "0: an image is listed here, but there is no node",
        "OME: an image is listed here, but the node has no multiscales",
    ]


def array(*names, shape=(4, 2)):
    return json.dumps({"zarr_format": 3, "node_type": "array", "shape": shape, "dimension_names": names}).encode()


def test_records_of_frames_have_the_axes_of_their_image():
    (image,) = describe_images(nodes_of("image"), "", [])
    assert image.records is None
    names = [axis.name for axis in image.axes[:-2]]
    shape = [4] * len(names)
    records = {
        "frames/zarr.json": group(),
        "frames/time/zarr.json": array(*names, shape=shape),
        "frames/other/zarr.json": array("q", shape=[4]),
        "frames/deep/x/zarr.json": array(*names, shape=shape),
        "framesx/zarr.json": array(*names, shape=shape),
    }
    (image,) = describe_images(nodes_of("image", **records), "", [])
    assert image.records == Records(("time",), 4 ** len(names))

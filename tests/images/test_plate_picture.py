"""Arrays that are read when they are sliced: a level in pieces, a plate by its wells."""

import numpy as np
import pytest
import zarr

from ozx.images.image import GroupNodes
from ozx.images.plate_picture import plate_fields
from ozx.store import level
from ozx.store.level import Level


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), slice(None)),
        (slice(3, 61, 7), slice(0, 64, 2)),
        (5, slice(None)),
        (slice(1, 64), 9),
        (slice(0, 64, 64), slice(2, 3)),
    ],
)
@pytest.mark.parametrize("most", [1, 3, 17])
def test_what_is_read_in_pieces_is_the_same(monkeypatch, key, most):
    data = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    whole = zarr.create_array({}, shape=(64, 64), chunks=(3, 5), dtype="uint16")
    whole[...] = data
    monkeypatch.setattr(level, "_MOST_CHUNKS", most)
    assert np.array_equal(Level(whole, "0")[key], data[key])


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
    nodes = GroupNodes(root)
    return plate_fields(nodes, nodes[""].ome.plate)


def test_a_plate_of_a_million_places_is_read_by_its_wells():
    root = make_plate(["R1/2"], [f"R{number}" for number in range(1000)], [str(number) for number in range(1000)])
    add_field(root, "R1/2", 1)
    fields = plate_of(root)
    assert fields.places(range(1000), range(1000)) == [(1, 2)]
    assert fields.places({1}, {2, 3}) == [(1, 2)]
    assert fields.places({0}, {2}) == []
    plate = fields.image().levels[0]
    shown = plate[::40, ::40]
    assert shown.shape == (100, 100)
    assert int(plate[4:8, 8:12].sum()) == 16

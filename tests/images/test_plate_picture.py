"""Arrays that are read when they are sliced: a level in pieces, a plate by its wells."""

import numpy as np
import pytest
import zarr
from pictures import add_image, new_plate

from ozx.images.image import GroupNodes
from ozx.images.plate_picture import opened_plate
from ozx.store import level
from ozx.store.level import Level


@pytest.mark.parametrize("key", [np.s_[:, :], np.s_[3:61:7, 0:64:2], np.s_[5, :], np.s_[1:64, 9], np.s_[0:64:64, 2:3]])
@pytest.mark.parametrize("most", [1, 3, 17])
def test_what_is_read_in_pieces_is_the_same(monkeypatch, key, most):
    data = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    monkeypatch.setattr(level, "_MOST_CHUNKS", most)
    assert np.array_equal(Level(zarr.create_array({}, data=data, chunks=(3, 5)), "0")[key], data[key])


def test_a_plate_of_a_million_places_is_read_by_its_wells():
    root = new_plate({"R1/2": 1}, [f"R{number}" for number in range(1000)], [str(number) for number in range(1000)])
    add_image(root["R1/2"].create_group("0"), [np.ones((4, 4), "u1")], "yx")
    nodes = GroupNodes(root)
    fields = opened_plate(nodes, nodes[""].ome.plate)
    assert fields.places(range(1000), range(1000)) == [(1, 2)]
    assert fields.places({1}, {2, 3}) == [(1, 2)]
    assert fields.places({0}, {2}) == []
    plate = fields.image().levels[0]
    shown = plate[::40, ::40]
    assert shown.shape == (100, 100)
    assert int(plate[4:8, 8:12].sum()) == 16

"""Arrays that would take days to read are refused at once, with what they would cost."""

import numpy as np
import pytest
import zarr
from hierarchies import multiscales
from pictures import add_image, new_group

from ozx.desktop.viewer.pictures import Pictures
from ozx.errors import OzxError, UnsupportedError
from ozx.images.thumbnail import draw_thumbnail
from ozx.operations.export import export


def huge(folder, side, chunk):
    """An image without any chunks."""
    root = zarr.create_group(folder, attributes={"ome": {"version": "0.5", "multiscales": multiscales("yx", "0")}})
    root.create_array("0", shape=(side, side), chunks=(chunk, chunk), dtype="uint8")
    return root


@pytest.mark.parametrize(
    ("side", "chunk"), [(1 << 62, 64), (1 << 62, 1 << 62), (1 << 20, 1), (1 << 13, 1), (1 << 20, 1 << 15)]
)
def test_export_names_the_price(tmp_path, side, chunk):
    huge(tmp_path / "a.zarr", side, chunk)
    with pytest.raises(UnsupportedError, match=r"the export would read .* chunks, which decode to") as caught:
        export(tmp_path / "a.zarr", tmp_path / "a.tif")
    assert "levels=" in caught.value.hint
    assert not (tmp_path / "a.tif").exists()


@pytest.mark.parametrize(("side", "chunk"), [(1 << 62, 64), (1 << 62, 1 << 62), (1 << 20, 1), (1 << 13, 1)])
def test_pictures_are_refused_at_once(tmp_path, side, chunk):
    root = huge(tmp_path / "a.zarr", side, chunk)
    picture = Pictures(root).image("")
    with pytest.raises(OzxError, match="would read"):
        picture.tile(len(picture.sizes) - 1, 0, 0, 0, [])
    with pytest.raises(OzxError, match=r"would read|small enough for a picture"):
        draw_thumbnail(root, 256)


def test_a_coarser_level_is_shown_where_the_best_one_costs_too_much():
    levels = [np.full((512 >> n, 512 >> n), n, "u1") for n in range(3)]
    group = add_image(new_group(), levels, "yx", chunks=(64, 64))
    attributes = dict(group["1"].attrs)
    del group["1"]
    level = group.create_array("1", shape=(256, 256), chunks=(1, 1), dtype="uint8", fill_value=1)
    level.attrs.update(attributes)
    assert draw_thumbnail(group, 256).level == "2"

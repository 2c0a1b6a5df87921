"""Files of many programs, each with its right answer: axes, sizes, names, and what is said of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import ozx

CASES = Path(os.environ.get("OZX_SAMPLES", "absent")) / "tiff-cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="OZX_SAMPLES names no folder with real files")
UM, NO = "micrometer", None


def described(name, tmp_path):
    """Return the result and the images of an imported file."""
    result = ozx.import_image(CASES / name, tmp_path / "out.ozx")
    return result, ozx.inspect(result.path).to_dict()["images"]


@pytest.mark.parametrize(
    ("name", "axes", "shape", "scale", "units", "channels"),
    [
        ("mm_plain_MMStack.tif", "tczyx", (2, 2, 4, 40, 48), (5, 1, 2, 0.65, 0.65), ("second", UM), ["DAPI", "GFP"]),
        ("modulo_flim_t.ome.tif", "tcyx", (16, 2, 40, 48), (1, 1, 1, 1), (NO, NO), None),
        ("modulo_only_t.ome.tif", "tyx", (8, 20, 24), (1, 1, 1), (NO, NO), None),
        ("lsm_stack.lsm", "czyx", (3, 3, 40, 48), (1, 0.5, 0.1, 0.1), (NO, UM), None),
        ("lsm_one_channel_planar1.lsm", "zyx", (3, 40, 48), (0.5, 0.1, 0.1), (UM, UM), None),
        ("stk_z.stk", "zyx", (4, 40, 48), (0.5, 0.65, 0.65), (UM, UM), None),
        ("fluoview.tif", "czyx", (2, 3, 40, 48), (1, 0.5, 0.25, 0.25), (NO, UM), None),
        ("fei_sem.tif", "yx", (40, 48), (0.0025, 0.0025), (UM, UM), None),
        ("res_64dpi.tif", "yx", (40, 48), (1, 1), (NO, NO), None),
        ("ij_unit_inch.tif", "yx", (40, 48), (1, 1), (NO, NO), None),
        ("svs_comma.svs", "cyx", (3, 256, 256), (1, 0.499, 0.499), (NO, UM), ["Red", "Green", "Blue"]),
        ("ome_no_tiffdata.ome.tif", "cyx", (3, 40, 48), (1, 0.5, 0.5), (NO, UM), ["DAPI", "GFP", "Cy5"]),
        ("ome_rgb_spp_missing.ome.tif", "cyx", (3, 40, 48), (1, 0.5, 0.5), (NO, UM), ["Red", "Green", "Blue"]),
        ("ome_2008.ome.tif", "cyx", (2, 40, 48), (1, 0.5, 0.5), (NO, UM), ["DAPI", "FITC"]),
        ("ome_unit_mojibake.ome.tif", "yx", (40, 48), (0.5, 0.5), (UM, UM), ["a"]),
        ("tifffile_3_slices.tif", "zyx", (3, 60, 70), (1, 1, 1), (NO, NO), ["Channel 0"]),
        ("ome_huge1.ome.tif", "yx", (300, 300), (1, 1), (NO, NO), None),
    ],
)
def test_axes_sizes_and_names_are_those_of_the_program(tmp_path, name, axes, shape, scale, units, channels):
    _, (image,) = described(name, tmp_path)
    full = image["levels"][0]
    assert "".join(axis["name"] for axis in image["axes"]) == axes
    assert tuple(full["shape"]) == shape
    assert full["scale"] == pytest.approx(scale)
    assert (image["axes"][0].get("unit"), image["axes"][-1].get("unit")) == units
    if channels is not None:
        assert [channel["label"] for channel in image["channels"]] == channels


@pytest.mark.parametrize("name", ["mm_positions_in_one_file_MMStack.tif", "mm_files/a_MMStack_Pos0.ome.tif"])
def test_positions_are_a_series(tmp_path, name):
    result, images = described(name, tmp_path)
    assert [tuple(image["levels"][0]["shape"]) for image in images] == [(2, 2, 4, 40, 48)] * 3
    assert [channel["label"] for channel in images[2]["channels"]] == ["DAPI", "GFP"]
    group = ozx.open(result.path)
    for position, t, z, c in ((0, 0, 0, 1), (1, 1, 3, 0), (2, 1, 2, 1)):
        plane = group[f"{position}/0"][t, c, z]
        assert np.unique(plane).tolist() == [1000 * position + 100 * t + 10 * z + c]


def test_a_colour_of_zero_is_no_black_channel(tmp_path):
    _, (image,) = described("ome_color_zero.ome.tif", tmp_path)
    assert "000000" not in [channel["color"] for channel in image["channels"]]


def test_what_is_not_used_is_noted(tmp_path):
    (tmp_path / "a").mkdir()
    result, _ = described("res_64dpi.tif", tmp_path / "a")
    assert "XResolution, 64 per inch, is not used" in result.notes[0]
    assert not any("has no pixel size" in note for note in result.notes)
    result, _ = described("ome_huge1.ome.tif", tmp_path)
    assert "the pixel size along y, 1e+308, cannot be true and is left out" in result.notes


def test_a_file_without_a_stored_tile_is_an_error(tmp_path):
    with pytest.raises(ozx.FormatError, match="none of its 12 strips or tiles is stored"):
        described("vips_interrupted_all_tiles_missing.tif", tmp_path)

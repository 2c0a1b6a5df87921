"""What ozx imports of the formats of microscopes equals what the libraries of each format read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import ozx

pytestmark = pytest.mark.ci
pytest.importorskip("openreadout")

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
VENDOR = Path(os.environ.get("OZX_SAMPLES", "absent")) / "vendor"


def arrays(path: Path, tmp_path: Path) -> list[np.ndarray]:
    """Return level 0 of each imported image, with the axes t, c, z, y, x."""
    group = ozx.open(ozx.import_image(path, tmp_path / "out.ozx", keep_singletons=True).path)
    if "multiscales" in group.attrs["ome"]:
        return [group["0"][:]]
    return [group[f"{number}/0"][:] for number in group["OME"].attrs["ome"]["series"]]


def sample(name: str) -> Path:
    if not (VENDOR / name).exists():
        pytest.skip("the folder that OZX_SAMPLES names lacks this file")
    return VENDOR / name


def test_czi_scenes_equal_those_of_pylibczirw(tmp_path):
    czi = pytest.importorskip("pylibCZIrw.czi")
    with czi.open_czi(str(FORMATS / "scenes.czi")) as file:
        for scene, pixels in enumerate(arrays(FORMATS / "scenes.czi", tmp_path)):
            for t, c, z in np.ndindex(pixels.shape[:3]):
                plane = file.read(plane={"T": t, "C": c, "Z": z}, scene=scene)
                assert np.array_equal(pixels[t, c, z], plane[..., 0])


def test_czi_mosaic_equals_that_of_pylibczirw(tmp_path):
    czi = pytest.importorskip("pylibCZIrw.czi")
    with czi.open_czi(str(FORMATS / "mosaic.czi")) as file:
        (pixels,) = arrays(FORMATS / "mosaic.czi", tmp_path)
        assert np.array_equal(pixels[0, 0, 0], file.read(plane={"C": 0})[..., 0])


def test_imaris_file_equals_that_of_h5py(tmp_path):
    h5py = pytest.importorskip("h5py")
    (pixels,) = arrays(FORMATS / "levels.ims", tmp_path)
    with h5py.File(FORMATS / "levels.ims") as file:
        for t, c in np.ndindex(pixels.shape[:2]):
            stored = file[f"DataSet/ResolutionLevel 0/TimePoint {t}/Channel {c}/Data"]
            assert np.array_equal(pixels[t, c], stored)


def test_nd2_file_equals_that_of_nd2(tmp_path):
    nd2 = pytest.importorskip("nd2")
    path = sample("cluster.nd2")
    (pixels,) = arrays(path, tmp_path)
    with nd2.ND2File(path) as file:
        assert file.sizes == {"T": 3, "Z": 10, "C": 2, "Y": 31, "X": 38}
        assert np.array_equal(pixels, file.asarray().swapaxes(1, 2))
        size = file.voxel_size()
        names = [channel.channel.name for channel in file.metadata.channels]
    image = ozx.inspect(tmp_path / "out.ozx").to_dict()["images"][0]
    assert image["levels"][0]["scale"][2:] == pytest.approx([size.z, size.y, size.x])
    assert [channel["label"] for channel in image["channels"]] == names


def test_lif_file_equals_that_of_liffile(tmp_path):
    liffile = pytest.importorskip("liffile")
    path = sample("leica-wavelength-sweep.lif")
    emission, excitation, stack = arrays(path, tmp_path)
    with liffile.LifFile(path) as file:
        first, second, third = (image.asarray() for image in file.images)
        assert np.array_equal(emission[0, :, 0], first)
        assert np.array_equal(excitation[0, :, 0], second)
        dims = file.images[2].dims
        assert np.array_equal(stack, third.transpose([dims.index(axis) for axis in ("T", "λ", "Z", "Y", "X")]))

"""A result is true only if what was asked for is done: ``if ozx.validate(path):`` asks whether the file is valid."""

import numpy as np
import tifffile
from hierarchies import FIXTURES
from packed import pack_tree

import ozx

IMAGE = FIXTURES / "image.ome.zarr"


def test_results_of_packing_are_true_unless_one_failed(tmp_path):
    assert ozx.pack(IMAGE, tmp_path / "a.ozx", sync=False)
    result = ozx.pack_many([IMAGE, tmp_path / "none.zarr"], out_dir=tmp_path / "out", sync=False)
    assert not result
    assert [bool(one) for one in result.results] == [True, False]
    assert ozx.pack_many([IMAGE], out_dir=tmp_path / "others", sync=False)


def test_results_of_importing_are_true_unless_one_failed(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((8, 8), "uint8"))
    (tmp_path / "b.tif").write_bytes(b"no image")
    result = ozx.import_images([tmp_path / "a.tif", tmp_path / "b.tif"], out_dir=tmp_path / "out", sync=False)
    assert not result
    assert [bool(one) for one in result.results] == [True, False]


def test_a_recovery_is_true_only_if_it_is_complete(tmp_path):
    packed = pack_tree(IMAGE, tmp_path / "a.ozx")
    assert ozx.recover(packed, tmp_path / "b.ozx", sync=False)
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    assert not ozx.recover(packed, tmp_path / "c.ozx", sync=False)

"""OME-Zarr 0.4 by other programs, repacked: ome-zarr-models and ngff-zarr open images, labels and plates."""

# ruff: noqa: PLC0415 (the packages may be absent)

import numpy as np
import pytest
import zarr
from hierarchies import FIXTURES
from judges import Package, require
from ome_zarr_models import open_ome_zarr

import ozx

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]


def data():
    return np.random.default_rng(0).integers(0, 999, (2, 80, 90)).astype("u2")


def write_image(root):
    from ome_zarr import format as formats
    from ome_zarr import writer

    group = zarr.open_group(str(root), mode="w", zarr_format=2)
    options = {"axes": "cyx", "fmt": formats.FormatV04(), "storage_options": {"chunks": (1, 32, 32)}}
    writer.write_image(data(), group, **options)
    writer.write_labels((data() > 500).astype("u1"), group, "cells", **options)
    return [""], ["labels/cells"]


def write_plate(root):
    from ome_zarr import format as formats
    from ome_zarr import writer

    form = formats.FormatV04()
    group = zarr.open_group(str(root), mode="w", zarr_format=2)
    writer.write_plate_metadata(group, ["A", "B"], ["1"], ["A/1", "B/1"], fmt=form)
    for name in ("A/1", "B/1"):
        well = group.require_group(name)
        writer.write_well_metadata(well, ["0"], fmt=form)
        writer.write_image(data(), well.require_group("0"), axes="cyx", fmt=form)
    return ["A/1/0", "B/1/0"], []


def write_by_ngff_zarr(root):
    import ngff_zarr

    image = ngff_zarr.to_ngff_image(data(), dims=["c", "y", "x"], scale={"c": 1, "y": 0.5, "x": 0.5})
    ngff_zarr.to_ngff_zarr(str(root), ngff_zarr.to_multiscales(image, scale_factors=[2], chunks=32), version="0.4")
    return [""], []


def take_fixture(root):
    root.symlink_to(FIXTURES / "legacy.ome.zarr")
    return [""], ["labels/cells"]


@pytest.mark.parametrize("shards", ["keep", "auto"])
@pytest.mark.parametrize("write", [write_image, write_plate, write_by_ngff_zarr, take_fixture])
def test_others_open_what_was_0_4(tmp_path, write, shards):
    for name in ("ngff_zarr", "ome_zarr"):
        require(Package(name))
    import ngff_zarr

    images, labels = write(tmp_path / "old")
    result = ozx.repack(tmp_path / "old", tmp_path / "new.ozx", shards=shards)
    assert result.upgraded
    assert ozx.validate(tmp_path / "new.ozx").valid
    old, new = zarr.open_group(tmp_path / "old", mode="r"), ozx.open(tmp_path / "new.ozx")
    assert open_ome_zarr(new).attributes.ome.version == "0.5"
    for path in [*images, *labels]:
        model = open_ome_zarr(new[path] if path else new)
        datasets = model.attributes.ome.multiscales[0].datasets
        found = ngff_zarr.from_ome_zarr(f"{tmp_path}/new.ozx{'/' if path else ''}{path}").images
        assert len(found) == len(datasets)
        for dataset, image in zip(datasets, found, strict=True):
            level = f"{path}/{dataset.path}" if path else dataset.path
            np.testing.assert_array_equal(np.asarray(image.data), old[level][...])
            np.testing.assert_array_equal(new[level][...], old[level][...])

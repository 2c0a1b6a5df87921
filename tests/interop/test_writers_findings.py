"""What other programs write gets the findings that it deserves, and no others."""

# ruff: noqa: PLC0415 (the packages may be absent)

from collections import Counter

import numpy as np
import pytest
import zarr
from judges import Package, require
from zarr.storage import ZipStore

import ozx

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]

DATA = np.random.default_rng(0).integers(1, 999, (2, 3, 100, 140)).astype("uint16")

# No ZIP64 structure is used, which RFC-9 recommends irrespective of size.
CLASSIC = {"rfc9/zip64": "warning"}
# The arrays are small, but of several chunks.
SMALL_CHUNKS = {"rfc9/sharding": "note"}


def found(path):
    """Return the findings: ids and severities; how often is told apart where it is not once."""
    findings = ozx.validate(path).findings
    counts = Counter(finding.id for finding in findings)
    return {finding.id: finding.severity for finding in findings}, {rule: n for rule, n in counts.items() if n > 1}


def write_by_ngff_zarr(path, **options):
    import ngff_zarr

    units = dict.fromkeys("zyx", "micrometer")
    scale = {"c": 1.0, "z": 2.0, "y": 0.5, "x": 0.5}
    image = ngff_zarr.to_ngff_image(DATA, dims=["c", "z", "y", "x"], scale=scale, axes_units=units)
    multiscales = ngff_zarr.to_multiscales(image, scale_factors=[{"z": 1, "y": 2, "x": 2}], chunks=64)
    ngff_zarr.to_ngff_zarr(str(path), multiscales, **options)


def test_ngff_zarr_into_a_directory(tmp_path):
    require(Package("ngff_zarr"))
    write_by_ngff_zarr(tmp_path / "a.zarr", version="0.5")
    assert found(tmp_path / "a.zarr") == (SMALL_CHUNKS, {})


def test_ngff_zarr_into_a_file(tmp_path):
    require(Package("ngff_zarr"))
    write_by_ngff_zarr(tmp_path / "a.ozx", version="0.5")
    assert found(tmp_path / "a.ozx") == (CLASSIC, {})


def test_ngff_zarr_and_0_4(tmp_path):
    require(Package("ngff_zarr"))
    write_by_ngff_zarr(tmp_path / "a.zarr", version="0.4")
    assert found(tmp_path / "a.zarr") == ({"rfc9/root": "note"}, {})


def write_by_bioio(store):
    from bioio_ome_zarr.writers import Channel, OMEZarrWriter

    writer = OMEZarrWriter(
        store=store,
        level_shapes=[(2, 3, 100, 140), (2, 3, 50, 70)],
        dtype="uint16",
        zarr_format=3,
        axes_names=["c", "z", "y", "x"],
        axes_types=["channel", "space", "space", "space"],
        axes_units=[None, "micrometer", "micrometer", "micrometer"],
        physical_pixel_size=[1, 2, 0.5, 0.5],
        chunk_shape=(1, 1, 32, 32),
        shard_shape=(1, 1, 64, 64),
        channels=[Channel(label="a", color="FF0000"), Channel(label="b", color="00FF00")],
    )
    writer.write_full_volume(DATA)
    writer.close()


def test_bioio_into_a_directory(tmp_path):
    require(Package("bioio_ome_zarr"))
    write_by_bioio(str(tmp_path / "a.zarr"))
    # It does not say how it makes the smaller level.
    assert found(tmp_path / "a.zarr") == ({"ome/downscaling": "note"}, {})


def test_bioio_into_a_file(tmp_path):
    require(Package("bioio_ome_zarr"))
    write_by_bioio(str(tmp_path / "a.ozx"))
    # It writes every shard once for each of its chunks: entries of the same name.
    expected = {"zip/duplicate-name": "error", "ome/downscaling": "note"} | CLASSIC
    findings, counts = found(tmp_path / "a.ozx")
    assert findings == expected
    assert counts.keys() == {"zip/duplicate-name"}


def test_iohub_writes_images(tmp_path):
    require(Package("iohub", "0.3"))
    from iohub.ngff import open_ome_zarr

    with open_ome_zarr(tmp_path / "a.zarr", layout="fov", mode="w", channel_names=["a", "b"], version="0.5") as image:
        image["0"] = DATA[None]
    assert found(tmp_path / "a.zarr") == (SMALL_CHUNKS, {})


def test_iohub_writes_plates(tmp_path):
    require(Package("iohub", "0.3"))
    from iohub.ngff import open_ome_zarr

    with open_ome_zarr(tmp_path / "a.zarr", layout="hcs", mode="w", channel_names=["a", "b"], version="0.5") as plate:
        for well in ("1", "2"):
            plate.create_position("A", well, "0")["0"] = DATA[None]
    # The plate and its acquisition have no names, nor do they say how many fields there are.
    expected = {"ome/plate-description": "warning"} | SMALL_CHUNKS
    assert found(tmp_path / "a.zarr") == (expected, {"ome/plate-description": 2})


def test_the_zip_store_of_zarr(tmp_path):
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
    steps = [{"type": "scale", "scale": [1.0, 1.0]}]
    image = {"name": "a", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": steps}]}
    with ZipStore(tmp_path / "a.ozx", mode="w") as store:
        group = zarr.create_group(store, attributes={"ome": {"version": "0.5", "multiscales": [image]}})
        options = {"shape": (64, 64), "chunks": (32, 32), "dtype": "uint16", "dimension_names": ["y", "x"]}
        group.create_array("0", **options)[...] = 1
        group.attrs["later"] = "written twice"
    expected = {"zip/duplicate-name": "error", "rfc9/breadth-first": "warning", "rfc9/comment": "warning"}
    assert found(tmp_path / "a.ozx") == (expected | CLASSIC | SMALL_CHUNKS, {})

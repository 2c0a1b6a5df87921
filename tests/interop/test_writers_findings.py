"""What other programs write gets the findings that it deserves, and no others."""

# ruff: noqa: PLC0415 (the packages may be absent)

from collections import Counter
from functools import partial

import numpy as np
import pytest
import zarr
from hierarchies import multiscales
from judges import Package, require
from writers import write_by_bioio
from zarr.storage import ZipStore

import ozx

pytestmark = [pytest.mark.ci, pytest.mark.filterwarnings("ignore")]

DATA = np.random.default_rng(0).integers(1, 999, (2, 3, 100, 140)).astype("uint16")


def by_ngff_zarr(path, version):
    import ngff_zarr

    units = dict.fromkeys("zyx", "micrometer")
    scale = {"c": 1.0, "z": 2.0, "y": 0.5, "x": 0.5}
    image = ngff_zarr.to_ngff_image(DATA, dims=["c", "z", "y", "x"], scale=scale, axes_units=units)
    scaled = ngff_zarr.to_multiscales(image, scale_factors=[{"z": 1, "y": 2, "x": 2}], chunks=64)
    ngff_zarr.to_ngff_zarr(path, scaled, version=version)


def by_bioio(path):
    write_by_bioio(path, DATA)


def by_iohub(path, layout):
    from iohub.ngff import open_ome_zarr

    with open_ome_zarr(path, layout=layout, mode="w", channel_names=["a", "b"], version="0.5") as root:
        images = [root] if layout == "fov" else [root.create_position("A", well, "0") for well in ("1", "2")]
        for image in images:
            image["0"] = DATA[None]


def by_zip_store(path):
    image = multiscales("yx", "0", unit="micrometer", name="a")
    with ZipStore(path, mode="w") as store:
        group = zarr.create_group(store, attributes={"ome": {"version": "0.5", "multiscales": image}})
        options = {"shape": (64, 64), "chunks": (32, 32), "dtype": "uint16", "dimension_names": ["y", "x"]}
        group.create_array("0", **options)[...] = 1
        group.attrs["later"] = "written twice"


NGFF_ZARR, BIOIO, IOHUB, ZARR = (
    Package("ngff_zarr"),
    Package("bioio_ome_zarr"),
    Package("iohub", "0.3"),
    Package("zarr"),
)
# No ZIP64 structure is used, which RFC-9 recommends irrespective of size.
CLASSIC = {"rfc9/zip64": "warning"}
# The arrays are small, but of several chunks.
SMALL_CHUNKS = {"rfc9/sharding": "note"}
# bioio does not say how it makes the smaller level.
UNSAID = {"ome/downscaling": "note"}
TWICE = {"zip/duplicate-name": "error"}
ORDER = {"rfc9/breadth-first": "warning", "rfc9/comment": "warning"}


@pytest.mark.parametrize(
    ("package", "write", "ending", "expected", "repeated"),
    [
        pytest.param(NGFF_ZARR, partial(by_ngff_zarr, version="0.5"), "zarr", SMALL_CHUNKS, set(), id="ngff-zarr"),
        pytest.param(NGFF_ZARR, partial(by_ngff_zarr, version="0.5"), "ozx", CLASSIC, set(), id="ngff-zarr, a file"),
        pytest.param(NGFF_ZARR, partial(by_ngff_zarr, version="0.4"), "zarr", {"rfc9/root": "note"}, set(), id="0.4"),
        pytest.param(BIOIO, by_bioio, "zarr", UNSAID, set(), id="bioio"),
        # It writes every shard once for each of its chunks.
        pytest.param(BIOIO, by_bioio, "ozx", TWICE | UNSAID | CLASSIC, {"zip/duplicate-name"}, id="bioio, a file"),
        pytest.param(IOHUB, partial(by_iohub, layout="fov"), "zarr", SMALL_CHUNKS, set(), id="iohub"),
        pytest.param(
            IOHUB,
            partial(by_iohub, layout="hcs"),
            "zarr",
            # The plate and its acquisition have no names, nor do they say how many fields there are.
            {"ome/plate-description": "warning"} | SMALL_CHUNKS,
            {"ome/plate-description"},
            id="iohub, a plate",
        ),
        pytest.param(
            Package("zarr"), by_zip_store, "ozx", TWICE | ORDER | CLASSIC | SMALL_CHUNKS, set(), id="ZipStore"
        ),
    ],
)
def test_what_others_write_has_these_findings(tmp_path, package, write, ending, expected, repeated):
    require(package)
    write(f"{tmp_path}/a.{ending}")
    findings = ozx.validate(f"{tmp_path}/a.{ending}").findings
    assert {finding.id: finding.severity for finding in findings} == expected
    assert {rule for rule, number in Counter(finding.id for finding in findings).items() if number > 1} == repeated

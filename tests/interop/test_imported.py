"""Other programs open what `ozx import` makes, with the right pixels, axes, scales and channels."""

# ruff: noqa: PLC0415 (the packages may be absent)

import numpy as np
import pytest
import tensorstore
import zarr
from ome_zarr_models.v05 import HCS, Image
from test_ome_readers import needs, package  # noqa: F401 (a fixture)
from tiffs import ome_image, ome_xml, pixels, write_ome
from zarr.storage import FsspecStore

import ozx

pytestmark = [
    pytest.mark.ci,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ome_zarr|bioio|ngff_zarr|skimage|s3fs|ome_types|itkwasm"),
]

SHAPE = (2, 3, 4, 300, 280)


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imported")
    attributes = 'PhysicalSizeX="0.5" PhysicalSizeY="0.25" PhysicalSizeZ="2" TimeIncrement="3"'
    channels = "".join(f'<Channel ID="Channel:0:{n}" Name="{name}"/>' for n, name in enumerate(["DAPI", "GFP", "RFP"]))
    xml = ome_xml(ome_image(size=SHAPE, attributes=attributes, inside=channels))
    # XYZCT, so that the planes are in OME order.
    ozx.import_image(write_ome(folder / "a.ome.tif", xml, pixels(SHAPE)), folder / "a.ozx", sync=False)
    return folder / "a.ozx"


def test_zarr_and_tensorstore(imported):
    group = zarr.open_group(ozx.OzxStore(imported), mode="r")
    np.testing.assert_array_equal(group["0"][:], pixels(SHAPE))
    spec = {"driver": "zarr3", "kvstore": f"file://{imported}|zip:0/"}
    for level in ("0", "1"):
        spec["kvstore"] = f"file://{imported}|zip:{level}/"
        found = tensorstore.open(spec, read=True).result()
        np.testing.assert_array_equal(found.read().result(), group[level][:])


def test_ome_zarr_models(imported, tmp_path):
    image = Image.from_zarr(ozx.open(imported))
    (multiscale,) = image.ome_attributes.multiscales
    assert [axis.name for axis in multiscale.axes] == list("tczyx")
    assert multiscale.datasets[0].coordinateTransformations[0].scale == [3.0, 1.0, 2.0, 0.25, 0.5]
    images = "".join(ome_image(n, planes=f'<TiffData IFD="{n}" PlaneCount="1"/>') for n in range(2))
    wells = "".join(
        f'<Well ID="W{n}" Row="{n}" Column="0"><WellSample ID="S{n}"><ImageRef ID="Image:{n}"/></WellSample></Well>'
        for n in range(2)
    )
    path = write_ome(tmp_path / "p.ome.tif", ome_xml(images, f'<Plate ID="P">{wells}</Plate>'), pixels((2, 30, 40)))
    plate = HCS.from_zarr(ozx.open(ozx.import_image(path, sync=False).path))
    assert [well.path for well in plate.ome_attributes.plate.wells] == ["A/1", "B/1"]


@needs("ngff_zarr")
def test_ngff_zarr(package, imported):  # noqa: F811
    import ngff_zarr

    multiscales = ngff_zarr.from_ome_zarr(imported, validate=True)
    image = multiscales.images[0]
    np.testing.assert_array_equal(np.asarray(image.data), pixels(SHAPE))
    assert (image.dims, image.scale["z"], image.axes_units["z"]) == (tuple("tczyx"), 2.0, "micrometer")
    assert [channel.label for channel in multiscales.metadata.omero.channels] == ["DAPI", "GFP", "RFP"]


@needs("ome_zarr")
def test_ome_zarr(package, imported):  # noqa: F811
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    store = FsspecStore.from_url(f"ozx://{imported}", read_only=True)
    (image,) = [found for found in Reader(parse_url(store))() if found.data]
    assert [axis["name"] for axis in image.metadata["axes"]] == list("tczyx")
    assert image.metadata["channel_names"] == ["DAPI", "GFP", "RFP"]
    np.testing.assert_array_equal(np.asarray(image.data[0]), pixels(SHAPE))


@needs("bioio_ome_zarr")
def test_bioio(package, imported):  # noqa: F811
    from bioio_ome_zarr import Reader

    reader = Reader(imported)
    np.testing.assert_array_equal(reader.data, pixels(SHAPE))
    assert reader.channel_names == ["DAPI", "GFP", "RFP"]
    assert reader.physical_pixel_sizes == (2.0, 0.25, 0.5)

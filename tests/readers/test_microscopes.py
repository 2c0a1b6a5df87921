"""CZI, ND2, LIF and IMS files as images: pixels, sizes, names, places; and damaged ones."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import zarr
from extracts import ome
from packed import values_of

import ozx
from ozx.images.description import ImageDescription
from ozx.images.pixel_source import ArraySource
from ozx.readers import registry
from ozx.readers.images import FileSet, Images, ReadingOptions
from ozx.readers.registry import open_images

FORMATS = Path(__file__).parents[2] / "fixtures" / "formats"
pytest.importorskip("openreadout")


def pixels(image: int = 0, *, shape: tuple[int, ...] = (2, 2, 3, 12, 16)) -> np.ndarray:
    """Return the pixels that make_formats.py wrote."""
    t, c, z, y, x = np.indices(shape)
    return (10_000 * image + 1_000 * t + 500 * c + 200 * z + 10 * y + x).astype("uint16")


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a file, and returns the result and the opened group."""

    def work(name: str, **options):
        result = ozx.import_image(FORMATS / name, tmp_path / f"{name}.ozx", **options)
        return result, ozx.open(result.path)

    return work


def test_scenes_become_a_series_with_their_places(imported):
    result, group = imported("scenes.czi")
    assert (result.images, result.notes) == (2, ())
    for scene in range(2):
        assert np.array_equal(group[f"{scene}/0"][:], pixels(scene))
        (multiscale,) = ome(result.path, str(scene))["multiscales"]
        assert [axis["name"] for axis in multiscale["axes"]] == ["t", "c", "z", "y", "x"]
        assert [axis.get("unit") for axis in multiscale["axes"][2:]] == ["micrometer"] * 3
        scale, *moved = multiscale["datasets"][0]["coordinateTransformations"]
        assert scale["scale"] == [1, 1, 1, 0.2, 0.2]
        assert [each["translation"] for each in moved] == ([] if scene == 0 else [[0, 0, 0, 4, 8]])
        names = [channel["label"] for channel in ome(result.path, str(scene))["omero"]["channels"]]
        assert names == ["DAPI", "GFP"]


def test_mosaic_is_one_image(imported):
    result, group = imported("mosaic.czi")
    assert result.images == 1
    assert np.array_equal(group["0"][:], pixels(shape=(1, 1, 1, 12, 16))[0, 0, 0])


def test_imaris_levels_are_used_if_asked(imported):
    result, group = imported("levels.ims", reuse_levels=True)
    assert np.array_equal(group["0"][:], pixels())
    assert np.array_equal(group["1"][:], pixels()[..., ::2, ::2])
    omero = ome(result.path)["omero"]["channels"]
    assert [(each["label"], each["color"]) for each in omero] == [("DAPI", "0000FF"), ("GFP", "00FF00")]
    axes = ome(result.path)["multiscales"][0]["axes"]
    scale = ome(result.path)["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"]
    assert axes[0]["unit"] == "second"
    assert scale == pytest.approx([20, 1, 1.5, 0.3, 0.3])


def test_metadata_of_the_vendor_is_kept(imported):
    result, _ = imported("scenes.czi")
    values = values_of(result.path)
    vendor = json.loads(values["OME/vendor.json"])
    assert vendor["ImageDocument"]["Metadata"]["Information"]["Image"]["SizeT"] == 2
    assert b"Scene 1" in values["OME/METADATA.ome.xml"]
    assert ozx.validate(result.path).valid


def test_same_file_gives_the_same_bytes_from_any_folder(tmp_path):
    shutil.copy(FORMATS / "scenes.czi", tmp_path)
    first = ozx.import_image(FORMATS / "scenes.czi", tmp_path / "a.ozx")
    second = ozx.import_image(tmp_path / "scenes.czi", tmp_path / "b.ozx")
    assert Path(first.path).read_bytes() == Path(second.path).read_bytes()


def test_one_image_of_several(imported):
    result, group = imported("scenes.czi", series=1)
    assert np.array_equal(group["0"][:], pixels(1))
    with pytest.raises(ozx.UsageError, match="from 0 to 1; got 2"):
        ozx.import_image(FORMATS / "scenes.czi", result.path, series=2, force=True)


def test_blocks_are_read_by_threads_and_by_other_processes():
    with open_images(str(FORMATS / "levels.ims")) as found:
        source = found.images[0].sources[0]
        parts = [(slice(t, t + 1), slice(0, 2), slice(1, 3), slice(2, 9), slice(5, 16)) for t in (0, 1)] * 20
        with ThreadPoolExecutor(4) as pool:
            for part, block in zip(parts, pool.map(source.read, parts), strict=True):
                assert np.array_equal(block, pixels()[part])
        again = pickle.loads(pickle.dumps(source))
        assert np.array_equal(again.read(parts[1]), pixels()[parts[1]])


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path):
    path = shutil.copy(FORMATS / "scenes.czi", tmp_path)
    with open_images(str(path)) as found:
        with open(path, "ab") as file:
            file.write(b"more")
        with pytest.raises(ozx.FormatError, match="changed"):
            found.files.check_unchanged()


@pytest.mark.parametrize("length", [600, 9_000, 18_500])
def test_cut_off_file_is_an_error_or_says_what_is_lost(tmp_path, length):
    path = tmp_path / "cut.czi"
    path.write_bytes((FORMATS / "scenes.czi").read_bytes()[:length])
    with pytest.raises(ozx.FormatError, match=r"cut off or damaged|cannot be read"):
        ozx.import_image(path)
    assert list(tmp_path.iterdir()) == [path]
    if length == 18_500:
        result = ozx.import_image(path, on_error="fill")
        assert "no subblock for image 1" in " ".join(result.damage)
        group = ozx.open(result.path)
        assert np.array_equal(group["0/0"][:], pixels(0))
        assert not group["1/0"][1, 1, 2].any()


def test_every_cut_and_every_changed_byte_of_the_head_ends_in_an_answer(tmp_path):
    whole = (FORMATS / "mosaic.czi").read_bytes()
    path, out = tmp_path / "damaged.czi", tmp_path / "out.ozx"
    for at in range(0, len(whole), 97):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            path.write_bytes(damaged)
            try:
                ozx.import_image(path, out, force=True)
            except (ozx.OzxError, OSError):
                continue


def test_axes_cannot_be_named_otherwise():
    with pytest.raises(ozx.UsageError, match="axes of Zeiss CZI files are known"):
        ozx.import_image(FORMATS / "scenes.czi", axes="tczyx")


def test_without_the_extra_the_message_names_the_command(tmp_path, monkeypatch):
    path = shutil.copy(FORMATS / "scenes.czi", tmp_path)
    monkeypatch.setitem(sys.modules, "openreadout", None)
    with pytest.raises(ozx.ResourceError, match=r"reading a CZI file .* needs the extra formats") as caught:
        ozx.import_image(path)
    assert caught.value.hint.startswith('Install it: pip install "ozx-toolkit[formats]". Or convert it')


def test_closed_images_keep_no_file_open(tmp_path):
    path = tmp_path / "a & b.czi"
    shutil.copy(FORMATS / "scenes.czi", path)
    with open_images(str(path)) as found:
        found.images[0].sources[0].read((slice(0, 1),) * 5)
        assert str(tmp_path) not in found.ome_xml
        assert "a &amp; b.czi" in found.ome_xml
        handle = found.images[0].sources[0]._file
    assert handle.closed


def test_other_hdf5_files_are_refused(tmp_path):
    path = tmp_path / "table.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(2_000))
    with pytest.raises(ozx.FormatError, match=r"no image in this file|cannot be read"):
        ozx.import_image(path)


def test_another_package_adds_a_reader(tmp_path, monkeypatch):
    path = tmp_path / "a.example"
    path.write_bytes(b"EXAMPLE")
    added = EntryPoint("example", f"{__name__}:Example", "ozx.readers")
    monkeypatch.setattr(registry, "_entry_points", lambda: [added])
    registry._readers.cache_clear()
    try:
        result = ozx.import_image(path)
    finally:
        registry._readers.cache_clear()
    assert zarr.open_group(ozx.OzxStore(result.path), mode="r")["0"][:].tolist() == [[1, 2], [3, 4]]


class Example:
    """A reader of another package."""

    def sniff(self, head: bytes, path: str) -> bool:
        return head.startswith(b"EXAMPLE")

    def open(self, path: str, options: ReadingOptions) -> Images:
        files = FileSet()
        files[path].close()
        source = ArraySource(np.array([[1, 2], [3, 4]], "uint8"), ("y", "x"))
        return Images(path, {0: ImageDescription("example", sources=(source,))}, 1, files)

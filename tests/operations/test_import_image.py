"""TIFF files become .ozx files: level 0 as tifffile reads it, metadata field by field, and nothing half-done."""

import os
import sys

import numpy as np
import pytest
import tifffile
from counting_progress import ActingProgress
from tiffs import (
    damage_segment,
    expected,
    file_data,
    in_ome_order,
    needs_samples,
    ome_image,
    ome_xml,
    pixels,
    sample,
    write,
    write_ome,
    write_parts,
    write_pyramid,
)

import ozx
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.operations import import_image as import_module
from ozx.readers.imported import first_source
from ozx.readers.registry import open_images
from ozx.readers.tiff import segments as tiff_segments


def imported(path, out=None, **options):
    """Import a file, and return the group, after asking the validator."""
    out = path.with_name("out.ozx") if out is None else out
    result = ozx.import_image(path, out, sync=False, force=True, **options)
    assert result.status == "imported"
    report = ozx.validate(out, profile="strict")
    assert not [finding for finding in report.findings if finding.severity != "note"], report.findings
    inspection = ozx.inspect(out)
    assert (result.entries, result.bytes, result.images) == (
        inspection.entries,
        out.stat().st_size,
        inspection.image_count,
    )
    return ozx.open(out)


def ome(group):
    return group.attrs["ome"]


def multiscale(group):
    (found,) = ome(group)["multiscales"]
    return found


def axes(group):
    return "".join(axis["name"] for axis in multiscale(group)["axes"])


def scales(group, level=0):
    return multiscale(group)["datasets"][level]["coordinateTransformations"][0]["scale"]


def units(group):
    return {axis["name"]: axis.get("unit") for axis in multiscale(group)["axes"]}


def check_pixels(group, path, **which):
    array, letters = expected(path, **which)
    np.testing.assert_array_equal(group["0"][:], in_ome_order(array, letters))


FILES = {
    "tiled": lambda path: write(path, pixels((700, 900)), tile=(256, 256), compression="zlib"),
    "striped": lambda path: write(path, pixels((700, 900)), rowsperstrip=10, compression="lzw", predictor=True),
    "plain": lambda path: write(path, pixels((700, 900))),
    "big-endian": lambda path: write(path, pixels((700, 900)), options={"byteorder": ">", "bigtiff": True}),
    "channels": lambda path: write(path, pixels((3, 600, 500)), tile=(128, 128), metadata={"axes": "CYX"}),
    "picture": lambda path: write(path, pixels((600, 500, 3), "u1"), photometric="rgb", tile=(128, 128)),
    "planar": lambda path: write(path, pixels((3, 600, 500), "u1"), photometric="rgb", planarconfig="separate"),
    "mask": lambda path: write(path, pixels((600, 500), "?")),
    "floats": lambda path: write(path, pixels((600, 500), "f4"), compression="zlib", predictor=3),
    "halves": lambda path: write(path, pixels((600, 500), "f2")),
    "signed": lambda path: write(path, pixels((600, 500), "i2")),
    "64 bits": lambda path: write(path, pixels((600, 500), "u8")),
    "volume": lambda path: write(path, pixels((40, 300, 300)), volumetric=True, tile=(16, 64, 64)),
    "five": lambda path: write(path, pixels((2, 3, 2, 300, 280)), metadata={"axes": "TZCYX"}, compression="zlib"),
}


@pytest.mark.parametrize("kind", FILES)
def test_level_0_is_what_tifffile_reads(tmp_path, kind):
    path = FILES[kind](tmp_path / ("a.ome.tif" if kind in ("channels", "five") else "a.tif"))
    group = imported(path)
    check_pixels(group, path)
    assert "1" in group


def test_each_tile_is_decoded_once_over_the_whole_import(tmp_path, monkeypatch):
    decoded = []
    read = tiff_segments.SegmentReader.read
    monkeypatch.setattr(
        tiff_segments.SegmentReader,
        "read",
        lambda *given: (decoded.append((given[1].index, given[2])), read(*given))[1],
    )
    for number, common in enumerate([{"tile": (208, 208)}, {"rowsperstrip": 100}]):
        decoded.clear()
        path = write(tmp_path / f"{number}.ome.tif", pixels((2, 1500, 1700)), compression="zlib", **common)
        imported(path)
        assert len(decoded) == len(set(decoded))


DESCRIBED = ome_image(
    size=(2, 2, 3, 30, 40),
    attributes=(
        'PhysicalSizeX="0.5" PhysicalSizeY="0.25" PhysicalSizeZ="2" PhysicalSizeZUnit="nm" '
        'TimeIncrement="3" TimeIncrementUnit="min"'
    ),
    inside=(
        '<Channel ID="Channel:0:0" Name="DAPI" Color="65535" EmissionWavelength="461"/>'
        '<Channel ID="Channel:0:1" Fluor="GFP" Color="16711935"/>'
    ),
)


def test_every_field_of_ome_xml(tmp_path):
    xml = ome_xml(DESCRIBED)
    path = write_ome(tmp_path / "a.ome.tif", xml, pixels((12, 30, 40)))
    group = imported(path)
    found = multiscale(group)
    assert found["name"] == "Cells"
    assert axes(group) == "tczyx"
    assert scales(group) == [3.0, 1.0, 2.0, 0.25, 0.5]
    assert units(group) == {"t": "minute", "c": None, "z": "nanometer", "y": "micrometer", "x": "micrometer"}
    assert [axis["type"] for axis in found["axes"]] == ["time", "channel", "space", "space", "space"]
    first, second = ome(group)["omero"]["channels"]
    assert (first["label"], first["color"], first["active"], first["emissionWave"]) == ("DAPI", "0000FF", True, 461.0)
    assert (second["label"], second["color"]) == ("GFP", "00FF00")
    assert (first["window"]["min"], first["window"]["max"]) == (0, 65535)
    assert 0 <= first["window"]["start"] < first["window"]["end"] < 200
    assert ome(group)["omero"]["rdefs"] == {"defaultT": 0, "defaultZ": 1, "model": "color"}
    assert b"".join(ozx.read_value(tmp_path / "out.ozx", "OME/METADATA.ome.xml")) == xml.encode()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [1, 2])
def test_zarr_python_takes_the_folder_of_ome_xml_for_a_group(tmp_path, count):
    images = "".join(DESCRIBED.replace("Image:0", f"Image:{number}") for number in range(count))
    path = write_ome(tmp_path / "a.ome.tif", ome_xml(images), pixels((12 * count, 30, 40)))
    group = imported(path)
    assert "OME" in dict(group.members())
    assert "OME" in str(group.tree())
    assert not [finding for finding in ozx.validate(tmp_path / "out.ozx").findings if finding.severity != "note"]


def test_ome_xml_can_be_left_out_and_other_encodings_become_utf_8(tmp_path):
    path = write_ome(tmp_path / "a.ome.tif", ome_xml(DESCRIBED), pixels((12, 30, 40)))
    imported(path, ome_xml="drop")
    keys = [entry.key for entry in ozx.list_entries(tmp_path / "out.ozx")]
    assert "OME/METADATA.ome.xml" not in keys
    path = write_ome(tmp_path / "b.ome.tif", ome_xml(DESCRIBED).replace("UTF-8", "ISO-8859-1"), pixels((12, 30, 40)))
    imported(path)
    assert b'encoding="UTF-8"' in b"".join(ozx.read_value(tmp_path / "out.ozx", "OME/METADATA.ome.xml"))


def test_options_win_over_the_file(tmp_path):
    path = write_ome(tmp_path / "a.ome.tif", ome_xml(DESCRIBED), pixels((12, 30, 40)))
    group = imported(
        path,
        pixel_size={"y": 0.65, "x": 0.7, "t": 10},
        unit={"y": "millimeter", "t": "second"},
        channel_names=["", "Actin"],
        colors=["red", None],
        name="Mine",
    )
    assert scales(group) == [10.0, 1.0, 2.0, 0.65, 0.7]
    assert units(group) == {"t": "second", "c": None, "z": "nanometer", "y": "millimeter", "x": "micrometer"}
    first, second = ome(group)["omero"]["channels"]
    assert (first["label"], first["color"], second["label"], second["color"]) == ("DAPI", "FF0000", "Actin", "00FF00")
    assert multiscale(group)["name"] == "Mine"


def test_what_is_unknown_is_one_without_a_unit(tmp_path):
    path = write(tmp_path / "cells.tif", pixels((4, 30, 40)), photometric="minisblack")
    result = ozx.import_image(path, sync=False)
    group = ozx.open(result.path)
    assert result.path == str(tmp_path / "cells.ozx")
    assert (scales(group), units(group)) == ([1.0] * 3, dict.fromkeys("zyx"))
    assert multiscale(group)["name"] == "cells"
    assert any("pixel size is unknown" in note and "z=2um,y=0.65um,x=0.65um" in note for note in result.notes)
    assert any("unnamed dimension of length 4" in note and "axis z" in note for note in result.notes)


@pytest.mark.parametrize(
    ("pixel_size", "note"),
    [
        ("0.1um", "also used for z, the distance between planes (in the file: 0.5 micrometer); to set z separately: "),
        ("z=0.5um,y=0.1um,x=0.1um", None),
        ("y=0.1um,x=0.1um", None),
    ],
)
def test_a_pixel_size_for_all_axes_of_a_stack_names_what_it_does_to_z(tmp_path, pixel_size, note):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels((4, 30, 40)), imagej=True, metadata={"axes": "ZYX", "spacing": 0.5, "unit": "um"})
    said = [text for text in ozx.import_image(path, pixel_size=pixel_size).notes if "planes" in text]
    assert (note in said[0]) if note else said == []


def test_a_note_says_why_a_copy_of_a_jpeg_is_large(tmp_path):
    y, x = np.mgrid[:1400, :1400]
    array = np.stack([120 + 100 * np.sin(y * x / 9e3), 120 + 90 * np.cos(x / 7), (y + x) % 256], -1).astype("uint8")
    for name, compression, count in (("a", "jpeg", 1), ("b", "zlib", 0)):
        arguments = {"level": 40} if compression == "jpeg" else {}
        write(tmp_path / f"{name}.tif", array, photometric="rgb", compression=compression, compressionargs=arguments)
        notes = ozx.import_image(tmp_path / f"{name}.tif").notes
        assert len([note for note in notes if "times as large as its source, which is JPEG" in note]) == count


def test_axes_that_somebody_says(tmp_path):
    path = write(tmp_path / "a.tif", pixels((4, 30, 40)), photometric="minisblack")
    assert axes(imported(path, axes="tyx")) == "tyx"
    assert axes(imported(path, axes=["c", "y", "x"])) == "cyx"
    for wrong in ("yx", "tczyx", "txx", "qyx", "tzc"):
        with pytest.raises(UsageError, match="axes: expected"):
            ozx.import_image(path, tmp_path / "wrong.ozx", axes=wrong)
    assert not (tmp_path / "wrong.ozx").exists()


def test_singletons(tmp_path):
    path = write(tmp_path / "a.ome.tif", pixels((1, 1, 3, 30, 40)), metadata={"axes": "TCZYX"})
    assert axes(imported(path)) == "zyx"
    assert axes(imported(path, keep_singletons=True)) == "tczyx"
    # A single channel is still described.
    assert len(ome(imported(path))["omero"]["channels"]) == 1


def test_the_contrast_of_pictures_is_that_of_their_type(tmp_path):
    path = write(tmp_path / "a.tif", pixels((60, 50, 4), "u1"), photometric="rgb")
    channels = ome(imported(path))["omero"]["channels"]
    assert [channel["label"] for channel in channels] == ["Red", "Green", "Blue", "Alpha"]
    assert [channel["active"] for channel in channels] == [True, True, True, False]
    assert channels[0]["window"] == {"min": 0, "max": 255, "start": 0, "end": 255}


def test_several_images_are_a_series(tmp_path):
    path = write(tmp_path / "a.ome.tif", pixels((3, 40, 50)), pixels((60, 20)), metadata={})
    group = imported(path)
    assert ome(group)["bioformats2raw.layout"] == 3
    assert ome(group["OME"])["series"] == ["0", "1"]
    check_pixels(group["0"], path, series=0)
    check_pixels(group["1"], path, series=1)
    assert b"<OME" in b"".join(ozx.read_value(tmp_path / "out.ozx", "OME/METADATA.ome.xml"))
    only = imported(path, series=1)
    assert axes(only) == "yx"
    check_pixels(only, path, series=1)
    with pytest.raises(UsageError, match="from 0 to 1; got 2"):
        ozx.import_image(path, tmp_path / "wrong.ozx", series=2)


def plate_file(path, *, spare=0):
    count = 3 + spare
    images = "".join(
        ome_image(n, name=f"Field {n}", planes=f'<TiffData IFD="{n}" PlaneCount="1"/>') for n in range(count)
    )
    plate = (
        '<Plate ID="P" Name="Screen" Rows="2" Columns="2">'
        '<Well ID="W0" Row="0" Column="1"><WellSample ID="S0"><ImageRef ID="Image:0"/></WellSample>'
        '<WellSample ID="S1"><ImageRef ID="Image:1"/></WellSample></Well>'
        '<Well ID="W1" Row="1" Column="0"><WellSample ID="S2"><ImageRef ID="Image:2"/></WellSample></Well>'
        '<PlateAcquisition ID="A" Name="Run" StartTime="2026-01-02T03:04:05Z"><WellSampleRef ID="S0"/>'
        '<WellSampleRef ID="S1"/><WellSampleRef ID="S2"/></PlateAcquisition></Plate>'
    )
    return write_ome(path, ome_xml(images, plate), pixels((count, 30, 40)))


def test_a_plate(tmp_path):
    group = imported(plate_file(tmp_path / "a.ome.tif"))
    plate = ome(group)["plate"]
    assert (plate["name"], [row["name"] for row in plate["rows"]]) == ("Screen", ["A", "B"])
    assert [well["path"] for well in plate["wells"]] == ["A/2", "B/1"]
    assert plate["acquisitions"] == [{"id": 0, "name": "Run", "starttime": 1767323045000, "maximumfieldcount": 2}]
    assert ome(group["A/2"])["well"]["images"] == [
        {"path": "0", "acquisition": 0},
        {"path": "1", "acquisition": 0},
    ]
    for number, path in enumerate(["A/2/0", "A/2/1", "B/1/0"]):
        np.testing.assert_array_equal(group[path]["0"][:], pixels((3, 30, 40))[number])
    assert multiscale(group["B/1/0"])["name"] == "Field 2"
    assert ome(imported(tmp_path / "a.ome.tif", name="Mine"))["plate"]["name"] == "Mine"


def test_images_in_no_well_are_told(tmp_path):
    path = plate_file(tmp_path / "a.ome.tif", spare=2)
    result = ozx.import_image(path, sync=False)
    assert any(note.startswith("2 images belong to no well") for note in result.notes)
    group = imported(path, series=4)
    np.testing.assert_array_equal(group["0"][:], pixels((5, 30, 40))[4])


def test_levels_of_the_file_are_taken_where_they_fit(tmp_path):
    full = pixels((2, 1200, 1000))
    path = write_pyramid(tmp_path / "a.ome.tif", full, tile=(128, 128), metadata={"axes": "CYX"})
    group = imported(path, reuse_levels=True, pixel_size={"y": 0.5, "x": 0.5})
    np.testing.assert_array_equal(group["1"][:], full[:, ::2, ::2])
    np.testing.assert_array_equal(group["2"][:], full[:, ::4, ::4])
    assert scales(group, 2) == [1.0, 2.0, 2.0]
    moved = multiscale(group)["datasets"][2]["coordinateTransformations"][1]["translation"]
    assert moved == [0.0, 0.75, 0.75]
    # The next one is made of the last that there is.
    assert group["3"].shape == (2, 150, 125)
    made = imported(path)
    assert not np.array_equal(made["1"][:], full[:, ::2, ::2])


def test_levels_that_do_not_fit_are_made_anew(tmp_path):
    path = tmp_path / "a.ome.tif"
    full = pixels((1200, 1000))
    with tifffile.TiffWriter(path) as file:
        file.write(full, subifds=1, tile=(128, 128), metadata={"axes": "YX"})
        file.write(full[::2, ::3], subfiletype=1, tile=(128, 128))
    result = ozx.import_image(path, tmp_path / "out.ozx", reuse_levels=True, sync=False)
    assert any("level 1 of the file, uint16 of 600×334, does not match" in note for note in result.notes)
    assert ozx.open(tmp_path / "out.ozx")["1"].shape == (600, 500)


def test_whole_slides_with_one_picture_per_level(tmp_path):
    path = tmp_path / "a.svs"
    text = "Aperio Image Library v1.0\n1x1|AppMag = 20|MPP = 0.5"
    full = pixels((1024, 768, 3), "u1")
    with tifffile.TiffWriter(path) as file:
        common = {"photometric": "rgb", "tile": (128, 128), "description": text, "metadata": None}
        file.write(full, **common)
        file.write(full[::8, ::8], photometric="rgb", description=text, metadata=None, rowsperstrip=16)  # a thumbnail
        file.write(full[::4, ::4], **common)
    group = imported(path, series=0, reuse_levels=True)
    np.testing.assert_array_equal(group["1"][:], full[::4, ::4].transpose(2, 0, 1))
    assert (scales(group), scales(group, 1)) == ([1.0, 0.5, 0.5], [1.0, 2.0, 2.0])
    # A quarter of the length: the text may not say that every level is half as long.
    assert multiscale(group)["metadata"]["description"] == "The 2 levels come from the source."


def test_labels(tmp_path):
    labels = np.kron(np.arange(16, dtype="uint16").reshape(4, 4), np.ones((150, 150), "uint16"))
    group = imported(write(tmp_path / "a.tif", labels), labels=True)
    assert "image-label" in ome(group)
    assert "omero" not in ome(group)
    np.testing.assert_array_equal(group["1"][:], labels[::2, ::2])
    group = imported(write(tmp_path / "mask.tif", labels > 4), labels=True)
    assert group["0"].dtype == "uint8"
    np.testing.assert_array_equal(group["0"][:], labels > 4)
    for array in (pixels((40, 50), "f4"), pixels((40, 50, 3), "u1")):
        path = write(tmp_path / "b.tif", array, photometric="rgb" if array.ndim == 3 else None)
        with pytest.raises(UsageError, match="expected integer labels without channels"):
            ozx.import_image(path, tmp_path / "wrong.ozx", labels=True)


def test_a_damaged_tile_is_filled(tmp_path):
    path = write(tmp_path / "a.tif", pixels((600, 700)), tile=(128, 128), compression="zlib")
    damage_segment(path, 7)
    out = tmp_path / "out.ozx"
    result = ozx.import_image(path, out, on_error="fill", sync=False)
    reference = pixels((600, 700))
    reference[128:256, 128:256] = 0
    np.testing.assert_array_equal(ozx.open(out)["0"][:], reference)
    (sentence,) = result.damage
    assert "page 0, tile 7" in sentence


def test_of_much_damage_the_first_is_told(tmp_path):
    path = write(tmp_path / "a.tif", pixels((600, 700)), tile=(64, 64), compression="zlib")
    for number in range(30):
        damage_segment(path, number)
    damage = ozx.import_image(path, on_error="fill", sync=False).damage
    assert (len(damage), damage[-1]) == (21, "and 10 more")


def test_a_file_that_is_written_to_meanwhile(tmp_path, monkeypatch):
    path = write(tmp_path / "a.tif", pixels((600, 700)), tile=(128, 128), compression="zlib")
    read = tiff_segments.SegmentReader.read

    def touch(*given):
        os.utime(path, ns=(1, 1))
        return read(*given)

    monkeypatch.setattr(tiff_segments.SegmentReader, "read", touch)
    with pytest.raises(FormatError, match="changed while it was read"):
        ozx.import_image(path, sync=False)
    assert os.listdir(tmp_path) == ["a.tif"]


def test_missing_parts_leave_nothing(tmp_path):
    write_parts(tmp_path)
    os.remove(tmp_path / "part-2.ome.tif")
    before = set(os.listdir(tmp_path))
    with pytest.raises(FormatError, match="1 of the 3 files listed in the OME-XML are missing"):
        ozx.import_image(tmp_path / "parts.companion.ome")
    assert set(os.listdir(tmp_path)) == before


def test_an_output_that_exists_and_one_that_is_the_source(tmp_path):
    path = write(tmp_path / "a.tif", pixels((60, 70)))
    (tmp_path / "a.ozx").write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists"):
        ozx.import_image(path)
    assert (tmp_path / "a.ozx").read_bytes() == b"mine"
    content = path.read_bytes()
    with pytest.raises(UsageError, match=r"expected the name of an \.ozx file"):
        ozx.import_image(path, path, force=True)
    path = path.rename(tmp_path / "a")
    with pytest.raises(UsageError, match="is the file to import"):
        ozx.import_image(path, path, force=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "options",
    [
        {"on_error": "ignore"},
        {"ome_xml": "yes"},
        {"chunks": "q=5"},
        {"pixel_size": {"z": 1.0}},
        {"channel_names": ["a", "b"]},
        {"colors": ["a"]},
    ],
)
def test_options_that_mean_nothing(tmp_path, options):
    path = write(tmp_path / "a.tif", pixels((60, 70)))
    with pytest.raises(UsageError):
        ozx.import_image(path, **options)
    assert os.listdir(tmp_path) == ["a.tif"]


def test_resuming_says_which_options_a_complete_file_lacks(tmp_path):
    path = write(tmp_path / "a.tif", pixels((60, 70)))
    ozx.import_image(path, sync=False)
    again = ozx.import_image(path, resume=True, pixel_size="0.65um", channel_names=["DAPI"])
    assert again.status == "skipped"
    (note,) = [note for note in again.notes if "keeps its metadata" in note]
    assert "(axis y, axis x, unit of y, unit of x, " in note
    assert note.endswith(f"give these options to ozx edit {tmp_path / 'a.ozx'}")
    ozx.edit(tmp_path / "a.ozx", pixel_size="0.65um", channel_names=["DAPI"])
    again = ozx.import_image(path, resume=True, pixel_size="0.65um", channel_names=["DAPI"])
    assert not any("keeps its metadata" in note for note in again.notes)


def test_a_unit_without_a_pixel_size(tmp_path):
    path = write(tmp_path / "a.tif", pixels((60, 70)))
    (note,) = ozx.import_image(path, unit="um", sync=False).notes
    assert note.startswith("the pixel size is unknown, so 1 is used; to set one: ozx edit")


def test_resuming_needs_the_same_images(tmp_path):
    path = write(tmp_path / "a.tif", pixels((60, 70)))
    ozx.import_image(write(tmp_path / "b.tif", pixels((60, 71))), tmp_path / "a.ozx", sync=False)
    with pytest.raises(UsageError, match="does not have the images"):
        ozx.import_image(path, resume=True)
    (tmp_path / "a.ozx").write_bytes(b"half")
    with pytest.raises(UsageError, match="does not have the images"):
        ozx.import_image(path, resume=True)
    assert ozx.import_image(path, resume=True, force=True, sync=False).status == "imported"
    assert ozx.import_image(path, resume=True).status == "skipped"


@pytest.mark.parametrize("width", [70, 71])
def test_resuming_takes_what_another_run_imported_meanwhile(tmp_path, monkeypatch, width):
    path, other = write(tmp_path / "a.tif", pixels((60, 70))), write(tmp_path / "b.tif", pixels((60, width)))
    original = import_module.write_hierarchy

    def write_hierarchy(*arguments, **options):
        monkeypatch.setattr(import_module, "write_hierarchy", original)
        ozx.import_image(other, tmp_path / "a.ozx", sync=False)
        return original(*arguments, **options)

    monkeypatch.setattr(import_module, "write_hierarchy", write_hierarchy)
    if width == 70:
        assert ozx.import_image(path, resume=True).status == "skipped"
    else:
        with pytest.raises(UsageError, match="exists already"):
            ozx.import_image(path, resume=True)
    assert sorted(os.listdir(tmp_path)) == ["a.ozx", "a.tif", "b.tif"]


def test_the_first_file_of_an_image_is_imported_even_if_another_is_opened_first(tmp_path):
    write_parts(tmp_path)
    paths = sorted(map(str, tmp_path.glob("part-*.ome.tif")))
    first_of = first_source(["missing.tif", *paths])
    for path in reversed(paths):
        with open_images(path) as found:
            assert first_of(found) == paths[0]


@pytest.mark.parametrize("jobs", [1, 3])
def test_files_that_are_one_image_are_imported_once(tmp_path, jobs):
    write_parts(tmp_path)
    paths = sorted(tmp_path.glob("part-*.ome.tif"))
    results = ozx.import_images(paths, out_dir=tmp_path / "out", sync=False, jobs=jobs).results
    assert [result.status for result in results] == ["imported", "skipped", "skipped"]
    assert [result.part_of for result in results] == [None, str(paths[0]), str(paths[0])]
    assert results[2].path == results[0].path
    assert os.listdir(tmp_path / "out") == ["part-0.ozx"]


def test_hundreds_of_files_need_few_descriptors(tmp_path):
    count = 150
    stack = pixels((count, 20, 30))
    data = "".join(file_data(f"{n}.ome.tif", z=n) for n in range(count))
    xml = ome_xml(ome_image(size=(1, 1, count, 20, 30), planes=data))
    for number, plane in enumerate(stack):
        write(tmp_path / f"{number}.ome.tif", plane, metadata=None)
    (tmp_path / "all.companion.ome").write_text(xml)
    is_counted = sys.platform == "linux"  # below Wine, the folder is there and counts what Wine opens
    before = len(os.listdir("/proc/self/fd")) if is_counted else 0
    most = []

    watching = ActingProgress(lambda: most.append(len(os.listdir("/proc/self/fd")) if is_counted else 0))
    out = tmp_path / "out.ozx"
    ozx.import_image(tmp_path / "all.companion.ome", out, sync=False, progress=watching)
    np.testing.assert_array_equal(ozx.open(out)["0"][:], stack)
    # Without positional reads every thread has handles of its own.
    assert max(most) < before + (100 if hasattr(os, "pread") else 300)


def test_unsupported_pixels_leave_nothing(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((30, 40), "complex64"))
    with pytest.raises(UnsupportedError, match=r"a\.tif: .*complex"):
        ozx.import_image(path)
    assert os.listdir(tmp_path) == ["a.tif"]


@needs_samples
def test_a_real_image_in_five_files(tmp_path):
    for name in ("multifile.companion.ome", "multifile-Z4.ome.tiff"):
        group = imported(sample(name), tmp_path / "out.ozx")
        planes = [tifffile.imread(sample(f"multifile-Z{number}.ome.tiff")) for number in range(1, 6)]
        np.testing.assert_array_equal(group["0"][:], planes)
        assert multiscale(group)["name"] == "multifile"
        original = b"".join(ozx.read_value(tmp_path / "out.ozx", "OME/METADATA.ome.xml"))
        assert original == sample("multifile.companion.ome").read_bytes()


def test_damage_that_a_resumed_import_knows(tmp_path):
    path, out = tmp_path / "a.tif", tmp_path / "a.ozx"
    tifffile.imwrite(path, np.ones((5, 40, 50), "uint16"))
    path.write_bytes(path.read_bytes()[:-9000])
    first = ozx.import_image(path, on_error="fill", sync=False)
    again = ozx.import_image(path, on_error="fill", resume=True, sync=False)
    assert (first.status, again.status) == ("imported", "skipped")
    assert again.damage == first.damage
    (damage,) = first.damage
    assert "pages 2 to 4 are cut off" in damage
    assert any("the pixels were not read again" in note for note in again.notes)
    assert out.exists()

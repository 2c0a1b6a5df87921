"""TIFF files as images: which files belong to one, what is said of it, and what is wrong with a file."""

import os
import re
import struct
import time

import numpy as np
import pytest
import tifffile
from tiffs import (
    file_data,
    needs_samples,
    ome_image,
    ome_xml,
    overwrite,
    pixels,
    sample,
    set_tag,
    write,
    write_imagej,
    write_ome,
    write_parts,
    write_pyramid,
)

from ozx.errors import FormatError, OzxError, UnsupportedError, UsageError
from ozx.hierarchy.ome.colors import Window
from ozx.images.description import ChannelDescription, PixelSize
from ozx.images.tiff.opening import TiffOptions, open_tiff


def opened(path, **options):
    with open_tiff(str(path), TiffOptions(**options)) as images:
        return images


def described(path):
    return opened(path).images[0].description


def test_ome_xml_is_kept_as_it_stands(tmp_path):
    xml = ome_xml(ome_image(size=(1, 2, 3, 30, 40), attributes='PhysicalSizeX="0.5"'))
    found = opened(write_ome(tmp_path / "a.ome.tif", xml, pixels((6, 30, 40))))
    assert found.ome_xml == xml
    assert found.images[0].source.axes == ("c", "z", "y", "x")
    assert found.images[0].description.sizes == {"x": PixelSize(0.5, "micrometer")}


def test_images_without_planes_are_passed_over(tmp_path):
    data = [f'<TiffData IFD="{number}" PlaneCount="1"/>' for number in range(2)]
    images = (
        ome_image(0, name="a", planes=data[0])
        + ome_image(1, name="b", planes="")
        + ome_image(2, name="c", planes=data[1])
    )
    found = opened(write_ome(tmp_path / "a.ome.tif", ome_xml(images), pixels((2, 30, 40))))
    assert [image.description.name for image in found.images.values()] == ["a", "c"]


def test_a_plate_and_its_images(tmp_path):
    data = [f'<TiffData IFD="{number}" PlaneCount="1"/>' for number in range(2)]
    images = "".join(ome_image(number, planes=data[number]) for number in range(2))
    wells = "".join(
        f'<Well ID="W{n}" Row="{n}" Column="0"><WellSample ID="S{n}"><ImageRef ID="Image:{n}"/></WellSample></Well>'
        for n in range(2)
    )
    xml = ome_xml(images, f'<Plate ID="P">{wells}</Plate><Plate ID="Q"/>')
    found = opened(write_ome(tmp_path / "a.ome.tif", xml, pixels((2, 30, 40))))
    assert [(well.row, well.fields) for well in found.plate.wells] == [(0, (0,)), (1, (1,))]
    assert found.notes == ("the OME-XML describes 2 plates: the first plate is used",)


def test_an_image_with_one_dimension_is_refused(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels((500,)))
    with pytest.raises(UnsupportedError, match="expected an image with the axes y and x; found one dimension, of 500"):
        opened(path)


def test_levels_are_given_out(tmp_path):
    path = write_pyramid(tmp_path / "a.ome.tif", pixels((2, 200, 160)), tile=(32, 32), metadata={"axes": "CYX"})
    assert opened(path).images[0].levels == ()
    image = opened(path, with_levels=True).images[0]
    assert [level.shape for level in image.levels] == [(2, 100, 80), (2, 50, 40)]


def test_of_several_images_one_can_be_read_though_another_cannot(tmp_path):
    path = write(tmp_path / "a.ome.tif", pixels((40, 50)), pixels((64, 64)), compression="zlib", metadata={})
    set_tag(path, 259, 65500, page=1)
    with pytest.raises(UnsupportedError, match="image 1 of 2: page 1: expected a compression"):
        opened(path)
    found = opened(path, series=0)
    assert (list(found.images), found.count) == ([0], 2)
    for number in (-1, 2):
        with pytest.raises(UsageError, match=f"from 0 to 1; got {number}"):
            opened(path, series=number)


@pytest.mark.parametrize("name", ["parts.companion.ome", "part-0.ome.tif", "part-2.ome.tif"])
def test_files_that_are_missing_are_named(tmp_path, name):
    write_parts(tmp_path)
    os.remove(tmp_path / "part-1.ome.tif")
    with pytest.raises(FormatError, match=r"1 of the 3 files .* missing .* part-1\.ome\.tif") as raised:
        opened(tmp_path / name)
    assert "Copy all files" in raised.value.hint


@pytest.mark.parametrize("has_other", [False, True])
def test_a_renamed_file_is_known_by_its_uuid(tmp_path, has_other):
    stack = pixels((2, 30, 40))
    data = "".join(
        f'<TiffData FirstZ="{z}" IFD="{z}" PlaneCount="1"><UUID FileName="old.ome.tif">urn:uuid:own</UUID></TiffData>'
        for z in range(2)
    )
    xml = ome_xml(ome_image(size=(1, 1, 2, 30, 40), planes=data)).replace("<OME ", '<OME UUID="urn:uuid:own" ')
    write_ome(tmp_path / "new.ome.tif", xml, stack)
    if has_other:  # whatever has the old name now is another file
        (tmp_path / "old.ome.tif").write_bytes(b"other")
    with opened(tmp_path / "new.ome.tif") as images:
        source = images.images[0].source
        assert source.axes == ("z", "y", "x")
        assert (source.read((slice(0, 2), slice(0, 30), slice(0, 40))) == stack).all()


def test_a_renamed_part_finds_the_other_parts_by_name(tmp_path):
    _, stack = write_parts(tmp_path, companion=False)
    os.rename(tmp_path / "part-1.ome.tif", tmp_path / "renamed.ome.tif")
    with opened(tmp_path / "renamed.ome.tif") as images:
        source = images.images[0].source
        assert (source.read((slice(0, 3), slice(0, 30), slice(0, 40))) == stack).all()
    with pytest.raises(FormatError, match=r"missing in its folder: part-1\.ome\.tif"):
        opened(tmp_path / "part-0.ome.tif")


def test_a_companion_that_is_missing_is_named(tmp_path):
    master, _ = write_parts(tmp_path)
    os.remove(master)
    with pytest.raises(FormatError, match=r"missing in its folder: parts\.companion\.ome"):
        opened(tmp_path / "part-0.ome.tif")


def test_files_that_name_each_other_have_no_metadata(tmp_path):
    only = '<BinaryOnly MetadataFile="{}" UUID="u"/>'
    write_ome(tmp_path / "a.ome.tif", ome_xml(only.format("b.ome.tif")), pixels((1, 30, 40)))
    write_ome(tmp_path / "b.ome.tif", ome_xml(only.format("a.ome.tif")), pixels((1, 30, 40)))
    with pytest.raises(FormatError, match="only the name of another file"):
        opened(tmp_path / "a.ome.tif")


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.tif", "..\\secret.tif", "C:secret.tif"])
def test_files_elsewhere_are_refused(tmp_path, name):
    xml = ome_xml(ome_image(planes=file_data(name)))
    with pytest.raises(FormatError, match="outside of its own folder"):
        opened(write_ome(tmp_path / "a.ome.tif", xml, pixels((1, 30, 40))))


OWN, ELSEWHERE = '<OME UUID="urn:own" ', 'UUID FileName="../secret.tif"'


@pytest.mark.parametrize(
    ("start", "element"),
    [
        (OWN, f"<{ELSEWHERE}> urn:own </UUID>"),
        ('<OME xmlns:x="x" x:UUID="urn:own" ', f"<{ELSEWHERE}>urn:own</UUID>"),
        (OWN, f'<{ELSEWHERE} xmlns:x="x" x:FileName="a.ome.tif">urn:b</UUID>'),
        (OWN, f"<My{ELSEWHERE}>urn:b</MyUUID>"),
        ("<a>" * 300 + "</a>" * 300, f"<{ELSEWHERE}>urn:b</UUID>"),
    ],
)
def test_files_that_only_tifffile_finds_are_refused_too(tmp_path, start, element):
    """tifffile compares UUIDs and names of elements in another way."""
    write(tmp_path / "secret.tif", pixels((30, 40)))
    (tmp_path / "a").mkdir()
    xml = ome_xml(ome_image(planes=f'<TiffData IFD="0" PlaneCount="1">{element}</TiffData>'))
    xml = xml.replace("<OME ", start, 1) if start.startswith("<OME") else xml.replace("</Image>", f"{start}</Image>")
    with pytest.raises(FormatError, match=r"outside of its own folder|at most 200 elements deep"):
        opened(write_ome(tmp_path / "a" / "a.ome.tif", xml, pixels((1, 30, 40))))


def write_nd_tiff(path, values, *names):
    """Write an NDTiff image of one plane, and beside it the index, which names the file of each frame."""
    height, width = values.shape
    summary = b"{}"
    head = struct.pack("<2sHIIIII", b"II", 42, 0, 483729, 2, 2355492, len(summary)) + summary
    data = head + values.tobytes()
    tags = [(256, 1, width), (257, 1, height), (258, 1, 16), (259, 1, 1), (262, 1, 1), (273, 1, len(head))]
    tags += [(277, 1, 1), (278, 1, height), (279, 1, values.nbytes), (51123, len(summary), len(head) - len(summary))]
    listed = b"".join(struct.pack("<HHII", tag, 4 if count == 1 else 2, count, value) for tag, count, value in tags)
    ifd = struct.pack("<H", len(tags)) + listed + bytes(4)
    path.write_bytes(data[:4] + struct.pack("<I", len(data)) + data[8:] + ifd)
    index = b""
    for number, name in enumerate(names):
        axes, raw = b'{"time": %d}' % number, name.encode()
        index += struct.pack("<I", len(axes)) + axes + struct.pack("<I", len(raw)) + raw
        index += struct.pack("<IiiiiIii", len(head), width, height, 1, 0, 0, 0, 0)
    (path.parent / "NDTiff.index").write_bytes(index)
    return path


def test_an_nd_tiff_reads_the_files_of_its_folder(tmp_path):
    stack = pixels((2, 30, 40))
    write_nd_tiff(tmp_path / "b.tif", stack[1])
    with open_tiff(str(write_nd_tiff(tmp_path / "a.tif", stack[0], "a.tif", "b.tif"))) as images:
        source = images.images[0].source
        assert (source.read((slice(0, 2), slice(0, 30), slice(0, 40))) == stack).all()


@pytest.mark.parametrize("name", ["../secret.tif", "C:secret.tif", "/secret.tif"])
def test_an_nd_tiff_names_no_files_elsewhere(tmp_path, name):
    write(tmp_path / "secret.tif", pixels((30, 40)))
    (tmp_path / "a").mkdir()
    path = write_nd_tiff(tmp_path / "a" / "a.tif", pixels((30, 40)), "a.tif", name)
    with pytest.raises(FormatError, match=r"NDTiff\.index refers to a file outside of its own folder"):
        opened(path)


@pytest.mark.parametrize("uuid", ["", "urn:uuid:1"])
@pytest.mark.parametrize("has_companion", [True, False])
def test_files_with_the_same_uuid_are_refused(tmp_path, has_companion, uuid):
    # tifffile would read the planes of the first of these files for all of them.
    planes = "".join(file_data(f"{number}.tif", z=number, uuid="text") for number in range(2)).replace("text", uuid)
    xml = ome_xml(ome_image(size=(1, 1, 2, 30, 40), planes=planes))
    for number in range(2):
        write_ome(tmp_path / f"{number}.tif", ome_xml() if has_companion else xml, pixels((1, 30, 40)))
    path = tmp_path / ("a.companion.ome" if has_companion else "0.tif")
    if has_companion:
        path.write_text(xml)
    message = f"expected a UUID for each file; the OME-XML has the same one, '{uuid}', for 0.tif and 1.tif"
    with pytest.raises(FormatError, match=re.escape(message)):
        opened(path)


def test_a_companion_without_files_has_no_images(tmp_path):
    path = tmp_path / "a.companion.ome"
    path.write_text(ome_xml(ome_image()))
    with pytest.raises(FormatError, match="names of TIFF files"):
        opened(path)


def test_document_types_are_refused_before_anybody_reads_them(tmp_path):
    xml = ome_xml(ome_image(), head='<!DOCTYPE OME [<!ENTITY a "b">]>')
    with pytest.raises(FormatError, match="no document type"):
        opened(write_ome(tmp_path / "a.ome.tif", xml, pixels((1, 30, 40))))


def test_document_types_of_other_formats_are_refused(tmp_path):
    path = tmp_path / "a.tif"
    text = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><PerkinElmer-QPI-ImageDescription>&b;'
    tifffile.imwrite(path, pixels((30, 40)), description=text, software="PerkinElmer-QPI", metadata=None)
    with pytest.raises(FormatError, match="no document type"):
        opened(path)


def test_broken_ome_xml_leaves_a_tiff_file(tmp_path):
    xml = ome_xml(ome_image()).replace("</Image>", "")
    found = opened(write_ome(tmp_path / "a.ome.tif", xml, pixels((1, 30, 40))))
    assert found.images[0].source.shape == (30, 40)
    assert "the OME-XML cannot be used" in " ".join(found.notes)


def test_ome_xml_that_is_cut_off_leaves_a_tiff_file(tmp_path):
    found = opened(write_ome(tmp_path / "a.ome.tif", ome_xml(ome_image())[:-15], pixels((1, 30, 40))))
    assert found.images[0].source.shape == (30, 40)
    assert found.notes == ("the OME-XML cannot be used: the file is read like any other TIFF file",)


def test_planes_that_the_metadata_promise_but_nobody_wrote(tmp_path):
    path = write_ome(tmp_path / "a.ome.tif", ome_xml(ome_image(size=(4, 1, 1, 30, 40))), pixels((3, 30, 40)))
    with pytest.raises(FormatError, match="1 of the 4 planes") as raised:
        opened(path)
    assert "--on-error fill" in raised.value.hint
    source = opened(path, on_error="fill").images[0].source
    found = source.read((slice(0, 4), slice(0, 30), slice(0, 40)))
    np.testing.assert_array_equal(found[:3], pixels((3, 30, 40)))
    assert not found[3].any()
    assert source.damage == ["1 of the 4 planes in the metadata are missing; filled with zeros"]


@pytest.mark.parametrize(
    ("resolution", "unit", "size"),
    [
        ((20_000.0, 10_000.0), "CENTIMETER", {"y": 1.0, "x": 0.5}),
        ((25_400.0, 25_400.0), "INCH", {"y": 1.0, "x": 1.0}),
        # What printers and screens have.
        ((72.0, 72.0), "INCH", {}),
        ((300.0, 300.0), "INCH", {}),
        ((28.346, 28.346), "CENTIMETER", {}),
        ((1.0, 1.0), "CENTIMETER", {}),
        ((20_000.0, 20_000.0), "NONE", {}),
    ],
)
def test_resolution_tags(tmp_path, resolution, unit, size):
    image = described(write(tmp_path / "a.tif", pixels((30, 40)), resolution=resolution, resolutionunit=unit))
    assert image.sizes == {axis: PixelSize(value, "micrometer") for axis, value in size.items()}


def test_pictures_have_red_green_and_blue(tmp_path):
    image = described(write(tmp_path / "a.tif", pixels((30, 40, 4), "u1"), photometric="rgb"))
    assert [(channel.name, channel.is_shown) for channel in image.channels] == [
        ("Red", True),
        ("Green", True),
        ("Blue", True),
        ("Alpha", False),
    ]
    assert image.channels[0].window == Window(0.0, 255.0, 0.0, 255.0)


def test_the_date_tag(tmp_path):
    image = described(write(tmp_path / "a.tif", pixels((30, 40)), datetime="2026:01:02 03:04:05"))
    assert image.acquired == "2026-01-02T03:04:05"


def test_the_pixel_size_of_aperio_slides(tmp_path):
    path = tmp_path / "a.svs"
    text = "Aperio Image Library v1.0\n60x50 [0,0 60x50] (32x32)|AppMag = 20|MPP = 0.499"
    with tifffile.TiffWriter(path) as file:
        for shape in [(96, 128, 3), (48, 64, 3)]:
            file.write(pixels(shape, "u1"), photometric="rgb", tile=(32, 32), description=text, metadata=None)
    image = described(path)
    assert image.sizes == {"y": PixelSize(0.499, "micrometer"), "x": PixelSize(0.499, "micrometer")}


def test_names_and_colours_of_qptiff(tmp_path):
    path = tmp_path / "a.qptiff"
    text = (
        '<?xml version="1.0" encoding="utf-8"?><PerkinElmer-QPI-ImageDescription>'
        "<Name>{}</Name><Color>{}</Color><ImageType>FullResolution</ImageType></PerkinElmer-QPI-ImageDescription>"
    )
    with tifffile.TiffWriter(path) as file:
        for name, color in [("DAPI", "0,0,255"), ("Opal 520", "0,255,0")]:
            description = text.format(name, color)
            options = {"tile": (32, 32), "metadata": None, "software": "PerkinElmer-QPI"}
            file.write(pixels((64, 96)), description=description, contiguous=False, **options)
    found = opened(path)
    assert found.images[0].source.axes == ("c", "y", "x")
    assert [(c.name, c.color) for c in found.images[0].description.channels] == [
        ("DAPI", "0000FF"),
        ("Opal 520", "00FF00"),
    ]


@pytest.mark.parametrize(
    ("broken", "expected", "note"),
    [
        ("<Name>GFP</Name><Color>a,b,c</Color>", ("GFP", None), "expected three numbers; got 'a,b,c'"),
        ("<Name>GFP</Name><Color>0,255</Color>", ("GFP", None), "expected three numbers; got '0,255'"),
        ("<Name>GFP<Color>0,255,0</Color>", (None, None), "expected the description of a page to be well-formed XML"),
    ],
)
def test_a_value_of_qptiff_that_is_not_understood_loses_only_itself(tmp_path, broken, expected, note):
    path = tmp_path / "a.qptiff"
    with tifffile.TiffWriter(path) as file:
        for inside in ("<Name>DAPI</Name><Color>0,0,255</Color>", broken):
            text = f"<PerkinElmer-QPI-ImageDescription>{inside}<ImageType>FullResolution</ImageType>"
            text = f'<?xml version="1.0" encoding="utf-8"?>{text}</PerkinElmer-QPI-ImageDescription>'
            options = {"tile": (32, 32), "metadata": None, "software": "PerkinElmer-QPI"}
            file.write(pixels((64, 96)), description=text, contiguous=False, **options)
    image = described(path)
    assert [(channel.name, channel.color) for channel in image.channels] == [("DAPI", "0000FF"), expected]
    (said,) = image.notes
    assert "of channel 1" in said
    assert note in said


def test_axes_that_somebody_says(tmp_path):
    path = write(tmp_path / "a.tif", pixels((5, 30, 40)))
    assert opened(path, axes=("t", "y", "x")).images[0].source.axes == ("t", "y", "x")
    with pytest.raises(UsageError, match=r"a\.tif: .*expected 3 axes for an image of 5×30×40; got 2, yx") as caught:
        opened(path, axes=("y", "x"))
    hint = "In the file, the axes are named ?yx; each ? is an axis without a name: write t, z or c instead."
    assert caught.value.hint == hint


def test_axes_of_length_1_can_stay(tmp_path):
    path = write(tmp_path / "a.ome.tif", pixels((1, 1, 3, 30, 40)), metadata={"axes": "TCZYX"})
    source = opened(path, keep_singletons=True).images[0].source
    assert (source.axes, source.shape, len(source.read_alignment)) == (tuple("tczyx"), (1, 1, 3, 30, 40), 5)


@pytest.mark.parametrize("length", [100, 1200, 2428])
def test_a_file_cut_before_its_list_of_pages_is_copied_again(tmp_path, length):
    # The list follows the pixels, as many programs write it.
    data = write(tmp_path / "whole.tif", pixels((30, 40))).read_bytes()
    offset = int.from_bytes(data[4:8], "little")
    moved = data[:4] + (2408).to_bytes(4, "little") + bytes(2400) + data[offset:]
    path = tmp_path / "a.tif"
    path.write_bytes(moved[:length])
    with pytest.raises(FormatError) as raised:
        opened(path)
    assert "copy or download" in raised.value.hint.lower()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected a TIFF file; it is empty"),
        (b"GIF89a", "expected a TIFF file"),
        (b"II*\0", "expected a TIFF file"),
        (b"II*\0\x08\0\0\0", "TIFF|images"),
        (b"II*\0\xff\xff\xff\x7f", "TIFF|images"),
        (b"<html></html>", "names of TIFF files"),
        (b"<OME", "well-formed"),
        (b"<\xff\xfe", "UTF-8"),
    ],
)
def test_files_that_are_no_tiff(tmp_path, content, message):
    path = tmp_path / "a.tif"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as raised:
        opened(path)
    assert str(path) in str(raised.value)


def test_what_is_not_there_and_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "absent.tif")
    with pytest.raises(UsageError, match="a directory"):
        opened(tmp_path)
    os.mkfifo(tmp_path / "pipe.tif")
    with pytest.raises(UsageError, match="pipe"):
        opened(tmp_path / "pipe.tif")


def test_a_chain_of_pages_that_is_cut_off(tmp_path):
    path = write(tmp_path / "a.tif", *[pixels((30, 40), seed=n) for n in range(4)], metadata=None)
    with tifffile.TiffFile(path) as file:
        third = file.pages[2].offset
    path.write_bytes(path.read_bytes()[:third])
    with pytest.raises(FormatError, match="cut off or damaged") as raised:
        opened(path)
    assert "download the file again" in raised.value.hint
    assert opened(path, on_error="fill").images[0].source.shape == (2, 30, 40)


def test_an_imagej_stack_that_is_cut_off(tmp_path):
    path = write_imagej(tmp_path / "a.tif", (5, 30, 40), "ZYX")
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(FormatError, match="cut off or damaged"):
        opened(path)


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize(
    ("metadata", "shape"),
    [({"imagej": True, "metadata": {"axes": "TCYX"}}, (5, 2, 30, 40)), ({}, (5, 2, 30, 40)), ({}, (9, 30, 40))],
)
def test_a_stack_that_is_cut_off_keeps_its_shape(tmp_path, metadata, shape, compression):
    path, array = tmp_path / "a.tif", pixels(shape)
    tifffile.imwrite(path, array, compression=compression, **metadata)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    found = opened(path, on_error="fill")
    source = found.images[0].source
    assert source.shape == shape
    assert not found.damage  # the planes are counted
    read = source.read(tuple(slice(0, length) for length in shape)).reshape(-1, 30, 40)
    planes = array.reshape(-1, 30, 40)
    whole = [number for number, plane in enumerate(planes) if (read[number] == plane).all()]
    assert whole == list(range(len(whole)))
    assert 3 <= len(whole) < len(planes)
    assert not read[len(whole) + 1 :].any()
    assert source.damage


@pytest.mark.parametrize(
    ("text", "told"),
    [("ImageJ=1.11a\nimages=900000000\nslices=900000000\n", 1), ("ImageJ=1.11a\nimages=3000000\nslices=3000000\n", 0)],
)
def test_a_description_that_claims_many_planes(tmp_path, text, told):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels((30, 40)), description=text, metadata=None)
    begun = time.process_time()
    found = opened(path, on_error="fill")
    assert time.process_time() - begun < 5
    assert len(found.damage) == told
    assert len(found.images[0].source.damage) == 1 - told


def test_an_rgb_stack_of_imagej_that_is_cut_off(tmp_path):
    path, array = tmp_path / "a.tif", pixels((6, 30, 40, 3), "u1")
    tifffile.imwrite(path, array, imagej=True, metadata={"axes": "ZYXS"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = opened(path, on_error="fill")
    source = found.images[0].source
    assert (source.axes, source.shape) == (("c", "z", "y", "x"), (3, 6, 30, 40))
    read = source.read((slice(0, 3), slice(0, 2), slice(0, 30), slice(0, 40)))
    np.testing.assert_array_equal(read, array[:2].transpose(3, 0, 1, 2))


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_planes_that_nothing_counts_are_told(tmp_path, compression):
    # tifffile writes the OME-XML at the end: it is lost with it.
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, pixels((9, 30, 40)), compression=compression, metadata={"axes": "ZYX"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    (told,) = opened(path, on_error="fill").damage
    assert "the list of pages ends after page" in told


def test_compressions_that_nobody_knows(tmp_path):
    path = write(tmp_path / "a.tif", pixels((64, 64)), compression="zlib", tile=(32, 32))
    set_tag(path, 259, 65500)
    with pytest.raises(UnsupportedError, match=r"page 0: .* compression that imagecodecs decodes; found .*65500"):
        opened(path)


@pytest.mark.parametrize(("dtype", "found"), [("c8", "complexieeefp"), ("c16", "complexieeefp")])
def test_types_that_images_do_not_have(tmp_path, dtype, found):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((30, 40), dtype))
    with pytest.raises(UnsupportedError, match=found):
        opened(path)


def test_complex_integers_are_not_read(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((30, 40), "int32"))
    set_tag(path, 339, 5)
    with pytest.raises(UnsupportedError, match="complexint"):
        opened(path)


@pytest.mark.parametrize("seed", range(60))
def test_damage_anywhere_ends_in_an_error_of_ours(tmp_path, seed):
    """Bytes of the metadata that are changed at random give an image or an error, and nothing else."""
    generator = np.random.default_rng(seed)
    path = tmp_path / "a.ome.tif"
    write(path, pixels((2, 64, 64)), compression="zlib", tile=(32, 32), metadata={"axes": "CYX"})
    with tifffile.TiffFile(path) as file:
        start, count = file.pages[0].offset, 2 + 12 * len(file.pages[0].tags)
    for _ in range(2):
        overwrite(path, start + int(generator.integers(0, count)), struct.pack("B", int(generator.integers(0, 256))))
    try:
        with open_tiff(str(path)) as images:
            for image in images.images.values():
                if np.prod(image.source.shape) < 1 << 24:
                    image.source.read(tuple(slice(0, length) for length in image.source.shape))
    except OzxError as error:
        assert str(path) in str(error)  # noqa: PT017


@needs_samples
def test_metadata_of_a_real_companion_file():
    found = opened(sample("multifile.companion.ome"))
    assert found.ome_xml == sample("multifile.companion.ome").read_text()
    image = found.images[0].description
    assert (image.name, image.acquired, image.sizes) == ("multifile", "2010-03-02T15:08:59", {})
    assert image.channels == (ChannelDescription(color="800000"),)


@needs_samples
def test_metadata_of_a_real_plain_file():
    image = described(sample("Channel1-01-A-01.tif"))
    # 72 dots per inch.
    assert (image.sizes, image.acquired) == ({}, "2008-02-05T17:24:46")

"""TIFF files as images: which files belong to one, what is said of it, and what is wrong with a file."""

import re
import struct

import numpy as np
import pytest
import tifffile
from tiffs import file_data, ome_image, ome_xml, pixels, squeezed_axes, squeezed_series, write, write_ome

import ozx
from ozx.errors import FormatError
from ozx.ome.units import PixelSize
from ozx.readers.images import ReadingOptions
from ozx.readers.registry import open_images
from ozx.readers.tiff.opening import check_files


def opened(path, **options):
    with open_images(str(path), ReadingOptions(**options)) as images:
        return images


def described(path):
    return opened(path).images[0]


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
        source = images.images[0].sources[0]
        assert source.axes == ("z", "y", "x")
        assert (source.read((slice(0, 2), slice(0, 30), slice(0, 40))) == stack).all()


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


def test_document_types_of_other_formats_are_refused(tmp_path):
    path = tmp_path / "a.tif"
    text = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><PerkinElmer-QPI-ImageDescription>&b;'
    tifffile.imwrite(path, pixels((30, 40)), description=text, software="PerkinElmer-QPI", metadata=None)
    with pytest.raises(FormatError, match="no document type"):
        opened(path)


def test_broken_ome_xml_leaves_a_tiff_file(tmp_path):
    xml = ome_xml(ome_image()).replace("</Image>", "")
    found = opened(write_ome(tmp_path / "a.ome.tif", xml, pixels((1, 30, 40))))
    assert found.images[0].sources[0].shape == (30, 40)
    assert "the OME-XML cannot be used" in " ".join(found.notes)


def test_planes_that_the_metadata_promise_but_nobody_wrote(tmp_path):
    path = write_ome(tmp_path / "a.ome.tif", ome_xml(ome_image(size=(4, 1, 1, 30, 40))), pixels((3, 30, 40)))
    with pytest.raises(FormatError, match="1 of the 4 planes") as raised:
        opened(path)
    assert "on_error='fill'" in raised.value.hint
    source = opened(path, on_error="fill").images[0].sources[0]
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
    assert found.images[0].sources[0].axes == ("c", "y", "x")
    assert [(c.label, c.color) for c in found.images[0].channels] == [("DAPI", "0000FF"), ("Opal 520", "00FF00")]


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_planes_that_nothing_counts_are_told(tmp_path, compression):
    # tifffile writes the OME-XML at the end: it is lost with it.
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, pixels((9, 30, 40)), compression=compression, metadata={"axes": "ZYX"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    (told,) = opened(path, on_error="fill").damage
    assert "the list of pages ends after page" in told


@pytest.mark.parametrize(
    "name",
    [
        *("/secret/x.tif", "\\secret\\x.tif", "C:x.tif", "c:/x.tif", "C:\\x.tif"),
        *("//server/share/x.tif", "\\\\server\\share\\x.tif", "\\\\?\\C:\\x.tif"),
        *("../x.tif", "..\\x.tif", "a/../../x.tif", "a\\..\\..\\x.tif", "a/.. /x.tif", ".."),
    ],
)
def test_names_outside_of_the_folder_are_refused_on_every_system(name):
    with pytest.raises(FormatError, match="the OME-XML refers to a file outside of its own folder"):
        check_files([name], "a.ome.tif")


@pytest.mark.parametrize(
    ("size", "parts", "axes"),
    [
        ((6, 2, 1, 30, 40), '<ModuloAlongT Type="lifetime" Start="0" End="2"/>', "tcyx"),
        ((1, 6, 1, 30, 40), '<ModuloAlongC Type="lambda" Start="500" Step="10" End="550"/>', "cyx"),
        ((1, 1, 6, 30, 40), '<ModuloAlongZ Type="angle"><Label>a</Label><Label>b</Label></ModuloAlongZ>', "zyx"),
        ((6, 1, 1, 30, 40), '<ModuloAlongT Type="rotation" Start="0" End="2"/>', "tyx"),
        ((5, 2, 1, 30, 40), '<ModuloAlongT Type="lifetime" Start="0" End="7"/>', "tcyx"),
    ],
    ids=["lifetimes", "wavelengths alone", "angles", "unknown type", "of a longer image"],
)
def test_an_annotation_that_divides_an_axis_leaves_it_whole(tmp_path, size, parts, axes):
    path = write_modulo(tmp_path / "a.ome.tif", size, parts)
    result = ozx.import_image(path, sync=False)
    image = ozx.open_image(result.path)
    assert "".join(axis.name for axis in image.axes) == axes
    np.testing.assert_array_equal(image.read().reshape(size), pixels(size))


def test_export_leaves_out_the_division_of_an_axis_of_another_length(tmp_path):
    path = write_modulo(tmp_path / "a.ome.tif", (6, 2, 1, 30, 40), '<ModuloAlongT Type="lifetime" Start="0" End="2"/>')
    ozx.import_image(path, tmp_path / "a.ozx", sync=False)
    for options, letters, is_left_out in (
        ({}, "THCYX", False),
        ({"channels": 0}, "THYX", False),
        ({"region": "t=1:3"}, "TCYX", True),
    ):
        result = ozx.export(tmp_path / "a.ozx", tmp_path / "b.ome.tif", force=True, sync=False, **options)
        with tifffile.TiffFile(tmp_path / "b.ome.tif") as file:
            assert squeezed_axes(squeezed_series(file)[0]) == letters
            assert ("Modulo" in file.ome_metadata) != is_left_out
        assert any("annotation that divides an axis is left out" in note for note in result.notes) == is_left_out
    ozx.import_image(path, tmp_path / "c.ozx", times="1:3", sync=False)
    ozx.export(tmp_path / "c.ozx", tmp_path / "b.ome.tif", force=True, sync=False)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "b.ome.tif"), pixels((6, 2, 1, 30, 40))[1:3, :, 0])


def write_modulo(path, size, parts):
    """Write an OME-TIFF file with an annotation that divides an axis."""
    value = f'<Modulo namespace="http://www.openmicroscopy.org/Schemas/Additions/2011-09">{parts}</Modulo>'
    space = 'Namespace="openmicroscopy.org/omero/dimension/modulo"'
    annotation = f'<XMLAnnotation ID="Annotation:0" {space}><Value>{value}</Value></XMLAnnotation>'
    image = ome_image(size=size).replace("</Image>", '<AnnotationRef ID="Annotation:0"/></Image>')
    return write_ome(path, ome_xml(f"{image}<StructuredAnnotations>{annotation}</StructuredAnnotations>"), pixels(size))

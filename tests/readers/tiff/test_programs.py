"""Variants of what programs write into TIFF files: values, spellings and forms of their metadata, and lost ends."""

import json
import logging
import struct
import warnings

import numpy as np
import pytest
import tifffile
from tiffs import ome_image, ome_xml, pixels, write_imagej, write_lsm, write_ome

import ozx

UM, NM = "micrometer", "nanometer"


def described(path):
    """Return the axes, sizes, units and channels of each image of an imported file, and the notes."""
    result = ozx.import_image(path, path.with_name("out.ozx"), force=True, sync=False)
    found = []
    for image in ozx.inspect(result.path).to_dict()["images"]:
        axes = "".join(axis["name"] for axis in image["axes"])
        sizes = dict(zip(axes, image["levels"][0]["scale"], strict=True))
        units = {axis["name"]: axis.get("unit") for axis in image["axes"]}
        found.append((axes, {axis: (sizes[axis], units[axis]) for axis in axes if axis != "c"}, image["channels"]))
    return found, result.notes


def size_of(path, axis="x"):
    """Return the size and unit of the only image along an axis."""
    ((_, sizes, _),), _ = described(path)
    return pytest.approx(sizes[axis][0]), sizes[axis][1]


@pytest.mark.parametrize("unit", ["micron", "\\u00B5m", "\\u00b5m", "um", "microns", "Micron", "\\u00C2\\u00B5m"])
def test_imagej_spells_micrometers(tmp_path, unit):
    path = write_imagej(tmp_path / "a.tif", (3, 30, 40), "ZYX", (2, 2), unit=unit, spacing=-2)
    ((_, sizes, _),), notes = described(path)
    assert (sizes, notes) == ({"z": (2, UM), "y": (0.5, UM), "x": (0.5, UM)}, ())


@pytest.mark.parametrize("unit", ["pixel", "pixels", "px", ""])
def test_pixels_of_imagej_are_no_size(tmp_path, unit):
    path = write_imagej(tmp_path / "a.tif", (30, 40), "YX", (2, 2), unit=unit)
    assert size_of(path) == (1, None)


@pytest.mark.parametrize(("unit", "per_unit"), [("inch", 72), ("inch", 300), ("in", 96), ("cm", 118.11)])
def test_units_of_printers_in_imagej_are_no_size_along_any_axis(tmp_path, unit, per_unit):
    path = write_imagej(tmp_path / "a.tif", (3, 30, 40), "ZYX", (per_unit, per_unit), unit=unit, spacing=1)
    ((_, sizes, _),), notes = described(path)
    assert sizes == dict.fromkeys("zyx", (1, None))
    assert f"the size along x, {per_unit:g} per {unit}, is that of a printer, and is not used" in notes


@pytest.mark.parametrize(
    ("unit", "known"), [("sec", "second"), ("msec", "millisecond"), ("min", "minute"), ("", "second")]
)
def test_interval_of_imagej_has_a_unit(tmp_path, unit, known):
    path = write_imagej(tmp_path / "a.tif", (3, 30, 40), "TYX", (2, 2), unit="um", finterval=3, tunit=unit)
    assert size_of(path, "t") == (3, known)


@pytest.mark.parametrize(
    ("per_unit", "unit", "size"),
    [
        (72, "INCH", None),
        (96, "INCH", None),
        (300, "INCH", None),
        (600, "INCH", None),
        (118.11, "CENTIMETER", None),
        (10, "CENTIMETER", None),
        (20_000, "CENTIMETER", 0.5),
        (39_000.5, "INCH", 25_400 / 39_000.5),
        (2_000, "MILLIMETER", 0.5),
        (2, "MICROMETER", 0.5),
    ],
)
def test_resolution_of_a_printer_is_named_and_not_used(tmp_path, per_unit, unit, size):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, pixels((30, 40)), resolution=(per_unit, per_unit), resolutionunit=unit, metadata=None)
    assert size_of(path) == ((1, None) if size is None else (pytest.approx(size, rel=1e-5), UM))
    _, notes = described(path)
    assert any(f"XResolution, {per_unit:g} per {unit.lower()}, is not used" in note for note in notes) == (size is None)


@pytest.mark.parametrize(
    ("text", "size"),
    [("MPP = 0,4990", 0.499), ("mpp = 0.3", 0.3), ("MPP=.5", 0.5), ("MPP = 2.5e-1", 0.25), ("MPP = 0", 1)],
)
def test_size_of_aperio(tmp_path, text, size):
    description = f"Aperio Image Library v11.2.1\n64x64 [0,0 64x64]|AppMag = 40,0|{text}|Filename = a"
    options = {"photometric": "rgb", "tile": (32, 32), "metadata": None}
    tifffile.imwrite(tmp_path / "a.svs", pixels((64, 64, 3), "uint8"), description=description, **options)
    assert size_of(tmp_path / "a.svs")[0] == size


def ome_of(path, inside=None, attributes="", *, size=(1, 2, 1, 30, 40), planes="<TiffData/>"):
    image = ome_image(size=size, inside=inside, attributes=attributes, planes=planes)
    return write_ome(path, ome_xml(image), pixels(size))


@pytest.mark.parametrize(
    ("value", "unit", "size"),
    [
        ("0,5", "µm", (0.5, UM)),
        ("0.5", "Âµm", (0.5, UM)),
        ("0.5", "Î¼m", (0.5, UM)),
        ("0.5", "microns", (0.5, UM)),
        ("5E-1", "&#181;m", (0.5, UM)),
        ("500", "nm", (500, NM)),
        ("0.5", "pixels", (0.5, None)),
    ],
)
def test_spellings_of_sizes_in_ome_xml(tmp_path, value, unit, size):
    attributes = " ".join(f'PhysicalSize{axis}="{value}" PhysicalSize{axis}Unit="{unit}"' for axis in "XY")
    assert size_of(ome_of(tmp_path / "a.ome.tif", attributes=attributes)) == size


@pytest.mark.parametrize("value", ["-0.5", "0", "NaN", "1.234,5", "1e-320"])
def test_size_that_cannot_be_true_is_noted(tmp_path, value):
    path = ome_of(tmp_path / "a.ome.tif", attributes=f'PhysicalSizeX="{value}" PhysicalSizeY="0.5"')
    ((_, sizes, _),), notes = described(path)
    assert (sizes["x"], sizes["y"]) == ((1, None), (0.5, UM))
    assert any("the pixel size along x, " in note and "cannot be true and is left out" in note for note in notes)


def test_place_on_the_stage_may_have_another_unit_than_the_size(tmp_path):
    place = '<Plane TheT="0" TheC="0" TheZ="0" PositionX="100,5" PositionXUnit="µm" PositionY="7" PositionYUnit="mm"/>'
    path = ome_of(
        tmp_path / "a.ome.tif", attributes='PhysicalSizeX="0.5" PhysicalSizeY="0.5"', planes=f"<TiffData/>{place}"
    )
    result = ozx.import_image(path, sync=False)
    assert ozx.open_image(result.path).levels[0].translation == (0, 7000, 100.5)


_OLD_CHANNELS = "".join(
    f'<LogicalChannel ID="c{n}" Name="{name}" EmWave="500"><ChannelComponent Pixels="p" Index="{n}"/></LogicalChannel>'
    for n, name in enumerate(("DAPI", "FITC"))
)
_OLD_PIXELS = 'DimensionOrder="XYZCT" SizeT="1" SizeC="2" SizeZ="3" SizeY="30" SizeX="40" BigEndian="false"'
_SIZES = 'PixelSizeX="0.5" PixelSizeY="0.5" PixelSizeZ="2"'


@pytest.mark.parametrize(
    ("space", "image", "pixels_"),
    [
        ("XMLschemas/OME/FC/ome.xsd", _SIZES, 'PixelType="Uint16"'),
        ("XMLschemas/OME/FC/ome.xsd", "", 'PixelType="Uint16"'),
        *[
            (f"Schemas/OME/{year}", "", f'{name}="uint16" {_SIZES.replace("Pixel", "Physical")}')
            for year, name in (
                ("2007-06", "PixelType"),
                ("2008-02", "PixelType"),
                ("2008-09", "Type"),
                ("2009-09", "Type"),
            )
        ],
    ],
)
def test_older_ome_xml_has_sizes_and_names(tmp_path, space, image, pixels_):
    channels = _OLD_CHANNELS.replace("LogicalChannel", "ChannelInfo") if image else _OLD_CHANNELS
    more = f"<CustomAttributes><Dimensions {_SIZES}/></CustomAttributes>" if not image and "FC" in space else ""
    xml = (
        f'<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/{space}"><Image ID="i" Name="a" {image}>'
        f'{channels}{more}<Pixels ID="p" {pixels_} {_OLD_PIXELS}><TiffData IFD="0" NumPlanes="6"/></Pixels></Image>'
        "</OME>"
    )
    path = write_ome(tmp_path / "a.ome.tif", xml, pixels((1, 2, 3, 30, 40)))
    ((axes, sizes, shown),), _ = described(path)
    assert (axes, sizes) == ("czyx", {"z": (2, UM), "y": (0.5, UM), "x": (0.5, UM)})
    assert [channel["label"] for channel in shown] == ["DAPI", "FITC"]


@pytest.mark.parametrize(
    ("planes", "places"),
    [
        ('<TiffData IFD="0" PlaneCount="1"/>', [0, 1, 2, 3, 4, 5]),
        ('<TiffData IFD="5" PlaneCount="1"/>', [5, 0, 1, 2, 3, 4]),
        ('<TiffData IFD="0" PlaneCount="1"/><TiffData IFD="3" FirstC="1" PlaneCount="1"/>', [0, 1, 2, 3, 4, 5]),
        ("", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_planes_without_a_place_in_ome_xml_follow_in_the_order_of_the_pages(tmp_path, planes, places):
    path = ome_of(tmp_path / "a.ome.tif", size=(1, 2, 3, 30, 40), planes=planes)
    ((axes, _, _),), notes = described(path)
    assert axes == "czyx"
    assert any("the order of the pages" in note for note in notes) == bool(planes)
    expected = pixels((6, 30, 40))[places].reshape(2, 3, 30, 40)
    np.testing.assert_array_equal(ozx.open(tmp_path / "out.ozx")["0"][:], expected)


def test_a_plane_that_no_page_has_is_an_error(tmp_path):
    xml = ome_xml(ome_image(size=(1, 2, 3, 30, 40), planes='<TiffData IFD="0" PlaneCount="1"/>'))
    with pytest.raises(ozx.FormatError, match="5 of the 6 planes in the metadata are missing"):
        ozx.import_image(write_ome(tmp_path / "a.ome.tif", xml, pixels((5, 30, 40))), sync=False)


def tagged(path, code, text, **options):
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    tags = [(code, 2, len(data), data, True)] if code else []
    tifffile.imwrite(
        path, pixels((40, 48)), extratags=tags, resolution=(72, 72), resolutionunit="INCH", metadata=None, **options
    )
    return path


_META = "spatial-calibration"


@pytest.mark.parametrize(
    ("code", "text", "size"),
    [
        (34680, "[Scan]\r\nPixelWidth=2,5e-009\r\nPixelHeight=2,5e-009\r\n", (0.0025, UM)),
        (34682, "[EScan]\r\nPixelWidth=2.5e-9\r\nPixelHeight=2.5e-9\r\n", (0.0025, UM)),
        (34682, "[User]\r\nDate=1\r\n", (1, None)),
        (34118, "\r\n0\r\nAP_IMAGE_PIXEL_SIZE\r\nImage Pixel Size = 2,5 nm\r\n", (2.5, NM)),
        (34118, "\r\n0\r\nAP_PIXEL_SIZE\r\nPixel Size = 2.5 µm\r\n", (2.5, UM)),
        (34118, "\r\n0\r\nAP_WD\r\nWD = 5 mm\r\n", (1, None)),
    ],
)
def test_sizes_of_electron_microscopes(tmp_path, code, text, size):
    assert size_of(tagged(tmp_path / "a.tif", code, text)) == size


@pytest.mark.parametrize(
    ("state", "value", "unit", "size"),
    [("on", "0,65", "um", (0.65, UM)), ("off", "0.65", "um", (1, None)), ("on", "650", "nm", (650, NM))],
)
def test_calibration_of_metaseries(tmp_path, state, value, unit, size):
    kinds = {"state": ("bool", state), "x": ("float", value), "y": ("float", value), "units": ("string", unit)}
    props = "".join(f'<prop id="{_META}-{name}" type="{kind}" value="{text}"/>' for name, (kind, text) in kinds.items())
    description = f"<MetaData><PlaneInfo>{props}</PlaneInfo></MetaData>"
    assert size_of(tagged(tmp_path / "a.tif", 0, "", description=description, software="MetaSeries")) == size


@pytest.mark.parametrize(
    ("dimensions", "shape", "axes", "sizes"),
    [
        ("X:48:0.25:um Y:40:0.25:um", (40, 48), "yx", {"x": (0.25, UM)}),
        ("X:48:250:nm Y:40:250:nm T:3:2000:msec", (3, 40, 48), "tyx", {"x": (250, NM), "t": (2000, "millisecond")}),
        ("X:48:0.25:um Y:40:0.25:um Time:3:2:Sec", (3, 40, 48), "tyx", {"t": (2, "second")}),
        ("X:48:0.25:um Y:40:0.25:um Z:3:-0.5:um T:2:3:s Ch:2:1:", (2, 2, 3, 40, 48), "tczyx", {"z": (0.5, UM)}),
        ("X:48:1:pixel Y:40:1:pixel", (40, 48), "yx", {"x": (1, None)}),
    ],
)
def test_dimensions_of_fluoview(tmp_path, dimensions, shape, axes, sizes):
    kind = np.dtype(tifffile.TIFF.MM_HEADER).newbyteorder("<")
    header = np.zeros((), kind)
    for place, part in enumerate(dimensions.split()):
        name, length, size, unit = part.split(":")
        header["Dimensions"][place] = (name.encode(), int(length), 0, float(size), unit.encode())
    with tifffile.TiffWriter(tmp_path / "a.tif", byteorder="<") as file:
        tags = [(34361, 1, kind.itemsize, header.tobytes(), True), (34362, 12, 8, (0.0,) * 8, True)]
        for plane in pixels(shape).reshape(-1, 40, 48):
            file.write(plane, extratags=tags, metadata=None, contiguous=False)
    ((found, known, _),), _ = described(tmp_path / "a.tif")
    assert (found, {axis: known[axis] for axis in sizes}) == (axes, sizes)
    # The first dimension of the file varies fastest: of all five, the planes are those of c, t and z.
    ordered = pixels(shape).swapaxes(0, 1) if len(shape) == 5 else pixels(shape)
    np.testing.assert_array_equal(ozx.open(tmp_path / "out.ozx")["0"][:], ordered)


@pytest.mark.parametrize("prefix", ["SI.", "scanimage.SI."])
def test_scanimage_in_the_tags_of_a_plain_tiff(tmp_path, prefix):
    values = {
        "hStackManager.stackZStepSize": "-2.5",
        "hRoiManager.imagingFovUm": "[-24 -20;24 -20;24 20;-24 20]",
        "hRoiManager.scanFrameRate": "4",
    }
    text = "".join(f"{prefix}{name} = {value}\n" for name, value in values.items())
    options = {"software": text} if prefix == "SI." else {"description": text}
    tifffile.imwrite(tmp_path / "a.tif", pixels((6, 40, 48)), metadata=None, photometric="minisblack", **options)
    ((axes, sizes, _),), _ = described(tmp_path / "a.tif")
    assert (axes, sizes["z"], sizes["x"]) == ("zyx", (2.5, UM), (1, UM))


@pytest.mark.parametrize(("summary_size", "size"), [(0.65, 0.65), (0, 0.325)])
def test_micro_manager_has_the_size_and_the_place_beside_a_plane(tmp_path, summary_size, size):
    plane = json.dumps({"PixelSizeUm": 0.325, "XPositionUm": 100.5, "YPositionUm": -20}).encode()
    tags = [(51123, 2, len(plane) + 1, plane + b"\0", True)]
    path = tmp_path / "a_MMStack.tif"
    tifffile.imwrite(path, pixels((40, 48)), extratags=tags, metadata=None, byteorder="<", software=False)
    data = bytearray(path.read_bytes())
    (count,) = struct.unpack_from("<H", data, 8)
    directory = data[8 : 8 + 2 + 12 * count + 4]  # it moves to the end, to leave room for the header of Micro-Manager
    summary = {"MicroManagerVersion": "2", "Frames": 1, "Slices": 1, "Channels": 1, "PixelSize_um": summary_size}
    text = json.dumps(summary).encode()
    assert 40 + len(text) <= 8 + len(directory)
    struct.pack_into("<8I", data, 8, 54773648, len(data), 483765892, 0, 99384722, 0, 2355492, len(text))
    struct.pack_into("<I", data, 4, len(data) + 28)
    data += struct.pack("<7I", 3453623, 1, 0, 0, 0, 0, len(data) + 28) + directory
    data[40 : 40 + len(text)] = text
    path.write_bytes(data)
    result = ozx.import_image(path, sync=False)
    level = ozx.open_image(result.path).levels[0]
    assert (level.scale, level.translation) == (pytest.approx((size, size)), (-20, 100.5))


def test_positions_of_an_lsm_are_a_series(tmp_path):
    images, _ = described(write_lsm(tmp_path / "a.lsm", positions=2))
    assert [axes for axes, _, _ in images] == ["czyx"] * 2
    planes = pixels((6, 3, 40, 48), "uint8")
    group = ozx.open(tmp_path / "out.ozx")
    np.testing.assert_array_equal(group["1/0"][:], planes[3:].swapaxes(0, 1))


def test_interval_of_an_lsm_may_be_in_its_stamps(tmp_path):
    path = write_lsm(tmp_path / "a.lsm", scan=3, stamps=(10.0, 12.0, 14.0))
    assert size_of(path, "t") == (2, "second")


def test_a_black_channel_of_an_lsm_has_a_visible_colour(tmp_path):
    ((_, _, channels),), _ = described(write_lsm(tmp_path / "a.lsm", colors=((0, 0, 0, 0),) * 3))
    assert [channel["label"] for channel in channels] == ["Ch1", "Ch2", "Ch3"]
    assert "000000" not in [channel["color"] for channel in channels]


@pytest.mark.parametrize("is_on", [True, False])
def test_calibration_of_an_stk(tmp_path, is_on):
    path, planes = tmp_path / "a.stk", pixels((4, 40, 48))
    calibration = (33628, 4, 8, (3, int(is_on), 4, 0, 5, 0, 6, 0), True)
    distances = (33629, 5, 12, (5, 10, 2458849, 0, 2458849, 0) * 4, True)
    options = {"metadata": None, "software": False, "rowsperstrip": 40, "byteorder": "<"}
    tifffile.imwrite(path, planes[0], extratags=[calibration, distances], **options)
    data = bytearray(path.read_bytes())
    (start,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, start)
    entries = {struct.unpack_from("<H", data, at)[0]: at for at in range(start + 2, start + 2 + 12 * count, 12)}
    struct.pack_into("<I", data, entries[33628] + 4, 4)  # pairs of a number and a value or its place
    struct.pack_into("<I", data, entries[33629] + 4, 4)
    struct.pack_into("<I", data, entries[273] + 8, len(data))
    data += planes.astype("<u2").tobytes()
    (values,) = struct.unpack_from("<I", data, entries[33628] + 8)
    for place, part in ((3, struct.pack("<2I", 65, 100)), (5, struct.pack("<2I", 65, 100)), (7, b"\3\0\0\0um\0\0")):
        struct.pack_into("<I", data, values + 4 * place, len(data))
        data += part
    path.write_bytes(data)
    ((_, sizes, _),), _ = described(path)
    assert (sizes["z"], sizes["x"]) == (((0.5, UM), (0.65, UM)) if is_on else ((1, None), (1, None)))


@pytest.mark.parametrize(
    ("letters", "shape", "count", "axes"),
    [
        ("RYX", (3, 20, 30), 3, "yx"),
        ("PTYX", (2, 3, 20, 30), 2, "tyx"),
        ("TMYX", (3, 2, 20, 30), 2, "tyx"),
        ("PMYX", (2, 3, 20, 30), 6, "yx"),
        ("RTZCYX", (2, 2, 3, 2, 20, 30), 2, "tzcyx"),
        ("CYXS", (2, 20, 30, 1), 1, "cyx"),
    ],
)
def test_letters_of_positions_and_tiles_are_a_series(tmp_path, letters, shape, count, axes):
    array = pixels(shape)
    tifffile.imwrite(tmp_path / "a.tif", array, photometric="minisblack", metadata={"axes": letters})
    images, _ = described(tmp_path / "a.tif")
    assert len(images) == count
    assert all(sorted(found) == sorted(axes) for found, _, _ in images)
    group = ozx.open(tmp_path / "out.ozx")
    last = group[f"{count - 1}/0" if count > 1 else "0"][:]
    if letters == "TMYX":
        np.testing.assert_array_equal(last, array[:, -1])
    elif letters != "RTZCYX":
        np.testing.assert_array_equal(last, array.reshape(count, *last.shape)[-1])
    else:
        np.testing.assert_array_equal(last, array[-1].swapaxes(1, 2))


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32"])
def test_planes_that_tifffile_wrote_by_default_are_no_colours(tmp_path, count, kind):
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        tifffile.imwrite(tmp_path / "a.tif", pixels((count, 40, 48), kind))
    ((axes, _, channels),), notes = described(tmp_path / "a.tif")
    assert (axes, [channel["label"] for channel in channels]) == ("zyx", ["Channel 0"])
    assert any(f"an unnamed dimension of length {count} became the axis z" in note for note in notes)
    np.testing.assert_array_equal(ozx.open(tmp_path / "out.ozx")["0"][:], pixels((count, 40, 48), kind))
    result = ozx.import_image(tmp_path / "a.tif", axes="cyx", sync=False)
    assert "".join(axis.name for axis in ozx.open_image(result.path).axes) == "cyx"


@pytest.mark.parametrize(
    "options",
    [{}, {"metadata": None}, {"ome": True, "metadata": {"axes": "ZYX"}}, {"bigtiff": True, "compression": "zlib"}],
)
@pytest.mark.parametrize("state", ["disabled", "critical", "all off"])
def test_a_lost_end_is_an_error_though_logging_is_off(tmp_path, monkeypatch, options, state):
    whole = tmp_path / "whole.tif"
    tifffile.imwrite(whole, pixels((12, 64, 64)), photometric="minisblack", **options)
    logger = logging.getLogger("tifffile")
    monkeypatch.setattr(logger, "disabled", state == "disabled")
    monkeypatch.setattr(logger, "level", logging.CRITICAL if state == "critical" else logger.level)
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL if state == "all off" else 0)
    logger._cache.clear()
    try:
        assert described(whole)[0][0][0] == "zyx"
        data = whole.read_bytes()
        for part in (0.3, 0.6, 0.95):
            path = tmp_path / "cut.tif"
            path.write_bytes(data[: int(part * len(data))])
            with pytest.raises(ozx.FormatError):
                ozx.import_image(path, sync=False)
    finally:
        logger._cache.clear()

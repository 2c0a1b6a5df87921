"""TIFF files of every kind, made in code, and real files in the folder that OZX_SAMPLES names."""

import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
import tifffile

SAMPLES = os.environ.get("OZX_SAMPLES")
needs_samples = pytest.mark.skipif(SAMPLES is None, reason="OZX_SAMPLES names no folder with real files")


def sample(name):
    return Path(SAMPLES) / "tiff" / name


def pixels(shape, dtype="uint16", seed=0):
    """Return compressible pixels, in which no two parts are equal."""
    dtype = np.dtype(dtype)
    noise = np.random.default_rng(seed).integers(0, 100, shape)
    if dtype.kind == "b":
        return noise > 50
    if dtype.kind == "f":
        return (noise / 7 - 5).astype(dtype)
    low = np.iinfo(dtype).min
    return (noise + (min(0, low))).astype(dtype)


def write(path, *arrays, options=None, **common):
    """Write arrays as the series of one file; `options` apply to the file, the other arguments to every series."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with tifffile.TiffWriter(path, **(options or {})) as file:
            for array in arrays:
                file.write(array, **common)
    return path


def write_pyramid(path, array, *, levels=2, **common):
    """Write an array with SubIFDs that have every second, fourth, … pixel."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning), tifffile.TiffWriter(path) as file:
        file.write(array, subifds=levels, **common)
        for level in range(1, levels + 1):
            step = 2**level
            file.write(array[..., ::step, ::step], subfiletype=1, **{**common, "metadata": None})
    return path


def write_ome(path, xml, array):
    """Write planes with given OME-XML, which defines Z, C and T."""
    planes = array.reshape(-1, *array.shape[-2:])
    with tifffile.TiffWriter(path) as file:
        for number, plane in enumerate(planes):
            file.write(plane, description=xml.encode() if number == 0 else None, metadata=None, contiguous=False)
    return path


def write_imagej(path, shape, axes, resolution=None, **metadata):
    """Write pixels with metadata of ImageJ."""
    tifffile.imwrite(path, pixels(shape), imagej=True, resolution=resolution, metadata={"axes": axes, **metadata})
    return path


def write_lsm(
    path,
    *,
    count=3,
    positions=1,
    scan=0,
    stamps=(),
    colors=((255, 0, 0, 0), (0, 255, 0, 0), (0, 0, 255, 0)),
    channels=3,
):
    """Write planes of 40 × 48 with thumbnails and the structure of Zeiss LSM; return its path."""
    kind = np.dtype(tifffile.TIFF.CZ_LSMINFO).newbyteorder("<")
    info = np.zeros((), kind)
    lengths = {"X": 48, "Y": 40, "Z": 1 if stamps else count, "Channels": channels, "Time": len(stamps) or 1}
    lengths |= {"P": positions, "M": 1}
    for name, length in lengths.items():
        info[f"Dimension{name}"] = length
    info["MagicNumber"], info["StructureSize"], info["ScanType"] = 67127628, kind.itemsize, scan
    info["VoxelSizeX"], info["VoxelSizeY"], info["VoxelSizeZ"] = 1e-7, 1e-7, 5e-7
    with tifffile.TiffWriter(path, byteorder="<") as file:
        planes = pixels((count * positions, channels, 40, 48), "uint8")
        for number, plane in enumerate(planes):
            tags = [] if number else [(34412, 1, kind.itemsize, info.tobytes(), True)]
            common = {"planarconfig": "separate", "metadata": None, "contiguous": False, "software": False}
            file.write(plane, photometric="minisblack", extratags=tags, **common)
            file.write(np.zeros((3, 10, 12), "uint8"), photometric="rgb", subfiletype=1, **common)
    with tifffile.TiffFile(path) as file:
        start = file.pages[0].tags[34412].valueoffset
    data = bytearray(path.read_bytes())
    names = b"".join(struct.pack("<I", 4) + name + b"\0" for name in (b"Ch1", b"Ch2", b"Ch3"))
    shown = bytes(part for color in colors for part in color)
    head = (24 + len(shown) + len(names), 3, 3, 24, 24 + len(shown), 0)
    parts = {"OffsetChannelColors": struct.pack("<6I", *head) + shown + names}
    if stamps:
        parts["OffsetTimeStamps"] = struct.pack(f"<2i{len(stamps)}d", 8 + 8 * len(stamps), len(stamps), *stamps)
    for name, part in parts.items():
        struct.pack_into("<I", data, start + kind.fields[name][1], len(data))
        data += part
    path.write_bytes(data)
    return path


def ome_xml(images="", plate="", *, head=""):
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{head}'
        f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">{plate}{images}</OME>'
    )


def ome_image(number=0, *, name="Cells", size=(1, 1, 1, 30, 40), inside=None, attributes="", planes="<TiffData/>"):
    """Return an ``Image`` of 16 bits of t, c, z, y and x, with `inside` in ``Pixels`` before the planes."""
    t, c, z, y, x = size
    channels = "".join(f'<Channel ID="Channel:{number}:{n}" SamplesPerPixel="1"/>' for n in range(c))
    return (
        f'<Image ID="Image:{number}" Name="{name}"><AcquisitionDate>2026-01-02T03:04:05</AcquisitionDate>'
        f'<Pixels ID="Pixels:{number}" DimensionOrder="XYZCT" Type="uint16" SizeT="{t}" SizeC="{c}" SizeZ="{z}" '
        f'SizeY="{y}" SizeX="{x}" {attributes}>{channels if inside is None else inside}{planes}</Pixels></Image>'
    )


def file_data(name, *, z=0, uuid=None):
    """Return the ``TiffData`` of one plane in another file."""
    uuid = uuid or f"urn:uuid:{name}"
    return f'<TiffData FirstZ="{z}" IFD="0" PlaneCount="1"><UUID FileName="{name}">{uuid}</UUID></TiffData>'


def write_parts(folder, count=3, *, companion=True):
    """Write a stack, one file per plane, and a file with the OME-XML; return the path of this file, and the pixels."""
    stack = pixels((count, 30, 40))
    names = [f"part-{number}.ome.tif" for number in range(count)]
    data = "".join(file_data(name, z=number) for number, name in enumerate(names))
    xml = ome_xml(ome_image(size=(1, 1, count, 30, 40), planes=data))
    master = folder / "parts.companion.ome"
    if companion:
        master.write_text(xml, encoding="utf-8")
    for name, plane in zip(names, stack, strict=True):
        only = f'<BinaryOnly MetadataFile="{master.name}" UUID="urn:uuid:master"/>'
        described = ome_xml(only) if companion else xml
        write_ome(folder / name, described.replace("<OME ", f'<OME UUID="urn:uuid:{name}" '), plane[None])
    return master, stack


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def damage_segment(path, number, page=0):
    """Damage one strip or tile of a file, in the middle."""
    with tifffile.TiffFile(path) as file:
        found = file.pages[page]
        offset, count = found.dataoffsets[number], found.databytecounts[number]
    overwrite(path, offset + count // 2, bytes(byte ^ 0xFF for byte in range(8)))
    overwrite(path, offset, b"\xff\xff")


def squeezed_series(file):
    """Return the series of a file, without dimensions of length 1."""
    # Newer versions of tifffile squeeze the series, older versions squeeze each level.
    return file.series(squeeze=True) if callable(file.series) else file.series


def squeezed_axes(level):
    """Return the letters of the dimensions of a level of `squeezed_series`."""
    return level.get_axes(squeeze=True) if hasattr(level, "get_axes") else level.axes


def expected(path, *, series=0, level=0):
    """Return what tifffile reads, with its letters for the dimensions."""
    with tifffile.TiffFile(path) as file:
        found = squeezed_series(file)[series].levels[level]
        shape = found.get_shape(squeeze=True) if hasattr(found, "get_shape") else found.shape
        return found.asarray().reshape(shape), squeezed_axes(found)


def in_ome_order(array, letters):
    """Return an array as t, c, z, y, x; among the channels, samples vary fastest."""
    order = sorted(range(array.ndim), key=lambda place: "TCSIQZYX".index(letters[place]))
    turned = array.transpose(order)
    sorted_letters = [letters[place] for place in order]
    if "C" in sorted_letters and "S" in sorted_letters:
        place = sorted_letters.index("C")
        shape = turned.shape
        turned = turned.reshape(*shape[:place], shape[place] * shape[place + 1], *shape[place + 2 :])
    return turned


def whole(source):
    return tuple(slice(0, length) for length in source.shape)

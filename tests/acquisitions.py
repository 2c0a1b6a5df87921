"""Folders as microscopes leave them: one plane per file, data sets of Micro-Manager, plates with an index."""

import json
import struct
from itertools import product
from pathlib import Path

import numpy as np
import tifffile

SHAPE = (16, 20)


def write_plane(path: Path, value: int, shape=SHAPE, **options) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    tifffile.imwrite(path, np.full(shape, value, "uint16"), **options)


def write_planes(folder: Path, times=(1, 2, 3), channels=(1, 2), name="img_t{t:03}_c{c}.tif") -> Path:
    for t, c in product(times, channels):
        write_plane(folder / name.format(t=t, c=c), 10 * t + c)
    return folder


SUMMARY = {"z-step_um": 2, "Interval_ms": 5000, "ChNames": ["DAPI", "GFP"], "ChColors": [-16776961, -16711936]}


def write_micro_manager(folder: Path, *, version: str) -> Path:
    """Write two positions of 2 t × 2 c × 3 z as Micro-Manager 1.4 or 2.0 does, one plane per file."""
    for p in (0, 1):
        document: dict = {"Summary": {**SUMMARY, "MicroManagerVersion": version}}
        for t, c, z in product((0, 1), (0, 1), (0, 1, 2)):
            place = {"FrameIndex": t, "ChannelIndex": c, "SliceIndex": z, "PositionIndex": p}
            said = {"PixelSizeUm": 0.65, "PositionName": f"Pos{p}", "XPositionUm": 100.5 * p, "YPositionUm": -50}
            if version == "1.4":
                name = f"img_{t:09}_{['DAPI', 'GFP'][c]}_{z:03}.tif"
                document[f"FrameKey-{t}-{c}-{z}"] = {"FileName": name, **place, **said}
            else:
                name = f"img_channel{c:03}_position{p:03}_time{t:09}_z{z:03}.tif"
                document |= {f"Coords-Pos{p}/{name}": place, f"Metadata-Pos{p}/{name}": said}
            write_plane(folder / f"Pos{p}" / name, 1000 * p + 100 * t + 10 * z + c)
        (folder / f"Pos{p}" / "metadata.txt").write_text(json.dumps(document))
    return folder


def write_ndtiff(folder: Path) -> Path:
    """Write an NDTiff of two positions: a file of pages, and the index that tells the place of each."""
    folder.mkdir()
    places = [dict(zip("pzc", at, strict=True)) for at in product((0, 1), (0, 1, 2), ("DAPI", "GFP"))]
    pages = [np.full(SHAPE, 100 * at["p"] + 10 * at["z"] + (at["c"] == "GFP"), "uint16") for at in places]
    path = folder / "a_NDTiffStack.tif"
    # Byte 8 of the first file: the number of NDTiff, its version, and the summary.
    summary = json.dumps({"z-step_um": 2}).encode()
    head = b"II*\0" + struct.pack("<IIIIII", 28 + len(summary), 483_729, 3, 3, 2_355_492, len(summary)) + summary
    data, offsets = bytearray(head), []
    tags = [(256, SHAPE[1]), (257, SHAPE[0]), (258, 16), (259, 1), (262, 1), (273, 0), (277, 1), (278, 16), (279, 640)]
    frame = b'{"PixelSizeUm": 0.65}'  # behind the pixels
    tags.append((51123, 0))
    for number, page in enumerate(pages):
        begin = len(data)
        after = begin + 2 + 12 * len(tags) + 4
        offsets.append(after)
        data += struct.pack("<H", len(tags))
        for tag, value in tags:
            place = {273: (4, 1, after), 51123: (2, len(frame), after + page.nbytes)}.get(tag, (4, 1, value))
            data += struct.pack("<HHII", tag, *place)
        end = after + page.nbytes + len(frame)
        data += struct.pack("<I", end if number < len(pages) - 1 else 0) + page.tobytes() + frame
    path.write_bytes(data)
    index = b""
    for at, offset in zip(places, offsets, strict=True):
        axes = json.dumps({"position": at["p"], "z": at["z"], "channel": at["c"]}).encode()
        index += struct.pack("<I", len(axes)) + axes + struct.pack("<I", len(path.name)) + path.name.encode()
        index += struct.pack("<IiiiiIii", offset, SHAPE[1], SHAPE[0], 1, 0, 0, 0, 0)
    (folder / "NDTiff.index").write_bytes(index)
    return folder


def write_image_xpress(folder: Path) -> Path:
    """Write a plate of two wells with two sites and two wavelengths as MetaXpress does."""
    rows = [
        f'"WellsSelection{row}", '
        + ", ".join("TRUE" if (row, column) in ((1, 1), (2, 3)) else "FALSE" for column in range(1, 13))
        for row in range(1, 9)
    ]
    lines = ['"HTSInfoFile", Version 1.0', '"TimePoints", 1', '"ZSeries", FALSE', '"ZSteps", 1', '"XWells", 12']
    lines += ['"YWells", 8', *rows, '"Sites", TRUE', '"XSites", 2', '"YSites", 1', '"SiteSelection1", TRUE, TRUE']
    lines += ['"Waves", TRUE', '"NWavelengths", 2', '"WaveName1", "DAPI"', '"WaveName2", "GFP"', '"EndFile"', ""]
    folder.mkdir()
    (folder / "P1.HTD").write_text("\r\n".join(lines))
    values = {"spatial-calibration-state": ("bool", "on"), "spatial-calibration-units": ("string", "um")}
    values |= {f"spatial-calibration-{axis}": ("float", 0.65) for axis in "xy"}
    inside = "".join(f'<prop id="{key}" type="{kind}" value="{value}"/>' for key, (kind, value) in values.items())
    for well, s, c in product(("A01", "B03"), (1, 2), (1, 2)):
        said = f"<MetaData><PlaneInfo>{inside}</PlaneInfo></MetaData>"
        value = 100 * ("AB".index(well[0]) + 1) + 10 * s + c
        write_plane(folder / f"P1_{well}_s{s}_w{c}.TIF", value, description=said, metadata=None)
    return folder


def write_cell_voyager(folder: Path) -> Path:
    """Write a plate of two wells with two fields and two channels as CellVoyager does."""
    start = '<?xml version="1.0" encoding="utf-8"?>\n<bts:{0} xmlns:bts="http://www.yokogawa.co.jp/BTS/BTSSchema/1.0"{2}>{1}</bts:{0}>'
    size = 'bts:HorizontalPixelDimension="0.65" bts:VerticalPixelDimension="0.65" bts:InputBitDepth="16"'
    channels = "".join(f'<bts:MeasurementChannel bts:Ch="{c}" {size} />' for c in (1, 2))
    named = "".join(f'<bts:Channel bts:Ch="{c}" bts:Target="{name}" />' for c, name in ((1, "DAPI"), (2, "GFP")))
    records = ""
    for (row, column), field, c in product(((1, 1), (2, 3)), (1, 2), (1, 2)):
        name = f"P1_{'AB'[row - 1]}{column:02}_T0001F{field:03}L01A01Z01C{c:02}.tif"
        write_plane(folder / name, 100 * row + 10 * field + c)
        place = f'bts:Column="{column}" bts:Row="{row}" bts:TimePoint="1" bts:FieldIndex="{field}" bts:ZIndex="1"'
        records += f'<bts:MeasurementRecord bts:Type="IMG" {place} bts:Ch="{c}">{name}</bts:MeasurementRecord>'
    detail = ' bts:MeasurementSettingFileName="S.mes" bts:ColumnCount="12" bts:RowCount="8"'
    (folder / "MeasurementDetail.mrf").write_text(start.format("MeasurementDetail", channels, detail))
    (folder / "S.mes").write_text(start.format("MeasurementSetting", f"<bts:ChannelList>{named}</bts:ChannelList>", ""))
    (folder / "MeasurementData.mlf").write_text(start.format("MeasurementData", records, ""))
    return folder

"""Sizes, intervals and channels that programs of microscopes write into TIFF files, as tifffile reads them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ozx.images.description import ImageDescription
from ozx.ome.colors import ShownChannel
from ozx.ome.units import PixelSize, convert_length, convert_time

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPageSeries

_Sizes = dict[str, PixelSize]
# Values of another form than the program writes.
_MALFORMED = (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError)


def describe_kind(file: TiffFile, series: TiffPageSeries) -> ImageDescription | None:
    """Return what the metadata of a known program says of a series; None if the file has none, or they say nothing."""
    for name, describe in _KINDS.items():
        metadata = _scanimage_texts(file) if name == "scanimage_metadata" else getattr(file, name, None)
        if isinstance(metadata, Mapping | list) and metadata:
            try:
                found = describe(metadata, series)
            except _MALFORMED:
                continue
            if found.sizes or found.channels:
                return found
    return None


def describe_micro_manager(summary: Mapping[str, Any], frame: Mapping[str, Any]) -> ImageDescription:
    """Return what the summary of Micro-Manager says, and the metadata of its first frame; nothing if malformed."""
    try:
        size = _number(summary.get("PixelSize_um")) or _number(frame.get("PixelSizeUm"))
        sizes = _lengths(dict.fromkeys("yx", size) | {"z": abs(_number(summary.get("z-step_um")))}, 1e-6)
        sizes |= _interval(_number(summary.get("Interval_ms")) / 1000)
        names, colors = summary.get("ChNames") or (), summary.get("ChColors") or ()
        channels = tuple(
            ShownChannel(str(name), _argb(colors[number]) if number < len(colors) else None)
            for number, name in enumerate(names)
        )
    except _MALFORMED:
        return ImageDescription()
    stage = {axis: frame.get(f"{axis.upper()}PositionUm") for axis in "yx"}
    origin = {axis: PixelSize(_number(place), "micrometer") for axis, place in stage.items() if place is not None}
    return ImageDescription(sizes=sizes, channels=channels, origin=origin)


def _micro_manager(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    summary, frame = metadata.get("Summary", {}), series.keyframe.tags.valueof("MicroManagerMetadata")
    with suppress(AttributeError, RuntimeError, ValueError):  # of a file that is cut off, the page may be missing
        frame = series[0].aspage().tags.valueof("MicroManagerMetadata") or frame  # type: ignore[union-attr]
    if series.kind == "ndtiff" and not summary.get("ChNames"):
        summary = {**summary, "ChNames": _indexed_channels(series.keyframe.parent)}
    return describe_micro_manager(summary, frame if isinstance(frame, Mapping) else {})


def _indexed_channels(file: TiffFile) -> list[str]:
    """Return the names of the channels in the index of an NDTiff, in the order in which tifffile counts them."""
    from tifffile import read_ndtiff_index  # noqa: PLC0415 (an extra)

    places = (place for place, *_ in read_ndtiff_index(os.path.join(file.filehandle.dirname, "NDTiff.index")))
    return list(dict.fromkeys(name for place in places if isinstance(name := place.get("channel"), str)))


def _zeiss_lsm(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    del series
    sizes = _lengths({axis: metadata.get(f"VoxelSize{axis.upper()}") for axis in "zyx"}, 1.0)
    stamps = metadata.get("TimeStamps")
    last = 0.0 if stamps is None or len(stamps) < 2 else (stamps[-1] - stamps[0]) / (len(stamps) - 1)
    sizes |= _interval(_number(metadata.get("TimeIntervall")) or _number(last))  # spelled so by Zeiss
    known = metadata.get("ChannelColors") or {}
    names, colors = known.get("ColorNames") or (), known.get("Colors") or ()
    channels = tuple(
        ShownChannel(str(name) or None, _rgb(colors[number]) if number < len(colors) else None)
        for number, name in enumerate(names)
    )
    return ImageDescription(sizes=sizes, channels=channels)


def _metamorph_stk(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    unit = str(metadata.get("CalibrationUnits", "")).strip("\0 ")
    unit = {"u": "um", "microns": "um", "micron": "um"}.get(unit.lower(), unit)
    sizes: _Sizes = {}
    for axis in "yx" if metadata.get("SpatialCalibration", 1) else "":
        value = _number(metadata.get(f"{axis.upper()}Calibration"))
        if value > 0 and unit.lower() not in ("", "pixel", "pixels"):
            sizes[axis] = convert_length(value, unit)
    if sizes and (step := _mean(metadata.get("ZDistance"))) > 0:
        sizes["z"] = convert_length(step, unit)
    times = metadata.get("DatetimeCreated")
    if "T" in series.axes and times is not None and len(times) > 1:
        sizes |= _interval((times[-1] - times[0]) / np.timedelta64(1, "s") / (len(times) - 1))
    return ImageDescription(sizes=sizes)


def _fluoview(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    del series
    sizes: _Sizes = {}
    for name, _, _, value, unit in metadata["Dimensions"]:
        axis = {"TIME": "t"}.get(name.upper(), name.lower())
        if axis in ("x", "y", "z") and value and unit and str(unit).lower() != "pixel":
            sizes[axis] = convert_length(abs(float(value)), str(unit))
        elif axis == "t" and value > 0:
            size = convert_time(float(value), str(unit).lower().replace("sec", "s") or "s")
            sizes["t"] = size if size.unit else PixelSize(size.value, "second")
    return ImageDescription(sizes={axis: sizes[axis] for axis in "tzyx" if axis in sizes})


def _olympus_sis(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    del series
    return ImageDescription(sizes=_lengths({axis: metadata.get(f"pixelsize{axis}") for axis in "yx"}, 1.0))


def _fei(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    del series
    for part in ("Scan", "EScan", "IScan"):
        scan = metadata.get(part) or {}
        if sizes := _lengths({"y": scan.get("PixelHeight"), "x": scan.get("PixelWidth")}, 1.0):
            return ImageDescription(sizes=sizes)
    return ImageDescription()


def _zeiss_sem(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    del series
    for name in ("ap_image_pixel_size", "ap_pixel_size"):
        # The name, the value and its unit; of "2,5 nm" only the name and a text.
        text = " ".join(map(str, metadata.get(name, ())[1:]))
        found = re.fullmatch(r"([0-9.,]+(?:e[+-]?[0-9]+)?)\s*(\D+)", text, re.IGNORECASE)
        if found is not None and (value := _number(found[1])) > 0:
            return ImageDescription(sizes=dict.fromkeys("yx", convert_length(value, found[2])))
    return ImageDescription()


def _metaseries(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    del series
    plane = metadata.get("PlaneInfo") or {}
    if str(plane.get("spatial-calibration-state", "on")).lower() in ("off", "false", "0"):
        return ImageDescription()
    unit = str(plane.get("spatial-calibration-units") or "um")
    sizes = {axis: _number(plane.get(f"spatial-calibration-{axis}")) for axis in "yx"}
    return ImageDescription(sizes={axis: convert_length(size, unit) for axis, size in sizes.items() if size > 0})


def _scanimage(metadata: Mapping[str, Any], series: TiffPageSeries) -> ImageDescription:
    frames = metadata.get("FrameData") or metadata
    step = frames.get("SI.hStackManager.stackZStepSize") or frames.get("state.acq.zStepSize")
    sizes = _lengths({"z": abs(_number(step))}, 1e-6)
    corners = frames.get("SI.hRoiManager.imagingFovUm")
    if corners:
        rows, columns = series.keyframe.imagelength, series.keyframe.imagewidth
        xs, ys = ([float(corner[at]) for corner in corners] for at in (0, 1))
        sizes |= _lengths({"y": (max(ys) - min(ys)) / rows, "x": (max(xs) - min(xs)) / columns}, 1e-6)
    rates = ("SI.hRoiManager.scanVolumeRate", "SI.hRoiManager.scanFrameRate", "state.acq.frameRate")
    rate = next((rate for rate in (_number(frames.get(name)) for name in rates) if rate > 0), 0.0)
    sizes |= _interval(1 / rate if rate > 0 else 0.0)
    return ImageDescription(sizes=sizes)


def _scanimage_texts(file: TiffFile) -> Mapping[str, Any]:
    """Return the metadata of ScanImage; but for BigTIFF, they stand in the tags Software or ImageDescription."""
    from tifffile import matlabstr2py  # noqa: PLC0415 (an extra)

    found = file.scanimage_metadata or {}
    if not file.is_scanimage or found.get("FrameData"):
        return found
    page = file.pages.first
    text = page.software if page.software.startswith("SI.") else page.description
    known = matlabstr2py("\n".join(line for line in text.splitlines() if "=" in line))
    return {key.removeprefix("scanimage."): value for key, value in known.items()} if isinstance(known, dict) else {}


#: tifffile's attribute of a file with the metadata of a program, and what reads them; the first that says something.
_KINDS: Mapping[str, Callable[[Any, TiffPageSeries], ImageDescription]] = {
    "micromanager_metadata": _micro_manager,
    "lsm_metadata": _zeiss_lsm,
    "stk_metadata": _metamorph_stk,
    "fluoview_metadata": _fluoview,
    "sis_metadata": _olympus_sis,
    "fei_metadata": _fei,
    "sem_metadata": _zeiss_sem,
    "metaseries_metadata": _metaseries,
    "scanimage_metadata": _scanimage,
}


def _lengths(values: Mapping[str, Any], meters: float) -> _Sizes:
    """Return the sizes above 0, which are given in multiples of `meters`, in micrometers."""
    sizes = {axis: _number(value) * meters * 1e6 for axis, value in values.items()}
    # 2.5e-9 m are 0.0025 µm, not 0.0025000000000000005.
    return {axis: PixelSize(float(f"{size:.12g}"), "micrometer") for axis, size in sizes.items() if size > 0}


def _interval(seconds: float) -> _Sizes:
    return {"t": PixelSize(float(f"{seconds:.12g}"), "second")} if seconds > 0 and math.isfinite(seconds) else {}


def _number(value: Any) -> float:
    """Return a finite number; 0 for anything else."""
    try:
        number = float(value.replace(",", ".") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) else 0.0


def _mean(values: Any) -> float:
    numbers = [abs(_number(value)) for value in (values if values is not None else ())]
    return sum(numbers) / len(numbers) if numbers else 0.0


def _argb(color: Any) -> str | None:
    """Return a colour as RRGGBB, from ARGB in a signed 32-bit integer, as Java writes it; None for black."""
    return _rgb((int(color) & 0xFFFFFF).to_bytes(3, "big"))


def _rgb(color: Sequence[int]) -> str | None:
    """Return a colour as RRGGBB; None for black, in which nobody would see the channel."""
    return "".join(f"{int(part) & 0xFF:02X}" for part in color[:3]) if any(color[:3]) else None

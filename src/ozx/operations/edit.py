"""edit: correct pixel sizes, positions, units, channels and names in an .ozx file, on a disk or at s3://."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from ozx.atomic.renaming import MANIFEST_ENDING, SIDE_ENDINGS
from ozx.atomic.targets import naming_errors
from ozx.atomic.temporary import name_beside
from ozx.calls import JsonResult, public_call
from ozx.errors import FormatError, UnsupportedError, UsageError
from ozx.flow.plans.edit import plan_edit
from ozx.flow.sinks.manifest import parse_manifest, renewed_manifest
from ozx.flow.sinks.output import Output
from ozx.flow.sinks.target import swept_notes
from ozx.flow.sources.browsing import ArchiveView
from ozx.flow.sources.wrong_sources import folder_error
from ozx.ome.edit.image import PropertyChange
from ozx.ome.edit.plan import Change, EditPlan
from ozx.ome.edit.request import Contrast, EditRequest, PixelSize, Translation, parse_edits, unit_note
from ozx.places.byte_source import FileSource
from ozx.places.place import Place
from ozx.zarr.keys import is_metadata_key


@dataclass(frozen=True, slots=True)
class Transfer:
    """The cost of an edit of a remote file.

    Attributes
    ----------
    bytes_read
        Bytes read from the server: the central directory, the metadata, and the old bytes in sent parts (short ranges,
        and bytes that fill a part up to its minimum length).
    bytes_sent
        Bytes sent to the server.
    bytes_copied
        Bytes that the server copies itself.
    requests
        Number of requests, without repetitions after failures.
    """

    bytes_read: int
    bytes_sent: int
    bytes_copied: int
    requests: int


@dataclass(frozen=True, slots=True)
class EditResult(JsonResult):
    """The changes of an edit, made or only planned.

    Attributes
    ----------
    path
        The file.
    written
        Whether the file was written: False in a dry run, and if nothing changes.
    differences
        The changed properties of images.
    changes
        Every changed JSON value, including those of resolution levels and of copies in consolidated metadata.
    notes
        Remarks, one sentence each.
    transfer
        The bytes and requests of an edit by URL, made or planned; None for a local file, or if nothing changes.
    """

    path: str
    written: bool
    differences: tuple[PropertyChange, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    transfer: Transfer | None = None


@public_call()
def edit(
    path: str | os.PathLike[str],
    *,
    node: str = "",
    pixel_size: PixelSize | None = None,
    time_interval: float | str | None = None,
    translation: Translation | None = None,
    unit: str | Mapping[str, str] | None = None,
    channel_names: Sequence[str | None] | None = None,
    colors: Sequence[str | None] | None = None,
    contrast: Contrast | None = None,
    name: str | None = None,
    forget_recovered: bool = False,
    dry_run: bool = False,
    sync: bool = True,
    confirm: Callable[[EditResult], bool] | None = None,
    drop_attributes: bool = False,
) -> EditResult:
    """Correct the metadata of an image, of all images of a plate or a series, or of one node; pixels stay unchanged.

    The old file stays until the new one is complete. If nothing changes, nothing is written.

    Parameters
    ----------
    path
        An ``.ozx`` file with OME-Zarr 0.5 or 0.6, or a node in it (``plate.ozx/A/1/0``), which
        limits the edit to the images of that node. Or the ``s3://`` URL of such a file: the server copies the data
        itself, and only metadata and central directory are transferred.
    node
        Path of a node below `path`, such as ``A/1/0`` or ``labels/cells``.
    pixel_size
        Size of a pixel at full resolution, for y and x (``0.65``; z is kept) or by axis (``{"y": 0.65, "x": 0.65}``),
        in the unit of the axis; as text, also with units: ``"0.65um"``, ``"z=2um,y=0.65um,x=0.65um"``. The scales of
        the other levels and all translations change by the same factor, and so do those of label images, which may
        have another resolution. A named axis must be in one of the images; images without this axis stay unchanged.
    time_interval
        Time between neighbouring time points, ``20`` or ``"20s"``: the pixel size along ``t``.
    translation
        Position of the centre of the first pixel of the full resolution by axis, in the unit of the axis
        (``{"y": 20, "x": 10}``) or in another that is converted (``"y=20um,x=10um"``). All levels and label images
        move by the same distance.
    unit
        A unit (``micrometer``, ``um``, ``second``), or units by axis (``{"t": "s"}``, ``"t=s"``). A single unit applies
        to axes of its type, space or time: with `pixel_size`, to those named there; otherwise to all of them.
        Numbers are not converted.
    channel_names, colors
        One value per channel; None or ``""`` keeps the present value. Colours are ``RRGGBB``, with or without ``#``, or
        one of red, green, blue, cyan, magenta, yellow, white.
    contrast
        For some channels, by name or number, the values that are shown as black and in full colour:
        ``{"DAPI": (100, 4000)}`` or ``"DAPI=100:4000"``. Names are the new ones, if `channel_names` renames channels.
    name
        Name of the image or, if the root is a plate, of the plate.
    forget_recovered
        Whether the file no longer says that `recover` made it, and which pixels are missing.
    dry_run
        Return the changes without writing them.
    sync
        Whether to wait until the file is on the disk.
    confirm
        Called before an object behind a URL is replaced, with the planned changes and their cost; if it returns
        False, nothing is written.
    drop_attributes
        Whether the new object may lack tags and access rights of the old object that ozx cannot read or set. By
        default, such tags and access rights are an error.

    Returns
    -------
    EditResult
        The changes, made or, with `dry_run`, planned.

    Raises
    ------
    UsageError
        Nothing is requested, a value is invalid, no image has a named axis, an image has another number of channels,
        or `path` is a directory.
    FormatError
        `path` is no archive, its metadata is broken, or it changed during the edit.
    UnsupportedError
        The file has another version than OME-Zarr 0.5 and 0.6, or the pixel size does not come from scales alone. By
        URL: the server cannot copy parts, the object is locked, or the new object would lack attributes of the old one.
    ResourceError
        Reading or writing failed, or the extra ``s3`` is missing. After any error the file is as it was.

    Examples
    --------
    >>> result = edit("cells.ozx", pixel_size={"y": 0.65, "x": 0.65}, dry_run=True)
    >>> for difference in result.differences[:2]:
    ...     print(difference.what, difference.old, difference.new, difference.unit)
    axis y 0.325 0.65 micrometer
    axis x 0.325 0.65 micrometer
    """
    parsed = parse_edits(
        pixel_size=pixel_size,
        time_interval=time_interval,
        translation=translation,
        unit=unit,
        channel_names=channel_names,
        colors=colors,
        contrast=contrast,
        name=name,
        forget_recovered=forget_recovered,
    )
    edits = replace(parsed, keeps_z=True)
    location = Place.parse(path, node)
    kind = location.kind()
    if kind == "a URL":
        return _edit_object(location, edits, dry_run=dry_run, confirm=confirm, drop_attributes=drop_attributes)
    if kind == "a directory":
        raise folder_error(location.path, "edit", "Pack the directory first, or edit its zarr.json files as text.")
    return edit_file(location, edits, dry_run=dry_run, sync=sync)


def edit_file(location: Place, edits: EditRequest, *, dry_run: bool = False, sync: bool = True) -> EditResult:
    """Apply `edits`, which are already checked, to a local file; see `edit`."""
    file = location.path
    try:
        with closing(FileSource(file)) as source:
            plan, notes = plan_edit(ArchiveView(source), edits, location.node)
    except (FormatError, UnsupportedError, UsageError) as error:
        raise error.at(file) from None
    if plan.without_unit:
        notes = (*notes, unit_note(tuple(plan.without_unit), file))
    is_written = bool(plan.new) and not dry_run
    if is_written:
        # Follow links: renaming onto a link would replace the link by a second file, and leave its target unchanged.
        target = os.path.realpath(file)
        with naming_errors(file, name_beside(target, ".partial")):
            described = [path for ending in SIDE_ENDINGS if os.path.exists(path := target + ending)]
            manifest = _read_manifest(target) if target + MANIFEST_ENDING in described else None
            _write(target, plan, sync=sync)
            if manifest is not None:
                _renew_manifest(target, manifest, sync=sync)
            notes += swept_notes(path for path in described if not os.path.exists(path))
    return EditResult(file, is_written, plan.differences, plan.changes, notes)


def _read_manifest(path: str) -> bytes | None:
    """Return the manifest beside a file; None if the file beside is no manifest."""
    with open(path + MANIFEST_ENDING, "rb") as file:
        document = file.read()
    try:
        parse_manifest(document, path)
    except UsageError:
        return None
    return document


def _renew_manifest(path: str, manifest: bytes, *, sync: bool) -> None:
    """Write the manifest of an edited file again, with the digests of its metadata as they are stored now."""
    from ozx.archive.reader import ArchiveReader  # noqa: PLC0415 (numpy)

    with closing(FileSource(path)) as source:
        reader = ArchiveReader(source)
        keys = filter(is_metadata_key, parse_manifest(manifest, path))
        values = {key: reader.read(index) for key in keys if (index := reader.find(key)) is not None}
    Output(Place(path), sync=sync).beside(MANIFEST_ENDING).write_small(renewed_manifest(manifest, values))


def _edit_object(
    location: Place,
    edits: EditRequest,
    *,
    dry_run: bool,
    confirm: Callable[[EditResult], bool] | None,
    drop_attributes: bool,
) -> EditResult:
    """Edit the object behind a URL."""
    from ozx.flow.sinks.edited_object import check_can_copy, plan_replacement  # noqa: PLC0415 (numpy)
    from ozx.places.remote.source import RemoteSource  # noqa: PLC0415 (asyncio)

    check_can_copy(location.path)
    with closing(RemoteSource(location.path)) as source:
        try:
            plan, notes = plan_edit(ArchiveView(source), edits, location.node)
        except (FormatError, UnsupportedError, UsageError) as error:
            raise error.at(source.name) from None
        result = EditResult(source.name, False, plan.differences, plan.changes, notes)
        if not plan.new:
            return result
        kept, cost, apply = plan_replacement(source, plan.old, plan.new, drop_attributes=drop_attributes)
        result = replace(result, notes=(*notes, *kept), transfer=Transfer(*cost))
        if dry_run or (confirm is not None and not confirm(result)):
            return result
        apply()
        return replace(result, written=True)


def _write(path: str, plan: EditPlan, *, sync: bool) -> None:
    """Rewrite the file with the edited documents; keep the old file if writing fails."""
    from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415 (zarr takes half a second to load)

    from ozx.store.ozx_store import OzxStore  # noqa: PLC0415 (zarr)

    buffer = default_buffer_prototype().buffer
    with OzxStore(path, mode="a", keep_partial=False, sync=sync) as store:
        for key, value in plan.new.items():
            found = store.get_sync(key)
            # A store returns documents without the spaces that pad them.
            if found is None or found.to_bytes() != plan.old[key].rstrip(b" "):
                raise FormatError(
                    f"{key} changed while it was edited; nothing is written",
                    path=path,
                    hint="Another program is writing this file: try again when it has finished.",
                )
            store.set_sync(key, buffer.from_bytes(value))

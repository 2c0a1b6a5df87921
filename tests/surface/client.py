"""A program that uses ozx as users do: the program must run, and `mypy --strict` must know all types.

``test_client.py`` runs it. ``.ci/check_distribution`` runs it, and checks it with mypy, where only the wheel is
installed.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import zarr
from numpy.typing import NDArray

import ozx
from ozx.operations.edit import EditResult
from ozx.operations.export import ExportResult
from ozx.operations.extract import ExtractResult
from ozx.operations.import_image import ImportManyResult, ImportResult
from ozx.operations.info import Inspection
from ozx.operations.labels import LabelsResult
from ozx.operations.pack import PackManyResult, PackResult
from ozx.operations.recover import RecoverResult
from ozx.operations.repack import RepackResult
from ozx.operations.thumbnail import ThumbnailResult
from ozx.operations.unpack import UnpackResult
from ozx.operations.write_image import WriteImageResult
from ozx.store.extension_groups import OpenedGroup
from ozx.store.live.group import LiveGroup
from ozx.streaming.frame_stream import FrameStream, StreamResult
from ozx.streaming.stream_images import Camera
from ozx.validation.report import Finding, Report


def use(source: Path, folder: Path) -> None:
    """Call the public functions of ozx, and let mypy compare the types of their results with the expected types."""
    packed = ozx.pack(source, folder / "cells.ozx", sync=False)
    assert_type(packed, PackResult)
    path = Path(packed.path)
    assert_type(ozx.is_ozx(path), bool)
    schema = folder / "schema.json"
    schema.write_text("{}")
    report = ozx.validate(path, schemas={"https://example.org/schema.json": schema})
    assert_type(report, Report)
    assert_type(report.valid, bool)
    for finding in report.findings:
        assert_type(finding, Finding)
        assert_type(finding.id, str)
    info = ozx.inspect(path)
    assert_type(info, Inspection)
    for image in info.images:
        assert_type(image.levels[0].shape, tuple[int, ...] | None)
    for entry in ozx.list_entries(path):
        assert_type(entry.key, str)
    assert_type(ozx.read_value(path, "zarr.json"), Iterator[bytes])
    assert_type(ozx.open(path), OpenedGroup)
    array = ozx.open_array(path, "0")
    assert_type(array, ozx.Array)
    with ozx.open_image(path) as opened:
        assert_type(opened, ozx.Image)
        assert_type(opened.shape, tuple[int, ...])
        assert_type(opened.axes[0].size, int)
        assert_type([channel.name for channel in opened.channels], list[str | None])
        assert_type(opened.labels["cells"], ozx.Image)
        assert_type(opened.read(channels=["Nuclei"], region={"x": (10, 60.5)}, unit="um"), NDArray[Any])
        assert_type(opened.thumbnail(64), NDArray[np.uint8])
    assert_type(ozx.read(path, "labels/cells", level=1), NDArray[Any])
    pixels: zarr.Array[Any] = array
    pixels[..., 0]
    array.read_many([(0, slice(0, 8))])
    ozx.use_pipeline()
    with ozx.storage_options(anonymous=True, region="eu-west-2"):
        assert_type(ozx.open(path), OpenedGroup)
    assert_type(ozx.unpack(path, folder / "again.ome.zarr", sync=False), UnpackResult)
    assert_type(ozx.repack(path, folder / "again.ozx", sync=False), RepackResult)
    assert_type(ozx.pack_many([source], out_dir=folder / "many", sync=False), PackManyResult)
    assert_type(ozx.extract(path, folder / "level.ozx", levels="1", sync=False), ExtractResult)
    assert_type(ozx.recover(path, folder / "recovered.ozx", sync=False), RecoverResult)
    assert_type(ozx.thumbnail(path, folder / "cells.png"), ThumbnailResult)
    assert_type(ozx.edit(path, name="Cells", sync=False), EditResult)
    with ozx.OzxStore(folder / "new.ozx", mode="w", sync=False) as store:
        assert_type(store, ozx.OzxStore)
        zarr.create_group(store, attributes={"ome": {"version": "0.5"}})
    with ozx.open(folder / "natural.ozx", "w", sync=False) as group:
        assert_type(group, OpenedGroup)
        group.attrs["ome"] = {"version": "0.5"}
        made: zarr.Array[Any] = group.create_array("0", shape=(8, 8), dtype="uint8")
        made[...] = 1
    written = ozx.write_image(folder / "written.ozx", np.zeros((8, 8), "uint8"), axes="yx", sync=False)
    assert_type(written, WriteImageResult)
    assert_type(ozx.add_labels(written.path, "all", np.ones((8, 8), "uint8"), sync=False), LabelsResult)
    assert_type(ozx.remove_labels(written.path, "all", sync=False), LabelsResult)
    with ozx.stream(folder / "s.ozx", axes="tyx", shape=(None, 8, 8), dtype="uint8", sync=False) as stream:
        assert_type(stream, FrameStream)
        assert_type(stream.append(np.zeros((8, 8), "uint8")), int)
    assert_type(stream.result, StreamResult)
    assert_type(ozx.Camera(shape=(None, 8, 8)), Camera)
    live = ozx.open(folder / "s.ozx", live=True)
    assert_type(live, LiveGroup)
    assert_type((live.refresh(), live.is_finished, live.state), tuple[bool, bool, str])
    exported = ozx.export(path, folder / "cells.ome.tif", sync=False)
    assert_type(exported, ExportResult)
    assert_type(ozx.import_image(exported.path, folder / "imported.ozx", sync=False), ImportResult)
    assert_type(ozx.import_images([exported.path], out_dir=folder / "many", sync=False), ImportManyResult)
    if TYPE_CHECKING:
        ozx.nonsense  # type: ignore[attr-defined]  # noqa: B018
    try:
        ozx.inspect(source / "zarr.json")
    except ozx.OzxError as error:
        assert_type(error.hint, str | None)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        use(Path(sys.argv[1]), Path(name))

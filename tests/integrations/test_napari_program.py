"""The real napari with a real window: it finds the reader and the writer, shows what they read, saves what it shows."""

# ruff: noqa: PLC0415 (collected where napari is not installed, too)

import os
import time

import numpy as np
import pytest
from hierarchies import FIXTURES, tree
from packed import pack_tree, sort_values, write_archive

import ozx
from ozx.integrations.napari import read_layers, write_layers

pytestmark = pytest.mark.napari

PLUGIN = "ozx-toolkit"


@pytest.fixture(scope="module")
def _settings(tmp_path_factory):
    """Keep napari from the settings of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAPARI_CONFIG", str(tmp_path_factory.mktemp("settings") / "settings.yaml"))
        yield


@pytest.fixture(scope="module")
def window(_settings):
    import napari

    viewer = napari.Viewer(show=False)
    yield viewer
    viewer.close()


@pytest.fixture
def viewer(window):
    """One window for all tests, without layers: opening it takes seconds."""
    window.layers.clear()
    window.dims.ndisplay = 2
    return window


def packed(name, folder):
    return str(pack_tree(FIXTURES / f"{name}.ome.zarr", folder / f"{name}.ozx"))


def test_the_manifest_is_found_and_valid():
    import npe2

    manifest = npe2.PluginManifest.from_distribution(PLUGIN)
    manifest.validate_imports()
    assert [reader.filename_patterns for reader in manifest.contributions.readers] == [["*.ozx", "*.zip", "ozx://*"]]
    found = npe2.PluginManager.instance()
    found.discover()
    assert PLUGIN in {reader.plugin_name for reader in found.iter_compatible_readers(["/a/cells.ozx"])}
    writers = {writer.plugin_name for writer in found.iter_compatible_writers(["image", "image", "labels"])}
    assert PLUGIN in writers


def test_opening_an_image(viewer, tmp_path):
    nuclei, cytoplasm, cells = viewer.open(packed("image", tmp_path), plugin=PLUGIN)
    assert [layer.name for layer in viewer.layers] == ["Nuclei", "Cytoplasm", "cells"]
    assert [type(layer).__name__ for layer in viewer.layers] == ["Image", "Image", "Labels"]
    assert all(layer.multiscale and len(layer.data) == 3 for layer in viewer.layers)
    assert tuple(nuclei.contrast_limits) == (93.0, 2295.0)
    assert cytoplasm.colormap.map(1.0).ravel()[:3] == pytest.approx([1.0, 0xB0 / 255, 0.0], abs=0.01)
    assert cells.get_color(1) == pytest.approx([107 / 255, 239 / 255, 115 / 255, 1.0])
    assert "area" in cells.features
    assert [str(unit) for unit in nuclei.units] == ["micrometer", "micrometer"]
    assert tuple(nuclei.axis_labels) == ("y", "x")
    assert np.allclose(nuclei.extent.world, cells.extent.world)


def test_what_is_drawn_is_what_is_stored(viewer, tmp_path):
    from qtpy.QtWidgets import QApplication

    viewer.open(packed("image", tmp_path), plugin=PLUGIN)
    nuclei = viewer.layers["Nuclei"]
    shown = np.asarray(nuclei._slice.image.raw)
    group = ozx.open(tmp_path / "image.ozx")
    assert np.array_equal(shown, group[str(nuclei.data_level)][0][: shown.shape[0], : shown.shape[1]])
    colors = 0
    viewer.show()
    for _ in range(50):  # a window takes its time to appear
        QApplication.processEvents()
        picture = viewer.screenshot(canvas_only=True, flash=False)
        colors = len(np.unique(picture.reshape(-1, 4), axis=0))
        if colors > 100:
            break
        time.sleep(0.1)
    viewer.window._qt_window.hide()  # drawing without a graphics card is slow
    assert colors > 100


def test_moving_through_time_planes_and_the_fields_of_a_plate(viewer, tmp_path):
    viewer.open(packed("sharded", tmp_path), plugin=PLUGIN)
    assert viewer.dims.ndim == 4
    viewer.dims.current_step = (1, 3, *viewer.dims.current_step[2:])
    layer = viewer.layers["Cytoplasm"]
    stored = ozx.open(tmp_path / "sharded.ozx")[str(layer.data_level)][1, 1, 3]
    assert np.array_equal(np.asarray(layer._slice.image.raw), stored)
    viewer.layers.clear()
    viewer.open(packed("plate", tmp_path), plugin=PLUGIN)
    viewer.dims.current_step = (1, *viewer.dims.current_step[1:])
    layer = viewer.layers["Synthetic plate: Nuclei"]
    edge = 64 >> layer.data_level
    assert np.array_equal(
        np.asarray(layer._slice.image.raw)[edge:, edge:],
        ozx.open(tmp_path / "plate.ozx")[f"B/2/1/{layer.data_level}"][0],
    )


def test_three_dimensions(viewer, tmp_path):
    viewer.open(packed("sharded", tmp_path), plugin=PLUGIN)
    viewer.dims.ndisplay = 3
    assert np.asarray(viewer.layers[0]._slice.image.raw).ndim == 3


def test_dropping_files_on_the_window(viewer, tmp_path):
    from qtpy.QtCore import QMimeData, QPointF, Qt, QUrl
    from qtpy.QtGui import QDropEvent

    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(packed("image", tmp_path)), QUrl.fromLocalFile(packed("series", tmp_path))])
    none, left = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
    viewer.window._qt_viewer.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, left, none))
    assert len(viewer.layers) == 6
    assert {layer.source.reader_plugin for layer in viewer.layers} == {PLUGIN}


def test_a_zip_that_is_ozx_inside_opens_too(viewer, tmp_path):
    path = packed("image", tmp_path)
    os.rename(path, tmp_path / "image.zip")
    assert len(viewer.open(str(tmp_path / "image.zip"), plugin=PLUGIN)) == 3


def test_a_bad_file_says_what_is_wrong_with_it(viewer, tmp_path):
    from napari.errors import ReaderPluginError

    bad = tmp_path / "bad.ozx"
    bad.write_bytes(b"nope" * 100)
    with pytest.raises(ozx.FormatError, match="expected a ZIP file"):
        viewer.open(str(bad), plugin=PLUGIN)
    with pytest.raises(ReaderPluginError) as caught:  # what drag and drop shows
        viewer.window._qt_viewer._qt_open([str(bad)], stack=False)
    assert isinstance(caught.value.__cause__.__cause__ or caught.value.__cause__, ozx.FormatError)
    assert not viewer.layers


def test_a_damaged_chunk_does_not_stop_napari(viewer, tmp_path):
    values = tree(FIXTURES / "image.ome.zarr")
    for key in [key for key in values if key.startswith("2/c/")]:
        values[key] = b"\xff" * 64
    path = write_archive(tmp_path / "damaged.ozx", sort_values(values))
    with pytest.raises(ozx.FormatError, match="chunk cannot be decoded"):
        for layer in viewer.open(str(path), plugin=PLUGIN):
            np.asarray(layer.data[2])


def assert_saved(viewer, path):
    report = ozx.validate(path)
    assert [finding.message for finding in report.findings] == []
    shown = [(layer.name, [np.asarray(level) for level in layer.data]) for layer in viewer.layers]
    viewer.layers.clear()
    viewer.open(path, plugin=PLUGIN)
    assert [layer.name for layer in viewer.layers] == [name for name, _ in shown]
    for layer, (_, levels) in zip(viewer.layers, shown, strict=True):
        for left, right in zip(layer.data, levels, strict=True):
            assert np.array_equal(np.asarray(left), right)


@pytest.mark.parametrize("name", ["image", "sharded"])
def test_saving_all_layers_and_opening_them_again(viewer, tmp_path, name):
    viewer.open(packed(name, tmp_path), plugin=PLUGIN)
    before = [(layer.scale.copy(), layer.units, layer.axis_labels, tuple(layer.translate)) for layer in viewer.layers]
    path = str(tmp_path / "saved.ozx")
    assert viewer.layers.save(path, plugin=PLUGIN) == [path]
    assert_saved(viewer, path)
    after = [(layer.scale, layer.units, layer.axis_labels, tuple(layer.translate)) for layer in viewer.layers]
    for left, right in zip(before, after, strict=True):
        assert np.allclose(left[0], right[0])
        assert left[1:3] == right[1:3]
        assert left[3] == pytest.approx(right[3])
    if name == "image":
        assert viewer.layers["cells"].get_color(1) == pytest.approx([107 / 255, 239 / 255, 115 / 255, 1.0], abs=0.01)


def test_saving_what_was_made_in_napari(viewer, tmp_path):
    noise = np.random.default_rng(0).random((3, 30, 40)).astype("f4")
    viewer.add_image(noise, name="Light", scale=(2, 0.5, 0.5), colormap="green", contrast_limits=(0.1, 0.9))
    painted = viewer.add_labels(np.zeros((3, 30, 40), "u1"), name="Painted cells", scale=(2, 0.5, 0.5))
    painted.paint((1, 10, 10), 3)
    path = str(tmp_path / "made.ozx")
    assert viewer.layers.save(path) == [path]
    assert {finding.severity for finding in ozx.validate(path).findings} <= {"note"}  # napari knows no units
    viewer.layers.clear()
    light, cells = viewer.open(path, plugin=PLUGIN)
    assert np.array_equal(np.asarray(light.data), noise)
    assert np.asarray(cells.data).max() == 3
    assert np.allclose(cells.scale, (2, 0.5, 0.5))
    assert light.colormap.map(1.0).ravel()[:3] == pytest.approx([0, 1, 0], abs=0.01)
    assert tuple(light.contrast_limits) == pytest.approx((0.1, 0.9))


def test_saving_colours(viewer, tmp_path):
    data = np.random.default_rng(0).integers(0, 255, (20, 30, 3), "u1")
    viewer.add_image(data, rgb=True)
    path = str(tmp_path / "rgb.ozx")
    viewer.layers.save(path, plugin=PLUGIN)
    layers = read_layers(path)
    assert [(meta["name"], meta["colormap"]) for _, meta, _ in layers] == [
        ("Red", "#FF0000"),
        ("Green", "#00FF00"),
        ("Blue", "#0000FF"),
    ]


def test_what_cannot_be_saved_is_said(viewer, tmp_path):
    viewer.open(packed("series", tmp_path), plugin=PLUGIN)
    path = tmp_path / "saved.ozx"
    with pytest.raises(ozx.UnsupportedError, match="expected layers of one shape and type"):
        viewer.layers.save(str(path), plugin=PLUGIN)
    assert not path.exists()
    source = str(tmp_path / "series.ozx")
    with pytest.raises(ozx.UnsupportedError, match="is read from this file"):
        viewer.layers[:1].save(source, plugin=PLUGIN)
    viewer.layers.clear()
    layer = viewer.add_image(np.ones((8, 8)))
    layer.rotate = 30
    with pytest.raises(ozx.UnsupportedError, match="has rotation, shear or an affine transform"):
        viewer.layers.save(str(path), plugin=PLUGIN)


def test_layer_data_of_a_node_in_a_file(viewer, tmp_path):
    from napari.layers import Layer

    for data in read_layers(f"ozx://{packed('plate', tmp_path)}/B/2/1"):
        viewer.add_layer(Layer.create(*data))
    assert [layer.name for layer in viewer.layers] == ["Nuclei", "Cytoplasm"]


def test_layer_tuples_of_napari_itself_are_understood(viewer, tmp_path):
    layer = viewer.add_labels(np.ones((8, 8), bool), name="mask")
    path = str(tmp_path / "mask.ozx")
    write_layers(path, [layer.as_layer_data_tuple()])
    assert ozx.inspect(path).kind == "labels"

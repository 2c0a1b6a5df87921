"""`ozx view` and `ozx serve` as a user meets them."""

import json
import os
import signal
import subprocess
import sys
import types
import urllib.error
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
import zarr
from growing import growing
from hierarchies import FIXTURES
from packed import pack_tree

import ozx
from ozx.cli.app import run
from ozx.integrations.napari import read_layers

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture
def path(tmp_path):
    return pack_tree(IMAGE, tmp_path / "my cells #1é.ozx")


@contextmanager
def running(*arguments, lines=1):
    """Give the first lines that a command prints, and the process; it is ended by Ctrl-C."""
    command = [sys.executable, "-m", "ozx", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield [process.stdout.readline().rstrip("\n") for _ in range(lines)], process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:  # SIGINT is ignored, as in the background of a shell
                process.kill()
                raise


def fetch(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read()


def test_the_first_line_is_the_pages_address(path):
    with running("view", path, "--no-browser") as ([url], process):
        assert url.startswith("http://127.0.0.1:")
        assert b"<title>" in fetch(url)
        assert json.loads(fetch(f"{url}api/file"))["name"] == path.name
        with pytest.raises(urllib.error.HTTPError, match="404") as raised:
            fetch(url.replace(url.split("/")[3], "guess"))
        raised.value.close()
    assert process.returncode == 0


@pytest.mark.ci
def test_a_stream_is_followed(tmp_path):
    with growing(tmp_path / "a.ozx") as append:
        append(2)
        with running("view", tmp_path / "a.ozx", "--live", "--no-browser") as ([url], process):
            assert json.loads(fetch(f"{url}api/file"))["live"]
            append(2)
            assert json.loads(fetch(f"{url}api/growth")) == {"growth": 1, "state": "growing"}
    assert process.returncode == 0


@pytest.mark.ci
def test_the_servers_end_by_sigterm(path):
    with running("serve", path) as (_, process):
        process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM


def test_each_file_has_its_address(path, tmp_path):
    plate = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    with running("serve", path, plate, lines=2) as ([first, second], process):
        assert fetch(first) == path.read_bytes()
        assert fetch(f"{second}/A/1/0/zarr.json") == (FIXTURES / "plate.ome.zarr/A/1/0/zarr.json").read_bytes()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("options", "key", "step"),
    [(["--directory"], "0/zarr.json", "zarr3"), (["--ome-version", "0.4"], "0/.zarray", "zarr2")],
)
def test_a_file_is_served_as_a_directory_or_in_04(path, options, key, step):
    with running("serve", path, *options) as ([url], process):
        assert url.endswith(".ome.zarr")
        assert process.stderr.readline() == f"address: {url}/|{step}:\n"
        assert json.loads(fetch(f"{url}/{key}"))["shape"] == [2, 256, 256]


def test_what_04_cannot_express_is_refused_at_the_start(path, tmp_path, capsys):
    zarr.open_group(tmp_path / "a.zarr", mode="w", attributes={"ome": {"version": "0.5"}}).create_array(
        "0", shape=4, dtype="M8[s]"
    )
    assert run(["pack", str(tmp_path / "a.zarr"), "--quiet"]) == 0
    assert run(["serve", str(tmp_path / "a.ozx"), "--ome-version", "0.4"]) == 1
    assert "0: Zarr v2 cannot express the data type 'numpy.datetime64'" in capsys.readouterr().err


def test_a_port_can_be_chosen_and_may_be_taken(path, capsys):
    with running("serve", path) as ([url], _):
        port = url.split(":")[2].partition("/")[0]
        assert run(["view", str(path), "--no-browser", "--port", port]) == 4
        assert "Give another --port" in capsys.readouterr().err


@pytest.mark.ci
def test_directories_are_shown(tmp_path):
    with running("view", IMAGE, "--no-browser") as ([url], _):
        assert json.loads(fetch(f"{url}api/file"))["kind"] == "image"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["view", "--no-browser", ""], 2, "error: "),
        (["serve", ""], 2, "error: "),
        (["view", "--no-browser", "folder"], 1, "neither zarr.json nor .zgroup"),
        (["view", "--no-browser", "a.zarr"], 1, "expected OME-Zarr images, found none"),
        (["view", "--with=neuroglancer", "cells.ozx"], 2, "ozx serve prints the address"),
        (["view", "--with", "napari", str(IMAGE)], 2, "expected an .ozx file to show; it is a directory"),
        (["view", "--with", "napari", "many"], 2, f"Give the path of one file: {os.path.join('many', 'a.ozx')}\n"),
        (["view", "--with", "napari", "cell.ozx"], 4, "cells.ozx?"),
        (["view", "--with", "napari", "a.tif"], 1, "Run: ozx import "),
        (["serve", str(IMAGE)], 2, "python -m http.server"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_way_out(here, capsys, words, code, message):
    for name in ("cells.ozx", "many/a.ozx", "many/b.ozx", "folder/x"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).touch() if name == "folder/x" else pack_tree(IMAGE, here / name)
    zarr.create_group(here / "a.zarr", attributes={"ome": {"version": "0.5"}})
    (here / "a.tif").write_bytes(b"II*\0" + bytes(100))
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert "OpenGL" not in err


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C comes as soon as the page is there."""

    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("ozx.desktop.viewer.viewing.wait_for_ever", interrupt)


@pytest.mark.usefixtures("interrupted")
def test_without_a_screen_it_is_said(path, capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert run(["view", str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("http://127.0.0.1:")
    assert "no screen" in captured.err


def test_napari_may_be_missing(path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "napari", None)
    assert run(["view", str(path), "--with", "napari"]) == 4
    err = capsys.readouterr().err
    assert "napari is not installed\n" in err
    assert 'pip install "ozx-toolkit[napari]" "napari[all]' in err


@pytest.fixture
def use_napari(monkeypatch):
    """Return a function that makes modules in place of napari and its reader of layers; `viewer` makes a viewer."""
    monkeypatch.setenv("DISPLAY", ":0")

    def use(viewer, run=lambda: None):
        app = types.SimpleNamespace(devicePixelRatio=lambda: 2.0)
        qt = types.SimpleNamespace(get_qapp=lambda: app)
        monkeypatch.setitem(sys.modules, "napari", types.SimpleNamespace(Viewer=viewer, run=run, qt=qt))

        def read(paths, *, stack, plugin_name):
            assert (stack, plugin_name) == (False, "ozx-toolkit")
            return read_layers(paths)

        monkeypatch.setitem(sys.modules, "npe2", types.SimpleNamespace(read=read))

    return use


@pytest.mark.parametrize("late", [False, True])
def test_napari_without_qt_says_so_in_one_line(path, capsys, use_napari, late):
    def fail(*_, **__):
        raise ImportError("No Qt bindings could be found.\nnapari needs one of them, and so on.")

    # napari 0.9 makes a viewer without Qt, and fails when it opens a file.
    use_napari((lambda: types.SimpleNamespace(add_image=fail)) if late else fail)
    assert run(["view", str(path), "--with", "napari"]) == 4
    err = capsys.readouterr().err
    assert err.splitlines() == [
        "error: napari cannot be loaded: No Qt bindings could be found.",
        'hint: Install it: pip install "ozx-toolkit[napari]" "napari[all]"',
    ]


def test_napari_without_opengl_is_no_fault_of_ozx(path, capsys, use_napari):
    def fail(*_, **__):
        raise AttributeError("'NoneType' object has no attribute 'decode'")  # by vispy, if there is no context

    viewer = types.SimpleNamespace(add_image=fail)
    use_napari(lambda: viewer)
    assert run(["view", str(path), "--with", "napari"]) == 4
    err = capsys.readouterr().err
    assert err.startswith("error: napari cannot show the image: AttributeError: 'NoneType' object")
    assert "hint: napari needs OpenGL" in err

    # An error in our reader stays a fault of ozx.
    viewer.add_image = lambda *_, **__: read_layers(None)
    assert run(["view", str(path), "--with", "napari"]) == 70
    assert "this is a fault of ozx" in capsys.readouterr().err


@pytest.mark.posix("they always have a screen", on="linux")
def test_napari_without_a_screen(path, capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name in ("napari", "npe2"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace())
    assert run(["view", str(path), "--with", "napari"]) == 4
    assert capsys.readouterr().err.splitlines() == [
        "error: napari needs a screen; found none",
        "hint: To see the image in a browser, use ozx view without --with.",
    ]


class Viewer:
    """Keeps what it is told, as napari's viewer does."""

    def __init__(self):
        self.layers, self.camera = [], types.SimpleNamespace()
        self.dims = types.SimpleNamespace(ndim=3, set_point=lambda axes, point: setattr(self, "point", (axes, point)))

    def add_image(self, data, **settings):
        scale, translate = np.array(settings["scale"]), np.array(settings["translate"])
        layer = types.SimpleNamespace(ndim=len(scale), **settings)
        layer.data_to_world = lambda point: scale * point + translate
        self.layers.append(layer)
        return layer

    add_labels = add_image


@pytest.fixture
def napari(use_napari):
    viewer, calls = Viewer(), []
    use_napari(lambda: viewer, lambda: calls.append("run"))
    yield viewer
    assert calls == ["run"]


def test_napari_begins_with_the_view_of_a_link(tmp_path, napari):
    ozx.write_image(
        tmp_path / "a.ozx",
        np.zeros((2, 5, 64, 64), "uint8"),
        axes="czyx",
        pixel_size={"z": 2.0, "y": 0.5, "x": 0.5},
        unit="um",
        labels={"cells": np.ones((5, 64, 64), "uint8")},
    )
    view = "#at=30,20.5,4&plane.z=3&channel.2=1,00FF80,10,510,0.5&labels.1=1,0.25,outlines"
    assert run(["view", str(tmp_path / "a.ozx"), "--with", "napari", "--at", view]) == 0
    first, second, cells = napari.layers
    assert (first.visible, second.visible) == (False, True)
    assert (second.colormap, second.contrast_limits, second.gamma) == ("#00FF80", (10, 510), 0.5)
    assert (cells.visible, cells.opacity, cells.contour) == (True, 0.25, 1)
    assert list(map(list, napari.point)) == [[0, 1, 2], [4.0, 10.0, 14.75]]
    assert napari.camera.center == (10.0, 14.75)
    assert napari.camera.zoom == 4  # in napari's pixels, of two on the screen, for each micrometer


def test_napari_shows_the_field_of_a_plate_that_a_link_names(tmp_path, napari):
    path = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    assert run(["view", str(path), "--with", "napari", "--at", "image=B/2/1&at=32.5,16.5,1"]) == 0
    assert napari.layers[0].metadata["ozx"]["path"].endswith("plate.ozx/B/2/1")


@pytest.mark.parametrize("view", ["here", "at=1,2", "at=1,2,x", "at=1,2,3&channel.1=1,FF0000", "plane.z=2"])
def test_napari_takes_only_views_of_links(path, use_napari, capsys, view):
    use_napari(Viewer)
    assert run(["view", str(path), "--with", "napari", "--at", view]) == 2
    assert "the part of a link of ozx view after #" in capsys.readouterr().err


@pytest.mark.usefixtures("interrupted")
def test_the_page_begins_with_a_view(path, capsys):
    assert run(["view", str(path), "--no-browser", "--at", "at=1,2,3"]) == 0
    assert capsys.readouterr().out.endswith("/#at=1,2,3\n")

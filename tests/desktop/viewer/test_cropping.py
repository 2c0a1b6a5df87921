"""The region on the screen as a file, and the same place in napari: what the page may ask for, and what it gets."""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import types

import pytest
import tifffile
from asked_pages import Page
from hierarchies import FIXTURES
from packed import pack_tree

import ozx
from ozx.desktop.viewer import cropping
from ozx.desktop.viewer.pictures import Pictures
from ozx.desktop.viewer.viewing import page_serving
from ozx.places.place import Place
from ozx.quoting import quote

PART = [50, 100, 150, 203]
REGION = {"y": (50, 150), "x": (100, 203)}
VIEW = "at=120,100,5&channel.1=1,FF0000,10,4000,0.7"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def ask(path, ending=".ozx", part=PART, node="", name="crop", **headers):
    with page_serving(path) as serving:
        page = Page(*serving)
        document = {"path": node, "part": part, "ending": ending, "view": VIEW}
        return page.post(document, f"{page.path}api/{name}", **headers)


def test_a_region_is_what_extract_and_export_write(path, tmp_path, temporary):
    status, data = ask(path)
    ozx.extract(path, tmp_path / "crop.ozx", region=REGION)
    assert (status, data) == (200, (tmp_path / "crop.ozx").read_bytes())
    status, data = ask(path, ".ome.tif")
    (tmp_path / "crop.ome.tif").write_bytes(data)
    assert status == 200
    assert (tifffile.imread(tmp_path / "crop.ome.tif") == ozx.read(path, region=REGION)).all()
    assert list(temporary.iterdir()) == []


def test_a_region_of_a_label_image_of_a_field_and_of_a_directory(path, tmp_path):
    plate = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "image.ome.zarr")
    for source, node in ((path, "labels/cells"), (plate, "A/1/0"), (tmp_path / "image.ome.zarr", "")):
        status, data = ask(source, part=[0, 10, 20, 64], node=node)
        (tmp_path / "crop.ozx").write_bytes(data)
        assert status == 200
        expected = ozx.read(source, node, region={"y": (0, 20), "x": (10, 64)})
        assert (ozx.read(tmp_path / "crop.ozx") == expected).all()


@pytest.mark.parametrize("name", ["crop", "napari"])
@pytest.mark.parametrize(
    "headers", [{"Origin": "http://example.org"}, {"Origin": None}, {"Content_Type": "text/plain"}]
)
def test_only_the_page_may_ask(path, name, headers):
    assert ask(path, name=name, **headers)[0] == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"part": [1, 2, 3]},
        {"part": [0, 0, 10, 1.5]},
        {"part": [0, 0, 10, True]},
        {"part": [0, 0, 10, 257]},
        {"part": [10, 0, 10, 10]},
        {"part": [20, 0, 10, 10]},
        {"part": [0, 0, -1, -1]},  # all but a pixel, which seemed to be few
        {"ending": ".tif"},
        {"ending": "/../a.ozx"},
        {"ending": []},
        {"node": "../cells.ozx"},
        {"node": 3},
    ],
)
def test_wrong_requests_are_refused(path, temporary, wrong):
    status, told = ask(path, **wrong)
    assert status in (404, 422)
    assert "error" in told
    assert list(temporary.iterdir()) == []


def test_a_region_too_large_for_the_page_is_left_to_the_command(path, monkeypatch):
    monkeypatch.setattr(cropping, "_MOST", 2 * 100 * 103 * 2 - 1)
    status, told = ask(path, ".ome.tif")
    assert status == 404
    assert told["error"]["hint"].endswith("ozx export FILE OUT --region y=50:150,x=100:203")


def test_a_file_that_is_not_sent_is_removed(path, temporary):
    with ozx.open(path) as group:
        answer = cropping.crop(Place(str(path)), Pictures(group).image(""), tuple(PART), ".ozx")
    assert len(list(temporary.iterdir())) == 1
    answer.body.close()
    assert list(temporary.iterdir()) == []


def test_a_file_that_has_changed_is_not_cropped(path):
    with page_serving(path) as serving:
        page = Page(*serving)
        ozx.edit(path, name="Other cells")
        status, told = page.post({"path": "", "part": PART, "ending": ".ozx"}, f"{page.path}api/crop")
    assert status in (422, 500)
    assert "changed" in told["error"]["message"]


def test_napari_is_started_with_the_view(path, monkeypatch):
    started = []
    process = types.SimpleNamespace(wait=lambda: 0)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command) or process)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setenv("DISPLAY", ":0")
    status, told = ask(path, name="napari")
    assert started == [[sys.executable, "-m", "ozx", "view", str(path), "--with", "napari", "--at", VIEW]]
    assert (status, told["command"]) == (200, f"ozx view {quote(str(path))} --with napari --at {quote(VIEW)}")


def test_without_napari_the_page_says_how_to_install_it(path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    status, told = ask(path, name="napari")
    assert (status, told["error"]["message"]) == (500, "napari is not installed")
    assert 'pip install "ozx-toolkit[napari]"' in told["error"]["hint"]
    assert f"ozx view {quote(str(path))} --with napari --at" in told["error"]["hint"]

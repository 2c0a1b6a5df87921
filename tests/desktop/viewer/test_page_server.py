"""What the page is answered, without a browser."""

import json
import urllib.error
import urllib.request

import numpy as np
import pytest
import zarr
from growing import PIXELS, growing
from hierarchies import FIXTURES

import ozx
from ozx.desktop.viewer.loopback import Request
from ozx.desktop.viewer.page_server import PageServer
from ozx.desktop.viewer.viewing import page_serving


class Page:
    """Asks a page server as the page does, without sockets."""

    def __init__(self, group):
        self.server = PageServer(group, "cells.ozx", "identity")

    def ask(self, name, **query):
        path = f"{self.server.access.page_path}{name}"
        return self.server.respond(Request("GET", path, {key: str(value) for key, value in query.items()}))

    def json(self, name, **query):
        answer = self.ask(f"api/{name}", **query)
        assert answer.status == 200
        return json.loads(answer.body)

    def tile(self, dtype="<u2", **query):
        query = {"path": "", "level": 0, "row": 0, "column": 0, "channel": 0, "planes": ""} | query
        return np.frombuffer(self.ask("api/tile", **query).body, dtype)


@pytest.fixture
def page():
    return lambda name: Page(zarr.open_group(FIXTURES / f"{name}.ome.zarr", mode="r"))


def test_only_its_own_addresses_lead_to_the_page_and_that_of_the_start_once(page):
    server = page("image").server
    start, path = server.access.start_path, server.access.page_path
    for wrong in ("/", "/api/file", "/index.html", f"{path[:-2]}/", "//", "/é/"):
        assert server.respond(Request("GET", wrong)).status == 404
    for right in (path.rstrip("/"), start):
        answer = server.respond(Request("GET", right))
        assert (answer.status, answer.headers["Location"]) == (302, path)
    assert server.respond(Request("GET", start)).status == 404


@pytest.mark.parametrize("name", ["", "index.html", "main.js", "style.css", "icon.svg"])
def test_the_page_and_its_parts(page, name):
    answer = page("image").ask(name)
    assert answer.status == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("name", ["../page_server.py", "__init__.py", "page/main.js", "/etc/passwd", "api/nothing"])
def test_nothing_else_is_given_out(page, name):
    assert page("image").ask(name).status == 404


def test_what_is_in_an_image(page):
    told = page("image").json("file")
    assert (told["kind"], told["images"]) == ("image", [{"path": "", "name": "Synthetic cells"}])
    picture = page("image").json("picture", path="")
    assert (picture["width"], picture["height"], picture["samples"]) == (256, 256, "uint16")
    assert [level["factor"] for level in picture["levels"]] == [[1, 1], [2, 2], [4, 4]]
    assert [channel["color"] for channel in picture["channels"]] == ["3A7BFF", "FFB000"]
    assert picture["channels"][0]["window"] == {"start": 93, "end": 2295}
    assert picture["labels"] == ["labels/cells"]
    assert picture["sliders"] == []


def test_what_is_in_a_series(page):
    told = page("series").json("file")
    assert [image["path"] for image in told["images"]] == ["0", "1"]
    sliders = page("series").json("picture", path="0")["sliders"]
    assert [(slider["name"], slider["length"], slider["start"]) for slider in sliders] == [("t", 1, 0), ("z", 3, 1)]


def test_what_is_in_a_plate(page):
    told = page("plate").json("file")
    assert told["plate"]["wells"][0] == {"row": 0, "column": 0, "fields": ["A/1/0", "A/1/1"]}
    picture = page("plate").json("picture", path="", plate=1)
    assert (picture["width"], picture["height"]) == (128, 128)
    assert [slider["name"] for slider in picture["sliders"]] == ["field"]


def test_tiles_are_the_pixels_of_the_array(page):
    array = zarr.open_array(FIXTURES / "image.ome.zarr" / "0", mode="r")
    assert np.array_equal(page("image").tile(channel=1).reshape(256, 256), array[1])


def test_tiles_of_labels_may_be_outlines(page):
    whole = page("image").tile("<u2", path="labels/cells")
    outlines = page("image").tile("<u2", path="labels/cells", outlines=1)
    assert 0 < np.count_nonzero(outlines) < np.count_nonzero(whole)
    assert np.array_equal(outlines[outlines > 0], whole[outlines > 0])
    image = page("image")
    assert np.array_equal(image.tile(channel=1), image.tile(channel=1, outlines=1))


def test_planes_of_lower_levels_are_those_of_the_full_resolution(page):
    array = zarr.open_array(FIXTURES / "sharded.ome.zarr" / "1", mode="r")
    tile = page("sharded").tile(level=1, channel=1, planes="2,4")
    assert np.array_equal(tile.reshape(array.shape[-2:]), array[2, 1, 4])


def test_a_plate_is_one_picture(page):
    tile = page("plate").tile("u1", plate=1, planes="1").reshape(128, 128)
    second = zarr.open_array(FIXTURES / "plate.ome.zarr/B/2/1/0", mode="r")
    assert np.array_equal(tile[64:, 64:], second[0])
    assert not tile[:64, 64:].any()  # A2 has no second field


@pytest.mark.parametrize(
    "wrong", [{"level": 3}, {"row": 1}, {"channel": 2}, {"planes": "0"}, {"level": "x"}, {"level": "²"}, {"path": "0"}]
)
def test_tiles_that_are_not_there_are_refused(page, wrong):
    query = {"path": "", "level": 0, "row": 0, "column": 0, "channel": 0, "planes": ""} | wrong
    with pytest.raises(ValueError, match=r"expected|got|there is no tile"):
        page("image").ask("api/tile", **query)


def test_contrast_of_the_picture_and_of_a_part(page):
    told = page("series").json("contrast", path="0", channel=0, planes="0,1", part="")
    array = zarr.open_array(FIXTURES / "series.ome.zarr/0/0", mode="r")
    assert array[:].min() <= told["start"] < told["end"] <= array[:].max()
    with pytest.raises(ValueError, match="top, left, bottom and right"):
        page("series").ask("api/contrast", path="0", channel=0, planes="0,1", part="1,2")


def test_the_histogram_of_a_part(page):
    array = zarr.open_array(FIXTURES / "series.ome.zarr/0/0", mode="r")[:]
    query = {"path": "0", "channel": 0, "planes": "0,1", "part": "0,0,20,30"}
    low, high = int(array.min()), int(array.max()) + 1
    told = page("series").json("histogram", **query, low=low, high=high)
    assert (len(told["counts"]), sum(told["counts"])) == (96, 20 * 30)
    plane = array.reshape(-1, *array.shape[-2:])[1][:20, :30]
    assert told["counts"] == np.histogram(plane, 96, (low, high))[0].tolist()
    for wrong in ({"low": "5", "high": "5"}, {"low": "nan", "high": "5"}, {"low": "1", "high": ""}):
        with pytest.raises(ValueError, match="expected a"):
            page("series").ask("api/histogram", **query, **wrong)


def test_values_are_exact(page):
    array = zarr.open_array(FIXTURES / "image.ome.zarr" / "0", mode="r")
    told = page("image").json("values", path="", x=30, y=40, channels="1,0", planes="")
    assert told["values"] == [int(array[1, 40, 30]), int(array[0, 40, 30])]


def test_label_values_come_with_what_is_known_of_them(page):
    labels = zarr.open_array(FIXTURES / "image.ome.zarr/labels/cells/0", mode="r")[:]
    y, x = np.argwhere(labels == 1)[0]
    told = page("image").json("values", path="labels/cells", x=x, y=y, channels="0", planes="")
    assert told["values"] == [1]
    assert told["properties"] == [page("image").server.pictures.image("labels/cells").view.display.properties.get(1)]


def test_nothing_is_decoded_for_a_browser_that_has_it_already_or_has_gone(page):
    server = page("image").server
    query = {"path": "", "level": "0", "row": "0", "column": "0", "channel": "0", "planes": ""}
    for status, how in ((304, [{"if-none-match": '"identity"'}]), (408, [{}, lambda _: True])):
        assert server.respond(Request("GET", f"{server.access.page_path}api/tile", query, *how)).status == status
    assert server.pictures.cache.decoded == 0


def test_over_the_network_of_this_computer(path):
    with page_serving(path) as (server, page):
        with urllib.request.urlopen(f"{server.origin}{page.access.page_path}api/file") as answer:
            assert json.load(answer)["name"] == "cells.ozx"
        with pytest.raises(urllib.error.HTTPError, match="404") as raised:
            urllib.request.urlopen(f"{server.origin}/api/file")
        raised.value.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.origin)


def test_a_file_that_grows(tmp_path):
    with growing(tmp_path / "a.ozx") as append:
        append(2)
        page = Page(ozx.open(tmp_path / "a.ozx", live=True))
        assert page.json("file")["live"]
        assert page.json("growth") == {"growth": 0, "state": "growing"}
        slider = lambda: page.json("picture", path="")["sliders"][0]
        assert (slider()["name"], slider()["length"]) == ("t", 2)
        tag = page.ask("api/picture", path="").headers["ETag"]
        append(2)
        assert slider()["length"] == 2
        assert page.json("growth") == {"growth": 1, "state": "growing"}
        assert slider()["length"] == 4
        assert page.ask("api/picture", path="").headers["ETag"] != tag
        np.testing.assert_array_equal(page.tile(planes="3").reshape(40, 500), PIXELS[3, 0])
        append.stream.close()
        assert page.json("growth") == {"growth": 2, "state": "finished"}
        assert page.json("growth") == {"growth": 2, "state": "finished"}


def test_a_file_that_does_not_grow(page):
    assert page("image").json("file")["live"] is False
    assert page("image").ask("api/growth").status == 404

"""Colours of the page in the file: what may be written, by whom, and how."""

import os
import shutil
import threading

import pytest
import zarr
from asked_pages import Page
from hierarchies import FIXTURES
from packed import pack_tree
from uris import ozx_uri

import ozx
from ozx.desktop.viewer.loopback import Request
from ozx.desktop.viewer.page_server import PageServer
from ozx.desktop.viewer.viewing import page_serving
from ozx.errors import ResourceError
from ozx.operations.edit import edit_file

CHANNELS = [{"color": "FF0000", "start": 10, "end": 500, "active": True}, {"color": "00FF00", "active": False}]


@pytest.fixture
def page(path):
    with page_serving(path) as serving:
        yield Page(*serving)


def channels_of(path, node=""):
    with ozx.OzxStore(path, mode="r") as store:
        return zarr.open_group(store, path=node, mode="r").attrs["ome"]["omero"]["channels"]


def test_colours_contrast_and_visibility_are_written(page, path):
    before = channels_of(path)
    status, told = page.post({"path": "", "channels": CHANNELS})
    assert (status, told["written"]) == (200, True)
    first, second = channels_of(path)
    assert (first["color"], first["active"]) == ("FF0000", True)
    assert first["window"] == before[0]["window"] | {"start": 10, "end": 500}
    assert (second["color"], second["active"], second["window"]) == ("00FF00", False, before[1]["window"])
    assert [first["label"], second["label"]] == [channel["label"] for channel in before]
    assert ozx.validate(path, level="data").valid
    assert os.listdir(path.parent) == ["cells.ozx"]


def test_the_page_is_told_of_the_new_colours_and_may_write_again(page, path):
    page.get("picture?path=")
    before = page.etag
    page.post({"path": "", "channels": CHANNELS})
    status, told = page.get("picture?path=", **{"If-None-Match": before})
    assert status == 200
    assert [channel["color"] for channel in told["channels"]] == ["FF0000", "00FF00"]
    status, told = page.post({"path": "", "channels": CHANNELS})
    assert (status, told["written"], told["changes"]) == (200, False, 0)
    status, told = page.post({"path": "", "channels": [{"color": "0000FF"}, {}]})
    assert (status, told["written"]) == (200, True)
    assert channels_of(path)[0]["color"] == "0000FF"
    # Pixels are read from the new file.
    assert page.get("tile?path=&level=0&row=0&column=0&channel=0&planes=")[0] == 200


def test_limits_of_the_window_give_way(page, path):
    page.post({"path": "", "channels": [{"start": -5, "end": 1e6}, {"color": "00FF00"}]})
    window = channels_of(path)[0]["window"]
    assert (window["min"], window["start"], window["end"], window["max"]) == (-5, -5, 1e6, 1e6)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Content_Type": "text/plain"}, 403),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Host": "example.org"}, 403),
        ({"path": "/api/keep"}, 404),
        ({"path": "//api/keep"}, 404),
    ],
)
def test_only_the_page_may_write(page, path, headers, status):
    before = path.read_bytes()
    assert page.post({"path": "", "channels": CHANNELS}, **headers)[0] == status
    assert path.read_bytes() == before


def test_nothing_but_the_request_to_keep_is_taken(page, path):
    before = path.read_bytes()
    document = {"path": "", "channels": CHANNELS}
    assert page.post(document, page.path + "api/tile")[0] == 405
    assert page.post(document, page.path)[0] == 405
    assert page.post(document, page.start_path)[0] == 404
    assert page.ask("GET", page.start_path, None, {})[0] == 302  # not used up
    assert page.get("keep")[0] == 404
    for method in ("PUT", "DELETE", "PATCH"):
        assert page.ask(method, page.path + "api/keep", b"{}", {})[0] == 405
    assert page.post(b"{" + b" " * 70_000 + b"}")[0] == 413
    assert "expected the path" in page.post({"path": ""})[1]["error"]["message"]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 60_000,
        {"path": 1, "channels": CHANNELS},
        {"path": "", "channels": []},
        {"path": "", "channels": [{"color": "red; }"}, {}]},
        {"path": "", "channels": [{"color": 3}, {}]},
        {"path": "", "channels": [{"start": 5, "end": 5, "color": "FF0000"}, {}]},
        {"path": "", "channels": [{"start": True, "end": 5, "color": "FF0000"}, {}]},
        b'{"path": "", "channels": [{"color": "FF0000", "start": 0, "end": 1e999}, {}]}',
        {"path": "", "channels": [{"start": 0, "end": 10**400, "color": "FF0000"}, {}]},
        {"path": "", "channels": [{"active": 1, "color": "FF0000"}, {}]},
        {"path": "", "channels": [*CHANNELS, {}]},
        {"path": "labels/cells", "channels": CHANNELS},
        {"path": "../x", "channels": CHANNELS},
    ],
)
def test_wrong_requests_change_nothing(page, path, wrong):
    before = path.read_bytes()
    status, _ = page.post(wrong)
    assert status in (403, 404, 422)
    assert path.read_bytes() == before


def test_a_file_that_has_changed_is_left_alone(page, path):
    ozx.edit(path, name="Other cells")
    before = path.read_bytes()
    status, told = page.post({"path": "", "channels": CHANNELS})
    assert status in (422, 500)
    assert "changed" in told["error"]["message"]
    assert path.read_bytes() == before


def test_of_a_plate_all_images_or_one_or_a_node(tmp_path):
    path = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    with page_serving(path) as serving:
        page = Page(*serving)
        assert page.get("picture?path=&plate=1")[1]["can_keep"]
        count = len(page.get("picture?path=A/1/0")[1]["channels"])
        red, green, blue = ([{"color": color}] + [{}] * (count - 1) for color in ("FF0000", "00FF00", "0000FF"))
        assert page.post({"path": "", "channels": red})[0] == 200
        assert page.post({"path": "A/1/1", "channels": blue})[0] == 200
    with page_serving(f"{ozx_uri(path)}/A/2/0") as serving:
        assert Page(*serving).post({"path": "", "channels": green})[0] == 200
    found = [channels_of(path, node)[0]["color"] for node in ("A/1/0", "A/1/1", "A/2/0", "B/2/0")]
    assert found == ["FF0000", "0000FF", "00FF00", "FF0000"]


def test_what_is_read_only_is_not_offered(tmp_path, path, monkeypatch):
    def offered(where, picture="picture?path="):
        with page_serving(where) as serving:
            page = Page(*serving)
            told = page.get(picture)[1]["can_keep"]
            status, _ = page.post({"path": picture.partition("path=")[2], "channels": CHANNELS})
            assert told or status in (403, 404)
            return told

    assert offered(path)
    assert not offered(path, "picture?path=labels/cells")
    shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "image.ome.zarr")
    assert not offered(tmp_path / "image.ome.zarr")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    assert not offered(path)


def test_without_a_place_nothing_is_written():
    server = PageServer(zarr.open_group(FIXTURES / "image.ome.zarr", mode="r"), "cells.ozx", "identity")
    headers = {"origin": "http://127.0.0.1:9", "host": "127.0.0.1:9", "content-type": "application/json"}
    answer = server.respond(Request("POST", f"{server.access.page_path}api/keep", {}, headers, body=b"{}"))
    assert answer.status == 405


def test_a_failure_while_writing_leaves_the_old_file(page, path, monkeypatch):
    before = path.read_bytes()

    def fail(*_, **__):
        raise ResourceError("the disk is full")

    monkeypatch.setattr("ozx.operations.edit._write", fail)
    status, told = page.post({"path": "", "channels": CHANNELS})
    assert (status, told["error"]["message"]) == (500, "the disk is full")
    assert path.read_bytes() == before
    assert page.get("picture?path=")[0] == 200


def test_what_is_requested_while_the_file_is_replaced_comes_from_the_new_one(page, monkeypatch):
    found = []
    tile = threading.Thread(
        target=lambda: found.append(page.get("tile?path=&level=0&row=0&column=0&channel=1&planes="))
    )

    def slowly(*arguments):
        result = edit_file(*arguments)
        tile.start()
        tile.join(0.5)
        assert found == []  # it waits
        return result

    monkeypatch.setattr("ozx.desktop.viewer.keeping.edit_file", slowly)
    assert page.post({"path": "", "channels": CHANNELS})[0] == 200
    tile.join(30)
    status, samples = found[0]
    expected = zarr.open_array(FIXTURES / "image.ome.zarr" / "0", mode="r")[1]
    assert status == 200
    assert samples == expected.astype("<u2").tobytes()

"""What neuroglancer is told and served; that it shows it, tests of the marker `browser` see."""

import json

import pytest
import zarr
from hierarchies import FIXTURES, tree
from packed import pack_tree

import ozx
from ozx.desktop.viewer.loopback import Request
from ozx.desktop.viewer.neuroglancer_page import NeuroglancerServer
from ozx.desktop.viewer.neuroglancer_state import make_state, si_unit
from ozx.desktop.viewer.pictures import Pictures

BASE = "http://127.0.0.1:1/data"


def state(name):
    return make_state(Pictures(zarr.open_group(FIXTURES / f"{name}.ome.zarr", mode="r")), BASE)


def test_an_image_is_a_layer_for_each_channel_and_label_image():
    told = state("image")
    assert told["dimensions"] == {"y": [3.25e-07, "m"], "x": [3.25e-07, "m"]}
    assert told["displayDimensions"] == ["x", "y"]
    assert told["position"] == [127.5, 127.5]
    nuclei, cytoplasm, cells = told["layers"]
    assert nuclei["source"] == [{"url": f"{BASE}/|zarr3:"}]
    assert (nuclei["localDimensions"], cytoplasm["localPosition"]) == ({"c'": [1, ""]}, [1])
    assert nuclei["shaderControls"] == {"contrast": {"range": [93, 2295]}, "color": "#3a7bff"}
    assert (cells["type"], cells["source"][0]["url"]) == ("segmentation", f"{BASE}/labels/cells/|zarr3:")
    assert cells["segmentColors"]["1"] == "#6bef73"


def test_stacks_begin_in_the_plane_their_metadata_name():
    told = state("sharded")
    assert list(told["dimensions"]) == ["t", "z", "y", "x"]
    assert told["position"][:2] == [0, 2]


def test_of_a_series_the_first_image_is_visible():
    visible = [(layer["name"], layer["visible"]) for layer in state("series")["layers"]]
    assert [shown for _, shown in visible] == [True, False, False]
    assert len({name for name, _ in visible}) == 3


def test_the_wells_of_a_plate_lie_in_their_places():
    told = state("plate")
    sources = told["layers"][0]["source"]
    places = {}
    for source in sources:
        matrix = source["transform"]["matrix"]
        places[source["url"]] = [matrix[1][3], matrix[2][3]]
        assert source["transform"]["outputDimensions"]["c'"] == [1.0, ""]
    assert places[f"{BASE}/A/1/0/|zarr3:"] == [0, 0]
    assert places[f"{BASE}/B/2/0/|zarr3:"] == [64, 64]
    assert told["position"] == [63.5, 63.5]


@pytest.mark.parametrize(
    ("unit", "meaning"),
    [
        ("nanometer", (1e-9, "m")),
        ("meter", (1, "m")),
        ("millisecond", (1e-3, "s")),
        ("hour", (3600, "s")),
        (None, (1, "")),
    ],
)
def test_units_are_those_of_the_si(unit, meaning):
    assert si_unit(unit) == meaning


@pytest.fixture
def server(tmp_path):
    client = tmp_path / "client"
    client.mkdir()
    (client / "index.html").write_text("<html><head></head></html>")
    (client / "main.js").write_text("")
    (tmp_path / "secret.txt").write_text("")
    made = NeuroglancerServer(zarr.open_group(FIXTURES / "image.ome.zarr", mode="r"), str(client), "identity")
    return lambda name: made.respond(Request("GET", f"{made.gate.page_path}{name}", headers={"host": "127.0.0.1:1"}))


def test_the_page_gets_its_state_before_it_starts(server):
    assert server("").headers["Location"].endswith("/v/1/")
    assert (
        server("v/1/").body
        == b'<html><head><link rel="icon" href="data:,"><script src="start.js"></script></head></html>'
    )
    script = server("v/1/start.js").body.decode()
    told, _ = json.JSONDecoder().raw_decode(script.partition("JSON.stringify(")[2])
    assert told["layers"][0]["name"] == "Nuclei"


def test_values_stand_below_data(server):
    assert b"".join(server("data/zarr.json").body) == tree(FIXTURES / "image.ome.zarr")["zarr.json"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "main.js",
            "v/1/nothing.js",
            "v/1/../secret.txt",
            "v/1/main.js.map",
            "data",
            "data/nothing",
            "data/0",
            "data/zarr.json/x",
        ),
        *("data/../image.ome.zarr/zarr.json", "data//etc/hostname", "data/./zarr.json"),
    ],
)
def test_nothing_else_is_given_out(server, name):
    assert server(name).status == 404


def test_a_node_is_the_root_of_what_is_shown(tmp_path):
    path = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    made = NeuroglancerServer(ozx.open(f"{path}|zip:B/2/1/"), str(tmp_path), "identity")
    answer = made.respond(Request("GET", f"{made.gate.page_path}data/0/zarr.json"))
    assert b"".join(answer.body) == ozx.OzxStore(path).get_sync("B/2/1/0/zarr.json").to_bytes()

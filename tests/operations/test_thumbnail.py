"""Pictures as files: what is written where, and what is refused."""

import hashlib
import json
import os
import shutil
import stat
import subprocess

import numpy as np
import pytest
from hierarchies import FIXTURES, group, tree
from packed import pack_tree, zip_values
from pictures import read_picture
from servers import serving
from uris import ozx_uri

from ozx.errors import UnsupportedError, UsageError
from ozx.images.pictures.raster import encode_png
from ozx.images.thumbnail import draw_thumbnail
from ozx.operations.thumbnail import ThumbnailResult, thumbnail
from ozx.places.place import Place
from ozx.store.opening import opened_hierarchy


@pytest.fixture
def cells(tmp_path):
    return pack_tree(FIXTURES / "image.ome.zarr", tmp_path / "my #1 cells é.ozx")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "thumbnails"


def drawn(path, size):
    with opened_hierarchy(Place.parse(path)) as group:
        return encode_png(draw_thumbnail(group, size).pixels)


def test_a_png(cells, tmp_path):
    out = tmp_path / "cells.png"
    result = thumbnail(cells, out, size=128)
    assert result == ThumbnailResult(str(cells), str(out), 128, 128, "", "1", ())
    image = read_picture(out)
    assert (image.format, image.mode, image.size, image.info) == ("PNG", "RGB", (128, 128), {})
    assert out.read_bytes() == drawn(cells, 128)
    assert [path for path in tmp_path.iterdir() if "ozx-tmp" in path.name] == []


@pytest.mark.parametrize("name", ["a.jpg", "a.jpeg", "A.JPG"])
def test_a_jpeg(cells, tmp_path, name):
    thumbnail(cells, tmp_path / name, size=64)
    thumbnail(cells, tmp_path / "a.png", size=64)
    image = read_picture(tmp_path / name)
    assert (image.format, image.size) == ("JPEG", (64, 64))
    difference = np.asarray(image).astype(int) - np.asarray(read_picture(tmp_path / "a.png"))
    assert np.abs(difference).mean() < 8


@pytest.mark.parametrize(
    ("form", "width", "level"),
    [
        ("{uri}/labels/cells", 256, "0"),
        ("{uri}/labels", 256, "cells/0"),
        ("{}|zip:labels/cells/", 256, "0"),
    ],
)
def test_a_node(cells, tmp_path, form, width, level):
    result = thumbnail(form.format(cells, uri=ozx_uri(cells)), tmp_path / "a.png")
    assert (result.width, result.level) == (width, level)
    colors = read_picture(tmp_path / "a.png").getcolors()
    assert (0, 0, 0) in {color for _, color in colors}
    assert len(colors) < 40


def test_a_field_of_a_plate(tmp_path):
    plate = pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx")
    for node, level in (("A/1/1", "0"), ("A/1", "0/0"), ("A", "1/0/0")):
        assert thumbnail(f"{ozx_uri(plate)}/{node}", tmp_path / "a.png", force=True).level == level


def test_a_url(cells, tmp_path):
    pytest.importorskip("obstore")
    with serving(cells.read_bytes()) as server:
        thumbnail(server.url, tmp_path / "a.png", size=64)
    assert (tmp_path / "a.png").read_bytes() == drawn(cells, 64)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"out": "a.gif"}, r"expected a name that ends in .png, .jpg or .jpeg; got a.gif"),
        ({"out": ""}, "expected a path; got an empty string"),
        ({"out": "a.png", "size": 15}, "expected a size from 16 to 2048 pixels; got 15"),
        ({"out": "a.png", "size": 2049}, "expected a size from 16 to 2048"),
        ({"out": "a.png", "cache": True}, "expected a file to write, or the desktop's cache; got both"),
        ({"cache": True, "size": 200}, "expected one of the sizes that the cache has, 128, 256, 512, 1024; got 200"),
    ],
)
def test_wrong_calls(cells, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        thumbnail(cells, **arguments)
    assert list(tmp_path.iterdir()) == [cells]


COPIES = {"kind": "inline", "must_understand": False, "metadata": {"0": {"zarr_format": 3, "node_type": "group"}}}
OF_MISSING_NODES = {"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata": COPIES}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (tree(FIXTURES / "legacy.ome.zarr"), "found Zarr v2"),
        ({"zarr.json": group(version="0.5")}, "found a hierarchy of kind other without images"),
        ({"zarr.json": json.dumps(OF_MISSING_NODES).encode()}, "no OME-Zarr metadata"),
    ],
)
def test_files_of_which_there_is_no_picture(tmp_path, values, message):
    path = zip_values(tmp_path / "a.ozx", values)
    with pytest.raises(UnsupportedError, match=message) as raised:
        thumbnail(path, tmp_path / "a.png")
    assert raised.value.path == str(path)


# The cache of freedesktop.org


def test_the_cache(cells, cache):
    os.utime(cells, ns=(0, 1_700_000_000_500_000_000))
    result = thumbnail(cells, cache=True)
    uri = "file://" + str(cells).replace(" ", "%20").replace("#", "%23").replace("é", "%C3%A9")
    path = cache / "large" / f"{hashlib.md5(uri.encode()).hexdigest()}.png"
    assert result.path == str(path)
    assert read_picture(path).info == {
        "Thumb::URI": uri,
        "Thumb::MTime": "1700000000",
        "Thumb::Size": str(cells.stat().st_size),
        "Software": "ozx",
    }
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_the_cache_is_brought_up_to_date(cells, cache):
    path = thumbnail(cells, cache=True, size=128).path
    assert path.startswith(str(cache / "normal"))
    os.utime(cells, (5, 5))
    assert thumbnail(cells, cache=True, size=128).path == path
    assert read_picture(path).info["Thumb::MTime"] == "5"


@pytest.mark.parametrize(
    ("form", "what"),
    [("{}|zip:labels/cells/", "a node"), ("https://example.org/a.ozx", "a URL"), ("{folder}", "a directory")],
)
def test_the_cache_has_pictures_of_files_only(cells, cache, form, what):
    with pytest.raises(UsageError, match=f"pictures of local files only; found {what}"):
        thumbnail(form.format(cells, folder=FIXTURES / "image.ome.zarr"), cache=True)
    assert not cache.exists()


def test_file_managers_find_the_picture(cells, cache):
    """GLib, asked as a GNOME file manager asks it."""
    gio = shutil.which("gio")
    if gio is None:
        pytest.skip("gio (GLib) is not installed")
    path = thumbnail(cells, cache=True, size=256).path
    command = [gio, "info", "-a", "thumbnail::*", str(cells)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert f"thumbnail::path: {path}" in told.stdout
    assert "thumbnail::is-valid: TRUE" in told.stdout
    os.utime(cells, (5, 5))
    told = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert "thumbnail::is-valid: FALSE" in told.stdout

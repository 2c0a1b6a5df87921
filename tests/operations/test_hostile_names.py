"""Names that Windows would turn into other files: no command writes them there. Other systems play Windows."""

import os
import zipfile

import numpy as np
import pytest

import ozx
from ozx.errors import FormatError, UsageError
from ozx.flow.sinks.directory import check_keys
from ozx.places.place import Place

OUTPUTS = ["CON", "con.ozx", "NUL", "a:b", "b.ozx:stream", "x.ozx.", "y.ozx ", "d/aux/x.ozx"]
OUTPUTS += ["\\\\.\\NUL", "\\\\?\\C:\\nul"]
KEYS = [("CON",), ("0/nul.txt",), ("a:b",), ("0/a:b",), ("x.",), ("x /0",), ("..\\evil",), ("0\\..\\..\\evil",)]
KEYS += [("\\\\?\\C:\\evil",), ("../evil",), ("C:/evil",)]
PAIR = ("0/A", "0/a")
WRITERS = {
    "pack": lambda out: ozx.pack("h.zarr", out),
    "pack into a folder": lambda out: ozx.pack_many(["h.zarr"], out_dir=out),
    "repack": lambda out: ozx.repack("h.zarr", out),
    "unpack": lambda out: ozx.unpack("a.ozx", out),
    "extract": lambda out: ozx.extract("a.ozx", out),
    "export": lambda out: ozx.export("a.ozx", out),
    "import": lambda out: ozx.import_image("a.tif", out),
    "recover": lambda out: ozx.recover("a.ozx", out),
    "thumbnail": lambda out: ozx.thumbnail("a.ozx", out),
    "write_image": lambda out: ozx.write_image(out, np.zeros((2, 2), "uint8")),
    "stream": lambda out: ozx.stream(out, axes="tyx", shape=(None, 2, 2), dtype="uint8"),
    "store": lambda out: ozx.OzxStore(out, mode="w"),
}


@pytest.fixture(autouse=True)
def on_windows(tmp_path, image, monkeypatch):
    monkeypatch.setitem(Place.output.__func__.__kwdefaults__, "windows", True)
    monkeypatch.setitem(check_keys.__kwdefaults__, "windows", True)
    folder = tmp_path / "in"
    folder.mkdir()
    monkeypatch.chdir(folder)
    os.mkdir("h.zarr")
    ozx.pack(image, "a.ozx")


def files(folder):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)


def archive_of(*keys):
    with zipfile.ZipFile("hostile.ozx", "w") as archive:
        for key in ("zarr.json", *keys):
            info = zipfile.ZipInfo("k")
            info.filename = key  # as it is, also with backslashes on Windows
            archive.writestr(info, b'{"zarr_format": 3, "node_type": "group"}')


@pytest.mark.parametrize("writer", WRITERS)
def test_no_command_writes_an_output_of_another_name(tmp_path, writer):
    before = files(tmp_path)
    for out in OUTPUTS:
        with pytest.raises(UsageError, match="expected the name of an output"):
            WRITERS[writer](out)
        assert files(tmp_path) == before


@pytest.mark.parametrize("keys", KEYS)
def test_a_hostile_key_is_unpacked_nowhere(tmp_path, keys):
    archive_of(*keys)
    before = files(tmp_path)
    with pytest.raises(FormatError) as caught:
        ozx.unpack("hostile.ozx", "out.zarr")
    assert caught.value.rule == "zip/name"
    assert files(tmp_path) == before


def test_of_two_names_that_differ_in_case_none_hides_the_other(tmp_path):
    archive_of(*PAIR)
    if os.path.exists("A.OZX"):  # the file system folds case
        with pytest.raises(FormatError, match="does not distinguish"):
            ozx.unpack("hostile.ozx", "out.zarr")
        assert not os.path.exists("out.zarr")
    else:
        ozx.unpack("hostile.ozx", "out.zarr")
        assert sorted(os.listdir("out.zarr/0")) == ["A", "a"]


@pytest.mark.parametrize("keys", [*KEYS, PAIR])
def test_what_recover_saves_of_hostile_keys_stays_in_its_file(tmp_path, keys):
    archive_of(*keys)
    before = files(tmp_path)
    ozx.recover("hostile.ozx", "saved.ozx")
    assert set(files(tmp_path)) - set(before) <= {str(tmp_path / "in" / "saved.ozx")}


@pytest.mark.parametrize("node", ["con", "a:b", "x."])
def test_a_node_gives_a_new_directory_no_hostile_name(tmp_path, node):
    archive_of(f"labels/{node}/zarr.json")
    before = files(tmp_path)
    with pytest.raises((UsageError, FormatError)):
        ozx.unpack(f"hostile.ozx|zip:labels/{node}/")
    assert files(tmp_path) == before

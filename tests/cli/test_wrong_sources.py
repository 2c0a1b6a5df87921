"""The wrong kind of file or folder gets the right advice from every verb."""

import contextlib
import os
import shutil
import zipfile

import numpy as np
import pytest
import tifffile
from hierarchies import FIXTURES
from PIL import Image

from ozx.cli.app import run
from ozx.quoting import quote_pattern

#: The arguments of each verb behind its source.
VERBS = {
    "info": [],
    "ls": [],
    "validate": [],
    "cat": ["zarr.json"],
    "view": ["--no-browser"],
    "serve": [],
    "unpack": [],
    "pack": ["out.ozx"],
    "repack": ["out.ozx"],
    "extract": ["out.ozx", "--levels", "0"],
    "export": ["out.tif"],
    "edit": ["--name", "n", "--dry-run"],
    "thumbnail": ["out.png"],
    "recover": ["out.ozx"],
    "verify": [],
    "import": ["out.ozx"],
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A folder with files of other formats and folders of images."""
    path = tmp_path_factory.mktemp("sources")
    with contextlib.chdir(path):
        make_sources(path)
    return path


def make_sources(path):
    tifffile.imwrite("cells.tif", np.zeros((8, 8), "uint8"))
    (path / "text.ozx").write_text("text")
    for name in ("photo.png", "photo.jpg"):
        Image.new("RGB", (8, 8)).save(name)
    for name, head in (("a.czi", b"ZISRAWFILE"), ("a.h5", b"\x89HDF\r\n\x1a\n")):
        (path / name).write_bytes(head + bytes(2000))
    with zipfile.ZipFile("photos.zip", "w") as archive:
        archive.write("photo.jpg", "holiday/1.jpg")
    for number in (1, 2):
        (path / "raw").mkdir(exist_ok=True)
        shutil.copy("cells.tif", f"raw/{number}.tif")
        shutil.copytree(FIXTURES / "image.ome.zarr", f"many/{number}.ome.zarr")


@pytest.fixture
def folder(sources, monkeypatch):
    """The folder of `sources` as the current one; a test must leave nothing in it."""
    monkeypatch.chdir(sources)
    before = sorted(sources.rglob("*"))
    yield sources
    assert sorted(sources.rglob("*")) == before


def advice(capsys, verb, source):
    assert run([verb, source, *VERBS[verb]]) in (1, 2)
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return out + err


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_is_no_archive_ends_with_1_and_a_missing_one_with_4(folder, capsys, verb):
    not_a_directory = 2
    assert run([verb, "text.ozx", *VERBS[verb]]) == (not_a_directory if verb == "pack" else 1)
    assert run([verb, "absent.ozx", *VERBS[verb]]) == 4
    assert "absent.ozx: " in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["edit", "recover"])
def test_a_directory_is_no_file(folder, capsys, verb):
    advice(capsys, verb, "many/1.ome.zarr")


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "import"])
def test_a_tiff_image_is_to_be_imported(folder, capsys, verb):
    said = advice(capsys, verb, "cells.tif")
    assert "a TIFF image" in said
    assert f"ozx import {folder / 'cells.tif' if str(folder) in said else 'cells.tif'}\n" in said


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("source", "name", "way"),
    [
        ("photo.png", "a PNG picture", "photo.tif"),
        ("photo.jpg", "a JPEG picture", "photo.tif"),
        ("a.czi", "a CZI file", "a.czi"),
        ("a.h5", "an HDF5 file", "a.h5"),
    ],
)
def test_other_formats_are_called_by_their_names(folder, capsys, verb, source, name, way):
    said = advice(capsys, verb, source)
    assert name in said
    assert way in said
    if source.startswith("a."):
        assert ("bioformats2raw" if verb == "import" else "ozx import") in said


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"info", "ls", "cat", "serve", "recover", "verify"}))
def test_a_zip_file_of_photos_is_known_by_its_names(folder, capsys, verb):
    said = advice(capsys, verb, "photos.zip")
    assert "1 JPEG picture" in said
    assert "Unpack it" in said
    assert not (folder / "photos.ome.zarr").exists()


def test_info_shows_a_zip_file_of_photos_and_says_what_it_is(folder, capsys):
    assert run(["info", "photos.zip"]) == 0
    assert "1 JPEG picture" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"ls", "cat", "serve"}))
def test_a_folder_of_tiff_images_gets_the_command_for_all_of_them(folder, capsys, verb):
    assert f"ozx import {quote_pattern('raw', '*.tif')}" in advice(capsys, verb, "raw")


@pytest.mark.parametrize("verb", ["view", "export", "thumbnail"])
def test_a_folder_of_ome_zarr_images_leads_to_one_of_them_that_needs_no_packing(folder, capsys, verb):
    assert f"Give the path of one image: many{os.sep}1.ome.zarr\n" in advice(capsys, verb, "many")


@pytest.mark.parametrize("verb", ["pack", "import", "unpack", "edit"])
def test_a_folder_of_ome_zarr_images_gets_the_command_for_all_of_them(folder, capsys, verb):
    assert f"ozx pack {quote_pattern('many', '*.ome.zarr')}" in advice(capsys, verb, "many")


def test_an_ome_zarr_folder_is_packed_not_imported(folder, capsys):
    assert "Run: ozx pack many/1.ome.zarr" in advice(capsys, "import", "many/1.ome.zarr")


@pytest.mark.parametrize("name", ["cells.zarr", "cells.ome.zarr", "cells.ome.zarr/"])
def test_import_writes_files_and_says_how_to_get_a_directory(folder, capsys, name):
    assert run(["import", "cells.tif", name]) == 2
    err = capsys.readouterr().err
    assert "import writes .ozx files" in err
    assert f"ozx import cells.tif cells.ozx; ozx unpack cells.ozx {name.rstrip('/')}\n" in err
    assert not (folder / "cells.ozx").exists()


def test_the_name_of_what_is_no_zip_file_is_no_fault(folder, capsys):
    assert "rfc9/file-name" not in advice(capsys, "validate", "cells.tif")

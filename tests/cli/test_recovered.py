"""A recovered file says what it lacks, through every command, until `ozx edit --forget-recovered`."""

import json
import urllib.request

import numpy as np
import pytest
from commands import command
from hierarchies import FIXTURES, tree
from packed import pack_tree, sort_values, values_of, write_archive

import ozx
from ozx.archive.reader import ArchiveReader
from ozx.desktop.viewer.viewing import page_serving
from ozx.ome.recovered import describe_loss, merge_losses

CHUNK = {"node": "", "level": "0", "missing": 1, "of": 32, "within": {"c": [1, 2], "y": [192, 256], "x": [0, 64]}}
SENTENCE = "1 of 32 chunks of level 0 is missing, within c=1:2, y=192:256, x=0:64"
LABELS = {"node": "labels/cells", "level": "1", "missing": 2, "of": 4, "within": {"y": [0, 128], "x": [0, 64]}}
OF_LABELS = "2 of 4 chunks of level 1 of labels/cells are missing, within y=0:128, x=0:64"


def run(capsys, verb, *arguments, code=0):
    """Run a command that ends with `code`; return its output and messages."""
    found, out, err = command(*verb.split())(capsys, *arguments)
    assert found == code, (verb, out, err)
    return out + err


def answer(capsys, verb, *arguments, code=0):
    """Run a command that prints JSON, and return it."""
    found, out, err = command(verb)(capsys, *arguments, "--json")
    assert found == code, (verb, out, err)
    return json.loads(out)


def damage(path, *keys):
    """Change a byte of each of these values."""
    reader, data = ArchiveReader(str(path)), bytearray(path.read_bytes())
    for key in keys:
        data[reader.data_offset(reader.find(key))] ^= 1
    path.write_bytes(data)
    return path


def root_of(path):
    return json.loads(values_of(path)["zarr.json"])


def mark_of(path):
    return root_of(path)["attributes"].get("ozx", {}).get("recovered")


@pytest.fixture
def recovered(cells, tmp_path, capsys):
    """An image that lacks a chunk and two chunks of its labels."""
    damage(cells, "0/c/1/3/0", "labels/cells/1/c/0/0", "labels/cells/1/c/1/0")
    run(capsys, "recover", cells, tmp_path / "saved.ozx", code=3)
    return tmp_path / "saved.ozx"


@pytest.fixture
def plate(tmp_path, capsys):
    """A plate that lacks a chunk of two of its fields."""
    damaged = damage(
        pack_tree(FIXTURES / "plate.ome.zarr", tmp_path / "plate.ozx"), "A/1/0/0/c/1/0/0", "B/2/1/1/c/0/0/0"
    )
    run(capsys, "recover", damaged, tmp_path / "saved.ozx", code=3)
    return tmp_path / "saved.ozx"


def test_recover_says_what_is_missing_in_axes_and_pixels(recovered, cells, capsys):
    assert mark_of(recovered) == [CHUNK, LABELS]
    shown = run(capsys, "recover", cells, recovered, "--force", code=3)
    assert f"\n{SENTENCE}\n{OF_LABELS}\n" in shown
    arrays = answer(capsys, "recover", cells, recovered, "--force", code=3)["arrays"]
    assert [array["sentence"] for array in arrays] == [SENTENCE, OF_LABELS]


def test_only_the_mark_differs_from_the_damaged_file(recovered):
    root = root_of(recovered)
    del root["attributes"]["ozx"]
    before = tree(FIXTURES / "image.ome.zarr")
    assert root == json.loads(before["zarr.json"])
    assert values_of(recovered).items() - before.items() == {("zarr.json", values_of(recovered)["zarr.json"])}


def test_info_and_validate_show_the_sentences(recovered, capsys):
    shown = " ".join(run(capsys, "info", recovered).split())
    assert SENTENCE in shown
    assert OF_LABELS in shown
    assert answer(capsys, "info", recovered)["recovered"] == [SENTENCE, OF_LABELS]
    assert ozx.inspect(recovered).recovered == (SENTENCE, OF_LABELS)
    findings = answer(capsys, "validate", recovered)["files"][0]["findings"]
    assert [finding["message"] for finding in findings if finding["id"] == "ozx/recovered"] == [SENTENCE, OF_LABELS]


def test_a_node_shows_its_own_losses(plate, capsys):
    (sentence,) = answer(capsys, "info", f"{plate}/B/2/1")["recovered"]
    assert sentence.startswith("1 of ")
    assert "chunks of level 1 is missing, within c=0:1, " in sentence
    assert answer(capsys, "info", f"{plate}/A/2/0")["recovered"] == []


@pytest.mark.parametrize(("node", "expected"), [("", [SENTENCE, OF_LABELS]), ("labels/cells", [f"{OF_LABELS}"])])
def test_the_page_of_the_viewer_shows_the_sentences(node, expected, recovered):
    with page_serving(f"{recovered}/{node}".rstrip("/")) as (server, page):
        address = f"{server.origin}{page.access.page_path}api/file"
        told = json.loads(urllib.request.urlopen(address).read())["recovered"]
    assert told == [sentence.replace(f" of {node}" if node else "\0", "") for sentence in expected]


def test_python_and_export_say_what_an_image_lacks(plate, tmp_path, capsys):
    (sentence,) = ozx.open_image(f"{plate}/A/1/0").notes
    assert sentence.startswith("1 of 8 chunks of level 0 is missing, within c=1:2, ")
    shown = run(capsys, "export", f"{plate}/A/1/0", tmp_path / "field.ome.tif")
    assert f"note: {sentence}\n" in shown
    assert ozx.open_image(f"{plate}/A/2/0").notes == ()
    assert ozx.open_image(plate).notes == ozx.inspect(plate).recovered


ROUTES = {
    "OME-Zarr 0.4": ["repack saved.ozx old.zarr --ome-version 0.4 --codec blosc-lz4", "repack old.zarr out.ozx"],
    "unpack and pack": ["unpack saved.ozx saved.zarr", "pack saved.zarr out.ozx"],
    "edit": ["repack saved.ozx out.ozx", "edit out.ozx --name Saved --pixel-size 0.5um"],
    "labels add": ["repack saved.ozx out.ozx", "labels add out.ozx mask.npy --name more"],
    "repack": ["repack saved.ozx out.ozx"],
    "shards": ["repack saved.ozx out.ozx --shards c=1,y=256,x=256"],
    "chunks": ["repack saved.ozx out.ozx --chunks y=32,x=32"],
    "version": ["repack saved.ozx out.ozx --ome-version 0.6"],
    "extract": ["extract saved.ozx out.ozx"],
    "recover": ["recover saved.ozx out.ozx"],
}


@pytest.mark.usefixtures("recovered")
@pytest.mark.parametrize("route", ROUTES)
def test_the_mark_stays_through(route, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("mask.npy", np.ones((256, 256), np.uint8))
    for line in ROUTES[route]:
        run(capsys, *line.split())
    assert mark_of("out.ozx") == [CHUNK, LABELS]


EXTRACTS = {
    "other channels": (["--channels", "0"], [LABELS]),
    "a channel": (
        ["--channels", "1"],
        [{"node": "", "level": "0", "within": {"c": [0, 1], "y": [192, 256], "x": [0, 64]}}, LABELS],
    ),
    "other levels": (["--levels", "1:"], [LABELS]),
    "the first level": (["--levels", ":1"], [CHUNK]),
    "another region": (["--region", "x=128:200,y=0:100"], []),
    "the region": (
        ["--region", "x=50:200,y=180:210"],
        [{"node": "", "level": "0", "within": {"c": [1, 2], "y": [12, 30], "x": [0, 14]}}],
    ),
    "the labels": (["--path", "labels/cells"], [{**LABELS, "node": ""}]),
}


@pytest.mark.parametrize("case", EXTRACTS)
def test_extract_keeps_what_the_extract_lacks(case, recovered, tmp_path, capsys):
    options, expected = EXTRACTS[case]
    run(capsys, "extract", recovered, tmp_path / "out.ozx", *options)
    assert (mark_of(tmp_path / "out.ozx") or []) == expected


def test_a_crop_of_whole_chunks_says_where_they_are(recovered, tmp_path, capsys):
    run(capsys, "extract", recovered, tmp_path / "out.ozx", "--region", "x=0:128,y=128:256", "--whole-chunks")
    marks = mark_of(tmp_path / "out.ozx")
    assert marks[0] == {"node": "", "level": "0", "within": {"c": [1, 2], "y": [64, 128], "x": [0, 64]}}


def test_a_well_keeps_only_its_own_losses(plate, tmp_path, capsys):
    assert [(mark["node"], mark["level"]) for mark in mark_of(plate)] == [("A/1/0", "0"), ("B/2/1", "1")]
    assert ozx.inspect(plate).recovered[0].startswith("1 of 8 chunks of level 0 of A/1/0 is missing, within c=1:2, ")
    run(capsys, "extract", plate, tmp_path / "well.ozx", "--path", "A/1")
    assert [(mark["node"], mark["level"]) for mark in mark_of(tmp_path / "well.ozx")] == [("0", "0")]
    run(capsys, "extract", plate, tmp_path / "field.ozx", "--path", "B/2/1")
    assert [(mark["node"], mark["level"]) for mark in mark_of(tmp_path / "field.ozx")] == [("", "1")]
    run(capsys, "extract", plate, tmp_path / "whole.ozx", "--path", "A/2")
    assert mark_of(tmp_path / "whole.ozx") is None


def test_only_edit_removes_the_mark_by_name(recovered, capsys):
    shown = run(capsys, "edit", recovered, "--forget-recovered", "--dry-run")
    assert SENTENCE in shown
    assert mark_of(recovered) == [CHUNK, LABELS]
    run(capsys, "edit", recovered, "--forget-recovered")
    assert root_of(recovered) == json.loads(tree(FIXTURES / "image.ome.zarr")["zarr.json"])
    assert "no changes" in run(capsys, "edit", recovered, "--forget-recovered")


def test_forgetting_keeps_other_attributes_and_names_the_file(plate, capsys):
    values = values_of(plate)
    root = json.loads(values["zarr.json"])
    root["attributes"]["ozx"]["other"] = 1
    write_archive(plate, sort_values({**values, "zarr.json": json.dumps(root).encode()}))
    assert "of the whole file" in run(capsys, "edit", f"{plate}/A/1/0", "--forget-recovered", code=2)
    result = ozx.edit(plate, forget_recovered=True, name="Saved")
    assert [difference.what for difference in result.differences] == ["name", "recovered", "recovered"]
    assert root_of(plate)["attributes"]["ozx"] == {"other": 1}


def test_chunks_that_are_kept_without_a_proof_may_be_wrong(cells, tmp_path, capsys):
    damage(cells, "0/c/1/3/0")
    saved, crop = tmp_path / "saved.ozx", tmp_path / "crop.ozx"
    run(capsys, "recover", cells, saved, "--keep-unproven", code=3)
    assert mark_of(saved) == [{"doubtful" if name == "missing" else name: value for name, value in CHUNK.items()}]
    assert ozx.inspect(saved).recovered == (SENTENCE.replace("is missing", "may be wrong"),)
    run(capsys, "extract", saved, crop, "--levels", ":1", "--region", "x=0:32", "--whole-chunks")
    assert ozx.inspect(crop).recovered == ("pixels of level 0 may be wrong, within c=1:2, y=192:256, x=0:64",)


def test_losses_add_up_when_a_recovered_file_is_recovered(recovered, tmp_path, capsys):
    damage(recovered, "0/c/0/0/0", "1/c/0/0/0", "labels/cells/1/c/0/1", "labels/cells/1/c/1/1")
    again = tmp_path / "again.ozx"
    run(capsys, "recover", recovered, again, code=3)
    assert mark_of(again) == [
        {**CHUNK, "missing": 2, "within": {"c": [0, 2], "y": [0, 256], "x": [0, 64]}},
        {**LABELS, "missing": 4, "within": {"y": [0, 128], "x": [0, 128]}},
        {"node": "", "level": "1", "missing": 1, "of": 8, "within": {"c": [0, 1], "y": [0, 64], "x": [0, 64]}},
    ]


def test_chunks_that_were_missing_count_once_in_a_file_that_is_cut(recovered, tmp_path, capsys):
    data = recovered.read_bytes()
    recovered.write_bytes(data[: data.index(b"PK\1\2")])  # without its directory
    run(capsys, "recover", recovered, tmp_path / "again.ozx", code=3)
    sparse = {"node": "labels/cells", "level": "0", "missing": 1, "of": 16, "may_be_empty": True}
    *others, empty = mark_of(tmp_path / "again.ozx")
    assert others == [CHUNK, LABELS]
    assert empty == {**sparse, "within": {"y": [192, 256], "x": [192, 256]}}  # no cell is there
    sentence = ozx.inspect(tmp_path / "again.ozx").recovered[-1]
    assert sentence.startswith("1 of 16 chunks of level 0 of labels/cells is missing or was empty, within ")


def test_a_long_list_of_losses_ends_with_their_number():
    """A cut plate lacks thousands of arrays, and every program that opens it reads the root."""
    losses = [{"node": f"A/{number}", "level": "0", "missing": 1, "of": 4} for number in range(1, 251)]
    first = merge_losses([], losses, are_others=True)
    assert (first[:100], first[100:]) == (losses[:100], [{"more": 150}])
    again = merge_losses(first, losses[:1], are_others=True)
    assert (again[0]["missing"], again[1:]) == (2, first[1:])
    assert describe_loss(again[-1]) == "150 more arrays lack chunks"
    assert merge_losses(first, losses, are_others=False) == first
    assert describe_loss({"more": 10**4000}) == "the array at the root is missing"


ROOTS = {
    "attributes are no object": (b'"attributes": [],', "attributes"),
    "ozx is no object": (b'"attributes": {"ozx": 1},', "attributes.ozx"),
    "the mark is no list": (b'"attributes": {"ozx": {"recovered": 1}},', "attributes.ozx.recovered"),
    "a name twice": (b'"x": 1, "x": 2, "attributes": {},', "'x' twice"),
    "a huge number": (b'"attributes": {"x": 1e999},', "1e999"),
}


@pytest.mark.parametrize("case", ROOTS)
def test_a_root_that_cannot_hold_the_mark_stays_as_it_is(case, cells, tmp_path, capsys):
    text, named = ROOTS[case]
    root = b'{"zarr_format": 3, ' + text + b' "node_type": "group"}'
    write_archive(cells, sort_values({**values_of(cells), "zarr.json": root}))
    damage(cells, "0/c/1/3/0")
    shown = run(capsys, "recover", cells, tmp_path / "saved.ozx", code=3)
    assert "does not say that it is recovered" in shown
    assert named in shown
    assert values_of(tmp_path / "saved.ozx")["zarr.json"] == root

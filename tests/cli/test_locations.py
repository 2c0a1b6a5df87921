"""Every command that takes FILE takes a node in it."""

import json
from pathlib import Path

import pytest
from hierarchies import FIXTURES
from packed import pack_tree

from ozx.cli.app import run

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture
def packed(tmp_path):
    return pack_tree(IMAGE, tmp_path / "scan.ozx")


def ozx(capfdbinary, *arguments):
    code = run(list(map(str, arguments)))
    captured = capfdbinary.readouterr()
    return code, captured.out, captured.err.decode()


@pytest.mark.parametrize(
    "words",
    [
        "info FILE",
        "ls FILE",
        "cat FILE zarr.json",
        "validate FILE",
        "labels list FILE",
        "edit FILE --name n --dry-run",
        "thumbnail FILE",
        "export FILE",
        "extract FILE out.ozx",
        "repack FILE out.ozx",
        "unpack FILE out.ome.zarr",
    ],
)
def test_path_names_the_same_node_as_the_address(capfdbinary, packed, monkeypatch, words):
    answers = []
    for number, (file, option) in enumerate([("scan.ozx/labels/cells", ()), ("scan.ozx", ("--path", "labels/cells"))]):
        (packed.parent / f"{number}").mkdir()
        monkeypatch.chdir(packed.parent / f"{number}")
        (packed.parent / f"{number}" / "scan.ozx").hardlink_to(packed)
        arguments = words.replace("FILE", file).split()
        code, out, err = ozx(capfdbinary, *arguments, *option)
        written = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
        answers.append((code, out, err, written))
    assert answers[0] == answers[1]
    assert answers[0][0] == 0


@pytest.mark.parametrize("verb", ["thumbnail", "export"])
def test_a_picture_and_a_tiff_file_get_a_name_beside_their_source(capfdbinary, packed, verb):
    name = {"thumbnail": "scan_labels_cells.png", "export": "scan_labels_cells.ome.tif"}[verb]
    out = packed.with_name(name)
    code, answer, _ = ozx(capfdbinary, verb, f"{packed}/labels/cells", "--json")
    assert (code, json.loads(answer)["path"], out.exists()) == (0, str(out), True)
    code, _, err = ozx(capfdbinary, verb, f"{packed}/labels/cells")
    assert (code, f"{out}: the file exists already" in err) == (2, True)
    assert ozx(capfdbinary, verb, f"{packed}/labels/cells", "--force")[0] == 0


def test_the_address_in_info_leads_back(capfdbinary, packed):
    for arguments in ((packed, "--path", "labels/cells"), (IMAGE,), (packed,)):
        _, out, _ = ozx(capfdbinary, "info", *arguments, "--json")
        first = json.loads(out)
        _, out, _ = ozx(capfdbinary, "info", first["address"], "--json")
        again = json.loads(out)
        assert first | {"path": again["path"]} == again


@pytest.mark.parametrize("command", [["info"], ["ls"], ["cat"], ["validate"], ["unpack"]])
@pytest.mark.parametrize("form", ["{}|zip:labels/cell/", "ozx://{}/labels/cell", "{}|zip:../x", "ozx://{}/../x"])
def test_what_is_no_node_is_a_wrong_command_line(capfdbinary, packed, command, form):
    arguments = [*command, form.format(packed), *(["zarr.json"] if command == ["cat"] else [])]
    code, out, err = ozx(capfdbinary, *arguments)
    assert (code, out) == (2, b"")
    assert err.startswith("error: ")
    assert "\nhint: " in err

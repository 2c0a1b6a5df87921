"""Every command that takes FILE takes a node in it."""

import json
from pathlib import Path

import pytest
from hierarchies import FIXTURES, tree
from packed import pack_tree

from ozx.cli.app import run

IMAGE = FIXTURES / "image.ome.zarr"


@pytest.fixture
def packed(tmp_path):
    return pack_tree(IMAGE, tmp_path / "scan.ozx")


@pytest.fixture(params=["{uri}/labels/cells", "{path}|zip:labels/cells/"])
def uri(request, packed):
    return request.param.format(path=packed, uri=packed.as_uri().replace("file:", "ozx:"))


def ozx(capfdbinary, *arguments):
    code = run(list(map(str, arguments)))
    captured = capfdbinary.readouterr()
    return code, captured.out, captured.err.decode()


def test_info(capfdbinary, uri):
    code, out, _ = ozx(capfdbinary, "info", uri, "--json")
    answer = json.loads(out)
    assert (code, answer["path"], answer["name"], answer["images"][0]["path"]) == (0, uri, "cells", "")
    assert ozx(capfdbinary, "info", uri)[0] == 0


def test_ls(capfdbinary, uri):
    code, out, _ = ozx(capfdbinary, "ls", uri)
    assert code == 0
    assert {line.split()[-1].decode() for line in out.splitlines()} == tree(IMAGE / "labels/cells").keys()


def test_cat(capfdbinary, uri):
    code, out, _ = ozx(capfdbinary, "cat", uri, "0/zarr.json")
    assert (code, out) == (0, (IMAGE / "labels/cells/0/zarr.json").read_bytes())


def test_validate(capfdbinary, uri):
    code, out, _ = ozx(capfdbinary, "validate", uri, "--json")
    (report,) = json.loads(out)["files"]
    assert (code, report["path"], report["valid"]) == (0, uri, True)


def test_unpack(capfdbinary, uri, tmp_path):
    code, out, _ = ozx(capfdbinary, "unpack", uri, "--no-sync", "--json")
    answer = json.loads(out)
    assert (code, answer["source"], Path(answer["path"])) == (0, uri, tmp_path / "cells.ome.zarr")
    assert tree(tmp_path / "cells.ome.zarr") == tree(IMAGE / "labels/cells")


@pytest.mark.parametrize("command", [["info"], ["ls"], ["cat"], ["validate"], ["unpack"]])
@pytest.mark.parametrize("form", ["{}|zip:labels/cell/", "ozx://{}/labels/cell", "{}|zip:../x", "ozx://{}/../x"])
def test_what_is_no_node_is_a_wrong_command_line(capfdbinary, packed, command, form):
    arguments = [*command, form.format(packed), *(["zarr.json"] if command == ["cat"] else [])]
    code, out, err = ozx(capfdbinary, *arguments)
    assert (code, out) == (2, b"")
    assert err.startswith("error: ")
    assert "\nhint: " in err

"""Command ``ozx labels``: adding, listing and removing, colours from a table, and wrong command lines."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import tifffile

import ozx
from ozx.cli.app import run

SCHEMA = Path(ozx.__file__).parent / "schemas" / "labels.json"
MASK = np.arange(64 * 80, dtype="uint16").reshape(64, 80) // 1000


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ozx.write_image("cells.ozx", np.zeros((2, 64, 80), "uint8"), axes="cyx", unit="um", sync=False)
    tifffile.imwrite("mask.tif", MASK)


def answer(capsys, *arguments):
    assert run(["labels", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    return found


def test_labels_are_added_listed_and_removed(capsys):
    added = answer(capsys, "add", "cells.ozx", "mask.tif", "--name", "nuclei", "--no-sync")
    assert added == {"schema": 2, "path": "cells.ozx", "label": "labels/nuclei", "values": 5, "notes": []}
    (label,) = answer(capsys, "list", "cells.ozx")["labels"]
    assert label["levels"][0]["shape"] == [64, 80]
    assert run(["labels", "list", "cells.ozx"]) == 0
    assert capsys.readouterr().out == "labels/nuclei  uint16  yx  64×80\n"
    assert answer(capsys, "remove", "cells.ozx", "nuclei", "--no-sync")["label"] == "labels/nuclei"
    assert answer(capsys, "list", "cells.ozx")["labels"] == []


def test_colours_come_from_a_table_or_are_one_for_all():
    Path("colors.csv").write_text("value,colour\n1,FF0000\n2, green\n\n")
    assert run(["labels", "add", "cells.ozx", "mask.tif", "--name", "a", "--colors", "colors.csv"]) == 0
    assert run(["labels", "add", "cells.ozx", "mask.tif", "--name", "b", "--colors", "yellow"]) == 0
    colors = [ozx.open("cells.ozx")[f"labels/{name}"].attrs["ome"]["image-label"]["colors"] for name in "ab"]
    assert [item["rgba"] for item in colors[0]] == [[255, 0, 0, 255], [0, 255, 0, 255]]
    assert [item["rgba"] for item in colors[1]] == [[255, 255, 0, 255]] * 5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["add", "cells.ozx", "mask.tif"], 2, "Missing option '--name'"),
        (["add", "cells.ozx", "mask.tif", "--name", "a", "--colors", "nonsense"], 2, "expected a colour"),
        (["add", "cells.ozx", "mask.tif", "--name", "a", "--colors", "none.csv"], 4, "none.csv"),
        (["add", "cells.ozx", "mask.tif", "--name", "a", "--colors", "wrong.csv"], 2, "wrong.csv: line 2: expected"),
        (["add", "cells.ozx", "float.tif", "--name", "a"], 2, "float.tif: expected labels that are integers"),
        (["add", "cells.ozx", "none.tif", "--name", "a"], 4, "none.tif"),
        (["add", "cells.ozx", "mask.tif", "--name", "a", "--axes", "zyx"], 2, "expected 2 axes"),
        (["add", "none.ozx", "mask.tif", "--name", "a"], 4, "none.ozx"),
        (["remove", "cells.ozx", "a"], 2, "has no labels 'a'"),
        ([], 2, "Missing command"),
    ],
)
def test_what_is_wrong_is_said(capsys, arguments, code, message):
    Path("wrong.csv").write_text("1,red\ntwo,red\n")
    tifffile.imwrite("float.tif", MASK.astype("float32"))
    before = Path("cells.ozx").read_bytes()
    assert run(["labels", *arguments]) == code
    assert message in capsys.readouterr().err
    assert Path("cells.ozx").read_bytes() == before

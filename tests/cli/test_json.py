"""`--json` of every verb: the answer of the library, in the form of its schema."""

import json

import jsonschema
import pytest
from cases.archive_builder import ArchiveBuilder, group, write_tree
from commands import command, schema_of
from hierarchies import FIXTURES, HIERARCHIES, tree
from packed import pack_tree, sort_values, write_archive, zip_values

import ozx

call = command()
NAMES = (*HIERARCHIES, "legacy")
LEGACY = str(FIXTURES / "legacy.ome.zarr")
EDIT = {"pixel_size": {"y": 0.65, "x": 0.65}, "channel_names": ["A", "B"]}

# A command line, and the same of the library; both write what they write a second time.
SAME = [
    ("ls cells.ozx", lambda: ozx.list_entries("cells.ozx")),
    ("ls cells.ozx --nodes", lambda: ozx.list_entries("cells.ozx", nodes=True)),
    (f"ls {LEGACY}", lambda: ozx.list_entries(LEGACY)),
    ("extract cells.ozx a.ozx --region y=0:100 --region x=-100: --levels :2 --force",
     lambda: ozx.extract("cells.ozx", "a.ozx", region="y=0:100,x=-100:", levels=":2", force=True)),
    ("export cells.ozx a.ome.tif --force", lambda: ozx.export("cells.ozx", "a.ome.tif", force=True)),
    ("thumbnail cells.ozx a.jpg --force", lambda: ozx.thumbnail("cells.ozx", "a.jpg", force=True)),
    ("repack cells.ozx a.ozx --shards y=128,x=128 --force",
     lambda: ozx.repack("cells.ozx", "a.ozx", shards="y=128,x=128", force=True)),
    (f"repack {LEGACY} a.ozx --codec zstd:3 --force",
     lambda: ozx.repack(LEGACY, "a.ozx", codec="zstd:3", force=True)),
    ("edit cells.ozx --pixel-size y=0.65,x=0.65 --channel-names A,B --dry-run",
     lambda: ozx.edit("cells.ozx", **EDIT, dry_run=True)),
    ("recover cells.ozx a.ozx --force", lambda: ozx.recover("cells.ozx", "a.ozx", force=True)),
    ("recover cut.ozx a.ozx --force", lambda: ozx.recover("cut.ozx", "a.ozx", force=True)),
]  # fmt: skip


@pytest.fixture
def folder(here):
    """A packed image, and the same cut off."""
    path = pack_tree(FIXTURES / "image.ome.zarr", here / "cells.ozx")
    (here / "cut.ozx").write_bytes(path.read_bytes()[:150_000])
    return here


def answer_of(capsys, code, verb, *arguments):
    """Return what a command answers in JSON, which fits its schema."""
    found, out, _ = call(capsys, verb, *arguments, "--json")
    assert found == code
    answer = json.loads(out)
    jsonschema.validate(answer, schema_of(verb), jsonschema.Draft202012Validator)
    return answer


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("line", "same"), SAME, ids=[line for line, _ in SAME])
def test_the_answer_is_that_of_the_library(capsys, line, same):
    is_lossy = line.startswith("recover cut")
    assert answer_of(capsys, 3 if is_lossy else 0, *line.split()) == same().to_dict()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_packed", [False, True])
def test_info(tmp_path, capsys, name, is_packed):
    path = FIXTURES / f"{name}.ome.zarr"
    path = pack_tree(path, tmp_path / "cells.ozx") if is_packed else path
    assert answer_of(capsys, 0, "info", path) == ozx.inspect(path).to_dict()


def test_malformed_hierarchies_fit_the_schema_of_info(tmp_path, capsys):
    values = tree(FIXTURES / "image.ome.zarr") | {"0/zarr.json": b"[]", "labels/zarr.json": b"{}"}
    plate = group(attributes={"ome": {"version": "0.5", "plate": {"wells": [{"path": "A/1"}]}}})
    for path in (
        write_archive(tmp_path / "a.ozx", sort_values(values)),
        zip_values(tmp_path / "b.zip", {"a.txt": b""}),
        zip_values(tmp_path / "c.zip", {"zarr.json": plate}),
        zip_values(tmp_path / "d.zip", {"zarr.json": values["1/zarr.json"]}),
    ):
        answer_of(capsys, 0, "info", path)


def test_validate(tmp_path, capsys):
    warned = ArchiveBuilder.valid().with_(comment=b"").write(tmp_path / "warned.ozx")
    wrong = ArchiveBuilder.valid().add("../x").add("/y").with_(comment=b"").write(tmp_path / "wrong.ozx")
    broken = ArchiveBuilder.valid().value("0/zarr.json", group("9")).with_(suffix=b"x").write(tmp_path / "broken.ozx")
    folder = write_tree(tmp_path / "d.zarr", {"zarr.json": b"{", "x.zip": b""})
    paths = [wrong, warned, folder, broken, FIXTURES / "image.ome.zarr"]
    answer = answer_of(capsys, 1, "validate", *paths)
    assert answer == {"schema": 2, "files": [ozx.validate(str(path)).to_dict() for path in paths]}
    assert [entry["valid"] for entry in answer["files"]] == [False, True, False, False, True]

"""One command over many files: unpack, recover, thumbnail, export, repack, edit."""

import json
import os
import shutil

import jsonschema
import pytest
import zarr
from commands import command, schema_of
from hierarchies import FIXTURES
from packed import pack_tree

from ozx.quoting import quote

ozx = command()


@pytest.fixture
def archives(here):
    names = [f"{letter}.ozx" for letter in "abc"]
    for name in names:
        pack_tree(FIXTURES / "image.ome.zarr", here / name)
    (here / names[1]).write_bytes(b"PK\x03\x04 and no more")
    return names


@pytest.mark.parametrize(
    ("verb", "outputs", "status"),
    [
        ("unpack", ["a.ome.zarr", "c.ome.zarr"], "unpacked"),
        ("thumbnail", ["a.png", "c.png"], "made"),
        ("export", ["a.ome.tif", "c.ome.tif"], "exported"),
        ("repack", ["a.ozx", "c.ozx"], "repacked"),
        ("recover", ["a.ozx", "c.ozx"], "recovered"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_each_file_gets_its_output(capsys, here, archives, verb, outputs, status, jobs):
    code, out, err = ozx(capsys, verb, *archives, "--out-dir", "out", "--jobs", jobs, "--log", "run.jsonl")
    assert code == 3
    assert sorted(line.split("  ")[0] for line in out.splitlines()) == [os.path.join("out", name) for name in outputs]
    assert "b.ozx: " in err
    assert err.endswith(f"2 {status}, 1 failed\n")
    assert sorted(os.listdir(here / "out")) == outputs
    lines = [json.loads(text) for text in (here / "run.jsonl").read_text().splitlines()]
    assert sorted((line["exit"], line["status"]) for line in lines) == [(0, status), (0, status), (1, "failed")]

    shutil.copy(archives[0], archives[1])
    code, out, _ = ozx(capsys, verb, "--retry-failed", "run.jsonl", "--out-dir", "out", "--json")
    answer = json.loads(out)
    jsonschema.validate(answer, schema_of("many"))
    jsonschema.validate(answer["results"][0]["result"], schema_of(verb))
    assert (code, [result["status"] for result in answer["results"]]) == (0, [status])
    assert len(os.listdir(here / "out")) == 3


def test_files_are_edited_where_they_are(capsys, here, archives):
    code, out, err = ozx(
        capsys, "edit", *archives, "--unit", "millimeter", "--name", "Cells", "--no-sync", "--jobs", "2"
    )
    assert code == 3
    assert out.count("ozx  2 groups changed") == 2
    assert err.endswith("2 edited, 1 failed\n")
    with zarr.storage.ZipStore(here / "c.ozx") as store:
        image = zarr.open_group(store, mode="r").attrs["ome"]["multiscales"][0]
    assert (image["name"], image["axes"][-1]["unit"]) == ("Cells", "millimeter")
    assert sorted(os.listdir(here)) == archives


def test_two_sources_of_one_name(capsys, here, archives):
    (here / "other").mkdir()
    shutil.copy("a.ozx", "other/a.ozx")
    code, _, err = ozx(capsys, "unpack", "a.ozx", "other/a.ozx", "--out-dir", "out")
    assert code == 2
    assert f"a.ozx and other/a.ozx would both become out{os.sep}a.ome.zarr" in err


@pytest.mark.parametrize("verb", ["thumbnail", "export", "recover"])
def test_a_folder_as_output_needs_out_dir(capsys, here, archives, verb):
    (here / "my results").mkdir()
    code, _, err = ozx(capsys, verb, "a.ozx", "my results")
    assert code == 2
    assert "expected the name of an output file; my results is a folder\n" in err
    assert err.endswith(f"hint: To write into this folder, give --out-dir {quote('my results')}.\n")
    assert os.listdir(here / "my results") == []

"""Metadata documents with faults, given to every verb: an answer or an error, and no fault of ozx (exit code 70)."""

import json
import os
import shutil

import every_verb
import pytest
from every_verb import VERBS, answer_of, faults, images, run_numbers

IMAGE, SHARDED, OLD, PLATE, _, TEXTS = images()


def edited(values, key, change):
    document = json.loads(values[key])
    change(document)
    return values | {key: json.dumps(document).encode()}


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 99, "shuffle": "shuffle", "typesize": 1}}
#: A hierarchy, the verbs that ended in a traceback or were slow with it, and what its name says of it.
CASES = {
    "an array without zarr_format": (
        edited(IMAGE, "0/zarr.json", lambda array: array.pop("zarr_format")),
        ["validate", "repack --chunks", "repack --codec", "export"],
    ),
    "an old array without zarr_format": (
        edited(OLD, "0/.zarray", lambda array: array.pop("zarr_format")),
        ["validate", "repack --chunks", "export"],
    ),
    "an old array of 2**126 pixels": (
        edited(OLD, "0/.zarray", lambda array: array.update(shape=[2**63 - 1] * 2)),
        ["validate", "repack --codec", "export"],
    ),
    "a dimension of 2**63 pixels": (
        edited(OLD, "0/.zarray", lambda array: array.update(shape=[2**63 - 1, 8])),
        ["validate", "repack --codec"],
    ),
    "a root of zarr_format 0": (
        edited(IMAGE, "zarr.json", lambda group: group.update(zarr_format=0)),
        ["info", "export", "thumbnail", "view"],
    ),
    "a root whose zarr_format is an object": (
        edited(IMAGE, "zarr.json", lambda group: group.update(zarr_format={"fill_value": 3})),
        ["info", "export", "thumbnail", "view"],
    ),
    "attributes that are text": (
        edited(IMAGE, "zarr.json", lambda group: group.update(attributes="x")),
        ["info", "edit", "extract", "repack", "view"],
    ),
    "chunks without pixels": (
        edited(IMAGE, "0/zarr.json", lambda array: array["chunk_grid"]["configuration"].update(chunk_shape=[1, 0, 4])),
        ["validate", "repack --chunks", "export", "thumbnail", "view"],
    ),
    "inner chunks without pixels": (
        edited(SHARDED, "0/zarr.json", lambda array: array["codecs"][0]["configuration"].update(chunk_shape=[0, 1, 1])),
        ["validate", "repack --shards none", "export", "view"],
    ),
    "acquisitions that are objects": (
        edited(
            edited(
                PLATE, "A/1/zarr.json", lambda g: g["attributes"]["ome"]["well"]["images"][0].update(acquisition={})
            ),
            "zarr.json",
            lambda group: group["attributes"]["ome"]["plate"].update(acquisitions=[{"id": {}}, {}]),
        ),
        ["export", "info", "validate"],
    ),
    "a level that blosc does not have": (
        edited(IMAGE, "0/zarr.json", lambda array: array.update(codecs=[{"name": "bytes"}, BLOSC])),
        ["validate", "repack --chunks", "thumbnail"],
    ),
    "an old level that blosc does not have": (
        edited(OLD, "1/.zarray", lambda array: array["compressor"].update(clevel=99)),
        ["validate", "repack --chunks", "repack"],
    ),
    "attributes 900 deep": (
        edited(IMAGE, "zarr.json", lambda group: group["attributes"].update(deep=nested(900))),
        ["extract", "extract --region", "edit", "edit names", "repack", "validate", "info"],
    ),
    "texts without dimensions": (TEXTS, ["repack --codec", "repack --chunks", "repack --shards", "validate"]),
}


@pytest.mark.parametrize("case", CASES)
def test_no_verb_has_a_fault(tmp_path, case):
    values, verbs = CASES[case]
    is_old = ".zgroup" in values  # which only directories may be
    assert list(faults(values, tmp_path, archive=not is_old, verbs=verbs)) == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_can_do_its_work(tmp_path, verb):
    """Otherwise they would all refuse the documents before anything can be wrong."""
    archive = verb in ("unpack", "edit", "edit names", "recover")
    every_verb.write_hierarchy(IMAGE, tmp_path, archive=archive)
    code, told = answer_of(every_verb.arguments_of(verb, tmp_path, archive=archive))
    assert code == 0 or "expected a file of at most 1,000 bytes" in told, told


def test_mutated_documents_lead_to_no_fault():
    assert list(run_numbers(range(20), "fast", most=4)) == []


@pytest.mark.ci
def test_many_mutated_documents_lead_to_no_fault():
    assert list(run_numbers(range(400), "ci")) == []


def test_a_fault_would_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr("ozx.operations.info.image_paths", lambda nodes: 1 + "")
    (found,) = faults(IMAGE, tmp_path, archive=True, verbs=["info"])
    assert found.startswith("info (archive): error: this is a fault of ozx")


@pytest.mark.parametrize("url", ["http://[", "https://[::1/cells.ozx", "file://[", "s3://[x", "http://[|zip:0/"])
@pytest.mark.parametrize("verb", ["info", "ls", "cat", "validate", "thumbnail", "export", "repack", "pack", "unpack"])
def test_malformed_urls_are_refused(tmp_path, verb, url):
    arguments = [word.replace("OUT", os.fspath(tmp_path / "out")) for word in VERBS[verb]]
    code, told = answer_of([url if word == "IN" else word for word in arguments])
    assert code in (2, 4)
    assert told.startswith("error: ")
    assert list(tmp_path.iterdir()) == []
    shutil.rmtree(tmp_path)

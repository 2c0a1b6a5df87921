"""`ozx verify` as a user meets it."""

import json

import jsonschema
from commands import command, schema_of
from hierarchies import make_image

ozx = command()


def test_one_and_many(capsys, here):
    for name in "abc":
        make_image(here / f"{name}.ome.zarr")
    assert ozx(capsys, "pack", "a.ome.zarr", "b.ome.zarr", "c.ome.zarr", "--manifest", "--checksum", "sha256")[0] == 0
    code, out, err = ozx(capsys, "verify", "a.ozx")
    assert (code, err) == (0, "")
    assert out.startswith("a.ozx  3 values, ")
    assert "equal the packed values; sha256 " in out
    code, out, _ = ozx(capsys, "verify", "a.ozx", "--json")
    jsonschema.validate(json.loads(out), schema_of("verify"))
    (here / "b.ozx").write_bytes((here / "b.ozx").read_bytes()[:-1])
    code, out, err = ozx(capsys, "verify", "a.ozx", "b.ozx", "c.ozx", "--quiet", "--log", "run.jsonl", "--jobs", "2")
    assert (code, out) == (3, "")
    assert err.startswith("error: b.ozx: ")
    assert (here / "run.jsonl").read_text().count('"status": "verified"') == 2
    assert ozx(capsys, "verify", "--retry-failed", "run.jsonl")[0] == 3

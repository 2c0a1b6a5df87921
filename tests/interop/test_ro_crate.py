"""roc-validator finds nothing that RO-Crate 1.1 requires and that a crate of ozx lacks."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hierarchies import FIXTURES

import ozx
from ozx.ome.ro_crate import CRATE

#: This variable names the interpreter of an environment with roc-validator.
VARIABLE = "OZX_ROC_PYTHON"


@pytest.mark.ci
def test_roc_validator_finds_no_required_issue(tmp_path):
    python = os.environ.get(VARIABLE)
    if python is None:
        pytest.skip(f"no environment with roc-validator: {VARIABLE} is not set")
    people = {"license": "CC-BY-4.0", "author": ["Ada Byron", "Ñ"]}
    packed = ozx.pack(FIXTURES / "image.ome.zarr", tmp_path / "cells.ozx", sync=False, **people)
    right = ozx.unpack(packed.path, sync=False).path
    wrong = Path(ozx.unpack(packed.path, tmp_path / "wrong.ome.zarr", sync=False).path)
    document = json.loads((wrong / CRATE).read_bytes())
    del next(each for each in document["@graph"] if each["@id"] == "./")["license"]
    (wrong / CRATE).write_text(json.dumps(document))

    script = Path(__file__).with_name("crate_judge.py")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    answer = subprocess.run([python, script, right, wrong], stdout=subprocess.PIPE, env=environment, check=True)
    judged = json.loads(answer.stdout)
    assert judged["asked"] == ["https://w3id.org/ro/crate/1.1/context"]
    (issues, checks), (faults, _) = judged["found"]
    assert issues == []
    assert checks > 30
    assert any("license" in fault for fault in faults)

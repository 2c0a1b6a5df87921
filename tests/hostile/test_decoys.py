"""Commands on a cluster touch nothing but what is named, though its workers are in a folder full of decoys.

Each run takes a random command with relative paths. The workers' folder has other files at the same relative paths.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr
from clusters import local_cluster
from hierarchies import make_image, tree

import ozx

_VERBS = ("pack", "pack --remove-source", "import", "unpack", "repack", "export", "recover", "validate")
_ENDINGS = {"pack": ".ozx", "import": ".ozx", "unpack": ".ome.zarr", "repack": ".ozx", "recover": ".ozx"}
_ENDINGS["export"] = ".ome.tif"
_NAMES = ("a", "b c", "d")


RUNS = int(os.environ.get("OZX_DECOYS", "6"))


def make_files(folder: Path, fill: int) -> None:
    """Make sources of every kind below a folder, whose pixels are all `fill`, and a folder for outputs."""
    for name in _NAMES:
        image = make_image(
            folder / "raw" / f"{name}.ome.zarr", {f"0/c/{n // 2}/{n % 2}": bytes([fill]) * 1024 for n in range(4)}
        )
        ozx.pack(image, folder / "raw" / f"{name}.packed.ozx", sync=False)
        tifffile.imwrite(folder / "raw" / f"{name}.tif", np.full((64, 64), fill, "uint8"))
    (folder / "out").mkdir()


def run_once(chance: random.Random, base: Path, home: Path, address: str) -> None:
    project = Path(tempfile.mkdtemp(prefix="project-", dir=base))
    fill = chance.randrange(1, 200)
    make_files(project, fill)
    verb, *options = chance.choice(_VERBS).split()
    ending = {"pack": ".ome.zarr", "import": ".tif"}.get(verb, ".packed.ozx")
    names = chance.sample(_NAMES, chance.randint(1, len(_NAMES)))
    at, up = chance.choice([("", ""), ("raw", "../"), ("out", "../")])  # the working directory of the client
    sources = [f"{up}raw/{name}{ending}" if at != "raw" else f"{name}{ending}" for name in names]
    outputs = [] if verb == "validate" else ["--out-dir", f"{up}out" if at != "out" else "."]
    words = [verb, *sources, *outputs, *options, "--dask", address, "--log", f"{project}/run.jsonl", "--quiet"]
    before, decoys = tree(project), tree(home)
    done = subprocess.run(
        [sys.executable, "-m", "ozx", *words], cwd=project / at, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    assert tree(home) == decoys, words

    after = tree(project)
    lines = [json.loads(line) for line in after.pop("run.jsonl").splitlines()]
    middle = "" if verb in ("pack", "import") else ".packed"
    made = set() if verb == "validate" else {f"{name}{middle}{_ENDINGS[verb]}" for name in names}
    assert {os.path.normpath(line["source"]) for line in lines} == {
        str(project / "raw" / f"{n}{ending}") for n in names
    }
    if verb != "validate":
        assert {os.path.normpath(line["output"]) for line in lines} == {str(project / "out" / name) for name in made}
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    removed = {f"raw/{name}{ending}" for name in names} if options else set()
    assert {"/".join(key.split("/")[:2]) for key in changed} == {f"out/{name}" for name in made} | removed, words
    assert {os.path.relpath(line["source"], project) for line in lines if line["source_removed"]} == removed
    for name in made:
        _check(project / "out" / name, fill)


def _check(path: Path, fill: int) -> None:
    """Check that the pixels of an output are those of the client's source."""
    if path.suffix == ".ozx":
        assert (ozx.open(path)["0"][:] == fill).all(), path
    elif path.suffix == ".zarr":
        assert (zarr.open_array(path / "0", mode="r")[:] == fill).all(), path
    elif path.suffix == ".tif":
        assert (tifffile.imread(path) == fill).all(), path


@pytest.mark.ci
def test_only_the_named_files_are_touched(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    make_files(home, 255)
    with contextlib.chdir(home), local_cluster() as (cluster, client):
        assert set(client.run(os.getcwd).values()) == {str(home)}
        for seed in range(RUNS):
            run_once(random.Random(seed), tmp_path, home, cluster.scheduler_address)

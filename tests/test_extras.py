"""The extras of pyproject.toml, and the commands that name them."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hierarchies import FIXTURES
from packed import pack_tree

from ozx.cli.app import version_text
from ozx.extras import install_hint

ROOT = Path(__file__).parents[1]
IMAGE = FIXTURES / "image.ome.zarr"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
#: For developers, or without wheels for every platform, or very large.
_NOT_IN_ALL = {"all", "zipfile-deflate64", "napari", "torch", "dev", "ci", "ecosystem", "docs", "fuzz", "bench"}


def test_all_has_every_extra_with_wheels_for_every_platform():
    (named,) = EXTRAS["all"]
    assert set(re.fullmatch(r"ozx-toolkit\[(.*)\]", named)[1].split(",")) == EXTRAS.keys() - _NOT_IN_ALL


def test_every_hint_names_an_extra():
    used = set()
    for path in (ROOT / "src").rglob("*.py"):
        used.update(re.findall(r'(?:install_hint|needed)\("([\w-]+)"', path.read_text(encoding="utf-8")))
    assert used - EXTRAS.keys() == set()
    assert used >= {"tiff", "view", "validate", "deflate64", "remote", "s3", "dask", "napari"}


@pytest.mark.parametrize(
    ("extra", "command"),
    [("tiff", 'pip install "ozx-toolkit[tiff]"'), ("napari", 'pip install "ozx-toolkit[napari]" "napari[all]"')],
)
def test_a_hint_has_the_command_to_type(extra, command):
    assert install_hint(extra) == f"Install it: {command}"


#: The packages of extras that a plain install lacks.
MISSING = ("tifffile", "PIL", "jsonschema", "ome_zarr_models", "inflate64")
_BLOCK = f"import sys; sys.modules.update(dict.fromkeys({MISSING})); "
_RUN = _BLOCK + "from ozx.cli.app import main; main()"


def run_plainly(*arguments):
    """Run a command as a plain install does."""
    command = [sys.executable, "-c", _RUN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["import", "cells.tif"], "tiff"),
        (["export", "cells.ozx", "cells.ome.tif"], "tiff"),
        (["thumbnail", "cells.ozx", "cells.png"], "view"),
        (["pack", IMAGE, "out.ozx", "--thumbnail"], "view"),
        (["validate", "cells.ozx", "--schema", "https://example.org/schema=schema.json"], "validate"),
    ],
)
def test_a_command_without_its_extra_says_what_to_type(tmp_path, monkeypatch, arguments, extra):
    monkeypatch.chdir(tmp_path)
    pack_tree(IMAGE, "cells.ozx")
    Path("cells.tif").write_bytes(b"II*\0" + bytes(100))
    Path("schema.json").write_text("{}")
    before = sorted(os.listdir())
    done = run_plainly(*arguments)
    assert done.returncode == 4
    assert f"needs the extra {extra}: " in done.stderr
    assert done.stderr.endswith(f'hint: Install it: pip install "ozx-toolkit[{extra}]"\n')
    assert sorted(os.listdir()) == before


def test_help_needs_no_extra():
    for arguments in (["--help"], ["import", "--help"], ["export", "--help"]):
        assert run_plainly(*arguments).returncode == 0
    code = _BLOCK + "import ozx; [getattr(ozx, name) for name in ozx.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_report_says_that_the_second_opinion_was_not_asked(tmp_path):
    path = pack_tree(IMAGE, tmp_path / "cells.ozx")
    with_all = json.loads(subprocess.check_output([sys.executable, "-m", "ozx", "validate", str(path), "--json"]))
    plain = json.loads(run_plainly("validate", path, "--json").stdout)
    (note,) = [found for found in plain["files"][0]["findings"] if found["id"] == "ome/second-opinion"]
    assert note["severity"] == "note"
    assert note["hint"] == 'Install it: pip install "ozx-toolkit[validate]"'
    plain["files"][0]["findings"].remove(note)
    assert plain == with_all
    assert "second-opinion" not in run_plainly("validate", path, "--no-second-opinion").stdout


def test_versions_are_those_that_are_installed(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    text = version_text(verbose=True)
    assert "\ndeflate64 by no package: the extra deflate64 is not installed\n" in text
    assert "\nome-zarr-models is not installed\n" in text

"""What installs ozx names the same version and the same dependencies everywhere, and the README the same lines."""

import re
import tomllib
from pathlib import Path

import ozx

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8")
#: Where conda has another name than the package index.
CONDA_NAMES = {"isal": "python-isal"}


def needs(text):
    name, version = re.match(r"([\w-]+)\s*(>=[\d.]+)", text).groups()
    return CONDA_NAMES.get(name, name), version


def test_the_recipe_of_conda_has_the_dependencies_of_the_package():
    run = re.search(r"^  run:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)[1]
    listed = [needs(line.removeprefix("    - ")) for line in run.splitlines()]
    assert listed == [("python", PROJECT["requires-python"]), *map(needs, PROJECT["dependencies"])]


def test_every_file_that_names_the_version_names_the_same():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = [
        re.search(r'^  version: "(.*)"$', RECIPE, re.MULTILINE)[1],
        re.search(r"^version: (.*)$", citation, re.MULTILINE)[1],
        re.search(r"^## ([\d.]+) \(", changes, re.MULTILINE)[1],
    ]
    assert found == [ozx.__version__] * 3


def test_the_lines_for_powershell_do_what_those_for_sh_do():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^python3 -m venv .* && .*$", readme, re.MULTILINE)
    expected = [
        line.replace("python3", "py").replace(" && ", "; ").replace(".venv/bin/", ".venv/Scripts/").replace("/", "\\")
        for line in lines
    ]
    assert re.findall(r"^py -m venv .*$", readme, re.MULTILINE) == expected
    assert len(expected) == 2

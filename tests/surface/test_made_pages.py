"""Pages and pictures of docs/ that scripts make: they are what the scripts would write now."""

import doctest
import re
import xml.etree.ElementTree as ET

import pytest

from docs import made_parts, make_architecture, make_format, make_results, site_hooks
from docs.made_parts import DOCS

SCRIPTS = (make_architecture, make_format, make_results)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_what_a_script_makes_is_up_to_date(script):
    for path, text in script.made_files().items():
        assert DOCS.joinpath(path).read_text(encoding="utf-8") == text, f"run python -m {script.__name__}"


@pytest.mark.parametrize("module", [made_parts, site_hooks, *SCRIPTS], ids=lambda module: module.__name__)
def test_the_examples_of_the_scripts(module):
    assert doctest.testmod(module).failed == 0


def test_every_picture_is_made_and_shown_and_readable_on_any_page():
    made = {path for script in SCRIPTS for path in script.made_files() if path.endswith(".svg")}
    assert made == {f"pictures/{path.name}" for path in DOCS.joinpath("pictures").iterdir()}
    shown = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    for path in made:
        assert f"({'../'}{path})" in shown
        card = ET.parse(DOCS / path).getroot().find("{http://www.w3.org/2000/svg}rect")
        assert card.get("fill") == "#fff"


def test_the_modules_that_the_page_names_are_there():
    page = DOCS.joinpath("explanation/architecture.md").read_text(encoding="utf-8")
    source = DOCS.parent / "src" / "ozx"
    rooms = "|".join(path.name for path in source.iterdir() if path.is_dir())
    named = re.findall(rf"`((?:{rooms})/[a-z_0-9/]+)`", page)
    assert len(named) > 30
    missing = [name for name in named if not (source / name).is_dir() and not (source / f"{name}.py").is_file()]
    assert missing == []

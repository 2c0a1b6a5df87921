"""The page's modules: their own tests, and what holds for all of them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "src/ozx/desktop/viewer/page"
FILES = sorted(path for path in PAGE.iterdir() if path.suffix in (".js", ".css", ".html"))


def test_unit_tests_of_the_modules():
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    tests = sorted(map(str, (Path(__file__).parent / "page").glob("*.test.mjs")))
    result = subprocess.run(["node", "--test", *tests], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert "# fail 0" in result.stdout
    assert "# pass 0" not in result.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_modules_are_short_and_load_nothing_from_elsewhere(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= 300
    assert max(map(len, lines)) <= 125
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    # Text of a file must not become code or HTML.
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


def test_every_module_is_loaded_by_another():
    loaded = set(re.findall(r'(?:from|src=|href=) ?"(?:\./)?([\w.]+)"', "\n".join(p.read_text("utf-8") for p in FILES)))
    assert {path.name for path in FILES} - loaded == {"index.html"}

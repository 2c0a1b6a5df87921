"""Two journeys with the pages' own text: that of a microscopist through the tutorial, that of a developer."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tifffile
from page_examples import make_environment, read_blocks, run_page

import ozx
from ozx.integrations.napari.reading import get_reader

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
PROGRAM = ROOT / "docs" / "howto" / "from-a-program.md"

pytestmark = [
    pytest.mark.ci,  # each takes some twenty seconds
    pytest.mark.skipif(shutil.which("bash") is None, reason="examples are run by bash"),
]


def test_a_microscopist_goes_from_tiff_to_a_smaller_part_and_back(here):
    run_page(TUTORIAL, here)
    # What the page made: a picture's source, corrected; a part small enough to mail; a TIFF file again.
    original = tifffile.imread("cells.tif")
    image = ozx.inspect("cells.ozx").images[0]
    assert [channel.label for channel in image.channels] == ["DAPI", "GFP"]
    assert image.levels[0].scale[-2:] == (0.325, 0.325)
    assert os.path.getsize("corner.ozx") < os.path.getsize("cells.ozx") / 2
    assert ozx.thumbnail("cells.ozx", "cells.png").width == 256
    # The reader that napari calls, without a window.
    reader = get_reader(str(here / "corner.ozx"))
    layers = reader(str(here / "corner.ozx"))
    assert [(kind, settings["name"]) for _, settings, kind in layers] == [("image", "DAPI"), ("image", "GFP")]
    for number, (pixels, settings, _) in enumerate(layers):
        finest = pixels[0] if settings.get("multiscale") else pixels
        assert (finest[:] == original[number, :512, :512]).all()
        assert tuple(settings["scale"]) == (0.325, 0.325)
    assert (tifffile.imread("cells.ome.tif") == original).all()


def test_a_developer_reads_and_writes_with_types_cancel_and_errors(here):
    run_page(PROGRAM, here)
    program = next(block.text for block in read_blocks(PROGRAM.read_text(encoding="utf-8")) if block.kind == "python")
    for function in ("read_plane", "write_cells"):
        body = re.search(rf"^def {function}.*?(?=^\S|\Z)", program, re.MULTILINE | re.DOTALL)
        assert len(body[0].strip().splitlines()) <= 20
    Path("program.py").write_text(program, encoding="utf-8")
    check_types("program.py", here)


def test_the_example_of_the_readme_is_typed(here):
    blocks = [block for block in read_blocks(README.read_text(encoding="utf-8")) if block.kind == "python"]
    Path("program.py").write_text("\n".join(block.text for block in blocks), encoding="utf-8")
    check_types("program.py", here)


def check_types(program, folder):
    environment = make_environment(folder / "home")
    environment["MYPYPATH"] = str(Path(ozx.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout

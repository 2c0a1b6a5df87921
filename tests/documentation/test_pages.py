"""Every example of README.md and docs/ does what the page says."""

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import PIL.Image
import pytest
from hierarchies import FIXTURES
from page_examples import read_blocks, read_shown_commands, run_page

from ozx.cli.app import COMMANDS, load_command

ROOT = Path(__file__).parent.parent.parent

#: Pages whose examples take about a second or more. The tutorial does too, but nothing is to break it unnoticed.
SLOW = {
    f"docs/{name}.md"
    for name in (
        *("ecosystem", "explanation/format", "import", "index"),
        *("howto/convert-04", "howto/crop", "howto/dask", "howto/deposit", "howto/double-click", "howto/edit"),
        *("howto/fiji-and-qupath", "howto/from-a-microscope", "howto/from-tiff", "howto/inodes-on-a-cluster"),
        *("howto/napari", "howto/pack-for-sharing", "howto/recover", "howto/share-by-url", "howto/stream"),
        *("howto/ten-thousand-images", "howto/tensorstore", "howto/xarray"),
    )
}


def has_examples(path):
    return any(block.not_run is None for block in read_blocks(path.read_text(encoding="utf-8")))


PAGES = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))}
EXAMPLES = [
    pytest.param(path, id=name, marks=[pytest.mark.ci] if name in SLOW else [])
    for name, path in PAGES.items()
    if has_examples(path)
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="examples are run by bash")
@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_do_what_it_says(page, here):
    run_page(page, here)


@pytest.mark.ci
@pytest.mark.skipif(shutil.which("bash") is None, reason="the line is run by bash")
def test_the_try_line_ends_with_a_picture_even_without_a_display(tmp_path, monkeypatch):
    (line,) = re.findall(r"<!-- try line -->\n```sh\n(.*)\n```", PAGES["README.md"].read_text(encoding="utf-8"))
    install, _, rest = line.partition(' -q ".[all]" && ')
    assert install == "python3 -m venv .venv && .venv/bin/pip install"
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(FIXTURES / "image.ome.zarr", tmp_path / "fixtures/image.ome.zarr")
    for _ in range(2):  # the line may be repeated
        script = rest.replace(".venv/bin/ozx", f"{shlex.quote(sys.executable)} -m ozx")
        done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "image.png  256 × 256 pixels"
    with PIL.Image.open(tmp_path / "image.png") as picture:
        assert len(picture.convert("RGB").getcolors(1 << 16)) > 1000


def test_pages_that_are_called_slow_are_there():
    assert set(PAGES) >= SLOW


@pytest.mark.parametrize("page", [pytest.param(path, id=name) for name, path in PAGES.items()])
def test_commands_that_are_shown_have_the_arguments_and_options_they_are_shown_with(page):
    for _, name, *arguments in read_shown_commands(page.read_text(encoding="utf-8")):
        if name in COMMANDS:
            with contextlib.suppress(click.exceptions.Exit):
                # A command keeps the names of its help option from its first context: give those of the command line.
                help_names = {"help_option_names": ["-h", "--help"]}
                load_command(name).make_context(f"ozx {name}", arguments, **help_names)
        else:
            assert name.startswith("-"), name


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("crop", "crop, cut out"),
        ("labels", "labels, mask, segmentation"),
        ("read-in-python", "python, numpy"),
        ("notebooks", "notebook, jupyter"),
    ],
)
def test_the_title_of_a_task_has_its_everyday_words_which_the_search_ranks_first(page, words):
    title = PAGES[f"docs/howto/{page}.md"].read_text(encoding="utf-8").partition("\n")[0].lower()
    assert [word for word in words.split(", ") if word not in title] == []


def test_every_page_stands_once_in_the_navigation_of_the_site_or_is_for_the_repository_only():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- (?:.+: )?(\S+\.md)$", site, re.MULTILINE)
    excluded = tuple(re.findall(r"^  /(\S+)$", site, re.MULTILINE))
    written = [name.removeprefix("docs/") for name in PAGES if name.startswith("docs/")]
    assert sorted(listed) == sorted(name for name in written if not name.startswith(excluded))

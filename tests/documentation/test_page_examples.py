"""The runner of examples: everything that is not as the page says fails. (What is right passes: see every page.)"""

import os
import shutil
from pathlib import Path

import pytest
from hierarchies import FIXTURES
from page_examples import ExampleError, run_page

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="examples are run by bash")


@pytest.fixture
def run(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run_text(text):
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        run_page(page, folder)
        return folder

    return run_text


def console(text):
    return f"Some text.\n\n```console\n{text}\n```\n"


def python(text):
    return f"Some text.\n\n```python\n{text}\n```\n"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        *(
            (python(text), "line 4")
            for text in (">>> 6 * 7\n43", ">>> 6 * 7", ">>> None\n1", ">>> 1 / 0", ">>> print('a b')\na … c")
        ),
        (console("$ echo one\none") + console("$ echo two\none"), "line 10"),
        (console("$ echo one\none\n$ echo two\nthree"), r"page\.md, line 6: \$ echo two\n- three\n\+ two"),
        ("Text.\n\n<!-- run: false -->\n", "line 3"),
    ],
)
def test_a_page_that_is_wrong_fails_with_page_line_and_command(run, page, reason):
    with pytest.raises(ExampleError, match=reason):
        run(page)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$ echo one\ntwo", "- two"),
        ("$ echo acb\na.b", r"- a\.b"),
        ("$ printf 'a\\nb\\n'\na", r"\+ b"),
        ("$ echo one\none\ntwo", "- two"),
        ("$ true\none", "- one"),
        ("$ echo one two\none … three", r"\+ one two"),
        ("$ printf 'a\\nb\\n'\na … b", r"\+ a"),
        ("$ printf 'a\\nb\\n'\n…\nc", "- c"),
        ("$ false", "ended with 1"),
        ("$ echo no; exit 3", "the shell ended before it"),
        ("$ echo yes; false\nyes", "ended with 1"),
        ("$ false\n$ echo $?\n3", r"\+ 1"),
        ("$ true\n$ echo $?\n3", r"\+ 0"),
        ("$ no-such-program-here", "ended with 127"),
        ("what is this", "expected a command"),
    ],
)
def test_what_is_not_as_the_page_says_fails(run, text, reason):
    with pytest.raises(ExampleError, match=reason):
        run(console(text))


def test_blocks_share_a_folder_that_has_a_copy_of_the_fixtures(run):
    folder = run(console("$ rm fixtures/image.ome.zarr/zarr.json\n$ touch a") + console("$ ls\na\nfixtures"))
    assert folder.joinpath("a").exists()
    assert FIXTURES.joinpath("image.ome.zarr", "zarr.json").exists()


def test_commands_have_a_home_of_their_own(run):
    run(console("$ touch ~/written; echo $HOME\n….home\n$ echo [$DISPLAY]\n[]"))
    assert not Path(os.path.expanduser("~")).joinpath("written").exists()


def test_a_script_that_fails_names_its_line(run):
    with pytest.raises(ZeroDivisionError) as caught:
        run(python("zero = 0") + python("one = 1\none / zero"))
    assert caught.traceback[-1].lineno + 1 == 10

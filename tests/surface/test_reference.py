"""docs/reference/: the page of the command line is that of the commands; every public name of Python has a place."""

import inspect
import re
import sys

import pytest
from public_names import DIRECTIVES, REFERENCE, find

import ozx
import ozx.desktop.association.associate
import ozx.extensions
from docs.make_api import api_markdown
from docs.make_cli import cli_markdown
from docs.site_hooks import on_page_markdown

INTERFACE = (REFERENCE.parent / "interface.md").read_text(encoding="utf-8")


def test_the_page_of_the_command_line_is_made_of_the_commands():
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    assert page == cli_markdown(), "run python -m docs.make_pages"


def test_the_page_for_readers_of_the_repository_is_made_of_the_docstrings():
    page = (REFERENCE / "python.md").read_text(encoding="utf-8")
    assert page == api_markdown(), "run python -m docs.make_pages"
    assert all(f"### ozx.{name}\n" in page for name in ozx.__all__)
    assert not re.search(r" at 0x[0-9a-f]", page)


def test_every_public_name_stands_on_one_page():
    assert {f"ozx.{name}" for name in ozx.__all__} <= set(DIRECTIVES)
    assert len(DIRECTIVES) == len(set(DIRECTIVES))


def test_every_function_and_class_that_interface_md_names_stands_on_a_page():
    named = set(re.findall(r"^(ozx\.[\w.]+)\(", INTERFACE, re.MULTILINE))
    assert named - set(DIRECTIVES) == set()
    assert {"ozx.pack", "ozx.extensions.register", "ozx.desktop.association.associate.associate"} <= named


@pytest.mark.parametrize("name", DIRECTIVES)
def test_what_a_page_names_is_there_and_explains_itself(name):
    assert inspect.getdoc(find(name))


@pytest.mark.parametrize("name", DIRECTIVES)
def test_what_a_function_returns_stands_on_a_page_too(name):
    target = find(name)
    annotation = target.__annotations__.get("return", "") if inspect.isfunction(target) else ""
    result = getattr(sys.modules[target.__module__], annotation, None)
    if inspect.isclass(result) and result.__module__.startswith("ozx."):
        assert any(find(other) is result for other in DIRECTIVES), result


def test_the_list_of_pages_names_what_is_on_them():
    listed = (REFERENCE / "api" / "index.md").read_text(encoding="utf-8")
    functions = {name for name in ozx.__all__ if inspect.isfunction(getattr(ozx, name))}
    assert functions <= set(re.findall(r"`(\w+)`", listed))


def test_code_in_tables_loses_the_backslash_that_code_hosts_need():
    page = "| `--level a\\|b` | a \\| b |\n\nsed `s\\|a\\|b\\|`\n"
    assert on_page_markdown(page) == "| `--level a|b` | a \\| b |\n\nsed `s\\|a\\|b\\|`\n"

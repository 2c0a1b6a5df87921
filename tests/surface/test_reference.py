"""docs/reference/ and the hooks of the site: every command, rule and public name of Python has a place."""

import inspect
import re
import sys
from types import SimpleNamespace

import pytest
from public_names import DIRECTIVES, REFERENCE, find

import ozx
import ozx.desktop.association.associate
import ozx.extensions
from docs.site_hooks import on_page_markdown
from ozx.cli.app import COMMANDS, load_command
from ozx.validation.rules.table import RULES

DOCS = REFERENCE.parent


def on_the_site(name):
    """Return a page of docs/ as the site gets it."""
    page = SimpleNamespace(file=SimpleNamespace(src_uri=name))
    return on_page_markdown((DOCS / name).read_text(encoding="utf-8"), page=page)


def test_the_site_shows_every_command_with_every_option():
    page = on_the_site("reference/cli.md")
    shared, *sections = re.split(r"^## ozx (\w+)$", page, flags=re.MULTILINE)
    texts = dict(zip(sections[::2], sections[1::2], strict=True))
    assert list(texts) == list(COMMANDS)
    for name, text in texts.items():
        for option in (option for parameter in load_command(name).params for option in parameter.opts):
            assert not option.startswith("--") or option in text, (name, option)
    assert "`--json`" in shared


def test_the_site_shows_every_rule():
    assert re.findall(r"^### `(.*)`$", on_the_site("rules.md"), re.MULTILINE) == list(RULES)


def test_every_public_name_stands_on_one_page():
    assert {f"ozx.{name}" for name in ozx.__all__} <= set(DIRECTIVES)
    assert len(DIRECTIVES) == len(set(DIRECTIVES))


@pytest.mark.parametrize("name", DIRECTIVES)
def test_what_a_page_names_is_there_and_explains_itself(name):
    assert inspect.getdoc(find(name))


@pytest.mark.parametrize("name", [name for name in DIRECTIVES if inspect.isfunction(find(name))])
def test_what_a_function_returns_stands_on_a_page_too(name):
    target = find(name)
    result = getattr(sys.modules[target.__module__], target.__annotations__.get("return", ""), None)
    if inspect.isclass(result) and result.__module__.startswith("ozx."):
        assert any(find(other) is result for other in DIRECTIVES), result


def test_the_list_of_pages_names_what_is_on_them():
    listed = (REFERENCE / "api" / "index.md").read_text(encoding="utf-8")
    functions = {name for name in ozx.__all__ if inspect.isfunction(getattr(ozx, name))}
    assert functions <= set(re.findall(r"`(\w+)`", listed))


def test_code_in_tables_loses_the_backslash_that_code_hosts_need():
    page = "| `--level a\\|b` | a \\| b |\n\nsed `s\\|a\\|b\\|`\n"
    assert on_page_markdown(page) == "| `--level a|b` | a \\| b |\n\nsed `s\\|a\\|b\\|`\n"


def test_the_site_names_the_path_of_a_page_that_is_in_the_repository_only():
    excluded = SimpleNamespace(inclusion=SimpleNamespace(is_excluded=lambda: True))
    files = SimpleNamespace(get_file_from_path={"decisions/0012-repair.md": excluded}.get)
    page = SimpleNamespace(file=SimpleNamespace(src_uri="howto/recover.md"))
    links = "[the\nreasons](../decisions/0012-repair.md#why) and [edit](edit.md)"
    shown = on_page_markdown(links, page=page, files=files)
    assert shown == "the\nreasons (`docs/decisions/0012-repair.md`) and [edit](edit.md)"

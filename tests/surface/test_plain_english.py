"""Plain English: turns that have to be read twice stand neither in the code nor in the pages."""

import ast
import re
from pathlib import Path

import pytest

import ozx

SOURCE = Path(ozx.__file__).parent
ROOT = Path(__file__).parent.parent.parent

#: Packages and pages that are checked.
PACKAGES: tuple[str, ...] = ("archive", "cli", "desktop", "hierarchy", "integrations", "store")
PAGES: tuple[str, ...] = ()

BANNED = (
    "anew",
    "nobody",
    "somebody",
    "whoever",
    "is none",
    "are none",
    "as it is",
    "as they are",
    "is told",
    "are told",
    "is heard",
    "of one's own",
    "what is left of",
    "makes up for",
    "is gone by",
    "thereof",
    "whereof",
    "no more than that",
    "is to be seen",
)
_BANNED = re.compile(rf"\b({'|'.join(map(re.escape, BANNED))})\b(?<!None)", re.IGNORECASE)
# A first line that is a clause without a head: "What is left of …", "Which keys …". A property may say "Whether …".
_HEADLESS = re.compile(r"(What|Which|Who|Whose|How|Where|When|Why)\b")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def modules():
    return [path for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py"))]


def heads(tree):
    """Yield the first line of each docstring with the number of its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text.split("\n", 1)[0]


def found(text):
    return [f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group()}" for match in _BANNED.finditer(text)]


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_the_words_of_a_module(path):
    assert found(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_docstring_begins_with_an_imperative_or_a_noun(path):
    tree = ast.parse(path.read_text("utf-8"))
    assert [f"line {line}: {head}" for line, head in heads(tree) if _HEADLESS.match(head)] == []


@pytest.mark.parametrize("name", PAGES)
def test_the_words_of_a_page(name):
    assert found(_FENCE.sub("", (ROOT / name).read_text("utf-8"))) == []

"""Plain English: neither the code nor the pages have phrases that must be read twice."""

import ast
import re
from pathlib import Path

import pytest

import ozx

SOURCE = Path(ozx.__file__).parent
ROOT = Path(__file__).parent.parent.parent

#: All pages, and the parts of pages in docs/clauses/. The scripts of docs/ make some pages from texts of the code.
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))

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


def files(pattern):
    return sorted(SOURCE.rglob(pattern))


def heads(tree):
    """Yield the first line of each docstring with the number of its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), text.split("\n", 1)[0]


def found(text):
    return [f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group()}" for match in _BANNED.finditer(text)]


def test_the_words_of_modules():
    texts = {path: path.read_text("utf-8") for path in files("*.py") + files("*.toml")}
    assert {path: words for path, text in texts.items() if (words := found(text))} == {}


def test_a_docstring_begins_with_an_imperative_or_a_noun():
    trees = {path: ast.parse(path.read_text("utf-8")) for path in files("*.py")}
    headless = [
        f"{path}, line {line}: {head}"
        for path, tree in trees.items()
        for line, head in heads(tree)
        if _HEADLESS.match(head)
    ]
    assert headless == []


@pytest.mark.parametrize("name", PAGES)
def test_the_words_of_a_page(name):
    assert found(_FENCE.sub("", (ROOT / name).read_text("utf-8"))) == []

"""Plain English: turns that have to be read twice stand neither in the code nor in the pages."""

import ast
import re
from pathlib import Path

import pytest

import ozx

SOURCE = Path(ozx.__file__).parent
ROOT = Path(__file__).parent.parent.parent

#: Pages that are checked; those that scripts make quote clauses, which keep their words.
PAGES: tuple[str, ...] = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "docs/benchmarks.md",
    "docs/cases.md",
    "docs/decisions/0001-entries-flow.md",
    "docs/decisions/0002-dependencies.md",
    "docs/decisions/0003-deflate64.md",
    "docs/decisions/0004-zip64-form.md",
    "docs/decisions/0005-order-of-entries.md",
    "docs/decisions/0006-unpacking-by-two-processes.md",
    "docs/decisions/0007-two-looks-at-every-file.md",
    "docs/decisions/0008-writing-in-place.md",
    "docs/decisions/0009-remote-by-obstore.md",
    "docs/decisions/0010-moving-encoded-chunks.md",
    "docs/decisions/0011-what-recover-believes.md",
    "docs/decisions/0012-repair.md",
    "docs/decisions/0013-decoding-chunks.md",
    "docs/decisions/0014-regions-in-whole-chunks.md",
    "docs/decisions/0015-a-page-of-our-own.md",
    "docs/decisions/0016-reading-tiff.md",
    "docs/decisions/0017-pyramids-in-one-pass.md",
    "docs/decisions/0018-removing-sources.md",
    "docs/decisions/0019-targets.md",
    "docs/desktop.md",
    "docs/ecosystem.md",
    "docs/explanation/ambiguities.md",
    "docs/explanation/clauses.md",
    "docs/explanation/format.md",
    "docs/explanation/limits-of-readers.md",
    "docs/explanation/security.md",
    "docs/explanation/why.md",
    "docs/export.md",
    "docs/howto/convert-04.md",
    "docs/howto/dask.md",
    "docs/howto/double-click.md",
    "docs/howto/edit.md",
    "docs/howto/fiji-and-qupath.md",
    "docs/howto/from-tiff.md",
    "docs/howto/inodes-on-a-cluster.md",
    "docs/howto/napari.md",
    "docs/howto/pack-for-sharing.md",
    "docs/howto/recover.md",
    "docs/howto/share-by-url.md",
    "docs/howto/tensorstore.md",
    "docs/howto/xarray.md",
    "docs/import.md",
    "docs/index.md",
    "docs/interface.md",
    "docs/interop.md",
    "docs/maintaining.md",
    "docs/napari.md",
    "docs/reference/api/desktop.md",
    "docs/reference/api/errors.md",
    "docs/reference/api/extensions.md",
    "docs/reference/api/files.md",
    "docs/reference/api/images.md",
    "docs/reference/api/index.md",
    "docs/reference/api/integrations.md",
    "docs/reference/api/looking.md",
    "docs/reference/api/store.md",
    "docs/reference/api/validation.md",
    "docs/release.md",
    "docs/reliability.md",
    "docs/repack.md",
    "docs/store.md",
    "docs/tutorial.md",
    "docs/viewer.md",
)

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

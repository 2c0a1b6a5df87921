"""No message about a hostile archive is longer than a screen, whatever is in the archive."""

import pytest
from cases.archive_builder import ArchiveBuilder
from every_verb import VERBS, answer_of
from recipes import RECIPES

from ozx.errors import LONGEST_TEXT

SHOWN = ("info", "ls", "cat", "validate as text", "unpack", "repack", "recover")


def longest(folder, data):
    path = folder / "in.ozx"
    path.write_bytes(data)
    found = 0
    for verb in SHOWN:
        names = [str(path) if word == "IN" else word.replace("OUT", f"{folder}/out-{verb}") for word in VERBS[verb]]
        _, told = answer_of(names)
        found = max(found, *map(len, told.splitlines() or [""]))
    return found


@pytest.mark.ci
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_recipes(tmp_path, recipe):
    assert longest(tmp_path, recipe.archive) <= LONGEST_TEXT + 100


def test_names_of_60_000_characters_and_thousands_of_strangers(tmp_path):
    builder = ArchiveBuilder.valid()
    builder.add("a" * 60_000, b"x").add("0/" + "b" * 60_000, b"y").add("../" + "c" * 60_000, b"z")
    for number in range(2000):
        builder.add(f"PROGRAM FILES/{number:040}.dll", b"x")
    data = builder.build()
    assert longest(tmp_path, data) <= LONGEST_TEXT + 100
    assert longest(tmp_path, data[: len(data) // 2]) <= LONGEST_TEXT + 100

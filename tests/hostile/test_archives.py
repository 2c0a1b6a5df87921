"""Every hostile archive at every door: the right refusal or the right values, and never another exception."""

import os
import tracemalloc

import pytest
from answers import DOORS, answer
from recipes import RECIPES, RESERVED, Recipe

from ozx.errors import FormatError
from ozx.flow.directory_sink import check_keys, folders_of

NAMES = [recipe.name for recipe in RECIPES]


@pytest.fixture
def plant(tmp_path):
    """Write an archive into a folder of its own, so that whatever leaves it is seen."""

    def write(recipe: Recipe):
        path = tmp_path / "in" / "cells.ozx"
        path.parent.mkdir()
        path.write_bytes(recipe.archive)
        return path

    return write


def test_no_two_recipes_have_one_name():
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("recipe", RECIPES, ids=NAMES)
def test_answer(plant, recipe, door):
    assert answer(door, plant(recipe), recipe.values()) == recipe.answers()[door]


@pytest.mark.parametrize(
    "recipe", [recipe for recipe in RECIPES if recipe.read.startswith("zip/")], ids=lambda r: r.name
)
def test_a_refusal_takes_little_memory(plant, recipe):
    path = plant(recipe)
    answer("store", path, {})
    tracemalloc.start()
    answer("store", path, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("name", RESERVED)
def test_names_that_windows_reserves_are_refused_there(tmp_path, name):
    with pytest.raises(FormatError, match="Windows"):
        check_keys([name], folders_of([name]), str(tmp_path), windows=True)


def test_no_file_that_is_unpacked_can_be_run(plant, tmp_path):
    path = plant(next(recipe for recipe in RECIPES if recipe.name == "setuid"))
    answer("unpack", path, {})
    modes = [os.stat(os.path.join(top, name)).st_mode for top, _, names in os.walk(tmp_path) for name in names]
    assert modes
    assert not [oct(mode) for mode in modes if mode & 0o7111]

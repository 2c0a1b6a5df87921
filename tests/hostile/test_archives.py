"""Every hostile archive at every door: the right refusal or the right values, and never another exception."""

import os
from operator import attrgetter
from pathlib import Path

import pytest
from answers import DOORS, answer, by_store
from memory import traced_memory
from recipes import RECIPES

import ozx

NAME = attrgetter("name")


def test_no_two_recipes_have_one_name():
    assert len(set(map(NAME, RECIPES))) == len(RECIPES)


def test_what_is_in_an_archive_is_known_where_some_of_it_is_read():
    for recipe in RECIPES:
        if {"whole", "part"} & set(recipe.answers().values()):
            assert recipe.values(), recipe.name


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("recipe", RECIPES, ids=NAME)
def test_answer(plant, recipe, door):
    assert answer(door, plant(recipe.archive), recipe.expected(door)) == recipe.answers()[door]


@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if recipe.answers()["recover"] == "part"], ids=NAME)
def test_recover_gives_all_but_what_it_names(plant, recipe):
    path = plant(recipe.archive)
    result = ozx.recover(path, path.with_name("recovered.ozx"), sync=False)
    assert {entry.name for entry in result.lost} == set(recipe.lost)
    kept = {key: value for key, value in recipe.values().items() if key not in recipe.lost}
    assert by_store(Path(result.path), kept) == "whole"


@pytest.mark.ci
@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if recipe.read.startswith("zip/")], ids=NAME)
def test_a_refusal_takes_little_memory(plant, recipe):
    path = plant(recipe.archive)
    answer("store", path, {})
    with traced_memory() as memory:
        answer("store", path, {})
    assert memory.peak < 4 << 20


def test_no_file_that_is_unpacked_can_be_run(plant, tmp_path):
    path = plant(next(recipe for recipe in RECIPES if recipe.name == "setuid").archive)
    answer("unpack", path, {})
    modes = [os.stat(os.path.join(top, name)).st_mode for top, _, names in os.walk(tmp_path) for name in names]
    assert modes
    assert not [oct(mode) for mode in modes if mode & 0o7111]

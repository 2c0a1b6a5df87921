"""Each option of a command is the argument of its function, with the same default."""

import dataclasses
import inspect

import click
import pytest

import ozx
from ozx.cli.app import load_command
from ozx.operations import import_image

#: Commands whose function has another name than the command.
FUNCTIONS = {"import": ozx.import_image}
VERBS = ["pack", "unpack", "import", "repack", "extract", "export", "edit", "recover", "thumbnail"]
#: Options about the run, about many files and about what is printed; a command passes them on by other ways.
OF_THE_COMMAND = {"as_json", "quiet", "out_dir", "jobs", "dask", "log", "retry_failed", "yes", "separate"}
#: Options that the command line collects in another form than Python.
COLLECTED = {"regions": "region", "channel_lists": "channels", "no_sync": "sync"}


def options_of(command):
    names = {each.name for each in command.params if isinstance(each, click.Option)} - OF_THE_COMMAND
    # click keeps the names of the first help option that it makes.
    settings = {"resilient_parsing": True, "help_option_names": ["-h", "--help"]}
    values = command.make_context(command.name, [], **settings).params
    return {name: value for name, value in values.items() if name in names}


def keywords_of(function):
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


@pytest.mark.parametrize("verb", VERBS)
def test_options_are_the_arguments_of_the_function(verb):
    command, keywords = load_command(verb), keywords_of(FUNCTIONS.get(verb) or getattr(ozx, verb))
    for name, default in options_of(command).items():
        assert COLLECTED.get(name, name) in keywords
        if name not in COLLECTED:
            assert default == keywords[name]


def test_options_of_an_import_are_its_arguments():
    keywords = keywords_of(ozx.import_image)
    keywords.pop("progress")
    fields = dataclasses.fields(import_image._ImportOptions)
    assert {each.name: each.default for each in fields} == keywords

"""Docstrings of the names in docs/reference/api/ explain parameters and errors, and show an example that runs."""

import ast
import dataclasses
import doctest
import inspect
import re
import textwrap
import types

import pytest
from public_names import DIRECTIVES, find

#: What has no example of its own, and why. Results need none: the functions that return them show them.
NO_EXAMPLE = {
    "ozx.PartialFileWarning": "it takes a writer that did not finish",
    "ozx.RewrittenWarning": "it takes metadata that outgrows its room",
}

TARGETS = {name: found for name in DIRECTIVES if not inspect.ismodule(found := find(name))}
CLASSES = {name: target for name, target in TARGETS.items() if inspect.isclass(target)}
METHODS = {
    f"{name}.{key}": getattr(value, "__func__", value)
    for name, target in CLASSES.items()
    for key, value in vars(target).items()
    if not key.startswith("_") and isinstance(value, classmethod | types.FunctionType)
}
FUNCTIONS = {name: target for name, target in TARGETS.items() if inspect.isroutine(target)} | METHODS


def is_of_others(name):
    """Return whether a class of another library has the method, too, and explains its parameters."""
    owner, _, key = name.rpartition(".")
    bases = CLASSES[owner].__mro__[1:-1] if name in METHODS else ()
    return any(hasattr(base, key) for base in bases if not base.__module__.startswith("ozx."))


def fields_of(target):
    """Return the public fields of a dataclass or a named tuple."""
    names = [field.name for field in dataclasses.fields(target)] if dataclasses.is_dataclass(target) else []
    return [name for name in (*names, *getattr(target, "_fields", ())) if not name.startswith("_")]


def section(target, heading):
    text = inspect.cleandoc(target.__doc__ or "")
    found = re.search(rf"^{heading}\n-{{3,}}\n(.*?)(?=^\w+\n-{{3,}}$|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].splitlines() if found else []


def named_in(target, heading):
    """Return the names that stand at the left margin of a section."""
    return [
        name.strip().lstrip("*") for line in section(target, heading) if line[:1].strip() for name in line.split(",")
    ]


def taken_by(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def raises(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_explained(name):
    named, taken = named_in(FUNCTIONS[name], "Parameters"), taken_by(FUNCTIONS[name])
    if named or not is_of_others(name):
        assert sorted(named) == sorted(taken)


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_and_every_parameter_of_a_class_is_explained(name):
    target = CLASSES[name]
    if fields_of(target):
        assert named_in(target, "Attributes") == fields_of(target)
    elif "__init__" in vars(target) and not getattr(target, "_is_protocol", False):
        assert sorted(named_in(target, "Parameters")) == sorted(taken_by(target.__init__))


def test_functions_that_raise_an_error_name_it():
    raising = [name for name, function in FUNCTIONS.items() if raises(function)]
    assert raising
    assert [name for name in raising if not is_of_others(name) and not named_in(FUNCTIONS[name], "Raises")] == []


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if not fields_of(target)])
def test_an_example_shows_it(name):
    examples = doctest.DocTestParser().get_examples("\n".join(section(TARGETS[name], "Examples")))
    assert bool(examples) != (name in NO_EXAMPLE), NO_EXAMPLE.get(name)

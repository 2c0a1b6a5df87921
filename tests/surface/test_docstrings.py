"""Docstrings in numpydoc's form are complete: parameters, attributes, results, errors, and an example that runs.

What is looked at: everything that docs/reference/api/ names, what else the modules that users import from export, the
classes that results consist of, and the public methods and properties of all these classes. Below that, every function
that has a ``raise`` of its own says of what.
"""

import ast
import builtins
import dataclasses
import doctest
import inspect
import re
import sys
import types
import typing
from itertools import pairwise
from pathlib import Path

import pytest
from public_names import DIRECTIVES, find

import ozx

ROOT = Path(ozx.__file__).parent

#: Users import these by name; of all other modules they meet only what the pages of the reference name.
MODULES = [
    "ozx.integrations.fsspec",
    "ozx.integrations.napari",
    "ozx.integrations.xarray",
    "ozx.extensions",
    "ozx.progress",
    "ozx.store.ozx_store",
]

#: Not for users: by these a `ListedEntry` finds its offset.
INSIDE = {
    "ozx.flow.sources.browsing.ArchiveView",
    "ozx.flow.sources.browsing.DirectoryView",
    "ozx.flow.sources.browsing.Item",
}

#: What has no section Raises, because it raises nothing; besides these, `to_dict` of what reads no file.
RAISES_NOTHING = {
    "ozx.images.streaming.frame_stream.FrameStream.buffer",
    "ozx.images.streaming.frame_stream.FrameStream.buffered",
    "ozx.images.streaming.frame_stream.FrameStream.durable",
    "ozx.images.streaming.frame_stream.FrameStream.frames",
    "ozx.store.live.group.LiveGroup.is_finished",
    "ozx.store.live.group.LiveGroup.state",
    "ozx.progress.begin_phase",
    "ozx.progress.needs_total",
    "ozx.store.pixels.configured.use_pipeline",
    "ozx.integrations.napari.reading.get_reader",
    "ozx.integrations.xarray.OzxBackend.guess_can_open",
    "ozx.errors.OzxError.at",
    "ozx.errors.OzxError.code",
    "ozx.hierarchy.edit.differences.Difference.is_visible",
    "ozx.extensions.iter_registered",
    "ozx.extensions.unregister",
    "ozx.operations.extract.ExtractedImage.of",
    "ozx.progress.Progress.advance",
    "ozx.progress.Progress.start",
    "ozx.progress.Progress.stop",
    "ozx.progress.StoppableProgress.start",
    "ozx.progress.StoppableProgress.stop",
    "ozx.progress.StoppableProgress.stop_all",
    "ozx.store.ozx_store.OzxStore.supports_deletes",
    "ozx.store.ozx_store.OzxStore.supports_listing",
    "ozx.store.ozx_store.OzxStore.supports_partial_writes",
    "ozx.store.ozx_store.OzxStore.supports_writes",
    "ozx.validation.report.Report.count",
    "ozx.validation.report.Report.looked_at",
    "ozx.validation.report.Report.of",
    "ozx.validation.report.Report.valid",
}
READS_TO_TELL = {"ozx.operations.list_entries.EntryListing.to_dict", "ozx.operations.list_entries.ListedEntry.to_dict"}

#: What raises the errors of another method, as the docstring of the class says.
RAISES_AS = {
    "ozx.store.ozx_store.OzxStore": {
        "get": ["exists", "get_partial_values", "get_sync", "list", "list_dir", "list_prefix"],
        "set": [
            "clear",
            "delete",
            "delete_dir",
            "delete_prefix",
            "delete_sync",
            "delete_values",
            "set_if_not_exists",
            "set_sync",
        ],
    },
}

#: What has no example of its own, and why. Results need none: the functions that return them show them.
NO_EXAMPLE = {
    "ozx.errors.PartialFileWarning": "it takes a writer that did not finish",
    "ozx.errors.RewrittenWarning": "it takes metadata that outgrows its room",
}


def is_ours(target):
    is_explained = inspect.isclass(target) or inspect.isroutine(target)
    return is_explained and getattr(target, "__module__", "").startswith("ozx.")


def name_of(target):
    return f"{target.__module__}.{target.__qualname__}"


def classes_in(annotation):
    """Yield the classes of the project in a type."""
    if is_ours(annotation):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from classes_in(argument)


def fields_of(target):
    """Return the public fields of a dataclass or a named tuple."""
    names = [field.name for field in dataclasses.fields(target)] if dataclasses.is_dataclass(target) else []
    return [name for name in (*names, *getattr(target, "_fields", ())) if not name.startswith("_")]


def parts_of(target):
    """Return the classes of the project that the fields of a class consist of."""
    if not inspect.isclass(target) or not fields_of(target):
        return []
    hints = typing.get_type_hints(target)
    return [other for name in fields_of(target) for other in classes_in(hints[name])]


def public_targets():
    """Return the public functions and classes, those that results consist of included, by name."""
    waiting = [*map(find, DIRECTIVES)]
    found = {}
    while waiting:
        target = waiting.pop()
        if not is_ours(target) or name_of(target) in found or name_of(target) in INSIDE:
            continue
        found[name_of(target)] = target
        waiting += parts_of(target)
    return dict(sorted(found.items()))


TARGETS = public_targets()
CLASSES = {name: target for name, target in TARGETS.items() if inspect.isclass(target)}
METHODS = {
    f"{name}.{key}": (target, key)
    for name, target in CLASSES.items()
    for key, value in vars(target).items()
    if not key.startswith("_") and isinstance(value, property | classmethod | types.FunctionType)
}


def function_of(name):
    """Return the function with this name, also a method's or a property's; None for a class."""
    if name not in METHODS:
        return TARGETS[name] if name not in CLASSES else None
    target, key = METHODS[name]
    value = vars(target)[key]
    return value.fget if isinstance(value, property) else getattr(value, "__func__", value)


def is_property(name):
    return name in METHODS and isinstance(vars(METHODS[name][0])[METHODS[name][1]], property)


def is_of_others(name):
    """Return whether a method is one that a class of another library has, too, whose documents say what it takes."""
    if name not in METHODS:
        return False
    target, key = METHODS[name]
    return any(hasattr(base, key) for base in target.__mro__[1:-1] if not base.__module__.startswith("ozx."))


def results():
    """Return the names of what functions return, and of what that consists of."""
    functions = [target for name, target in TARGETS.items() if name not in CLASSES]
    waiting = [vars(sys.modules[target.__module__]).get(target.__annotations__["return"]) for target in functions]
    found = set()
    while waiting:
        target = waiting.pop()
        if inspect.isclass(target) and fields_of(target) and name_of(target) not in found:
            found.add(name_of(target))
            waiting += parts_of(target)
    return found & set(CLASSES)


RESULTS = results()
FUNCTIONS = sorted(name for name in {**TARGETS, **METHODS} if name not in CLASSES)
CALLED = [name for name in FUNCTIONS if not is_property(name)]


def sections_of(target):
    """Return the lines of a docstring below each of its headings; those before the first are the text."""
    lines = inspect.cleandoc(target.__doc__ or "").splitlines()
    found, heading = {"": []}, ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch("-{3,}", below):
            heading = line
            found[heading] = []
        elif not re.fullmatch("-{3,}", line):
            found[heading].append(line)
    return found


def named_in(target, section):
    """Return the names that stand at the left margin of a section."""
    lines = sections_of(target).get(section, [])
    return [name.strip().lstrip("*") for line in lines if line[:1].strip() for name in line.split(",")]


def taken_by(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("name", CALLED)
def test_every_parameter_is_explained(name):
    function = function_of(name)
    named, taken = named_in(function, "Parameters"), taken_by(function)
    if named or not is_of_others(name):
        assert sorted(named) == sorted(taken)


@pytest.mark.parametrize("name", sorted({**TARGETS, **METHODS}))
def test_what_is_named_is_explained(name):
    target = CLASSES.get(name) or function_of(name)
    for section in ("Parameters", "Attributes", "Returns", "Raises"):
        pairs = pairwise([*sections_of(target).get(section, []), ""])
        assert [line for line, below in pairs if line[:1].strip() and not below.startswith("    ")] == []


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_and_every_parameter_of_a_class_is_explained(name):
    target = CLASSES[name]
    if fields_of(target):
        assert named_in(target, "Attributes") == fields_of(target)
    elif "__init__" in vars(target) and not getattr(target, "_is_protocol", False):
        assert sorted(named_in(target, "Parameters")) == sorted(taken_by(target.__init__))


@pytest.mark.parametrize("name", CALLED)
def test_what_comes_back_is_told(name):
    function = function_of(name)
    if inspect.signature(function).return_annotation in ("None", inspect.Signature.empty):
        return
    sections = sections_of(function)
    begins_with_it = re.match(r"(Return|Yield|Tell whether)\b", sections[""][0])
    assert begins_with_it or {"Returns", "Yields"} & set(sections)


RAISE_AS = {f"{name}.{key}" for name, ways in RAISES_AS.items() for keys in ways.values() for key in keys}


def raises_nothing(name):
    return name in RAISES_NOTHING or (name.endswith(".to_dict") and name not in READS_TO_TELL)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - RAISE_AS))
def test_errors_are_told(name):
    named = named_in(function_of(name), "Raises")
    assert bool(named) != raises_nothing(name), named
    for error in named:
        assert issubclass(getattr(ozx, error, None) or getattr(builtins, error), BaseException)


@pytest.mark.parametrize(("name", "method"), [(name, method) for name, ways in RAISES_AS.items() for method in ways])
def test_a_class_says_which_method_tells_the_errors_of_others(name, method):
    assert f" the errors of `{method}`" in TARGETS[name].__doc__
    assert named_in(function_of(f"{name}.{method}"), "Raises")


@pytest.mark.parametrize("name", sorted(set(TARGETS) - RESULTS))
def test_an_example_shows_it(name):
    target = TARGETS[name]
    examples = doctest.DocTestParser().get_examples("\n".join(sections_of(target).get("Examples", [])))
    assert bool(examples) != (name in NO_EXAMPLE), NO_EXAMPLE.get(name)
    assert not any(doctest.SKIP in example.options for example in examples)


def test_sections_are_found():
    def example():
        """Do it.

        Parameters
        ----------
        one, two
            Numbers.
        *others
            More.

        Raises
        ------
        OSError
            Always.
        """
        raise OSError("always")

    assert sections_of(example)[""] == ["Do it.", ""]
    assert named_in(example, "Parameters") == ["one", "two", "others"]
    assert named_in(example, "Raises") == ["OSError"]
    assert named_in(example, "Returns") == []
    function = ast.parse("def outer():\n if 1:\n  raise A\n raise\n def inner():\n  raise B").body[0]
    assert own_raises(function) == 1


def own_raises(function):
    """Return the number of ``raise`` statements with an error in a function, those of functions within it left out."""
    waiting, count = list(function.body), 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        count += isinstance(node, ast.Raise) and node.exc is not None
        waiting += ast.iter_child_nodes(node)
    return count


def public_functions(node, prefix=""):
    for child in node.body:
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        if not (is_function or isinstance(child, ast.ClassDef)) or child.name.startswith("_"):
            continue
        if is_function:
            yield prefix + child.name, child
        else:
            yield from public_functions(child, f"{child.name}.")


#: The modules of what users call. The docstrings of commands are their help texts.
MODULES_WITH_ERRORS = sorted(
    {ROOT / f"{'/'.join(home.split('.')[1:])}.py" for home in ozx._HOMES.values()}
    | {path for room in ("operations", "integrations") for path in (ROOT / room).rglob("*.py")}
)


def test_a_function_that_raises_says_what():
    silent = [
        f"{path}: {name}"
        for path in MODULES_WITH_ERRORS
        for name, function in public_functions(ast.parse(path.read_text(encoding="utf-8")))
        if own_raises(function) and "Raises\n---" not in (ast.get_docstring(function) or "")
    ]
    assert silent == []

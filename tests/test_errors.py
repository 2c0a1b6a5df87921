"""Errors: each is ours and a builtin, names its file once, and is short."""

import errno
import os
import pickle

import pytest

from ozx.errors import (
    LONGEST_TEXT,
    FormatError,
    OzxError,
    ResourceError,
    UnsupportedError,
    UsageError,
    resource_errors,
    shortened,
)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (FormatError, ValueError),
        (UnsupportedError, NotImplementedError),
        (UsageError, ValueError),
        (ResourceError, OSError),
    ],
)
def test_every_error_is_ours_and_a_builtin_and_survives_pickling(kind, builtin):
    error = kind("expected this, found that", path="cells.ozx", rule="zip/overlap", hint="do something")
    assert isinstance(error, OzxError)
    assert isinstance(error, builtin)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == "cells.ozx: expected this, found that"
    assert (again.rule, again.hint, again.path) == ("zip/overlap", "do something", "cells.ozx")
    assert str(kind("broken").at("first.ozx").at("second.ozx")) == "first.ozx: broken"


@pytest.mark.parametrize(
    "builtin",
    [
        *(FileNotFoundError, PermissionError, FileExistsError, IsADirectoryError, NotADirectoryError, TimeoutError),
        OSError,
    ],
)
def test_an_error_of_the_system_is_a_resource_error_of_the_same_kind(builtin):
    with pytest.raises(ResourceError) as caught, resource_errors():
        raise builtin(errno.EIO, "did not work", "cells.ozx")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert isinstance(error, builtin)
        assert isinstance(error, ResourceError)
        assert (type(error) is ResourceError) == (builtin is OSError)
        assert (error.errno, error.strerror, error.filename) == (errno.EIO, "did not work", "cells.ozx")
        assert (str(error), error.message, error.path) == ("cells.ozx: did not work", "did not work", "cells.ozx")


@pytest.mark.parametrize("error", [FormatError("broken"), BrokenPipeError(errno.EPIPE, "pipe"), KeyError("x")])
def test_other_errors_pass_as_they_are(error):
    with pytest.raises(type(error)) as caught, resource_errors():
        raise error
    assert caught.value is error


def test_a_decorated_function_raises_errors_of_ours():
    @resource_errors()
    def read(path):
        with open(path, "rb") as file:
            return file.read()

    with pytest.raises(ResourceError) as caught:
        read(os.fsencode("absent"))
    assert (caught.value.path, caught.value.filename) == ("absent", b"absent")


def test_no_message_is_longer_than_a_screen():
    error = FormatError("x" * 1_000_000, path="p" * 10_000, hint="h" * 1_000_000)
    assert len(str(error)) <= LONGEST_TEXT
    assert len(error.hint) <= LONGEST_TEXT
    assert "characters left out" in error.message


@pytest.mark.parametrize("most", [60, 100, 2000])
def test_what_is_left_out_is_counted(most):
    text = "".join(str(number % 10) for number in range(5000))
    short = shortened(text, most)
    assert len(short) <= most
    start, _, rest = short.partition(" (")
    count, _, end = rest.partition(" characters left out) ")
    assert text.startswith(start)
    assert text.endswith(end)
    assert len(start) + len(end) + int(count.replace(",", "")) == len(text)

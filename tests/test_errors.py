"""Errors: each is ours and a builtin, and names its file once."""

import pickle

import pytest

from ozx.errors import FormatError, OzxError, ResourceError, UnsupportedError, UsageError


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


def test_the_path_is_added_once():
    error = FormatError("broken").at("first.ozx").at("second.ozx")
    assert str(error) == "first.ozx: broken"

"""Calls and results of public functions: system errors, former argument names, flags that are no booleans, JSON."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

from ozx.errors import MissingFileError, OzxWarning, ResourceError, UsageError, resource_errors

P = ParamSpec("P")
R = TypeVar("R")


def public_call(**renamed: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of public functions; `renamed` are former names of arguments, which work with a warning.

    System errors become `ResourceError`, as by `resource_errors`; a missing file is a `FileNotFoundError`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        flags = [name for name, kind in function.__annotations__.items() if kind == "bool"]

        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> R:
            for old in renamed.keys() & given.keys():
                new = renamed[old]
                if new in given:
                    raise UsageError(f"{old} is the former name of {new}; got both", hint=f"Give only {new}.")
                warnings.warn(f"{old} is now called {new}", OzxWarning, stacklevel=2)
                given[new] = given.pop(old)
            for flag in flags:
                # numpy has booleans of its own; an array would be ambiguous, and is usually in the wrong place.
                value = given.get(flag, False)
                if not isinstance(value, int) and getattr(value, "shape", None) != ():
                    raise UsageError(f"expected True or False for {flag}; got {type(value).__name__}")
            try:
                with resource_errors():
                    return function(*args, **given)
            except ResourceError as error:
                # Within zarr, FileNotFoundError means a missing key, so stores raise another error for a missing file.
                if error.errno != errno.ENOENT or isinstance(error, FileNotFoundError):
                    raise
                missing = MissingFileError(error.message, path=error.path, rule=error.rule, hint=error.hint)
                missing.errno = errno.ENOENT
                raise missing from None

        return call

    return decorate


def plain_json(value: Any) -> Any:
    """Return a Python result as JSON values: dataclasses as objects, tuples as arrays."""
    if is_dataclass(value):
        return {field.name: plain_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: plain_json(item) for name, item in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, list | tuple) else value


class JsonResult:
    """Base of the dataclasses that verbs return: their fields are the JSON output of the command."""

    __slots__ = ()
    _SCHEMA: ClassVar[int] = 2  # the number of the schema of this output

    def to_dict(self) -> dict[str, Any]:
        """Return the ``--json`` output of the command as a dictionary."""
        return {"schema": self._SCHEMA, **plain_json(self)}

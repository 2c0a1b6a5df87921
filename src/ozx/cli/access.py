"""Options of commands that open URLs: credentials and endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ozx.archive.remote.access import parse_storage_options, storage_options

__all__ = ["access_options"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def access_options(function: _Function) -> _Function:
    """Add ``--anonymous`` and ``--storage-option`` to a command; they apply while the command runs."""
    anonymous = click.option(
        "--anonymous",
        is_flag=True,
        expose_value=False,
        callback=_set_anonymous,
        help="Open URLs without credentials, as public buckets allow.",
    )
    option = click.option(
        "--storage-option",
        metavar="KEY=VALUE",
        multiple=True,
        expose_value=False,
        callback=_set_options,
        help="An option for opening URLs, such as endpoint=https://s3.example.org; can be repeated.",
    )
    return anonymous(option(function))


def _set_anonymous(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 (as click calls it)
    if value:
        ctx.with_resource(storage_options(anonymous=True))


def _set_options(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    if value:
        ctx.with_resource(storage_options(**parse_storage_options(value)))

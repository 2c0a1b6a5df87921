"""Options of commands that open URLs: credentials and endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ozx.archive.remote.access import parse_storage_options, storage_options

_Function = TypeVar("_Function", bound=Callable[..., Any])


def access_options(function: _Function) -> _Function:
    """Add ``--timeout`` and the options of `store_options`; all of them apply until the command ends."""
    return click.option(
        "--timeout",
        metavar="SECONDS",
        type=float,
        expose_value=False,
        callback=_set_timeout,
        help="End the command if its requests take longer than this.",
    )(store_options(function))


def store_options(function: _Function) -> _Function:
    """Add ``--anonymous``, ``--storage-option`` and ``--no-cache`` to commands that run until they are stopped."""
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
    cache = click.option(
        "--no-cache",
        is_flag=True,
        expose_value=False,
        callback=_set_no_cache,
        help="Do not use cached central directories of remote archives.",
    )
    return anonymous(option(cache(function)))


def _set_anonymous(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 (as click calls it)
    if value:
        ctx.with_resource(storage_options(anonymous=True))


def _set_no_cache(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 (as click calls it)
    if value:
        ctx.with_resource(storage_options(cache=False))


def _set_timeout(ctx: click.Context, _: click.Parameter, value: float | None) -> None:
    if value is not None:
        ctx.with_resource(storage_options(timeout=value))


def _set_options(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    if value:
        ctx.with_resource(storage_options(**parse_storage_options(value)))

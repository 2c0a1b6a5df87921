"""Options that several commands share: access to URLs, metadata of images, a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar

import click

import ozx
from ozx.archive.remote.access import parse_storage_options, storage_options
from ozx.errors import ResourceError, UsageError
from ozx.extras import install_hint

# Options of commands that open URLs: credentials and endpoints.

_Command = TypeVar("_Command", bound=Callable[..., Any])


def access_options(command: _Command) -> _Command:
    """Add ``--timeout`` and the options of `store_options`; all of them apply until the command ends."""
    return click.option(
        "--timeout",
        metavar="SECONDS",
        type=float,
        expose_value=False,
        callback=_set_timeout,
        help="End the command if its requests take longer than this.",
    )(store_options(command))


def store_options(command: _Command) -> _Command:
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
    return anonymous(option(cache(command)))


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


# Options of ``edit`` and ``import`` that replace the metadata of an image.


def parse_metadata(options: dict[str, Any]) -> dict[str, Any]:
    """Return a command's options with the lists of channel names and colours split."""
    from ozx.hierarchy.subset.region import split_names  # noqa: PLC0415 (for two commands; the others load it in vain)

    lists = [name for name in ("channel_names", "colors") if options[name] is not None]
    return options | {name: split_names(options[name]) for name in lists}


# The option ``--dask``: run tasks on the workers of a Dask cluster.

_SECONDS = 10


def dask_option(command: _Command) -> _Command:
    """Add the option ``--dask`` to a command."""
    return click.option(
        "--dask", metavar="ADDRESS", help="Process the files on the Dask cluster with this address: tcp://host:8786."
    )(command)


@contextmanager
def connected(address: str | None) -> Iterator[Executor | None]:
    """Yield an executor on the cluster whose scheduler is at `address`; None without an address.

    If the worker of a task is lost, another worker runs the task again.
    """
    if address is None:
        yield None
        return
    try:
        from distributed import Client  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise ResourceError("--dask needs the package distributed", hint=install_hint("dask")) from error
    try:
        client = Client(address, timeout=_SECONDS)
    except (OSError, ValueError) as error:
        raise ResourceError(f"--dask: no scheduler answers at {address}: {error}") from error
    with client:
        for worker, version in client.run(_version).items():
            if version != ozx.__version__:
                raise UsageError(
                    f"--dask: expected ozx {ozx.__version__} on every worker; found {version} on {worker}",
                    hint="Install the same version on all workers.",
                )
        yield client.get_executor(pure=False)


def _version() -> str:
    return ozx.__version__

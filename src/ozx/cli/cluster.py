"""The option ``--dask``: run tasks on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar

import click

import ozx
from ozx.errors import ResourceError, UsageError
from ozx.extras import install_hint

_Command = TypeVar("_Command", bound=Callable[..., Any])

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

"""Options that several commands share, each declared once: access to URLs, layout, metadata, a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Self

import click

import ozx
from ozx.errors import ResourceError, UsageError
from ozx.extras import install_hint
from ozx.ome.conversion_05_06 import VERSIONS
from ozx.places.remote.access import parse_storage_options, storage_options

# A function that becomes a command, and a decorator of it.
_Command = Callable[..., Any]
_Options = Callable[[_Command], _Command]


def together(*options: _Options) -> _Options:
    """Return a decorator that adds several options to a command, in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options about the files of one run, and about what it prints; a command has most of them."""

    out_dir: str | None = None
    jobs: int | None = 1
    dask: str | None = None
    log: str | None = None
    retry_failed: str | None = None
    as_json: bool = False
    quiet: bool = False

    @classmethod
    def take_from(cls, options: dict[str, Any]) -> Self:
        """Take these options out of all options of a command."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls) if field.name in options})


class SharedOption(click.Option):
    """An option of many commands: the help of a command names its group, and ``ozx help GROUP`` explains it."""

    def __init__(self, *names: Any, group: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.group = group

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return a line about the whole group for the first of its options; None for the others."""
        options = options_of_group(ctx.command, self.group)
        names = ", ".join(option.opts[-1] for option in options)
        return (names, f"{GROUPS[self.group]}: see ozx help {self.group}.") if self is options[0] else None

    def explain(self, ctx: click.Context) -> tuple[str, str]:
        """Return the names of the option, and its help."""
        return super().get_help_record(ctx) or ("", "")


#: The groups of shared options, in the order of their help.
GROUPS = {"batch": "Logs and clusters", "network": "How URLs are opened"}


def options_of_group(command: click.Command, group: str) -> list[SharedOption]:
    """Return the options of a command that belong to a group."""
    return [each for each in command.params if isinstance(each, SharedOption) and each.group == group]


# Options for opening URLs: credentials and endpoints.


def _apply(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    """Apply an option for opening URLs, if it is given, until the command ends."""
    if value is None or value is False or value == ():
        return
    known = {"anonymous": {"anonymous": True}, "no_cache": {"cache": False}, "timeout": {"timeout": value}}
    ctx.with_resource(storage_options(**(known.get(option.name or "") or parse_storage_options(value))))


#: Options for opening URLs, of commands that run until they are stopped.
store_options = together(
    click.option(
        "--anonymous",
        cls=SharedOption,
        group="network",
        is_flag=True,
        expose_value=False,
        callback=_apply,
        help="Open URLs without credentials, as public buckets allow.",
    ),
    click.option(
        "--storage-option",
        cls=SharedOption,
        group="network",
        metavar="KEY=VALUE",
        multiple=True,
        expose_value=False,
        callback=_apply,
        help="An option for opening URLs, such as endpoint=https://s3.example.org; can be repeated.",
    ),
    click.option(
        "--no-cache",
        cls=SharedOption,
        group="network",
        is_flag=True,
        expose_value=False,
        callback=_apply,
        help="Do not use cached central directories of remote archives.",
    ),
)
#: The same, with a limit of time; all of them apply until the command ends.
access_options = together(
    click.option(
        "--timeout",
        cls=SharedOption,
        group="network",
        metavar="SECONDS",
        type=float,
        expose_value=False,
        callback=_apply,
        help="End the command if its requests take longer than this.",
    ),
    store_options,
)

# Options that several commands have, in the order of their help.

result_options = together(
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
    access_options,
)
jobs_option = click.option(
    "--jobs", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Number of sources at a time."
)
encoding_options = together(
    click.option(
        "--chunks", metavar="A=N,...", help="New chunk shape, in pixels by axis; all chunks are encoded again."
    ),
    click.option(
        "--codec", metavar="NAME[:LEVEL]", help="New compressor (zstd:3, none); all chunks are encoded again."
    ),
    click.option(
        "--chunk-checksums",
        type=click.Choice(["add", "keep", "drop"]),
        help="Add a CRC-32C to each encoded chunk; by default only to chunks that are put into shards.",
    ),
)
node_option = click.option(
    "--path", "node", metavar="NODE", default="", help="A node in FILE: A/1/0, labels/nuclei, …, as in FILE/A/1/0."
)
part_options = together(
    click.option(
        "--region",
        "regions",
        metavar="A=N:N,...",
        multiple=True,
        help="Full-resolution pixels by axis, as in y=0:2048,x=0:2048,t=3, or in a unit, as in x=10:20um; may be "
        "repeated.",
    ),
    click.option(
        "--channels",
        "channel_lists",
        metavar="A,B,...",
        multiple=True,
        help="Channels by name or number, as in DAPI,GFP or 0,1; the order of the file stays; may be repeated.",
    ),
)
_drop_option = click.option(
    "--drop-transformations", is_flag=True, help="Leave out transformations that OME-Zarr 0.5 cannot express."
)
version_options = together(
    click.option("--ome-version", type=click.Choice(VERSIONS), help="Write metadata of this OME-Zarr version."),
    _drop_option,
)
#: The same for ``repack``, which writes OME-Zarr 0.4, too.
any_version_options = together(
    click.option(
        "--ome-version",
        type=click.Choice(["0.4", *VERSIONS]),
        help="Write this OME-Zarr version; 0.4 is a directory of Zarr v2.",
    ),
    _drop_option,
)
new_layout_options = together(
    click.option("--downsample", metavar="auto|none|A,...", help="Axes to halve, as in z,y,x."),
    click.option("--chunks", metavar="A=N,...", help="Chunk shape, in pixels by axis."),
    click.option(
        "--shards",
        metavar="auto|none|A=N,...",
        default="auto",
        show_default=True,
        help="Shard shape, in pixels by axis.",
    ),
    click.option("--codec", metavar="NAME[:LEVEL]", help="The compressor: blosc-zstd:1 by default, zstd:3, none, ..."),
)


def join_parts(options: dict[str, Any]) -> dict[str, Any]:
    """Return a command's options with the texts of repeated `part_options` joined."""
    # An empty text is a mistake, not a missing option.
    return options | {
        name: ",".join(texts) if (texts := options.pop(collected)) else None
        for name, collected in (("region", "regions"), ("channels", "channel_lists"))
    }


# Options of ``edit`` and ``import`` that replace the metadata of an image.

metadata_options = together(
    click.option("--unit", metavar="U|A=U,...", help="Unit of the axes, as in um, micrometer or x=um,t=s."),
    click.option("--channel-names", metavar="A,B,...", help="Names of all channels; an empty name keeps the old name."),
    click.option(
        "--colors", metavar="RRGGBB,...", help="Colours of all channels; an empty colour keeps the old colour."
    ),
)


def parse_metadata(options: dict[str, Any]) -> dict[str, Any]:
    """Return a command's options with the lists of channel names and colours split."""
    from ozx.ome.subset.region import split_names  # noqa: PLC0415 (for two commands; the others load it in vain)

    lists = [name for name in ("channel_names", "colors") if options[name] is not None]
    return options | {name: split_names(options[name]) for name in lists}


# The option ``--dask``: run tasks on the workers of a Dask cluster.

_SECONDS = 10

dask_option = click.option(
    "--dask",
    cls=SharedOption,
    group="batch",
    metavar="ADDRESS",
    help="Process the files on the Dask cluster with this address: tcp://host:8786.",
)


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

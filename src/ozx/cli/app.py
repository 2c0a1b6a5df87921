"""The `ozx` command: find the sub-command, and convert every error to a message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import click

from ozx.cli.commands import COMMANDS, load_command
from ozx.cli.exit_codes import DONE, INTERRUPTED, WRONG_USAGE, exit_code
from ozx.cli.output import drop_stdout, report_error, say, say_error
from ozx.cli.usage import check_values, report_usage, suggest_command
from ozx.errors import OzxWarning, ResourceError, UsageError, resource_error
from ozx.faults import as_error


@contextlib.contextmanager
def _stdout_errors() -> Iterator[None]:
    """End the command cleanly if the program at the other end of the pipe exits early (``ozx ls big.ozx | head``).

    click would exit with 1, and Python would complain again at its exit. Other errors of standard output get a message
    that names standard output.

    `ResourceError`: Standard output cannot be written, for example because its disk is full.
    """
    try:
        yield
    except OSError as error:
        if _is_closed_pipe(error):
            drop_stdout()
            raise click.exceptions.Exit(DONE) from None
        if isinstance(error, ResourceError) or not _is_of_click(error):
            raise
        drop_stdout()
        message = f"standard output cannot be written: {error.strerror or error}"
        hint = "Redirect the output elsewhere. Output files with their final names are complete."
        raise resource_error(error, message=message, hint=hint) from None


def _is_closed_pipe(error: OSError) -> bool:
    """Return whether the reader of standard output has ended; Windows says EINVAL, as of a file on a lost share."""
    if error.errno != errno.EINVAL or not _is_of_click(error):
        return isinstance(error, BrokenPipeError)
    return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)


def _is_of_click(error: BaseException) -> bool:
    """Return whether click raised the error; click raises system errors only while it writes to stdout."""
    traceback, name = error.__traceback__, ""
    while traceback is not None:
        name, traceback = traceback.tb_frame.f_globals.get("__name__", ""), traceback.tb_next
    return name.partition(".")[0] == "click"


class _Commands(click.Group):
    """A click group that imports each command on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return load_command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing:  # as shell completion parses
            raise click.UsageError(f"There is no command {name!r}.{suggest_command(name)}", ctx)
        if not ctx.resilient_parsing:
            check_values(load_command(name), args[1:])
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        command = next((argument for argument in args if argument in COMMANDS), None)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if command is None:
                raise
            option = error.option_name
            raise UsageError(
                f"expected the command first; got the option {option} before it",
                hint=f"Write it after the command: ozx {command} {option} …",
            ) from None

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _stdout_errors():  # help is printed here
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _stdout_errors():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Help on a command: ozx COMMAND --help",
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("-v", "--verbose", is_flag=True, help="With --version: also show the libraries in use.")
@click.pass_context
def _ozx(ctx: click.Context, *, version: bool, verbose: bool) -> None:
    """OME-Zarr images as single .ozx files: pack, import, unpack, inspect, validate."""
    if version:
        from ozx.cli.version import version_text  # noqa: PLC0415 (asks installed packages, which takes time)

        click.echo(version_text(verbose=verbose))
        ctx.exit(DONE)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(WRONG_USAGE)


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code; raise only `SystemExit`, for example after SIGTERM."""
    if any("\0" in word for word in arguments or ()):  # only a calling program can pass such an argument
        say_error("expected arguments without NUL characters")
        return WRONG_USAGE
    try:
        with _shown_warnings():
            # On Windows, click would expand patterns and variables in outputs and options, too; see `expand_patterns`.
            return int(_ozx.main(arguments, prog_name="ozx", standalone_mode=False, windows_expand_args=False) or DONE)
    except click.ClickException as error:
        report_usage(error, sys.argv[1:] if arguments is None else arguments)
        return WRONG_USAGE
    except (KeyboardInterrupt, click.Abort):
        say("interrupted; no incomplete file was left")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 (anything else is a fault of ozx, and reported as one)
        failure = as_error(error)
        report_error(failure)
        return exit_code(failure)


@contextlib.contextmanager
def _shown_warnings() -> Iterator[None]:
    """Print warnings of ozx as messages, without the line of code that Python adds."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", OzxWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
            if issubclass(category, OzxWarning):
                say(f"warning: {message}")
            else:
                others(message, category, *place, **rest)

        warnings.showwarning = show
        yield


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        _set_encoding(stream)
    # zarr-python's advice to those who choose codecs; the output of a command shows the layout.
    warnings.filterwarnings("ignore", message="Combining a `sharding_indexed` codec")
    if "_OZX_COMPLETE" in os.environ:
        import ozx.cli.powershell  # noqa: F401, PLC0415 (click finds its class; only completion needs it)
    # Batch systems end jobs by SIGTERM: end like an interrupt, which removes temporary files.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        code = run()
    finally:
        _end_quietly()
    sys.exit(code)


def _open_standard_streams() -> None:
    """Connect closed standard streams (``>&-``) to the null device, so that no opened file gets their descriptors."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (until the process ends)


def _end_quietly() -> None:
    """Suppress messages about unfinished tasks at exit.

    zarr starts many chunks at once, raises the error of the first damaged one, and stops its event loop: each remaining
    task would add a traceback to the command's message.
    """
    sys.unraisablehook = lambda _: None
    warnings.simplefilter("ignore")
    if "logging" in sys.modules:
        sys.modules["logging"].disable()


def _set_encoding(stream: Any) -> None:
    """Write UTF-8 into files and pipes, whatever the code page; on a terminal, replace characters that it lacks."""
    with contextlib.suppress(AttributeError, ValueError):
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # names may be no valid Unicode

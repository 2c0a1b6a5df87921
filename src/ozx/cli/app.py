"""The `ozx` command: its sub-commands, hints at the right one, and a message and exit code for every error."""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import itertools
import os
import re
import signal
import stat
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import click

import ozx
from ozx.cli.exit_codes import DONE, INTERRUPTED, WRONG_USAGE, exit_code
from ozx.cli.output import drop_stdout, say, say_error
from ozx.errors import OzxWarning, ResourceError, UsageError, resource_error
from ozx.faults import as_error
from ozx.quoting import quote

# The names of all commands, and the modules that define them.

#: Every command and the first line of its help: `ozx --help` shows these without loading a command.
COMMANDS = {
    "pack": "Turn OME-Zarr directories into .ozx files.",
    "unpack": "Turn .ozx files back into directories.",
    "import": "Turn TIFF, CZI, ND2, LIF and IMS files into .ozx files, with all levels.",
    "stream": "Write the frames of a camera, from a pipe, to an .ozx file.",
    "repack": "Rewrite a hierarchy: repair it, upgrade it to OME-Zarr 0.5, change its shards.",
    "extract": "Crop a region, or take out a node, channels, or levels.",
    "export": "Write images as a pyramidal OME-TIFF file.",
    "info": "Describe .ozx files or OME-Zarr directories.",
    "ls": "List the entries of an .ozx file, or the files of an OME-Zarr directory.",
    "cat": "Write one value to standard output, byte for byte.",
    "validate": "Check .ozx files and OME-Zarr directories against RFC-9, Zarr and OME-Zarr.",
    "verify": "Compare .ozx files, or all of a folder or log, with what was recorded when they were packed.",
    "edit": "Correct pixel sizes, positions, units, channels and names in an .ozx file.",
    "labels": "Add labels (a segmentation, a mask) to an image, list or remove them.",
    "recover": "Recover the intact values of a damaged or unfinished .ozx file.",
    "thumbnail": "Make a small picture of an .ozx file or an OME-Zarr directory.",
    "associate": "Open .ozx files by double-click.",
    "view": "Show an .ozx file or an OME-Zarr directory in a window.",
    "serve": "Serve .ozx files to programs on this computer that read URLs.",
    "rules": "Explain what a finding means and how to repair it.",
    "help": "Explain a command, or a group of options that many commands share.",
}

# Python keywords, which cannot name a module.
_MODULES = {"import": "import_image"}


def load_command(name: str) -> click.Command:
    """Import and return one of `COMMANDS`."""
    command: click.Command = importlib.import_module(f"ozx.cli.{_MODULES.get(name, name)}").command
    return command


# Checks of command lines, and hints at the right command, option or value.

# The least similarity, from 0 to 1, of an option that is suggested.
_ALIKE = 0.75
_NUMBER = re.compile(r"[0-9.]+")
# Options whose values users write with blanks.
_WITHOUT_BLANKS = {"--region", "--channels", "--max-size"}
# Words that other programs use for these commands.
_OTHER_WORDS = {
    "convert": ("import", "export"),
    "zip": ("pack",),
    "compress": ("pack",),
    "unzip": ("unpack",),
    "open": ("view",),
    "show": ("view",),
    "crop": ("extract",),
    "cut": ("extract",),
    "subset": ("extract",),
    "check": ("validate",),
    "fix": ("repack", "recover"),
    "repair": ("repack", "recover"),
    "upgrade": ("repack",),
    "describe": ("info",),
    "inspect": ("info",),
    "list": ("ls",),
    "set": ("edit",),
    "rename": ("edit",),
    "picture": ("thumbnail",),
    "label": ("labels",),
    "mask": ("labels",),
    "segmentation": ("labels",),
}
# What ozx no longer has, and what to do instead.
GONE = {
    "clean": "find DIR -name '.*.ozx-tmp' -mtime +7 lists what killed runs left; then remove it.",
    "log": "each line of a log is JSON, so jq or a similar program counts the results.",
    "uploads": "an upload ends or is aborted; a lifecycle rule of the bucket removes what a kill leaves.",
    "pack --manifest-inside": "--manifest writes OUT.manifest.json beside the file.",
    "rules --cases": "in the repository, python -m tests.cases.export DIR writes the cases.",
    "validate --format": "--json prints the findings, --report HTML writes a page.",
    "view --with neuroglancer": "ozx serve prints the address that neuroglancer takes.",
}


def report_usage(error: click.ClickException, arguments: Sequence[str]) -> None:
    """Report an invalid command line in the same form as other errors."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    message, hint = error.format_message(), None
    if context is not None:
        usage = context.command.collect_usage_pieces(context)
        hint = f"{' '.join([context.command_path, *usage])}; see {context.command_path} --help."
        if "unexpected extra argument" in error.message and _WITHOUT_BLANKS.intersection(arguments):
            hint += " Write lists and sizes without blanks, as in y=0:512,x=0:512 or 20MB."
        if isinstance(error, click.NoSuchOption):
            # The message is the same with every release of click.
            near = difflib.get_close_matches(error.option_name, _options(context.command) - {"--help"}, cutoff=_ALIKE)
            message = f"There is no option {error.option_name!r}.{_did_you_mean(near)}"
            hint += _hint_at_commands(error.option_name)
    elif isinstance(error, click.BadOptionUsage):  # an option without its value
        hint = _hint_at_value(error.option_name, arguments)
    if gone := _find_gone(arguments):
        message, hint = gone, None
    say_error(message, hint=hint)


def _find_gone(arguments: Sequence[str]) -> str | None:
    """Return the sentence about a word of the command line that is gone; None if there is none."""
    words = [part for word in arguments for part in word.split("=", 1)]
    for gone, instead in GONE.items():
        command, *options = gone.split()
        if words[:1] == [command] and set(options) <= set(words):
            return f"ozx {gone} is gone: {instead}"
    return None


def _options(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}


def _hint_at_value(option: str, arguments: Sequence[str]) -> str | None:
    """Return the help of an option of the command in `arguments`; None if there is no such option."""
    name = next((word for word in arguments if word in COMMANDS), None)
    for found in [] if name is None else load_command(name).params:
        if isinstance(found, click.Option) and option in found.opts:
            return _usage(found, option)
    return None


def _usage(option: click.Option, name: str) -> str:
    value = "" if option.is_flag else f" {option.metavar or 'VALUE'}"
    return f"{name}{value}: {option.help}"


def _hint_at_commands(option: str) -> str:
    """Return the sentence that names the commands with this option; empty if many commands or none have it."""
    having = [f"ozx {name}" for name in COMMANDS if option in _options(load_command(name))]
    # An option of many commands does not show what the user wants.
    return f" {option} is an option of {', '.join(having)}." if 1 <= len(having) <= 3 else ""


def check_values(command: click.Command, words: Sequence[str]) -> None:
    """Raise an error if an option's value is forgotten, or is a size and a unit with a blank between them."""
    known = {name: option for option in command.params if isinstance(option, click.Option) for name in option.opts}
    _check_repeated(known, words)
    for number, word in enumerate(words[:-1]):
        option, value, after = known.get(word), words[number + 1], words[number + 2 : number + 3]
        if word == "--":
            return
        if option is None or option.is_flag:
            continue
        if value in known:
            raise UsageError(
                f"Option {word!r} requires an argument; found the option {value!r}.",
                hint=f"{_usage(option, word)} If {value} is the value, write {word}={value}.",
            )
        if word == "--pixel-size" and after and _NUMBER.fullmatch(value) and _is_unit(after[0]):
            raise UsageError(
                f"expected a pixel size without a blank; got {value} {after[0]}",
                hint=f"Write --pixel-size {value}{after[0]}.",
            )


def _check_repeated(known: Mapping[str, click.Option], words: Sequence[str]) -> None:
    """Raise an error if an option of a comma-separated list is given twice: click would ignore the first list."""
    seen: set[str] = set()
    for word in itertools.takewhile(lambda word: word != "--", words):
        name = word.partition("=")[0]
        option = known.get(name)
        if option is None or option.multiple or "," not in (option.metavar or ""):
            continue
        if name in seen:
            raise UsageError(
                f"option {name} is given twice",
                hint=f"Give it once, and join the values with commas. {_usage(option, name)}",
            )
        seen.add(name)


def _is_unit(word: str) -> bool:
    """Return whether a word is a unit, and not the name of a file."""
    from ozx.ome.units import check_unit  # noqa: PLC0415 (seldom needed)

    try:
        return bool(check_unit(word)) and not os.path.lexists(word)
    except UsageError:
        return False


def suggest_command(name: str) -> str:
    """Return the sentence that follows the message about an unknown command; empty if nothing is similar."""
    if os.path.lexists(name):
        return f" {name} is a file or folder: name a command before it, such as ozx info {quote(name)}."
    return _did_you_mean(_OTHER_WORDS.get(name.lower()) or difflib.get_close_matches(name, COMMANDS))


def _did_you_mean(near: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(near)}?" if near else ""


@contextlib.contextmanager
def _stdout_errors() -> Iterator[None]:
    """End the command cleanly if the program at the other end of the pipe exits early (``ozx ls big.ozx | head``).

    click would exit with 1, and Python would complain again at its exit. Other errors of standard output get a message
    that names standard output.
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
    epilog="Help on a command: ozx COMMAND --help, or ozx help COMMAND",
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("-v", "--verbose", is_flag=True, help="With --version: also show the libraries in use.")
@click.pass_context
def _ozx(ctx: click.Context, *, version: bool, verbose: bool) -> None:
    """OME-Zarr images as single .ozx files: pack, import, unpack, inspect, validate."""
    if version:
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
        say_error(str(failure), failure.rule, failure.hint)
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


# Format the text of ``ozx --version``.


def version_text(*, verbose: bool) -> str:
    """Return the version of ozx; if `verbose`, add Python, libraries, and the modules used for CRC-32 and Deflate64."""
    lines = [f"ozx {ozx.__version__}"]
    if verbose:
        import platform  # noqa: PLC0415 (late, for a quick --help)

        from ozx import crc32  # noqa: PLC0415
        from ozx.archive.inflate import deflate64_decoder  # noqa: PLC0415

        lines.append(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
        lines.append(f"crc-32 by {crc32.crc32.__module__}")
        lines.append(f"deflate64 by {deflate64_decoder()}")
        lines += [_version_of(name) for name in ("numpy", "zarr", "ome-zarr-models", "click")]
    return "\n".join(lines)


def _version_of(package: str) -> str:
    import importlib.metadata  # noqa: PLC0415

    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} is not installed"

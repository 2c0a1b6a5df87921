"""Programs of other projects that read a ZIP archive and report its contents.

`JUDGES` read archives: each returns the SHA-256 of every file that it finds. `ARRAY_JUDGES` read one Zarr array inside
an archive. The fields of a judge state which faults it does not notice. ``test_judges.py`` tests that each judge
notices the other faults, because a judge that cannot fail is useless.
"""

# ruff: noqa: PLC0415 (the packages may be absent)
from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import warnings
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

HERE = Path(__file__).parent
NODE = HERE / "node"
#: If this variable is 1, a missing judge lets a test fail instead of skipping it.
REQUIRE_VARIABLE = "OZX_REQUIRE_JUDGES"
TIMEOUT_SECONDS = 600

#: Environment variables in which users keep default options for these programs.
_OPTION_VARIABLES = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "NODE_OPTIONS", "TAR_READER_OPTIONS", "_JAVA_OPTIONS"}
_OPTION_VARIABLES |= {"UNZIP", "UNZIPOPT", "ZIPINFO"}

Digests = dict[str, str]


class RefusalError(Exception):
    """A judge did not accept an archive; the message contains the judge's words."""


class TwiceError(RefusalError):
    """A judge accepted an archive, and delivers two entries with the same name."""


@dataclass(frozen=True)
class Judge:
    """A reader of zip archives."""

    name: str  # unique; also the test id
    missing: Callable[[], str | None]  # returns why the judge cannot run here, or None if it can
    # Returns the SHA-256 (hexadecimal) of every file in the archive by key, without entries for folders. Raises
    # `RefusalError` if the reader fails, warns, or names more files than it delivers.
    read: Callable[[Path], Digests]
    checks_crc: bool = True  # else, it delivers damaged bytes without a message: only the digests reveal the damage
    # Whether the archive comes through a pipe, so that the reader uses the local headers, and no central directory.
    streams: bool = False
    sees_duplicates: bool = True  # else, it delivers one of two entries with the same key, without a message
    # Pattern of the message with which a reader refuses a ZIP64 end record beside a classic end record with true
    # values, as in every small ``.ozx`` file. All readers except one accept such files.
    small_zip64_refusal: str | None = None


@dataclass(frozen=True)
class ArrayJudge:
    """A reader of Zarr v3 arrays in zip archives; its fields are those of `Judge`."""

    name: str
    missing: Callable[[], str | None]
    read: Callable[[Path, str], npt.ArrayLike]
    checks_crc: bool = True

    def read_array(self, archive: Path, node: str) -> npt.NDArray[Any]:
        """Return the whole array at a path in an archive (``"0"``, or ``""`` for the root); or raise `RefusalError`."""
        try:
            with warnings.catch_warnings(action="ignore"):  # the readers and their imports give deprecation warnings
                return np.asarray(self.read(archive, node))
        except RefusalError:
            raise
        except Exception as error:  # every exception of another program is a refusal
            raise RefusalError(f"{self.name}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Package:
    """A Python package of another project, and the least version that does what a test needs."""

    name: str
    least: str = ""

    def missing(self) -> str | None:
        """Return why the package is not there, or None."""
        if importlib.util.find_spec(self.name) is None:
            return f"Python package {self.name} is not installed: pip install ozx-toolkit[ecosystem]"
        if not self.least:
            return None
        found = importlib.metadata.version(self.name.replace("_", "-"))
        is_old = [int(part) for part in found.split(".")[:2]] < [int(part) for part in self.least.split(".")]
        return f"{self.name} {found} writes no Zarr v3: {self.least} does" if is_old else None


def require(judge: Judge | ArrayJudge | Package) -> None:
    """Skip the running test if the judge is missing; fail it if ``OZX_REQUIRE_JUDGES`` is 1."""
    skip_for(judge.missing())


def skip_for(reason: str | None) -> None:
    if reason is None:
        return
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(f"{reason} ({REQUIRE_VARIABLE} is 1)", pytrace=False)
    pytest.skip(reason)


def digests(contents: Mapping[str, bytes]) -> Digests:
    """Return the digests that a judge should return for these files."""
    return {key: hashlib.sha256(value).hexdigest() for key, value in contents.items()}


# --- asking a program -----------------------------------------------------------------------------


def _run(command: Sequence[str | Path], folder: Path | None = None, stdin: IO[bytes] | None = None) -> str:
    """Return standard output, then standard error, of a program; `RefusalError` with both if the exit code is not 0."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        capture_output=True,
        check=False,
        env={k: v for k, v in os.environ.items() if k not in _OPTION_VARIABLES} | {"LC_ALL": "C.UTF-8"},
        timeout=TIMEOUT_SECONDS,
    )
    told = (done.stdout + done.stderr).decode("utf-8", errors="replace")
    if done.returncode != 0:
        raise RefusalError(f"{command[0]} ended with {done.returncode}:\n{told}")
    return told


def _unique(pairs: Iterable[tuple[str, str]]) -> Digests:
    """Return the pairs as a dictionary; `TwiceError` if a key occurs twice."""
    found: Digests = {}
    for key, digest in pairs:
        if key in found:
            raise TwiceError(f"two entries are named {key!r}")
        found[key] = digest
    return found


def absent_programs(*programs: str) -> str | None:
    absent = [program for program in programs if shutil.which(program) is None]
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed" if absent else None


def absent_packages(*packages: str) -> str | None:
    absent = [package for package in packages if importlib.util.find_spec(package) is None]
    return f"Python package {', '.join(absent)} is not installed" if absent else None


# --- programs that extract into a folder ----------------------------------------------------------


@dataclass(frozen=True)
class _Extractor:
    """A program that extracts archives, and patterns for its output.

    ``command`` runs in an empty folder, with the path in place of ``{archive}``. ``file_line`` matches one line of the
    output for every extracted file, so that `read` notices an entry that overwrites another. ``complaint`` matches a
    warning that leaves the exit code 0.
    """

    command: tuple[str, ...]
    file_line: str
    complaint: str | None = None
    through_pipe: bool = False

    def read(self, archive: Path) -> Digests:
        with tempfile.TemporaryDirectory(prefix="ozx-judge-") as name:
            folder = Path(name)
            told = self._extract(archive.resolve(), folder)
            if self.complaint is not None and re.search(self.complaint, told, re.MULTILINE):
                raise RefusalError(f"{self.command[0]} complained:\n{told}")
            found = _digest_folder(folder)
        extracted = len(re.findall(self.file_line, told, re.MULTILINE))
        if extracted != len(found):
            raise TwiceError(f"{self.command[0]} extracted {extracted} files, of which {len(found)} are there:\n{told}")
        return found

    def _extract(self, archive: Path, folder: Path) -> str:
        command = [str(archive) if word == "{archive}" else word for word in self.command]
        if not self.through_pipe:
            return _run(command, folder)
        # A real pipe: given the file as standard input, bsdtar would seek to the central directory.
        with subprocess.Popen(["cat", archive], stdout=subprocess.PIPE) as cat:
            return _run(command, folder, cat.stdout)


def _digest_folder(folder: Path) -> Digests:
    found: Digests = {}
    for path in folder.rglob("*"):
        key = path.relative_to(folder).as_posix()
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            raise RefusalError(f"{key} came out as something other than a file (mode {mode:o})")
        # root, the usual user in containers, could read the file nevertheless.
        if not mode & stat.S_IRUSR:
            raise RefusalError(f"{key} came out unreadable for its owner (mode {mode:o}): wrong external attributes")
        with path.open("rb") as file:
            found[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


# Without optimisations that are useful only for long runs.
_QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# English in every locale, because file_line matches English words.
_JAR_OPTIONS = ("-J-Duser.language=en", *(f"-J{option}" for option in _QUICK_JAVA))
_UNZIP = _Extractor(("unzip", "-o", "{archive}"), r"^ *(?:extracting|inflating): ")
_SEVEN_ZIP = _Extractor(
    ("7z", "x", "-y", "-bd", "-bb1", "{archive}"), r"^- .*[^/\n]$", complaint=r"^(?:WARNINGS|ERRORS):"
)
_BSDTAR = _Extractor(("bsdtar", "-xvf", "{archive}"), r"^x .*[^/\n]$", complaint=r"^bsdtar: ")
_BSDTAR_STREAM = _Extractor(("bsdtar", "-xvf", "-"), r"^x .*[^/\n]$", complaint=r"^bsdtar: ", through_pipe=True)
_JAR = _Extractor(("jar", *_JAR_OPTIONS, "-xvf", "{archive}"), r"^ *(?:extracted|inflated): ")
_JAR_STREAM = _Extractor(("jar", *_JAR_OPTIONS, "-xv"), r"^ *(?:extracted|inflated): ", through_pipe=True)


# --- programs that print "sha256  key" lines ------------------------------------------------------


@functools.cache
def _java_classes() -> str:
    """Return a folder with the compiled ReadZip: compiling it takes longer than the rest of a run."""
    folder = tempfile.mkdtemp(prefix="ozx-judge-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _run(("javac", "-d", folder, HERE / "java" / "ReadZip.java"))
    return folder


def _read_by_zipfs(archive: Path) -> Digests:
    # zipfs gives the reason of a refusal only if the file name ends in .zip or .jar.
    with tempfile.TemporaryDirectory(prefix="ozx-judge-") as name:
        link = Path(name) / "archive.zip"
        link.symlink_to(archive.resolve())
        return _read_listing(("java", *_QUICK_JAVA, "-cp", _java_classes(), "ReadZip"), link)


def _read_listing(command: tuple[str | Path, ...], archive: Path) -> Digests:
    # Not splitlines(), which also splits at characters that a key may contain.
    lines = [line for line in _run((*command, archive.absolute())).split("\n") if line]
    if odd := [line for line in lines if re.match("[0-9a-f]{64}  ", line) is None]:
        raise RefusalError(f"{command[0]} said more than its list:\n" + "\n".join(odd))
    return _unique((line[66:], line[:64]) for line in lines)


def _absent_node_module(module: str) -> str | None:
    if reason := absent_programs("node"):
        return reason
    if not (NODE / "node_modules" / module / "package.json").is_file():
        return f"node module {module} is not installed: npm ci in tests/interop/node"
    return None


def _node_judge(module: str, *, checks_crc: bool = False, **others: Any) -> Judge:
    read = partial(_read_listing, ("node", NODE / f"{module}.mjs"))
    return Judge(module, partial(_absent_node_module, module), read, checks_crc=checks_crc, **others)


# --- libraries of Python --------------------------------------------------------------------------


def _read_zipfile(archive: Path) -> Digests:
    # One thread, one pass: some versions of CPython 3.12 and 3.13 return wrong bytes if threads share a ZipFile.
    # Reading a member to its end checks its CRC; testzip() does nothing more.
    try:
        with zipfile.ZipFile(archive) as opened:
            files = [info for info in opened.infolist() if not info.is_dir()]
            return _unique((info.filename, _digest_member(opened, info)) for info in files)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise RefusalError(f"zipfile: {error}") from error


def _digest_member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    digest = hashlib.sha256()
    with opened.open(info) as member:
        while block := member.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read_array_zarr(archive: Path, node: str) -> npt.ArrayLike:
    import zarr
    from zarr.storage import ZipStore

    with ZipStore(archive, mode="r") as store:
        return zarr.open_array(store, path=node, mode="r", zarr_format=3)[...]


def _read_array_tensorstore(archive: Path, node: str) -> npt.ArrayLike:
    import tensorstore

    base = {"driver": "file", "path": str(archive.resolve())}
    kvstore = {"driver": "zip", "base": base, "path": f"{node}/" if node else ""}
    return tensorstore.open({"driver": "zarr3", "kvstore": kvstore}, open=True, read=True).result().read().result()


def _read_array_zarrs(archive: Path, node: str) -> npt.ArrayLike:
    from zarrista import Array
    from zarrista.store import FilesystemStore, ZipStore

    return Array.open(ZipStore(FilesystemStore(archive.parent), archive.name), f"/{node}").retrieve_array_subset(...)


def _read_array_fsspec(archive: Path, node: str) -> npt.ArrayLike:
    import zarr
    from zarr.storage import FsspecStore

    store = FsspecStore.from_url(f"zip://{node}::file://{archive.resolve().as_posix()}", read_only=True)
    # One chunk at a time: the store shares a ZipFile, which mixes up concurrent readers in some versions of Python.
    with zarr.config.set({"async.concurrency": 1}):
        return zarr.open_array(store, mode="r", zarr_format=3)[...]


def _read_array_zarrita(archive: Path, node: str) -> npt.ArrayLike:
    with tempfile.NamedTemporaryFile(prefix="ozx-judge-") as values:
        told = json.loads(_run(("node", NODE / "zarrita.mjs", archive.resolve(), node, values.name)))
        return np.frombuffer(values.read(), np.dtype(told["dtype"]).newbyteorder("<")).reshape(told["shape"])


# --- the bench ------------------------------------------------------------------------------------

JUDGES: tuple[Judge, ...] = (
    Judge("zipfile", absent_packages, _read_zipfile),
    Judge("unzip", partial(absent_programs, "unzip"), _UNZIP.read),
    Judge("7z", partial(absent_programs, "7z"), _SEVEN_ZIP.read),
    Judge("bsdtar", partial(absent_programs, "bsdtar"), _BSDTAR.read),
    Judge("bsdtar-stream", partial(absent_programs, "bsdtar", "cat"), _BSDTAR_STREAM.read, streams=True),
    # jar reads an archive by name with java.util.zip.ZipFile, and standard input with java.util.zip.ZipInputStream.
    Judge("jar", partial(absent_programs, "jar"), _JAR.read, checks_crc=False),
    Judge("jar-stream", partial(absent_programs, "jar", "cat"), _JAR_STREAM.read, streams=True),
    Judge("zipfs", partial(absent_programs, "java", "javac"), _read_by_zipfs, checks_crc=False, sees_duplicates=False),
    _node_judge("yauzl"),
    _node_judge("fflate"),
    _node_judge("unzipit"),
    # Without a placeholder in the classic end record, JSZip ignores the ZIP64 end record: it treats the 76 bytes of
    # record and locator as bytes before the archive, and adds 76 to every offset.
    _node_judge(
        "jszip",
        checks_crc=True,
        sees_duplicates=False,
        small_zip64_refusal=r"expected \d+ records in central dir, got 0",
    ),
)

ARRAY_JUDGES: tuple[ArrayJudge, ...] = (
    ArrayJudge("zarr", partial(absent_packages, "zarr"), _read_array_zarr),
    ArrayJudge("tensorstore", partial(absent_packages, "tensorstore"), _read_array_tensorstore, checks_crc=False),
    ArrayJudge("zarrs", partial(absent_packages, "zarrista"), _read_array_zarrs, checks_crc=False),
    ArrayJudge("zarrita", partial(_absent_node_module, "zarrita"), _read_array_zarrita, checks_crc=False),
    ArrayJudge("fsspec", partial(absent_packages, "fsspec"), _read_array_fsspec),
)

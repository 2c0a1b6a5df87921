"""Compatibility: let every reader open the file of every writer, and make docs/interop.md from the answers.

The readers are the judges (of ZIP files or of arrays) and `IMAGE_READERS`; `WRITERS` make the files. A cell says
whether the reader opened the file and found the right pixels or files. If not, the cell gives the reason in our words.
An answer that none of `REASONS` explains is an error, so that nothing on the page is unexplained.
"""

import importlib.metadata
import json
import platform
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from image_readers import IMAGE_READERS, napari_versions
from judges import ARRAY_JUDGES, JUDGES, NODE, ArrayJudge, Digests, Judge, RefusalError, TwiceError, digests
from writers import IOHUB, WRITERS, Writer, pixels, write_source

import ozx

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
READERS = (*IMAGE_READERS, *ARRAY_JUDGES, *JUDGES)

YES, WRONG, NO = "✓", "≠", "–"


class Cell(NamedTuple):
    """One answer: `YES`, `WRONG` (opened, but with other contents) or `NO` (not opened), with the reason."""

    verdict: str
    why: str = ""


Cells = dict[tuple[str, str], Cell]


class Reason(NamedTuple):
    """A cause of failures: a sentence for the page, the writers of the files, and patterns of the readers' messages."""

    sentence: str
    writers: tuple[str, ...]
    words: tuple[str, ...]


REASONS = (
    Reason(
        "the reader opens only directories and `http` and `s3` URLs",
        tuple(writer.name for writer in WRITERS),
        (r"parse_url\(\w*Path\) gives None",),
    ),
    Reason(
        "some names occur more than once; the reader refuses the file, or returns every entry of a repeated name",
        ("bioio", "iohub", "ZipStore"),
        (r"Duplicate filename in ZIP", r"two entries are named", r"extracted \d+ files, of which \d+ are there"),
    ),
    Reason(
        "the reader does not know Deflate64",
        ("Deflate64",),
        (
            r"That compression method is not supported",  # zipfile, under most programs in Python
            r"(bad|invalid|unsupported|unknown|Unsupported ZIP) compression (method|type):? \(?9\b",
            r"ZipException: invalid compression method\n",
            r"compression \\x09\\x00 unknown",
            # It ignores entries that it cannot decode.
            r'tensorstore: ValueError: NOT_FOUND: .* Metadata at "0/zarr\.json"',
        ),
    ),
    Reason(
        "the hierarchy is in a folder of the file, not at its root as RFC-9 demands",
        ("Explorer",),
        (
            r"found no zarr\.json at the root of the archive",
            r"No group found in store .* at path ''",
            r"No valid Zarr group found",
            r"parse_url\(FsspecStore\) gives None",
        ),
    ),
    Reason(
        r"`\` is no separator outside Windows; the reader refuses names with `\`, or returns them unchanged",
        (".NET",),
        (
            r"is refused: it has a backslash",
            r"appears to use backslashes as path separators",
            r"opened, and right but for names: .*\\",
            # These readers find the group, but not its arrays.
            r"parse_url\(FsspecStore\) gives None",
            r"array metadata is missing",
            r"No array found in store",
            r'tensorstore: ValueError: NOT_FOUND: .* Metadata at "0/zarr\.json"',
            r"Not found: v3 array or group",
            r"bioio.*: KeyError: '0'",
        ),
    ),
    Reason(
        "the reader thinks that the ZIP64 end record is not part of the archive "
        "([decision 4](decisions/0004-zip64-form.md))",
        ("pack", "repack", "OzxStore"),
        (r"expected \d+ records in central dir, got 0",),
    ),
)


def write_all(folder: Path) -> tuple[Path, dict[str, Path]]:
    """Return the image as a directory in `folder`, and the file of each installed writer, by the writer's name."""
    source = write_source(folder)
    archives = {}
    for writer in WRITERS:
        if writer.missing() is None:
            archives[writer.name] = folder / f"{writer.name}.ozx"
            writer.write(source, archives[writer.name])
    return source, archives


def ask(reader: Judge | ArrayJudge, writer: Writer, source: Path, archive: Path) -> Cell:
    """Return the answer of `reader` about the `archive` that `writer` made from `source`."""
    try:
        if isinstance(reader, ArrayJudge):
            found = np.squeeze(reader.read_array(archive, writer.inside + writer.level))
            fault = "" if np.array_equal(found, pixels()) else "opened, with other pixels"
        else:
            fault = _difference(reader.read(archive), digests(writer.entries(source, archive)))
    except TwiceError as twice:
        return Cell(WRONG, _explain(reader, writer, str(twice)))
    except RefusalError as refusal:
        return Cell(NO, _explain(reader, writer, str(refusal)))
    return Cell(WRONG, _explain(reader, writer, fault)) if fault else Cell(YES)


def _difference(found: Digests, expected: Digests) -> str:
    """Return how the found files differ from the expected files; an empty text if they do not."""
    if found == expected:
        return ""
    other, lacking = sorted(found.items() - expected.items()), sorted(expected.items() - found.items())
    if sorted(found.values()) == sorted(expected.values()):
        return f"opened, and right but for names: {[key for key, _ in other]}"
    return f"opened, with other files: {other} for {lacking}"


def _explain(reader: Judge | ArrayJudge, writer: Writer, words: str) -> str:
    for reason in REASONS:
        if writer.name in reason.writers and any(re.search(pattern, words, re.DOTALL) for pattern in reason.words):
            return reason.sentence
    raise AssertionError(
        f"no reason in matrix.py explains what {reader.name} says of the file by {writer.name}: {words}"
    )


# --- the page -------------------------------------------------------------------------------------

_INTRODUCTION = f"""# Compatibility

Each column is a program that writes a small image: two channels of 96 × 128 pixels in two levels. Each row is a program
that reads the image, or several with the same answers. `python docs/make_interop.py` makes this page, and
`tests/interop/test_matrix.py` checks it.

{YES} right · {WRONG} opened, but not right · {NO} refused. The letters are explained [below](#why-not).

"""
_IMAGES = "## Programs that know OME-Zarr or Zarr\n\nRight means that every pixel of the full resolution is right.\n\n"
_ARCHIVES = """## Programs that know ZIP

Right means that every name and byte is right, and that no file occurs twice. A warning counts as a refusal.

"""


def page(cells: Cells, versions: Mapping[str, str]) -> str:
    letters = {reason.sentence: chr(ord("a") + number) for number, reason in enumerate(REASONS)}
    parts = [
        _INTRODUCTION,
        _IMAGES,
        _table((*IMAGE_READERS, *ARRAY_JUDGES), cells, letters),
        _ARCHIVES,
        _table(JUDGES, cells, letters),
        "## Why not\n\n",
        *(f"- **{letter}**: {sentence}.\n" for sentence, letter in letters.items()),
        "\n## The writers\n\n| column | how |\n|---|---|\n",
        *(f"| {writer.name} | {writer.does} |\n" for writer in WRITERS),
        "\n## Versions\n\n",
        ";\n".join(f"{name} {version}" for name, version in versions.items()),
        ".\n",
    ]
    return "".join(parts)


def _table(readers: tuple[Judge | ArrayJudge, ...], cells: Cells, letters: Mapping[str, str]) -> str:
    rows = [["", *(writer.name for writer in WRITERS)], ["---", *(":-:" for _ in WRITERS)]]
    alike: dict[tuple[str, ...], list[str]] = {}
    for reader in readers:
        row = [cells[reader.name, writer.name] for writer in WRITERS]
        answers = tuple(f"{cell.verdict} {letters[cell.why]}" if cell.why else cell.verdict for cell in row)
        alike.setdefault(answers, []).append(reader.name)
    rows += [["; ".join(names), *answers] for answers, names in alike.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def read_page(text: str) -> tuple[Cells, dict[str, str]]:
    sentences = dict(re.findall(r"^- \*\*(\w)\*\*: (.*)\.$", text, re.MULTILINE))
    cells: Cells = {}
    for table in re.findall(r"^\| +\|.*\n\| --- \|.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        for line in table.splitlines():
            readers, *row = (word.strip() for word in line.strip("|").split(" | "))
            for writer, (verdict, _, letter) in zip(WRITERS, (cell.partition(" ") for cell in row), strict=True):
                for reader in readers.split("; "):
                    cells[reader, writer.name] = Cell(verdict, sentences.get(letter, ""))
    _, _, programs = text.partition("## Versions\n\n")
    return cells, dict(re.findall(r"^(.*) (\S+)[;.]$", programs, re.MULTILINE))


# --- versions -------------------------------------------------------------------------------------

_PACKAGES = (
    *("zarr", "tensorstore", "zarrista", "fsspec", "xarray"),
    *("ngff-zarr", "bioio-ome-zarr", "bioio", "ome-zarr"),
)
_PROGRAMS = {
    "Info-ZIP zip": ("zip", "-v"),
    "Info-ZIP unzip": ("unzip", "-v"),
    "7z": ("7z", "i"),
    "bsdtar": ("bsdtar", "--version"),
    "Java": ("java", "-version"),
    "Node": ("node", "--version"),
}


def versions() -> dict[str, str]:
    return {
        "ozx": ozx.__version__,
        "Python and its zipfile": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
        **_crate_versions("zarrista", "zarrs", "zarrs_zip"),
        **napari_versions(),
        **{name: _program_version(command) for name, command in _PROGRAMS.items()},
        **pinned_versions(),
    }


#: A server for uploads, and what test_browsers.py asks, which the table does not.
_NO_READERS = ("@deck.gl/core", "@math.gl/core", "@vivjs/layers", "@vivjs/loaders", "azurite", "esbuild")


def pinned_versions() -> dict[str, str]:
    """Return the versions that this repository fixes: of the kept file's writer, and of the modules for Node."""
    modules = json.loads((NODE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    readers = {name: version for name, version in modules.items() if name not in _NO_READERS}
    return {"iohub (kept file)": IOHUB.stem.removeprefix("iohub-"), **readers}


def _crate_versions(package: str, *crates: str) -> dict[str, str]:
    """Return the versions of Rust crates inside a package, from the bill of materials in its wheel (PEP 770)."""
    bills = [path for path in importlib.metadata.files(package) or () if path.name.endswith(".cyclonedx.json")]
    parts = [part for bill in bills for part in json.loads(bill.read_text("utf-8"))["components"]]
    found = {part["name"]: part["version"] for part in parts}
    return {f"{crate} (in {package})": found.get(crate, "unknown") for crate in crates}


def _program_version(command: tuple[str, ...]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found = re.search(r"\d+\.\d+[.\d]*", done.stdout + done.stderr)
    return found[0] if found else "unknown"


def make_page() -> str:
    """Ask all readers about all files, and return the page; `LookupError` names missing programs."""
    if absent := {reason for asked in (*READERS, *WRITERS) if (reason := asked.missing())}:
        raise LookupError("expected every program here; " + "; ".join(sorted(absent)))
    with tempfile.TemporaryDirectory(prefix="ozx-interop-") as name:
        source, archives = write_all(Path(name))
        cells = {
            (reader.name, writer.name): ask(reader, writer, source, archives[writer.name])
            for reader in READERS
            for writer in WRITERS
        }
    return page(cells, versions())

"""Check whether all readers of ozx, and readers of other programs, agree about an archive."""

import asyncio
import io
import os
import shutil
import subprocess
import tempfile
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path

from hierarchies import tree
from packed import unmarked
from zarr.core.buffer import default_buffer_prototype

import ozx
from ozx.errors import OzxError
from ozx.flow.sources.browsing import open_view
from ozx.places.place import Place

Values = dict[str, bytes]

#: Only a warning, but programs that unpack lose one of the two entries, or fail.
NO_FOLDER_HOLDS = {"zip/value-and-folder"}

#: Command lines that extract ``{archive}`` into ``{out}``.
EXTRACTORS = {
    "unzip": ("unzip", "-qq", "-o", "{archive}", "-d", "{out}"),
    "7z": ("7z", "x", "-y", "-bso0", "-bsp0", "-o{out}", "{archive}"),
    "bsdtar": ("bsdtar", "-xf", "{archive}", "-C", "{out}"),
}
# Exit code 1 of unzip and of 7z is a warning.
_MOST_HARMLESS = {"unzip": 1, "7z": 2, "bsdtar": 1}


def check_agreement(data: bytes, truth: Mapping[str, bytes] | None = None) -> list[str]:
    """Return the differences between the readers of ozx and zipfile; an empty list if they agree.

    `truth` are the values of the archive before it was damaged, if known.
    """
    with tempfile.TemporaryDirectory(prefix="ozx-agreement-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "cells.ozx")
        path.write_bytes(data)
        stored, refused = values_of_store(path)
        unpacked, shown = values_of_unpack(path), values_of_cat(path)
        wrong = _compare_readers(stored, refused, unpacked, shown)
        wrong += _compare_recovered(path, stored, truth)
        if not errors_of(path):
            wrong += _compare_sound(data, stored, refused, unpacked)
    return wrong


def check_foreign(data: bytes) -> list[str]:
    """Return how unzip, 7z and bsdtar differ from the store, for an archive in which validation finds no error."""
    with tempfile.TemporaryDirectory(prefix="ozx-agreement-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "cells.ozx")
        path.write_bytes(data)
        if errors_of(path):
            return []
        expected = values_of_store(path)[0] or {}
        return [
            f"{program} {difference}"
            for program in EXTRACTORS
            for difference in differences(values_of_program(program, path), expected)
        ]


def errors_of(path: Path) -> set[str]:
    """Return the rules of the errors that validation finds, and of entries that cannot be unpacked together."""
    report = ozx.validate(path, level="data", second_opinion=False, jobs=1)
    return {finding.id for finding in report.findings if finding.severity == "error" or finding.id in NO_FOLDER_HOLDS}


def values_of_store(path: Path) -> tuple[Values | None, set[str]]:
    """Return the values of a store (None if it does not open), and the keys whose values the store refuses."""
    try:
        with ozx.OzxStore(path) as store:
            return asyncio.run(_read(store))
    except OzxError:
        return None, set()


async def _read(store: ozx.OzxStore) -> tuple[Values, set[str]]:
    values, refused = {}, set()
    async for key in store.list():
        try:
            value = await store.get(key, default_buffer_prototype())
        except OzxError:
            refused.add(key)
        else:
            assert value is not None
            values[key] = value.to_bytes()
    return values, refused


def values_of_unpack(path: Path) -> Values | None:
    out = path.with_name("unpacked")
    try:
        ozx.unpack(path, out, sync=False)
    except OzxError:
        return None
    return tree(out)


def values_of_cat(path: Path) -> Values:
    values: Values = {}
    try:
        view = open_view(Place.parse(path))
        items = {item.key: item for item in view.iter_items()}
    except OzxError:
        return values
    for key, item in items.items():
        if not key.endswith("/"):
            try:
                values[key] = b"".join(view.iter_value(item))
            except OzxError:
                continue
    return values


def values_of_program(program: str, path: Path) -> Values | None:
    with tempfile.TemporaryDirectory(prefix="ozx-agreement-") as out:
        command = [part.format(archive=path, out=out) for part in EXTRACTORS[program]]
        environment = os.environ | {"LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False)
        return tree(Path(out)) if done.returncode <= _MOST_HARMLESS[program] else None


def missing_programs() -> list[str]:
    return [program for program in EXTRACTORS if shutil.which(program) is None]


def values_of_zipfile(data: bytes) -> Values | None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    except Exception:  # noqa: BLE001 (zipfile raises many)
        return None


def differences(found: Values | None, expected: Mapping[str, bytes]) -> list[str]:
    """Return texts that describe how values differ."""
    if found is None:
        return ["refuses the archive"] if expected else []
    return [
        f"gives {found.get(key)!r:.60} of {key!r}, expected {expected.get(key)!r:.60}"
        for key in sorted(found.keys() | expected.keys())
        if found.get(key) != expected.get(key)
    ]


def _compare_readers(stored: Values | None, refused: set[str], unpacked: Values | None, shown: Values) -> list[str]:
    wrong = []
    for key, value in (stored or {}).items():
        if key not in shown:
            wrong.append(f"the store reads {key!r}, cat refuses it")
        elif shown[key] != value:
            wrong.append(f"of {key!r} the store gives {value!r:.60}, cat {shown[key]!r:.60}")
    wrong += [f"the store refuses {key!r}, cat reads it" for key in sorted(refused & shown.keys())]
    if unpacked is not None:
        if stored is None:
            wrong.append("the store refuses the archive, unpack does not")
        else:
            wrong += [f"unpack {text} as the store does" for text in differences(unpacked, stored)]
            wrong += [f"the store refuses {key!r}, unpack does not" for key in sorted(refused)]
    return wrong


def _compare_recovered(path: Path, stored: Values | None, truth: Mapping[str, bytes] | None) -> list[str]:
    out = path.with_name("recovered.ozx")
    try:
        result = ozx.recover(path, out, sync=False)
    except OzxError:
        return []
    recovered = unmarked(values_of_store(out)[0] or {})
    # A folder that becomes the root is left out of the keys.
    said = (note for note in result.notes if note.startswith("the hierarchy is in the folder "))
    folder = next((note.split("'")[1] for note in said), "")
    stored = stored and {key.removeprefix(folder): value for key, value in stored.items()}
    wrong = [
        f"of {key!r} the store gives {value!r:.60}, recover {recovered[key]!r:.60}"
        for key, value in (stored or {}).items()
        if key in recovered and recovered[key] != value
    ]
    if truth is not None:
        wrong += [
            f"recover gives {recovered[key]!r:.60} of {key!r}, which was {value!r:.60}"
            for key, value in truth.items()
            if key in recovered and recovered[key] != value
        ]
        lost = [key for key, value in truth.items() if value not in recovered.values()]
        if result.complete and lost:
            wrong.append(f"recover says that all is there, but not {lost}")
    if result.complete and stored is not None and stored.keys() - recovered.keys():
        wrong.append(f"recover says that all is there, but not {sorted(stored.keys() - recovered.keys())}")
    return wrong


def _compare_sound(data: bytes, stored: Values | None, refused: set[str], unpacked: Values | None) -> list[str]:
    """Compare the values of an archive in which validation finds no error."""
    if stored is None or refused:
        return [f"validation finds no error, the store refuses {sorted(refused) or 'the archive'}"]
    wrong = [] if unpacked is not None else ["validation finds no error, unpack refuses the archive"]
    return wrong + [
        f"validation finds no error, zipfile {text}" for text in differences(values_of_zipfile(data), stored)
    ]

"""The answer of each entry point ("door") of ozx to an archive: ``whole``, ``part``, ``read``, or the broken rule."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from hierarchies import tree
from packed import unmarked
from stores import contents

import ozx
from ozx.errors import OzxError

Values = dict[str, bytes]

#: Names of the outputs, the only names that readers may write.
OUT, RECOVERED, REPACKED = "out", "recovered.ozx", "repacked.ozx"


def by_open(path: Path, expected: Values) -> str:
    """Open the hierarchy as a zarr group, and read every key of its store."""
    with ozx.open(path) as group:
        return compared(contents(group.store), expected)


def by_store(path: Path, expected: Values) -> str:
    with ozx.OzxStore(path) as store:
        return compared(unmarked(contents(store)), expected)


def by_validate(path: Path, expected: Values) -> str:
    """Return the rules that the container breaks; faults of a file never raise errors here."""
    found = {finding.id for finding in ozx.validate(path, revision="r2").findings}
    return " ".join(sorted(rule for rule in found if rule.startswith(("zip/", "rfc9/"))))


def by_unpack(path: Path, expected: Values) -> str:
    out = path.with_name(OUT)
    ozx.unpack(path, out, sync=False)
    return compared(tree(out), expected)


def by_recover(path: Path, expected: Values) -> str:
    """Recover the archive; check that the result is sound, and the source unchanged."""
    out, before = path.with_name(RECOVERED), path.read_bytes()
    result = ozx.recover(path, out, sync=False)
    assert path.read_bytes() == before
    assert_sound(out, "zip/")  # recovery also keeps archives inside values
    kept = by_store(out, expected)
    return kept if result.complete else "part"


def by_repack(path: Path, expected: Values) -> str:
    """Repack the archive; check that the result is sound, and the source unchanged."""
    out, before = path.with_name(REPACKED), path.read_bytes()
    ozx.repack(path, out, sync=False)
    assert path.read_bytes() == before
    assert_sound(out, "zip/", "rfc9/")
    return by_store(out, expected)


def assert_sound(path: Path, *kinds: str) -> None:
    wrong = [found for found in ozx.validate(path).findings if found.severity == "error" and found.id.startswith(kinds)]
    assert not wrong, wrong


def compared(found: Values, expected: Values) -> str:
    """Compare found with expected values. The soak does not know the values of its archives, and expects none."""
    wrong = {key for key in found if key in expected and found[key] != expected[key]}
    assert not wrong, wrong
    return "whole" if found == expected else f"other {sorted(found.keys() ^ expected.keys())}"


DOORS: dict[str, Callable[[Path, Values], str]] = {
    "open": by_open,
    "store": by_store,
    "info": lambda path, expected: "read" if ozx.inspect(path).to_dict()["entries"] >= 0 else "none",
    "validate": by_validate,
    "unpack": by_unpack,
    "recover": by_recover,
    "repack": by_repack,
}


def answer(door: str, path: Path, expected: Values) -> str:
    folder = path.parent
    before = set(listing(folder.parent))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".* keys that ozx does not understand")  # readers go on
        try:
            result = DOORS[door](path, expected)
        except OzxError as error:
            result = error.rule or type(error).__name__
            assert set(listing(folder.parent)) == before, "a refusal leaves nothing behind"
    written = set(listing(folder.parent)) - before
    made = {"unpack": OUT, "recover": RECOVERED, "repack": REPACKED}.get(door, "")
    assert all(name.split(os.sep)[1] == made for name in written), written
    return result


def listing(folder: Path) -> list[str]:
    return [
        os.path.relpath(os.path.join(top, name), folder)
        for top, folders, files in os.walk(folder)
        for name in (*folders, *files)
    ]

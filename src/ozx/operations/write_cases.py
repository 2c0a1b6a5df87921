"""write_cases: write a failing and a passing example of each rule, for other programs that check .ozx files."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ozx.atomic.new_directory import replacing_directory
from ozx.errors import UsageError, raise_error, resource_errors
from ozx.flow.sources.location import StrPath, given_output
from ozx.validation.cases.archive_builder import ArchiveBuilder, write_tree
from ozx.validation.cases.case import Case
from ozx.validation.cases.documents import iter_files
from ozx.validation.cases.table import CASES, WITHOUT_CASES
from ozx.validation.rules.table import RULES

# Larger files are written in another form, so that all cases together stay small.
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class CasesResult:
    """The example files that were written."""

    path: str
    rules: int
    cases: int
    files: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the ``cases`` value in the JSON output of ``ozx rules --json``."""
        return asdict(self)


@resource_errors()
def write_cases(directory: StrPath, *, rule: str | None = None) -> CasesResult:
    """Write the example files of all rules or of one rule, and ``expected.json`` with the findings in each file.

    ``expected.json`` lists the cases of each rule: whether a case `breaks` the rule, its `path` in `directory`, the
    options of ``ozx validate`` (`level`, `profile`, `revision`), and `found`, every finding with its severity. A
    program under test may refuse files with an error, and should open all others; some cases break their rule only
    under their file name, or only in their folder. A large file has an `encoding`: ``gzip``, or ``parts``, a JSON
    document with the size and the bytes that are not zero. A case about metadata has a `pointer` into a file of
    ``documents/``, where `documents` maps the keys of a hierarchy without chunks to their values, `schemas` maps URLs
    to JSON schemas, and `handlers` names the extensions of ZEP 10 that the program should know.

    The same call always writes the same bytes.

    Raises
    ------
    UsageError
        `directory` exists or is a URL, or there is no such rule.
    """
    path = given_output(directory)
    if rule is not None and rule not in RULES:
        raise UsageError(f"there is no rule {rule!r}", hint="ozx rules lists all rules.")
    if os.path.lexists(path):
        raise UsageError("the directory exists already", path=path, hint="Choose another name.")
    chosen = list(RULES) if rule is None else [rule]
    cases: dict[str, list[dict[str, Any]]] = {identifier: [] for identifier in chosen}
    with replacing_directory(path, sync=False) as new:
        for case in CASES:
            if case.rule in cases:
                cases[case.rule].append(_write_case(case, new.path))
        for identifier, content in iter_files():
            if identifier in cases:
                write_tree(new.path, {f"documents/{identifier}.json": content})
                cases[identifier] += _entries_of(identifier, json.loads(content))
        expected = {"schema": 2, "rules": [_entry_of(identifier, found) for identifier, found in cases.items()]}
        write_tree(new.path, {"expected.json": json.dumps(expected, indent=1).encode() + b"\n"})
        sizes = [
            os.path.getsize(os.path.join(folder, name))
            for folder, _, names in os.walk(new.path, onerror=raise_error)
            for name in names
        ]
    return CasesResult(path, len(cases), sum(map(len, cases.values())), len(sizes), sum(sizes))


def _entry_of(identifier: str, cases: list[dict[str, Any]]) -> dict[str, Any]:
    rule = RULES[identifier].to_dict()
    entry = {name: rule[name] for name in ("id", "severity", "title", "clause", "document", "revision")}
    return entry | {"cases": cases} | ({} if cases else {"without": WITHOUT_CASES[identifier]})


def _entries_of(identifier: str, file: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for kind in ("fails", "passes"):
        for number, case in enumerate(file[kind]):
            yield {
                "name": case["name"],
                "breaks": kind == "fails",
                "path": f"documents/{identifier}.json",
                "pointer": f"/{kind}/{number}",
                "level": "hierarchy",
                "profile": "rfc9",
                "revision": "all",
                "found": case["found"],
            }


def _write_case(case: Case, root: str) -> dict[str, Any]:
    """Write a file or directory, and return its entry in ``expected.json``."""
    folder = f"archives/{case.rule}/{_folder_name(case.name)}"
    path, encoding = f"{folder}/{case.file}", None
    made = case.make()
    write_tree(os.path.join(root, folder), case.beside)
    if isinstance(made, dict):
        write_tree(os.path.join(root, path), made)
    else:
        content, encoding = _encode(made.pieces() if isinstance(made, ArchiveBuilder) else [made])
        path += {"gzip": ".gz", "parts": ".parts.json", None: ""}[encoding]
        write_tree(root, {path: content})
    entry = {
        "name": case.name,
        "breaks": case.breaks_its_rule,
        "path": path,
        "level": case.level,
        "profile": case.profile,
        "revision": case.revision,
        "found": case.severities(),
    }
    return entry if encoding is None else entry | {"encoding": encoding}


def _encode(pieces: Sequence[bytes | int]) -> tuple[bytes, str | None]:
    """Return the bytes to write, and their encoding: ``gzip``, ``parts``, or None for plain bytes.

    With ``parts``, the bytes are a JSON document: the size of the file, and offset and content of each part that is
    not filled with zeros.
    """
    lengths = [piece if isinstance(piece, int) else len(piece) for piece in pieces]
    if sum(lengths) <= _LARGEST:
        return b"".join(piece if isinstance(piece, bytes) else bytes(piece) for piece in pieces), None
    if all(isinstance(piece, bytes) for piece in pieces):
        return gzip.compress(b"".join(piece for piece in pieces if isinstance(piece, bytes)), 9, mtime=0), "gzip"
    parts, offset = [], 0
    for piece, length in zip(pieces, lengths, strict=True):
        if isinstance(piece, bytes):
            parts.append({"offset": offset, "base64": base64.b64encode(piece).decode()})
        offset += length
    return json.dumps({"size": offset, "parts": parts}, indent=1).encode() + b"\n", "parts"


def _folder_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

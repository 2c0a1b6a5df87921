"""Write the cases of all rules as files, for authors of other programs: ``python -m tests.cases.export DIR``.

::

    DIR/expected.json                                         the expected findings of each case
    DIR/archives/zip/overlap/an-entry-in-an-entry/cells.ozx   rules about files: one folder for each case
    DIR/documents/zarr/shape.json                             rules about metadata: one file for each rule

``expected.json`` lists the rules with their clauses, and the cases of each rule:

``breaks``
    Whether the case breaks the rule.
``path``
    The file or directory below DIR. Some cases break their rule only under this name, or only in this folder.
``pointer``
    A JSON pointer to the case in a file of ``documents/``; ``documents.py`` beside this module describes these files.
``level``, ``profile``, ``revision``
    Options of ``ozx validate``.
``found``
    Every finding: id of the rule, and severity. A program may refuse files for which `found` has an error, and should
    open all other files.
``encoding``
    ``gzip``: the file is compressed. ``parts``: a JSON document ``{"size", "parts": [{"offset", "base64"}]}`` describes
    it; bytes outside of its parts are zero.
``without``
    If a rule has no case: the reason.

The same cases give the same bytes.
"""

import base64
import gzip
import json
import re
import sys
from pathlib import Path

from ozx.validation.rules.table import RULES

from .archive_builder import ArchiveBuilder, write_tree
from .documents import iter_files
from .table import CASES, WITHOUT_CASES

# Larger files are written in another form, so that all cases together stay small.
LARGEST = 1 << 20


def export(folder):
    """Write the cases into a new folder."""
    folder.mkdir(parents=True)
    cases = {rule: [] for rule in RULES}
    for case in CASES:
        cases[case.rule].append(write_case(case, folder))
    for rule, content in iter_files():
        write_tree(folder, {f"documents/{rule}.json": content})
        cases[rule] += entries_of(rule, json.loads(content))
    expected = {"schema": 2, "rules": [entry_of(rule, found) for rule, found in cases.items()]}
    write_tree(folder, {"expected.json": json.dumps(expected, indent=1).encode() + b"\n"})


def entry_of(identifier, cases):
    rule = RULES[identifier].to_dict()
    entry = {name: rule[name] for name in ("id", "severity", "title", "clause", "document", "revision")}
    return entry | {"cases": cases} | ({} if cases else {"without": WITHOUT_CASES[identifier]})


def entries_of(rule, file):
    """Yield the entry of each case in a JSON file of documents."""
    options = {"level": "hierarchy", "profile": "rfc9", "revision": "all"}
    for kind in ("fails", "passes"):
        for number, case in enumerate(file[kind]):
            place = {"path": f"documents/{rule}.json", "pointer": f"/{kind}/{number}"}
            yield {"name": case["name"], "breaks": kind == "fails"} | place | options | {"found": case["found"]}


def write_case(case, root):
    """Write a file or directory, and return its entry."""
    folder = f"archives/{case.rule}/{re.sub(r'[^a-z0-9]+', '-', case.name.lower()).strip('-')}"
    path, encoding = f"{folder}/{case.file}", {}
    write_tree(root / folder, case.beside)
    made = case.make()
    if isinstance(made, dict):
        write_tree(root / path, made)
    else:
        content, ending, encoding = encode(made.pieces() if isinstance(made, ArchiveBuilder) else [made])
        path += ending
        write_tree(root, {path: content})
    options = {"level": case.level, "profile": case.profile, "revision": case.revision}
    entry = {"name": case.name, "breaks": case.breaks_its_rule, "path": path}
    return entry | options | {"found": case.severities()} | encoding


def encode(pieces):
    """Return the bytes of a file in the form to write, the ending of this form, and the key ``encoding``."""
    lengths = [piece if isinstance(piece, int) else len(piece) for piece in pieces]  # a number counts zeros
    if sum(lengths) <= LARGEST:
        return b"".join(bytes(piece) for piece in pieces), "", {}
    if int not in map(type, pieces):
        return gzip.compress(b"".join(pieces), 9, mtime=0), ".gz", {"encoding": "gzip"}
    parts = [
        {"offset": sum(lengths[:number]), "base64": base64.b64encode(piece).decode()}
        for number, piece in enumerate(pieces)
        if not isinstance(piece, int)
    ]
    content = json.dumps({"size": sum(lengths), "parts": parts}, indent=1).encode() + b"\n"
    return content, ".parts.json", {"encoding": "parts"}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.cases.export DIR")
    export(Path(sys.argv[1]))

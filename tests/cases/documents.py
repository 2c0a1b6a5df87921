"""Cases of the rules about metadata documents, stored as JSON files in ``hierarchy/``, one file for each rule.

A file is ``{"rule", "fails": […], "passes": […]}``, named after the rule. Every case in ``fails`` breaks the rule, and
every case in ``passes`` obeys it. A case is ``{"name", "documents", "found"}``: ``documents`` gives the value of each
metadata key, an object or text; ``found`` gives the ids of all findings with their severities. The hierarchies have no
chunks. If a rule needs more than documents, ``schemas`` of the file holds JSON schemas by URL, and ``handlers`` names
extensions (ZEP 10) that a program should know for these cases: ``example.offset`` has the setting `offset`, one index
for each dimension, none outside of the array; ``example.array-statistics`` has `min`, which is not above `max`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def iter_files() -> Iterator[tuple[str, bytes]]:
    """Yield each rule that has a JSON file of cases, and the bytes of the file."""
    folder = Path(__file__).parent / "hierarchy"
    for document in sorted(folder.iterdir(), key=lambda entry: entry.name):
        for file in sorted(document.iterdir(), key=lambda entry: entry.name):
            yield f"{document.name}/{file.name.removesuffix('.json')}", file.read_bytes()


#: The parsed files, by the id of the rule that their cases test.
FILES: dict[str, dict[str, Any]] = {rule: json.loads(content) for rule, content in iter_files()}


def documents_of(case: dict[str, Any]) -> dict[str, bytes]:
    """Return the stored bytes of a case's metadata documents by key."""
    return {
        key: (document if isinstance(document, str) else json.dumps(document)).encode()
        for key, document in case["documents"].items()
    }

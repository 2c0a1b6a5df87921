"""The cases of the rules about metadata documents, from the files in tests/conformance/hierarchy/.

A file is ``{"rule", "fails": […], "passes": […]}``, named after the rule; a case is ``{"name", "documents", "found"}``:
the value of each metadata key, as an object or, where it is not to be one, as text; and the ids of all findings with
their severities. Every case in ``fails`` breaks the rule; those in ``passes`` are as near to it as can be and do not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "conformance" / "hierarchy"

FILES = {
    f"{path.parent.name}/{path.stem}": json.loads(path.read_text("utf-8")) for path in sorted(_FOLDER.glob("*/*.json"))
}


def to_bytes(document: Any) -> bytes:
    """Return a document of a case as it is stored."""
    return (document if isinstance(document, str) else json.dumps(document)).encode()


def documents_of(case: dict[str, Any]) -> dict[str, bytes]:
    """Return the documents of a case, by key."""
    return {key: to_bytes(document) for key, document in case["documents"].items()}

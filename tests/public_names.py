"""The names in docs/reference/api/: the public functions and classes of the library."""

import pkgutil
import re
from pathlib import Path

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"

DIRECTIVES = [
    name
    for page in sorted((REFERENCE / "api").glob("*.md"))
    for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]


def find(name):
    return pkgutil.resolve_name(name)

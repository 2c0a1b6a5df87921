"""Write docs/reference/python.md, the Python reference on one page: ``python -m docs.make_api``.

The pages in ``docs/reference/api/`` name the objects, and the site inserts the docstrings. This page has the same texts
for readers of the repository.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent / "reference"
_DIRECTIVE = re.compile(r"^::: (\S+)$", re.MULTILINE)
_HEAD = """---
search:
  exclude: true
---

# Python, on one page

This page repeats the texts of the [pages about Python](api/index.md). The site shows those pages with links.
`python -m docs.make_api` makes this page.
"""


def find(name: str) -> Any:
    """Return the object called `name`, such as ``ozx.extensions.register``."""
    parts = name.split(".")
    for count in reversed(range(1, len(parts))):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    return importlib.import_module(name)


def signature_of(name: str, found: Any) -> str:
    """Return the signature of an object, with one argument per line if the signature is long."""
    if inspect.ismodule(found):
        return name
    if inspect.isclass(found) and (issubclass(found, BaseException) or getattr(found, "_is_protocol", False)):
        return f"class {name}"
    try:
        arguments = _plain(str(inspect.signature(found)))
    except (TypeError, ValueError):
        return name
    kind = "class " if inspect.isclass(found) else ""
    if len(kind + name + arguments) <= 100:
        return kind + name + arguments
    inside, _, end = arguments[1:].rpartition(")")
    return f"{kind}{name}(\n{''.join(f'    {part},{chr(10)}' for part in _divided(inside))}){end}"


def _plain(arguments: str) -> str:
    """Return a signature without quotation marks around types, and with the name of the default ``NO_PROGRESS``."""
    arguments = re.sub(r"<ozx\.progress\._NoProgress object at 0x\w+>", "NO_PROGRESS", arguments)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", arguments)


def _divided(text: str) -> list[str]:
    """Divide arguments at the commas between them."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[({") - (character in "])}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _members(found: Any) -> list[tuple[str, Any]]:
    """Return the public, documented methods that a class defines itself."""
    own = vars(found).items() if inspect.isclass(found) else ()
    methods = [(name, getattr(found, name)) for name, value in own if not name.startswith("_") and callable(value)]
    return [(name, method) for name, method in methods if inspect.getdoc(method)]


def api_markdown() -> str:
    """Return ``docs/reference/python.md``."""
    text = _HEAD
    for page in sorted((REFERENCE / "api").glob("*.md")):
        content = page.read_text(encoding="utf-8")
        names = _DIRECTIVE.findall(content)
        if names:
            text += f"\n## {content.partition(chr(10))[0].lstrip('# ')}\n"
        for name in names:
            found = find(name)
            described = inspect.getdoc(found) or ""
            text += f"\n### {name}\n\n```text\n{signature_of(name, found)}\n\n{described}\n```\n"
            for member, method in _members(found):
                text += f"\n```text\n{signature_of(f'{name}.{member}', method)}\n\n{inspect.getdoc(method)}\n```\n"
    return text


if __name__ == "__main__":
    (REFERENCE / "python.md").write_text(api_markdown(), encoding="utf-8")

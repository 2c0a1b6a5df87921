"""Hooks of mkdocs.yml: adapt the pages, which have the Markdown of code hosts, to the Markdown of the site."""

import re
from typing import Any


def on_page_markdown(markdown: str, page: Any = None, **_: object) -> str:
    r"""Return the page without the backslashes that code hosts need before each ``|`` of code in a table.

    The pages of ``decisions/`` are excluded from the search.

    Examples
    --------
    >>> print(on_page_markdown(r"| `--shards auto\|none` | so \| so |"))
    | `--shards auto|none` | so \| so |
    """
    if page is not None and page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"exclude": True}
    return re.sub(r"^\|.*", _without_backslashes_in_code, markdown, flags=re.MULTILINE)


def _without_backslashes_in_code(row: re.Match[str]) -> str:
    return re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), row[0])

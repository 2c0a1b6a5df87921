"""Hooks of mkdocs.yml: where the site's Markdown differs from that of code hosts, for which pages are written."""

import re


def on_page_markdown(markdown: str, **_: object) -> str:
    r"""Return the page without the backslash that code hosts ask for before a ``|`` of code in a table.

    Examples
    --------
    >>> print(on_page_markdown(r"| `--shards auto\|none` | so \| so |"))
    | `--shards auto|none` | so \| so |
    """
    return re.sub(r"^\|.*", _without_backslashes_in_code, markdown, flags=re.MULTILINE)


def _without_backslashes_in_code(row: re.Match[str]) -> str:
    return re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), row[0])

"""Helpers of the scripts that make pages and pictures: replace the made parts of a page, draw on a white card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

__all__ = ["DOCS", "Card", "with_parts", "write_files"]

DOCS = Path(__file__).resolve().parent

_FONT = "font-family='system-ui, sans-serif'"
_CODE = "font-family='ui-monospace, monospace'"


def with_parts(page: str, parts: Mapping[str, str]) -> str:
    """Return the text of a page in ``docs/`` with its made parts replaced by `parts`.

    Examples
    --------
    The page holds ``<!-- made: results -->`` and ``<!-- end: results -->``; the part replaces the text between them.

    >>> "<!-- made: results -->" in with_parts("benchmarks.md", {})
    True
    """
    text = DOCS.joinpath(page).read_text(encoding="utf-8")
    for name, part in parts.items():
        start, end = f"<!-- made: {name} -->\n", f"<!-- end: {name} -->"
        before, after = text.index(start) + len(start), text.index(end)
        text = f"{text[:before]}\n{part.strip()}\n\n{text[after:]}"
    return text


def write_files(files: Mapping[str, str]) -> None:
    """Write texts to their paths below ``docs/``."""
    for path, text in files.items():
        DOCS.joinpath(path).write_text(text, encoding="utf-8", newline="\n")


class Card:
    """A drawing on a white card, which is readable on dark pages, too."""

    def __init__(self, width: int, height: int, title: str) -> None:
        size = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
        tip = "viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' orient='auto-start-reverse'"
        self._lines = [
            f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' aria-label='{_quoted(title)}'>",
            f"<title>{escape(title)}</title>",
            f"<defs><marker id='tip' {tip}><path d='M0 0L8 4L0 8z' fill='#444'/></marker></defs>",
            f"<rect x='0.5' y='0.5' width='{width - 1}' height='{height - 1}' rx='8' fill='#fff' stroke='#ccc'/>",
        ]

    def box(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        """Draw a rectangle."""
        self._lines.append(
            f"<rect x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}' rx='2' fill='{fill}' stroke='#555'/>"
        )

    def text(self, x: float, y: float, text: str, *, size: int = 13, anchor: str = "start", code: bool = False) -> None:
        """Write one line of text with the baseline `y`; `x` is its start, its middle or its end (`anchor`)."""
        font = _CODE if code else _FONT
        where = f"x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='{anchor}'"
        self._lines.append(f"<text {where} fill='#222' {font}>{escape(text)}</text>")

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Draw an arrow from `x`, `y`."""
        self._lines.append(
            f"<path d='M{x:g} {y:g}L{to_x:g} {to_y:g}' fill='none' stroke='#444' marker-end='url(#tip)'/>"
        )

    def line(self, *points: tuple[float, float]) -> None:
        """Draw a thin line through points."""
        path = "L".join(f"{x:g} {y:g}" for x, y in points)
        self._lines.append(f"<path d='M{path}' fill='none' stroke='#999'/>")

    def svg(self) -> str:
        """Return the drawing as SVG."""
        return "\n".join([*self._lines, "</svg>", ""])


def _quoted(text: str) -> str:
    return escape(text, {"'": "&#39;"})

"""Write the page of ``ozx validate --report``: one HTML file about many files, without scripts or external links."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

import ozx
from ozx.cli.output import one_line
from ozx.errors import OzxError
from ozx.places.place import Place
from ozx.validation.report import SEVERITIES, Finding, Report
from ozx.validation.rules.table import RULES
from ozx.validation.validate import Outcome

Answers = Sequence[tuple[str, Outcome]]

_MOST_PICTURES = 200
_MOST_PATHS = 20
_PIXELS = 128

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #ddd; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
code, .path { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
.error { color: #a40000; } .warning { color: #8a5a00; } .note { color: #555; }
.counts { font-size: 1.3rem; }
img { background: #000; border-radius: 3px; max-width: 8rem; }
ul { margin: 0; padding-left: 1.2rem; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #e6e6e6; } th, td { border-color: #3a3a3a; }
  .error { color: #ff8a80; } .warning { color: #ffcc66; } .note { color: #aaa; }
}
"""


def to_page(answers: Answers) -> str:
    """Return the HTML page: counts, findings by rule, and each invalid file with a thumbnail if possible."""
    return "\n".join(_lines(answers)) + "\n"


def _lines(answers: Answers) -> Iterator[str]:
    reports = [answer for _, answer in answers if isinstance(answer, Report)]
    valid = sum(report.valid for report in reports)
    unread = len(answers) - len(reports)
    time = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>ozx validate: {len(answers):,} files</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{len(answers):,} files checked</h1>"
    wrong = f'<span class="error">{len(reports) - valid:,} not valid</span>'
    yield f'<p class="counts">{valid:,} valid, {wrong}, {unread:,} not read</p>'
    yield f"<p>ozx {_text(ozx.__version__)}, {time}</p>"
    yield from _rules(answers)
    yield from _failing(answers)
    yield "</body>\n</html>"


def _rules(answers: Answers) -> Iterator[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for path, answer in answers:
        if isinstance(answer, Report):
            for key in dict.fromkeys((finding.severity, finding.id) for finding in answer.findings):
                found.setdefault(key, []).append(path)
    if not found:
        yield "<p>There are no findings.</p>"
        return
    yield "<h2>Findings by rule</h2>\n<table>"
    yield '<tr><th>Rule</th><th class="number">Files</th><th>Which, and what to do</th></tr>'
    order = sorted(found.items(), key=lambda item: (SEVERITIES.index(item[0][0]), -len(item[1]), item[0][1]))
    for (severity, identifier), paths in order:
        rule = RULES[identifier]
        more = f", and {len(paths) - _MOST_PATHS:,} more" if len(paths) > _MOST_PATHS else ""
        names = ", ".join(f'<span class="path">{_text(path)}</span>' for path in paths[:_MOST_PATHS])
        yield f'<tr><td><code class="{severity}">{_text(identifier)}</code><br>{severity}: {_text(rule.title)}</td>'
        yield f'<td class="number">{len(paths):,}</td><td>{names}{more}<br>{_text(rule.repair)}</td></tr>'
    yield "</table>"


def _failing(answers: Answers) -> Iterator[str]:
    failing = [(path, answer) for path, answer in answers if isinstance(answer, OzxError) or not answer.valid]
    if not failing:
        return
    yield "<h2>Files that are not valid, or not read</h2>\n<table>\n<tr><th>Picture</th><th>File</th></tr>"
    for number, (path, answer) in enumerate(failing):
        picture = _picture(path) if number < _MOST_PICTURES and isinstance(answer, Report) else ""
        yield f'<tr><td>{picture}</td><td><span class="path">{_text(path)}</span>'
        if isinstance(answer, OzxError):
            yield f'<p class="error">{_text(answer.message)}</p></td></tr>'
        else:
            yield f"<ul>{''.join(_item(finding) for finding in answer.findings)}</ul></td></tr>"
    yield "</table>"


def _item(finding: Finding) -> str:
    where = f'<span class="path">{_text(finding.where.entry)}</span>: ' if finding.where.entry else ""
    return f'<li class="{finding.severity}"><code>{_text(finding.id)}</code> {where}{_text(finding.message)}</li>'


def _picture(path: str) -> str:
    """Return a thumbnail of a file as an HTML element; empty if the file is too damaged."""
    from ozx.images.pictures.raster import encode_png  # noqa: PLC0415 (zarr and Pillow, slow to import)
    from ozx.images.thumbnail import draw_thumbnail  # noqa: PLC0415
    from ozx.store.opening import opened_hierarchy  # noqa: PLC0415

    try:
        with opened_hierarchy(Place.parse(path)) as group:
            data = encode_png(draw_thumbnail(group, _PIXELS).pixels, {})
    except Exception:  # noqa: BLE001 (a damaged file may fail in any library; the page says what is wrong with it)
        return ""
    name = _text(os.path.basename(path))
    return f'<img alt="{name}" src="data:image/png;base64,{base64.b64encode(data).decode()}">'


def _text(text: str) -> str:
    return escape(one_line(text).encode("utf-8", "backslashreplace").decode())

"""The results of measurements: rows, tables and curves of rows, and their forms in Markdown and JSON."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np


@dataclass
class Row:
    """The measurements of one program or task, with the times of all rounds.

    Attributes
    ----------
    at
        The place of the row on a curve: the number of entries, MiB or jobs.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    growth: int = 0
    peak: int = 0
    read: int = 0
    requests: int = 0
    at: float = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass
class Table:
    """Rows measured in turns: ozx and then its peers; without peers, several uses of ozx.

    Attributes
    ----------
    wanted_ratios
        The goal for each peer: its time divided by the time of ozx; below 1 if ozx may take longer than the peer.
    note
        A remark, for example which peer is missing.
    """

    kind: ClassVar[str] = "table"
    title: str
    rows: list[Row]
    wanted: str = ""
    entries: int = 0
    bytes: int = 0
    show_memory: bool = False
    show_read: bool = False
    show_requests: bool = False
    peers: bool = True
    wanted_ratios: dict[str, float] = field(default_factory=dict)
    note: str = ""

    def ratio(self, row: Row) -> float:
        """Return the time of a row divided by the time of ozx."""
        return row.median / self.rows[0].median

    def to_markdown(self) -> str:
        head = ["", "seconds (min–max)"]
        head += ["ozx is"] if self.peers else []
        head += ["µs per entry"] if self.entries else []
        head += ["GB/s"] if self.bytes else []
        head += ["requests"] if self.show_requests else []
        head += ["bytes read"] if self.show_read else []
        head += ["RSS growth MB", "peak MB"] if self.show_memory else ["peak MB"]
        table = markdown_table(head, (self._cells(row) for row in self.rows))
        return _section(self.title, self.wanted, table, self.note)

    def _cells(self, row: Row) -> Iterator[str]:
        yield row.name
        yield f"{seconds(row.median)} ({seconds(min(row.seconds))}–{seconds(max(row.seconds))})"
        if self.peers:
            yield "" if row is self.rows[0] else compared(self.ratio(row))
        if self.entries:
            yield f"{row.median / self.entries * 1e6:.1f}"
        if self.bytes:
            yield f"{self.bytes / row.median / 1e9:.2f}"
        if self.show_requests:
            yield f"{row.requests:,}"
        if self.show_read:
            yield f"{row.read:,}"
        if self.show_memory:
            yield f"{row.growth / 1e6:.0f}"
        yield f"{row.peak / 1e6:.0f}" if row.peak else "–"


@dataclass
class Curves:
    """Curves of time and memory against a growing quantity; rows of the same name make one curve.

    Attributes
    ----------
    across
        The growing quantity: ``entries``, ``MiB`` or ``jobs``.
    """

    kind: ClassVar[str] = "curves"
    title: str
    rows: list[Row]
    across: str
    wanted: str = ""
    note: str = ""

    def curves(self) -> dict[str, list[Row]]:
        """Return the points of each curve, from left to right."""
        curves: dict[str, list[Row]] = {}
        for row in sorted(self.rows, key=lambda row: row.at):
            curves.setdefault(row.name, []).append(row)
        return {row.name: curves[row.name] for row in self.rows}

    def to_markdown(self) -> str:
        curves = self.curves()
        with_memory = {name: any(row.peak for row in rows) for name, rows in curves.items()}
        head = [self.across]
        for name in curves:
            head += [f"{name}, s", "peak MB"] if with_memory[name] else [f"{name}, s"]
        places = sorted({row.at for row in self.rows})
        table = markdown_table(head, (self._cells(curves, with_memory, place) for place in places))
        slopes = [f"{name} {slope(rows):.2f}" for name, rows in curves.items() if len(rows) > 1]
        if self.across != "jobs" and slopes:
            begin = f"Slopes of log(time) against log({self.across}) (1 is linear, 0 is constant)"
            table += ["", f"{begin}: {'; '.join(slopes)}."]
        return _section(self.title, self.wanted, table, self.note)

    def _cells(self, curves: dict[str, list[Row]], with_memory: dict[str, bool], place: float) -> Iterator[str]:
        yield f"{place:,.0f}"
        for name, rows in curves.items():
            row = next((row for row in rows if row.at == place), None)
            yield "–" if row is None else seconds(row.median)
            if with_memory[name]:
                yield f"{row.peak / 1e6:.0f}" if row is not None and row.peak else "–"


@dataclass
class Facts:
    """Numbers without a comparison."""

    kind: ClassVar[str] = "facts"
    title: str
    rows: list[tuple[str, str]]
    wanted: str = ""

    def to_markdown(self) -> str:
        return _section(self.title, self.wanted, markdown_table(["", ""], self.rows))


Figure = Table | Curves | Facts


def to_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON, which `from_json` reads; zeros and empty values are left out."""
    document = {
        "kind": figure.kind,
        **{name: value for name, value in asdict(figure).items() if value or name == "rows"},
    }
    if not isinstance(figure, Facts):
        document["peers"] = getattr(figure, "peers", True)
        document["rows"] = [{name: value for name, value in row.items() if value} for row in document["rows"]]
        for row in document["rows"]:
            row["seconds"] = [float(f"{value:.5g}") for value in row["seconds"]]
    return document


def from_json(document: dict[str, Any]) -> Figure:
    """Return the figure that `to_json` has written."""
    fields = dict(document)
    kind = {each.kind: each for each in (Table, Curves, Facts)}[fields.pop("kind")]
    if kind is not Table:
        fields.pop("peers", None)
    fields["rows"] = [tuple(row) if kind is Facts else Row(**row) for row in fields["rows"]]
    return kind(**fields)


def slope(rows: list[Row]) -> float:
    """Return the exponent of the growth of time: the least-squares slope of the logarithms of time and quantity."""
    return float(np.polyfit(np.log([row.at for row in rows]), np.log([row.median for row in rows]), 1)[0])


def _section(title: str, wanted: str, table: list[str], note: str = "") -> str:
    before = [f"Wanted: {wanted}", ""] if wanted else []
    return "\n".join([f"### {title}", "", *before, *table, *(["", note] if note else [])]) + "\n"


def compared(ratio: float) -> str:
    """Return in words how fast ozx is, compared with a peer that takes `ratio` times as long as ozx."""
    return f"{ratio:.2f}× faster" if ratio >= 1 else f"{1 / ratio:.2f}× slower"


def seconds(value: float) -> str:
    """Return a time with four decimals, or with six if it is below a millisecond."""
    return f"{value:.4f}" if value >= 0.001 else f"{value:.6f}"


def markdown_table(head: list[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]

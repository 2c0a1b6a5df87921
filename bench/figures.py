"""The results of measurements: rows, tables and curves of rows, and their forms in Markdown and JSON."""

from __future__ import annotations

import itertools
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
class SideBySide:
    """One table made of several tables with the same rows; it has a column for the condition of each table.

    Attributes
    ----------
    tables
        The tables, by condition; the conditions are the words in which the titles differ.
    """

    title: str
    tables: dict[str, Table]
    wanted: str = ""
    note: str = ""

    def to_markdown(self) -> str:
        first, *others = self.tables.values()
        conditions: dict[str, list[str]] = {}
        for name, table in self.tables.items():
            for goal in filter(None, table.wanted.split("; ")):
                conditions.setdefault(goal, []).append(name)
        goals = [
            goal if len(names) == len(self.tables) else f"{goal}, in {_columns(names)}"
            for goal, names in conditions.items()
        ]
        rows = []
        for number, row in enumerate(first.rows):
            same = [table.rows[number] for table in (first, *others)]
            cells = [
                seconds(each.median) if number == 0 else f"{seconds(each.median)} ({compared(table.ratio(each))})"
                for table, each in zip((first, *others), same, strict=True)
            ]
            peak = f"{max(each.peak for each in same) / 1e6:.0f}"
            rows.append([row.name, *cells, *([f"{row.requests:,}"] if first.show_requests else []), peak])
        head = ["seconds (ozx is)", *self.tables, *(["requests"] if first.show_requests else []), "peak MB"]
        return _section(self.title, "; ".join(goals), markdown_table(head, rows), self.note)


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
#: Tables are joined if their titles share at least this number of words.
_ALIKE = 6


def side_by_side(figures: list[Figure]) -> list[Any]:
    """Return the figures; join tables that have the same rows, and titles that differ only in one condition."""
    joined: list[list[Any]] = []
    for figure in figures:
        place = next((place for place in joined if _belongs(figure, place)), None)
        if place is None:
            joined.append([figure])
        else:
            place.append(figure)
    return [place[0] if len(place) == 1 else _join(place) for place in joined]


def _belongs(figure: Figure, tables: list[Any]) -> bool:
    """Return whether a table can be joined to `tables`: it has the same rows, and nearly the same title."""
    if not isinstance(figure, Table) or not isinstance(tables[0], Table) or figure.entries:
        return False
    titles = [figure.title, tables[0].title]
    # The words after a colon name the measured task; the words before the colon name the condition.
    if ": " in figure.title:
        is_alike = len({title.rpartition(": ")[2] for title in titles}) == 1
    else:
        is_alike = sum(map(len, _common_words(titles))) >= _ALIKE
    return is_alike and [row.name for row in figure.rows] == [row.name for row in tables[0].rows]


def _join(tables: list[Table]) -> SideBySide:
    before, after = _common_words([table.title for table in tables])
    end = -len(after) or None
    conditions = {" ".join(table.title.split()[len(before) : end]).strip(",;:"): table for table in tables}
    title = " ".join([*before, "…", *after]).replace(", …", ":" if ": " in tables[0].title else ", …")
    return SideBySide(title, conditions, note=tables[0].note)


def _common_words(titles: list[str]) -> tuple[list[str], list[str]]:
    """Return the words with which all titles begin, and the words with which all titles end.

    Examples
    --------
    >>> _common_words(["a plane of 3 across x", "a plane of 3 across y"])
    (['a', 'plane', 'of', '3', 'across'], [])
    """
    words = [title.split() for title in titles]
    before = list(itertools.takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False)))
    rest = [each[len(before) :][::-1] for each in words]
    after = list(itertools.takewhile(lambda each: len(set(each)) == 1, zip(*rest, strict=False)))
    return [each[0] for each in before], [each[0] for each in after][::-1]


def _columns(names: list[str]) -> str:
    """Return names of columns as words of a sentence.

    Examples
    --------
    >>> _columns(["lz4"]), _columns(["no delay", "20 ms a request"])
    ('the column *lz4*', 'the columns *no delay* and *20 ms a request*')
    """
    return f"the column{'s' if len(names) > 1 else ''} {' and '.join(f'*{name}*' for name in names)}"


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

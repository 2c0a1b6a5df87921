"""Draw the pictures of docs/benchmarks.md; the same figures always give the same bytes of SVG."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from figures import Curves, Figure, Table, slope
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import LogLocator, NullLocator

OWN, OTHER_WAYS, PEER, WANTED, INK = "#0b6e8a", "#8fbecb", "#b9bec6", "#c2410c", "#30343b"
CURVES = ("#0b6e8a", "#7a8290", "#c2410c", "#6b8e23", "#7b4fa3")
STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#c9ccd2",
    "axes.grid": True,
    "axes.grid.axis": "x",
    "axes.labelcolor": INK,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],  # a short list, because each text in the SVG repeats it
    "font.size": 8.5,
    "grid.color": "#e9ebee",
    "legend.fontsize": 8,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",  # text stays text, which is small and can be searched
    "svg.hashsalt": "ozx",
    "xtick.color": INK,
    "xtick.minor.size": 0,
    "ytick.color": INK,
    "ytick.left": False,
}
WIDTH, BAR, AROUND = 7.6, 0.25, 0.72  # inches


def draw(group: str, figures: list[Figure], folder: Path) -> Path | None:
    """Draw the tables and curves of a group into one picture; return its path, or None if there is nothing to draw."""
    bars = [figure for figure in figures if isinstance(figure, Table) and figure.peers]
    curves = [figure for figure in figures if isinstance(figure, Curves)]
    if not bars and not curves:
        return None
    folder.mkdir(exist_ok=True)
    path = folder / f"{group}.svg"
    heights = [AROUND + BAR * len(table.rows) for table in bars] + [2.7] * len(curves)
    with mpl.rc_context(STYLE):
        picture = Picture(figsize=(WIDTH, sum(heights)), layout="constrained")
        rows = picture.add_gridspec(len(heights), 2, height_ratios=heights, width_ratios=[1.5, 1])
        for number, table in enumerate(bars):
            draw_bars(picture.add_subplot(rows[number, :]), table, last=number == len(bars) - 1)
        for number, each in enumerate(curves, len(bars)):
            draw_times(picture.add_subplot(rows[number, 0]), each)
            draw_memory(picture.add_subplot(rows[number, 1]), each)
        picture.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path


def draw_bars(axes: Axes, table: Table, *, last: bool) -> None:
    """Draw times as multiples of the time of ozx, with whiskers from the fastest to the slowest round."""
    own = table.rows[0].median
    lows, highs = [], []
    for place, row in enumerate(table.rows):
        ratio, low, high = table.ratio(row), min(row.seconds) / own, max(row.seconds) / own
        is_ours = row.name.lower().startswith("ozx")
        color = OWN if place == 0 else OTHER_WAYS if is_ours else PEER
        axes.barh(place, ratio - 1, left=1, height=0.62, color=color)
        axes.plot([low, high], [place, place], color=INK, linewidth=0.9, marker="|", markersize=4, markeredgewidth=0.9)
        lows.append(min(low, table.wanted_ratios.get(row.name, low)))
        highs.append(max(high, table.wanted_ratios.get(row.name, high)))
        if place:
            at = max(high, 1, table.wanted_ratios.get(row.name, 1))
            axes.annotate(
                f"{figure(ratio)} ×", (at, place), (5, 0), textcoords="offset points", va="center", fontsize=8
            )
        if row.name in table.wanted_ratios:
            wanted = table.wanted_ratios[row.name]
            axes.plot([wanted, wanted], [place - 0.42, place + 0.42], color=WANTED, linewidth=1.8)
    axes.axvline(1, color=OWN, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(min(lows) / 1.25, max(highs) * 1.8)
    wide = max(highs) / min(lows) > 100
    axes.xaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5), numticks=20))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: figure(value))
    axes.set_yticks(range(len(table.rows)), [short(row.name) for row in table.rows])
    axes.set_ylim(len(table.rows) - 0.4, -0.6)
    axes.set_title(short(table.title.partition(";")[0], 68), x=0)
    if last:
        axes.set_xlabel("time, as a multiple of ozx's (log); line: fastest to slowest round; orange: what was wanted")


def draw_times(axes: Axes, curves: Curves) -> None:
    """Draw seconds against the growing quantity, both on logarithmic axes, with the slopes in the legend."""
    for color, (name, rows) in zip(CURVES * 2, curves.curves().items(), strict=False):
        label = name if curves.across == "jobs" or len(rows) < 2 else f"{name}: slope {slope(rows):.2f}"
        places, medians = [row.at for row in rows], [row.median for row in rows]
        spread = [[row.median - min(row.seconds) for row in rows], [max(row.seconds) - row.median for row in rows]]
        line = "--" if not name.lower().startswith("ozx") else "-"
        axes.errorbar(
            places, medians, spread, color=color, label=label, marker="o", markersize=3.5, linestyle=line, linewidth=1.4
        )
    frame_curves(axes, curves)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1,) if high / low > 100 else (1, 2, 5), numticks=20))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: figure(value))
    axes.set_ylabel("seconds")
    axes.set_title(curves.title.partition(" (")[0])
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1))
    axes.set_ylim(low, high * (high / low) ** (0.14 * len(curves.curves())))  # room for the legend


def draw_memory(axes: Axes, curves: Curves) -> None:
    """Draw peak memory against the growing quantity."""
    highest = 0.0
    for color, (name, rows) in zip(CURVES * 2, curves.curves().items(), strict=False):
        known = [row for row in rows if row.peak]
        line = "--" if not name.lower().startswith("ozx") else "-"
        axes.plot(
            [row.at for row in known],
            [row.peak / 1e6 for row in known],
            line,
            color=color,
            marker="o",
            markersize=3.5,
            linewidth=1.4,
        )
        highest = max([highest, *(row.peak / 1e6 for row in known)])
    frame_curves(axes, curves)
    axes.set_ylim(0, highest * 1.15 or 1)
    axes.set_title("peak memory, MB")


def frame_curves(axes: Axes, curves: Curves) -> None:
    axes.set_xscale("log")
    places = sorted({row.at for row in curves.rows})
    axes.set_xticks(places, [count(place) for place in places])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(curves.across)
    axes.grid(visible=True, axis="y")


def count(value: float) -> str:
    """Return a number as text; a power of ten from 10³ to 10⁹ is written with its exponent."""
    for power in range(3, 10):
        if value == 10**power:
            return f"10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(digit)] for digit in str(power))}"
    return f"{value:,.0f}"


def figure(value: float) -> str:
    """Return a ratio with two significant digits, or as a whole number from 10 on.

    Examples
    --------
    >>> figure(0.123), figure(2.0), figure(15.89), figure(756.3)
    ('0.12', '2', '16', '756')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def short(text: str, length: int = 46) -> str:
    """Return a text, shortened to `length` characters if it is longer."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"

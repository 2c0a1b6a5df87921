"""Command ``ozx info``: its text; the fields of its JSON are those of `ozx.operations.info.Inspection`."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence

import click

from ozx.cli.arguments import expand_argument
from ozx.cli.exit_codes import DONE, batch_code
from ozx.cli.options import access_options, node_option
from ozx.cli.output import format_bytes, one_line, print_json, say_error
from ozx.errors import OzxError
from ozx.ome.comment import parse_comment
from ozx.ome.images import ImageSummary, LevelSummary
from ozx.ome.model import Axis, CoordinateSystem, End, Transformation
from ozx.operations.info import Container, Inspection, NodeSummary, PlateSummary, inspect
from ozx.zarr.entry_order import component_order
from ozx.zarr.keys import missing_groups

# Draw the tree of a hierarchy as text.

_MOST_LINES = 14
_DEEPEST = 10
_MORE = "…"


def draw_tree(nodes: Sequence[NodeSummary], width: int) -> list[str]:
    """Return the nodes below the root as indented lines of at most `width` characters.

    Groups end in a slash; the arrays of a group share a line. A long tree is abbreviated: the first sub-group of each
    group is drawn, the others are counted.
    """
    types = {node.path: node.node_type for node in nodes}
    children: dict[str, list[str]] = {}
    for path in (*types, *missing_groups(types)):
        if path:
            children.setdefault(path.rpartition("/")[0], []).append(path)
    most = len(nodes) if len(nodes) <= _MOST_LINES * 4 else 1
    lines = _draw("", types, children, 0, most)
    if len(lines) > _MOST_LINES:
        lines = _draw("", types, children, 0, 1)
    return [line if len(line) <= width else line[: width - 1] + _MORE for line in lines]


def _draw(
    parent: str, types: Mapping[str, str | None], children: Mapping[str, Collection[str]], depth: int, most: int
) -> list[str]:
    indent, lines = "  " * depth, []
    paths = {path.rpartition("/")[2]: path for path in children.get(parent, ())}
    names = sorted(paths, key=component_order)
    arrays = [name for name in names if types.get(paths[name]) == "array"]
    groups = [name for name in names if types.get(paths[name]) != "array"]
    if len(arrays) > _MOST_LINES:
        shown = f"{one_line(arrays[0])}  {one_line(arrays[1])}  {_MORE}  {one_line(arrays[-1])}"
        lines.append(f"{indent}{shown}  ({len(arrays):,} arrays)")
    elif arrays:
        lines.append(indent + "  ".join(map(one_line, arrays)))
    if groups and depth >= _DEEPEST:
        return [*lines, indent + _MORE]
    for name in groups[:most]:
        kind = types.get(paths[name], "missing")
        remark = {"missing": "  (no metadata)", None: "  (unreadable metadata)"}.get(kind, "")
        lines.append(f"{indent}{one_line(name)}/{remark}")
        lines += _draw(paths[name], types, children, depth + 1, most)
    if len(groups) > most:
        rest = len(groups) - most
        lines.append(f"{indent}{_MORE} {rest:,} more group{'s' if rest != 1 else ''}")
    return lines


# Format an `Inspection` as the text that ``ozx info`` prints.

_WIDTH = 80
_LABEL = 11
_MOST_ROWS = 12
_MOST_NOTES = 8
_LONGEST, _SHORTEST = 40, 12  # characters of a cell

_TIMES = "×"
_NOTHING = "–"
_ARROW = "→"

# OME-Zarr 0.5, "axes": units SHOULD be one of these, spelled out.
_UNITS = {
    "angstrom": "Å",
    "picometer": "pm",
    "nanometer": "nm",
    "micrometer": "µm",
    "millimeter": "mm",
    "centimeter": "cm",
    "meter": "m",
    "nanosecond": "ns",
    "microsecond": "µs",
    "millisecond": "ms",
    "second": "s",
    "minute": "min",
    "hour": "h",
    "day": "d",
}


def describe(inspection: Inspection) -> str:
    """Return the text that describes an `inspection`, at most 80 columns wide unless a level has many axes."""
    images = inspection.images
    lines = _head(inspection)
    lines += _whole(inspection)
    if inspection.image_count > 1:
        # The fields of a plate are alike; the images of a series are not.
        is_big_plate = inspection.plate is not None and inspection.image_count > _MOST_ROWS
        shown = [_summary(image) for image in images[: 3 if is_big_plate else _MOST_ROWS]]
        lines += [
            "",
            f"{inspection.image_count:,} images",
            *_table(shown, most=_WIDTH),
            *_more(inspection.image_count - len(shown)),
        ]
    if images:
        lines += _image(images[0], is_only=inspection.image_count == 1)
    elif inspection.arrays:
        lines += ["", "arrays", *_levels(inspection.arrays, ())]
    if inspection.labels:
        lines += ["", "labels", *_first([_summary(image) for image in inspection.labels])]
    tree = draw_tree(inspection.nodes, _WIDTH - 2)
    if tree:
        lines += ["", "hierarchy", *(f"  {line}" for line in tree)]
    lines += _declared("extensions", [(node.path, node.extensions) for node in inspection.nodes])
    lines += _declared("conventions", [(node.path, node.conventions) for node in inspection.nodes])
    if inspection.notes:
        lines += ["", "notes"]
        for note in inspection.notes[:_MOST_NOTES]:
            lines += textwrap.wrap(one_line(note), _WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines += _more(len(inspection.notes) - _MOST_NOTES)
    return "\n".join(lines)


def _declared(title: str, nodes: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    """Return one line per extension or convention, with the nodes that declare it."""
    found: dict[str, list[str]] = {}
    for path, names in nodes:
        for name in names:
            found.setdefault(name, []).append(path or ".")
    if not found:
        return []
    rows = [
        [name, ", ".join(paths[:3]) + (f", {_MORE} {len(paths) - 3:,} more" if len(paths) > 3 else "")]
        for name, paths in found.items()
    ]
    return ["", title, *_first(rows)]


def _head(inspection: Inspection) -> list[str]:
    version = "" if inspection.ome_version is None else f", OME-Zarr {inspection.ome_version}"
    if inspection.zarr_format is not None:
        version += f", Zarr v{inspection.zarr_format}"
    what = "files" if inspection.container.format == "directory" else "entries"
    decoded = f"{format_bytes(inspection.decoded_bytes)} ({inspection.decoded_bytes:,} bytes)"
    if inspection.bytes:
        decoded += f", {inspection.decoded_bytes / inspection.bytes:.1f} : 1"
    return [
        *_row("name", inspection.name),
        *_row("kind", inspection.kind + version),
        *_row("container", _container(inspection.container)),
        *_row(
            "size", f"{format_bytes(inspection.bytes)} ({inspection.bytes:,} bytes) in {inspection.entries:,} {what}"
        ),
        *(_row("decoded", decoded) if inspection.decoded_bytes else ()),
        *_recovered(inspection.recovered),
    ]


def _recovered(losses: Sequence[str]) -> list[str]:
    """Return what a recovered file lacks, each loss on a line of its own."""
    indent, lines = " " * _LABEL, list[str]()
    for loss in losses[:_MOST_NOTES]:
        first = indent if lines else f"{'recovered':<{_LABEL}}"
        lines += textwrap.wrap(one_line(loss), _WIDTH, initial_indent=first, subsequent_indent=f"{indent}  ")
    return lines + [indent + line.strip() for line in _more(len(losses) - _MOST_NOTES)]


def _container(container: Container) -> str:
    if container.format == "directory":
        return "directory"
    comment = parse_comment((container.comment or "").encode("utf-8", "replace"))
    if comment.version is not None:
        says = f"comment says OME-Zarr {comment.version}"
    elif container.comment:
        says = f"comment {container.comment!r}"
    else:
        says = "no comment"
    order = "metadata first" if container.json_first else "order of metadata not declared"
    return f"{'ZIP64' if container.zip64 else 'ZIP without ZIP64'}, {order}, {says}"


def _plate(plate: PlateSummary) -> str:
    fields = [well.fields for well in plate.wells if well.fields is not None]
    low, high = (min(fields), max(fields)) if fields else (0, 0)
    each = f"{low:,} each" if low == high else f"{low:,} to {high:,} each"
    return (
        f"{len(plate.rows):,} rows {_TIMES} {len(plate.columns):,} columns; "
        f"{len(plate.wells):,} wells, {sum(fields):,} fields, {each}"
    )


def _whole(inspection: Inspection) -> list[str]:
    """Return the lines on what holds the images: a plate, a scene or a collection."""
    lines: list[str] = []
    if inspection.plate is not None:
        lines += _row("plate", _plate(inspection.plate))
    if inspection.scene is not None:
        lines += _coordinates(inspection.scene.systems, inspection.scene.transformations, None)
    if inspection.collection is not None:
        rows = [
            ["  " * node.depth + (node.name or "?"), node.type or "?", node.path or ""]
            for node in inspection.collection.nodes
        ]
        lines += ["", "nodes of the collection", *_first(rows)]
    return lines


def _image(image: ImageSummary, *, is_only: bool) -> list[str]:
    lines = []
    if not is_only:
        title = f"image {one_line(image.path or '.')}" + (f": {one_line(image.name)}" if image.name else "")
        lines += ["", _short_inside(title, _WIDTH)]
    lines += ["", "axes", *_axes(image)]
    if image.channels:
        rows = [
            [str(number), channel.label or "?", _color(channel.color), _contrast(channel.contrast)]
            for number, channel in enumerate(image.channels)
        ]
        lines += ["", "channels", *_first(rows, "><<<")]
    lines += ["", "levels", *_levels(image.levels, image.axes)]
    if image.records is not None:
        frames = f"({image.records.frames:,} frame{'s' if image.records.frames != 1 else ''})"
        text = f"frame records: {', '.join(map(one_line, image.records.fields))} {frames}"
        lines += ["", *textwrap.wrap(text, _WIDTH, subsequent_indent="  ")]
    if len(image.systems) > 1 or image.transformations:
        lines += _coordinates(image.systems, image.transformations, image.system)
    return lines


def _coordinates(
    systems: Sequence[CoordinateSystem], transformations: Sequence[Transformation], own: str | None
) -> list[str]:
    """Return a line per coordinate system and per transformation; `own`, the system of the levels, gets a mark."""
    rows = []
    for system in systems:
        axes = " ".join(one_line(axis.name or "?") for axis in system.axes)
        units = ", ".join(dict.fromkeys(_UNITS.get(axis.unit, axis.unit) for axis in system.axes if axis.unit))
        mark = "that of the levels" if own is not None and system.name == own else ""
        rows.append([one_line(system.name or "?"), axes, units, mark])
    steps = [[one_line(step.type or "?"), _end(step.input), _ARROW, _end(step.output)] for step in transformations]
    lines = ["", "coordinate systems", *_first(rows)] if rows else []
    return lines + (["", "transformations", *_first(steps)] if steps else [])


def _end(end: End) -> str:
    name = one_line(end.name or "?")
    return name if end.path is None else f"{name} of {one_line(end.path)}"


def _axes(image: ImageSummary) -> list[str]:
    """Return a line per axis: length in pixels, pixel size, and total size in the axis unit."""
    level = image.levels[0] if image.levels else None
    lengths = level.shape if level is not None else None
    scales = level.scale if level is not None else None
    rows = []
    for number, axis in enumerate(image.axes):
        length = lengths[number] if lengths is not None and number < len(lengths) else None
        scale = scales[number] if scales is not None and number < len(scales) else None
        unit = "" if axis.unit is None else _UNITS.get(axis.unit, axis.unit)
        row = [axis.name or "?", "?" if length is None else f"{length:,}", *[""] * 7]
        if scale is not None and (unit or scale != 1):
            row[2:6] = ["px" if axis.type == "space" else "", _TIMES, f"{scale:,.6g}", unit]
            row[6:] = ["", "", ""] if length is None else ["=", f"{length * scale:,.6g}", unit]
        rows.append(row)
    return _table(rows, "<><<><<><", gap=1)


def _levels(levels: Sequence[LevelSummary], axes: tuple[Axis, ...]) -> list[str]:
    shown = list(levels[:_MOST_ROWS])
    # One column per axis if all levels have the same number, so that lengths align.
    dimensions = {len(level.shape) for level in shown if level.shape is not None}
    count = dimensions.pop() if len(dimensions) == 1 else 0
    names = [axis.name or "?" for axis in axes] if len(axes) == count else [f"[{number}]" for number in range(count)]
    if not 0 < count <= 6:
        count, names = 1, ["shape"]
    header = ["path", *names, "type", "chunks", "shards", "codecs"]
    rows = [[level.path or ".", *_lengths(level, count), *_storage(level)] for level in shown]
    align = "<" + ">" * count + "<<<<"
    lines = _table([header, *rows], align)
    if max(map(len, lines)) > _WIDTH and len({(row[-4], row[-1]) for row in rows}) == 1:
        lines = _table([[*row[:-4], *row[-3:-1]] for row in [header, *rows]], align[:-2])
        lines.append(f"  all levels: {one_line(rows[0][-4])}; {one_line(rows[0][-1])}")
    return [*lines, *_more(len(levels) - len(shown))]


def _lengths(level: LevelSummary, count: int) -> list[str]:
    if level.shape is None or count != len(level.shape):
        return [_product(level.shape), *[""] * (count - 1)] if count == 1 else ["?"] * count
    return [f"{length:,}" for length in level.shape]


def _storage(level: LevelSummary) -> list[str]:
    if level.codecs is None:
        return ["missing", "", "", ""]
    # Shards have their own column.
    codecs = [codec for codec in level.codecs if codec != "sharding_indexed"]
    shards = _NOTHING if level.shards is None else _product(level.shards)
    return [level.dtype or "?", _product(level.chunks), shards, ", ".join(codecs) or _NOTHING]


def _summary(image: ImageSummary) -> list[str]:
    """Return the table row of an image: path, name, shape, type, number of levels."""
    level = image.levels[0] if image.levels else None
    shape = None if level is None else level.shape
    if shape is not None and len(shape) == len(image.axes):
        size = f"{''.join(axis.name or '?' for axis in image.axes)} {_product(shape)}"
    else:
        size = _product(shape)
    levels = f"{len(image.levels):,} level{'s' if len(image.levels) != 1 else ''}"
    return [image.path or ".", image.name or "", size, (level.dtype if level else None) or "?", levels]


def _color(color: str | None) -> str:
    return "" if color is None else f"#{color}"


def _contrast(contrast: tuple[float, float] | None) -> str:
    return "" if contrast is None else f"{contrast[0]:,.6g} to {contrast[1]:,.6g}"


def _product(lengths: tuple[int, ...] | None) -> str:
    if lengths is None:
        return "?"
    return _TIMES.join(f"{length:,}" for length in lengths) or "scalar"


def _row(label: str, text: str) -> list[str]:
    return [f"{label:<{_LABEL}}{_short(one_line(text), _WIDTH - _LABEL)}"]


def _more(count: int) -> list[str]:
    return [f"  {_MORE} {count:,} more"] if count > 0 else []


def _first(rows: Sequence[Sequence[str]], align: str | None = None) -> list[str]:
    """Return the first rows of a table, and how many more there are."""
    return [*_table(rows[:_MOST_ROWS], align, most=_WIDTH), *_more(len(rows) - _MOST_ROWS)]


def _table(rows: Sequence[Sequence[str]], align: str | None = None, gap: int = 2, most: int | None = None) -> list[str]:
    """Return a table as lines with aligned columns; `align` has ``<`` or ``>`` for each column.

    Cells are cut in their middle, because long names differ at their ends: to 40 characters, and the widest columns
    until a line has at most `most` characters.
    """
    if not rows:
        return []
    cells = [[_short_inside(one_line(cell), _LONGEST) for cell in row] for row in rows]
    sides = align or "<" * len(cells[0])
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    while most is not None and sum(width + gap for width in widths if width) > most and max(widths) > _SHORTEST:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in cells:
        columns = zip(row, sides, widths, strict=True)
        parts = [f"{_short_inside(cell, width):{side}{width}}" for cell, side, width in columns if width]
        lines.append(("  " + (" " * gap).join(parts)).rstrip())
    return lines


def _short_inside(text: str, width: int) -> str:
    end = (width - 1) // 2
    return text if len(text) <= width else text[: width - 1 - end] + _MORE + text[len(text) - end :]


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + _MORE


@click.command("info")
@click.argument("paths", metavar="FILE|DIR...", nargs=-1, required=True, type=click.Path(), callback=expand_argument)
@click.option(
    "--json", "as_json", is_flag=True, help="Print everything as JSON, a document for each file (jq -s . makes a list)."
)
@node_option
@access_options
def command(*, paths: tuple[str, ...], node: str, as_json: bool) -> int:
    """Describe .ozx files or OME-Zarr directories.

    Prints one screen of text for each file or directory. It shows name, axes and sizes with units, channels, resolution
    levels, labels, storage, and missing or malformed metadata. No pixels are read.

    FILE may be a URL, and may name a node: cells.ozx/labels/nuclei, or cells.ozx|zip:labels/nuclei/ (quote
    it in a shell).

    \b
    Examples:
      ozx info cells.ozx
      ozx info cells.ome.zarr --json
      ozx info packed/*.ozx --json > survey.json
      ozx info cells.ozx/labels/nuclei
    """
    if len(paths) == 1:
        _print(paths[0], node, as_json=as_json)
        return DONE
    from ozx.flow.batch import describe_failure  # noqa: PLC0415 (one file needs no threads)

    failures = []
    for number, path in enumerate(paths):
        try:
            if number and not as_json:
                click.echo()
            _print(path, node, as_json=as_json)
        except OzxError as error:
            say_error(str(error), error.rule, error.hint)
            failures.append(describe_failure(error))
    return batch_code(failures)


def _print(path: str, node: str, *, as_json: bool) -> None:
    inspection = inspect(path, node)
    if as_json:
        print_json(inspection.to_dict())
    else:
        click.echo(describe(inspection))

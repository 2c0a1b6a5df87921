"""The mark of a recovered file: `ozx.recovered` in the root's attributes says what the file lacks.

Chunks that are missing are legal: readers show the fill value, and nothing tells it from dark pixels. So `recover`
writes a list of losses into the root, which stays until it is removed by name. Each loss is an object:

- `node`: the path of the image, of the label image, or of an array that is no level of an image;
- `level`: the path of the level's array, relative to `node`, as in ``datasets``;
- `missing` and `of`: the number of chunks that are missing, and of all chunks of the array (not of its shards);
- `doubtful` instead of `missing`: the number of chunks that no checksum proves, so that their pixels may be wrong;
- `may_be_empty`: true if the chunks may never have been written, because the directory of the file was lost, too;
- `within`: for each axis, start and stop in pixels of the box around them.

Without `missing` and `of`, pixels in the box are missing; without `within`, all of it is. A last object may have only
`more`, the number of further arrays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ozx.errors import FormatError
from ozx.zarr.json_reading import Document, as_list, as_object, as_text, parse_strictly
from ozx.zarr.keys import METADATA

#: The attribute of ozx, and the list in it.
OZX, RECOVERED = "ozx", "recovered"
#: The most losses that a root lists, because every program that opens the file reads them.
MOST_LISTED = 100

Loss = dict[str, Any]
#: Start and stop in pixels by the name of the axis.
Pixels = Mapping[str, Sequence[int]]


def describe_losses(root: Any) -> tuple[str, ...]:
    """Return what the root's attributes say about losses, one sentence each; empty if there is no mark."""
    return tuple(map(describe_loss, losses_of(as_object(root))))


def losses_of(attributes: Mapping[str, Any]) -> list[Loss]:
    """Return the losses that the root's attributes list."""
    return [loss for loss in as_list(as_object(attributes.get(OZX)).get(RECOVERED)) if isinstance(loss, dict)]


def describe_loss(loss: Loss) -> str:
    """Return a loss as one sentence.

    Examples
    --------
    >>> describe_loss({"node": "labels/cells", "level": "0", "missing": 2, "of": 9, "within": {"y": [0, 64]}})
    '2 of 9 chunks of level 0 of labels/cells are missing, within y=0:64'
    >>> describe_loss({"node": "", "level": "0", "within": {"y": [0, 9]}}), describe_loss({"node": "A/1"})
    ('pixels of level 0 are missing, within y=0:9', 'A/1 is missing')
    """
    if more := _count(loss, "more"):
        return f"{more:,} more {'array lacks' if more == 1 else 'arrays lack'} chunks"
    what = describe_array(loss.get("node"), loss.get("level"))
    where = describe_pixels(as_object(loss.get("within")))
    chunks, total = _count(loss, "doubtful") or _count(loss, "missing"), _count(loss, "of")
    is_one = chunks == 1 if chunks and total else not where
    subject = (
        f"{chunks:,} of {total:,} chunks of {what}" if chunks and total else f"pixels of {what}" if where else what
    )
    lacks = "is missing" if is_one else "are missing"
    if loss.get("may_be_empty") is True:
        lacks += " or was empty" if is_one else " or were empty"
    return f"{subject} {'may be wrong' if 'doubtful' in loss else lacks}{f', within {where}' if where else ''}"


def describe_array(node: Any, level: Any) -> str:
    """Return the name of a level of an image, of another array, or of another node, as part of a sentence."""
    names = [f"level {_name(level)}" if _name(level) else "", _name(node)]
    return " of ".join(filter(None, names)) or "the array at the root"


def describe_pixels(within: Pixels) -> str:
    """Return ranges of pixels as text: ``c=1:2, y=192:256``; those that are no two integers are left out."""
    return ", ".join(f"{_name(axis)}={ends[0]}:{ends[1]}" for axis, ends in within.items() if _is_range(ends))


def pixels_by_axis(axes: Sequence[str | None], region: Iterable[tuple[int, int]]) -> dict[str, list[int]]:
    """Return a box of pixels by the name of the axis; an axis without a name of its own is ``axis 0``."""
    pixels: dict[str, list[int]] = {}
    for number, ends in enumerate(region):
        axis = axes[number] if number < len(axes) else None
        pixels[axis if axis and axis not in pixels else f"axis {number}"] = list(ends)
    return pixels


def unmarkable(stored: bytes) -> str | None:
    """Return why a root's ``zarr.json`` cannot be changed without a loss, as a phrase; None if it can."""
    try:
        root, faults = parse_strictly(stored, METADATA)
    except FormatError as error:
        return error.message
    attributes = root.get("attributes", {})
    own = attributes.get(OZX, {}) if isinstance(attributes, dict) else None
    if not isinstance(own, dict):
        return f"its attributes{'' if own is None else f'.{OZX}'} is no object"
    if not isinstance(own.get(RECOVERED, []), list):
        return f"its attributes.{OZX}.{RECOVERED} is no list"
    if not faults:
        return None
    twice = [f"the name {name!r:.100} twice" for name in faults.get("names", ())]
    fault = next(iter([*twice, *faults.get("words", ()), *faults.get("numbers", ())]), "half of a character")
    return f"it has {fault:.120}, which programs read in different ways"


def with_losses(root: Document, losses: Sequence[Loss]) -> Document:
    """Return the root's document with exactly these losses; without any, the mark and an empty ``ozx`` are removed."""
    attributes = as_object(root.get("attributes"))
    own = {name: value for name, value in as_object(attributes.get(OZX)).items() if name != RECOVERED}
    own |= {RECOVERED: list(losses)} if losses else {}
    others = {name: value for name, value in attributes.items() if name != OZX or own}
    return {**root, "attributes": {**others, **({OZX: own} if own else {})}}


def merge_losses(old: Sequence[Loss], new: Sequence[Loss], *, are_others: bool) -> list[Loss]:
    """Return the losses of a file that was recovered before, and now again.

    `are_others`: whether the new losses are other chunks than the old ones. If the directory of the file is lost, all
    absent chunks count as missing, the old ones among them.
    """
    merged = {_identity(loss): loss for loss in old if "more" not in loss}
    for loss in new:
        known = merged.get(_identity(loss))
        if known is None or are_others or known.get("within") != loss.get("within"):
            merged[_identity(loss)] = loss if known is None else _join(known, loss, are_others=are_others)
    before, now = (sum(_count(loss, "more") for loss in losses) for losses in (old, new))
    now += max(len(merged) - MOST_LISTED, 0)
    more = before + now if are_others else max(before, now)
    return [*list(merged.values())[:MOST_LISTED], *([{"more": more}] if more else [])]


def losses_below(losses: Iterable[Loss], node: str) -> Iterator[Loss]:
    """Yield the losses at and below a node, relative to it."""
    for loss in losses:
        path = as_text(loss.get("node")) or ""
        if not node or path == node or path.startswith(f"{node}/"):
            yield {**loss, "node": path[len(node) :].lstrip("/")} if node else loss
        elif "more" in loss:
            yield loss


def crop_loss(loss: Loss, kept: Sequence[Sequence[int]]) -> Iterator[Loss]:
    """Yield the loss of an array of which only some pixels are kept, along each dimension in ascending order.

    Nothing is yielded if none of them is missing. The number of their chunks is unknown.
    """
    within = as_object(loss.get("within"))
    if len(within) != len(kept) or not all(map(_is_range, within.values())):
        yield loss
        return
    pairs = zip(within.items(), kept, strict=True)
    moved = {axis: [bisect_left(pixels, end) for end in ends] for (axis, ends), pixels in pairs}
    if all(start < stop for start, stop in moved.values()):
        yield {**{name: value for name, value in loss.items() if name not in ("missing", "of")}, "within": moved}


def _join(old: Loss, new: Loss, *, are_others: bool) -> Loss:
    name = "doubtful" if "doubtful" in new else "missing"
    joined = {key: value for key, value in {**old, **new}.items() if key in ("node", "level", "may_be_empty")}
    counts, total = (_count(old, name), _count(new, name)), _count(new, "of")
    if all(counts) and total and _count(old, "of") == total:
        joined |= {name: min(sum(counts) if are_others else max(counts), total), "of": total}
    boxes = [as_object(loss.get("within")) for loss in (old, new)]
    if boxes[0].keys() == boxes[1].keys() and all(_is_range(ends) for box in boxes for ends in box.values()):
        pairs = ((axis, ends, boxes[1][axis]) for axis, ends in boxes[0].items())
        joined["within"] = {axis: [min(a[0], b[0]), max(a[1], b[1])] for axis, a, b in pairs}
    return joined


def _identity(loss: Loss) -> tuple[str | None, str | None, bool]:
    return as_text(loss.get("node")), as_text(loss.get("level")), "doubtful" in loss


def _name(value: Any) -> str:
    """Return a name in a document as text of limited length that UTF-8 can hold."""
    return (as_text(value) or "").encode("utf-8", "backslashreplace").decode()[:200]


def _count(loss: Loss, name: str) -> int:
    value = loss.get(name)
    return value if type(value) is int and 0 < value < 1 << 63 else 0


def _is_range(ends: Any) -> bool:
    return isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)

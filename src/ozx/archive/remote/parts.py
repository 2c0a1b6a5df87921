"""Parts of a new object: parts that ozx sends, and parts that the server copies from an old object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ozx.archive.byte_source import Run

_MIB, _GIB = 1 << 20, 1 << 30
# The limits of S3: the least length of a part (except the last), the greatest length of a copied range, and the largest
# number of parts.
LEAST_PART = 5 * _MIB
_MOST_COPIED = 5 * _GIB
_MOST_PARTS = 10_000
# A shorter range is not worth the additional requests.
_LEAST_COPIED = 8 * _MIB
_USUAL_COPIED = _GIB
_USUAL_SENT = 16 * _MIB


class Part(NamedTuple):
    """One part of a new object: runs of bytes to send, or a range of the old object to copy."""

    runs: tuple[Run, ...]  # empty if the server copies
    offset: int  # in the old object; 0 for bytes to send
    length: int

    @property
    def old_span(self) -> tuple[int, int]:
        """The start and the end offset of the old bytes in a sent part; both are 0 if all bytes are new."""
        old = [run for run in self.runs if run.data is None]
        return (old[0].offset, old[-1].offset + old[-1].length) if old else (0, 0)


def plan_parts(runs: Sequence[Run]) -> list[Part]:
    """Return the parts in which to upload an object that consists of the byte ranges `runs`.

    The last range must be new bytes, such as the central directory. Short ranges of old bytes are sent as well, and so
    are old bytes that fill a sent part up to the least length.
    """
    total = sum(run.length for run in runs)
    longest = min(_MOST_COPIED, max(_USUAL_COPIED, -(-total // (_MOST_PARTS // 2))))
    least, usual = _LEAST_COPIED, _USUAL_SENT
    while len(parts := list(_iter_parts(runs, least, longest, usual))) > _MOST_PARTS:
        least, usual = 2 * least, 2 * usual
    return parts


def _iter_parts(runs: Sequence[Run], least_copied: int, longest: int, usual_sent: int) -> Iterator[Part]:
    sent: list[Run] = []
    length = 0  # of the runs in `sent`
    for run in runs:
        lacking = max(0, LEAST_PART - length) if sent else 0
        if run.data is not None or run.length - lacking < least_copied:
            sent.append(run)
            length += run.length
            continue
        if lacking:
            sent.append(Run(run.offset, lacking))
        yield from _iter_sent(sent, usual_sent)
        sent, length = [], 0
        yield from _iter_copied(run.offset + lacking, run.length - lacking, longest)
    yield from _iter_sent(sent, usual_sent)


def _iter_sent(runs: list[Run], usual: int) -> Iterator[Part]:
    """Divide the byte ranges `runs` into parts to send, of almost equal length; yield no part for an empty list.

    A part has at least `usual` bytes and less than twice as many, unless all ranges together have fewer bytes.
    """
    left = sum(run.length for run in runs)
    count = max(1, left // usual) if runs else 0
    pending = runs[::-1]
    for number in range(count):
        length = room = left // (count - number)
        taken = []
        while pending and room:
            run = pending.pop()
            if run.length > room:
                first, rest = _cut(run, room)
                pending.append(rest)
                run = first
            taken.append(run)
            room -= run.length
        left -= length
        yield Part(tuple(taken), 0, length)


def _cut(run: Run, length: int) -> tuple[Run, Run]:
    if run.data is None:
        return Run(run.offset, length), Run(run.offset + length, run.length - length)
    return Run.of(run.data[:length]), Run.of(run.data[length:])


def _iter_copied(offset: int, length: int, longest: int) -> Iterator[Part]:
    count = -(-length // longest)
    for number in range(count):
        size = length // (count - number)
        yield Part((), offset, size)
        offset, length = offset + size, length - size

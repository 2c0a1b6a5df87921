"""Search for undamaged entries that the central directory does not list."""

from __future__ import annotations

import numpy as np

from ozx.archive.audit.gaps import Layout
from ozx.archive.byte_source import ByteSource
from ozx.archive.columns import Columns
from ozx.archive.names.decoding import decode_name
from ozx.archive.records import LOCAL_SIGNATURE
from ozx.archive.recovery.values import ValueFinder, claims_of, local_header_at

# Bounds on the time: number of gaps, bytes before a header, bytes of all values.
_MOST_GAPS, _BLOCK, _PATIENCE = 100, 1 << 16, 64 << 20


def find_unlisted(source: ByteSource, columns: Columns, layout: Layout) -> dict[str, int]:
    """Return name and offset of entries in gaps whose value is undamaged and whose name no entry of `columns` has."""
    finder, found = ValueFinder(source), {}
    finder.patience = _PATIENCE
    for gap in np.argsort(-layout.gap_lengths, kind="stable")[:_MOST_GAPS].tolist():
        start = int(layout.gap_offsets[gap])
        stop = start + int(layout.gap_lengths[gap])
        while (place := source.read_at(start, min(_BLOCK, stop - start)).find(LOCAL_SIGNATURE)) >= 0:
            start += place
            header = local_header_at(source, start)
            claims = [] if header is None else claims_of(header, start + header.length)
            value = next(filter(None, map(finder.verify, claims)), None)
            if header is not None and value is not None and value.size and value.end <= stop:
                found[decode_name(header.name, header.flags, header.extra)] = start
                start = value.end
            else:
                start += len(LOCAL_SIGNATURE)
    return {name: found[name] for name in found.keys() - (set(columns.names()) if found else set())}

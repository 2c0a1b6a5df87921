"""Compute the size of an archive before it is written; parse size limits such as ``20MB``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from ozx.archive.names.decoding import encode_name
from ozx.archive.writer import LOCAL_OVERHEAD, CentralDirectory
from ozx.errors import UsageError
from ozx.flow.entry import Entry

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?b?)\s*", re.IGNORECASE)
_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}{ending}": 1000**power for power, letter in enumerate("kmgt", 1) for ending in ("", "b")}
_UNITS |= {f"{letter}i{ending}": 1024**power for power, letter in enumerate("kmgt", 1) for ending in ("", "b")}


def parse_size(value: str | int) -> int:
    """Return the number of bytes that a text states, such as ``20MB``, ``1.5 GiB``, ``500kB`` or ``1000``."""
    if type(value) is int:
        size = value
    else:
        match = _SIZE.fullmatch(value) if isinstance(value, str) else None
        factor = None if match is None else _UNITS.get(match[2].lower())
        if match is None or factor is None or (factor == 1 and "." in match[1]):
            raise UsageError(
                f"expected a size in bytes, kB, MB, GB, TB, KiB, MiB, GiB or TiB; got {value!r}",
                hint="1 MB is 1,000,000 bytes, 1 MiB is 1,048,576.",
            )
        size = int(Fraction(match[1]) * factor)
    if size < 1:
        raise UsageError(f"expected a size of at least one byte; got {value!r}")
    return size


def archive_size(entries: Iterable[Entry], comment: bytes, limit: int | None = None) -> int:
    """Return the exact size in bytes of an archive with these entries, without reading values."""
    directory, offset = CentralDirectory(), 0
    for entry in entries:
        raw_name, flags = encode_name(entry.key)
        size = entry.size
        directory.add(raw_name, flags, 0, size, offset)
        offset += LOCAL_OVERHEAD + len(raw_name) + size
        if limit is not None and offset > limit:
            return offset
    return offset + len(directory.finish(offset, comment))
